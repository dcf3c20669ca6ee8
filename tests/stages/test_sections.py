"""Sections: every number of an analysis finds its place, what is unknown is said, nothing is drawn without data."""

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import factories
import pytest

import nsysparse.sections
from nsysparse.analysis import Analysis, Cell, Clock, Coverage, Link, Reason, Setting, Unattributed, WhatIf
from nsysparse.document import (
    Abstention,
    BarChart,
    Block,
    Callout,
    ColumnChart,
    Document,
    Facts,
    Heading,
    Heatmap,
    Table,
)
from nsysparse.sections import SECTIONS, build
from nsysparse.sections.cells import shares
from nsysparse.sections.definitions import TERMS
from nsysparse.sections.heatmap import MOST_CELLS
from nsysparse.sections.requests import MOST_ROWS

B = TypeVar("B")

ANALYSES: dict[str, Callable[[], Analysis]] = {
    "rich": factories.rich,
    "small": factories.small,
    "sizeless": factories.sizeless,
    "unknown": factories.unknown,
    "hostile": lambda: factories.hostile("</script>"),
}


@pytest.fixture(params=ANALYSES, ids=str)
def analysis(request: pytest.FixtureRequest) -> Analysis:
    return ANALYSES[request.param]()


def of_kind(blocks: Document | list[Block], kind: type[B]) -> list[B]:
    every = blocks.blocks if isinstance(blocks, Document) else blocks
    return [block for block in every if isinstance(block, kind)]


def table(blocks: Document | list[Block], anchor: str) -> Table:
    return next(each for each in of_kind(blocks, Table) if each.anchor == anchor)


def column(of: Table, title: str) -> list[str]:
    place = [each.title for each in of.columns].index(title)
    return [row[place].text for row in of.rows]


def words(blocks: Document | list[Block]) -> str:
    return " ".join(str(block) for block in (blocks.blocks if isinstance(blocks, Document) else blocks))


def test_verdict_is_first_and_word_for_word(analysis: Analysis) -> None:
    first = build(analysis).blocks[0]
    assert isinstance(first, Callout)
    assert (first.kind, first.text) == ("verdict", analysis.verdict.text)


def test_notice_stands_before_any_number() -> None:
    document = build(factories.rich())
    kinds = [type(block) for block in document.blocks]
    notice = next(
        place for place, block in enumerate(document.blocks) if isinstance(block, Callout) and block.kind == "notice"
    )
    assert notice < kinds.index(Facts)


def is_backing(blocks: list[Block]) -> bool:
    """Whether they only back up the section before them, folded."""
    return all(isinstance(block, Table) and block.folded for block in blocks)


def test_every_section_starts_with_its_heading_or_stays_away(analysis: Analysis) -> None:
    for name, section in SECTIONS.items():
        blocks = section(analysis)
        if name not in {"verdict", "overview"} and blocks and not is_backing(blocks):
            assert isinstance(blocks[0], Heading), name
            assert len(blocks) > 1, name


def test_no_figure_and_no_table_is_empty(analysis: Analysis) -> None:
    document = build(analysis)
    assert all(each.rows and each.columns for each in of_kind(document, Table))
    assert all(each.bars for each in of_kind(document, BarChart))
    assert all(each.series and each.labels for each in of_kind(document, ColumnChart))
    assert all(each.x and each.y for each in of_kind(document, Heatmap))


@pytest.mark.parametrize("name", ["totals", "links", "layers", "requests", "heatmap", "coverage"])
def test_without_transfers_a_section_abstains(name: str) -> None:
    kinds = {type(block) for block in SECTIONS[name](factories.unknown())}
    assert kinds == {Heading, Abstention}


def test_unknown_verdict_says_why_and_what_would_change_it() -> None:
    (why,) = of_kind(SECTIONS["verdict"](factories.unknown()), Abstention)
    assert why.reason == "No KV gap is told: no Send/Recv kernel and no peer copy was recorded."
    assert why.fix == "nsys profile --trace=cuda,nvtx …"


