"""The verdict's sentence is right whatever moved the data, and says of waiting what is known."""

from collections.abc import Callable
from pathlib import Path

import factories
import pytest

from nsysparse.analysis import ADVICE, DECODE_FIRST, PREFILL_FIRST, Request, Verdict
from nsysparse.api import Options, analyse
from nsysparse.metrics.cases import Case
from nsysparse.metrics.gap_part import largest_part
from nsysparse.metrics.gap_verdict import gap_verdict
from nsysparse.sections import SECTIONS, build
from nsysparse.sections.definitions import TERMS
from nsysparse.testing import Process, Thread, TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"
MIB = 2**20
MS = 1_000_000
LIMIT = 0.2
HANDLE = 0x7F00_0000_1000


class Scene:
    """Two processes, each on its own GPU; the second one decodes."""

    def __init__(self) -> None:
        self.builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "x"}, duration=10_000_000)
        self.processes: list[Process] = [
            self.builder.process(pid=pid, devices={0: pid - 1, 1: 2 - pid}) for pid in (1, 2)
        ]
        self.threads: list[Thread] = [process.thread(tid=process.pid) for process in self.processes]

    def nccl(self, *, late: int = 0, ranks: tuple[int, ...] = (0, 1)) -> None:
        """8 MiB in a receive kernel of 400 us, whose send kernel begins `late` ns after it and ends with it."""
        for rank in ranks:
            name = ("ncclSend", "ncclRecv")[rank]
            process, thread = self.processes[rank], self.threads[rank]
            thread.nccl("ncclCommInitRank", 1, 5, communicator=5, nranks=2, rank=rank, device=0)
            for index, (nbytes, at, length) in enumerate(((1, 1_000, 100), (8 * MIB, 10_000, 400_000))):
                call = 10 + 20 * index
                thread.nccl(name, call, call + 10, communicator=5, nbytes=nbytes, peer=1 - rank)
                begin = at + late if index and name == "ncclSend" else at
                process.kernel(SEND_RECV, begin, at + length, gridX=1, launch=thread.launch(call + 2, call + 4))

    def nixl(self, *, nbytes: int | None = 4 * MIB, done: int | None = 3_100_000) -> None:
        self.threads[1].nixl_post(
            "read", 3_000_000, 3_000_100, agent="decode", handle=HANDLE, nbytes=nbytes, remote="prefill"
        )
        if done is not None:
            self.threads[1].nixl_complete(done, agent="decode", handle=HANDLE)

    def copy(self) -> None:
        """16 MiB from GPU 0 to GPU 1 at 150 GB/s."""
        launch = self.threads[1].launch(5_000_000, 5_000_002, name="cudaMemcpyAsync")
        end = 5_000_100 + 16 * MIB // 150
        self.processes[1].copy("PtoP", 16 * MIB, 5_000_100, end, launch=launch, src_device=1, dst_device=0)

    def offload(self) -> None:
        """Two copies of 8 MB to the host, 1 ms each with 1 ms between them: 16 MB in 3 ms, of which 2 are copies."""
        self.threads[1].push_pop("kv_transfer op=offload", 5_500_000, 9_500_000, domain="kvx")
        for shift in (0, 2_000_000):
            launch = self.threads[1].launch(5_600_000 + shift, 5_601_000 + shift)
            begin = 5_700_000 + shift
            self.processes[1].copy("DtoH", 8_000_000, begin, begin + 1_000_000, launch=launch)

    def placeless(self) -> None:
        """An annotated call of a process that says neither its device nor its peer."""
        thread = self.builder.process(pid=9).thread(tid=9)
        thread.push_pop(f"kv_transfer v=1 op=recv request=r layer=0 bytes={8 * MIB}", 6_000_000, 6_002_000)

    def called(self) -> None:
        """An annotated call of 2 us, which may have started anything."""
        self.threads[1].push_pop(
            f"kv_transfer v=1 op=recv request=r layer=0 bytes={8 * MIB} peer=0", 6_000_000, 6_002_000
        )

    def verdict(self, folder: Path, options: Options | None = None) -> Verdict:
        return analyse([self.builder.write(folder / "t.sqlite")], options).verdict


def test_nccl_says_how_much_of_the_kernels_was_wire(tmp_path: Path) -> None:
    scene = Scene()
    scene.nccl(late=100_000)
    # 8 MiB within [send's start, receive's end] and 30 us between two clocks; waiting is 100 of 400.1 us of receives.
    rate = 8 * MIB / (300_000 + 30_000)
    found = scene.verdict(tmp_path, Options(link="ib-ndr"))
    assert found.text == f"KV gap unknown: no step names a request; wire rate {rate:.3g} of 50 GB/s on IB NDR."
    assert found.detail.endswith("carried 8.39 MB in 400.1 µs of kernel time (75.0 % on the wire).")


