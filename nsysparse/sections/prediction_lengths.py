"""How long requests are, and for which share of them each link is fast enough."""

from nsysparse.document import Block, Heading, Paragraph
from nsysparse.prediction import Lengths, Prediction, Steps
from nsysparse.sections.cells import Filled, names, numbers, shares, table, texts
from nsysparse.sections.prediction_times import shown_link, step_text
from nsysparse.units import counted, fixed, human_ns


def lengths_blocks(prediction: Prediction) -> list[Block]:
    """Shares by link, then the histogram; nothing where no lengths were given."""
    told = prediction.lengths
    if told is None:
        return []
    unknown = f"; {counted(told.unknown_count, 'more')} without a length" if told.unknown_count else ""
    middle = ", ".join(
        f"{name} {fixed(value, 0)}" for name, value in (("p50", told.p50), ("p90", told.p90), ("p99", told.p99))
    )
    return [
        Heading("Requests", "requests"),
        Paragraph(f"{counted(told.total, 'request')} ({told.source}): {middle} tokens{unknown}."),
        _by_link(prediction, told),
        Paragraph("Shares are at line rate."),
        *_meaning(prediction),
        _histogram(told),
    ]


def _by_link(prediction: Prediction, told: Lengths) -> Block:
    step, links = prediction.step_ns, told.by_link
    columns = [names("Link", [shown_link(each.link) for each in links])]
    if prediction.fixed_cost_ns is not None:
        columns.append(
            shares("Below the fixed cost", [each.below_fixed_cost_share for each in links], term="fixed-cost-length")
        )
    columns.append(_above(step.high, [each.above_critical_share.low for each in links]))
    if step.low != step.high:
        columns.append(_above(step.low, [each.above_critical_share.high for each in links]))
    if prediction.benefit_ns is not None:
        columns.append(shares("Pays", [each.pays_share for each in links]))
    return table("Shares of requests", columns, "shares-table")


def _above(step_ns: int, values: list[float | None]) -> Filled:
    return shares(f"Longer than {step_text(Steps(step_ns, step_ns))}", values, term="critical-length")


def _meaning(prediction: Prediction) -> list[Block]:
    if prediction.benefit_ns is None:
        return []
    what = "takes" if prediction.fixed_cost_ns is None else "and its fixed cost take"
    text = f"It pays where the transfer {what} less than the {human_ns(prediction.benefit_ns)} that it gains."
    return [Paragraph(text)]


def _histogram(told: Lengths) -> Block:
    ranges = [f"{low:,} to {high - 1:,}" if high - low > 1 else f"{low:,}" for low, high in _pairs(told)]
    columns = [
        texts("Tokens", ranges),
        numbers("Requests", list(told.counts)),
        shares("Share", [count / told.total for count in told.counts]),
    ]
    return table("Requests by length", columns, "lengths-table")


def _pairs(told: Lengths) -> list[tuple[int, int]]:
    return list(zip(told.edges, told.edges[1:], strict=False))
