"""Where a byte took longer or shorter than before: layers against requests, or prompts of similar length."""

from nsysparse.compare.matching import BY_ID
from nsysparse.comparison import Comparison
from nsysparse.document import Abstention, Block, Heading, Heatmap, HeatView, Paragraph
from nsysparse.units import counted

_LEAST, _MOST = 10.0, 40.0
"""Percent at which the scale ends: no earlier, or noise looked like structure; no later, or a run of another machine
left no colour for anything below a doubling."""


def build(comparison: Comparison) -> list[Block]:
    """Percent of change of time per byte, one row per layer."""
    heading = Heading("Layer \u00d7 request", "diff-heatmap")
    cells = comparison.cells
    if cells is None:
        why = "Needs two layers and two requests, or lengths of prompt, that both runs know, with time and size."
        return [heading, Abstention("Layer \u00d7 request", why)]
    values = [[None if each is None else each * 100 for each in row] for row in cells.change]
    by_id = cells.by == BY_ID
    over = "request, by length of prompt" if by_id else "requests by prompt tokens"
    return [
        heading,
        Paragraph("Transfer time per byte, waiting included, against the base: above 0 it took longer.", "muted"),
        Heatmap(
            "Change of time per byte, by layer and request",
            over,
            "layer",
            list(cells.columns),
            [str(layer) for layer in cells.layers],
            [HeatView("change of time per byte", "%", values, None, 0.0, _LEAST, _MOST, ("faster", "slower"))],
            "diff-heatmap-chart",
            f"{counted(cells.dropped_count, 'more column')} with less transfer time." if cells.dropped_count else "",
            x_name="request" if by_id else "prompts",
        ),
    ]
