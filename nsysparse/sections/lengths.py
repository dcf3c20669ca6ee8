"""How long prompts are, and at which lengths splitting prefill from decode begins, and ceases, to pay."""

from nsysparse.analysis import Analysis, Lengths
from nsysparse.document import Band, Block, Heading, Histogram, Paragraph
from nsysparse.units import NS_PER_MS, counted, human_share, significant

_LEAST = 2
"""One request has no distribution."""


def build(analysis: Analysis) -> list[Block]:
    """The histogram with both bands; stays away where fewer than two lengths are known."""
    told = analysis.lengths
    if told is None or told.total < _LEAST:
        return []
    return [
        Heading("Prompt lengths", "lengths"),
        Paragraph(_lead(told), "muted"),
        Histogram(
            "Requests by length of prompt",
            "prompt tokens, logarithmic",
            told.edges,
            told.counts,
            _bands(told),
            "lengths-chart",
            " ".join([*_notes(told), *_unknown(analysis, told)]),
        ),
    ]


def _lead(told: Lengths) -> str:
    text = f"{counted(told.total, 'request')} with a known length"
    if told.unknown_count:
        text += f", {told.unknown_count:,} without"
    if told.below_break_even_share is not None and told.break_even_tokens is not None:
        share = human_share(told.below_break_even_share)
        return f"{text}; {share} are shorter than the break-even length of {told.break_even_tokens.low:,} tokens."
    return f"{text}."


def _bands(told: Lengths) -> list[Band]:
    """Below the first splitting cannot pay; above the second a prompt takes longer to cross than one decode step."""
    bands = []
    if (broken := told.break_even_tokens) is not None:
        first = max(1, told.edges[0])
        if broken.low > first:
            bands.append(Band("splitting loses", first, broken.low, f"below {broken.low:,}", "bad"))
        bands.append(Band("break-even", broken.low, broken.high, _range(broken.low, broken.high), "doubt"))
    if (critical := told.critical_tokens) is not None:
        text = f"{_range(critical.low, critical.high)} tokens"
        bands.append(Band("crossing = one decode step", critical.low, critical.high, text))
    return bands


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _notes(told: Lengths) -> list[str]:
    """What the bands rest on."""
    notes = []
    if told.break_even_tokens is not None:
        notes.append(
            "Break-even: up to there the fixed cost of a request's messages is more than its prefill, which is what"
            f" splitting keeps from one decoding request; p10 to p90 of {counted(told.break_even_count, 'request')}."
            " Longer prompts need not pay either: bytes, waiting and hand-off come on top."
        )
    if told.critical_tokens is not None and told.step_ns is not None:
        low, high = (significant(each / NS_PER_MS) for each in (told.step_ns.low, told.step_ns.high))
        steps = f"{low} ms" if low == high else f"{low} to {high} ms"
        whose = "--step-ms" if told.step_basis == "option" else f"p10 to p90 of this run's {told.step_count:,} steps"
        notes.append(f"A decode step takes {steps} ({whose}); the crossing is at line rate over {told.critical_link}.")
    return notes


def _unknown(analysis: Analysis, told: Lengths) -> list[str]:
    parts = (
        ("Break-even", told.break_even_tokens, "/lengths/break_even_tokens"),
        ("Critical length", told.critical_tokens, "/lengths/critical_tokens"),
    )
    missing = [(name, analysis.reason(path)) for name, value, path in parts if value is None]
    return [f"{name} unknown: {why.message}{f' ({why.fix})' if why.fix else ''}." for name, why in missing if why]
