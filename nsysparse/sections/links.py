"""Observed against theoretical throughput, link by link, with both references and their sources."""

from collections.abc import Mapping, Sequence

from nsysparse.analysis import Analysis, Distribution, Link
from nsysparse.document import Abstention, Bar, BarChart, Block, Heading, Paragraph, Spread, Table
from nsysparse.kinds import COPIES, HOST, HOST_STAGED, NCCL, TWO_SIDED
from nsysparse.sections.absence import abstention
from nsysparse.sections.cells import Filled, names, numbers, rates, shares, sizes, table, texts, times
from nsysparse.sections.transports import bounds, several, wire_interval
from nsysparse.units import UNKNOWN, counted, human_bytes, human_rate, human_share, time_scale

MOST_BARS = 24
# A rate over less of a link's bytes says so.
MOST_OF_IT = 0.995

RATES: Mapping[str, str] = {"wire": "Wire rate", "delivered": "Delivered rate", "kernel": "Rate over whole kernels"}
"""What a headline rate is called, by its basis."""

_NONE = Abstention("Throughput", "No link carried a KV transfer that was recorded.")

_OPTIONS = {"box": "--box", "link": "--link", "peak_gb_s": "--peak"}
_NOT_NAMED = "No line rate to compare with is named: pass --link, --box or --peak."

_BASIS = {"delivered": "bursts, gaps and waiting included", "kernel": "whole kernels, waiting included"}
"""What a rate that contains waiting is over."""


def build(analysis: Analysis) -> list[Block]:
    """Bars against line rate and practical ceiling, then the same as a table with expected times."""
    heading = Heading("Observed against theory", "links")
    links = analysis.links
    if not links:
        return [heading, abstention(analysis, "Throughput", "/links", _NONE)]
    option = _option(analysis)
    blocks: list[Block] = [heading, Paragraph(_lead(links), "muted"), _chart(links, option)]
    blocks += _remarks(links)
    blocks += [_table(links, option), _basis(links)]
    if critical := _critical(analysis):
        blocks.insert(-1, critical)
    blocks += [each for each in (_others(links), _ports(analysis)) if each]
    return blocks


def is_bound(link: Link) -> bool:
    """Whether the link's headline rate is a mere lower bound: it contains waiting, or allows for what was buffered."""
    return bool(link.headline_is_bound)


def _bound(text: str, link: Link) -> str:
    return f"≥ {text}" if is_bound(link) else text


def _lead(links: Sequence[Link]) -> str:
    text = "Headline rate per link, one direction, GB = 10⁹ bytes. Whiskers: p10 to p90 of single transfers."
    lower = [link for link in links if is_bound(link)]
    return f"{text} “≥” marks lower bounds: {bounds(lower)}." if lower else text


def _option(analysis: Analysis) -> str:
    """The option by which a peak was named; empty without one."""
    settings = analysis.settings
    named = (option for name, option in _OPTIONS.items() if name in settings and settings[name].value is not None)
    return next(named, "")


def _ends_at_host(link: Link) -> bool:
    return HOST in (link.src, link.dst)


def _no_peak(option: str) -> str:
    return f"no peak: {option} names the wire between GPUs"


def _chart(links: Sequence[Link], option: str) -> BarChart:
    shown = sorted(links, key=lambda link: (-(link.bytes or 0), link.link_key))[:MOST_BARS]
    named = several(links)
    dropped = ""
    if len(shown) < len(links):
        dropped = f"The {len(shown)} links with the most bytes of {len(links):,}; the table has the others."
    return BarChart(
        "Throughput per link",
        "GB/s",
        [_bar(link, option, named=named) for link in shown],
        "links-chart",
        _sources(shown) or ("" if option or not any(link.headline_gb_s for link in shown) else _NOT_NAMED),
        dropped,
    )


