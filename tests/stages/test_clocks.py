"""What transfers and anchors prove of two clocks: each inequality, each mode, each refusal, with known answers."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from two_hosts import EPOCH_NS, run

from nsysparse.alignment import CLOCK_SLACK_NS
from nsysparse.anchor import Anchor
from nsysparse.api import study_traces
from nsysparse.clocks import Clocks, solve
from nsysparse.clocks.bounds import Origin, causal, coincident
from nsysparse.clocks.hosts import SAME_HOST_NS
from nsysparse.clocks.offset import Offset
from nsysparse.clocks.pairs import Pairs, between_traces
from nsysparse.errors import UsageError
from nsysparse.metrics.warnings import MESSAGES

MIB = 2**20
MS, S = 10**6, 10**9
SLACK = CLOCK_SLACK_NS
ZERO = Origin(0, 0)
NOBODY = pl.DataFrame(
    schema={
        **dict.fromkeys(("pairing_proof", "trace_id", "side", "transport", "interval_kind"), pl.String),
        **dict.fromkeys(("start_ns", "end_ns", "bytes", "staging_bytes", "kernel_ops"), pl.Int64),
        "pair_id": pl.UInt32,
    }
)

Message = tuple[str, str, int, tuple[int, int], tuple[int, int]]


def transfers(*messages: Message, **more: Any) -> pl.DataFrame:
    """Paired transfers: (from, to, bytes, start and end of the send, of the receive), each on its own trace's clock."""
    rows = [
        {
            "pair_id": number, "pairing_proof": "start", "trace_id": trace, "side": side, "transport": "nccl",
            "interval_kind": "gpu", "start_ns": start, "end_ns": end, "bytes": nbytes, "staging_bytes": 8 * MIB,
            "kernel_ops": 1, **more,
        }
        for number, (source, target, nbytes, sent, received) in enumerate(messages)
        for side, trace, (start, end) in (("send", source, sent), ("recv", target, received))
    ]  # fmt: skip
    return pl.DataFrame(rows, schema_overrides=NOBODY.schema)


def sides(frame: pl.DataFrame) -> tuple[Pairs, Pairs]:
    ((_, found),) = between_traces(frame)
    return found


def points(frame: pl.DataFrame, which: str) -> list[tuple[float, float]]:
    found = getattr(causal(*sides(frame), ZERO), which)
    return sorted(zip(found.at.tolist(), found.value.tolist(), strict=True))


def anchors(**known: Anchor) -> dict[str, Anchor]:
    return {"a": Anchor(), "b": Anchor(), **known}


THERE: Message = ("a", "b", 4, (100, 300), (40_000, 70_000))
BACK: Message = ("b", "a", 4, (40_000, 70_000), (100, 300))


def test_a_receive_does_not_end_before_its_send_began_nor_ended() -> None:
    frame = transfers(THERE)
    assert points(frame, "upper") == [(100, 69_900 + SLACK), (300, 69_700 + SLACK)]
    assert points(frame, "lower") == []
    # The other way the same bounds the offset from below, at the instant of the receive.
    frame = transfers(BACK)
    assert points(frame, "lower") == [(300, 40_000 - 300 - SLACK), (300, 70_000 - 300 - SLACK)]
    assert points(frame, "upper") == []


@pytest.mark.parametrize("more", [{"kernel_ops": 2}, {"transport": "nixl"}, {"kernel_ops": None}])
def test_only_a_lone_nccl_kernel_ends_when_its_message_has_left(more: dict[str, Any]) -> None:
    assert points(transfers(THERE, **more), "upper") == [(100, 69_900 + SLACK)]


def test_what_cannot_be_buffered_does_not_leave_before_its_receive_begins() -> None:
    at_most, more = ((*THERE[:2], nbytes, *THERE[3:]) for nbytes in (8 * MIB, 8 * MIB + 1))
    assert points(transfers(at_most), "lower") == []
    assert points(transfers(more), "lower") == [(300, 40_000 - 300 - SLACK)]
    assert points(transfers(more, transport="nixl"), "lower") == []
    back = (*BACK[:2], 8 * MIB + 1, *BACK[3:])
    assert (100, 70_000 - 100 + SLACK) in points(transfers(back), "upper")


