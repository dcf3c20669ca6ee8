"""Interactive figures: the only place that knows plotly.

Colours, fonts and size are not in the figure; the page's script sets them from the theme when it draws.
"""

from collections.abc import Sequence
from html import escape

import numpy as np
from plotly import graph_objects

from nsysparse.document import Heatmap
from nsysparse.render.heat import shade_scale
from nsysparse.render.names import shortened, unique

_LONGEST_LABEL = 28


def heatmap_json(heatmap: Heatmap) -> str:
    """The figure as plotly's JSON. Names are escaped, because plotly reads its texts as markup."""
    values = np.array(
        [[np.nan if value is None else value for value in row] for row in heatmap.values], dtype=np.float32
    )
    scale = shade_scale(heatmap)
    shown = np.log10(np.clip(values, scale.low, None)) if scale.is_log else values
    trace = graph_objects.Heatmap(
        z=shown,
        x=_labels(heatmap.x),
        y=_labels(heatmap.y),
        zmin=float(np.log10(scale.low)) if scale.is_log else 0.0,
        zmax=float(np.log10(scale.high)) if scale.is_log else scale.high,
        customdata=values if scale.is_log else None,
        hovertemplate=_hover(heatmap, "customdata" if scale.is_log else "z"),
        hoverongaps=False,
        xgap=1,
        ygap=1,
        colorbar={"title": {"text": escape(heatmap.unit)}, **_colour_ticks(scale.low, scale.high, is_log=scale.is_log)},
    )
    layout = graph_objects.Layout(
        xaxis={"type": "category", "title": {"text": escape(heatmap.x_title)}, "showgrid": False, "automargin": True},
        yaxis={
            "type": "category",
            "title": {"text": escape(heatmap.y_title)},
            "showgrid": False,
            "autorange": "reversed",
            "automargin": True,
        },
        template=graph_objects.layout.Template(),  # plotly's default template weighs 7 kB and would fight the theme
    )
    figure = graph_objects.Figure(trace, layout)
    text: str = figure.to_json(engine="json")  # other engines, where installed, write other bytes
    return text


def _labels(names: Sequence[str]) -> list[str]:
    return unique([escape(shortened(name, _LONGEST_LABEL)) for name in names])


def _hover(heatmap: Heatmap, source: str) -> str:
    x_name = heatmap.x_title.partition(",")[0].removesuffix("s")
    return (
        f"{escape(heatmap.y_title)} %{{y}}<br>{escape(x_name)} %{{x}}<br>"
        f"%{{{source}:.3~g}} {escape(heatmap.unit)}<extra></extra>"
    )


def _colour_ticks(low: float, high: float, *, is_log: bool) -> dict[str, object]:
    """On a logarithmic scale, ticks at the ends and at decades (1, 3, 10, …) between, named by their value."""
    if not is_log:
        return {}
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    steps = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 3)]
    inside = [step for step in steps if low <= step <= high]
    return {"tickvals": [float(np.log10(step)) for step in inside], "ticktext": [f"{step:g}" for step in inside]}