def _bar(link: Link, option: str, *, named: bool) -> Bar:
    observed = _bound(human_rate(link.headline_gb_s), link) if link.headline_gb_s is not None else UNKNOWN
    moved = human_bytes(link.bytes) if link.bytes is not None else "size unknown"
    count = counted(link.movement_count, "movement")
    detail = f"{count} · {moved}" if named else f"{link.transport} · {count} · {moved}"
    ends = f"{link.src} → {link.dst}"
    label = f"{link.transport} · {ends}" if named else ends
    return Bar(
        label,
        link.headline_gb_s,
        observed,
        link.peak_gb_s,
        link.practical_gb_s,
        is_bound(link),
        _spread(link),
        detail,
        _against(link, option),
    )


def _against(link: Link, option: str) -> str:
    """How the rate stands against the references; empty where none is named."""
    rate = link.headline_gb_s
    if rate is None:
        return "rate unknown"
    references = ((link.peak_gb_s, "line rate"), (link.practical_gb_s, "ceiling"))
    held = [_bound(f"{human_share(rate / value)} of {name}", link) for value, name in references if value]
    return " · ".join(held) or (_no_peak(option) if option and _ends_at_host(link) else "")


def _spread(link: Link) -> Spread | None:
    """Percentiles of single transfers, only where they measure the same thing as the headline."""
    rates = {"wire": link.wire_gb_s, "kernel": link.kernel_gb_s}.get(link.headline_basis or "")
    if rates is None or rates.p10 is None or rates.p50 is None or rates.p90 is None:
        return None
    return Spread(rates.p10, rates.p50, rates.p90)


def _sources(links: Sequence[Link]) -> str:
    peaks = sorted({f"{link.link_name}, {link.peak_source}" for link in links if link.peak_source})
    ceilings = sorted({link.practical_source for link in links if link.practical_source})
    parts = []
    if peaks:
        parts.append(f"Line rate: {'; '.join(peaks)}.")
    if ceilings:
        parts.append(f"Practical ceiling: {'; '.join(ceilings)}.")
    return " ".join(parts)


def _remarks(links: Sequence[Link]) -> list[Block]:
    remarks: list[Block] = []
    copied = sum(link.inconsistent_count for link in links if link.transport in COPIES)
    inconsistent = sum(link.inconsistent_count for link in links) - copied
    if inconsistent:
        remarks.append(
            Paragraph(
                f"{counted(inconsistent, 'transfer')} came out above the physical peak of the link: bytes, match or "
                "link must be wrong. They are reported as inconsistent, not as records.",
                "doubt",
            )
        )
    if copied:
        remarks.append(
            Paragraph(
                f"{counted(copied, 'copy', 'copies')} came out above the peak of the link that was named. Size and time"
                " of a copy are the driver's own, so it went another way: name that link to compare it.",
                "doubt",
            )
        )
    if any(link.bytes is None for link in links):
        remarks.append(Paragraph("Where the sizes are unknown, no rate and no expected time can be given.", "muted"))
    return remarks


def _table(links: Sequence[Link], option: str) -> Table:
    expected = [(link.theoretical_ns, link.practical_ns, link.observed_ns) for link in links]
    scale = time_scale(value for row in expected for value in row)
    lower = [is_bound(link) for link in links]
    peaked = [not (option and _ends_at_host(link)) for link in links]
    columns = [
        names("Link", [link.link_key for link in links]),
        *_transports(links),
        sizes("Bytes", [link.bytes for link in links], term="movement"),
        rates("Rate", [link.headline_gb_s for link in links], term="headline", bounds=lower),
        rates("Ceiling", [link.practical_gb_s for link in links], term="ceiling", minor=True).applying(peaked),
        rates("Line rate", [link.peak_gb_s for link in links], term="line-rate", minor=True).applying(peaked),
        shares("Of line rate", [link.efficiency for link in links], term="headline", bounds=lower).applying(peaked),
        times("Observed", [link.observed_ns for link in links], scale, term="busy"),
        times("At ceiling", [link.practical_ns for link in links], scale, term="ceiling").applying(peaked),
        times("At line rate", [link.theoretical_ns for link in links], scale, term="line-rate").applying(peaked),
    ]
    note = "" if all(peaked) else f"Links to and from the host have {_no_peak(option)}."
    return table("Links: observed beside expected", columns, "links-table", dropped=note, folded=True)