@pytest.mark.parametrize("more", [{"pairing_proof": None}, {"interval_kind": "call"}, {"interval_kind": None}])
def test_pairs_without_proof_or_interval_prove_nothing(more: dict[str, Any]) -> None:
    assert list(between_traces(transfers(THERE, **more))) == []


def test_least_delayed_large_messages_end_together() -> None:
    """16 MiB in 1 ms: the 8 MiB that may be buffered drain in 0.5 ms. The offset is 0, the delays 0 to 90 us."""
    many = [
        ("a", "b", 16 * MIB, (at, at + MS), (at, at + MS + late * 1_000))
        for at, late in zip(range(0, 16 * 2 * MS, 2 * MS), [40, 0, 10, 5, 90, 30, 20, 50, 60, 70, 9, 3, 2, 0, 80, 85],
                            strict=True)
    ]  # fmt: skip
    bounds = coincident(*sides(transfers(*many)), ZERO)
    assert bounds.upper.at.size == 0
    assert bounds.lower.at.tolist() == [3 * MS, 27 * MS]  # the least delayed of each eight
    # Less by the drain, by how far the third least is above, and by what clocks are off.
    assert bounds.lower.value.tolist() == pytest.approx([-(500 + 10) * 1_000 - SLACK, -(500 + 3) * 1_000 - SLACK])
    # The other way round it is the same from above.
    mirrored = [("b", "a", nbytes, sent, received) for _, _, nbytes, sent, received in many]
    above = coincident(*sides(transfers(*mirrored)), ZERO).upper
    assert above.value.tolist() == pytest.approx((-bounds.lower.value).tolist())
    # Three large messages say nothing of what is undelayed, nor does anything where both directions are there.
    for frame in (transfers(*many[:3]), transfers(*many, BACK)):
        bounds = coincident(*sides(frame), ZERO)
        assert bounds.upper.at.size == bounds.lower.at.size == 0


def two_way(offset: int, *, late: int = 10_000) -> pl.DataFrame:
    messages: list[Message] = []
    for at in range(0, 10 * MS, MS):
        messages += [
            ("a", "b", 4, (at, at + 100), (at + offset, at + 100 + late + offset)),
            ("b", "a", 4, (at + 5_000 + offset, at + 5_100 + offset), (at + 5_000, at + 5_100 + late)),
        ]
    return transfers(*messages)


def test_two_directions_bracket_the_offset_without_assumption() -> None:
    clocks = solve(anchors(), two_way(3 * S))
    found = clocks.between("a", "b")
    assert found is not None
    assert abs(found.at(5 * MS) - 3 * S) <= 1
    assert found.uncertainty_ns == pytest.approx(SLACK + 10_000, abs=20)
    (row,) = clocks.rows(["a", "b"])
    assert (row.method, row.one_sided, row.pair_count, row.drift_ppm) == ("estimated", False, 20, None)
    assert "both directions" in row.note
    assert "zeros of both recordings" in row.note
    other = clocks.between("b", "a")
    assert other is not None
    assert abs(other.at(3 * S) + 3 * S) <= 1


def test_an_offset_counts_from_utc_where_both_record_it() -> None:
    known = anchors(a=Anchor(EPOCH_NS), b=Anchor(EPOCH_NS + 7 * S))
    # The second session began 7 s later by its own UTC, but its clock is 10 s behind the first: its UTC is 3 s behind.
    (row,) = solve(known, two_way(-10 * S)).rows(["a", "b"])
    assert row.offset_ns == pytest.approx(-3 * S, abs=1)
    assert row.method == "estimated"


def test_transfers_one_way_are_said_to_be_one_sided() -> None:
    large: list[Message] = [
        ("a", "b", 80 * MIB, (at, at + 2 * MS), (at + S, at + 2 * MS + S)) for at in range(0, 60 * MS, 3 * MS)
    ]
    found = solve(anchors(), transfers(*large)).between("a", "b")
    assert found is not None
    assert found.one_sided is True
    assert abs(found.at(0) - S) <= found.uncertainty_ns <= 200_000 // 2 + 2 * SLACK


