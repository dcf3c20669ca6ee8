"""Gates: what users write, what it means, and three answers, never two."""

import pytest

from nsysparse.compare.gates import Condition, answer, parse
from nsysparse.compare.judging import Rules, judge
from nsysparse.compare.of_parts import LAYERS
from nsysparse.compare.of_run import RUN
from nsysparse.compare.readings import Reading, unknown
from nsysparse.comparison import Change, Gate, Outcome
from nsysparse.errors import UsageError

RULES = Rules(noise=0.05, min_samples=8)
OUTCOME = Outcome("unchanged", "No change.", 0, 0, 1, 0)


def gate(expression: str, base: Reading | float | None, candidate: Reading | float) -> Gate:
    condition = parse(expression)
    measures = {each.name: each for each in LAYERS} if condition.scope == "layer" else RUN
    ours, theirs = (
        each if isinstance(each, Reading) else unknown("not recorded") if each is None else Reading(each, 100)
        for each in (base, candidate)
    )
    change = judge("", measures[condition.metric], [ours], theirs, RULES)  # type: ignore[arg-type]
    return answer(condition, [change], OUTCOME, RULES)


@pytest.mark.parametrize(
    ("written", "metric", "operator", "limit", "is_change", "is_relative"),
    [
        ("wire_gb_s.p50<-5%", "wire_gb_s.p50", "<", -0.05, True, True),
        ("kv_gap_ms.p99>+10%", "kv_gap_ms.p99", ">", 0.10, True, True),
        ("kv_gap_ms.p99 >= +10 %", "kv_gap_ms.p99", ">=", 0.10, True, True),
        ("kv_gap_share.p90>0.20", "kv_gap_share.p90", ">", 0.20, False, False),
        ("kv_gap_share.p90>20%", "kv_gap_share.p90", ">", 0.20, False, False),
        ("kv_gap_ms.p50>+2", "kv_gap_ms.p50", ">", 2.0, True, False),
        ("kv_gap_ms.p50>+2ms", "kv_gap_ms.p50", ">", 2.0, True, False),
        ("wire_gb_s.p10<=40 GB/s", "wire_gb_s.p10", "<=", 40.0, False, False),
        ("wire_gb_s.p10<\u22125%", "wire_gb_s.p10", "<", -0.05, True, True),
        ("decode_idle_for_kv_share>.1", "decode_idle_for_kv_share", ">", 0.1, False, False),
        ("first_use_ms>100", "first_use_ms", ">", 100.0, False, False),
    ],
)
def test_what_a_gate_means(
    written: str, metric: str, operator: str, limit: float, *, is_change: bool, is_relative: bool
) -> None:
    found = parse(written)
    assert found == Condition(written, "run", metric, operator, pytest.approx(limit), is_change, is_relative)