def test_a_section_takes_the_analysis_own_reason() -> None:
    whole = replace(
        factories.small(), layers=(), reasons=(Reason("/layers", "no-range", "no range names a layer", "do x"),)
    )
    (why,) = of_kind(SECTIONS["layers"](whole), Abstention)
    assert (why.reason, why.fix) == ("No range names a layer.", "do x")


def test_anchors_are_unique_safe_and_resolve(analysis: Analysis) -> None:
    document = build(analysis)
    anchors = [block.anchor for block in document.blocks if hasattr(block, "anchor")]
    assert len(anchors) == len(set(anchors))
    assert all(re.fullmatch(r"[a-z][a-z-]*", anchor) for anchor in anchors)
    used = {each.term for every in of_kind(document, Table) for each in every.columns if each.term}
    used |= {fact.term for facts in of_kind(document, Facts) for fact in facts.items if fact.term}
    assert used <= TERMS


def test_rows_are_as_wide_as_their_table(analysis: Analysis) -> None:
    assert all(len(row) == len(each.columns) for each in of_kind(build(analysis), Table) for row in each.rows)


def test_rates_that_contain_waiting_are_marked_as_bounds() -> None:
    links = (
        factories.bound_link(),
        factories.link(0),
        factories.link(1, headline_basis="delivered", headline_is_bound=True, headline_gb_s=31.5, efficiency=0.63),
    )
    blocks = SECTIONS["links"](replace(factories.rich(), links=links))
    observed = table(blocks, "links-table")
    assert column(observed, "Rate") == ["≥ 18.8", "40.0", "≥ 31.5"]
    assert column(observed, "Of line rate") == ["unknown", "80 %", "≥ 63 %"]
    (chart,) = of_kind(blocks, BarChart)
    assert [bar.is_bound for bar in sorted(chart.bars, key=lambda bar: bar.label)] == [True, False, True]
    assert [bar.verdict.startswith("≥") for bar in sorted(chart.bars, key=lambda bar: bar.label)] == [
        False, False, True,
    ]  # fmt: skip
    assert "these contain waiting for the peer" in words(blocks)
    assert column(table(blocks, "links-basis"), "Rate is over") == [
        "whole kernels, waiting included",
        "while both sides were there, the receiver first",
        "bursts, gaps and waiting included",
    ]


def test_delivered_rates_are_bounds_and_bytes_over_busy_are_none() -> None:
    others = table(SECTIONS["links"](replace(factories.rich(), links=(factories.link(),))), "links-others")
    assert column(others, "Delivered") == ["≥ 31.5"]
    assert column(others, "Bytes over busy") == ["26.9"]
    assert column(others, "Fixed cost") == ["38"]
    assert column(others, "Fitted rate") == ["43.9"]


def test_without_other_rates_there_is_no_table_of_them() -> None:
    bare = factories.link(delivered_gb_s=None, link_gb_s=None, fixed_cost_ns=None, fitted_gb_s=None)
    blocks = SECTIONS["links"](replace(factories.rich(), links=(bare,)))
    assert "links-others" not in [each.anchor for each in of_kind(blocks, Table)]


def test_without_bounds_nothing_is_said_about_them() -> None:
    assert "≥" not in words(SECTIONS["links"](replace(factories.rich(), links=(factories.link(),), ports=None)))[:400]


def test_expected_times_stand_beside_the_observed() -> None:
    links = table(SECTIONS["links"](factories.rich()), "links-table")
    assert column(links, "Observed") == ["50", "310", "319"]
    assert column(links, "At ceiling") == ["unknown", "262", "262"]
    assert column(links, "At line rate") == ["unknown", "248", "248"]


def test_both_references_are_drawn_with_their_sources() -> None:
    (chart,) = of_kind(SECTIONS["links"](factories.rich()), BarChart)
    assert {(bar.line_rate, bar.practical) for bar in chart.bars} == {(50.0, 47.4), (None, None)}
    assert "catalogue: ib-ndr" in chart.references
    assert "ib_write_bw" in chart.references


def test_rates_above_the_peak_are_called_inconsistent() -> None:
    blocks = SECTIONS["links"](replace(factories.rich(), links=(factories.link(inconsistent_count=3),)))
    assert "3 transfers came out above the physical peak" in words(blocks)


