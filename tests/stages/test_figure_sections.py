"""Sections that draw: what their figures hold, worked out beside them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import factories
import pytest
from factories import MS, link, request

from nsysparse.analysis import (
    Analysis,
    Band,
    Distribution,
    Lengths,
    MessageSize,
    Request,
    Timeline,
    TimelineLevel,
    Unattributed,
    Verdict,
)
from nsysparse.analysis import Cell as LayerCell
from nsysparse.analysis import Lane as TimelineLane
from nsysparse.document import Block, Facts, Histogram, Lanes, Paragraph, RateBySize, Strip, Table, Way
from nsysparse.sections import lengths, overview, sizes, timeline, waterfall
from nsysparse.sections.ways import anchor

T = TypeVar("T")


def only(blocks: Sequence[Block], kind: type[T]) -> T:
    (found,) = (block for block in blocks if isinstance(block, kind))
    return found


def judged(name: str, share: float, verdict: str = "ok", **changes: object) -> Request:
    """80 ms of prefill and a first decode step of 5 ms around a gap: 1 ms, a transfer, 2 ms."""
    gap = round(share * 100 * MS)
    span = {"peer_wait_ns": MS, "wire_ns": gap - 5 * MS, "sender_wait_ns": 0, "gap_ns": MS, "rank": 0}
    plain = request(
        name,
        verdict=verdict,
        kv_gap_share=share,
        kv_gap_ns=gap,
        path_ns=100 * MS,
        prefill_ns=80 * MS,
        handoff_ns=MS,
        transfer_span_ns=gap - 3 * MS,
        ready_to_decode_ns=2 * MS,
        first_decode_ns=5 * MS,
        span=span,
        missing="",
    )
    return replace(plain, **changes)


def run(*requests: Request, value: float = 0.2, **changes: object) -> Analysis:
    verdict = Verdict("over", "Over.", value=value, uncertainty=0.04, threshold=0.15)
    base = replace(factories.small(), verdict=verdict, requests=requests, layer_request=(), reasons=())
    return replace(base, **changes)


def test_the_strip_has_every_known_share_from_small_to_large() -> None:
    known = [judged("b", 0.3, "over"), judged("a", 0.1), judged("c", 0.2, "unresolved")]
    drawn = only(overview.build(run(*known, request("d"))), Strip)
    assert [(dot.value, dot.label, dot.tone) for dot in drawn.dots] == [
        (0.1, "a", "good"), (0.2, "c", "doubt"), (0.3, "b", "bad"),
    ]  # fmt: skip
    assert (drawn.threshold, drawn.threshold_text) == (0.15, "threshold 15 %")
    assert (drawn.middle, drawn.doubt, drawn.middle_text) == (0.2, 0.04, "p50 20 ± 4 %")
    assert drawn.note == "3 of 4 requests have one; 1 of them unresolved"


def test_of_two_requests_no_median_is_drawn() -> None:
    drawn = only(overview.build(run(judged("a", 0.1), judged("b", 0.3))), Strip)
    assert (drawn.middle, drawn.middle_text) == (None, "")


def test_the_way_is_of_a_real_request_the_one_nearest_to_the_median() -> None:
    blocks = overview.build(run(judged("a", 0.1), judged("b", 0.3), judged("c", 0.21)))
    drawn = only(blocks, Way)
    assert drawn.note == "c"
    assert drawn.target == anchor("c")
    assert [(each.label, each.value) for each in drawn.segments] == [
        ("prefill", 80), ("hand-off", 1), ("sender late", 1), ("wire", 16), ("between transfers", 1),
        ("ready, not started", 2), ("first decode step", 5),
    ]  # fmt: skip
    first, last = drawn.bracket
    assert sum(each.value or 0 for each in drawn.segments[first : last + 1]) == 21
    assert drawn.bracket_text == "KV gap 21.0 ms = 21.0 %"


def test_a_transfer_that_is_not_divided_is_one_segment() -> None:
    parts = {"peer_wait_ns": MS, "wire_ns": None, "sender_wait_ns": 0, "gap_ns": 0, "rank": 0}
    drawn = only(overview.build(run(judged("a", 0.2, span=parts))), Way)
    assert [(each.label, each.meaning, each.value) for each in drawn.segments[2:3]] == [("transfer", "whole", 17)]
    assert drawn.caption == "Where the request's 100.0 ms go"


def facts(analysis: Analysis) -> dict[str, tuple[str, str]]:
    return {fact.label: (fact.value, fact.note) for fact in only(overview.build(analysis), Facts).items}


def test_key_figures_are_those_of_the_analysis() -> None:
    whole = run(
        judged("a", 0.2, uncertainties={"kv_gap_ns": 400_000}),
        totals=replace(factories.small().totals, time_ns=10 * MS),
        unattributed={"request": Unattributed(1, 5, MS)},
        summary={
            "kv_gap_ms": Distribution(9, 10.0, 20.0, 30.0),
            "peer_wait_ms": Distribution(9, 0.5, 1.5, 12.0),
        },
        decode=(factories.decode_device(), factories.decode_device(idle_while_pending_ns=None)),
    )
    assert facts(whole) == {
        "Wire rate": ("40.0 GB/s", "80.0 % of line rate 50 GB/s"),
        "KV gap, p50": ("20.0 ± 0.4 ms", "p10 10.0 · p90 30.0 ms"),
        "Peer wait per movement, p50": ("1.50 ms", "p10 500.0 µs · p90 12.0 ms"),
        "Decode idle for KV": ("13.7 ± 0.5 %", "26.0 ms of 190.0 ms on 1 device"),
        "Attributed": ("90.0 %", "1.00 ms without a request"),
    }


def test_the_rate_is_of_the_link_that_the_verdict_names() -> None:
    """The one with most bytes among those whose ends are known; if it has no rate, no other one's stands for it."""
    unknown_end = link(dst="unknown", link_key="prefill:gpu9->unknown", bytes=10**12, headline_gb_s=7.0)
    small = link(1, bytes=10**6, headline_gb_s=3.0)
    told = facts(run(judged("a", 0.2), links=(unknown_end, link(), small)))
    assert told["Wire rate"] == ("40.0 GB/s", "80.0 % of line rate 50 GB/s · the busiest of 3 links")
    silent = facts(run(judged("a", 0.2), links=(link(headline_gb_s=None, headline_basis=None), small)))
    assert silent["Rate"] == ("unknown", "the link with most bytes has none")


