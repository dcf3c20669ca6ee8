"""A request's way: segments that add up whatever the clocks say, and verdicts that no error of theirs can turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.analysis import CONVENTIONS, DECODE_FIRST, PREFILL_FIRST
from nsysparse.anchor import Anchor
from nsysparse.clocks import Clocks, solve
from nsysparse.events import EVENTS
from nsysparse.frames import Transfers
from nsysparse.metrics.path import Event, Way, judged, shares_within, walk

HOST = "h"
NO_TRANSFERS = Transfers.create_empty()


def one_host(error_ns: int = 0) -> Clocks:
    """Two traces of one host, b's session begun `error_ns` later: so its clock is that much behind."""
    return solve({"a": Anchor(10**18, HOST), "b": Anchor(10**18 + error_ns, HOST)}, NO_TRANSFERS)


APART = solve({"a": Anchor(), "b": Anchor()}, NO_TRANSFERS)
SEEN = {
    "arrival": Event(0, "a"),
    "prefill_start": Event(1_000_000, "a"),
    "prefill_end": Event(5_000_000, "a"),
    "first_send": Event(5_500_000, "a"),
    "last_recv": Event(7_000_000, "a"),
    "decode_start": Event(7_200_000, "a"),
    "decode_end": Event(9_000_000, "a"),
    "last_token": Event(29_000_000, "a"),
}


def way(
    convention: str | None = None,
    tokens: int = 11,
    clocks: Clocks = APART,
    *,
    is_cut: bool = False,
    **moved: Event | None,
) -> Way:
    seen = dict.fromkeys(EVENTS) | SEEN | moved
    return walk(seen, tokens, clocks, convention, 0.2, is_cut=is_cut)


def test_segments_by_hand() -> None:
    found = way()
    assert (found.queue_ns, found.prefill_ns, found.handoff_ns) == (1_000_000, 4_000_000, 500_000)
    assert (found.transfer_span_ns, found.ready_to_decode_ns, found.first_decode_ns) == (1_500_000, 200_000, 1_800_000)
    assert (found.kv_gap_ns, found.path_ns, found.path_basis) == (2_200_000, 9_000_000, "arrival")
    assert found.kv_gap_share == pytest.approx(2.2 / 9)
    assert (found.verdict, found.uncertainty_ns, found.clock, found.missing) == ("over", 30_000, "one-file", "")


def test_sends_during_prefill_leave_no_hand_off() -> None:
    found = way(first_send=Event(2_000_000, "a"))
    assert (found.handoff_ns, found.overlap_ns, found.transfer_span_ns) == (0, 3_000_000, 2_000_000)


def test_all_kv_may_have_arrived_before_prefill_ends() -> None:
    found = way(first_send=Event(2_000_000, "a"), last_recv=Event(4_000_000, "a"))
    assert (found.transfer_span_ns, found.ready_to_decode_ns, found.kv_gap_ns) == (0, 2_200_000, 2_200_000)


def test_decode_may_begin_before_all_kv_has_arrived() -> None:
    found = way(last_recv=Event(8_000_000, "a"))
    assert (found.transfer_span_ns, found.ready_to_decode_ns) == (1_700_000, 0)


def test_without_an_arrival_the_way_begins_with_prefill() -> None:
    found = way(arrival=None)
    assert (found.queue_ns, found.path_ns, found.path_basis) == (None, 8_000_000, "prefill-start")


def test_an_arrival_after_prefill_began_is_none() -> None:
    found = way(arrival=Event(1_000_001, "a"))
    assert (found.queue_ns, found.path_basis) == (None, "prefill-start")


def test_a_request_that_is_not_announced_beside_others_is_cut() -> None:
    found = way(arrival=None, is_cut=True)
    assert (found.missing, found.verdict, found.prefill_ns, found.path_ns) == ("cut", "unknown", None, None)
    assert found.kv_gap_ns == 2_200_000


