"""The one sentence that stands first, true whatever is known, and the detail behind it."""

from collections.abc import Sequence
from dataclasses import replace

from nsysparse.analysis import ADVICE, Excluded, Link, Totals, TraceFacts, Verdict
from nsysparse.metrics.moved import moved
from nsysparse.metrics.sought import nothing
from nsysparse.units import capitalised


def verdict(
    gap: Verdict,
    totals: Totals,
    links: Sequence[Link],
    excluded: Sequence[Excluded],
    traces: Sequence[TraceFacts],
    part: str = "",
) -> Verdict:
    """The run's verdict in one sentence: the gap's share, how fast its link was, what most of the gap is made of.

    What is not known is left out or says why. Where something would change that, it follows `ADVICE`.

    Args:
        gap: From `gap_verdict`, its text a clause.
        totals: Of the run.
        links: Likewise.
        excluded: What is not counted.
        traces: Facts about the inputs.
        part: From `largest_part`.
    """
    found = moved(totals, links, traces) if totals.transfer_count else nothing(excluded, traces)
    clauses = [gap.text, found.clause, part] if found.has_rate else [gap.text, part, found.clause]
    if gap.value is None and not totals.transfer_count:
        clauses = [found.clause]  # nothing moved, so nothing else has to explain the gap
    sentence = "; ".join(clause for clause in clauses if clause)
    return replace(
        gap,
        text=f"{capitalised(sentence)}." + (f"{ADVICE}{found.advice}" if found.advice else ""),
        detail=" ".join(each for each in (gap.detail, found.detail) if each),
    )