def test_one_side_alone_proves_a_bound_with_its_waiting(tmp_path: Path) -> None:
    scene = Scene()
    scene.nccl(ranks=(1,))
    # 4 MiB of the 8 may have been buffered before the receive of 400 us began.
    rate = 4 * MIB / 400_000
    found = scene.verdict(tmp_path)
    assert found.text.endswith(f"; rate at least {rate:.3g} GB/s.")
    assert found.detail.endswith("in 400.1 µs of kernel time. The rate includes waiting for the peer.")


def test_nixl_says_nothing_of_kernels_buffers_or_waiting(tmp_path: Path) -> None:
    scene = Scene()
    scene.nixl()
    found = scene.verdict(tmp_path)
    assert found.text.endswith("; rate at least 41.9 GB/s.")
    assert found.detail.endswith(
        "carried 4.19 MB in 100.0 µs of transfer time. The rate includes the time until the host saw it complete."
    )
    said = f"{found.text} {found.detail}"
    assert not [word for word in ("kernel", "wire", "waiting", "NCCL") if word in said]


@pytest.mark.parametrize("done", [None, 3_100_000])
def test_nixl_without_size_does_not_ask_for_nccl(done: int | None, tmp_path: Path) -> None:
    scene = Scene()
    scene.nixl(nbytes=None, done=done)
    found = scene.verdict(tmp_path)
    assert "; rate unknown: 1 of 1 NIXL posts have no size" in found.text
    assert found.detail.startswith("1 movement")
    assert "NCCL" not in found.text + found.detail


def test_mere_calls_prove_no_rate_and_nccl_is_not_blamed(tmp_path: Path) -> None:
    scene = Scene()
    scene.called()
    analysis = analyse([scene.builder.write(tmp_path / "t.sqlite")])
    assert analysis.verdict.text.endswith(
        "; rate unknown: of some only a call was recorded, which need not last as long as its transfer."
    )
    (link,) = analysis.links
    # 8 MiB in a call of 2 us would be 4194 GB/s.
    assert (link.headline_gb_s, link.link_gb_s, link.observed_ns) == (None, None, None)
    assert link.busy_ns == 2_000


def test_the_link_with_most_bytes_is_told_by_its_transport_where_there_are_several(tmp_path: Path) -> None:
    scene = Scene()
    scene.nccl()
    scene.nixl()
    found = scene.verdict(tmp_path)
    assert found.text.endswith(" GB/s on the busiest of 2 links.")
    # The wire's share would count NIXL's unseen waiting as wire, so none is told.
    assert found.detail.endswith("of transfer time. The rate is of the link with most bytes (nccl), of 2 links.")


def test_links_with_an_unknown_end_are_not_among_those_compared(tmp_path: Path) -> None:
    scene = Scene()
    scene.nccl()
    scene.placeless()
    alone = scene.verdict(tmp_path)
    assert alone.text.endswith(" GB/s.")
    assert alone.detail.endswith(" The rate is of the only link whose ends are known.")
    scene.nixl()
    path = scene.builder.write(tmp_path / "more.sqlite")
    analysis = analyse([path])
    assert len(analysis.links) == 3
    assert analysis.verdict.text.endswith(" on the busiest of 2 links.")
    assert analysis.verdict.detail.endswith(" is of the link with most bytes (nccl), of 2 whose ends are known.")


def test_copies_with_pauses_wait_for_no_peer(tmp_path: Path) -> None:
    scene = Scene()
    scene.offload()
    path = scene.builder.write(tmp_path / "t.sqlite")
    found = analyse([path]).verdict
    assert found.text.endswith("; wire rate at least 5.33 GB/s.")
    assert found.detail.endswith(" The rate includes pauses between copies.")


def test_the_peak_named_is_not_that_of_a_link_to_the_host(tmp_path: Path) -> None:
    scene = Scene()
    scene.offload()
    scene.copy()
    path = scene.builder.write(tmp_path / "t.sqlite")
    for options in (Options(link="nvlink4-h100"), Options(peak_gb_s=0.5)):
        analysis = analyse([path], options)
        peaks = {link.transport: link.peak_gb_s for link in analysis.links}
        assert peaks["memcpy"] is not None
        (to_host,) = [link for link in analysis.links if link.transport == "host-staged"]
        assert to_host.headline_gb_s is not None
        assert to_host.inconsistent_count == 0
        assert (
            to_host.link_name, to_host.peak_gb_s, to_host.peak_source, to_host.practical_gb_s, to_host.practical_source,
            to_host.efficiency, to_host.theoretical_ns, to_host.practical_ns,
        ) == (None,) * 8  # fmt: skip
        told = {reason.path: reason.message for reason in analysis.reasons}
        for name in ("peak_gb_s", "efficiency", "theoretical_ns"):
            assert told[f"/links/*/{name}"].startswith("the peak named is of the wire between GPUs"), name
        assert "/theory/by_link/*/line_rate_ns" in told


