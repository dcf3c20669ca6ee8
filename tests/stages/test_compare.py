"""Two analyses held against each other: who changed, what decides, what else differs, and how it is drawn."""

from collections.abc import Callable
from dataclasses import replace

import factories
import pytest

from nsysparse.analysis import Analysis, Cell, Distribution, Layer, PromptBucket, Setting
from nsysparse.compare import Rules, compare, parse
from nsysparse.comparison import Change, Comparison

STAYED = "The KV gap did not move: 20.9 ms."
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
    assert (found.links, found.layers, found.requests.rows) == ((), (), ())
    assert {each.code for each in found.comparability} <= {"bounds", "requests", "device-clocks"}
    assert {each.verdict for each in found.metrics} <= {"unchanged", "not-comparable"}
    assert found.verdict.state in ("unchanged", "not-comparable")
    is_known = found.verdict.state == "unchanged"
    begins = "Nothing changed: both sides" if is_known else "Both sides are the same analysis, and nothing in it can be"
    assert found.verdict.text.startswith(begins)


def test_a_slower_wire_is_a_regression_and_its_mirror_an_improvement() -> None:
    base = factories.rich()
    slower = with_summary(base, wire_gb_s=0.8)
    there, back = compare([base], slower), compare([slower], base)
    assert (there.verdict.state, back.verdict.state) == ("regressed", "improved")
    assert (there.verdict.regressed_count, back.verdict.improved_count) == (2, 2)  # p50 and p10 decide
    p50, p10 = "39.5 \u2192 31.6 GB/s (\u221220.0 %)", "17.0 \u2192 13.6 GB/s (\u221220.0 %)"
    assert there.verdict.text == f"Transfer regressed: wire rate p50 {p50}; wire rate p10 {p10}. {STAYED}"
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
    assert found.verdict.text == f"Transfer regressed: wire rate of layers 10\u201320 by \u221220.0 %. {STAYED}"
    assert found.gates[0].passed is False


def test_layers_that_lost_more_and_less_are_said_from_least_to_most() -> None:
    """Both ends are as long, so their order could only follow from that of a set, which differs between processes."""
    base = factories.rich()
    for least, most in ((0.75, 0.8), (0.8, 0.75)):
        found = compare([base], slow_layers(slow_layers(base, range(3, 4), least), range(4, 5), most))
        ends = "\u221220.0 % to \u221225.0 %"
        assert found.verdict.text == f"Transfer regressed: wire rate of layers 3\u20134 by {ends}. {STAYED}"


def test_other_layers_are_not_comparable_and_said_once() -> None:
    base = factories.rich(layers=4)
    more = factories.rich(layers=6)
    found = compare([base], more)
    assert [each.message for each in found.comparability if each.code == "layers"] == [
        "Layers: 4 in base, 6 in the candidate; 4 are compared"
    ]
    alone = [each for each in found.layers if each.subject in ("4", "5")]
    assert {(each.verdict, each.reason) for each in alone} == {("not-comparable", "unknown in base: there is none")}
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


def test_the_order_of_base_runs_changes_nothing() -> None:
    """Prompts of one of them are longer, and whichever comes first, times that grow with them do not decide."""
    base = factories.rich()
    longer, candidate = longer_prompts(base), with_summary(base, kv_gap_ms=9.0)
    there, back = compare([base, longer], candidate), compare([longer, base], candidate)
    assert there.verdict == back.verdict
    assert there.metrics == back.metrics
    assert metric(there, "kv_gap_ms.p50").decides is False
    assert "prompts" in {each.code for each in there.comparability} & {each.code for each in back.comparability}


def test_what_is_not_known_is_not_off_by_anything() -> None:
    base = factories.rich()
    without = replace(base, summary={**base.summary, "kv_gap_ms": None})
    gap = metric(compare([without], without), "kv_gap_ms.p50")
    assert (gap.base_doubt, gap.candidate_doubt, gap.floor_basis) == (0.0, 0.0, "metric")


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


