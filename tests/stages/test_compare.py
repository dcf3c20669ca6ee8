"""Two analyses held against each other: who changed, what decides, what else differs, and how it is drawn."""

from collections.abc import Callable
from dataclasses import replace

import factories
import pytest

from nsysparse.analysis import Analysis, Cell, Distribution, Layer, PromptBucket, Setting
from nsysparse.compare import Rules, compare, parse
from nsysparse.comparison import Change, Comparison

MIRROR = {"improved": "regressed", "regressed": "improved"}


def scaled(found: Distribution | None, by: float) -> Distribution | None:
    if found is None:
        return None
    marks = {name: getattr(found, name) * by for name in ("p10", "p50", "p90", "p99", "min", "max")}
    return Distribution(found.count, **marks)


def with_summary(analysis: Analysis, **by: float) -> Analysis:
    changed = {name: scaled(analysis.summary[name], factor) for name, factor in by.items()}
    return replace(analysis, summary={**analysis.summary, **changed})


def metric(comparison: Comparison, name: str) -> Change:
    return next(each for each in comparison.metrics if each.metric == name)


@pytest.mark.parametrize("make", [factories.rich, factories.small, factories.sizeless, factories.unknown])
def test_nothing_differs_from_itself(make: Callable[[], Analysis]) -> None:
    found = compare([make()], make())
    assert (found.links, found.layers, found.requests.rows, found.comparability) == ((), (), (), ()) or {
        each.code for each in found.comparability
    } <= {"bounds", "requests"}
    assert {each.verdict for each in found.metrics} <= {"unchanged", "not-comparable"}
    assert found.verdict.state in ("unchanged", "not-comparable")
    assert found.verdict.text == "Nothing changed: both sides are the same analysis."


def test_a_slower_wire_is_a_regression_and_its_mirror_an_improvement() -> None:
    base = factories.rich()
    slower = with_summary(base, wire_gb_s=0.8)
    there, back = compare([base], slower), compare([slower], base)
    assert (there.verdict.state, back.verdict.state) == ("regressed", "improved")
    assert (there.verdict.regressed_count, back.verdict.improved_count) == (2, 2)  # p50 and p10 decide
    p50, p10 = "39.5 \u2192 31.6 GB/s (\u221220.0 %)", "17.0 \u2192 13.6 GB/s (\u221220.0 %)"
    assert there.verdict.text == f"Transfer regressed: wire rate p50 {p50}; wire rate p10 {p10}."
    for ours, theirs in zip(there.metrics, back.metrics, strict=True):
        assert theirs.verdict == MIRROR.get(ours.verdict, ours.verdict)
        assert theirs.delta == (None if ours.delta is None else -ours.delta)


def test_what_does_not_decide_leaves_the_verdict() -> None:
    base = factories.rich()
    found = compare([base], with_summary(base, message_bytes=2.0))
    assert metric(found, "message_bytes.p50").verdict == "changed"
    assert found.verdict.state == "unchanged"
    assert [each.code for each in found.comparability if each.code == "message-sizes"]


def test_better_and_worse_at_once_is_mixed_either_way_round() -> None:
    base = factories.rich()
    other = with_summary(base, wire_gb_s=0.8, kv_gap_ms=0.7)
    there, back = compare([base], other), compare([other], base)
    assert there.verdict.state == back.verdict.state == "mixed"
    assert there.verdict.text.startswith("Transfer got worse in part (wire rate p50 ")
    assert ") and better in part (KV gap p50 " in there.verdict.text


def slow_layers(analysis: Analysis, numbers: range, by: float) -> Analysis:
    def changed(layer: Layer) -> Layer:
        return replace(layer, wire_gb_s=scaled(layer.wire_gb_s, by)) if layer.layer in numbers else layer

    return replace(analysis, layers=tuple(map(changed, analysis.layers)))


