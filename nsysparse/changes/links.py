"""Which links changed: each link's rate against its references, those of single movements, then what moved most."""

from nsysparse.changes.rows import TONES, moved_table
from nsysparse.changes.spreads import spread_rows
from nsysparse.compare.wording import percent, relative
from nsysparse.comparison import Comparison, LinkPair, LinkRate
from nsysparse.document import Abstention, Block, Heading, Paragraph, Range, RangeRow, Ranges, Tone
from nsysparse.units import counted, human_rate

MOST_LINKS = 24
MOST_ROWS = 100
_RATES = ("wire_gb_s", "kernel_gb_s")


def build(comparison: Comparison) -> list[Block]:
    """Rates of the links with most bytes, then the table."""
    heading = Heading("Links", "diff-links")
    pairs = comparison.link_pairs
    if not pairs:
        return [heading, Abstention("Links", "No link carried anything in either run.")]
    verdicts = {each.subject: each.verdict for each in comparison.links if each.metric == "headline_gb_s"}
    shown = pairs[:MOST_LINKS]
    more = len(pairs) - len(shown)
    figure = Ranges(
        "Rate of each link",
        "GB/s",
        [_row(pair, TONES.get(verdicts.get(pair.link, ""), "plain")) for pair in shown],
        "diff-links-chart",
        meaning="wire",
        dropped=f"{counted(more, 'more link')}, with fewer bytes." if more else "",
    )
    blocks: list[Block] = [heading, figure, *_movements(comparison)]
    if comparison.links:
        return [*blocks, moved_table("What moved, by link", comparison.links, "diff-links-table", MOST_ROWS, "Link")]
    return [*blocks, Paragraph(f"No link changed: {counted(comparison.compared.links, 'value')} compared.")]


def _row(pair: LinkPair, tone: Tone) -> RangeRow:
    ours, theirs = (each.headline_gb_s if each else None for each in (pair.base, pair.candidate))
    known = pair.candidate or pair.base
    return RangeRow(
        pair.link,
        _range(pair.base),
        _range(pair.candidate),
        percent(relative(ours, theirs)),
        tone,
        line_rate=known.peak_gb_s if known else None,
        practical=known.practical_gb_s if known else None,
    )


def _range(rate: LinkRate | None) -> Range | None:
    if rate is None or rate.headline_gb_s is None:
        return None
    bound = "\u2265 " if rate.headline_is_bound else ""
    text = f"{bound}{human_rate(rate.headline_gb_s)}"
    return Range(rate.headline_gb_s, text, is_bound=bool(rate.headline_is_bound))


def _movements(comparison: Comparison) -> list[Block]:
    """How the rates of single movements lie, of all links together."""
    rows = spread_rows(comparison, _RATES)
    if not rows:
        return []
    return [Ranges("Rates of single movements, all links", "GB/s", rows, "diff-rates-chart", meaning="wire")]
