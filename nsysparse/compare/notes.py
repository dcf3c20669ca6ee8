"""What differs between two runs beside their transfers: what a reader must know before believing a difference."""

from collections import Counter
from collections.abc import Iterator, Sequence

from nsysparse.analysis import Analysis, Setting
from nsysparse.compare.matching import BY_ID, Partners, RequestMatch, Traces
from nsysparse.compare.wording import called, quoted
from nsysparse.comparison import Remark
from nsysparse.units import counted, human_bytes, human_share

_SETTINGS = {
    "model": "--model", "tp": "--tp", "kv_dtype": "--kv-dtype", "wire_dtype": "--wire-dtype", "link": "--link",
    "peak_gb_s": "--peak", "box": "--box", "measured": "--measured", "purpose": "--purpose", "ttft": "--ttft",
    "clock": "--clock", "utc_error_ms": "--utc-error", "layers": "--layers", "nccl_buffsize": "--nccl-buffsize",
    "overlap_attribution": "--overlap-attribution", "normalize_request": "--normalize-request",
    "request_pattern": "--request-pattern", "presets": "--preset",
}  # fmt: skip
"""Settings that change what is compared, by the options that set them."""
_MOST_LISTED = 3
_POINTS = 0.05
"""Shares of what is attributed that differ by more than this make sums per layer or request differ, too."""


def remarks(
    base: Analysis, candidate: Analysis, traces: Traces, partners: Partners, match: RequestMatch, noise: float
) -> tuple[Remark, ...]:
    """All that differs, in the order of what matters most.

    Args:
        base: A base run.
        candidate: The candidate.
        traces: How their files were matched.
        partners: How their links were.
        match: How their requests were.
        noise: Share of the larger value by which lengths of prompts, or sizes, may differ unsaid.
    """
    return (
        *_kinds(base, candidate),
        *_asked(base, candidate),
        *_matched(traces, partners),
        *_shapes(base, candidate),
        *_work(base, candidate, match, noise),
        *_known(base, candidate),
    )


def prompts_differ(base: Analysis, candidate: Analysis, noise: float) -> bool:
    """Whether one run's prompts are longer in the mean than the other's, by more than noise; not, if none is known."""
    means = [_mean_prompt(each) for each in (base, candidate)]
    known = [mean for mean in means if mean is not None]
    return len(known) == len(means) and max(known) - min(known) > noise * max(known)


def _mean_prompt(analysis: Analysis) -> float | None:
    known = [each.prompt_tokens for each in analysis.requests if each.prompt_tokens is not None]
    return sum(known) / len(known) if known else None


def _differ(code: str, what: str, base: object, candidate: object) -> Iterator[Remark]:
    if base != candidate:
        ours, theirs = called(str(base)), called(str(candidate))
        yield Remark(code, f"{what}: {ours} in base, {theirs} in the candidate")


def _kinds(base: Analysis, candidate: Analysis) -> Iterator[Remark]:
    """What was recorded, and by what."""
    if (base.notice is None) != (candidate.notice is None):
        which = "base" if base.notice else "the candidate"
        yield Remark("one-synthetic", f"only {which} is synthetic")
    yield from _differ("traces", "Traces", len(base.traces), len(candidate.traces))
    yield from _differ("roles", "Roles", _listed(base, "role"), _listed(candidate, "role"))
    yield from _differ("gpus", "GPUs", _gpus(base), _gpus(candidate))
    yield from _differ("nsys", "Nsight Systems", _listed(base, "nsys_version"), _listed(candidate, "nsys_version"))
    yield from _differ("nsysparse", "nsysparse", base.nsysparse, candidate.nsysparse)


def _listed(analysis: Analysis, field: str) -> str:
    return ", ".join(sorted({str(getattr(trace, field) or "not told") for trace in analysis.traces}))


def _gpus(analysis: Analysis) -> str:
    names = Counter(gpu.name or "unnamed" for trace in analysis.traces for gpu in trace.gpus)
    return ", ".join(f"{count} \u00d7 {name}" for name, count in sorted(names.items())) or "none"


def _asked(base: Analysis, candidate: Analysis) -> Iterator[Remark]:
    """What was told about the runs."""
    for name, option in _SETTINGS.items():
        ours, theirs = (_value(each.settings.get(name)) for each in (base, candidate))
        yield from _differ(f"setting-{name.replace('_', '-')}", option, ours, theirs)


def _value(setting: Setting | None) -> str:
    value = None if setting is None else setting.value
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "not told" if value is None else str(value)