def test_layers_that_lost_rate_are_named_and_no_others() -> None:
    base = factories.rich()
    found = compare([base], slow_layers(base, range(10, 21), 0.8), conditions=[parse("layer.wire_gb_s.p50<-10%")])
    assert {int(each.subject) for each in found.layers} == set(range(10, 21))
    assert {each.verdict for each in found.layers} == {"regressed"}
    assert found.verdict.text == "Transfer regressed: wire rate of layers 10\u201320 by \u221220.0 %."
    assert found.gates[0].passed is False


def test_other_layers_are_not_comparable_and_said_once() -> None:
    base = factories.rich(layers=4)
    more = factories.rich(layers=6)
    found = compare([base], more)
    assert [each.message for each in found.comparability if each.code == "layers"] == [
        "Layers: 4 in base, 6 in the candidate; 4 are compared"
    ]
    alone = [each for each in found.layers if each.subject in ("4", "5")]
    assert {(each.verdict, each.reason) for each in alone} == {("not-comparable", "unknown in base: base has none")}
    assert len(alone) == 2


def test_several_base_runs_widen_the_floor_to_their_spread() -> None:
    base = factories.rich()
    bases = [base, with_summary(base, wire_gb_s=0.7), with_summary(base, wire_gb_s=1.1)]
    candidate = with_summary(base, wire_gb_s=0.8)
    alone, among = compare([base], candidate), compare(bases, candidate)
    assert metric(alone, "wire_gb_s.p50").verdict == "regressed"
    within = metric(among, "wire_gb_s.p50")
    assert (within.verdict, within.floor_basis, among.base_run_count) == ("unchanged", "base-runs", 3)
    assert within.floor == pytest.approx(39.5 * 0.4)
    assert within.base == 39.5


def test_settings_that_differ_are_said_by_their_options() -> None:
    base = factories.rich()
    settings = {**base.settings, "model": Setting("llama-3-8b", "option"), "link": Setting("ib-hdr", "option")}
    found = compare([base], replace(base, settings=settings))
    said = {each.code: each.message for each in found.comparability}
    assert said["setting-model"].startswith("--model: ")
    assert said["setting-model"].endswith(" in base, llama-3-8b in the candidate")
    assert "setting-link" in said


def test_rates_of_another_basis_are_not_compared() -> None:
    base = factories.rich()
    links = tuple(replace(each, headline_basis="kernel", headline_is_bound=True) for each in base.links)
    found = compare([base], replace(base, links=links))
    rate = metric(found, "headline_gb_s")
    assert rate.verdict == "not-comparable"
    assert rate.reason == "not of the same kind: wire in base, kernel, a lower bound in the candidate"


def test_a_token_convention_that_differs_leaves_ttft_alone() -> None:
    base = replace(factories.rich(), summary={"ttft_ms": Distribution(24, 1, 2, 3, 4, 0, 5)})
    told = [replace(base, settings={"ttft": Setting(each, "option")}) for each in ("decode-emits-first", "x")]
    assert metric(compare([told[0]], told[0]), "ttft_ms.p50").verdict == "unchanged"
    assert metric(compare([told[0]], told[1]), "ttft_ms.p50").verdict == "not-comparable"


def longer_prompts(analysis: Analysis) -> Analysis:
    """The same run with prompts twice as long under other ids, and times to match."""
    renamed = [
        replace(each, request_id=f"new-{place}", prompt_tokens=2 * (each.prompt_tokens or 0))
        for place, each in enumerate(analysis.requests)
    ]
    return with_summary(replace(analysis, requests=tuple(renamed)), kv_gap_ms=2.0)


def test_longer_prompts_decide_nothing_but_among_their_like() -> None:
    base = factories.rich()
    found = compare([base], longer_prompts(base))
    gap = metric(found, "kv_gap_ms.p50")
    assert (gap.verdict, gap.decides) == ("regressed", False)
    assert found.requests.matched_by == "prompt-length"
    assert "prompts" in {each.code for each in found.comparability}
    assert found.verdict.state == "unchanged"


def bucket(low: int, gap: float, count: int = 20) -> PromptBucket:
    spread = Distribution(count, gap, gap, gap, gap, gap, gap)
    return PromptBucket(low, 2 * low, count, 0, spread, None, None)


