"""What requests saw: the parts of the KV gap in both runs on one axis, then requests that moved most."""

from nsysparse.analysis import Distribution
from nsysparse.compare.matching import BY_ID, BY_LENGTH
from nsysparse.compare.measures import TITLES
from nsysparse.compare.wording import amount, percent, relative
from nsysparse.comparison import Change, Comparison, Spread
from nsysparse.document import Abstention, Block, CellKind, Heading, Paragraph, Range, RangeRow, Ranges
from nsysparse.sections.changes.rows import TONES, moved_table
from nsysparse.units import counted

MOST_ROWS = 100
_TIMES = ("kv_gap_ms", "exposed_to_request_ms", "transfer_span_ms", "ready_to_decode_ms", "ttft_ms")
_SUBJECTS = {BY_ID: "Request", BY_LENGTH: "Prompts"}


def build(comparison: Comparison) -> list[Block]:
    """Distributions of times per request, how requests were matched, and what moved."""
    heading = Heading("Requests", "diff-requests")
    found = comparison.requests
    spreads = {each.metric: each for each in comparison.spreads}
    rows = [_row(spreads[name], _change(comparison, name)) for name in _TIMES if name in spreads]
    if not rows and not found.rows:
        return [heading, Abstention("Requests", f"Nothing to compare: {found.note}.")]
    blocks: list[Block] = [heading, Paragraph(_lead(comparison), "muted")]
    if rows:
        blocks.append(
            Ranges(
                "Times of requests",
                "ms",
                rows,
                "diff-requests-chart",
                note="Median, and a line from the 10th to the 90th percentile.",
            )
        )
    if found.rows:
        subject = _SUBJECTS.get(found.matched_by, "Request")
        kind: CellKind = "name" if found.matched_by == BY_ID else "words"
        blocks.append(
            moved_table("What moved, by request", found.rows, "diff-requests-table", MOST_ROWS, subject, kind)
        )
    return blocks


def _lead(comparison: Comparison) -> str:
    found = comparison.requests
    counts = f"{counted(found.base_count, 'request')} in base, {found.candidate_count:,} in the candidate"
    if found.matched_by == BY_ID:
        return f"{counts}; {found.matched_count:,} compared by id. One request is one observation, so none decides."
    return f"{counts}: {found.note}."


def _change(comparison: Comparison, name: str) -> Change | None:
    return next((each for each in comparison.metrics if each.metric == f"{name}.p50"), None)


def _row(spread: Spread, change: Change | None) -> RangeRow:
    ours, theirs = (_range(each, spread.unit) for each in (spread.base, spread.candidate))
    by = relative(ours.p50 if ours else None, theirs.p50 if theirs else None)
    tone = TONES[change.verdict] if change else "plain"
    return RangeRow(TITLES[spread.metric], ours, theirs, percent(by), tone)


def _range(found: Distribution | None, unit: str) -> Range | None:
    if found is None or found.p50 is None:
        return None
    return Range(found.p50, amount(found.p50, unit), found.p10, found.p90)
