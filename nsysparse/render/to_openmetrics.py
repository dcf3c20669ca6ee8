"""A run's numbers as OpenMetrics text, for the system that keeps those of the servers.

Base units: seconds and bytes. What is unknown has no sample. No time stamps: the same analysis gives the same bytes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from nsysparse.analysis import Analysis, Link, PrefillDevice, Request
from nsysparse.render.exposition import END, Family, Sample, family, number, seconds
from nsysparse.units import GB, NS_PER_MS, NS_PER_S

BUCKETS_NS = tuple(
    round(bound * NS_PER_MS) for bound in (1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000)
)
"""Upper bounds of the histogram, each included. They stay as they are, so that runs can be compared."""

_DECODE, _PREFILL = "decode", "prefill"
_NEGATIVE, _UNSAID = "negative", "unknown"
"""Why a request is not in the histogram where no reason of the analysis says it."""

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
        "gauge",
        "",
        "Requests that are not in the histogram of gaps, by why their gap is not known.",
    ),
    Family(
        "llm_kv_transfer_gap_uncertainty_seconds",
        "gauge",
        "seconds",
        "The largest error of a gap in the histogram that was taken between two clocks.",
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


def render(analysis: Analysis, prefill: Sequence[PrefillDevice] | None = None, *, per_request: bool = False) -> str:
    """The whole text, up to and with `# EOF`.

    Args:
        analysis: What to write.
        prefill: What sending cost each prefill device, where that is known.
        per_request: Also one sample for each request. Their ids are without bound, and each makes a series.
    """
    known = sorted((each for each in analysis.requests if _gap(each) is not None), key=lambda each: each.request_id)
    links = sorted(analysis.links, key=lambda each: (each.link_key, each.transport))
    rate = "llm_kv_transfer_wire_bytes_per_second"
    notice = analysis.notice.code if analysis.notice else None
    verdict = analysis.verdict
    errors = [each.uncertainty_ns for each in known if each.uncertainty_ns is not None]
    samples: dict[str, list[Sample]] = {
        "nsysparse_build_info": [Sample("1", (("version", analysis.nsysparse), ("notice", notice)))],
        "llm_kv_transfer_gap_seconds": list(_histogram(known, _common_link(links))),
        "llm_kv_transfer_gap_unknown_requests": list(_unknown(analysis)),
        "llm_kv_transfer_gap_uncertainty_seconds": [Sample(seconds(max(errors, default=None)))],
        "llm_kv_transfer_request_gap_seconds": [
            Sample(seconds(each.kv_gap_ns), (("request", each.request_id),)) for each in known if per_request
        ],
        "llm_kv_transfer_gap_share_ratio": [Sample(number(verdict.value))],
        "llm_kv_transfer_gap_share_uncertainty_ratio": [Sample(number(verdict.uncertainty))],
        "llm_kv_transfer_gap_share_threshold_ratio": [Sample(number(verdict.threshold))],
        "llm_kv_transfer_bytes": [Sample(number(each.bytes), _ends(each), "_total") for each in links],
        "llm_kv_transfer_bytes_known_ratio": [Sample(number(analysis.totals.bytes_known_share))],
        rate: [
            Sample(_bytes_per_second(each.headline_gb_s), (*_ends(each), ("basis", each.headline_basis)))
            for each in links
        ],
        "llm_kv_transfer_wire_is_lower_bound": [
            Sample(_flag(each.headline_is_bound), _ends(each)) for each in links if each.headline_gb_s is not None
        ],
        **_exposed(analysis, prefill),
        **_idle(analysis),
    }
    return "".join(family(each, samples.get(each.name, ())) for each in _FAMILIES) + END


def _gap(request: Request) -> int | None:
    """The gap of a request; None also where clocks are so far apart that decode seems to come before prefill."""
    return request.kv_gap_ns if request.kv_gap_ns is not None and request.kv_gap_ns >= 0 else None


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


def _unknown(analysis: Analysis) -> Iterator[Sample]:
    """How many requests lack a gap, by the code of the analysis' reason."""
    codes: dict[str, str] = {}
    for reason in analysis.reasons:
        codes.setdefault(reason.path, reason.code)
    general = codes.get("/requests/*/kv_gap_ns", _UNSAID)
    counts: Counter[str] = Counter()
    for place, each in enumerate(analysis.requests):
        if each.kv_gap_ns is None:
            counts[codes.get(f"/requests/{place}/kv_gap_ns", general)] += 1
        elif _gap(each) is None:
            counts[_NEGATIVE] += 1
    for code, count in sorted(counts.items()):
        yield Sample(str(count), (("reason", code),))


def _common_link(links: Sequence[Link]) -> str | None:
    """The name that all links have: a request does not say which it crossed."""
    names = {each.link_name for each in links}
    return names.pop() if len(names) == 1 else None


def _ends(link: Link) -> tuple[tuple[str, str | None], ...]:
    return ("src", link.src), ("dst", link.dst), ("link", link.link_name), ("transport", link.transport)


def _bytes_per_second(gb_s: float | None) -> str | None:
    return None if gb_s is None else number(gb_s * GB)


def _flag(value: bool | None) -> str | None:  # noqa: FBT001 (a value to be written, no switch)
    return None if value is None else str(int(value))


def _exposed(analysis: Analysis, prefill: Sequence[PrefillDevice] | None) -> dict[str, list[Sample]]:
    """By side. A total is of the receive side where that is in all pairs, or where only decode was captured.

    Elsewhere what was seen from the one side and from the other is one sum, which is neither's.
    """
    totals = analysis.totals
    is_of_pairs = totals.movement_count > 0 and totals.paired_count == totals.movement_count
    is_of_decode = is_of_pairs or all(each.role == _DECODE for each in analysis.traces)
    decode = totals.exposed_ns if is_of_decode else None
    sent = sum(each.exposed_ns for each in prefill) if prefill else None
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
    places = [(each, (("trace", each.trace_id), ("gpu", each.gpu))) for each in devices]
    return {
        "llm_kv_decode_idle_seconds": [
            Sample(seconds(ns), (*labels, ("reason", reason)), "_total")
            for each, labels in places
            for reason, ns in sorted(each.by_reason.items())
        ],
        "llm_kv_decode_idle_ratio": [Sample(number(each.idle_share), labels) for each, labels in places],
    }