def test_partly_known_sizes_are_said_to_be_sums_of_the_known() -> None:
    blocks = SECTIONS["totals"](factories.sizeless())
    assert "Sizes are known for 50.0 % of the movements." in words(blocks)
    (facts,) = of_kind(blocks, Facts)
    assert facts.items[0].note == "sum of the known, 50.0 % of movements"
    assert "Sizes are known" not in words(SECTIONS["totals"](factories.rich()))


def test_unknown_split_is_said_once_with_its_reason() -> None:
    whole = replace(
        factories.sizeless(), reasons=(Reason("/totals/wire_ns", "one-side", "only one side was captured", ""),)
    )
    (facts,) = of_kind(SECTIONS["totals"](whole), Facts)
    (split,) = [fact for fact in facts.items if fact.value == "unknown"]
    assert (split.label, split.note) == ("Wire and peer wait", "only one side was captured")


def test_a_reason_for_a_part_is_no_reason_for_the_whole() -> None:
    whole = replace(factories.small(), layers=(), reasons=(Reason("/layers/*/wire_ns", "x", "not separated", ""),))
    (why,) = of_kind(SECTIONS["layers"](whole), Abstention)
    assert why.reason == "No transfer carries a layer."


def test_requests_are_worst_first_and_unknown_last() -> None:
    shares = column(table(SECTIONS["requests"](factories.rich()), "requests-table"), "Gap share")
    known = [float(share.split()[0]) for share in shares if share != "unknown"]
    assert known == sorted(known, reverse=True)
    assert shares[len(known) :] == ["unknown"] * 2


def test_rows_of_requests_are_capped_and_both_numbers_said() -> None:
    requests = table(SECTIONS["requests"](factories.rich(requests=1250, layers=1)), "requests-table")
    assert len(requests.rows) == MOST_ROWS == 200
    assert "200 worst of 1,250" in requests.dropped
    assert (
        "worst of" not in table(SECTIONS["requests"](factories.rich(requests=200, layers=1)), "requests-table").dropped
    )


def test_columns_without_any_known_value_are_named_instead() -> None:
    requests = table(SECTIONS["requests"](factories.small()), "requests-table")
    assert "KV gap" not in [each.title for each in requests.columns]
    assert re.search(r"Unknown in every row, so not shown: .*KV gap", requests.dropped)


def test_heatmap_cells_are_capped_and_what_is_dropped_said() -> None:
    (chart,) = of_kind(SECTIONS["heatmap"](factories.rich(requests=800, layers=32)), Heatmap)
    assert len(chart.x) == 625
    assert len(chart.x) * len(chart.y) <= MOST_CELLS == 20_000
    assert "625 requests with the most transfer time of 800" in chart.dropped


def test_heatmap_keeps_what_was_not_observed_apart_from_zero() -> None:
    whole = factories.rich(requests=2, layers=2)
    cells = (replace(whole.layer_request[0], time_ns=0), *whole.layer_request[1:3])
    (chart,) = of_kind(SECTIONS["heatmap"](replace(whole, layer_request=cells)), Heatmap)
    flat = [value for row in chart.views[0].values for value in row]
    assert flat.count(None) == 1
    assert flat.count(0.0) == 1


def test_nothing_is_called_slower_than_the_ceiling_where_a_size_is_missing() -> None:
    whole = factories.rich(requests=2, layers=2)
    whole = replace(whole, links=tuple(replace(each, practical_gb_s=40.0) for each in whole.links))
    (chart,) = of_kind(SECTIONS["heatmap"](whole), Heatmap)
    cell = whole.layer_request[0]
    assert chart.views[0].values[0][0] == pytest.approx(cell.time_ns / (cell.bytes / 40.0))
    unsized = replace(whole, totals=replace(whole.totals, bytes_known_share=0.9))
    (chart,) = of_kind(SECTIONS["heatmap"](unsized), Heatmap)
    assert [view.title for view in chart.views] == ["time"]


