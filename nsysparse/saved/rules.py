"""What the values of a saved report must be for every later stage to work: kinds of words, ranges, references.

Values that merely contradict each other are the report's own business. Words are closed only where a later stage looks
something up by them; others may be added by a later version.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise

from nsysparse.analysis import (
    Analysis,
    Capability,
    DecodeDevice,
    Lengths,
    Request,
    Theory,
    Timeline,
    TimelineLevel,
    Undrawn,
    Verdict,
)
from nsysparse.saved.decoding import MOST, Limits

Broken = tuple[str, str]
"""A JSON Pointer, and what is wrong there."""

WORDS: Mapping[tuple[type, str], tuple[str, ...]] = {
    (Verdict, "state"): ("ok", "over", "unresolved", "unknown"),
    (Request, "verdict"): ("ok", "over", "unresolved", "unknown"),
    (Capability, "status"): ("present", "partial", "absent"),
    (Timeline, "kinds"): ("prefill", "decode", "compute", "wire", "peer_wait", "transfer", "call"),
    (Undrawn, "reason"): ("no-time", "clock", "lanes"),
}
_NOT_NEGATIVE = ("count", "_count", "bytes", "_bytes", "_gb_s", "_tokens", "uncertainty", "uncertainties")
_SHARES = ("_share", "_share_low", "_share_high", "threshold")
_COUNTS_OF_A_MARK = Limits(1, 2**32 - 1)
"""The page carries them in 32 bits."""


def limits_of(kind: type, field: str) -> Limits:
    """What the numbers or texts of a field may be, by its name."""
    if (words := WORDS.get((kind, field))) is not None:
        return Limits(words=words)
    if (kind, field) == (TimelineLevel, "count"):
        return _COUNTS_OF_A_MARK
    if field.endswith(_SHARES) or (kind, field) == (Verdict, "value"):
        return Limits(0, 1)
    return Limits(0, MOST) if field.endswith(_NOT_NEGATIVE) else Limits()


def broken(analysis: Analysis) -> Iterator[Broken]:
    """What parts of the report say of each other that cannot be, each with its place."""
    yield from _settings(analysis)
    yield from _reasons(analysis)
    yield from _theory(analysis.theory)
    yield from _decode(analysis.decode or ())
    if analysis.lengths is not None:
        yield from _lengths(analysis.lengths)
    if analysis.timeline is not None:
        yield from _timeline(analysis.timeline, len(analysis.requests))


def _settings(analysis: Analysis) -> Iterator[Broken]:
    """Settings that sections look up by name."""
    if "ttft" not in analysis.settings:
        yield "/settings/ttft", "is missing"
    step = analysis.settings.get("step_ms")
    if step is not None and step.value is not None and not _is_band(step.value):
        yield "/settings/step_ms/value", "is neither null nor two numbers"


def _is_band(value: object) -> bool:
    return isinstance(value, list) and [type(each) in (int, float) for each in value] == [True, True]


def _reasons(analysis: Analysis) -> Iterator[Broken]:
    known = {field.name for field in fields(Analysis)}
    for at, reason in enumerate(analysis.reasons):
        start, _, rest = reason.path.partition("/")
        if start or rest.split("/")[0] not in known:
            yield f"/reasons/{at}/path", "is no place in a report"


def _theory(theory: Theory) -> Iterator[Broken]:
    for at, link in enumerate(theory.by_link):
        if link.critical_tokens and not {"low", "high"} <= set(link.critical_tokens):
            yield f"/theory/by_link/{at}/critical_tokens", "has no low, or no high"


def _decode(devices: Sequence[DecodeDevice]) -> Iterator[Broken]:
    for at, device in enumerate(devices):
        if not device.idle_ns and any(device.by_reason.values()):
            yield f"/decode/{at}/by_reason", "divides idle time, of which there is none"


def _lengths(lengths: Lengths) -> Iterator[Broken]:
    if len(lengths.counts) != len(lengths.edges) - 1 or not lengths.counts:
        yield "/lengths/counts", "is not one shorter than edges"
    if any(low >= high for low, high in pairwise((-1, *lengths.edges))):
        yield "/lengths/edges", "do not rise from zero or more"


def _timeline(told: Timeline, requests: int) -> Iterator[Broken]:
    for at, level in enumerate(told.levels):
        place = f"/timeline/levels/{at}"
        columns = {field.name: getattr(level, field.name) for field in fields(TimelineLevel)}
        lengths = {len(column) for column in columns.values() if isinstance(column, tuple)}
        if len(lengths) != 1:
            yield place, "has columns of unequal length"
        yield from _indices(f"{place}/lane", level.lane, len(told.lanes), "lanes")
        yield from _indices(f"{place}/kind", level.kind, len(told.kinds), "kinds")
        yield from _indices(f"{place}/request", level.request, requests, "requests")


def _indices(place: str, column: Sequence[int | None], count: int, what: str) -> Iterator[Broken]:
    for at, index in enumerate(column):
        if index is not None and not 0 <= index < count:
            yield f"{place}/{at}", f"is {index}, but there are {count:,} {what}"
            return
