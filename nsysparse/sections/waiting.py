"""How the transfer time splits: wire against waiting, exposed against hidden, and kernels that met."""

from dataclasses import replace

from nsysparse.analysis import Analysis, Totals
from nsysparse.document import Block, Fact, Paragraph
from nsysparse.sections.transports import unseen_waiting
from nsysparse.units import UNKNOWN, counted, human_ns, human_share


def facts(analysis: Analysis) -> list[Fact]:
    """Wire and peer wait, then exposed and behind compute; what lacks the same thing is said to be unknown once."""
    return [*_wire(analysis), *_exposed(analysis)]


def remarks(analysis: Analysis) -> list[Block]:
    """For how much of the time the split is known, what it cannot show, and what the kernels that met say."""
    paragraphs = (Paragraph(" ".join(_limits(analysis)), "doubt"), Paragraph(_exchanges(analysis.totals)))
    return [each for each in paragraphs if each.text]


def _wire(analysis: Analysis) -> list[Fact]:
    totals = analysis.totals
    if totals.wire_ns is None and totals.peer_wait_ns is None:
        why = analysis.reason("/totals/wire_ns")
        return [Fact("Wire and peer wait", UNKNOWN, why.message if why else "", "muted", "wire")]
    wait = _fact(analysis, "Peer wait", totals.peer_wait_ns, "/totals/peer_wait_ns", "peer-wait")
    if totals.peer_wait_ns is not None and unseen_waiting(analysis.links):
        wait = replace(wait, note=f"{wait.note}, as far as it can be seen")
    return [Fact("Wire", human_ns(totals.wire_ns), _of_time(totals.wire_ns, totals), term="wire"), wait]


def _exposed(analysis: Analysis) -> list[Fact]:
    totals = analysis.totals
    wire, wait = totals.exposed_wire_ns, totals.exposed_wait_ns
    if totals.exposed_ns is None and totals.overlapped_ns is None:
        why = analysis.reason("/totals/overlapped_ns")
        return [Fact("Exposed", UNKNOWN, why.message, "muted", "exposed")] if why else []
    exposed = _fact(analysis, "Exposed", totals.exposed_ns, "/totals/exposed_ns", "exposed")
    if totals.exposed_ns is not None and wire is not None and wait is not None:
        parts = [f"{human_ns(wire)} on the wire", f"{human_ns(wait)} waiting"]
        rest = totals.exposed_ns - wire - wait
        parts += [f"{human_ns(rest)} not told apart"] if rest else []
        exposed = replace(exposed, note=f"{exposed.note}; {', '.join(parts)}")
    hidden = _fact(analysis, "Behind compute", totals.overlapped_ns, "/totals/overlapped_ns", "exposed")
    return [exposed, hidden]


def _fact(analysis: Analysis, label: str, value_ns: int | None, path: str, term: str) -> Fact:
    if value_ns is not None:
        return Fact(label, human_ns(value_ns), _of_time(value_ns, analysis.totals), term=term)
    why = analysis.reason(path)
    return Fact(label, UNKNOWN, why.message if why else "", "muted", term)


def _of_time(part: int | None, totals: Totals) -> str:
    return f"{human_share(part / totals.time_ns)} of transfer time" if part is not None and totals.time_ns else ""


def _limits(analysis: Analysis) -> list[str]:
    totals = analysis.totals
    found = []
    known, waits = totals.wire_known_share, totals.wait_known_share
    if totals.wire_ns is not None and known is not None and known < 1:
        rest = human_share(1 - known)
        found.append(f"“Wire” and “Peer wait” leave out {rest} of the transfer time: nothing tells them apart there.")
    unseen = unseen_waiting(analysis.links)
    if totals.wire_ns is not None and unseen:
        share = f" ({human_share(known - waits)} of the transfer time)" if known and waits is not None else ""
        found.append(f"Time of {_listed(unseen)}{share} counts whole as wire: these intervals do not show who waited.")
    seen = totals.exposure_known_share
    if seen and seen < 1:
        found.append(
            f"“Exposed” and “Behind compute” leave out {human_share(1 - seen)} of the transfer time: whether compute"
            " ran meanwhile is not known there."
        )
    return found


def _exchanges(totals: Totals) -> str:
    """What pairs of kernels that met say about waiting, whatever is known of the calls behind them."""
    longer, shorter, both = totals.longer_kernel_ns, totals.shorter_kernel_ns, totals.both_present_ns
    if not totals.exchange_count or not longer or shorter is None or both is None:
        return ""
    alone = longer - both
    return (
        f"{counted(totals.exchange_count, 'pair')} of kernels met: the longer ones ran {human_ns(longer)}, the shorter"
        f" ones {human_ns(shorter)}, both at once {human_ns(both)}. For {human_share(alone / longer)} of the longer"
        f" kernels' time ({human_ns(alone)}) the other side was not there: that is waiting for it, or buffering, of"
        " both sides' kernels, where “Peer wait” counts one side of each movement."
    )


def _listed(words: list[str]) -> str:
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