def test_a_single_request_makes_no_heatmap() -> None:
    assert not of_kind(SECTIONS["heatmap"](factories.small()), Heatmap)
    assert of_kind(SECTIONS["heatmap"](factories.rich(requests=2, layers=2)), Heatmap)
    assert not of_kind(SECTIONS["heatmap"](factories.rich(requests=1, layers=2)), Heatmap)


def test_heatmap_says_how_much_time_it_does_not_show() -> None:
    whole = factories.rich()
    shown = sum(cell.time_ns for cell in whole.layer_request)
    assert whole.totals.time_ns == shown + 5_200_000
    assert "Not in the picture: 5.20 ms (1.6 %)" in words(SECTIONS["heatmap"](whole))


def test_columns_of_a_layer_add_up_to_its_time() -> None:
    whole = factories.rich()
    hiding = {"overlapped_ns": None, "exposed_wire_ns": None, "exposed_wait_ns": None}
    split = replace(whole.layers[0], **hiding)
    unsplit = replace(whole.layers[1], wire_ns=None, peer_wait_ns=None, **hiding)
    (chart,) = of_kind(SECTIONS["layers"](replace(whole, layers=(split, unsplit))), ColumnChart)
    assert [series.meaning for series in chart.series] == ["wire", "wait", "unknown"]
    sums = [sum(series.values[place] for series in chart.series) for place in (0, 1)]
    assert sums == pytest.approx([whole.layers[0].time_ns / 1e6, unsplit.time_ns / 1e6])
    assert chart.series[2].values[0] == 0


def test_columns_of_what_hid_a_layer_add_up_to_its_time_too() -> None:
    whole = factories.rich()
    (chart,) = of_kind(SECTIONS["layers"](whole), ColumnChart)
    assert [series.meaning for series in chart.series] == ["hidden", "wire", "wait"]
    sums = [sum(series.values[place] for series in chart.series) for place in range(len(whole.layers))]
    assert sums == pytest.approx([layer.time_ns / 1e6 for layer in whole.layers])


def test_layers_without_any_split_show_their_whole_time() -> None:
    whole = factories.sizeless()
    bare = tuple(replace(each, overlapped_ns=None, exposed_wire_ns=None, exposed_wait_ns=None) for each in whole.layers)
    (chart,) = of_kind(SECTIONS["layers"](replace(whole, layers=bare)), ColumnChart)
    assert [(series.meaning, list(series.values)) for series in chart.series] == [("whole", [400.0])]


def test_unattributed_shares_are_visible() -> None:
    whole = replace(
        factories.small(),
        unattributed={"layer": Unattributed(1, 4_194_304, 100_000), "request": Unattributed(0, None, 0)},
    )
    missing = table(SECTIONS["coverage"](whole), "unattributed")
    assert column(missing, "Of movements") == ["50 %", "0 %"]
    assert column(missing, "Of bytes") == ["50 %", "unknown"]
    assert column(missing, "Of time") == ["25 %", "0 %"]


def test_excluded_traffic_is_listed_with_its_rule() -> None:
    excluded = table(SECTIONS["coverage"](factories.rich()), "excluded")
    assert column(excluded, "Rule") == ["all-to-all: every rank sends to every rank in one group"]
    assert column(excluded, "Movements") == ["1,328"]


def test_coverage_is_by_field_and_best_provenance_first() -> None:
    rows = (("role", "none", 0.5), ("layer", "none", 0.1), ("layer", "ordinal", 0.6), ("layer", "new-kind", 0.0),
            ("layer", "exact", 0.3))  # fmt: skip
    whole = replace(
        factories.small(),
        coverage=tuple(Coverage(field, how, 1, 10, share, 20, share) for field, how, share in rows),
    )
    known = table(SECTIONS["coverage"](whole), "provenance")
    assert list(zip(column(known, "Field"), column(known, "Known by"), strict=True)) == [
        ("layer", "exact"), ("layer", "ordinal"), ("layer", "none"), ("layer", "new-kind"), ("role", "none"),
    ]  # fmt: skip
    assert column(known, "Of bytes") == ["30 %", "60 %", "10 %", "0 %", "50 %"]


