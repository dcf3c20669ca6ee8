"""What the numbers of a report mean, in a line each; docs/metrics.md has the whole story."""

from nsysparse.analysis import Analysis
from nsysparse.document import Block, Definition, Definitions, Heading, Paragraph

_TERMS = (
    Definition(
        "Movement",
        "What physically happened: a paired send and receive, or one side where only that was captured. Bytes and "
        "counts are of movements, so capturing both sides never doubles them.",
        "movement",
    ),
    Definition(
        "Transfer time",
        "The time of a movement's GPU work, the receive side's where both are present. Operations fused in one kernel"
        " share its length by their bytes. A sum; overlapping movements count each.",
        "transfer-time",
    ),
    Definition(
        "Busy",
        "The union of the intervals in which something was moving, so that overlap counts once.",
        "busy",
    ),
    Definition(
        "Wire",
        "The part of a transfer in which both sides are present. The wire rate is bytes over that time.",
        "wire",
    ),
    Definition(
        "Peer wait",
        "Transfer time minus wire: one side runs and the other is not there yet.",
        "peer-wait",
    ),
    Definition(
        "Exposed",
        "Outside all compute kernels of the device, so nothing hides it. The rest is behind compute.",
        "exposed",
    ),
    Definition(
        "Headline rate",
        "Bytes over wire time where at least half the bytes have one; else the rate sustained over a burst, gaps "
        "included; else bytes over whole kernels, which contains waiting and is a lower bound (≥). First uses and "
        "self copies stay out.",
        "headline",
    ),
    Definition(
        "Line rate",
        "The link's peak in one direction, in decimal bytes per second. Totals that add both directions are no "
        "reference.",
        "line-rate",
    ),
    Definition(
        "Practical ceiling",
        "What a benchmark reaches on such a link: a measured file where given, else the catalogue's typical fraction.",
        "ceiling",
    ),
    Definition(
        "First use",
        "The first transfer between two ranks since their communicator was made. It pays for setting up the "
        "connection.",
        "first-use",
    ),
    Definition(
        "KV gap",
        "Prefill end to the start of the first decode step; its share is of the way to the first token. The verdict "
        "is the median share against the threshold.",
        "kv-gap",
    ),
    Definition(
        "Known by",
        "How a transfer got its layer or request: exact (in its own text or payload), nested (in an enclosing range "
        "of its thread), spanning (in a range around it), ordinal (by issue order), overlap (by time), estimated (an "
        "even split), none.",
        "provenance",
    ),
)
TERMS = frozenset(term.anchor for term in _TERMS)
"""The anchors that a column or a fact may point to."""


def build(analysis: Analysis) -> list[Block]:
    """The same for every report: a reader should find a term even where its number is unknown."""
    del analysis
    return [
        Heading("Definitions", "definitions"),
        Paragraph("In short. The page “metrics” of the nsysparse documentation defines every number.", "muted"),
        Definitions(_TERMS),
    ]
