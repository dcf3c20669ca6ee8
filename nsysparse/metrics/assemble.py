"""Put all metrics together into one analysis."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from nsysparse import __version__
from nsysparse.analysis import (
    Analysis,
    Band,
    Clock,
    CounterCheck,
    Distribution,
    Link,
    LinkTheory,
    Notice,
    Reason,
    Request,
    Setting,
    Theory,
    TraceFacts,
)
from nsysparse.catalog.loader import find_link
from nsysparse.errors import UsageError
from nsysparse.exchanges import as_timed, exchanges
from nsysparse.measured.ceilings import MEASURED
from nsysparse.measured.commands import Op, command_for
from nsysparse.metrics.attributed import coverage, layer_request, layers, requests, unattributed
from nsysparse.metrics.cases import Case, cases
from nsysparse.metrics.counters import plausibility
from nsysparse.metrics.decode import decode_devices
from nsysparse.metrics.findings import Grounds, differs, findings
from nsysparse.metrics.gap_part import largest_part
from nsysparse.metrics.gap_reasons import with_gap_reason
from nsysparse.metrics.gap_verdict import gap_verdict
from nsysparse.metrics.journeys import Journeys, with_ways
from nsysparse.metrics.lengths import critical, lengths
from nsysparse.metrics.links import links, message_sizes, with_ends
from nsysparse.metrics.marks import computing, stretches
from nsysparse.metrics.measured import Measured, distribution, steady
from nsysparse.metrics.ports import ports
from nsysparse.metrics.prefill import prefill_devices
from nsysparse.metrics.prompts import by_prompt
from nsysparse.metrics.rates import bursts, kernel_rate, proves_nothing, wire_rate, with_sure
from nsysparse.metrics.reasons import reasons
from nsysparse.metrics.timeline import timeline
from nsysparse.metrics.totals import excluded, totals
from nsysparse.metrics.verdict import verdict
from nsysparse.metrics.warnings import warnings
from nsysparse.metrics.whatif import whatif
from nsysparse.theory.critical import STEP_NS
from nsysparse.theory.links import Peak
from nsysparse.theory.references import References
from nsysparse.theory.shipment import Shipment
from nsysparse.units import GB, NS_PER_MS


def assemble(
    measured: Measured,
    traces: Sequence[TraceFacts],
    journeys: Journeys,
    settings: Mapping[str, Setting],
    notice: Notice | None,
    anomalies: Counter[str],
    model: Shipment | None,
    known: References,
) -> Analysis:
    """All numbers of a report, with a reason for each that is unknown.

    Args:
        measured: Movements and their shares.
        traces: Facts about the inputs.
        journeys: What is known of their ways to the first token.
        settings: What was asked, and by whom.
        notice: What the reader must know first.
        anomalies: What the stages counted.
        model: The model as it is served, if named.
        known: What the links are, as far as that is known.
    """
    ended = with_sure(with_ends(measured), measured)
    met = exchanges(as_timed(measured.transfers))
    found_totals = totals(measured, met, looked=all(_would_show(facts) for facts in traces))
    found_links, left_out = links(ended, known), excluded(measured)
    found_requests = with_ways(requests(measured, journeys.announced, model), journeys, measured)
    known_gaps = cases(found_requests, found_links, ended, measured, journeys)
    found_requests = _blamed(found_requests, known_gaps)
    ideas = whatif(known_gaps, model, [gpu.name for facts in traces for gpu in facts.gpus])
    left = unattributed(measured)
    strays, clocks = left["request"].bytes, _clocks(journeys, traces)
    grounds = Grounds(found_requests, known_gaps, ideas, measured, found_totals, model, strays, clocks or ())
    too_fast = sum(link.inconsistent_count for link in found_links)
    if too_fast:
        anomalies = anomalies + Counter({"rates-above-peak": too_fast})
    if _unused(found_links, settings):
        anomalies = anomalies + Counter({"measured-ceiling-unused": 1})
    off = sum(differs(request) for request in found_requests)
    if off:
        anomalies = anomalies + Counter({"bytes-differ-from-model": off})
    roles = {facts.role for facts in traces}
    gap = gap_verdict(found_requests, journeys.threshold, roles)
    part = largest_part(known_gaps, found_requests)
    decode, prefill = decode_devices(measured, journeys), prefill_devices(measured, journeys)
    drawn = stretches(measured, journeys, met)
    analysis = Analysis(
        nsysparse=__version__,
        verdict=verdict(gap, found_totals, found_links, left_out, traces, part),
        notice=notice,
        traces=tuple(traces),
        settings=settings,
        totals=found_totals,
        summary=_summary(ended) | _of_requests(found_requests),
        links=found_links,
        ports=ports(ended, measured, known.everywhere()),
        counters=_counters(measured, known.within),
        layers=layers(measured, ended),
        requests=found_requests,
        layer_request=layer_request(measured),
        message_sizes=message_sizes(ended),
        lengths=lengths(found_requests, known_gaps, journeys, found_links, known, model, _told_steps(settings)),
        timeline=timeline(
            drawn,
            journeys.clocks,
            [facts.trace_id for facts in traces],
            [request.request_id for request in found_requests],
            list(computing(measured, journeys, drawn)),
        ),
        unattributed=left,
        coverage=coverage(measured),
        excluded=left_out,
        decode=decode,
        clocks=clocks,
        theory=_theory(found_links, found_requests, model, known, _band(settings)),
        whatif=ideas,
        findings=findings(grounds, decode, prefill),
        reasons=(),
        warnings=warnings(anomalies),
        prefill=prefill,
        prompts=by_prompt(found_requests),
        worst=_worst(found_requests),
    )
    why = with_gap_reason(_reasons(analysis), found_requests, analysis.clocks, roles)
    return replace(analysis, reasons=_with_command(why, analysis.links, measured, known))


def _clocks(journeys: Journeys, traces: Sequence[TraceFacts]) -> tuple[Clock, ...] | None:
    """How the clocks of files stand against the first one's, and those of two that gaps rest on; None of one file."""
    order = [trace.trace_id for trace in traces]
    if len(order) == 1:
        return None
    used = journeys.paths.select("prefill_end_trace", "decode_start_trace").drop_nulls().unique().sort(pl.all())
    others = [(base, other) for base, other in used.rows() if base != other and order[0] not in (base, other)]
    return (*journeys.clocks.rows(order), *(journeys.clocks.row(base, other) for base, other in others))