def test_one_cause_for_many_unknowns_is_one_row() -> None:
    reasons = table(SECTIONS["quality"](factories.rich()), "reasons")
    assert column(reasons, "Unknown for that reason") == ["requests: time to first token", "links: peak rate"]


def test_missing_capabilities_come_first_and_files_that_agree_share_a_row() -> None:
    odd = replace(
        factories.trace("decode"), capabilities={"nvtx_ranges": factories.Capability("absent", "not traced", "x")}
    )
    capabilities = table(
        SECTIONS["quality"](replace(factories.rich(), traces=(factories.trace(), odd))), "capabilities"
    )
    assert column(capabilities, "Status")[0] == "○ absent"
    rows = dict(
        zip(
            zip(column(capabilities, "Recorded"), column(capabilities, "Status"), strict=True),
            column(capabilities, "In"),
            strict=True,
        )
    )
    assert rows[("nvtx ranges", "○ absent")] == "decode-node0.sqlite"
    agreed = table(SECTIONS["quality"](factories.rich()), "capabilities")
    assert set(column(agreed, "In")) == {"every file"}


def test_order_of_cells_does_not_show() -> None:
    whole = factories.rich(requests=5, layers=3)
    shuffled: tuple[Cell, ...] = tuple(reversed(whole.layer_request))
    assert SECTIONS["heatmap"](replace(whole, layer_request=shuffled)) == SECTIONS["heatmap"](whole)


def test_times_of_decode_devices_are_no_finer_than_the_clocks_of_other_files() -> None:
    """The device is known to within 1 ms; without such a doubt all digits are shown."""
    whole = SECTIONS["devices"](replace(factories.rich(), decode=(factories.decode_device(),)))
    assert column(table(whole, "decode-table"), "Idle, KV pending") == ["26 ± 1"]
    assert column(table(whole, "decode-idle-table"), "Time") == [
        "20 ± 1",
        "18 ± 1",
        "12 ± 1",
        "6 ± 1",
        "3 ± 1",
        "1 ± 1",
    ]
    assert column(table(whole, "decode-idle-table"), "Of its idle time")[:2] == ["33 ± 2 %", "30 ± 2 %"]
    assert column(table(whole, "decode-effects-table"), "Delay") == ["18 ± 1"]
    sure = factories.decode_device(uncertainty_ns=None)
    whole = SECTIONS["devices"](replace(factories.rich(), decode=(sure,)))
    assert column(table(whole, "decode-idle-table"), "Time")[:2] == ["20", "18"]
    assert column(table(whole, "decode-idle-table"), "Of its idle time")[:2] == ["33.3 %", "30.0 %"]


def test_what_is_nothing_but_its_doubt_has_the_unit_of_the_doubt() -> None:
    """Half a millisecond is not 500,000 ns, whether a clock, a gap or a delay may be so far off."""
    half = 500_000
    clock = Clock("a", "b", "utc-unverified", 0, half, None, None, 0, "")
    request = replace(factories.rich().requests[0], kv_gap_ns=0, uncertainties={"kv_gap_ns": half})
    device = factories.decode_device(delayed_ns=0, uncertainty_ns=half)
    whole = replace(factories.rich(), clocks=(clock,), requests=(request,), decode=(device,))
    shown = [
        column(table(SECTIONS["clocks"](whole), "clocks-table"), "Ahead by"),
        column(table(SECTIONS["requests"](whole), "requests-table"), "KV gap"),
        column(table(SECTIONS["devices"](whole), "decode-effects-table"), "Delay"),
    ]
    assert shown == [["\u2264 500"]] * 3


def test_slow_tokens_stand_beside_the_usual_ones() -> None:
    whole = SECTIONS["devices"](replace(factories.rich(), decode=(factories.decode_device(),)))
    tokens = table(whole, "decode-tokens-table")
    told = {each.heading: column(tokens, each.title) for each in tokens.columns[1:]}
    assert told == {
        "p50, KV arriving, ms": ["2.60"], "p50, no KV, ms": ["2.40"],
        "p99, KV arriving, ms": ["3.00"], "p99, no KV, ms": ["2.70"],
    }  # fmt: skip


