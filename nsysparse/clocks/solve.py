"""Align the clocks of a run's traces, by what is asked for."""

from collections import Counter
from collections.abc import Iterator, Mapping

import polars as pl

from nsysparse.analysis import CLOCK_MODES, UTC_ERROR_NS
from nsysparse.anchor import Anchor
from nsysparse.clocks import notes
from nsysparse.clocks.aligned import Clocks, Pair
from nsysparse.clocks.estimate import Link, agrees, estimate, fits, link, within_utc
from nsysparse.clocks.hosts import Host, hosts
from nsysparse.clocks.offset import SAME_HOST_MONOTONIC, UTC_UNVERIFIED, Offset
from nsysparse.clocks.pairs import between_traces
from nsysparse.errors import UsageError

AUTO, UTC, ESTIMATE, NONE = CLOCK_MODES

# No file is called so.
_UTC_CLOCK, _HOST_CLOCK = "\0utc", "\0host"


def solve(
    anchors: Mapping[str, Anchor],
    transfers: pl.DataFrame,
    mode: str = AUTO,
    utc_error_ns: int = UTC_ERROR_NS,
    span: Mapping[str, tuple[int, int]] | None = None,
    anomalies: Counter[str] | None = None,
) -> Clocks:
    """How the clocks of traces stand against each other.

    Args:
        anchors: Of each trace, by trace id.
        transfers: Paired, of all traces (columns of `pairs.paired`).
        mode: `auto` (recordings of one host by its clock, else what transfers prove, else UTC), `utc` (no transfers),
            `estimate` (transfers alone) or `none`.
        utc_error_ns: How far UTC of two hosts may be apart.
        span: First and last instant of each trace on its own clock: there the uncertainty holds. Without it, of the
            transfers.
        anomalies: Counts pairs of traces that contradict, also UTC that was asked for, and hosts whose wall clock was
            set.

    Raises:
        UsageError: There is no such mode.
    """
    if mode not in CLOCK_MODES:
        raise UsageError(f"There is no --clock {mode!r}.", f"It is one of {', '.join(CLOCK_MODES)}.")
    runs = dict(span or {})
    anomalies = Counter() if anomalies is None else anomalies
    if mode == NONE:
        return Clocks(anchors, mode=mode, runs=runs)
    links = {
        frozenset(names): link(*names, pairs, (runs.get(names[0]), runs.get(names[1])))
        for names, pairs in between_traces(transfers)
    }
    if mode == UTC:
        anomalies["utc-contradicted"] += sum(_belies_utc(each, anchors, utc_error_ns) for each in links.values())
        links = {}
    refused = {
        pair: notes.of_contradicting_transfers(each.pair_count) for pair, each in links.items() if not fits(each)
    }
    machines = [] if mode == ESTIMATE else list(hosts(anchors))
    wrong = {pair: each for pair, each in _on_one_host(machines, links) if pair not in refused}
    refused |= {pair: notes.of_contradicted_host(each.pair_count) for pair, each in wrong.items()}
    # One of the two is wrong, and nothing says which.
    distrusted = frozenset(name for pair in wrong for name in pair)
    anomalies["clock-was-stepped"] += sum(machine.method == SAME_HOST_MONOTONIC for machine in machines)
    edges = list(_of_hosts(machines, distrusted))
    if mode != ESTIMATE:
        edges += _of_utc(anchors, utc_error_ns)
    together = {pair for machine in machines for pair in links if pair <= machine.zeros.keys()}
    for pair, each in links.items():
        if pair in refused or pair in together:
            continue
        found = estimate(each)
        loose = found is None or found.uncertainty_ns > utc_error_ns
        if loose and mode == AUTO and (apart := _utc_apart(anchors, each)) is not None:
            narrower = within_utc(each, apart, utc_error_ns)
            if narrower is None and found is None:
                refused[pair] = notes.of_contradicted_utc(each.pair_count, utc_error_ns)
            found = narrower or found
        if found is not None:
            edges.append(found)
    anomalies["clocks-contradict"] += len(refused)
    return Clocks(anchors, tuple(edges), refused, mode, runs)


def _on_one_host(machines: list[Host], links: Mapping[Pair, Link]) -> Iterator[tuple[Pair, Link]]:
    """Pairs of traces of one host whose transfers contradict its clock."""
    for machine in machines:
        for pair, each in links.items():
            if pair <= machine.zeros.keys():
                apart = machine.zeros[each.base] - machine.zeros[each.other]
                if not agrees(each, apart, machine.uncertainty_ns):
                    yield pair, each


def _of_hosts(machines: list[Host], without: frozenset[str]) -> Iterator[Offset]:
    """From each trace to the clock of its host, half the uncertainty each, so that any two have all of it."""
    for number, machine in enumerate(machines):
        for trace_id, zero in machine.zeros.items():
            if trace_id not in without:
                clock = f"{_HOST_CLOCK}{number}"
                yield Offset(trace_id, clock, 0, zero, 0.0, (machine.uncertainty_ns + 1) // 2, machine.method)


def _of_utc(anchors: Mapping[str, Anchor], utc_error_ns: int) -> Iterator[Offset]:
    """From each trace that records it to UTC, likewise."""
    for trace_id, anchor in anchors.items():
        if anchor.utc_epoch_ns is not None:
            half = (utc_error_ns + 1) // 2
            yield Offset(trace_id, _UTC_CLOCK, 0, anchor.utc_epoch_ns, 0.0, half, UTC_UNVERIFIED)


def _belies_utc(known: Link, anchors: Mapping[str, Anchor], utc_error_ns: int) -> bool:
    """Whether transfers that do not contradict each other prove that UTC is further off than is said."""
    apart = _utc_apart(anchors, known)
    return apart is not None and fits(known) and not agrees(known, apart, utc_error_ns)


def _utc_apart(anchors: Mapping[str, Anchor], known: Link) -> int | None:
    """The offset that UTC gives."""
    ours, theirs = anchors[known.base].utc_epoch_ns, anchors[known.other].utc_epoch_ns
    return None if ours is None or theirs is None else ours - theirs