def test_a_rate_is_called_by_its_basis_and_one_that_cannot_be_says_so() -> None:
    bound = link(headline_gb_s=60.0, headline_basis="delivered", headline_is_bound=True)
    told = facts(run(judged("a", 0.2), links=(bound,)))
    assert told["Delivered rate"] == ("≥ 60.0 GB/s", "≥ 120.0 % of line rate 50 GB/s, faster than the link can be")


def test_what_key_figures_lack_is_unknown_and_says_why() -> None:
    told = facts(run(request("a"), links=(), unattributed={}))
    assert {value for value, _ in told.values()} == {"unknown"}
    assert told["Decode idle for KV"][1] == "no decode step was recorded"


def test_ways_are_worst_first_and_aligned_where_prefill_ends() -> None:
    requests = (
        judged("a", 0.1, queue_ns=7 * MS),
        judged("b", 0.3, "over", overlap_ns=4 * MS, uncertainties={"kv_gap_ns": MS}),
        request("c", missing="no-decode-step", prefill_ns=80 * MS, handoff_ns=2 * MS),
    )
    cells = (LayerCell(3, "a", 1, 2000), LayerCell(5, "a", 1, 4500), LayerCell(5, "b", 1, 1000))
    layers = (factories.layer(3, cells[:1]), factories.layer(5, cells[1:]))
    drawn = waterfall.block(run(*requests, layer_request=cells, layers=layers))
    worst, best, cut = drawn.rows
    assert [row.name for row in drawn.rows] == ["b", "a", "c"]
    assert [(each.label, each.value) for each in best.before] == [("prefill", 80), ("queue", 7)]
    assert [each.value for each in worst.after] == [1, 1, 25, 1, 2, 5]
    assert (worst.doubted, worst.doubt) == (30, 1)
    assert worst.ahead is not None
    assert worst.ahead.value == 4
    assert (cut.doubted, [each.value for each in cut.after], cut.unknown_after) == (
        None,
        [2],
        "no decode step names it",
    )
    assert list(drawn.profile_labels) == ["3", "5"]
    assert [list(row.profile) for row in drawn.rows] == [[None, 1.0], [2.0, 4.5], []]
    assert ("unknown", "not known") in drawn.key


