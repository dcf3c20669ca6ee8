"""Nothing unknown is drawn as nothing, nothing known is drawn as unknown, and what is cut or left out is said."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import factories
import pytest

from nsysparse.analysis import Analysis
from nsysparse.document import (
    Block,
    ColumnChart,
    Dot,
    Facts,
    Fit,
    Heatmap,
    Histogram,
    Paragraph,
    RateBySize,
    Segment,
    SizeRate,
    SizeSeries,
    Spread,
    Strip,
    Table,
    Waterfall,
    WayRow,
)
from nsysparse.render.figures import axis_of, curve, histogram, row, strip
from nsysparse.sections import SECTIONS
from nsysparse.sections.layers import MOST_LAYERS
from nsysparse.sections.sizes import MOST_POINTS
from nsysparse.sections.ways import gap, whole

MS = 1_000_000
B = TypeVar("B", bound=Block)


def only(section: str, kind: type[B], analysis: Analysis) -> B:
    (found,) = (block for block in SECTIONS[section](analysis) if isinstance(block, kind))
    return found


@pytest.mark.parametrize(
    ("handoff", "ready", "told"),
    [
        (MS, None, [("hand-off", 1.0), ("not told apart", 4.0)]),
        (None, 2 * MS, [("not told apart", 3.0), ("ready, not started", 2.0)]),
        (None, None, [("not told apart", 5.0)]),
    ],
)
def test_a_known_gap_has_its_length_though_not_all_its_parts_are_known(
    handoff: int | None, ready: int | None, told: list[tuple[str, float]]
) -> None:
    request = factories.request(
        prefill_ns=3 * MS, handoff_ns=handoff, ready_to_decode_ns=ready, first_decode_ns=2 * MS,
        kv_gap_ns=5 * MS, path_ns=10 * MS,
    )  # fmt: skip
    assert [(part.label, part.value) for part in gap(request)] == told
    segments, (first, last) = whole(request)
    assert sum(part.value or 0 for part in segments) == 10.0
    assert sum(part.value or 0 for part in segments[first : last + 1]) == 5.0


def test_prompts_of_no_tokens_have_a_column() -> None:
    drawn = histogram(Histogram("c", "tokens", (0, 1, 2, 4), (3, 0, 2), (), "a"))
    widths = [float(width) for width in re.findall(r'width="([\d.]+)%"[^>]*class="bin"', drawn)]
    assert len(widths) == 2
    assert min(widths) > 5


def test_a_layer_of_unknown_time_has_no_column_and_is_said() -> None:
    rich = factories.rich()
    layers = (*rich.layers[:2], replace(rich.layers[2], time_ns=None), *rich.layers[3:])
    chart = only("layers", ColumnChart, replace(rich, layers=layers))
    assert "2" not in chart.labels
    assert len(chart.labels) == len(layers) - 1
    lead = only("layers", Paragraph, replace(rich, layers=layers))
    assert "Without a column: 1 layer of unknown time." in lead.text


def test_layers_are_capped_in_every_figure_and_both_numbers_said() -> None:
    many = factories.rich(requests=3, layers=MOST_LAYERS + 10)
    assert len(only("layers", ColumnChart, many).labels) == MOST_LAYERS
    assert len(only("layers", Table, many).rows) == MOST_LAYERS
    assert f"The 1,000 with the most time of {MOST_LAYERS + 10:,}" in only("layers", Paragraph, many).text
    heat = only("heatmap", Heatmap, many)
    assert len(heat.y) == MOST_LAYERS
    assert f"the 1,000 layers with the most of {MOST_LAYERS + 10:,}" in heat.dropped.replace("The", "the")
    assert len(only("path", Waterfall, many).profile_labels) == MOST_LAYERS


def test_sizes_are_capped_by_their_bytes_and_it_is_said() -> None:
    rich = factories.rich()
    sizes = [replace(rich.message_sizes[0], bytes=1000 * (place + 1)) for place in range(MOST_POINTS + 50)]
    chart = only("sizes", RateBySize, replace(rich, message_sizes=tuple(sizes)))
    (series,) = chart.series
    assert [point.size for point in series.points] == [size.bytes for size in sizes[50:]]
    assert f"the {MOST_POINTS} sizes with the most bytes" in chart.dropped


def test_a_dot_counts_the_messages_whose_rate_it_shows() -> None:
    rich = factories.rich()
    first = rich.message_sizes[0]
    assert first.wire_gb_s is not None
    few = replace(first, count=1000, wire_gb_s=replace(first.wire_gb_s, count=2))
    chart = only("sizes", RateBySize, replace(rich, message_sizes=(few, *rich.message_sizes[1:])))
    assert chart.series[0].points[0].count == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"src": "unknown", "link_key": "unknown->x", "headline_gb_s": 1.0}, "38.9 GB/s"),
        ({"headline_gb_s": None, "headline_basis": None}, "unknown"),
    ],
)
def test_the_key_figure_is_of_the_link_that_the_verdict_names(changes: dict[str, object], said: str) -> None:
    rich = factories.rich()
    links = (*rich.links, factories.link(9, **{"bytes": 10**15, **changes}))
    rate, *_ = only("overview", Facts, replace(rich, links=links)).items
    assert rate.value == said


def test_a_fitted_curve_stays_within_its_axis() -> None:
    points = [SizeRate(size, 5, Spread(*[size / (size / 43 + 30_000)] * 3), False) for size in (10_000, 200_000)]
    drawn = curve(RateBySize("c", [SizeSeries("l", points, Fit(5_000, 43.9, "t"))], None, None, "a"))
    (path,) = re.findall(r' d="M([^"]*)" class="fit', drawn)
    heights = [float(place.split()[1]) for place in path.split("L")]
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) == len(heights)
    assert heights[-1] > 0


def shares(values: Sequence[float], middle: float | None = None, doubt: float = 0.0) -> str:
    dots = [Dot(value, "r", "good") for value in values]
    return strip(Strip("c", "", dots, 0.2, "t", middle, doubt, "p50", "a"))


def test_one_request_among_thousands_is_seen() -> None:
    heights = [
        float(height) for height in re.findall(r'height="([\d.]+)" class="dot-good"', shares([0.05] * 5000 + [0.3]))
    ]
    assert len(heights) == 2
    assert min(heights) >= 1


def test_the_axis_of_shares_holds_what_the_median_may_be_off() -> None:
    drawn = shares([0.1, 0.1, 0.1], 0.1, 0.6)
    right = max(float(x) for x in re.findall(r'x2="([\d.]+)%"[^>]*class="whisker"', drawn))
    assert right < 95


def test_what_was_sent_ahead_or_may_be_off_beyond_the_axis_is_marked_as_cut() -> None:
    def line(doubt: float = 0.0, ahead: float = 0.0) -> WayRow:
        part = Segment("x", "wire", 1.0, "1 ms")
        sent = Segment("sent", "hidden", ahead, "much") if ahead else None
        return WayRow(
            "a", "n", (), [Segment("y", "compute", 0.5, "0.5 ms")], [part], ahead=sent, doubt=doubt, doubted=1.0
        )

    rows = [line() for _ in range(40)] + [line(doubt=50.0)]
    axis = axis_of(Waterfall("c", "ms", "z", (), rows, (), "a"))
    assert [row(each, axis, "ms").count('class="break"') for each in (line(), line(doubt=50.0), line(ahead=9.0))] == [
        0, 1, 1,
    ]  # fmt: skip
