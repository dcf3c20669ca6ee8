"""What counts as a change: more than the relative threshold and the floor, of enough observations, in either order."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.compare.judging import Rules, judge
from nsysparse.compare.measures import HIGHER, LOWER, NEITHER, Measure
from nsysparse.compare.readings import Reading, unknown
from nsysparse.comparison import Change

MIRROR = {"improved": "regressed", "regressed": "improved"}
RULES = Rules(noise=0.05, min_samples=8)


def measure(better: str = LOWER, floor: float = 0.5) -> Measure[object]:
    return Measure("x.p50", "X, p50", "ms", better, floor, lambda _: unknown("never read"), decides=True)


def change(base: float, candidate: float, better: str = LOWER, floor: float = 0.0, count: int = 100) -> Change:
    return judge("", measure(better, floor), [Reading(base, count)], Reading(candidate, count), RULES)


@pytest.mark.parametrize(
    ("base", "candidate", "better", "verdict"),
    [
        (100, 106, LOWER, "regressed"),
        (100, 94, LOWER, "improved"),
        (100, 106, HIGHER, "improved"),
        (100, 94, HIGHER, "regressed"),
        (100, 106, NEITHER, "changed"),
        (100, 95, LOWER, "unchanged"),  # 5 % of the larger is not more than 5 %
        (100, 105.2, LOWER, "unchanged"),  # 5.2 of 105.2 is less than 5 %
        (100, 105.3, LOWER, "regressed"),  # 5.3 of 105.3 is more
        (0, 0, LOWER, "unchanged"),
        (0, 1, LOWER, "regressed"),
        (1, 0, LOWER, "improved"),
    ],
)
def test_the_threshold_is_a_share_of_the_larger_value(base: float, candidate: float, better: str, verdict: str) -> None:
    found = change(base, candidate, better)
    assert (found.verdict, found.delta, found.reason) == (verdict, candidate - base, "")
    assert found.ratio == (candidate / base if base else None)


def test_below_the_floor_nothing_changed_and_the_reason_says_so() -> None:
    found = change(0.1, 0.5, floor=0.5)
    assert (found.verdict, found.floor, found.floor_basis) == ("unchanged", 0.5, "metric")
    assert found.reason == "within the floor of this metric, 0.500 ms"
    assert change(0.1, 0.7, floor=0.5).verdict == "regressed"


def test_several_base_runs_are_their_median_and_their_spread_is_the_floor() -> None:
    bases = [Reading(value, 50) for value in (10.0, 14.0, 11.0)]
    found = judge("", measure(), bases, Reading(14.9, 50), RULES)
    assert (found.base, found.floor, found.floor_basis, found.verdict) == (11.0, 4.0, "base-runs", "unchanged")
    assert found.reason == "within the spread of 3 base runs, 4.00 ms"
    assert judge("", measure(), bases, Reading(15.1, 50), RULES).verdict == "regressed"


def test_base_runs_that_do_not_know_it_count_for_nothing() -> None:
    bases = [unknown("no steps"), Reading(10.0, 50), Reading(12.0, 9)]
    found = judge("", measure(), bases, Reading(20.0, 50), RULES)
    assert (found.base, found.base_count, found.verdict) == (11.0, 9, "regressed")


def test_what_clocks_leave_open_is_no_change() -> None:
    bases, after = [Reading(10.0, 50, doubt=1.5)], Reading(12.9, 50, doubt=1.5)
    found = judge("", measure(), bases, after, RULES)
    assert (found.verdict, found.floor, found.floor_basis) == ("unchanged", 3.0, "clocks")
    assert found.reason == "within what clocks leave open, 3.00 ms"
    assert judge("", measure(), bases, replace(after, value=13.1), RULES).verdict == "regressed"


@pytest.mark.parametrize(
    ("base", "candidate", "why"),
    [
        (Reading(1.0, 7), Reading(9.0, 100), "too few observations (7 in base; --min-samples 8)"),
        (Reading(1.0, 8), Reading(9.0, 2), "too few observations (2 in the candidate; --min-samples 8)"),
        (unknown("no steps"), Reading(9.0, 9), "unknown in base: no steps"),
        (Reading(1.0, 9), unknown("no steps"), "unknown in the candidate: no steps"),
        (unknown("a"), unknown("b"), "unknown in both: b"),
        (
            Reading(1.0, 9, like="wire"),
            Reading(9.0, 9, like="kernel, a lower bound"),
            "not of the same kind: wire in base, kernel, a lower bound in the candidate",
        ),
    ],
)
def test_what_cannot_be_compared_says_why(base: Reading, candidate: Reading, why: str) -> None:
    found = judge("", measure(), [base], candidate, RULES)
    assert (found.verdict, found.reason) == ("not-comparable", why)


def test_a_sum_is_no_sample() -> None:
    assert judge("", measure(), [Reading(1.0)], Reading(9.0), RULES).verdict == "regressed"


values = st.floats(0, 1e6, allow_subnormal=False)
counts = st.none() | st.integers(0, 20)
readings = st.builds(Reading, st.none() | values, counts, st.floats(0, 10), st.sampled_from(["", "wire"]), st.just("?"))


@given(readings, readings, st.sampled_from([HIGHER, LOWER, NEITHER]), st.floats(0, 5))
def test_swapping_the_runs_mirrors_the_change(one: Reading, other: Reading, better: str, floor: float) -> None:
    there = judge("", measure(better, floor), [one], other, RULES)
    back = judge("", measure(better, floor), [other], one, RULES)
    assert back.verdict == MIRROR.get(there.verdict, there.verdict)
    assert (back.base, back.candidate, back.floor) == (there.candidate, there.base, there.floor)
    assert back.delta == (None if there.delta is None else -there.delta)


@given(readings, st.sampled_from([HIGHER, LOWER, NEITHER]))
def test_nothing_differs_from_itself(one: Reading, better: str) -> None:
    found = judge("", measure(better), [one], one, RULES)
    assert found.verdict in ("unchanged", "not-comparable")
    assert found.delta in (0.0, None)