def test_a_copy_faster_than_the_link_named_crossed_another(tmp_path: Path) -> None:
    scene = Scene()
    scene.copy()
    path = scene.builder.write(tmp_path / "t.sqlite")
    analysis = analyse([path], Options(link="ib-ndr"))
    assert analysis.verdict.text.endswith(
        "; inconsistent: wire rate 150.0 of 50 GB/s on IB NDR is faster than the link can be, so these copies crossed"
        " another."
    )
    remarks = " ".join(str(block) for block in SECTIONS["links"](analysis))
    assert "1 copy came out above the peak of the link that was named" in remarks
    assert "bytes, match or link must be wrong" not in remarks


def test_links_of_one_pair_of_ends_are_told_apart_by_transport(tmp_path: Path) -> None:
    scene = Scene()
    scene.nccl()
    scene.copy()
    scene.nixl()
    document = build(analyse([scene.builder.write(tmp_path / "t.sqlite")]))
    blocks = {getattr(block, "anchor", ""): block for block in document.blocks}
    labels = [bar.label for bar in blocks["links-chart"].bars]
    assert sorted(labels) == [
        "memcpy · t:gpu0 → t:gpu1",
        "nccl · t:gpu0 → t:gpu1",
        "nixl · agent:prefill → agent:decode",
    ]
    rows = [[cell.text for cell in row[:2]] for row in blocks["links-table"].rows]
    assert sorted(rows) == [
        ["agent:prefill->agent:decode", "nixl"],
        ["t:gpu0->t:gpu1", "memcpy"],
        ["t:gpu0->t:gpu1", "nccl"],
    ]


def test_every_number_of_the_report_has_its_term() -> None:
    assert {"wire", "peer-wait", "exposed", "headline", "delivered", "port", "exchange", "evidence"} <= TERMS


def test_several_synthetic_files_are_one_readable_notice(tmp_path: Path) -> None:
    paths = []
    for name, notice in (("a", "prefill"), ("b", "decode"), ("c", "prefill")):
        builder = TraceBuilder(schema="3.25", gpus={0: "x"}, notice=f"synthetic: {notice}, not measured")
        builder.process(pid=1).thread(tid=1).push_pop(name, 1, 2)
        paths.append(builder.write(tmp_path / f"{name}.sqlite"))
    told = [analyse(some) for some in (paths[:1], paths[:2], [paths[0], paths[2]])]
    assert [analysis.notice.message for analysis in told if analysis.notice] == [
        "prefill, not measured",
        "decode, not measured; prefill, not measured",
        "prefill, not measured",
    ]
    (notice,) = [block for block in SECTIONS["verdict"](told[1]) if getattr(block, "kind", "") == "notice"]
    assert (notice.title, notice.text) == ("synthetic", "Decode, not measured; prefill, not measured")


# --- the clauses ------------------------------------------------------------------------------------------------------


def way(name: str, gap_ms: int, of_ms: int, **more: object) -> Request:
    """A request whose share of the way is known, on one clock and from its arrival on."""
    share = gap_ms / of_ms
    known = {
        "kv_gap_ns": gap_ms * MS, "kv_gap_share": share, "kv_gap_share_low": share, "kv_gap_share_high": share,
        "path_ns": of_ms * MS, "clock": "one-file", "path_basis": "arrival", "ttft_convention": DECODE_FIRST,
        "uncertainty_ns": 0, "verdict": "over" if share > LIMIT else "ok", "missing": "",
    }  # fmt: skip
    return factories.request(name, **(known | more))


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({}, "TTFT"),
        ({"path_basis": "prefill-start"}, "TTFT without queueing"),
        ({"ttft_convention": None}, "the way to the first decoded token"),
        ({"ttft_convention": PREFILL_FIRST}, "the way to the second token"),
    ],
)
def test_the_share_is_of_ttft_only_where_decode_emits_the_first_token(changes: dict[str, str], named: str) -> None:
    found = gap_verdict(
        [way("a", 10, 100, **changes), way("b", 31, 100, **changes), way("c", 40, 100, **changes)], LIMIT
    )
    assert found.text == f"KV gap is 31.0 % of {named}, over the 20 % threshold"
    assert found.detail == "KV gap: 31.0 ms in the median of 3 requests, 2 over."