def test_ways_beyond_the_most_are_counted() -> None:
    many = tuple(judged(f"r{at:03d}", 0.2) for at in range(waterfall.MOST_ROWS + 5))
    drawn = waterfall.block(run(*many))
    assert len(drawn.rows) == waterfall.MOST_ROWS
    assert drawn.dropped == "The 200 worst of 205 requests; the JSON report has all of them."


def message_size(nbytes: int, count: int = 10, of: str = "", **changes: object) -> MessageSize:
    spread = Distribution(count, 9.0, 10.0, 11.0)
    return replace(MessageSize(of or link().link_key, "nccl", nbytes, count, spread, None), **changes)


def charts(analysis: Analysis) -> list[RateBySize]:
    return [block for block in sizes.build(analysis) if isinstance(block, RateBySize)]


def test_a_curve_has_the_sizes_of_its_link_with_the_fit() -> None:
    kernel = Distribution(4, 2.0, 3.0, 4.0)
    known = (message_size(1000), message_size(4000), message_size(9000, wire_gb_s=None, kernel_gb_s=kernel))
    (drawn,) = charts(run(message_sizes=known, links=(link(fixed_cost_ns=40_000, fitted_gb_s=25.0),)))
    (series,) = drawn.series
    assert [(each.size, each.spread.p10, each.spread.p50, each.is_bound) for each in series.points] == [
        (1000, 9.0, 10.0, False), (4000, 9.0, 10.0, False), (9000, 2.0, 3.0, True),
    ]  # fmt: skip
    assert (drawn.line_rate, drawn.practical) == (factories.LINE_RATE, factories.CEILING)
    assert series.fit is not None
    assert (series.fit.fixed_ns, series.fit.gb_s) == (40_000, 25.0)
    # 40 µs at 25 GB/s are 1 MB: as much time again, so half the rate.
    assert "40.0 µs per message + bytes ÷ 25.0 GB/s: half that rate at 1.00 MB" in drawn.note


def test_half_the_rate_of_a_quick_link_is_at_a_size_that_can_be_read() -> None:
    (drawn,) = charts(
        run(message_sizes=(message_size(100), message_size(200)), links=(link(fixed_cost_ns=10, fitted_gb_s=25.0),))
    )
    assert "half that rate at 250 B" in drawn.note


def test_of_too_many_sizes_those_with_the_most_bytes_are_drawn_and_the_rest_said() -> None:
    many = tuple(message_size(1000 + at, count=1) for at in range(sizes.MOST_POINTS + 30))
    (drawn,) = charts(run(message_sizes=many))
    assert [each.size for each in drawn.series[0].points] == [1030 + at for at in range(sizes.MOST_POINTS)]
    assert drawn.dropped == "Of a link at most the 200 sizes with the most bytes, of up to 230; JSON has all."


def test_links_with_other_references_have_charts_of_their_own_and_what_is_left_out_is_said() -> None:
    links = tuple(
        link(at, peak_gb_s=50.0 + at, link_name=f"kind {at}", bytes=10**6 * (9 - at))
        for at in range(sizes.MOST_CHARTS + 2)
    )
    known = tuple(message_size(nbytes, of=each.link_key) for each in links for nbytes in (1000, 2000))
    drawn = charts(run(message_sizes=known, links=links))
    assert [each.caption for each in drawn] == [f"Rate by message size, kind {at}" for at in range(sizes.MOST_CHARTS)]
    assert [each.anchor for each in drawn] == ["sizes-chart", "sizes-chart-1", "sizes-chart-2", "sizes-chart-3"]
    assert [each.dropped for each in drawn][:-1] == ["", "", ""]
    assert drawn[-1].dropped == "2 more charts of links with other references and fewer bytes: see the table."


def test_rates_of_whole_kernels_are_lower_bounds_and_say_so() -> None:
    rich = factories.rich()
    size = rich.message_sizes[0]
    (found,) = [each for each in sizes.build(replace(rich, message_sizes=(replace(size, kernel_gb_s=size.wire_gb_s),)))
                if isinstance(each, Table)]  # fmt: skip
    place = [column.title for column in found.columns].index("Kernel p50")
    assert found.rows[0][place].text == "≥ 14"