def test_requests_of_similar_prompts_decide_where_ids_do_not_persist() -> None:
    rich = factories.rich()
    exact = tuple(replace(each, uncertainties={}) for each in rich.requests)
    base = replace(rich, requests=exact, prompts=(bucket(512, 5.0), bucket(1024, 8.0)))
    other = replace(longer_prompts(base), prompts=(bucket(512, 5.1), bucket(1024, 12.0)))
    found = compare([base], other)
    moved = [(each.subject, each.metric, each.verdict) for each in found.requests.rows]
    assert moved == [("1,024\u20132,047 tokens", "kv_gap_ms.p50", "regressed")]
    assert found.verdict.state == "regressed"


def test_requests_with_ids_are_compared_one_by_one_and_decide_nothing() -> None:
    base = factories.rich()
    first, *rest = base.requests
    slower = replace(first, kv_gap_ns=3 * (first.kv_gap_ns or 10_000_000))
    known = replace(first, kv_gap_ns=first.kv_gap_ns or 10_000_000)
    found = compare([replace(base, requests=(known, *rest))], replace(base, requests=(slower, *rest)))
    assert [(each.subject, each.metric, each.verdict) for each in found.requests.rows] == [
        (first.request_id, "kv_gap_ms", "regressed")
    ]
    assert found.verdict.state == "unchanged"


def test_cells_are_time_per_byte_against_the_base() -> None:
    base = factories.rich(requests=3, layers=4)
    first = base.layer_request[0]
    doubled = Cell(first.layer, first.request_id, first.bytes, 2 * (first.time_ns or 0))
    found = compare([base], replace(base, layer_request=(doubled, *base.layer_request[1:])))
    assert found.cells is not None
    assert (found.cells.by, found.cells.layers, len(found.cells.columns)) == ("id", (0, 1, 2, 3), 3)
    values = {
        (layer, column): value
        for layer, row in zip(found.cells.layers, found.cells.change, strict=True)
        for column, value in zip(found.cells.columns, row, strict=True)
    }
    assert values.pop((first.layer, first.request_id)) == pytest.approx(1.0)
    assert set(values.values()) == {0.0}


def test_cells_add_up_requests_of_similar_prompts() -> None:
    """Twice the bytes in twice the time is the same time per byte."""
    base = factories.rich(requests=24, layers=2)
    other = longer_prompts(base)
    names = {old.request_id: new.request_id for old, new in zip(base.requests, other.requests, strict=True)}
    cells = tuple(
        Cell(each.layer, names[each.request_id], 2 * (each.bytes or 0), 2 * (each.time_ns or 0))
        for each in base.layer_request
    )
    tokens = [each.prompt_tokens or 0 for each in (*base.requests, *other.requests)]
    whole = (PromptBucket(0, max(tokens) + 1, 24, 0, None, None, None),)
    found = compare([replace(base, prompts=whole)], replace(other, layer_request=cells, prompts=whole))
    assert found.cells is None  # one column shows no pattern
    half, end = sorted(tokens)[len(tokens) // 2], max(tokens) + 1
    halves = tuple(PromptBucket(low, high, 12, 0, None, None, None) for low, high in ((0, half), (half, end)))
    changed = replace(base, prompts=halves, requests=other.requests, layer_request=cells)
    split = compare([replace(base, prompts=halves)], changed)
    assert split.cells is not None
    assert split.cells.by == "prompt-length"
    assert len(split.cells.columns) == 2


def test_too_few_observations_are_not_compared_and_no_row_where_nothing_moved() -> None:
    base = factories.rich()
    few = replace(base, summary={**base.summary, "wire_gb_s": Distribution(3, 1, 2, 3, 4, 0, 5)})
    found = compare([few], few, Rules(min_samples=8))
    assert metric(found, "wire_gb_s.p50").verdict == "not-comparable"
    slower = compare([few], with_summary(few, wire_gb_s=0.5))
    assert metric(slower, "wire_gb_s.p50").reason.startswith("too few observations (3 in base, 3 in the candidate")
    assert compare([few], with_summary(few, wire_gb_s=0.5), Rules(min_samples=3)).verdict.state == "regressed"