def test_prompts_of_one_mean_and_another_median_do_not_decide() -> None:
    """Few long prompts among short ones, or all of middle length: the middle request's gap differs for that alone."""
    base = factories.rich()
    uneven = [4000 if place < 6 else 200 for place in range(24)]
    mean = sum(uneven) // 24

    def asking(tokens: list[int]) -> Analysis:
        requests = zip(base.requests, tokens, strict=True)
        return replace(base, requests=tuple(replace(each, prompt_tokens=count) for each, count in requests))

    found = compare([asking(uneven)], with_summary(asking([mean] * 24), kv_gap_ms=5.0))
    assert (metric(found, "kv_gap_ms.p50").verdict, found.verdict.state) == ("regressed", "unchanged")
    said = [each.message for each in found.comparability if each.code == "prompts"]
    assert said[0].startswith("prompts have 200 tokens in the median in base, 1,150 in the candidate")


def two_links(analysis: Analysis, *, fast_first: bool) -> Analysis:
    """A fast link and a slow one, of which either has carried most."""
    known = analysis.links[0]
    rates = ((40.0, 2 if fast_first else 1), (20.0, 1 if fast_first else 2))
    links = [
        replace(known, link_key=f"k{place}", dst=f"decode:gpu{place}", headline_gb_s=rate, bytes=share * 10**9)
        for place, (rate, share) in enumerate(rates)
    ]
    return replace(analysis, links=tuple(links))


def test_rates_of_two_links_are_no_change_of_either() -> None:
    """Neither link is slower: only another one carried most."""
    rich = factories.rich()
    base, candidate = two_links(rich, fast_first=True), two_links(rich, fast_first=False)
    for pair in ((base, candidate), (candidate, base)):
        found = compare([pair[0]], pair[1], conditions=[parse("headline_gb_s<-5%"), parse("link.headline_gb_s<-5%")])
        assert (found.verdict.state, found.links) == ("unchanged", ())
        rate = metric(found, "headline_gb_s")
        assert rate.verdict == "not-comparable"
        assert rate.reason.startswith("of other links: ")
        assert [gate.passed for gate in found.gates] == [None, True]
    assert "decode:gpu0 is the busiest link in base, " in metric(compare([base], candidate), "headline_gb_s").reason
    assert metric(compare([base], base), "headline_gb_s").verdict == "unchanged"


def test_a_gate_asks_every_metric_of_a_layer_or_link_that_only_one_run_has() -> None:
    """What the other run lacks has no change, and its own value needs none."""
    base = factories.rich(layers=4)
    own, change = "layer.message_bytes.mean>0", "layer.message_bytes.mean>+50%"
    fewer = replace(base, layers=base.layers[:3])
    for pair, passed in (((fewer, base), [False, None]), ((base, fewer), [False, None]), ((base, base), [False, True])):
        found = compare([pair[0]], pair[1], conditions=[parse(own), parse(change)])
        assert [gate.passed for gate in found.gates] == passed
    larger = replace(base.layers[3], bytes=1000 * (base.layers[3].bytes or 0))
    asked = f"layer.message_bytes.mean>{500 * (base.layers[0].bytes or 0) // base.layers[0].movement_count}"
    found = compare([fewer], replace(base, layers=(*base.layers[:3], larger)), conditions=[parse(asked)])
    assert (found.gates[0].passed, found.gates[0].reason[:8]) == (False, "layer 3:")


def test_a_candidate_without_what_the_base_has_leaves_the_verdicts_gate_open() -> None:
    base = factories.rich()
    few = replace(base.summary["wire_gb_s"] or Distribution(3, 1, 1, 1, 1, 1, 1), count=3)
    for wire, reason in ((None, "Wire rate, p50: unknown in the candidate: "), (few, "Wire rate, p50: too few obs")):
        lost = replace(base, summary={**base.summary, "wire_gb_s": wire})
        found = compare([base], lost, conditions=[parse("regressed")])
        assert (found.verdict.state, found.gates[0].passed) == ("unchanged", None)
        assert found.gates[0].reason.startswith(reason)
        assert compare([lost], base, conditions=[parse("regressed")]).gates[0].passed is True
        assert compare([lost], lost, conditions=[parse("regressed")]).gates[0].passed is True


