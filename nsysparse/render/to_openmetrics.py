"""A run's numbers as OpenMetrics text, for the system that keeps those of the servers.

Base units: seconds and bytes. What is unknown has no sample. No time stamps: the same analysis gives the same bytes.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from nsysparse.analysis import Analysis, Link, Request
from nsysparse.render.exposition import END, Family, Sample, family, number, seconds
from nsysparse.units import GB, NS_PER_MS, NS_PER_S

BUCKETS_NS = tuple(
    round(bound * NS_PER_MS) for bound in (1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000)
)
"""Upper bounds of the histogram, each included. They stay as they are, so that runs can be compared."""

_DECODE, _PREFILL = "decode", "prefill"

_FAMILIES = (
    Family("nsysparse_build_info", "gauge", "", "What wrote this, and what must be known before any number."),
    Family(
        "llm_kv_transfer_gap_seconds",
        "histogram",
        "seconds",
        "From the end of the prefill of a request to the start of its first decode step.",
    ),
    Family(
        "llm_kv_transfer_gap_unknown_requests",
        "counter",
        "",
        "Requests that are not in the histogram of gaps, by what there is not to know their gap by.",
    ),
    Family(
        "llm_kv_transfer_gap_uncertainty_seconds",
        "gauge",
        "seconds",
        "By how much a gap in the histogram may be off at most, for the clocks that it was taken with.",
    ),
    Family("llm_kv_transfer_request_gap_seconds", "gauge", "seconds", "The gap of one request."),
    Family(
        "llm_kv_transfer_gap_share_ratio",
        "gauge",
        "ratio",
        "Median over requests of the gap as a share of the path to the first token.",
    ),
    Family(
        "llm_kv_transfer_gap_share_uncertainty_ratio",
        "gauge",
        "ratio",
        "How far the median share may be off.",
    ),
    Family("llm_kv_transfer_gap_share_threshold_ratio", "gauge", "ratio", "The share over which a gap is too much."),
    Family("llm_kv_transfer_bytes", "counter", "bytes", "What crossed a link, as far as its size is known."),
    Family("llm_kv_transfer_bytes_known_ratio", "gauge", "ratio", "Share of all movements of which the size is known."),
    Family(
        "llm_kv_transfer_wire_bytes_per_second",
        "gauge",
        "bytes_per_second",
        "The headline rate of a link and what it rests on.",
    ),
    Family(
        "llm_kv_transfer_wire_is_lower_bound",
        "gauge",
        "",
        "1 where the headline rate of a link is at least that, 0 where it is that.",
    ),
    Family(
        "llm_kv_transfer_exposed_seconds",
        "counter",
        "seconds",
        "Time of transfers during which their device computed nothing, by the side it was seen from.",
    ),
    Family(
        "llm_kv_transfer_exposed_known_ratio",
        "gauge",
        "ratio",
        "Share of the time of transfers of which it is known whether the device computed.",
    ),
    Family(
        "llm_kv_decode_idle_seconds",
        "counter",
        "seconds",
        "Time between the first and the last decode work of a device in which it computed nothing, by reason.",
    ),
    Family("llm_kv_decode_idle_ratio", "gauge", "ratio", "The same as a share of the whole time, all reasons."),
)
FAMILIES = MappingProxyType({each.name: each for each in _FAMILIES})
"""All that can be written, in this order, by name."""


def render(analysis: Analysis, *, per_request: bool = False) -> str:
    """The whole text, up to and with `# EOF`.

    Args:
        analysis: What to write.
        per_request: Also one sample for each request. Their ids are without bound, and each makes a series.
    """
    known = sorted((each for each in analysis.requests if each.kv_gap_ns is not None), key=lambda each: each.request_id)
    links, roles = sorted(analysis.links, key=lambda each: (each.link_key, each.transport)), _roles(analysis)
    rate = "llm_kv_transfer_wire_bytes_per_second"
    notice = analysis.notice.code if analysis.notice else None
    verdict = analysis.verdict
    errors = [each.uncertainty_ns for each in known if each.uncertainty_ns is not None]
    samples: dict[str, list[Sample]] = {
        "nsysparse_build_info": [Sample("1", (("version", analysis.nsysparse), ("notice", notice)))],
        "llm_kv_transfer_gap_seconds": list(_histogram(known, _common_link(links))),
        "llm_kv_transfer_gap_unknown_requests": list(_unknown(analysis.requests)),
        "llm_kv_transfer_gap_uncertainty_seconds": [Sample(seconds(max(errors, default=None)))],
        "llm_kv_transfer_request_gap_seconds": [
            Sample(seconds(each.kv_gap_ns), (("request", each.request_id),)) for each in known if per_request
        ],
        "llm_kv_transfer_gap_share_ratio": [Sample(number(verdict.value))],
        "llm_kv_transfer_gap_share_uncertainty_ratio": [Sample(number(verdict.uncertainty))],
        "llm_kv_transfer_gap_share_threshold_ratio": [Sample(number(verdict.threshold))],
        "llm_kv_transfer_bytes": [Sample(number(each.bytes), _ends(each, roles), "_total") for each in links],
        "llm_kv_transfer_bytes_known_ratio": [Sample(number(analysis.totals.bytes_known_share))],
        rate: [
            Sample(_bytes_per_second(each.headline_gb_s), (*_ends(each, roles), ("basis", each.headline_basis)))
            for each in links
        ],
        "llm_kv_transfer_wire_is_lower_bound": [
            Sample(_flag(each.headline_is_bound), _ends(each, roles))
            for each in links
            if each.headline_gb_s is not None
        ],
        **_exposed(analysis),
        **_idle(analysis),
    }
    return "".join(family(each, samples.get(each.name, ())) for each in _FAMILIES) + END


def _histogram(known: Sequence[Request], link: str | None) -> Iterator[Sample]:
    gaps = [each.kv_gap_ns for each in known if each.kv_gap_ns is not None]
    if not gaps:
        return
    labels = (("role", _DECODE), ("link", link))
    for bound in BUCKETS_NS:
        below = sum(gap <= bound for gap in gaps)
        yield Sample(str(below), (*labels, ("le", repr(bound / NS_PER_S))), "_bucket")
    yield Sample(str(len(gaps)), (*labels, ("le", "+Inf")), "_bucket")
    yield Sample(seconds(sum(gaps)), labels, "_sum")
    yield Sample(str(len(gaps)), labels, "_count")


def _unknown(requests: Sequence[Request]) -> Iterator[Sample]:
    """How many requests lack a gap, by what each lacks."""
    counts = Counter(each.missing for each in requests if each.kv_gap_ns is None)
    for missing, count in sorted(counts.items()):
        yield Sample(str(count), (("reason", missing),), "_total")


def _common_link(links: Sequence[Link]) -> str | None:
    """The name that all links have: a request does not say which it crossed."""
    names = {each.link_name for each in links}
    return names.pop() if len(names) == 1 else None


def _ends(link: Link, roles: Mapping[str, str | None]) -> tuple[tuple[str, str | None], ...]:
    """Where a link begins and ends, with the role of either end where that is known."""
    return (
        ("src", link.src), ("dst", link.dst), ("src_role", roles.get(link.src)), ("dst_role", roles.get(link.dst)),
        ("link", link.link_name), ("transport", link.transport),
    )  # fmt: skip


def _roles(analysis: Analysis) -> dict[str, str | None]:
    """By end of a link, what its device does: as its file does, else as the run shows; None where it does both."""
    found: dict[str, str | None] = {}
    seen = {
        _PREFILL: {f"{each.trace_id}:{each.gpu}" for each in analysis.prefill or ()},
        _DECODE: {f"{each.trace_id}:{each.gpu}" for each in analysis.decode or ()},
    }
    traces = {each.trace_id: each.role for each in analysis.traces if each.role in seen}
    for end in {end for link in analysis.links for end in (link.src, link.dst)}:
        acted = [role for role, ends in seen.items() if end in ends]
        found[end] = traces.get(end.rpartition(":")[0]) or (acted[0] if len(acted) == 1 else None)
    return found


def _bytes_per_second(gb_s: float | None) -> str | None:
    return None if gb_s is None else number(gb_s * GB)


def _flag(value: bool | None) -> str | None:  # noqa: FBT001 (a value to be written, no switch)
    return None if value is None else str(int(value))


def _exposed(analysis: Analysis) -> dict[str, list[Sample]]:
    """By side. A total is of the receive side where that is in all pairs, or where only decode was captured.

    Elsewhere what was seen from the one side and from the other is one sum, which is neither's.
    """
    totals = analysis.totals
    is_of_pairs = totals.movement_count > 0 and totals.paired_count == totals.movement_count
    is_of_decode = is_of_pairs or all(each.role == _DECODE for each in analysis.traces)
    decode = totals.exposed_ns if is_of_decode else None
    sent = sum(each.exposed_ns for each in analysis.prefill) if analysis.prefill else None
    share = totals.exposure_known_share if decode is not None else None
    return {
        "llm_kv_transfer_exposed_seconds": [
            Sample(seconds(decode), (("role", _DECODE),), "_total"),
            Sample(seconds(sent), (("role", _PREFILL),), "_total"),
        ],
        "llm_kv_transfer_exposed_known_ratio": [Sample(number(share), (("role", _DECODE),))],
    }


def _idle(analysis: Analysis) -> dict[str, list[Sample]]:
    devices = sorted(analysis.decode or (), key=lambda each: (each.trace_id, each.device_id, each.gpu))
    places = [(each, (("role", _DECODE), ("trace", each.trace_id), ("gpu", each.gpu))) for each in devices]
    return {
        "llm_kv_decode_idle_seconds": [
            Sample(seconds(ns), (*labels, ("reason", reason)), "_total")
            for each, labels in places
            for reason, ns in sorted(each.by_reason.items())
        ],
        "llm_kv_decode_idle_ratio": [Sample(number(each.idle_share), labels) for each, labels in places],
    }
