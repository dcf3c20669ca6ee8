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
        "Whole way, or path",
        "From a request's arrival (where that is not recorded, from the start of its prefill) to the end of its first "
        "decode step. Its segments follow on each other and add up exactly.",
        "path",
    ),
    Definition("Queue", "From the arrival to the start of the first prefill step.", "queue"),
    Definition(
        "Prefill",
        "From the start of the first to the end of the last prefill step that holds the request, chunks included. A "
        "step lasts from the first to the last compute launched inside, else as long as its range.",
        "prefill",
    ),
    Definition(
        "Hand-off",
        "From the end of prefill to the first send. With layers that are sent during prefill it is 0, and “sent ahead” "
        "says how far the first send preceded the end.",
        "hand-off",
    ),
    Definition(
        "Transfer (of a request)",
        "From the first send, but not before the end of prefill, to the last receive; on the rank that finished last "
        "it is wire, waiting for the sender, and pauses between transfers.",
        "transfer-span",
    ),
    Definition("Ready, not started", "From the last receive to the start of the first decode step.", "ready"),
    Definition("First decode step", "From its start to its end, as a prefill step lasts.", "first-decode"),
    Definition(
        "Time to first token",
        "The whole way where decode emits the first token, up to the end of prefill where prefill does. Which of them "
        "does, no trace records.",
        "ttft",
    ),
    Definition(
        "Time per output token",
        "Per request, after the first token, a token a step. Where prefill emits the first token the KV gap is in the "
        "second; “without the KV gap” is from the end of the first decode step on.",
        "tpot",
    ),
    Definition("Mostly", "The part of the KV gap that is largest, and so who is to blame for it.", "blame"),
    Definition(
        "Sent (times)",
        "How often all layers of a request were sent, between the same ends and with the same sizes; chunks of a "
        "prompt do not count as repetition.",
        "attempts",
    ),
    Definition(
        "Decode idle",
        "Between the first and the last compute of a device's decode steps: time in which no compute ran. The first of "
        "these that holds is the reason: KV ready but its decode not begun, KV in flight, prefill running, requests "
        "decoding, no request.",
        "decode-idle",
    ),
    Definition(
        "Delayed steps",
        "Decode steps before which the device was idle while KV of a request that begins in them was still pending.",
        "delayed-steps",
    ),
    Definition(
        "Token time",
        "From the end of one decode step to that of the next on the same device, with and without KV arriving then.",
        "token-time",
    ),
    Definition(
        "Slowdown",
        "The time of the same decode kernels while KV arrives, over their time while none does.",
        "slowdown",
    ),
    Definition(
        "Stalled by sends",
        "Time within prefill steps in which a send of KV ran on the device and no compute did.",
        "send-stall",
    ),
    Definition("Tail", "From the end of a request's prefill to the end of its last send.", "send-tail"),
    Definition(
        "Saves, costs, gap then",
        "What a change would do to the KV gap, by the run's own numbers and under what it says must hold.",
        "what-if",
    ),
    Definition(
        "Clocks",
        "How far one file's clock is ahead of another's after the UTC that both recorded, how that is known, and how "
        "far it may be off anywhere in the run. One-sided: only one direction of transfers bounds it.",
        "clocks",
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