def _blamed(found: Sequence[Request], known_gaps: Sequence[Case]) -> tuple[Request, ...]:
    """The requests with what most of their gap is made of, where its parts are known."""
    blame = {case.request_id: case.blame for case in known_gaps}
    return tuple(replace(each, blame=blame.get(each.request_id)) for each in found)


def _unused(found_links: Sequence[Link], settings: Mapping[str, Setting]) -> bool:
    """Whether a ceiling was measured of another kind of link than those that carried something."""
    given = "measured" in settings and settings["measured"].value is not None
    sources = [link.practical_source for link in found_links if link.practical_source]
    return given and bool(found_links) and not any(source.startswith(MEASURED) for source in sources)


def _counters(measured: Measured, peak: Peak | None) -> tuple[CounterCheck, ...]:
    """Counters beside the sides that moved data: each side passes the counters of its own device."""
    if measured.counters.is_empty():
        return ()
    own = pl.col("is_self").fill_null(value=False)
    moved = measured.transfers.filter((pl.col("purpose") != "other") & ~own)
    return plausibility(moved, measured.counters, _whole_device(peak))


def _whole_device(peak: Peak | None) -> dict[str, float]:
    """What 100 percent of a GPU's counter are: its one-direction peak, where the link named is all that a GPU has."""
    if peak is None or peak.catalogue_id is None:
        return {}
    link = find_link(peak.catalogue_id)
    if link.scope != "gpu":
        return {}
    return {link.kind: link.one_way_peak_bytes_per_s / GB if peak.adds_both_ways else peak.gb_s}


def _would_show(facts: TraceFacts) -> bool:
    """Whether a trace would show a Send or Recv: its kernels were recorded one by one, or NCCL's calls were."""
    status = {name: fact.status for name, fact in facts.capabilities.items()}
    return status["nccl_calls"] != "absent" or (
        status["gpu_kernels"] == "present" and status["graph_nodes"] != "absent"
    )


def _reasons(analysis: Analysis) -> tuple[Reason, ...]:
    given = frozenset(name for name, setting in analysis.settings.items() if setting.value is not None)
    transports = frozenset(link.transport for link in analysis.links)
    return reasons(analysis, [trace.capabilities for trace in analysis.traces], given, transports)


def _with_command(
    found: Sequence[Reason], found_links: Sequence[Link], measured: Measured, known: References
) -> tuple[Reason, ...]:
    """Where no ceiling was measured, the command that measures that of the busiest link, at the median message size."""
    half = measured.movements["bytes"].drop_nulls().median()
    peaked = [link for link in found_links if link.peak_gb_s is not None]
    busiest = max(peaked, key=lambda link: link.bytes or 0, default=None)
    peak = None if busiest is None else known.between(busiest.src, busiest.dst)
    if peak is None or peak.catalogue_id is None or not isinstance(half, float):
        return tuple(found)
    pulled = measured.movements.filter(transport="nixl", side="recv").height
    op: Op = "read" if 2 * pulled > measured.movements.height else "write"
    link = find_link(peak.catalogue_id)
    try:
        command = command_for(link.kind, round(half), op, "gpu")
    except UsageError:  # no benchmark knows that kind of link
        return tuple(found)
    return tuple(
        replace(each, fix=f"{command}   # then --measured FILE") if each.path == "/settings/measured/value" else each
        for each in found
    )


