"""Interactive figures, as JSON for plotly.js.

Colours, fonts and size are not in the figure; the page's script sets them from the theme when it draws. Plotly's Python
package would write the same, after a fifth of a second for loading what checks its every attribute; a test has it check
what is written here.
"""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from nsysparse.document import Heatmap, HeatView, Lanes, MarkLevel, Meaning
from nsysparse.render.divergence import EDGES, LOOKS, colour_ticks, divergence
from nsysparse.render.figures.lanes import lane_name
from nsysparse.render.heat import shade_scale
from nsysparse.render.names import shortened, unique

_LONGEST_LABEL = 28
_LONGEST_TITLE = 120
_NO_GAP = 0.01
"""Pixels: without any, plotly paints one image and stretches it by an inline style, which the page's policy blocks."""


def heatmap_json(heatmap: Heatmap) -> str:
    """`figures`: plotly's, one for each view; `names` and `anchors` of the columns, for hovering and clicking.

    Names are escaped, because plotly reads its texts as markup.
    """
    figures = ",".join(_heat_figure(heatmap, view) for view in heatmap.views)
    names = [escape(shortened(name, _LONGEST_LABEL)) for name in heatmap.x] if heatmap.x_labels else []
    rest = json.dumps({"names": names, "anchors": list(heatmap.x_anchors)}, separators=(",", ":"))
    return f'{{"figures":[{figures}],{rest[1:]}'


@dataclass(frozen=True, slots=True)
class _Painted:
    """What plotly paints, and where it finds what it says on hovering; `steps` are colours of its own (`_steps`)."""

    z: npt.NDArray[np.float32]
    low: float
    high: float
    ticks: Mapping[str, object]
    said: npt.NDArray[np.float32] | None = None
    steps: Sequence[tuple[float, str]] = ()


def _painted(view: HeatView) -> _Painted:
    values = np.array([[np.nan if value is None else value for value in row] for row in view.values], dtype=np.float32)
    if (both_ways := divergence(view)) is not None:
        at, texts = colour_ticks(both_ways)
        return _Painted(values, both_ways.low, both_ways.high, {"ticktext": texts, "tickvals": at}, steps=_steps())
    scale = shade_scale(view)
    if not scale.is_log:
        return _Painted(values, 0.0, scale.high, {})
    low, high = float(np.log10(scale.low)), float(np.log10(scale.high))
    shown = np.log10(np.clip(values, scale.low, None))
    return _Painted(shown, low, high, _decades(scale.low, scale.high), said=values)


def _steps() -> list[tuple[float, str]]:
    """Where each shade begins and ends on the scale, from 0 to 1, with its token: no colour between two of them."""
    ends = [0.0, *((1 + edge) / 2 for edge in EDGES), 1.0]
    return [(end, look) for look, span in zip(LOOKS, pairwise(ends), strict=True) for end in span]


def _heat_figure(heatmap: Heatmap, view: HeatView) -> str:
    painted = _painted(view)
    gap = _NO_GAP if painted.steps else 1  # what is hatched below would show between cells
    trace = {
        "colorbar": {**painted.ticks, "title": {"text": escape(view.unit)}},
        **({} if painted.said is None else {"customdata": _typed(painted.said)}),
        "hoverongaps": False,
        "hovertemplate": _hover(heatmap, view, "z" if painted.said is None else "customdata"),
        "x": _labels(heatmap.x_labels or heatmap.x),
        "xgap": gap,
        "y": _labels(heatmap.y),
        "ygap": gap,
        "z": _typed(painted.z),
        "zmax": painted.high,
        "zmin": painted.low,
        "type": "heatmap",
    }
    layout = {
        **({"meta": {"steps": painted.steps}} if painted.steps else {}),
        "template": {"data": {"scatter": [{"type": "scatter"}]}},  # none: the page's theme is the only one
        "xaxis": _axis(heatmap.x_title),
        "yaxis": _axis(heatmap.y_title, autorange="reversed"),
    }
    text = json.dumps({"data": [trace], "layout": layout}, separators=(",", ":"))
    return text.replace("/", "\\u002f")


def _axis(title: str, **more: str) -> dict[str, object]:
    named = {"title": {"text": escape(title)}, "type": "category"}
    return {"automargin": True, **more, "showgrid": False, **named}


def _typed(values: npt.NDArray[np.float32]) -> dict[str, str]:
    """A matrix as plotly.js reads it without parsing numbers."""
    return {"dtype": "f4", "bdata": _packed(values, "<f4"), "shape": ", ".join(map(str, values.shape))}


def lanes_json(lanes: Lanes) -> str:
    """The marks of a timeline as typed arrays, a column each, for the page's script to cut and draw.

    Times are ns from the start of the timeline; `busy` is the part of a mark's length in which something ran.
    """
    meanings = sorted({meaning for level in lanes.levels for meaning in level.meaning})
    number = {meaning: place for place, meaning in enumerate(meanings)}
    return json.dumps(
        {
            "end": lanes.end_ns - lanes.start_ns,
            "lanes": [lane_name(lane) for lane in lanes.lanes],
            "meanings": meanings,
            "names": dict(lanes.key),
            "owners": [shortened(name, _LONGEST_TITLE) for name in lanes.owners],
            "anchors": list(lanes.owner_anchors),
            "levels": [_level(level, lanes.start_ns, number) for level in lanes.levels],
        },
        separators=(",", ":"),
    )


def _level(level: MarkLevel, zero_ns: int, number: Mapping[Meaning, int]) -> dict[str, object]:
    start = np.asarray(level.start_ns, dtype=np.int64)
    length = np.asarray(level.end_ns, dtype=np.int64) - start
    busy = np.asarray(level.busy_ns, dtype=np.float64) / np.maximum(length, 1)
    return {
        "merged": level.merged_below_ns,
        "lane": _packed(level.lane, "<u2"),
        "meaning": _packed([number[meaning] for meaning in level.meaning], "<u1"),
        "start": _packed(start - zero_ns, "<f8"),
        "length": _packed(length, "<f4"),
        "busy": _packed(busy, "<f4"),
        "count": _packed(level.count, "<u4"),
        "owner": _packed([-1 if owner is None else owner for owner in level.owner], "<i4"),
    }


def _packed(values: object, kind: str) -> str:
    return b64encode(np.asarray(values, dtype=kind).tobytes()).decode()


def _labels(names: Sequence[str]) -> list[str]:
    return unique([escape(shortened(name, _LONGEST_LABEL)) for name in names])


def _hover(heatmap: Heatmap, view: HeatView, source: str) -> str:
    whose = "%{text}<br>%{x} prompt tokens" if heatmap.x_labels else f"{escape(heatmap.x_name)} %{{x}}"
    sign = "+" if view.middle == 0 else ""
    value = f"%{{{source}:{sign}.3~g}} {escape(view.unit)}"
    return f"{escape(heatmap.y_title)} %{{y}}<br>{whose}<br>{value}<extra></extra>"


def _decades(low: float, high: float) -> dict[str, object]:
    """On a logarithmic scale, ticks at the ends and at decades (1, 3, 10, …) between, named by their value."""
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    steps = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 3)]
    inside = [step for step in steps if low <= step <= high]
    return {"ticktext": [f"{step:g}" for step in inside], "tickvals": [float(np.log10(step)) for step in inside]}
