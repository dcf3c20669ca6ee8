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
        "Evidence",
        "What else in a trace recorded the same movement, such as the copies that carried out a library's transfer. It "
        "is noted with the transfer and counts no second time.",
        "evidence",
    ),
    Definition(
        "Transfer time",
        "The time of a movement's GPU work, the receive side's where both are present; without GPU work of its own, "
        "from post to completion as the host saw it. Operations fused in one kernel share its length by their bytes. "
        "A sum; overlapping movements count each.",
        "transfer-time",
    ),
    Definition(
        "Busy",
        "The union of the intervals in which something was moving, so that overlap counts once; of several devices, "
        "the busiest one's. Bytes over busy is no bound: what NCCL had buffered before an interval counts in it.",
        "busy",
    ),
    Definition(
        "Wire",
        "The part of an NCCL kernel's time in which its peer's kernel ran too, where it is proven which two met; with "
        "files of two clocks, the shorter of the two. Of other transports the whole interval, waiting in it unseen.",
        "wire",
    ),
    Definition(
        "Peer wait",
        "Transfer time minus wire: an NCCL kernel runs and its peer's does not. None for copies; not known for "
        "intervals that a host saw.",
        "peer-wait",
    ),
    Definition(
        "Exchange",
        "Two groups of NCCL kernels, one per side, that met, in one file. Each two count once, so a kernel that met "
        "several peers counts with each. They are matched by their calls, or by order alone where no call names its "
        "peer: kernels can meet though no movement is paired.",
        "exchange",
    ),
    Definition(
        "Exposed",
        "Outside all compute kernels of the transfer's own device, so nothing hides it. The rest is behind compute. "
        "Known only where these kernels were recorded.",
        "exposed",
    ),
    Definition(
        "Headline rate",
        "A lower bound in any case. Wire: bytes that surely crossed, over their intervals, 30 µs added where two "
        "devices' clocks are compared; without “≥” where the receiver was there first. Else bursts, else whole "
        "kernels, less what may have been buffered. First uses and self copies stay out.",
        "headline",
    ),
    Definition(
        "Delivered rate",
        "Over bursts: at least three movements of one side with pauses up to 1 ms, from the end of the first to the "
        "end of the last, less what NCCL may have buffered. Gaps and waiting are in it.",
        "delivered",
    ),
    Definition(
        "Fixed cost, fitted rate",
        "A line through the median time of each message size: cost per message plus bytes over rate. Told only where "
        "three sizes or more, the largest four times the smallest, lie on one (R² of 0.95).",
        "fixed-cost",
    ),
    Definition(
        "Port",
        "One device's way out (egress) or in (ingress), all its links together. NCCL may send by the network card of "
        "another GPU, so a port need not be a network card.",
        "port",
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
        "of its thread), spanning (in the only range open in its process), ordinal (by issue order), overlap (by "
        "time), estimated (split among several by tokens or evenly), none. A role also by process (what is known of "
        "all of it) or direction (prefill sends).",
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