def _summary(sure: pl.DataFrame) -> dict[str, Distribution | None]:
    counted = steady(sure)
    sized = counted.filter(pl.col("bytes").is_not_null() & ~proves_nothing())
    rates = bursts(sized).select(rate=pl.col("sure") / pl.col("ns"))
    return {
        "wire_gb_s": distribution(counted.select(rate=wire_rate())["rate"]),
        "kernel_gb_s": distribution(counted.select(rate=kernel_rate())["rate"]),
        "delivered_gb_s": distribution(rates["rate"]),
        "message_bytes": distribution(counted["bytes"]),
        "peer_wait_ms": distribution(counted["peer_wait_ns"] / NS_PER_MS),
        "exposed_ms": distribution((counted["time_ns"] - counted["overlapped_ns"]) / NS_PER_MS),
    }


_OF_REQUESTS = {
    "kv_gap_ms": "kv_gap_ns", "ttft_ms": "ttft_ns", "tpot_ms": "tpot_ns", "tpot_without_gap_ms": "tpot_without_gap_ns",
    "handoff_ms": "handoff_ns", "ready_to_decode_ms": "ready_to_decode_ns", "queue_ms": "queue_ns",
    "prefill_ms": "prefill_ns", "transfer_span_ms": "transfer_span_ns", "first_decode_ms": "first_decode_ns",
    "path_ms": "path_ns", "exposed_to_request_ms": "exposed_to_request_ns",
}  # fmt: skip
_OF_SPANS = {
    "span_wire_ms": "wire_ns",
    "span_peer_wait_ms": "peer_wait_ns",
    "span_sender_wait_ms": "sender_wait_ns",
    "span_gap_ms": "gap_ns",
}
"""What a request's transfer span was made of, on the rank that finished last."""


def _of_requests(found: Sequence[Request]) -> dict[str, Distribution | None]:
    """Distributions over the requests of which each is known."""
    shares = pl.Series([request.kv_gap_share for request in found], dtype=pl.Float64)
    times = {name: [getattr(request, column) for request in found] for name, column in _OF_REQUESTS.items()}
    times |= {name: [(request.span or {}).get(part) for request in found] for name, part in _OF_SPANS.items()}
    return {"kv_gap_share": distribution(shares)} | {
        name: distribution(pl.Series(values, dtype=pl.Int64) / NS_PER_MS) for name, values in times.items()
    }


def _worst(found: Sequence[Request], most: int = 10) -> tuple[str, ...]:
    """The ids of the requests that lost the greatest share to their gap, worst first."""
    known = [request for request in found if request.kv_gap_share is not None]
    ranked = sorted(known, key=lambda request: (-(request.kv_gap_share or 0), request.request_id))
    return tuple(request.request_id for request in ranked[:most])


def _theory(
    found_links: Sequence[Link],
    found_requests: Sequence[Request],
    model: Shipment | None,
    known: References,
    step_ns: tuple[int, int],
) -> Theory:
    expected = [request.expected_bytes for request in found_requests]
    sizes = [value for value in expected if value is not None]
    return Theory(
        kv_bytes_per_token=model.token_bytes if model else None,
        expected_bytes=sum(sizes) if expected and len(sizes) == len(expected) else None,
        by_link=tuple(
            LinkTheory(
                link=link.link_key,
                line_rate_ns=link.theoretical_ns,
                practical_ns=link.practical_ns,
                critical_tokens=_critical(model, known.between(link.src, link.dst), step_ns)
                if link.peak_gb_s
                else None,
            )
            for link in found_links
        ),
    )


def _band(settings: Mapping[str, Setting]) -> tuple[int, int]:
    """The shortest and the longest decode step that links are held against, in ns."""
    told = settings["step_ms"].value if "step_ms" in settings else None
    return (round(told[0] * NS_PER_MS), round(told[1] * NS_PER_MS)) if isinstance(told, list) else STEP_NS


def _told_steps(settings: Mapping[str, Setting]) -> tuple[int, int] | None:
    """The same, where somebody told them."""
    told = "step_ms" in settings and settings["step_ms"].source != "default"
    return _band(settings) if told else None


def _critical(model: Shipment | None, peak: Peak | None, step_ns: tuple[int, int]) -> dict[str, int] | None:
    found = critical(model, peak, Band(*step_ns))
    return None if found is None else {"low": found.low, "high": found.high}
