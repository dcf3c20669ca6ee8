"""What is worth doing something about, worst first."""

from collections.abc import Sequence
from dataclasses import dataclass

from nsysparse.analysis import Clock, DecodeDevice, Finding, PrefillDevice, Request, Totals, WhatIf
from nsysparse.metrics.cases import Case
from nsysparse.metrics.findings.against_model import against_model, differs
from nsysparse.metrics.findings.devices import decode_idle, decode_slower, first_uses, prefill_stalls
from nsysparse.metrics.findings.gaps import blamed_gaps
from nsysparse.metrics.findings.ranking import worst_first
from nsysparse.metrics.findings.retries import sent_again
from nsysparse.metrics.findings.unknowns import untold
from nsysparse.metrics.measured import Measured
from nsysparse.theory.shipment import Shipment

__all__ = ["Grounds", "differs", "findings"]


@dataclass(frozen=True, slots=True)
class Grounds:
    """What findings rest on.

    Attributes:
        requests: All requests with their ways.
        cases: Those whose gap and parts are known.
        ideas: What would help; None where no gap is known.
        measured: Movements and their shares.
        totals: Sums over them.
        model: The model as it is served, if named.
        strays: Bytes that were attributed to no request; None where some are and their sizes are unknown.
        clocks: How the files' clocks stand; of one file there are none.
    """

    requests: Sequence[Request]
    cases: Sequence[Case]
    ideas: Sequence[WhatIf] | None
    measured: Measured
    totals: Totals
    model: Shipment | None
    strays: int | None
    clocks: Sequence[Clock] = ()


def findings(
    grounds: Grounds,
    decode: Sequence[DecodeDevice] | None = None,
    prefill: Sequence[PrefillDevice] | None = None,
) -> tuple[Finding, ...]:
    """Findings, worst first, at most seven.

    Args:
        grounds: What they rest on.
        decode: What decode devices did, where known.
        prefill: What sending cost prefill devices, where known.
    """
    alone = (
        against_model(grounds.requests, grounds.model, grounds.strays),
        sent_again(grounds.requests, grounds.measured),
        first_uses(grounds.totals),
        prefill_stalls(prefill or ()),
        decode_idle(decode or ()),
        decode_slower(decode or ()),
    )
    several = [*blamed_gaps(grounds.cases, grounds.ideas or ()), *untold(grounds.requests, grounds.clocks)]
    return worst_first([*several, *(each for each in alone if each is not None)])