def test_sections_know_only_results_document_kinds_and_units() -> None:
    allowed = {
        f"nsysparse.{name}"
        for name in (
            "analysis",
            "document",
            "doubts",
            "headline",
            "idling",
            "ideas",
            "kinds",
            "lengths",
            "prediction",
            "units",
        )
    }
    for path in Path(nsysparse.sections.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nsysparse"):
                module = node.module or ""
                assert module in allowed or module.startswith("nsysparse.sections"), f"{path.name} imports {module}"


def host_link(**changes: object) -> Link:
    """Copies of a range to the host with pauses between them, as the metrics leave it: without a peak."""
    return factories.link(
        link_key="decode:gpu0->host", transport="host-staged", src="decode:gpu0", dst="host", pairing=None,
        headline_is_bound=True, link_name=None, peak_gb_s=None, peak_source=None, practical_gb_s=None,
        practical_source=None, efficiency=None, theoretical_ns=None, practical_ns=None, **changes,
    )  # fmt: skip


def linked(*links: Link, **settings: object) -> list[Block]:
    told = {name: Setting(value, "option") for name, value in settings.items()}
    return SECTIONS["links"](replace(factories.rich(), links=links, settings=told))


def test_links_to_the_host_have_no_peak_and_say_so() -> None:
    blocks = linked(factories.link(), host_link(), link="ib-ndr")
    (chart,) = of_kind(blocks, BarChart)
    verdicts = {bar.label.partition(" ")[0]: bar.verdict for bar in chart.bars}
    assert verdicts["host-staged"] == "no peak: --link names the wire between GPUs"
    assert verdicts["nccl"] == "80.0 % of line rate · 84.4 % of ceiling"
    observed = table(blocks, "links-table")
    for title in ("Ceiling", "Line rate", "Of line rate", "At ceiling", "At line rate"):
        assert column(observed, title)[1] == "\u2013", title
        assert column(observed, title)[0] not in ("\u2013", "unknown")
    assert observed.dropped == "Links to and from the host have no peak: --link names the wire between GPUs."
    (chart,) = of_kind(linked(host_link(), peak_gb_s=50.0), BarChart)
    assert chart.bars[0].verdict == "no peak: --peak names the wire between GPUs"


def test_a_lower_bound_is_one_of_both_references() -> None:
    (chart,) = of_kind(linked(factories.link(headline_is_bound=True), link="ib-ndr"), BarChart)
    assert chart.bars[0].verdict == "≥ 80.0 % of line rate · ≥ 84.4 % of ceiling"


def test_that_no_peak_is_named_is_said_once() -> None:
    nothing = dict.fromkeys(("link_name", "peak_gb_s", "peak_source", "practical_gb_s", "practical_source"))
    (chart,) = of_kind(linked(factories.link(0, **nothing), factories.link(1, **nothing)), BarChart)
    assert chart.references == "No line rate to compare with is named: pass --link, --box or --peak."
    assert [bar.verdict for bar in chart.bars] == ["", ""]


def test_a_bar_says_how_much_it_rests_on_and_its_transport_once() -> None:
    (alone,) = of_kind(linked(factories.link(movement_count=1)), BarChart)
    assert [(bar.label, bar.detail) for bar in alone.bars] == [
        ("prefill:gpu0 → decode:gpu0", "nccl · 1 movement · 12.4 GB")
    ]
    (mixed,) = of_kind(linked(factories.link(), host_link()), BarChart)
    assert {bar.detail for bar in mixed.bars} == {"768 movements · 12.4 GB"}


def test_why_a_rate_is_a_lower_bound_depends_on_the_transport() -> None:
    waits = "these contain waiting for the peer, or leave out what may have been buffered"
    lead = {
        name: words(linked(*links))
        for name, links in {
            "waiting": (factories.bound_link(),),
            "pauses": (host_link(),),
            "both": (factories.bound_link(), host_link()),
        }.items()
    }
    assert f"lower bounds: {waits}." in lead["waiting"]
    assert "lower bounds: these contain the pauses between copies." in lead["pauses"]
    assert f"lower bounds: {waits}; those of host-staged contain the pauses between copies." in lead["both"]


def test_what_pairing_and_rates_of_copies_rest_on() -> None:
    copies = factories.link(transport="memcpy", pairing=None)
    blocks = linked(factories.link(), copies, host_link(), factories.bound_link())
    basis = table(blocks, "links-basis")
    assert column(basis, "Paired by") == ["exact", "\u2013", "\u2013", "unknown"]
    assert column(basis, "Rate is over")[1:3] == [
        "the copies themselves",
        "the copies of each range, from the first to the last, pauses included",
    ]


def test_percentiles_of_a_row_have_the_same_decimals() -> None:
    basis = table(linked(factories.link(wire_gb_s=factories.Distribution(1, 34.43, 34.43, 102.5))), "links-basis")
    assert [column(basis, name) for name in ("p10", "p50", "p90")] == [["34.4"], ["34.4"], ["102.5"]]


def test_without_any_rate_nobody_is_asked_for_a_line_rate() -> None:
    nothing = dict.fromkeys(("headline_gb_s", "peak_source", "practical_source", "peak_gb_s"))
    (chart,) = of_kind(linked(factories.link(**nothing)), BarChart)
    assert (chart.references, chart.bars[0].verdict) == ("", "rate unknown")


def test_shares_of_a_column_have_common_decimals() -> None:
    found = shares("s", [0.6, 0.379, 0.0, 1.0, None])
    assert [cell.text for cell in found.cells] == ["60.0 %", "37.9 %", "0.0 %", "100.0 %", "unknown"]
    assert [cell.text for cell in shares("s", [0.6, 0.57, 0.0, 1.0]).cells] == ["60 %", "57 %", "0 %", "100 %"]


def test_busy_time_is_the_busiest_devices() -> None:
    whole = replace(factories.rich(), totals=replace(factories.rich().totals, busy_ns=32_900_000))
    (facts,) = of_kind(SECTIONS["totals"](whole), Facts)
    busy = next(fact for fact in facts.items if fact.label == "Transfer time")
    assert busy.note == "sum of movements; 32.9 ms on the busiest device"


def test_one_movement_is_counted_and_several_are() -> None:
    def said(count: int) -> str:
        whole = factories.rich()
        doubtful = {"unknown": replace(whole.totals.by_purpose["unknown"], movement_count=count)}
        return words(SECTIONS["coverage"](replace(whole, totals=replace(whole.totals, by_purpose=doubtful))))

    assert "(5.20 ms, 1.6 % of the time) is counted although nothing proves that it carries KV." in said(1)
    assert "are counted although nothing proves that they carry KV." in said(6)


def test_what_would_help_is_named_in_words() -> None:
    ids = ("wire-int8", "link:nvlink4-h100", "more-streams", "link:nobody-knows", "of another version")
    ideas = tuple(WhatIf(name, 5, 1, len(ids) - at, None, 1, "", "") for at, name in enumerate(ids))
    shown = column(table(SECTIONS["whatif"](replace(factories.rich(), whatif=ideas)), "whatif-table"), "Change")
    assert shown == [
        "INT8 on the wire",
        "Link: NVLink 4 (H100/H200/H20 SXM, GH200; 18 links)",
        "More streams or adapters",
        *ids[3:],
    ]


def test_unknown_values_are_named_in_words_and_advice_is_no_command() -> None:
    def row(message: str, fix: str, *paths: str) -> list[Reason]:
        return [Reason(path, "x", message, fix) for path in paths]

    why = (
        *row("a", "--layers N", "/links/*/fixed_cost_ns", "/links/*/fitted_gb_s", "/whatif", "/summary/kv_gap_ms"),
        *row("b", "Annotate it: docs/x.md", "/settings/link/value", "/traces/*/gpus/*/name"),
    )
    reasons = table(SECTIONS["quality"](replace(factories.small(), reasons=why)), "reasons")
    assert column(reasons, "Unknown for that reason") == [
        "links: fixed cost, fitted rate; what-if; 1 more",
        "settings: link; traces, GPUs: name",
    ]
    assert [row[2].kind for row in reasons.rows] == ["command", "words"]
