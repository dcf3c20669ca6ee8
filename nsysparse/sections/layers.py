"""What each model layer's transfers cost."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from nsysparse.analysis import TEACH, Analysis, Layer
from nsysparse.document import Abstention, Block, ColumnChart, Heading, Meaning, Paragraph, Series, Table
from nsysparse.sections.absence import abstention
from nsysparse.sections.cells import numbers, rates, sizes, table, texts, times
from nsysparse.sections.provenance import described
from nsysparse.units import counted, human_ns, human_share, time_scale

MOST_LAYERS = 1_000
"""In a figure or a table; a name that is no layer's number can make many more."""

_NONE = Abstention("Layers", "No transfer carries a layer.", TEACH)


def build(analysis: Analysis) -> list[Block]:
    """Stacked columns of what each layer's transfers cost and what hid them, then the table."""
    heading = Heading("Time per layer", "layers")
    layers = analysis.layers
    if not layers:
        return [heading, abstention(analysis, "Layers", "/layers", _NONE)]
    shown = longest(layers)
    timed = [layer for layer in shown if layer.time_ns is not None]
    lead = Paragraph(" ".join([_lead(analysis), *_left_out(layers, shown, timed)]), "muted")
    if not timed:
        return [heading, lead, abstention(analysis, "Time per layer", "/layers/*/time_ns", _NONE), _table(shown)]
    return [heading, lead, _chart(timed), _table(shown)]


def longest(layers: Sequence[Layer]) -> Sequence[Layer]:
    """The layers with the most transfer time, as many as fit, in their order."""
    if len(layers) <= MOST_LAYERS:
        return layers
    chosen = sorted(layers, key=lambda layer: (-(layer.time_ns or 0), layer.layer))[:MOST_LAYERS]
    return sorted(chosen, key=lambda layer: layer.layer)


def _left_out(layers: Sequence[Layer], shown: Sequence[Layer], timed: Sequence[Layer]) -> list[str]:
    """What has no column: a layer whose time is unknown would look like one that took none."""
    said = []
    if len(shown) < len(layers):
        said.append(f"The {len(shown):,} with the most time of {len(layers):,}; the JSON report has the others.")
    if timed and len(timed) < len(shown):
        said.append(f"Without a column: {counted(len(shown) - len(timed), 'layer')} of unknown time.")
    return said


def _lead(analysis: Analysis) -> str:
    total, missing = analysis.totals.time_ns, analysis.unattributed.get("layer")
    text = f"Sums over movements, {counted(len(analysis.layers), 'layer')}."
    if missing is not None and total and missing.time_ns:
        text += f" Not in here: {human_ns(missing.time_ns)} ({human_share(missing.time_ns / total)}) without a layer."
    return text


def _chart(layers: Sequence[Layer]) -> ColumnChart:
    scale = time_scale(layer.time_ns for layer in layers)
    series = [
        Series(label, meaning, [part(layer) / scale.per_unit for layer in layers])
        for label, meaning, part in _parts(layers)
    ]
    return ColumnChart(
        "Transfer time per layer",
        "layer",
        f"{scale.unit}, all requests",
        [str(layer.layer) for layer in layers],
        [each for each in series if any(each.values)],
        "layers-chart",
    )


def _parts(layers: Sequence[Layer]) -> list[tuple[str, Meaning, Callable[[Layer], int]]]:
    """The finest division that is known of these layers, with what nothing tells apart as a part of its own."""

    def rest(layer: Layer, *told: int | None) -> int:
        return max(0, (layer.time_ns or 0) - sum(part or 0 for part in told))

    if any(layer.overlapped_ns is not None for layer in layers):
        return [
            ("behind compute", "hidden", lambda layer: layer.overlapped_ns or 0),
            ("exposed wire", "wire", lambda layer: layer.exposed_wire_ns or 0),
            ("exposed peer wait", "wait", lambda layer: layer.exposed_wait_ns or 0),
            (
                "not told apart",
                "unknown",
                lambda layer: rest(layer, layer.overlapped_ns, layer.exposed_wire_ns, layer.exposed_wait_ns),
            ),
        ]
    if any(layer.wire_ns is not None or layer.peer_wait_ns is not None for layer in layers):
        return [
            ("wire", "wire", lambda layer: layer.wire_ns or 0),
            ("peer wait", "wait", lambda layer: layer.peer_wait_ns or 0),
            ("not told apart", "unknown", lambda layer: rest(layer, layer.wire_ns, layer.peer_wait_ns)),
        ]
    return [("wire and waiting together", "whole", lambda layer: layer.time_ns or 0)]


def _table(layers: Sequence[Layer]) -> Table:
    scale = time_scale(layer.time_ns for layer in layers)
    columns = [
        numbers("Layer", [layer.layer for layer in layers]),
        numbers("Movements", [layer.movement_count for layer in layers], term="movement", minor=True),
        sizes("Bytes", [layer.bytes for layer in layers], term="movement"),
        times("Time", [layer.time_ns for layer in layers], scale, term="transfer-time"),
        times("Wire", [layer.wire_ns for layer in layers], scale, term="wire"),
        times("Peer wait", [layer.peer_wait_ns for layer in layers], scale, term="peer-wait"),
        times("Busy", [layer.busy_ns for layer in layers], scale, term="busy", minor=True),
        times("Exposed wire", [layer.exposed_wire_ns for layer in layers], scale, term="exposed", minor=True),
        times("Exposed wait", [layer.exposed_wait_ns for layer in layers], scale, term="exposed", minor=True),
        times("Behind compute", [layer.overlapped_ns for layer in layers], scale, term="exposed", minor=True),
        rates("Wire rate, p50", [layer.wire_gb_s.p50 if layer.wire_gb_s else None for layer in layers], term="wire"),
        texts("Known by", [described(layer.provenance) for layer in layers], term="provenance"),
    ]
    found = table("Layers", columns, "layers-table", folded=True)
    return replace(found, row_anchors=[f"layer-{layer.layer}" for layer in layers])
