"""Rate against message size: whether messages are too small for their link, and what each costs whatever its size."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from nsysparse.analysis import Analysis, Distribution, Link, MessageSize
from nsysparse.document import Abstention, Block, Fit, Heading, Paragraph, RateBySize, SizeRate, SizeSeries, Spread
from nsysparse.kinds import NCCL
from nsysparse.sections.absence import abstention
from nsysparse.sections.cells import names, numbers, rates, sizes, table, texts
from nsysparse.sections.links import percentiles
from nsysparse.sections.transports import several
from nsysparse.units import counted, human_bytes, human_ns, human_rate

MOST_SIZES = 100
MOST_SERIES = 6
"""In one chart; more cannot be told apart."""
MOST_CHARTS = 4
MOST_POINTS = 200

_NONE = Abstention("Message size", "No message has both a known size and a rate.")
_FEWEST_SIZES = 2
"""Fewer make no curve."""


def build(analysis: Analysis) -> list[Block]:
    """A chart for each pair of references, with a curve per link, then the table."""
    heading = Heading("Rate against message size", "sizes")
    every = analysis.message_sizes
    if not every:
        return [heading, abstention(analysis, "Message size", "/message_sizes", _NONE)]
    charts = _charts(analysis)
    lead = Paragraph(
        "Dots: p50 of the messages of a size whose rate is known, whiskers: p10 to p90. Hollow: lower bounds, waiting"
        " included.",
        "muted",
    )
    shown: list[Block] = [lead, *charts] if charts else []
    return [heading, *shown, _table(analysis)]


def _charts(analysis: Analysis) -> list[RateBySize]:
    links = {(link.link_key, link.transport): link for link in analysis.links}
    by_link: dict[tuple[str, str], list[SizeRate]] = {}
    for size in analysis.message_sizes:
        if (point := _point(size)) is not None:
            by_link.setdefault((size.link_key, size.transport), []).append(point)
    grouped: dict[tuple[object, ...], list[Link]] = {}
    for key, points in by_link.items():
        if key in links and len(points) >= _FEWEST_SIZES:
            link = links[key]
            grouped.setdefault((link.peak_gb_s, link.practical_gb_s, link.practical_curve), []).append(link)
    # Links that cannot share an axis have one each; those with the most bytes come first.
    groups = sorted((_most_bytes_first(group) for group in grouped.values()), key=_bytes_first)
    shown = groups[:MOST_CHARTS]
    charts = [_chart(analysis, group, by_link) for group in shown]
    if len(groups) > 1:
        charts = [
            replace(chart, caption=f"{chart.caption}, {group[0].link_name or group[0].transport}")
            for chart, group in zip(charts, shown, strict=True)
        ]
    charts = [
        replace(chart, anchor=f"{chart.anchor}-{place}" if place else chart.anchor)
        for place, chart in enumerate(charts)
    ]
    if more := len(groups) - len(shown):
        said = f"{counted(more, 'more chart')} of links with other references and fewer bytes: see the table."
        charts[-1] = replace(charts[-1], dropped=" ".join(part for part in (charts[-1].dropped, said) if part))
    return charts


def _most_bytes_first(links: Sequence[Link]) -> list[Link]:
    return sorted(links, key=lambda link: (-(link.bytes or 0), link.link_key, link.transport))


def _bytes_first(group: Sequence[Link]) -> tuple[int, str, str]:
    return -sum(link.bytes or 0 for link in group), group[0].link_key, group[0].transport


def _chart(
    analysis: Analysis, ordered: Sequence[Link], by_link: Mapping[tuple[str, str], Sequence[SizeRate]]
) -> RateBySize:
    """The curves of links that share both references."""
    shown = ordered[:MOST_SERIES]
    named = several(analysis.links)
    points = [by_link[link.link_key, link.transport] for link in shown]
    series = [
        SizeSeries(
            f"{link.transport} · {link.src} → {link.dst}" if named else f"{link.src} → {link.dst}",
            _heaviest(of_link),
            _fit(link),
        )
        for link, of_link in zip(shown, points, strict=True)
    ]
    dropped = []
    if len(shown) < len(ordered):
        dropped.append(f"The {len(shown)} links with the most bytes of {len(ordered):,}; the table has others.")
    if most := max((len(each) for each in points if len(each) > MOST_POINTS), default=0):
        dropped.append(
            f"Of a link at most the {MOST_POINTS} sizes with the most bytes, of up to {most:,}; JSON has all."
        )
    return RateBySize(
        "Rate by message size",
        series,
        shown[0].peak_gb_s,
        shown[0].practical_gb_s,
        "sizes-chart",
        " ".join(part for part in (_note(shown), _ceiling(shown[0])) if part),
        " ".join(dropped),
        [(each.bytes, each.gb_s) for each in shown[0].practical_curve],
    )


def _ceiling(link: Link) -> str:
    if not link.practical_curve:
        return ""
    return f"Dashed curve: what messages of each size reach ({link.practical_source})."


def _heaviest(points: Sequence[SizeRate]) -> list[SizeRate]:
    """The sizes that carried the most bytes, at most `MOST_POINTS`, from small to large."""
    chosen = sorted(points, key=lambda point: (-point.size * point.count, point.size))[:MOST_POINTS]
    return sorted(chosen, key=lambda point: point.size)


def _note(links: Sequence[Link]) -> str:
    """What a message costs before its first byte, and from which size on it reaches half the rate."""
    told = [link for link in links if link.fixed_cost_ns is not None and link.fitted_gb_s is not None]
    if not told:
        return (
            "No line through these sizes tells a fixed cost per message: it takes three sizes or more that lie on one."
        )
    parts = []
    for link in told:
        half = (link.fixed_cost_ns or 0) * (link.fitted_gb_s or 0)  # GB/s is bytes per ns
        of = f"{link.src} → {link.dst}: " if len(told) > 1 else ""
        parts.append(
            f"{of}{human_ns(link.fixed_cost_ns)} per message + bytes ÷ {human_rate(link.fitted_gb_s)}: half that rate"
            f" at {human_bytes(round(half))}"
        )
    fitted = f"Fitted: {'; '.join(parts)}."
    if not any(link.transport == NCCL for link in told):
        return fitted
    return (
        f"{fitted} The line goes through times as they are; NCCL's rates of single messages allow for 30 µs between the"
        " clocks of two devices, so small messages lie below it."
    )


def _fit(link: Link) -> Fit | None:
    if link.fixed_cost_ns is None or link.fitted_gb_s is None:
        return None
    return Fit(
        link.fixed_cost_ns, link.fitted_gb_s, f"{human_ns(link.fixed_cost_ns)} + bytes ÷ {human_rate(link.fitted_gb_s)}"
    )


def _point(size: MessageSize) -> SizeRate | None:
    for spread, is_bound in ((size.wire_gb_s, False), (size.kernel_gb_s, True)):
        if spread is not None and (told := _spread(spread)) is not None and size.bytes:
            return SizeRate(size.bytes, spread.count, told, is_bound)
    return None


def _spread(spread: Distribution | None) -> Spread | None:
    if spread is None or spread.p50 is None:
        return None
    return Spread(spread.p50 if spread.p10 is None else spread.p10, spread.p50, spread.p90 or spread.p50)


def _table(analysis: Analysis) -> Block:
    every = analysis.message_sizes
    # The sizes that carried the most bytes say most about the link.
    chosen = sorted(every, key=lambda size: (-size.bytes * size.count, size.link_key, size.transport, size.bytes))[
        :MOST_SIZES
    ]
    shown = sorted(chosen, key=lambda size: (size.link_key, size.transport, size.bytes))
    columns = [
        names("Link", [size.link_key for size in shown]),
        *([texts("Transport", [size.transport for size in shown])] if several(analysis.links) else []),
        sizes("Message size", [size.bytes for size in shown]),
        numbers("Count", [size.count for size in shown]),
        *percentiles([size.wire_gb_s for size in shown], term="wire"),
        rates(
            "Kernel p50",
            [None if each is None else each.p50 for each in (size.kernel_gb_s for size in shown)],
            term="headline",
            bounds=[True] * len(shown),
        ),
    ]
    dropped = ""
    if len(shown) < len(every):
        dropped = (
            f"The {counted(len(shown), 'size')} with the most bytes of {len(every):,}; the JSON report has the others."
        )
    return table("Rates of each message size", columns, "message-sizes", dropped=dropped, folded=True)
