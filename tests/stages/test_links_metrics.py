"""Rates of links are lower bounds, whatever they rest on: no buffering and no shifted capture inflates them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from nsysparse.api import Options, analyse, study_traces
from nsysparse.testing import TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"
# Above what one channel can buffer, so that one side alone proves something.
MESSAGE = 12 * 2**20
BUFFERED = 4 * 2**20
# How far the clocks of two devices may be apart.
SLACK = 30_000


def two_pairs(folder: Path) -> Path:
    """One pair has only its receive kernel, the next only its send kernel; 12 MiB in 1 ms each."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for pid, name in ((1, "ncclSend"), (2, "ncclRecv")):
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        # A kernel of another communicator tells on which device each process is.
        thread.nccl("ncclSend", 10, 12, communicator=6, nbytes=1, peer=5)
        process.kernel(SEND_RECV, 50, 60, device=pid - 1, launch=thread.launch(11, 12))
        for index, at in enumerate((100, 200)):
            thread.nccl(name, at, at + 10, communicator=5, nbytes=MESSAGE, peer=2 - pid)
            if (index == 0) == (name == "ncclRecv"):
                begin = 1_000_000 * (1 + index)
                process.kernel(
                    SEND_RECV, begin, begin + 1_000_000, device=pid - 1, gridX=1, launch=thread.launch(at + 2, at + 4)
                )
    return builder.write(folder / "t.sqlite")


def test_one_sided_kernels_prove_what_cannot_have_been_buffered(tmp_path: Path) -> None:
    analysis = analyse([two_pairs(tmp_path)], Options(peak_gb_s=15.0))
    (link,) = [link for link in analysis.links if link.bytes == 2 * MESSAGE]
    # Each side's run is one message of which 4 MiB may have crossed before or after.
    assert link.headline_gb_s == pytest.approx((MESSAGE - BUFFERED) / 1_000_000)
    assert link.headline_basis == "kernel"
    assert link.link_gb_s == link.headline_gb_s
    assert link.inconsistent_count == 0


def test_a_pair_proves_its_bytes_over_the_span_of_both_kernels(tmp_path: Path) -> None:
    """The send [0, 1 ms) had left when the receive [1, 1.01 ms) came: no 400 GB/s, but 4 MB in 1.01 ms + 30 us."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for pid, name, begin, end in ((1, "ncclSend", 0, 1_000_000), (2, "ncclRecv", 1_000_000, 1_010_000)):
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        thread.nccl("ncclCommInitRank", 1, 5, communicator=5, nranks=2, rank=pid - 1, device=pid - 1)
        thread.nccl(name, 6, 8, communicator=5, nbytes=1, peer=2 - pid)  # the first use is in no rate
        thread.nccl(name, 10, 20, communicator=5, nbytes=4_000_000, peer=2 - pid)
        process.kernel(SEND_RECV, begin + 100, end + 100, device=pid - 1, gridX=1, launch=thread.launch(12, 14))
    trace = builder.write(tmp_path / "t.sqlite")
    (link,) = analyse([trace], Options(peak_gb_s=450.0)).links
    assert link.headline_gb_s == pytest.approx(4_000_000 / (1_010_000 + SLACK))
    assert (link.headline_basis, link.headline_is_bound, link.headline_bytes_share) == ("wire", True, 1)
    # One was over when the other began: there is no time in which both were there.
    study = study_traces([trace], None)
    large = study.transfers.filter(bytes=4_000_000)
    assert large.select("wire_ns", "wire_reason").unique().rows() == [(None, "eager")]


def test_ordinals_of_two_processes_are_two_gpus_where_the_file_says_so(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for pid, gpu, name in ((1, 0, "ncclSend"), (2, 1, "ncclRecv")):
        process = builder.process(pid=pid, devices={0: gpu})
        thread = process.thread(tid=pid)
        thread.nccl(name, 10, 20, communicator=5, nbytes=4_000_000, peer=2 - pid)
        process.kernel(SEND_RECV, 100, 1000, device=0, launch=thread.launch(12, 14))
    (link,) = analyse([builder.write(tmp_path / "t.sqlite")]).links
    assert (link.src, link.dst) == ("t:gpu0", "t:gpu1")


@pytest.mark.parametrize("peak", ["1e300", "1e-320", "0", "-1", "nan", "inf"])
def test_a_peak_that_no_link_has_is_a_usage_error(peak: str, tmp_path: Path) -> None:
    from nsysparse.errors import UsageError

    with pytest.raises(UsageError):
        analyse([two_pairs(tmp_path)], Options(peak_gb_s=float(peak)))


def test_every_communicator_has_buffers_of_its_own(tmp_path: Path) -> None:
    """Receive kernels only, over two communicators: 4 MiB of each may have crossed before or after the run."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for pid, name in ((1, "ncclSend"), (2, "ncclRecv")):
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        # A kernel of another communicator tells on which device each process is.
        thread.nccl("ncclSend", 10, 12, communicator=6, nbytes=1, peer=5)
        process.kernel(SEND_RECV, 50, 60, device=pid - 1, launch=thread.launch(11, 12))
        for index in range(4):
            at, begin = 100 * (1 + index), 1_000_000 + 100_000 * index
            thread.nccl(name, at, at + 10, communicator=7 + index % 2, nbytes=MESSAGE, peer=2 - pid)
            if name == "ncclRecv":
                launch = thread.launch(at + 2, at + 4)
                process.kernel(SEND_RECV, begin, begin + 100_000, device=1, gridX=1, launch=launch)
    analysis = analyse([builder.write(tmp_path / "t.sqlite")])
    (link,) = [link for link in analysis.links if link.bytes == 4 * MESSAGE]
    # The three behind the first one's end, less the buffers of both communicators.
    assert link.headline_basis == "delivered"
    assert link.headline_gb_s == pytest.approx((3 * MESSAGE - 2 * BUFFERED) / 300_000)


