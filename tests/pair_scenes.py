"""A page of two runs with every figure that such pages have: of few and of many, known, unknown and bounded."""

from nsysparse.document import (
    Callout,
    Document,
    Dumbbells,
    Heading,
    Heatmap,
    HeatView,
    Range,
    RangeRow,
    Ranges,
    Tone,
)

LAYERS = 32


def ranges() -> Ranges:
    rows = [
        RangeRow(
            "prefill:gpu0 → decode:gpu0",
            Range(40.0, "40.0 GB/s", 30.0, 45.0),
            Range(32.0, "32.0 GB/s", 20.0, 41.0),
            "\u221220 %",
            "bad",
            "IB NDR, 768 movements",
            50.0,
            47.0,
        ),
        RangeRow("a", Range(20.0, "20.0 GB/s"), Range(30.0, "30.0 GB/s", 29.0, 33.0), "+50 %", "good"),
        RangeRow(
            "b", Range(18.0, "≥ 18.0 GB/s", is_bound=True), Range(19.0, "≥ 19.0 GB/s", is_bound=True), "", "doubt"
        ),
        RangeRow("c" * 60, Range(18.0, "18.0 GB/s"), None, note="not in the candidate", practical=47.0),
        RangeRow("d", None, Range(2.0, "2.00 GB/s", 0.5, 5.0)),
    ]
    return Ranges(
        "Throughput per link", "GB/s", rows, "ranges-chart", "main.sqlite", "pr.sqlite", "wire", "As measured."
    )


def dumbbells(count: int = LAYERS, anchor: str = "dumbbells-chart") -> Dumbbells:
    """Layers 10 to 20 lost a fifth, layer 2 gained, 5 and 6 are not in the candidate, and 7 is in no run."""
    base = [40.0 + place % 5 if place != 7 else None for place in range(count)]
    factors = [0.8 if 10 <= place <= 20 else 1.2 if place == 2 else 1.0 for place in range(count)]
    candidate = [
        None if value is None or place in (5, 6) else value * factor
        for place, (value, factor) in enumerate(zip(base, factors, strict=True))
    ]
    tones: list[Tone] = ["bad" if factor < 1 else "good" if factor > 1 else "plain" for factor in factors]
    return Dumbbells(
        f"Wire rate of {count} layers", "layer", "GB/s, p50", [str(place) for place in range(count)], base, candidate,
        tones, anchor, meaning="wire",
    )  # fmt: skip


def heatmap() -> Heatmap:
    """Layers 10 to 20 are 20 % slower, the last ones 10 % faster, layer 3 is unknown; the second view is of one way."""
    names = ["to 1,023", "1,024 to 4,095", "4,096 and more"]
    change = [20.0 if 10 <= layer <= 20 else -10.0 if layer > 28 else 1.0 for layer in range(LAYERS)]
    views = [
        HeatView(
            "change", "%", [[None if layer == 3 else change[layer]] * 3 for layer in range(LAYERS)],
            middle=0.0, least=20.0, ends=("faster", "slower"),
        ),
        HeatView("time", "ms", [[1.0 + layer] * 3 for layer in range(LAYERS)]),
    ]  # fmt: skip
    y = [str(layer) for layer in range(LAYERS)]
    return Heatmap(
        "Change by layer and prompt", "prompt tokens", "layer", names, y, views, "pairs-heatmap", x_name="prompt"
    )


def document() -> Document:
    """Without any section of a report."""
    blocks = [
        Callout("verdict", "regressed", "Transfer got worse: 40.0 → 32.0 GB/s.", "bad", "\u221220 %"),
        Heading("Links", "diff-links"),
        ranges(),
        Heading("Layers", "diff-layers"),
        dumbbells(),
        dumbbells(4, "few"),
        dumbbells(1000, "many"),
        Heading("Where", "diff-heatmap"),
        heatmap(),
    ]
    return Document("Two runs", "main.sqlite, pr.sqlite", "nsysparse 0.1.0", blocks, marker="diff")