@pytest.mark.parametrize(
    ("lacking", "missing"), [("prefill_end", "no-prefill-step"), ("decode_start", "no-decode-step")]
)
def test_a_step_that_nobody_recorded(lacking: str, missing: str) -> None:
    found = way(**{lacking: None})
    assert (found.missing, found.kv_gap_ns, found.verdict) == (missing, None, "unknown")


def test_a_gap_below_nothing_is_no_gap_within_what_clocks_may_be_off() -> None:
    found = way(decode_start=Event(4_980_000, "a"))
    assert (found.kv_gap_ns, found.verdict, found.missing) == (0, "ok", "")
    assert way(decode_start=Event(4_960_000, "a")).missing == "contradiction"


def test_events_of_two_traces_need_their_clocks() -> None:
    decode = {name: Event(SEEN[name].at_ns, "b") for name in ("last_recv", "decode_start", "decode_end", "last_token")}
    apart = way(**decode)
    assert (apart.missing, apart.kv_gap_ns, apart.transfer_span_ns) == ("clocks", None, None)
    assert (apart.prefill_ns, apart.ready_to_decode_ns, apart.first_decode_ns) == (4_000_000, 200_000, 1_800_000)
    # b's session began 1 ms later, so its events are 1 ms later than its clock says.
    late = way(clocks=one_host(1_000_000), **decode)
    assert (late.kv_gap_ns, late.path_ns, late.uncertainty_ns) == (3_200_000, 10_000_000, 60_000)
    assert (late.handoff_ns, late.ready_to_decode_ns, late.first_decode_ns) == (500_000, 200_000, 1_800_000)
    assert late.clock == "same-host-utc"


def test_who_emits_the_first_token_decides_when_it_is_there() -> None:
    unknown, by_decode, by_prefill = (way(convention) for convention in (None, *CONVENTIONS))
    assert (unknown.ttft_ns, unknown.tpot_ns, unknown.tpot_impact_ns) == (None, None, None)
    assert (by_decode.ttft_ns, by_decode.tpot_ns, by_decode.tpot_impact_ns) == (9_000_000, 2_000_000, None)
    # Prefill's token is there at 5 ms; eleven more until 29 ms.
    assert (by_prefill.ttft_ns, by_prefill.tpot_impact_ns) == (5_000_000, 2_200_000)
    assert by_prefill.tpot_ns == 24_000_000 // 11
    assert {each.tpot_without_gap_ns for each in (unknown, by_decode, by_prefill)} == {2_000_000}


def test_one_token_has_no_pace() -> None:
    assert way(DECODE_FIRST, tokens=1).tpot_ns is None
    assert way(PREFILL_FIRST, tokens=1).tpot_ns == 24_000_000


TIMES = st.integers(0, 2_000)


@given(
    st.fixed_dictionaries({name: st.none() | TIMES for name in EVENTS}),
    st.sampled_from([None, *CONVENTIONS]),
    st.integers(0, 5),
    st.booleans(),
)
def test_whatever_was_seen_segments_add_up(
    times: dict[str, int | None],
    convention: str | None,
    tokens: int,
    is_cut: bool,  # noqa: FBT001 (hypothesis gives it)
) -> None:
    seen = {name: None if at is None else Event(at * 1_000, "a") for name, at in times.items()}
    found = walk(seen, tokens, APART, convention, 0.2, is_cut=is_cut)
    parts = [found.handoff_ns, found.transfer_span_ns, found.ready_to_decode_ns]
    if found.kv_gap_ns is not None and None not in parts:
        assert sum(part or 0 for part in parts) == found.kv_gap_ns
    known = [found.queue_ns, found.prefill_ns, found.kv_gap_ns, found.first_decode_ns, *parts, found.overlap_ns]
    assert all(value is None or value >= 0 for value in known)
    if found.path_ns is not None:
        assert found.path_ns == (found.queue_ns or 0) + (found.prefill_ns or 0) + (found.kv_gap_ns or 0) + (
            found.first_decode_ns or 0
        )
        assert found.kv_gap_share is None or 0 <= found.kv_gap_share <= 1
    assert (found.kv_gap_share is None) == (found.verdict == "unknown")