def test_one_size_makes_no_curve() -> None:
    blocks = sizes.build(run(message_sizes=(message_size(1000),)))
    assert [type(block) for block in blocks[1:]] == [Table]


def test_a_timeline_shows_marks_of_all_levels_and_where_they_lead() -> None:
    both = (factories.trace(), factories.trace("decode", "decode"))
    drawn = only(timeline.build(run(judged("a", 0.2), timeline=factories.timeline(), traces=both)), Lanes)
    coarse, fine = drawn.levels
    assert (drawn.start_ns, drawn.end_ns) == (0, 19 * MS)
    assert [(lane.source, lane.label) for lane in drawn.lanes] == [
        ("prefill", "gpu0 steps"), ("prefill", "gpu0 sends"), ("decode", "gpu0 steps"), ("decode", "gpu0 receives"),
    ]  # fmt: skip
    assert fine.meaning == ["compute", "wire", "compute", "compute", "wait", "wire"]
    assert fine.owner == [0, 0, 0, None, 0, 0]
    assert (coarse.merged_below_ns, coarse.count) == (4**11, (1, 1, 2, 1, 1))
    assert (drawn.owners, drawn.owner_anchors) == (["a"], [anchor("a")])
    assert drawn.key == [("compute", "step, compute"), ("wire", "wire"), ("wait", "waiting for the other side")]
    assert drawn.note == (
        "Near enough, every mark stands by itself; from afar, close ones are drawn as one. Not drawn: 3 stretches of"
        " decode without a time. Lanes of other files may be off by up to 41.0 µs."
    )


def test_of_too_many_lanes_the_busiest_are_shown_in_their_order() -> None:
    count = timeline.MOST_LANES + 6
    busy = tuple(1 + at for at in range(count))
    level = TimelineLevel(0, tuple(range(count)), (3,) * count, (0,) * count, busy, busy, (1,) * count, (None,) * count)
    told = Timeline(
        base="prefill", origin_ns=0, start_ns=0, end_ns=count, marks_dropped=0, undrawn=(), levels=(level,),
        lanes=tuple(TimelineLane("prefill", f"gpu{at}", "sends", 0) for at in range(count)),
        kinds=factories.timeline().kinds,
    )  # fmt: skip
    drawn = only(timeline.build(run(judged("a", 0.2), timeline=told)), Lanes)
    assert [lane.label for lane in drawn.lanes] == [f"gpu{at} sends" for at in range(6, count)]
    assert drawn.levels[0].lane == tuple(range(timeline.MOST_LANES))
    assert drawn.levels[0].end_ns == busy[6:]
    assert "The 64 busiest lanes of 70; the JSON report has the others." in drawn.note


def told_lengths(**changes: object) -> Lengths:
    plain = Lengths(
        unit="prompt tokens",
        edges=(256, 512, 1024),
        counts=(3, 7),
        total=10,
        break_even_tokens=Band(400, 600),
        critical_tokens=Band(3000, 3000),
        below_break_even_share=0.2,
        unknown_count=2,
        break_even_count=8,
        critical_link="a->b",
        step_ns=Band(20 * MS, 25 * MS),
        step_basis="measured",
        step_count=64,
    )
    return replace(plain, **changes)


def test_prompt_lengths_stand_before_both_bands() -> None:
    blocks = lengths.build(run(lengths=told_lengths()))
    drawn = only(blocks, Histogram)
    assert (drawn.edges, drawn.counts) == ((256, 512, 1024), (3, 7))
    assert [(band.label, band.low, band.high, band.tone) for band in drawn.bands] == [
        ("splitting loses", 256, 400, "bad"),
        ("break-even", 400, 600, "doubt"),
        ("crossing = one decode step", 3000, 3000, "plain"),
    ]
    assert only(blocks, Paragraph).text == (
        "10 requests with a known length, 2 without; 20.0 % are shorter than the break-even length of 400 tokens."
    )
    assert "A decode step takes 20.0 to 25.0 ms (p10 to p90 of this run's 64 steps)" in drawn.note


@pytest.mark.parametrize("told", [None, told_lengths(total=1)])
def test_a_single_length_is_no_distribution(told: Lengths | None) -> None:
    assert lengths.build(run(lengths=told)) == []