def test_pairs_by_position_prove_no_more_than_one_side(tmp_path: Path) -> None:
    """Payloads without communicator: which send met which receive is a guess."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for pid, name in ((1, "ncclSend"), (2, "ncclRecv")):
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        thread.nccl(name, 10, 20, nbytes=1_000_000, peer=2 - pid)
        process.kernel(SEND_RECV, 100, 1_100, device=pid - 1, gridX=1, launch=thread.launch(12, 14))
    analysis = analyse([builder.write(tmp_path / "t.sqlite")])
    (link,) = analysis.links
    assert (link.headline_gb_s, link.link_gb_s) == (None, None)


def test_a_sequence_that_a_capture_may_have_shifted_proves_no_more_than_one_side(tmp_path: Path) -> None:
    """Cut after send 0 and before receive 5: send k + 1 seems to meet receive k, 10 us apart, on a link of 40 GB/s."""
    period, nbytes = 120_000, 4_000_000
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    first = 1_000_000
    for pid, name, begins in (
        (1, "ncclSend", [first + period * k for k in range(1, 6)]),
        (2, "ncclRecv", [first + period * (k + 1) for k in range(5)]),
    ):
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        for at in begins:
            thread.nccl(name, at - 5000, at - 4000, communicator=5, nbytes=nbytes, peer=2 - pid)
            launch = thread.launch(at - 4900, at - 4800)
            process.kernel(SEND_RECV, at, at + 10_000, device=pid - 1, gridX=1, launch=launch)
    (link,) = analyse([builder.write(tmp_path / "t.sqlite")]).links
    assert link.headline_gb_s is not None
    assert link.headline_gb_s <= nbytes / 100_000
    assert link.kernel_gb_s is None or link.kernel_gb_s.max is None


@dataclass(frozen=True)
class Message:
    """One message of a lane from rank 0 to rank 1: size, and when the two kernels ran."""

    nbytes: int
    send: tuple[int, int] | None
    recv: tuple[int, int] | None


def lane(path: Path, messages: list[Message], *, created: bool = True, channels: int = 1) -> Path:
    """A lane of ungrouped sends and receives, each its own kernel, over two devices of one file."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for rank, name in enumerate(("ncclSend", "ncclRecv")):
        process = builder.process(pid=rank + 1)
        thread = process.thread(tid=rank + 1)
        if created:
            thread.nccl("ncclCommInitRank", 1, 5, communicator=5, nranks=2, rank=rank, device=rank)
            thread.nccl(name, 6, 8, communicator=5, nbytes=1, peer=1 - rank)  # the first use is in no rate
        at = 100
        for message in messages:
            interval = message.recv if rank else message.send
            if interval is None:
                continue
            thread.nccl(name, at, at + 10, communicator=5, nbytes=message.nbytes, peer=1 - rank)
            launch = thread.launch(at + 2, at + 4)
            process.kernel(SEND_RECV, *interval, device=rank, gridX=channels, launch=launch)
            at += 20
    return builder.write(path / "t.sqlite")


