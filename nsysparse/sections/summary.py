"""What somebody at a terminal reads: the verdict and its main figures on one screen; the page has the rest."""

from collections.abc import Sequence

from nsysparse.analysis import Analysis, Finding
from nsysparse.document import Block, Cell, Column, Facts, Heading, Paragraph, Table
from nsysparse.sections import summary_path, summary_rest, verdict
from nsysparse.sections.cells import NOT_KNOWN, names, rates, shares, table, texts
from nsysparse.sections.transports import several
from nsysparse.units import counted, significant, time_scale

MOST_LINKS = 4
MOST_FINDINGS = 5


def build(analysis: Analysis) -> list[Block]:
    """Verdict, way to the first token, links, findings, single figures, what is unknown, warnings."""
    blocks = [*verdict.build(analysis), *summary_path.build(analysis), *_links(analysis)]
    blocks += _findings(analysis.findings)
    if others := summary_rest.facts(analysis):
        blocks += [Heading("Also", "also"), Facts(others)]
    return [*blocks, *summary_rest.unknown(analysis), *summary_rest.warned(analysis)]


def _links(analysis: Analysis) -> list[Block]:
    links = analysis.links
    if not links:
        return []
    shown = sorted(links, key=lambda link: (-(link.bytes or 0), link.link_key, link.transport))[:MOST_LINKS]
    observed = [link.headline_gb_s for link in shown]
    line, ceiling = [link.peak_gb_s for link in shown], [link.practical_gb_s for link in shown]
    beside = [*observed, *line, *ceiling]
    bounds = [bool(link.headline_is_bound) for link in shown]
    columns = [
        names("", [_end(link.src, analysis) for link in shown]),
        names("to", [_end(link.dst, analysis) for link in shown]),
        *([texts("", [link.transport for link in shown])] if several(shown) else []),
        rates("observed", observed, bounds=bounds, beside=beside),
        rates("line rate", line, beside=beside),
        rates("ceiling", ceiling, beside=beside),
        shares("of line rate", [link.efficiency for link in shown], bounds=bounds),
    ]
    more = len(links) - len(shown)
    dropped = f"{counted(more, 'more link')}, with fewer bytes." if more else ""
    return [Heading("Links", "links"), table("Links", columns, "summary-links", dropped=dropped)]


def _end(end: str, analysis: Analysis) -> str:
    """An end of a link; of one file without its name."""
    only = analysis.traces[0].trace_id if len(analysis.traces) == 1 else ""
    return end.removeprefix(f"{only}:") if only else end


def _findings(findings: Sequence[Finding]) -> list[Block]:
    if not findings:
        return []
    shown = findings[:MOST_FINDINGS]
    scale = time_scale([finding.cost_ns for finding in shown])
    costs = [None if each.cost_ns is None else each.cost_ns / scale.per_unit for each in shown]
    said = [NOT_KNOWN if cost is None else Cell(significant(cost)) for cost in costs]
    rows = [
        [Cell(f"{place}."), Cell(finding.title), cost]
        for place, (finding, cost) in enumerate(zip(shown, said, strict=True), 1)
    ]
    columns = [Column("", "right"), Column(""), Column(f"{scale.unit} in all", "right")]
    more = len(findings) - len(shown)
    dropped = f"{counted(more, 'more finding')}." if more else ""
    return [
        Heading("Findings", "findings"),
        Table("Findings", columns, rows, "summary-findings", dropped),
        Paragraph(f"For 1: {shown[0].advice}"),
    ]