def _critical(analysis: Analysis) -> Paragraph | None:
    """Up to which length a request crosses within a decode step, where a model and a peak say it.

    Where this run's own steps are known, the section about lengths says it by them.
    """
    if analysis.lengths is not None and analysis.lengths.critical_tokens is not None:
        return None
    known = {f"{each.critical_tokens['low']:,.0f} to {each.critical_tokens['high']:,.0f}": None
             for each in analysis.theory.by_link if each.critical_tokens}  # fmt: skip
    band = analysis.settings["step_ms"].value if "step_ms" in analysis.settings else None
    if not known or not isinstance(band, list):
        return None
    low, high = (f"{each:g}" for each in band)
    return Paragraph(
        f"At line rate a request of up to {' or '.join(known)} tokens crosses within one decode step of {low} to {high}"
        " ms (--step-ms).",
        "muted",
    )


def _basis(links: Sequence[Link]) -> Table:
    """What the rates rest on; it backs up the table above."""
    spreads = [_spread(link) for link in links]
    lower = [is_bound(link) for link in links]
    pairs = [link.transport in TWO_SIDED for link in links]
    columns = [
        names("Link", [link.link_key for link in links]),
        texts("Transport", [link.transport for link in links]),
        texts("Paired by", [link.pairing for link in links]).applying(pairs),
        numbers("Movements", [link.movement_count for link in links], term="movement"),
        texts("Rate is over", [_over(link) for link in links], term="headline"),
        *percentiles(spreads, bounds=lower),
    ]
    return table("What the rates rest on", columns, "links-basis", folded=True)


def percentiles(
    spreads: Sequence[Spread | Distribution | None], *, term: str = "", bounds: Sequence[bool] = ()
) -> list[Filled]:
    """Three columns that compare along their rows as well."""
    marks = {name: [getattr(spread, name, None) for spread in spreads] for name in ("p10", "p50", "p90")}
    every = [value for values in marks.values() for value in values]
    return [rates(name, values, term=term, bounds=bounds, beside=every) for name, values in marks.items()]


def _others(links: Sequence[Link]) -> Table | None:
    """Rates by other questions than the headline's; None where there is none."""
    fixed = [link.fixed_cost_ns for link in links]
    told = [
        rates("Delivered", [link.delivered_gb_s for link in links], bounds=[True] * len(links), term="delivered"),
        rates("Bytes over busy", [link.link_gb_s for link in links], term="busy"),
        times("Fixed cost", fixed, time_scale(fixed), term="fixed-cost"),
        rates("Fitted rate", [link.fitted_gb_s for link in links], term="fixed-cost"),
    ]
    if all(each.is_unknown for each in told):
        return None
    keys = names("Link", [link.link_key for link in links])
    return table("Other rates", [keys, *_transports(links), *told], "links-others", folded=True)


def _transports(links: Sequence[Link]) -> list[Filled]:
    return [texts("Transport", [link.transport for link in links])] if several(links) else []


def _over(link: Link) -> str | None:
    if link.headline_basis is None:
        return None
    over = _BASIS.get(link.headline_basis) or wire_interval(link.transport)
    if link.headline_basis == "wire" and link.transport == NCCL:
        over += ", the receiver first" if not is_bound(link) else ", or from the send's start on"
    if link.headline_basis == "wire" and link.transport == HOST_STAGED and is_bound(link):
        over += ", pauses included"
    share = link.headline_bytes_share
    return over if share is None or share > MOST_OF_IT else f"{over} ({human_share(share)} of the bytes)"


def _ports(analysis: Analysis) -> Table | None:
    ports = analysis.ports
    if not ports:
        return None
    busy = [port.busy_ns for port in ports]
    columns = [
        names("Device", [f"{port.trace_id}:{port.gpu}" for port in ports], term="port"),
        texts("Direction", [port.direction for port in ports]),
        sizes("Bytes", [port.bytes for port in ports]),
        times("Busy", busy, time_scale(busy)),
        rates("Peak", [port.peak_gb_s for port in ports], term="line-rate"),
        texts("Note", [port.note or "" for port in ports], minor=True),
    ]
    return table("Ports: each device's way out and in", columns, "ports", folded=True)