def test_a_receiver_that_waits_takes_nothing_from_the_rate(tmp_path: Path) -> None:
    """The receive has been spinning for 5 ms when the send comes: 4 MB in 100 us, not in 5.1 ms."""
    messages = [Message(4_000_000, (5_000_000 + t, 5_100_000 + t), (t, 5_100_000 + t)) for t in (10_000, 10_010_000)]
    analysis = analyse([lane(tmp_path, messages)])
    (link,) = analysis.links
    # 30 of 130 us only allow for clocks: the true rate may well be higher.
    assert (link.headline_basis, link.headline_is_bound, link.headline_bytes_share) == ("wire", True, 1)
    assert link.headline_gb_s == pytest.approx(4_000_000 / (100_000 + SLACK))
    assert analysis.totals.wire_ns == 2 * 100_000
    assert analysis.totals.peer_wait_ns == 2 * 5_000_000
    # The first use has no kernel here.
    assert analysis.totals.time_ns == 2 * 5_100_000


def test_small_messages_sent_before_the_receiver_is_there_prove_what_they_took_in_all(tmp_path: Path) -> None:
    """80 layers of 0.5 MB leave in 20 us each; 100 ms later the receiver takes them out of the buffers in 3 us each."""
    true_gb_s = 0.5e6 / 20_000
    sends = [(1_000_000 + 20_000 * k, 1_019_000 + 20_000 * k) for k in range(80)]
    receives = [(101_000_000 + 4_000 * k, 101_003_000 + 4_000 * k) for k in range(80)]
    messages = [Message(500_000, *both) for both in zip(sends, receives, strict=True)]
    for created in (True, False):
        analysis = analyse([lane(tmp_path, messages, created=created, channels=16)])
        (link,) = analysis.links
        rates = (link.headline_gb_s, link.delivered_gb_s, link.link_gb_s)
        known = [*rates, *(d.max for d in (link.wire_gb_s, link.kernel_gb_s) if d)]
        assert all(rate is None or rate <= true_gb_s for rate in known), known
        assert analysis.totals.wire_ns is None
        assert link.fitted_gb_s is None


def test_a_burst_is_rated_from_the_first_end_less_the_buffers(tmp_path: Path) -> None:
    """Receives only: 9 messages of 3 MB, 100 us each, behind one that waited 50 ms; 4 MiB may have been buffered."""
    first = Message(3_000_000, None, (1_000_000, 51_000_000))
    rest = [Message(3_000_000, None, (51_000_000 + 100_000 * k, 51_100_000 + 100_000 * k)) for k in range(9)]
    (link,) = analyse([lane(tmp_path, [first, *rest])]).links
    assert link.delivered_gb_s == pytest.approx((9 * 3_000_000 - BUFFERED) / 900_000)
    assert (link.headline_basis, link.headline_gb_s) == ("delivered", link.delivered_gb_s)


