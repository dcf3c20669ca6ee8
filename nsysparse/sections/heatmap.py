"""Transfer time by layer and request: where the structure is that sums hide."""

from collections.abc import Sequence

from nsysparse.analysis import Analysis, Request
from nsysparse.document import Abstention, Block, Heading, Heatmap, Paragraph
from nsysparse.sections.absence import abstention
from nsysparse.units import counted, human_ns, human_share, time_scale

MOST_CELLS = 20_000

_NONE = Abstention("Layer \u00d7 request", "Needs transfers that carry both a layer and a request.")

_SAYS_NO_MORE = Abstention(
    "Layer \u00d7 request", "With one layer or one request there is no pattern to see; the tables above say it all."
)
_LEAST = 2


def build(analysis: Analysis) -> list[Block]:
    """One row per layer, one column per request in order of its first transfer."""
    heading = Heading("Layer \u00d7 request", "heatmap")
    cells = analysis.layer_request
    if not cells:
        return [heading, abstention(analysis, "Layer \u00d7 request", "/layer_request", _NONE)]
    if all(cell.time_ns is None for cell in cells):
        return [heading, abstention(analysis, "Layer \u00d7 request", "/layer_request/*/time_ns", _NONE)]
    layers = sorted({cell.layer for cell in cells})
    every = _in_order(analysis)
    if len(layers) < _LEAST or len(every) < _LEAST:
        return [heading, _SAYS_NO_MORE]
    shown = _fitting(every, len(layers))
    scale = time_scale(cell.time_ns for cell in cells)
    column = {request.request_id: place for place, request in enumerate(shown)}
    row = {layer: place for place, layer in enumerate(layers)}
    values: list[list[float | None]] = [[None] * len(shown) for _ in layers]
    for cell in cells:
        if cell.request_id in column:
            at = None if cell.time_ns is None else cell.time_ns / scale.per_unit
            values[row[cell.layer]][column[cell.request_id]] = at
    return [
        heading,
        Paragraph(f"Transfer time of each layer in each request, waiting included.{_missing(analysis)}", "muted"),
        Heatmap(
            "Transfer time by layer and request",
            "requests, in order of their first transfer",
            "layer",
            scale.unit,
            [request.request_id for request in shown],
            [str(layer) for layer in layers],
            values,
            "heatmap-chart",
            _dropped(len(shown), len(every)),
        ),
    ]


def _in_order(analysis: Analysis) -> list[Request]:
    with_cells = {cell.request_id for cell in analysis.layer_request}
    return sorted(
        (request for request in analysis.requests if request.request_id in with_cells),
        key=lambda request: (request.start_ns is None, request.start_ns or 0, request.request_id),
    )


def _fitting(requests: Sequence[Request], rows: int) -> list[Request]:
    """The requests with the most transfer time, as many as the cell limit allows, in their given order."""
    most = max(1, MOST_CELLS // rows)
    longest = sorted(requests, key=lambda request: (-(request.time_ns or 0), request.request_id))[:most]
    kept = {request.request_id for request in longest}
    return [request for request in requests if request.request_id in kept]


def _dropped(shown: int, every: int) -> str:
    if shown == every:
        return ""
    return f"The {counted(shown, 'request')} with the most transfer time of {every:,}; the JSON report has all cells."


def _missing(analysis: Analysis) -> str:
    """The time that no cell holds, because its layer or request is unknown."""
    total = analysis.totals.time_ns
    if not total:
        return ""
    missing = total - sum(cell.time_ns or 0 for cell in analysis.layer_request)
    if missing <= 0:
        return ""
    return f" Not in the picture: {human_ns(missing)} ({human_share(missing / total)}) without a layer or request."
