"""How long a predicted transfer takes over each link, and up to which length that is less than a decode step."""

from collections.abc import Sequence

from nsysparse.document import Block, Heading, Paragraph
from nsysparse.prediction import Prediction, Row, Steps
from nsysparse.sections.cells import Filled, names, numbers, rates, sizes, table, texts, times
from nsysparse.units import counted, fixed, human_ns, time_scale

GIVEN = "--peak"
_NS_PER_MS = 1e6


def shown_link(link: str | None) -> str:
    """What a table calls the link; one that was given as a bare rate is called by the option."""
    return link or GIVEN


def step_text(step: Steps) -> str:
    """The decode step or its band, in milliseconds as they were written."""
    low, high = (f"{each / _NS_PER_MS:.6f}".rstrip("0").rstrip(".") for each in (step.low, step.high))
    return f"{low} ms" if low == high else f"{low} to {high} ms"


def times_blocks(prediction: Prediction) -> list[Block]:
    """A row per link, batch and length."""
    rows, step = prediction.rows, prediction.step_ns
    scale = time_scale([each for row in rows for each in (row.line_rate_ns, row.practical_ns)])
    many = any(row.link_bytes != row.bytes for row in rows)
    columns = [
        names("Link", [shown_link(row.link) for row in rows]),
        rates("Peak", [row.peak_gb_s for row in rows], term="line-rate"),
        numbers("Batch", [row.batch for row in rows]),
        numbers("Tokens", [row.tokens for row in rows]),
        sizes("Crosses", [row.bytes for row in rows]),
        *([sizes("On a link", [row.link_bytes for row in rows])] if many else []),
        times("At line rate", [row.line_rate_ns for row in rows], scale, term="line-rate"),
        times("In practice", [row.practical_ns for row in rows], scale, term="line-rate"),
        *_steps(rows, step),
    ]
    if prediction.layer_ns is not None:
        columns.append(times("Exposed", [row.exposed_ns for row in rows], scale, term="exposed"))
    heading = Heading("Times", "times")
    blocks: list[Block] = [heading, *_side_by_side(prediction), *_pipelined(prediction)]
    if any(row.link and row.link.endswith("@bidirectional") for row in rows):
        text = "What ends in @bidirectional adds both directions, as vendors do. A transfer uses only one."
        blocks.append(Paragraph(text))
    sources = "; ".join(dict.fromkeys(f"{shown_link(row.link)}: {row.practical_source or 'unknown'}" for row in rows))
    return [*blocks, table("Times", columns, "times-table"), Paragraph(f"In practice, by link: {sources}.", "muted")]


def _steps(rows: Sequence[Row], step: Steps) -> list[Filled]:
    """Decode steps that a transfer takes, of the longest and of the shortest."""
    low, high = [row.steps.low for row in rows], [row.steps.high for row in rows]
    if step.low == step.high:
        return [numbers(f"Steps of {step_text(step)}", low, term="steps")]
    ends = (step_text(Steps(each, each)) for each in (step.high, step.low))
    return [
        numbers(f"Steps of {end}", values, term="steps", beside=[*low, *high])
        for end, values in zip(ends, (low, high), strict=True)
    ]


def _side_by_side(prediction: Prediction) -> list[Block]:
    ranks = prediction.tp * prediction.pp
    if ranks == 1 and prediction.nics == 1:
        return []
    first = prediction.rows[0]
    if ranks > 1 and first.bytes == first.rank_bytes:
        return [Paragraph("One rank sends what all of them hold alike, over one link (--mla says otherwise).")]
    if prediction.nics == ranks:
        text = f"Every rank that sends has a link of its own, {ranks:,} side by side"
    else:
        by = f"{counted(ranks, 'rank')} send{'s' if ranks == 1 else ''}"
        text = f"What {by} is divided among {counted(prediction.nics, 'link')}"
    return [Paragraph(f"{text}: times are of the busiest.")]


def _pipelined(prediction: Prediction) -> list[Block]:
    if prediction.layer_ns is None:
        return []
    cost = ""
    if prediction.fixed_cost_ns is not None:
        cost = f", and {human_ns(prediction.fixed_cost_ns)} for each transfer beside its bytes"
    text = (
        f"Each of {counted(prediction.layer_count, 'layer')} is sent as soon as it is computed: "
        f"{human_ns(prediction.layer_ns)} a layer in every row{cost}. Layers are taken to be of one size."
    )
    return [Paragraph(text)]


def critical_blocks(prediction: Prediction) -> list[Block]:
    """Per link, the lengths of which one request crosses within a decode step."""
    firsts = {row.link: row for row in reversed(prediction.rows)}
    rows = [firsts[link] for link in dict.fromkeys(row.link for row in prediction.rows)]
    step = prediction.step_ns
    columns = [
        names("Link", [shown_link(row.link) for row in rows]),
        texts(
            "At line rate, tokens",
            [_span(row.critical_tokens.low, row.critical_tokens.high) for row in rows],
            term="critical-length",
        ),
        texts(
            "In practice, tokens",
            [
                None
                if row.practical_gb_s is None
                else _span(row.practical_critical_tokens.low, row.practical_critical_tokens.high)
                for row in rows
            ],
        ),
    ]
    if prediction.fixed_cost_ns is not None:
        below = [_span(row.fixed_cost_tokens, row.fixed_cost_tokens) for row in rows]
        columns.append(texts("Cost dominates below, tokens", below, term="fixed-cost-length"))
    blocks: list[Block] = [
        Heading("Critical length", "critical-length"),
        Paragraph(f"Up to which length one request crosses within one decode step of {step_text(step)}."),
        table("By link", columns, "critical-table"),
    ]
    why = [
        reason.message
        for reason in prediction.reasons
        if reason.path.startswith("/rows/") and reason.code in ("state-exceeds", "token-exceeds", "never-reached")
    ]
    blocks += [Paragraph(text) for text in dict.fromkeys(why)]
    return blocks


def _span(low: int | None, high: int | None) -> str:
    if low is None and high is None:
        return "none"
    ends = ["none" if each is None else fixed(each, 0) for each in (low, high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
