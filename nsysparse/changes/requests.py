"""What requests saw: the parts of the KV gap in both runs on one axis, then requests that moved most."""

from nsysparse.changes.rows import moved_table
from nsysparse.changes.spreads import spread_rows
from nsysparse.compare.matching import BY_ID, BY_LENGTH
from nsysparse.comparison import Comparison
from nsysparse.document import Abstention, Block, CellKind, Heading, Paragraph, Ranges
from nsysparse.units import counted

MOST_ROWS = 100
_TIMES = ("kv_gap_ms", "exposed_to_request_ms", "transfer_span_ms", "ready_to_decode_ms", "ttft_ms")
_SUBJECTS = {BY_ID: "Request", BY_LENGTH: "Prompts"}


def build(comparison: Comparison) -> list[Block]:
    """Distributions of times per request, how requests were matched, and what moved."""
    heading = Heading("Requests", "diff-requests")
    found = comparison.requests
    rows = spread_rows(comparison, _TIMES)
    if not rows and not found.rows:
        return [heading, Abstention("Requests", f"Nothing to compare: {found.note}.")]
    blocks: list[Block] = [heading, Paragraph(_lead(comparison), "muted")]
    if rows:
        blocks.append(Ranges("Times of requests", "ms", rows, "diff-requests-chart"))
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