def test_small_messages_one_way_bound_nothing_from_below() -> None:
    frame = transfers(THERE)
    clocks = solve(anchors(), frame, "estimate")
    assert clocks.between("a", "b") is None
    (row,) = clocks.rows(["a", "b"])
    assert (row.method, row.offset_ns, row.uncertainty_ns) == ("refused", None, None)
    assert "--clock auto" in row.note
    # With UTC they narrow what it allows: 50 ms either way, but not above 100 us.
    known = anchors(a=Anchor(EPOCH_NS), b=Anchor(EPOCH_NS))
    (row,) = solve(known, frame).rows(["a", "b"])
    assert (row.method, row.one_sided, row.pair_count) == ("utc-unverified", True, 1)
    assert row.offset_ns == pytest.approx((-50 * MS + 99_700) // 2, abs=2)
    assert row.uncertainty_ns == pytest.approx((50 * MS + 99_700) // 2, abs=3)
    assert "nothing verifies" in row.note


def test_drift_is_found_where_the_run_is_long_enough() -> None:
    ppm = 40e-6
    messages: list[Message] = []
    for at in range(0, 20 * S, S // 2):
        b = round(at * (1 + ppm)) + S
        messages += [("a", "b", 4, (at, at + 9), (b, b + 9)), ("b", "a", 4, (b, b + 9), (at, at + 9))]
    clocks = solve(anchors(), transfers(*messages), span={"a": (0, 20 * S), "b": (S, 21 * S)})
    (row,) = clocks.rows(["a", "b"])
    assert row.drift_ppm == pytest.approx(40, abs=0.2)
    found = clocks.between("a", "b")
    assert found is not None
    assert abs(found.at(20 * S) - S - 20 * S * ppm) < 1_000
    assert found.uncertainty_ns < 2 * SLACK


HOST = Anchor(EPOCH_NS, host="h")
LATER = Anchor(EPOCH_NS + S, host="h")


def test_recordings_of_one_host_share_its_clock() -> None:
    seen: Counter[str] = Counter()
    clocks = solve({"a": HOST, "b": LATER}, NOBODY, anomalies=seen)
    found = clocks.between("a", "b")
    assert found is not None
    assert (found.at(0), found.uncertainty_ns, found.method) == (-S, SAME_HOST_NS, "same-host-utc")
    (row,) = clocks.rows(["a", "b"])
    assert (row.offset_ns, row.one_sided, row.drift_ppm, row.pair_count) == (0, None, None, 0)
    assert not +seen


def test_a_wall_clock_that_was_set_gives_way_to_the_monotonic_one() -> None:
    seen: Counter[str] = Counter()
    set_back = {
        "a": replace(HOST, monotonic_ns=S),
        "b": replace(LATER, utc_epoch_ns=EPOCH_NS - 4 * S, monotonic_ns=2 * S),
    }
    (row,) = solve(set_back, NOBODY, anomalies=seen).rows(["a", "b"])
    # Two hosts of one name would look alike: then UTC is right, so the uncertainty reaches as far.
    assert (row.method, row.offset_ns, row.uncertainty_ns) == ("same-host-monotonic", -5 * S, 5 * S + SAME_HOST_NS)
    assert +seen == Counter({"clock-was-stepped": 1})
    # Half a millisecond may be how the two were read: they are not told apart, and the uncertainty says so.
    little = {"a": replace(HOST, monotonic_ns=S), "b": replace(LATER, monotonic_ns=2 * S + MS // 2)}
    (row,) = solve(little, NOBODY).rows(["a", "b"])
    assert (row.method, row.uncertainty_ns) == ("same-host-utc", MS // 2)
    # A day apart is another boot, or another host of the same name.
    anew = {"a": replace(HOST, monotonic_ns=86_400 * S), "b": replace(LATER, monotonic_ns=S)}
    (row,) = solve(anew, NOBODY).rows(["a", "b"])
    assert row.method == "utc-unverified"


def test_utc_of_two_hosts_is_not_verified() -> None:
    known = anchors(a=Anchor(EPOCH_NS, host="x"), b=Anchor(EPOCH_NS + S, host="y"))
    (row,) = solve(known, NOBODY, utc_error_ns=2 * MS).rows(["a", "b"])
    assert (row.method, row.offset_ns, row.uncertainty_ns) == ("utc-unverified", 0, 2 * MS)
    assert "--utc-error" in row.note
    # As asked, also where transfers know better.
    (row,) = solve(known, two_way(3 * S), "utc").rows(["a", "b"])
    assert (row.method, row.pair_count) == ("utc-unverified", 0)
    # What transfers prove goes before what nothing verifies, however far it is from it.
    (row,) = solve(known, two_way(3 * S)).rows(["a", "b"])
    assert row.method == "estimated"


@pytest.mark.parametrize(("off", "warned"), [(MS, 0), (3 * MS, 1)])
def test_utc_is_taken_as_asked_but_not_without_a_word_where_transfers_prove_it_wrong(off: int, warned: int) -> None:
    known = anchors(a=Anchor(EPOCH_NS, host="x"), b=Anchor(EPOCH_NS, host="y"))
    seen: Counter[str] = Counter()
    (row,) = solve(known, two_way(off), "utc", utc_error_ns=2 * MS, anomalies=seen).rows(["a", "b"])
    assert (row.method, row.offset_ns, row.uncertainty_ns, row.pair_count) == ("utc-unverified", 0, 2 * MS, 0)
    assert seen["utc-contradicted"] == warned


def test_what_cannot_be_told_is_refused_with_a_reason() -> None:
    cases = [
        (solve(anchors(a=Anchor(EPOCH_NS)), NOBODY), "b does not record UTC"),
        (solve(anchors(), NOBODY, "utc"), "a and b does not record UTC"),
        (solve(anchors(a=HOST, b=LATER), NOBODY, "estimate"), "no proven pairs"),
        (solve(anchors(a=HOST, b=LATER), NOBODY, "none"), "--clock none"),
    ]
    for clocks, words in cases:
        assert clocks.between("a", "b") is None
        (row,) = clocks.rows(["a", "b"])
        assert (row.method, row.offset_ns, row.one_sided) == ("refused", None, None)
        assert words in row.note
    with pytest.raises(UsageError):
        solve(anchors(), NOBODY, "ntp")


def test_contradictions_are_refused_and_counted() -> None:
    impossible = transfers(
        ("a", "b", 4, (S, S + 9), (0, 9)),  # B is behind A by 1 s at least
        ("b", "a", 4, (S, S + 9), (0, 9)),  # and A behind B
    )
    known = anchors(a=Anchor(EPOCH_NS, host="x"), b=Anchor(EPOCH_NS, host="y"))
    one_host = {"a": HOST, "b": HOST}
    late = transfers(THERE, ("a", "b", 4, (90 * MS, 90 * MS + 9), (0, 9)))
    for case, words in (
        ((known, impossible), "contradict each other"),
        ((one_host, two_way(10 * MS)), "name one host"),
        ((known, late), "more than 50 ms apart"),
    ):
        seen: Counter[str] = Counter()
        clocks = solve(*case, anomalies=seen)
        assert clocks.between("a", "b") is None
        assert clocks.between("b", "a") is None
        (row,) = clocks.rows(["a", "b"])
        assert row.method == "refused"
        assert words in row.note
        assert +seen == Counter({"clocks-contradict": 1})
        assert seen.keys() <= MESSAGES.keys()
    assert solve(one_host, two_way(20_000)).between("a", "b") is not None
    assert solve(one_host, two_way(10 * MS), "estimate").between("a", "b") is not None


def test_several_traces_are_tied_by_the_surest_way() -> None:
    """a and b on one host, c on another that exchanges with b; d has nothing."""
    known = {"a": HOST, "b": LATER, "c": Anchor(EPOCH_NS + 5 * S, host="z"), "d": Anchor()}
    frame = two_way(3 * S).with_columns(trace_id=pl.col("trace_id").replace({"a": "b", "b": "c"}))
    clocks = solve(known, frame)
    there, onward, whole = (clocks.between(*pair) for pair in (("a", "b"), ("b", "c"), ("a", "c")))
    assert there is not None
    assert onward is not None
    assert whole is not None
    assert whole.uncertainty_ns == there.uncertainty_ns + onward.uncertainty_ns
    assert whole.at(S) == there.at(S) + onward.at(0)
    assert (whole.method, whole.one_sided) == ("estimated", False)
    assert clocks.between("a", "d") is None
    assert [row.method for row in clocks.rows(["a", "b", "c", "d"])] == ["same-host-utc", "estimated", "refused"]


def test_many_recordings_of_one_host_need_few_edges() -> None:
    known = {f"t{number}": Anchor(EPOCH_NS + number, host="h") for number in range(300)}
    clocks = solve(known, NOBODY)
    assert len(clocks.edges) == 2 * 300
    found = clocks.between("t17", "t230")
    assert found is not None
    assert (found.at(0), found.uncertainty_ns) == (17 - 230, SAME_HOST_NS)


def test_a_clock_and_itself_agree() -> None:
    itself = Clocks({"a": Anchor()}).between("a", "a")
    assert itself is not None
    assert (itself.at(5), itself.to_base(7), itself.uncertainty_ns) == (0, 7, 0)


def test_conversion_is_the_same_for_one_and_in_a_frame() -> None:
    line = Offset("a", "b", 10**12, -(5 * S) + 3, 87.3e-6, 5, "estimated")
    there = [0, 1, 2, 10**12, 10**12 + 7, 123_456_789_012_345, -5]
    back = [line.to_base(each) for each in there]
    frame = pl.DataFrame({"t": [*there, None]}).select(line.expr_to_base(pl.col("t")))
    assert frame["t"].to_list() == [*back, None]
    assert all(abs(ours + line.at(ours) - theirs) <= 1 for ours, theirs in zip(back, there, strict=True))
    turned = line.reversed()
    assert all(abs(theirs + turned.at(theirs) - ours) <= 1 for ours, theirs in zip(back, there, strict=True))


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_whole_files_give_the_clocks_of_their_run(seed: int, both_ways: bool, tmp_path: Path) -> None:  # noqa: FBT001
    """Files with NCCL's own calls, paired by their order since the communicator was made in the capture."""
    how = run(seed, two_way=both_ways, most=80)
    study = study_traces(how.write(tmp_path))
    found = {trace.trace_id: trace.anchor for trace in study.traces}
    assert [each.utc_epoch_ns for each in found.values()] == [clock.anchor.utc_epoch_ns for clock in how.clocks]
    paired = study.transfers.filter(pl.col("pair_id").is_not_null())
    assert paired.height == 2 * len(how.messages)
    assert paired["pairing_proof"].unique().to_list() == ["start"]
    span = how.spans()
    clocks = solve(found, study.transfers, span=span)
    (row,) = clocks.rows(["t0", "t1"])
    assert (row.method, row.one_sided) == ("estimated", not both_ways)
    offset = clocks.between("t0", "t1")
    assert offset is not None
    assert max(abs(offset.at(at) - how.offset_at(at)) for at in span["t0"]) <= offset.uncertainty_ns


def test_two_real_recordings_on_hosts_of_their_own(sample: Any) -> None:
    """Both ran on one machine under two host names, so their UTC agrees to what one host's does."""
    paths = [sample(f"real/nsys22-nccl2.29.7-pd-{side}.sqlite") for side in ("prefill", "decode")]
    study = study_traces(paths)
    known = {trace.trace_id: trace.anchor for trace in study.traces}
    (row,) = solve(known, study.transfers).rows(list(known))
    assert row.method == "utc-unverified"
    assert row.offset_ns is not None
    assert row.uncertainty_ns is not None
    assert abs(row.offset_ns) <= row.uncertainty_ns <= 50 * MS
    assert abs(row.offset_ns) <= SAME_HOST_NS