def test_bounds_of_one_run_alone_are_said() -> None:
    base = factories.rich()
    said = {}
    tight, bound = (
        replace(base, links=tuple(replace(each, headline_is_bound=is_bound) for each in base.links))
        for is_bound in (False, True)
    )
    for name, pair in {"none": (tight, tight), "after": (tight, bound), "before": (bound, tight)}.items():
        notes = compare([pair[0]], pair[1]).comparability
        said[name] = [each.message for each in notes if each.code == "bounds"]
    rest = "no more than lower bounds of rates: more waiting lowers them, too"
    assert said == {
        "none": [],
        "after": [f"only the candidate proves {rest}"],
        "before": [f"only base proves {rest}"],
    }


def test_links_of_the_same_ends_are_called_alike_in_tables_and_figures() -> None:
    base = factories.rich()
    first = base.links[0]
    both = replace(base, links=(first, replace(first, transport="nixl", link_key="other")))
    slower = replace(both, links=tuple(replace(each, headline_gb_s=10.0) for each in both.links))
    found = compare([both], slower)
    assert {each.link for each in found.link_pairs} == {each.subject for each in found.links}
    assert len(found.link_pairs) == 2


def bucket(low: int, gap: float, count: int = 20) -> PromptBucket:
    spread = Distribution(count, gap, gap, gap, gap, gap, gap)
    return PromptBucket(low, 2 * low, count, 0, spread, None, None)


def test_requests_of_similar_prompts_decide_where_ids_do_not_persist() -> None:
    """More of the requests have the long prompt, so the run's gap says nothing, and that of the long prompts does."""
    rich = factories.rich()

    def asking(name: str, short: int, *gaps: float) -> Analysis:
        requests = tuple(
            replace(each, request_id=f"{name}{place}", prompt_tokens=600 if place < short else 1500, uncertainties={})
            for place, each in enumerate(rich.requests)
        )
        return replace(rich, requests=requests, prompts=tuple(map(bucket, (512, 1024), gaps)))

    found = compare([asking("a", 12, 5.0, 8.0)], with_summary(asking("b", 8, 5.1, 12.0), kv_gap_ms=2.0))
    assert metric(found, "kv_gap_ms.p50").decides is False
    moved = [(each.subject, each.metric, each.verdict) for each in found.requests.rows]
    assert moved == [("1,024\u20132,047 tokens", "kv_gap_ms.p50", "regressed")]
    assert found.verdict.state == "regressed"


def test_a_class_of_prompts_decides_only_where_they_are_alike_within_it() -> None:
    """All of a class, and twice as long at its end as at its beginning: so is what had to be sent."""
    rich = factories.rich()

    def asking(tokens: int, gap: float) -> Analysis:
        requests = tuple(
            replace(each, request_id=f"{tokens}-{place}", prompt_tokens=tokens, uncertainties={})
            for place, each in enumerate(rich.requests)
        )
        return replace(rich, requests=requests, prompts=(bucket(512, gap),))

    longer, slower = (compare([asking(520, 5.0)], each) for each in (asking(1000, 9.0), asking(530, 9.0)))
    for found, decides, state in ((longer, False, "unchanged"), (slower, True, "regressed")):
        gap = next(each for each in found.requests.rows if each.metric == "kv_gap_ms.p50")
        assert (gap.verdict, gap.decides, found.verdict.state) == ("regressed", decides, state)


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