def test_messages_of_many_sizes_give_fixed_cost_and_rate(tmp_path: Path) -> None:
    """Each takes 50 us and 1 ns per 40 bytes; the receiver waits 1 ms for each."""
    messages, now = [], 1_000_000
    for nbytes in (400_000, 800_000, 1_600_000, 3_200_000) * 5:
        took = 50_000 + nbytes // 40
        messages.append(Message(nbytes, (now + 1_000_000, now + 1_000_000 + took), (now, now + 1_000_000 + took)))
        now += 2_000_000
    (link,) = analyse([lane(tmp_path, messages)]).links
    assert link.fitted_gb_s == pytest.approx(40)
    assert link.fixed_cost_ns == 50_000


def timed(sizes: list[int], took: Callable[[int], int]) -> list[Message]:
    """Five of each size, a receiver waiting 1 ms for each."""
    messages, now = [], 1_000_000
    for nbytes in sizes * 5:
        end = now + 1_000_000 + took(nbytes)
        messages.append(Message(nbytes, (now + 1_000_000, end), (now, end)))
        now += 2_000_000
    return messages


@pytest.mark.parametrize(
    ("sizes", "took"),
    [
        ([400_000, 1_600_000], lambda nbytes: 50_000 + nbytes // 40),  # two sizes
        ([400_000, 800_000, 1_500_000], lambda nbytes: 50_000 + nbytes // 40),  # too near each other
        ([400_000, 800_000, 1_600_000], lambda _: 50_000),  # no line that rises
        ([400_000, 800_000, 1_600_000], lambda nbytes: nbytes // 40 - 1_000),  # a cost below nothing
        ([400_000, 800_000, 1_200_000, 1_600_000], lambda nbytes: 20_000 + 60_000 * (nbytes in (800_000, 1_600_000))),
    ],
)
def test_what_is_no_line_has_a_reason(sizes: list[int], took: Callable[[int], int], tmp_path: Path) -> None:
    analysis = analyse([lane(tmp_path, timed(sizes, took))])
    (link,) = analysis.links
    assert (link.fixed_cost_ns, link.fitted_gb_s) == (None, None)
    told = {each.path: each.message for each in analysis.reasons}
    assert "three sizes" in told["/links/*/fixed_cost_ns"]
    assert "three sizes" in told["/links/*/fitted_gb_s"]


def test_a_line_gives_the_time_of_each_of_its_sizes(tmp_path: Path) -> None:
    sizes = [400_000, 800_000, 1_600_000]
    analysis = analyse([lane(tmp_path, timed(sizes, lambda nbytes: 50_000 + nbytes // 40))])
    (link,) = analysis.links
    assert link.fixed_cost_ns is not None
    assert link.fitted_gb_s is not None
    wire = {each.bytes: each.wire_gb_s for each in analysis.message_sizes}
    for nbytes in sizes:
        took = link.fixed_cost_ns + nbytes / link.fitted_gb_s
        assert took == pytest.approx(50_000 + nbytes / 40)
        found = wire[nbytes]
        assert found is not None
        # What is proven of two devices allows for their clocks, which the line does not.
        assert found.p50 == pytest.approx(nbytes / (took + SLACK))


def test_sizes_have_the_rate_of_their_kernels_where_nothing_is_known_of_the_wire(tmp_path: Path) -> None:
    """Receives only, of 4 MiB at most buffered: three of 12 MiB in 1, 2 and 4 ms, one of 3 MB that proves nothing."""
    spans = [(12 * 2**20, 1), (12 * 2**20, 2), (12 * 2**20, 4), (3_000_000, 1)]
    messages = [
        Message(nbytes, None, (10_000_000 * at, 10_000_000 * at + took * 1_000_000))
        for at, (nbytes, took) in enumerate(spans, start=1)
    ]
    analysis = analyse([lane(tmp_path, messages)])
    small, large = [each for each in analysis.message_sizes if each.bytes > 1]
    assert (small.bytes, small.count, small.wire_gb_s, small.kernel_gb_s) == (3_000_000, 1, None, None)
    assert (large.bytes, large.count, large.wire_gb_s) == (12 * 2**20, 3, None)
    assert large.kernel_gb_s is not None
    assert (large.kernel_gb_s.count, large.kernel_gb_s.p50) == (3, pytest.approx((MESSAGE - BUFFERED) / 2_000_000))
    assert large.kernel_gb_s.max == pytest.approx((MESSAGE - BUFFERED) / 1_000_000)
    assert {"/message_sizes/*/wire_gb_s", "/message_sizes/*/kernel_gb_s"} <= {each.path for each in analysis.reasons}


def test_movements_that_share_their_time_give_no_line(tmp_path: Path) -> None:
    """The same messages, each beside another one of the link that runs all the time."""
    messages, now = [], 1_000_000
    for nbytes in (400_000, 800_000, 1_600_000, 3_200_000) * 5:
        took = 50_000 + nbytes // 40
        both = (now + 1_000_000, now + 1_000_000 + took), (now, now + 1_000_000 + took)
        messages += [Message(nbytes, *both), Message(nbytes, *both)]
        now += 2_000_000
    (link,) = analyse([lane(tmp_path, messages)]).links
    assert (link.fixed_cost_ns, link.fitted_gb_s) == (None, None)


def test_ports_count_bytes_and_busy_time_of_each_end(tmp_path: Path) -> None:
    messages = [Message(1000, (100_000 * k, 100_000 * k + 50), (100_000 * k + 10, 100_000 * k + 80)) for k in (1, 2)]
    ports = analyse([lane(tmp_path, messages)], Options(peak_gb_s=50)).ports
    assert ports is not None
    got = [(port.device_id, port.direction, port.bytes, port.busy_ns, port.peak_gb_s) for port in ports]
    assert got == [(0, "egress", 2001, 100, 50.0), (1, "ingress", 2001, 140, 50.0)]


def test_larger_buffers_prove_less(tmp_path: Path) -> None:
    trace = two_pairs(tmp_path)
    (link,) = [link for link in analyse([trace], Options(nccl_buffsize=8 * 2**20)).links if link.bytes == 2 * MESSAGE]
    assert link.headline_gb_s == pytest.approx((MESSAGE - 8 * 2**20) / 1_000_000)
    (link,) = [link for link in analyse([trace], Options(nccl_buffsize=MESSAGE)).links if link.bytes == 2 * MESSAGE]
    assert link.headline_gb_s is None


def test_movements_whose_receiver_waited_speak_for_the_link(tmp_path: Path) -> None:
    """Of four messages of 40 MB, 1 ms each, the receiver is 4 ms late for three: these prove a fifth of the rate."""
    messages, now = [], 1_000_000
    for late in (0, 4_000_000, 4_000_000, 4_000_000):
        start = now + late
        messages.append(Message(40_000_000, (now, start + 1_000_000), (start - 1000 * (not late), start + 1_000_000)))
        now += 20_000_000
    (link,) = analyse([lane(tmp_path, messages, channels=16)]).links
    assert link.headline_gb_s == pytest.approx(40_000_000 / (1_000_000 + SLACK))
    assert (link.headline_is_bound, link.headline_bytes_share) == (False, 0.25)
    (bound,) = analyse([lane(tmp_path, messages[1:], channels=16)]).links
    assert bound.headline_gb_s == pytest.approx(3 * 40_000_000 / (3 * (5_000_000 + SLACK)))
    assert (bound.headline_is_bound, bound.headline_bytes_share) == (True, 1)


def test_links_with_an_unknown_end_add_nothing_up(tmp_path: Path) -> None:
    """Two processes hand over 20 MB in 500 us at the same time, to nobody knows whom: 40 GB/s each, not 80."""
    builder = TraceBuilder(schema="3.25", duration=10**10)
    for pid in (1, 2):
        thread = builder.process(pid=pid).thread(tid=pid)
        for at in range(1_000_000, 6_000_000, 1_000_000):
            thread.start_end("kv_transfer op=send bytes=20000000", at, at + 500_000, domain="kvx")
    (link,) = analyse([builder.write(tmp_path / "t.sqlite")], Options(peak_gb_s=50)).links
    assert (link.src, link.dst) == ("unknown", "unknown")
    assert link.headline_gb_s == pytest.approx(40)
    assert link.headline_is_bound
    assert link.inconsistent_count == 0


def test_messages_of_one_kernel_prove_the_rate_of_their_link_together(tmp_path: Path) -> None:
    """Four messages of 10 MB in one kernel of 1 ms on each side, the receiver first."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for rank, name in enumerate(("ncclSend", "ncclRecv")):
        process = builder.process(pid=rank + 1)
        thread = process.thread(tid=rank + 1)
        thread.nccl("ncclCommInitRank", 1, 5, communicator=5, nranks=2, rank=rank, device=rank)
        thread.nccl(name, 6, 8, communicator=5, nbytes=1, peer=1 - rank)  # the first use is in no rate
        for group in range(3):
            at = 100 + 200 * group
            thread.nccl("ncclGroupStart", at, at + 2)
            for index in range(4):
                thread.nccl(
                    name, at + 10 * index + 10, at + 10 * index + 18, communicator=5, nbytes=10_000_000, peer=1 - rank
                )
            thread.nccl("ncclGroupEnd", at + 60, at + 70)
            begin = 1_000_000 + 5_000_000 * group - 50_000 * rank
            launch = thread.launch(at + 62, at + 64)
            end = 2_000_000 + 5_000_000 * group
            process.kernel(SEND_RECV, begin, end, device=rank, gridX=1, launch=launch)
    (link,) = analyse([builder.write(tmp_path / "t.sqlite")]).links
    rate = 40_000_000 / (1_000_000 + SLACK)
    assert link.headline_gb_s == pytest.approx(rate)
    assert link.wire_gb_s is not None
    assert (link.wire_gb_s.min, link.wire_gb_s.max) == (pytest.approx(rate), pytest.approx(rate))


def test_copies_with_pauses_are_no_tight_rate_and_hide_behind_nothing(tmp_path: Path) -> None:
    """Two copies of 40 MB, 1 ms each, 8 ms apart in one offload; compute runs in the pause alone."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**10)
    process = builder.process(pid=1)
    thread = process.thread(tid=1)
    thread.push_pop("kv_transfer op=offload", 1_000, 12_000_000, domain="kvx")
    for shift in (0, 9_000_000):
        launch = thread.launch(2_000 + shift, 3_000 + shift)
        process.copy("DtoH", 40_000_000, 10_000 + shift, 1_010_000 + shift, launch=launch)
    process.kernel("gemm", 3_000_000, 8_000_000, correlation=77)
    analysis = analyse([builder.write(tmp_path / "t.sqlite")])
    (link,) = analysis.links
    assert link.headline_gb_s == pytest.approx(8)
    assert link.headline_is_bound
    assert analysis.totals.time_ns == 2_000_000
    assert analysis.totals.overlapped_ns is None


def test_two_processes_with_the_same_unmapped_ordinal_are_two_ports(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25")
    for pid, name in ((1, "ncclSend"), (2, "ncclSend")):
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        thread.nccl(name, 10, 20, communicator=pid, nbytes=1000, peer=1)
        process.kernel(SEND_RECV, 100, 200, device=0, launch=thread.launch(12, 14))
    ports = analyse([builder.write(tmp_path / "t.sqlite")]).ports
    assert ports is not None
    assert [(port.gpu, port.direction, port.bytes) for port in ports] == [
        ("gpu0/pid1", "egress", 1000), ("gpu0/pid2", "egress", 1000),
    ]  # fmt: skip


def test_what_may_be_a_copy_to_itself_is_no_rate_of_a_link(tmp_path: Path) -> None:
    """A send to and a receive from peer 0 in one group, own rank not recorded: 1 GB in 1 ms is local memory."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    process = builder.process(pid=1)
    thread = process.thread(tid=1)
    for index in range(3):
        at = 1_000 * index + 100
        thread.nccl("ncclGroupStart", at, at + 2)
        for step, name in enumerate(("ncclSend", "ncclRecv")):
            thread.nccl(name, at + 10 + 10 * step, at + 18 + 10 * step, communicator=5, nbytes=10**9, peer=0)
        thread.nccl("ncclGroupEnd", at + 40, at + 60)
        begin = 1_000_000 + 5_000_000 * index
        process.kernel(SEND_RECV, begin, begin + 1_000_000, gridX=1, launch=thread.launch(at + 42, at + 44))
    analysis = analyse([builder.write(tmp_path / "t.sqlite")])
    for link in analysis.links:
        assert (link.headline_gb_s, link.wire_gb_s, link.kernel_gb_s) == (None, None, None)
    # Nor is it known to have moved at all.
    assert {each.code: each.count for each in analysis.warnings}["perhaps-copies-to-itself"] == 6


def test_a_group_that_the_end_of_the_capture_may_have_cut_is_in_no_rate(tmp_path: Path) -> None:
    """40 x 8 MiB in one group, 20 GB/s; of its two kernels the capture holds the first."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    half = 20 * 8 * 2**20 // 20
    for rank, name in enumerate(("ncclSend", "ncclRecv")):
        process = builder.process(pid=rank + 1)
        thread = process.thread(tid=rank + 1)
        thread.nccl("ncclCommInitRank", 1, 5, communicator=5, nranks=2, rank=rank, device=rank)
        thread.nccl(name, 6, 8, communicator=5, nbytes=1, peer=1 - rank)
        thread.nccl("ncclGroupStart", 100, 102)
        for index in range(40):
            at = 110 + 10 * index
            thread.nccl(name, at, at + 8, communicator=5, nbytes=8 * 2**20, peer=1 - rank)
        thread.nccl("ncclGroupEnd", 600, 700)
        process.kernel(SEND_RECV, 10_000, 10_000 + half, device=rank, gridX=1, launch=thread.launch(610, 612))
    (link,) = [link for link in analyse([builder.write(tmp_path / "t.sqlite")]).links if link.movement_count > 1]
    assert (link.headline_gb_s, link.wire_gb_s) == (None, None)


def test_a_layers_rate_is_of_movements_that_are_its_alone(tmp_path: Path) -> None:
    """Layers 0 and 1 each alone in 1 and 2 ms, then both in one message of 4 ms, which tells of neither."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    lengths = {"0": 1_000_000, "1": 2_000_000, "0-1": 4_000_000}
    for pid, name in ((1, "ncclSend"), (2, "ncclRecv")):
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        thread.nccl("ncclCommInitRank", 1, 5, communicator=5, nranks=2, rank=pid - 1, device=pid - 1)
        thread.nccl(name, 6, 8, communicator=5, nbytes=1, peer=2 - pid)  # the first use is in no rate
        for place, (layer, length) in enumerate(lengths.items(), 1):
            at = 10_000_000 * place
            thread.push_pop(f"kv_transfer op={name[4:].lower()} layer={layer}", at, at + 100)
            thread.nccl(name, at + 10, at + 20, communicator=5, nbytes=MESSAGE, peer=2 - pid)
            launch = thread.launch(at + 12, at + 14)
            process.kernel(SEND_RECV, at + 30, at + 30 + length, device=pid - 1, gridX=1, launch=launch)
    layers = analyse([builder.write(tmp_path / "t.sqlite")]).layers
    assert [layer.movement_count for layer in layers] == [2, 2]
    for layer, length in zip(layers, (1_000_000, 2_000_000), strict=True):
        assert layer.wire_gb_s is not None
        assert layer.wire_gb_s.count == 1
        assert layer.wire_gb_s.p50 == pytest.approx(MESSAGE / (length + SLACK))
        assert layer.kernel_gb_s is not None
        assert layer.kernel_gb_s.p50 == pytest.approx((MESSAGE - BUFFERED) / length)
