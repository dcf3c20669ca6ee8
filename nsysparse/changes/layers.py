"""Which layers changed: each layer's rate in both runs on one axis, then what moved most."""

from collections.abc import Mapping, Sequence

from nsysparse.changes.rows import TONES, moved_table
from nsysparse.comparison import Change, Comparison, LayerCurve
from nsysparse.document import Abstention, Block, Dumbbells, Heading, Paragraph, Tone
from nsysparse.units import counted

MOST_LAYERS = 1_000
MOST_ROWS = 200
_DRAWN: Sequence[tuple[str, str]] = (
    ("wire_gb_s.p50", "Wire rate of each layer, p50"),
    ("kernel_gb_s.p50", "Kernel rate of each layer, p50, waiting included"),
    ("peer_wait_ms.mean", "Peer wait of each layer's movements, mean"),
    ("exposed_ms.mean", "Exposed time of each layer's movements, mean"),
)
"""Metrics that are drawn, and how many of the first that both runs have."""
_MOST_DRAWN = 2


def build(comparison: Comparison) -> list[Block]:
    """Dumbbells of the rate and of the first metric of time, then the table."""
    heading = Heading("Layers", "diff-layers")
    if not comparison.layer_curves and not comparison.layers:
        return [heading, Abstention("Layers", "No layer is known in both runs, or none with anything to compare.")]
    verdicts = {(each.subject, each.metric): each for each in comparison.layers}
    curves = {curve.metric: curve for curve in comparison.layer_curves}
    drawn = [(curves[name], caption) for name, caption in _DRAWN if name in curves][:_MOST_DRAWN]
    blocks: list[Block] = [heading, *(_figure(curve, caption, verdicts) for curve, caption in drawn)]
    if comparison.layers:
        blocks.append(
            moved_table("What moved, by layer", comparison.layers, "diff-layers-table", MOST_ROWS, "Layer", "words")
        )
    else:
        blocks.append(Paragraph(f"No layer changed: {counted(comparison.compared.layers, 'value')} compared."))
    return blocks


def _figure(curve: LayerCurve, caption: str, verdicts: Mapping[tuple[str, str], Change]) -> Dumbbells:
    shown = slice(None, MOST_LAYERS)
    labels = [str(layer) for layer in curve.layer[shown]]
    more = len(curve.layer) - len(labels)
    return Dumbbells(
        caption,
        "layer",
        curve.unit,
        labels,
        curve.base[shown],
        curve.candidate[shown],
        [_tone(verdicts.get((label, curve.metric))) for label in labels],
        f"diff-layers-{curve.metric.partition('.')[0].replace('_', '-')}",
        meaning="wire" if curve.unit == "GB/s" else "wait",
        dropped=f"{counted(more, 'more layer')}; the JSON output has all." if more else "",
    )


def _tone(change: Change | None) -> Tone:
    return "plain" if change is None else TONES[change.verdict]