def _matched(traces: Traces, partners: Partners) -> Iterator[Remark]:
    """How files and links were matched, where their names alone did not."""
    if traces.how == "role":
        pairs = sorted((ours, theirs) for ours, theirs in traces.names.items() if ours != theirs)
        said = _some([f"{called(ours)} is {called(theirs)}" for ours, theirs in pairs])
        yield Remark("traces-by-role", f"traces matched by role: {said}")
    if traces.how == "nothing":
        yield Remark("traces-unmatched", "traces have other names and roles: only links of the same names are compared")
    for before, after, what in partners.moved:
        said = (
            f"{called(before.label)} ({called(before.transport)}) is {called(after.label)} ({called(after.transport)})"
        )
        yield Remark("links-moved", f"links matched over {what}: {said}")
    for where, links in (("base", partners.only_base), ("the candidate", partners.only_candidate)):
        if links:
            yield Remark("links-of-one", f"only {where} has {_some([ends.label for ends in links])}")


def _some(names: Sequence[str]) -> str:
    shown = [called(name) for name in sorted(names)[:_MOST_LISTED]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _shapes(base: Analysis, candidate: Analysis) -> Iterator[Remark]:
    ours, theirs = ({layer.layer for layer in each.layers} for each in (base, candidate))
    if ours != theirs:
        yield Remark(
            "layers",
            f"Layers: {len(ours):,} in base, {len(theirs):,} in the candidate; {len(ours & theirs):,} are compared",
        )


def _work(base: Analysis, candidate: Analysis, match: RequestMatch, noise: float) -> Iterator[Remark]:
    """What the runs were given to do."""
    counts = len(base.requests), len(candidate.requests)
    if match.by != BY_ID and any(counts):
        yield Remark(
            "requests", f"{counted(counts[0], 'request')} in base, {counts[1]:,} in the candidate: {match.note}"
        )
    elif any(count != len(match.ids) for count in counts):
        yield Remark(
            "requests-of-one",
            f"{counted(counts[0], 'request')} in base, {counts[1]:,} in the candidate; {len(match.ids):,} are in both",
        )
    if prompts_differ(base, candidate, noise):
        means = [f"{_mean_prompt(each) or 0:,.0f}" for each in (base, candidate)]
        yield Remark(
            "prompts",
            f"prompts have {means[0]} tokens on average in base, {means[1]} in the candidate: times per request differ"
            " for that alone, so only those of similar prompts decide",
        )
    sizes = [found.p50 if (found := each.summary.get("message_bytes")) else None for each in (base, candidate)]
    known = [size for size in sizes if size is not None]
    if len(known) == len(sizes) and max(known) - min(known) > noise * max(known):
        said = [human_bytes(round(size)) for size in known]
        yield Remark(
            "message-sizes",
            f"messages have {said[0]} in the median in base, {said[1]} in the candidate: larger ones are faster",
        )


def _known(base: Analysis, candidate: Analysis) -> Iterator[Remark]:
    """How much is known of each run, and how well."""
    methods = [sorted({clock.method for clock in each.clocks or ()}) for each in (base, candidate)]
    yield from _differ("clocks", "Clocks", *(", ".join(each) or "one" for each in methods))
    bounds = [[bool(link.headline_is_bound) for link in each.links if link.headline_gb_s] for each in (base, candidate)]
    if all(bounds) and all(all(each) for each in bounds):
        yield Remark("bounds", "both runs prove lower bounds of rates only: more waiting lowers them, too")
    for field in ("layer", "request"):
        shares = [_attributed(each, field) for each in (base, candidate)]
        known = [share for share in shares if share is not None]
        if len(known) == len(shares) and max(known) - min(known) > _POINTS:
            said = [human_share(share) for share in known]
            yield Remark(f"attributed-{field}", f"bytes with a {field}: {said[0]} in base, {said[1]} in the candidate")
    ours, theirs = ({warning.code: warning.message for warning in each.warnings} for each in (base, candidate))
    for code in sorted(ours.keys() ^ theirs.keys()):
        where, message = ("base", ours[code]) if code in ours else ("the candidate", theirs[code])
        yield Remark(f"warning-{code}", f"only in {where}: {quoted(message)}")


def _attributed(analysis: Analysis, field: str) -> float | None:
    missing, total = analysis.unattributed.get(field), analysis.totals.bytes
    if missing is None or missing.bytes is None or not total:
        return None
    return 1 - missing.bytes / total