def test_queues_that_are_known_of_some_requests_only_are_not_told_of_all() -> None:
    found = gap_verdict([way("a", 10, 100), way("b", 10, 100, path_basis="prefill-start")], LIMIT)
    assert "of the way to the first decoded token" in found.text


def test_clocks_that_matter_stand_beside_the_share() -> None:
    apart = {"kv_gap_share_low": 0.05, "kv_gap_share_high": 0.25, "clock": "utc-unverified", "uncertainty_ns": 10 * MS}
    found = gap_verdict([way("a", 15, 100, verdict="unresolved", **apart)], LIMIT)
    assert found.text == "KV gap is 15 ± 10 % of TTFT, too close to call against the 20 % threshold"
    assert found.detail == "KV gap: 15 ± 10 ms in the median of 1 request, 0 over, 1 too close to call."


def test_requests_without_a_share_are_counted_in_the_detail() -> None:
    cut = factories.request("b", missing="cut", verdict="unknown")
    found = gap_verdict([way("a", 10, 100), cut], LIMIT)
    assert (
        found.detail == "KV gap: 10.0 ms in the median of 1 request, 0 over, 1 more not known (1 cut by the capture)."
    )


def case(name: str, wire: int = 0, wait: int = 0, pause: int = 0, handoff: int = 0, ready: int = 0) -> Case:
    """Parts of a gap in ms."""
    parts = [part * MS for part in (wire, wait, pause, handoff, ready)]
    return Case(name, sum(parts), *parts)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"wire": 9, "wait": 6, "ready": 2}, "6.00 ms per request is waiting for the prefill side"),
        ({"wire": 9, "ready": 6, "handoff": 5}, "6.00 ms per request is KV ready before decode starts"),
        ({"wire": 9, "handoff": 6}, "6.00 ms per request is hand-off before the first send"),
        ({"wire": 9, "pause": 6}, "6.00 ms per request is pauses and fixed costs of transfers"),
        ({"wire": 90, "ready": 6}, "90.0 ms per request is on the wire"),
        ({}, ""),
    ],
)
def test_the_largest_part_beside_the_wire_is_told_per_request(parts: dict[str, int], said: str) -> None:
    requests = [way(name, 20, 100) for name in "abc"]
    other = case("b", ready=1)  # the median of three is that of the two
    assert largest_part([case("a", **parts), other, case("c", **parts)], requests) == said


def test_a_part_known_of_some_requests_says_of_how_many() -> None:
    requests = [way(name, 20, 100) for name in "abcd"]
    cases = [case("a", wait=6), case("b", wait=6), case("unjudged", wait=60)]
    assert largest_part(cases, requests) == "6.00 ms per request (2 of 4 known) is waiting for the prefill side"
    assert largest_part(cases[1:], requests) == ""


def test_a_part_within_the_error_of_its_clocks_is_not_told() -> None:
    for doubt_ms, said in ((1, "6 ± 1 ms per request is waiting for the prefill side"), (6, "")):
        requests = [way("a", 20, 100, uncertainties={"transfer_span_ns": doubt_ms * MS})]
        assert largest_part([case("a", wait=6)], requests) == said


def test_one_side_alone_asks_for_the_other_sides_file(sample: Callable[[str], Path]) -> None:
    for side, other in (("prefill", "decode"), ("decode", "prefill")):
        analysis = analyse([sample(f"synthetic/pd-two-hosts-{side}.sqlite")])
        assert analysis.verdict.text.startswith(f"KV gap unknown: no file of the {other} side was given; ")
        (why,) = [each for each in analysis.reasons if each.path == "/verdict/value"]
        assert why.message.startswith(f"no file of the {other} side was given")
        assert why.fix == f"Give the trace of the {other} side too, in the same command."


def test_a_rate_that_is_not_known_stands_last_with_what_would_show_it(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    thread = builder.process(pid=1).thread(tid=1)
    thread.nccl("ncclSend", 100, 110, communicator=7, nbytes=64, peer=1)
    found = analyse([builder.write(tmp_path / "t.sqlite")]).verdict
    sentence, _, command = found.text.partition(ADVICE)
    assert sentence == "KV gap unknown: no step names a request; rate unknown: no kernel was recorded."
    assert command.startswith("nsys profile ")
    assert "(no rows in CUPTI_ACTIVITY_KIND_KERNEL)" in found.detail