def test_rates_of_messages_of_another_size_do_not_decide() -> None:
    """Half the bytes a message, as of an 8-bit cache: each is slower, and nobody waits longer."""
    base = factories.rich()
    halved = with_summary(base, message_bytes=0.5, wire_gb_s=0.8)
    found = compare([base], halved, conditions=[parse("wire_gb_s.p50<-5%")])
    assert metric(found, "wire_gb_s.p50").verdict == "regressed"
    assert not any(each.decides for each in (*found.metrics, *found.layers, *found.links) if each.unit == "GB/s")
    assert found.verdict.state == "unchanged"
    assert found.gates[0].passed is False  # who asks for the rate is answered
    said = {each.code: each.message for each in found.comparability}["message-sizes"]
    assert said.endswith("larger ones are faster, so rates do not decide")
    closer = compare([base], with_summary(base, message_bytes=0.8, wire_gb_s=0.8))
    assert closer.verdict.state == "regressed"


def test_runs_without_a_link_in_common_have_no_rate_that_decides() -> None:
    base = factories.rich()
    other = replace(
        with_summary(base, wire_gb_s=8.0),
        links=tuple(replace(each, src="x", dst="y", link_key="x->y", transport="nixl") for each in base.links[:1]),
    )
    found = compare([base], other)
    assert "no-link-in-common" in {each.code for each in found.comparability}
    assert not any(each.decides for each in found.metrics if each.unit == "GB/s")
    assert found.verdict.state == "unchanged"


def test_clocks_of_two_devices_are_said_where_messages_are_short() -> None:
    """16 MB at 39.5 GB/s take 405 us: 30 of them are 7.4 %."""
    base = factories.rich()
    codes = {each.code: each.message for each in compare([base], base).comparability}
    assert "7.4 %" in codes["device-clocks"]
    longer = with_summary(base, message_bytes=4.0)
    assert "device-clocks" not in {each.code for each in compare([longer], longer).comparability}


def test_a_gap_that_clocks_leave_open_is_not_said_to_have_stayed() -> None:
    base = factories.rich()
    other = with_summary(base, wire_gb_s=0.8, kv_gap_ms=1.07)  # 1.5 ms more, and clocks are 4 ms apart
    gap = metric(compare([base], other), "kv_gap_ms.p50")
    assert (gap.verdict, gap.floor_basis) == ("unchanged", "clocks")
    assert "did not move" not in compare([base], other).verdict.text


def sizeless(analysis: Analysis, longer: int = 0) -> Analysis:
    """Without any size or rate, and every kernel that many nanoseconds longer."""
    rateless = dict.fromkeys(("wire_gb_s", "kernel_gb_s", "delivered_gb_s", "message_bytes"))
    totals = analysis.totals
    lengths = {
        name: (getattr(totals, name) or 0) + longer * (totals.exchange_count or 0)
        for name in ("shorter_kernel_ns", "longer_kernel_ns")
    }
    return replace(
        analysis,
        links=(),
        layers=(),
        totals=replace(totals, bytes=None, **lengths),
        summary={**analysis.summary, **rateless},
    )


def test_without_any_size_longer_kernels_decide() -> None:
    """Nothing but the length of kernels is known, and that hides in slack: no request waits longer."""
    base = sizeless(factories.rich())
    count, shorter = base.totals.exchange_count, base.totals.shorter_kernel_ns
    assert count
    assert shorter
    slower = sizeless(factories.rich(), longer=shorter // count // 4)
    found = compare([base], slower, conditions=[parse("shorter_kernel_ms>+10%")])
    change = metric(found, "shorter_kernel_ms")
    assert (change.verdict, change.decides, change.base_count) == ("regressed", True, count)
    assert change.base == pytest.approx(shorter / count / 1e6)
    assert found.verdict.state == "regressed"
    assert found.verdict.text.startswith("Transfer regressed: shorter kernel of an exchange, mean ")
    assert found.gates[0].passed is False
    assert "sizes-unknown" in {each.code for each in found.comparability}
    assert compare([base], base).verdict.state == "unchanged"


def test_where_rates_are_known_the_length_of_kernels_decides_nothing() -> None:
    assert not metric(compare([factories.rich()], factories.rich()), "shorter_kernel_ms").decides