def test_layers_and_links_have_gates_of_their_own() -> None:
    assert parse("layer.wire_gb_s.p50<-10%").scope == "layer"
    assert parse("link.headline_gb_s<-10%").metric == "headline_gb_s"
    assert parse(" regressed ").scope == "verdict"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("wire_gbs.p50<-5%", "Did you mean wire_gb_s.p50"),
        ("wire_gb_s<-5%", "which statistic of wire_gb_s?"),
        ("wire_gb_s.p95<-5%", "there is no metric called wire_gb_s.p95"),
        ("layer.wire_gb_s.p90<-5%", "Did you mean layer.wire_gb_s.p50"),
        ("headline_gb_s.p50<-5%", "Did you mean"),
        ("kv_gap_ms.p50>10%", "10 % of what?"),
        ("kv_gap_ms.p50>+2s", "is in ms"),
        ("kv_gap_ms.p50", "is no condition"),
        ("kv_gap_ms.p50>", "is no condition"),
        ("kv_gap_ms.p50=5", "is no condition"),
        ("kv_gap_ms.p50>1e400", "is no condition"),
        ("kv_gap_ms.p50>nan", "is no condition"),
        ("", "is no condition"),
        ("\x1b[31m" * 1000, "is no condition"),
    ],
)
def test_what_is_no_gate_is_refused_with_what_to_say(written: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(written)
    assert said in refused.value.message + refused.value.hint
    assert len(refused.value.message) < 600


@pytest.mark.parametrize(
    ("written", "base", "candidate", "passed", "value"),
    [
        ("wire_gb_s.p50<-5%", 40.0, 37.0, False, -0.075),
        ("wire_gb_s.p50<-5%", 40.0, 38.0, True, -0.05),  # not below the limit
        ("wire_gb_s.p50<=-5%", 40.0, 38.0, False, -0.05),
        ("wire_gb_s.p50<-5%", 40.0, 60.0, True, 0.5),
        ("kv_gap_ms.p99>+10%", 10.0, 11.5, False, 0.15),
        ("kv_gap_ms.p99>+2", 10.0, 11.5, True, 1.5),
        ("kv_gap_share.p90>0.20", None, 0.21, False, 0.21),  # its own value needs no base
        ("kv_gap_share.p90>0.20", 0.5, 0.2, True, 0.2),
        ("kv_gap_ms.p99>+10%", 0.0, 9.0, False, None),  # from nothing to something is beyond any share
        ("kv_gap_ms.p99<-10%", 0.0, 9.0, True, None),
        ("kv_gap_ms.p99>+10%", 0.0, 0.0, True, 0.0),
    ],
)
def test_a_gate_holds_or_fails(
    written: str, base: float | None, candidate: float, value: float | None, *, passed: bool
) -> None:
    found = gate(written, base, candidate)
    assert found.passed is passed
    assert found.value == (None if value is None else pytest.approx(value))
    assert bool(found.reason) is not passed


@pytest.mark.parametrize(
    ("written", "base", "candidate", "why"),
    [
        ("wire_gb_s.p50<-5%", None, 30.0, "unknown in base: not recorded"),
        ("wire_gb_s.p50<-5%", 40.0, unknown("no pair"), "unknown in the candidate: no pair"),
        ("wire_gb_s.p50<-5%", Reading(40.0, 3), 30.0, "too few observations (3 in base; --min-samples 8)"),
        ("wire_gb_s.p50>1", 40.0, Reading(30.0, 3), "too few observations (3 in the candidate; --min-samples 8)"),
        ("wire_gb_s.p50>1", 40.0, unknown("no pair"), "unknown in the candidate: no pair"),
        (
            "kv_gap_ms.p50>+10%",
            Reading(10.0, 9, doubt=0.5),
            Reading(11.5, 9, doubt=0.5),  # between 11/10.5 and 12/9.5: from +4.8 % to +26 %
            "+15.0 %, 10.0 \u2192 11.5 ms, which clocks leave open",
        ),
        (
            "kv_gap_share.p90>0.20",
            None,
            Reading(0.21, 9, doubt=0.02),
            "is 21.0 %, which clocks leave open",
        ),
    ],
)
def test_what_could_not_be_told_is_no_yes(
    written: str, base: Reading | float | None, candidate: Reading | float, why: str
) -> None:
    found = gate(written, base, candidate)
    assert (found.passed, found.reason) == (None, why)


def test_beyond_what_clocks_leave_open_it_fails() -> None:
    far = gate("kv_gap_ms.p50>+10%", Reading(10.0, 9, doubt=0.1), Reading(11.5, 9, doubt=0.1))
    assert far.passed is False


def test_a_change_within_the_floor_is_noise_even_for_a_gate() -> None:
    found = gate("kv_gap_ms.p50>+10%", 0.010, 0.020)  # twice as much, and ten microseconds
    assert (found.passed, found.reason) == (True, "within the floor of this metric, 0.0500 ms")
    assert gate("kv_gap_ms.p50>0.015", 0.010, 0.020).passed is False  # its own value is no change


@pytest.mark.parametrize("candidate", [0.285, 0.3 * 0.95, 28.5, 30 * 0.95])
def test_what_is_just_the_limit_does_not_exceed_it(candidate: float) -> None:
    """0.3 less 5 % is 0.285, whatever the last digit of a division says."""
    base = 0.3 if candidate < 1 else 30.0
    assert gate("wire_gb_s.p50<-5%", base, candidate).passed is True
    assert gate("wire_gb_s.p50<=-5%", base, candidate).passed is False
    for pair in ((base, candidate), (candidate, base)):
        found = judge("", RUN["wire_gb_s.p50"], [Reading(pair[0], 9)], Reading(pair[1], 9), RULES)
        assert found.verdict == "unchanged"


def test_growth_from_nothing_is_said_without_a_percentage() -> None:
    found = gate("peer_wait_ms.p50>+5%", 0.0, 1.0)
    assert (found.passed, found.value, found.reason) == (False, None, "0 ns \u2192 1.00 ms")


@pytest.mark.parametrize(
    ("written", "fix"),
    [
        ("kv_gap_share.p90>20", "For 20 % write kv_gap_share.p90>20%."),
        (
            "kv_gap_share.p90>+5",
            "For 5 points write kv_gap_share.p90>+0.05, for 5 % of the base's value kv_gap_share.p90>+5%.",
        ),
    ],
)
def test_a_share_beyond_the_whole_is_a_percentage_without_its_sign(written: str, fix: str) -> None:
    """No share ever exceeds it, so the gate would pass for ever."""
    with pytest.raises(UsageError) as caught:
        parse(written)
    assert fix in (caught.value.hint)


@pytest.mark.parametrize("doubt", [0.0, 0.1])
def test_a_gain_that_was_asked_for_and_did_not_come_fails(doubt: float) -> None:
    """No change at all is what the condition is about: then noise is no excuse, whatever the floor rests on."""
    base, same, better = (Reading(value, 100, doubt=doubt) for value in (10.0, 10.01, 5.0))
    assert gate("kv_gap_ms.p50>-30%", base, base).passed is False
    assert gate("kv_gap_ms.p50>-30%", base, same).passed is False
    assert gate("kv_gap_ms.p50>-30%", base, better).passed is True
    assert gate("wire_gb_s.p50<+5%", 40.0, 40.0).passed is False
    assert gate("wire_gb_s.p50<+5%", 40.0, 44.0).passed is True


def layer(number: int, base: Reading, candidate: Reading) -> Change:
    return judge(str(number), LAYERS[0], [base], candidate, RULES)


def test_any_layer_that_fails_fails_it_and_any_open_one_leaves_it_open() -> None:
    fine = layer(0, Reading(40.0, 9), Reading(40.0, 9))
    slow = layer(1, Reading(40.0, 9), Reading(30.0, 9))
    slowest = layer(2, Reading(40.0, 9), Reading(20.0, 9))
    few = layer(3, Reading(40.0, 3), Reading(40.0, 9))
    condition = parse("layer.wire_gb_s.p50<-10%")

    def asked(*changes: Change) -> tuple[bool | None, str]:
        found = answer(condition, changes, OUTCOME, RULES)
        return found.passed, found.reason

    assert asked(fine) == (True, "")
    assert asked(fine, few)[0] is None
    assert asked(fine, few, slow, slowest) == (False, "layer 2: \u221250.0 %, 40.0 \u2192 20.0 GB/s")
    assert asked() == (None, "there is no layer to ask it of")


@pytest.mark.parametrize(
    ("state", "passed"),
    [("regressed", False), ("mixed", False), ("improved", True), ("unchanged", True), ("not-comparable", None)],
)
def test_the_verdict_is_a_gate(state: str, passed: bool | None) -> None:  # noqa: FBT001
    assert answer(parse("regressed"), [], Outcome(state, "Because.", 0, 0, 0, 0), RULES).passed is passed
