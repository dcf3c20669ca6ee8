"""Transfer time by layer and request: where the structure is that sums hide."""

from collections.abc import Callable, Sequence

from nsysparse.analysis import Analysis, Request
from nsysparse.analysis import Cell as LayerRequest
from nsysparse.document import Abstention, Block, Heading, Heatmap, HeatView, Paragraph
from nsysparse.sections.absence import abstention
from nsysparse.sections.layers import longest
from nsysparse.sections.ways import anchor
from nsysparse.units import counted, human_ns, human_share, time_scale

MOST_CELLS = 20_000

_NONE = Abstention("Layer \u00d7 request", "Needs transfers that carry both a layer and a request.")

_SAYS_NO_MORE = Abstention(
    "Layer \u00d7 request", "With one layer or one request there is no pattern to see; the tables above say it all."
)
_LEAST = 2


def build(analysis: Analysis) -> list[Block]:
    """One row per layer, one column per request: by length of prompt where that is known of all."""
    heading = Heading("Layer \u00d7 request", "heatmap")
    cells = analysis.layer_request
    if not cells:
        return [heading, abstention(analysis, "Layer \u00d7 request", "/layer_request", _NONE)]
    if all(cell.time_ns is None for cell in cells):
        return [heading, abstention(analysis, "Layer \u00d7 request", "/layer_request/*/time_ns", _NONE)]
    layers = sorted({cell.layer for cell in cells} & {layer.layer for layer in longest(analysis.layers)})
    every = _in_order(analysis)
    if len(layers) < _LEAST or len(every) < _LEAST:
        return [heading, _SAYS_NO_MORE]
    shown = _fitting(every, len(layers))
    column = {request.request_id: place for place, request in enumerate(shown)}
    row = {layer: place for place, layer in enumerate(layers)}
    scale = time_scale(cell.time_ns for cell in cells)

    def matrix(of: Callable[[LayerRequest], float | None]) -> list[list[float | None]]:
        values: list[list[float | None]] = [[None] * len(shown) for _ in layers]
        for cell in cells:
            if cell.request_id in column and cell.layer in row:
                values[row[cell.layer]][column[cell.request_id]] = of(cell)
        return values

    views = [HeatView("time", scale.unit, matrix(lambda cell: _over(cell.time_ns, scale.per_unit)))]
    ceiling = _common_ceiling(analysis)
    if ceiling is not None:
        slower = matrix(lambda cell: None if not cell.bytes else _over(cell.time_ns, cell.bytes / ceiling))
        views.insert(0, HeatView("slower than the ceiling", "\u00d7", slower, 1.0))
    by_tokens = _has_tokens(shown)
    return [
        heading,
        Paragraph(_lead(analysis, ceiling, by_tokens=by_tokens), "muted"),
        Heatmap(
            "Transfer time by layer and request",
            "requests by prompt tokens" if by_tokens else "requests, in order of their first transfer",
            "layer",
            [request.request_id for request in shown],
            [str(layer) for layer in layers],
            views,
            "heatmap-chart",
            _dropped(len(shown), len(every), len(layers), len(analysis.layers)),
            [f"{request.prompt_tokens:,}" for request in shown] if by_tokens else (),
            [anchor(request.request_id) for request in shown],
        ),
    ]


def _over(value: int | None, by: float) -> float | None:
    return None if value is None else value / by


def _common_ceiling(analysis: Analysis) -> float | None:
    """The ceiling in GB/s that all links share; beside several, “slower” would mean several things.

    None, too, where sizes are not known of all movements: a cell's time could be of more than its bytes.
    """
    if analysis.totals.bytes_known_share != 1:
        return None
    ceilings = {link.practical_gb_s for link in analysis.links if link.bytes}
    return ceilings.pop() if len(ceilings) == 1 else None


def _has_tokens(requests: Sequence[Request]) -> bool:
    return all(request.prompt_tokens is not None for request in requests)


def _lead(analysis: Analysis, ceiling: float | None, *, by_tokens: bool) -> str:
    order = "Requests by length of prompt" if by_tokens else "Requests in order of their first transfer"
    missing = _missing(analysis)
    if ceiling is None:
        return f"Transfer time of each layer in each request, waiting included. {order}, layers downwards.{missing}"
    return (
        f"How many times longer each cell took than its bytes take at the practical ceiling of {ceiling:.4g} GB/s,"
        f" waiting included: 1 is at the ceiling. {order}, layers downwards.{missing}"
    )


def _in_order(analysis: Analysis) -> list[Request]:
    with_cells = {cell.request_id for cell in analysis.layer_request}
    found = sorted(
        (request for request in analysis.requests if request.request_id in with_cells),
        key=lambda request: (request.start_ns is None, request.start_ns or 0, request.request_id),
    )
    return sorted(found, key=lambda request: request.prompt_tokens or 0) if _has_tokens(found) else found


def _fitting(requests: Sequence[Request], rows: int) -> list[Request]:
    """The requests with the most transfer time, as many as the cell limit allows, in their given order."""
    most = max(1, MOST_CELLS // rows)
    longest = sorted(requests, key=lambda request: (-(request.time_ns or 0), request.request_id))[:most]
    kept = {request.request_id for request in longest}
    return [request for request in requests if request.request_id in kept]


def _dropped(shown: int, every: int, rows: int, layers: int) -> str:
    parts = []
    if shown < every:
        parts.append(f"{counted(shown, 'request')} with the most transfer time of {every:,}")
    if rows < layers:
        parts.append(f"{counted(rows, 'layer')} with the most of {layers:,}")
    return f"The {' and the '.join(parts)}; the JSON report has all cells." if parts else ""


def _missing(analysis: Analysis) -> str:
    """The time that no cell holds, because its layer or request is unknown."""
    total = analysis.totals.time_ns
    if not total:
        return ""
    missing = total - sum(cell.time_ns or 0 for cell in analysis.layer_request)
    if missing <= 0:
        return ""
    return f" Not in the picture: {human_ns(missing)} ({human_share(missing / total)}) without a layer or request."