@pytest.mark.parametrize(
    ("gap", "rest", "doubts", "verdict"),
    [
        (200, 800, (0, 0), "ok"),
        (201, 799, (0, 0), "over"),
        (201, 799, (5, 0), "unresolved"),
        (201, 799, (0, 5), "unresolved"),
        (300, 700, (50, 0), "over"),
        (10, 990, (150, 0), "ok"),
        (10, 990, (300, 0), "unresolved"),
        (500, 500, (0, 2_000), "unresolved"),
        (0, 0, (0, 0), "ok"),
    ],
)
def test_no_error_of_the_clocks_turns_a_verdict(gap: int, rest: int, doubts: tuple[int, int], verdict: str) -> None:
    assert judged(*shares_within(gap, rest, *doubts), 0.2) == verdict


@given(
    st.integers(0, 1_000), st.integers(1, 1_000), st.integers(0, 400), st.integers(0, 400), st.floats(-1, 1),
    st.floats(-1, 1),
)  # fmt: skip
def test_shares_within_are_what_they_can_be(
    gap: int, rest: int, gap_doubt: int, rest_doubt: int, gap_off: float, rest_off: float
) -> None:
    low, high = shares_within(gap, rest, gap_doubt, rest_doubt)
    true_gap, true_rest = gap + gap_doubt * gap_off, rest + rest_doubt * rest_off
    if true_gap >= 0 and true_rest >= 0 and true_gap + true_rest >= 1:
        assert low <= true_gap / (true_gap + true_rest) + 1e-12
        assert true_gap / (true_gap + true_rest) <= high + 1e-12


def test_each_segment_carries_the_doubt_of_its_own_clocks() -> None:
    """A router on a third clock: its arrival is far less sure than what lies between prefill and decode."""
    decode = {name: Event(SEEN[name].at_ns, "b") for name in ("last_recv", "decode_start", "decode_end", "last_token")}
    router = solve({"a": Anchor(10**18, HOST), "b": Anchor(10**18, HOST), "r": Anchor(10**18, "other")}, NO_TRANSFERS)
    found = way(clocks=router, arrival=Event(0, "r"), **decode)
    assert (found.uncertainties["kv_gap_ns"], found.uncertainties["queue_ns"]) == (60_000, 50_000_000)
    assert found.uncertainties["path_ns"] == 50_060_000
    assert "prefill_ns" not in found.uncertainties
    assert (found.verdict, found.clock) == ("unresolved", "utc-unverified")


@pytest.mark.parametrize(("convention", "doubt"), [(DECODE_FIRST, 6_000), (PREFILL_FIRST, 8_182)])
def test_a_last_token_on_another_clock_leaves_the_pace_open(convention: str, doubt: int) -> None:
    """60 us over 10 tokens after the first; with the second the 30 us of the gap come to it, all over 11."""
    found = way(convention, clocks=one_host(), last_token=Event(29_000_000, "b"))
    assert found.uncertainties["tpot_without_gap_ns"] == 6_000
    assert found.uncertainties["tpot_ns"] == doubt


def test_an_arrival_that_cannot_be_leaves_no_doubt() -> None:
    clocks = one_host()
    found = way(PREFILL_FIRST, clocks=clocks, arrival=Event(2_000_000, "b"))
    assert (found.queue_ns, found.ttft_ns) == (None, 4_000_000)
    assert "ttft_ns" not in found.uncertainties


def test_a_rank_that_may_have_been_later_is_doubt() -> None:
    found = way(prefill_end=Event(5_000_000, "a", 40_000))
    assert found.uncertainties["prefill_ns"] == 40_000
    assert found.uncertainties["kv_gap_ns"] == 40_000
