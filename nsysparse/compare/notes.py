"""What differs between two runs beside their transfers: what a reader must know before believing a difference."""

from collections import Counter
from collections.abc import Iterator, Sequence

from nsysparse.analysis import MISSING_FILES, Analysis, Setting
from nsysparse.compare.alike import median_sizes, no_link_in_common, sizes_apart
from nsysparse.compare.matching import BY_ID, Partners, RequestMatch, Traces
from nsysparse.compare.measures import DEVICES_MS
from nsysparse.compare.prompts import prompt_lengths_apart
from nsysparse.compare.wording import called, quoted
from nsysparse.comparison import Remark
from nsysparse.units import NS_PER_MS, counted, human_bytes, human_ns, human_share

_SETTINGS = {
    "model": "--model", "tp": "--tp", "kv_dtype": "--kv-dtype", "wire_dtype": "--wire-dtype", "link": "--link",
    "peak_gb_s": "--peak", "box": "--box", "measured": "--measured", "purpose": "--purpose", "ttft": "--ttft",
    "clock": "--clock", "utc_error_ms": "--utc-error", "layers": "--layers", "nccl_buffsize": "--nccl-buffsize",
    "overlap_attribution": "--overlap-attribution", "normalize_request": "--normalize-request",
    "request_pattern": "--request-pattern", "presets": "Presets that spoke",
}  # fmt: skip
"""Settings that change what is compared, by the options that set them."""
_MOST_LISTED = 3
PARTIAL = "partial-"
"""What codes of remarks begin with that say what the numbers of a run are not of."""
_POINTS = 0.05
"""Shares of what is attributed that differ by more than this make sums per layer or request differ, too."""


def remarks(
    bases: Sequence[Analysis],
    candidate: Analysis,
    traces: Traces,
    partners: Partners,
    match: RequestMatch,
    noise: float,
) -> tuple[Remark, ...]:
    """All that differs, in the order of what matters most.

    Args:
        bases: The base runs; but for prompts, of which each must have the like, the first speaks for all.
        candidate: The candidate.
        traces: How their files were matched.
        partners: How their links were.
        match: How their requests were.
        noise: Share of the larger value by which lengths of prompts, or sizes, may differ unsaid.
    """
    base = bases[0]
    return (
        *_parts(bases, candidate),
        *_copies(bases, candidate),
        *_kinds(base, candidate),
        *_asked(base, candidate),
        *_matched(traces, partners),
        *_shapes(base, candidate),
        *_work(base, candidate, match),
        *_prompts(bases, candidate, noise),
        *_sizes(bases, candidate, noise),
        *_device_clocks(base, candidate, noise),
        *_sizeless(base, candidate),
        *_known(base, candidate),
    )


def uneven(bases: Sequence[Analysis], candidate: Analysis) -> str:
    """Why no change between the runs is one of theirs: of one more was read than of another; empty otherwise."""
    runs = [*bases, candidate]
    if any(each.code == MISSING_FILES for run in runs for each in run.of_a_part):
        return "files of a run could not be read"
    if len({_value(run.settings.get("time_range")) for run in runs}) > 1:
        return "other parts of the time were read of base than of the candidate"
    return ""


def _parts(bases: Sequence[Analysis], candidate: Analysis) -> Iterator[Remark]:
    """What the numbers of either side are not of."""
    ours = {each.message: each for base in bases for each in base.of_a_part}
    theirs = {each.message: each for each in candidate.of_a_part}
    for message, warning in sorted((ours | theirs).items()):
        where = "both" if message in ours and message in theirs else "base" if message in ours else "the candidate"
        yield Remark(f"{PARTIAL}{warning.code}", f"{where}: {quoted(message)}")


def _copies(bases: Sequence[Analysis], candidate: Analysis) -> Iterator[Remark]:
    """Runs that are one and the same, under whatever names: of several base runs they make the spread a lie."""
    if len(bases) == 1:
        return
    twice = sum(base in bases[:place] for place, base in enumerate(bases))
    if twice:
        yield Remark(
            "base-runs-alike", f"{twice:,} of {len(bases):,} base runs repeat another, so less is noise than seems"
        )
    if candidate in bases:
        yield Remark(
            "candidate-among-bases", "the candidate is one of the base runs, so what it changed passes for noise"
        )


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
        return " + ".join(map(str, value)) or "none"
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
    if no_link_in_common(partners):
        yield Remark("no-link-in-common", "no link of one run is one of the other, so rates do not decide")
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


def _work(base: Analysis, candidate: Analysis, match: RequestMatch) -> Iterator[Remark]:
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


def _prompts(bases: Sequence[Analysis], candidate: Analysis, noise: float) -> Iterator[Remark]:
    """Where prompts differ from those of any base run, of the first of these."""
    for base in bases:
        for name, ours, theirs in prompt_lengths_apart(base, candidate, noise)[:1]:
            yield Remark(
                "prompts",
                f"prompts have {ours:,.0f} tokens {name} in base, {theirs:,.0f} in the candidate: times per request"
                " differ for that alone, so only those of similar prompts decide",
            )
            return


def _sizes(bases: Sequence[Analysis], candidate: Analysis, noise: float) -> Iterator[Remark]:
    """Where messages differ in size from those of any base run, of the one furthest off."""
    found = [sizes for base in bases if (sizes := median_sizes(base, candidate))]
    ours, theirs = max(found, key=lambda sizes: max(sizes) / (min(sizes) or 1), default=(0.0, 0.0))
    if abs(ours - theirs) <= noise * max(ours, theirs):
        return
    what = "larger ones are faster"
    if any(sizes_apart(base, candidate) for base in bases):
        what += ", so rates do not decide"
    said = [human_bytes(round(size)) for size in (ours, theirs)]
    yield Remark("message-sizes", f"messages have {said[0]} in the median in base, {said[1]} in the candidate: {what}")


def _sizeless(base: Analysis, candidate: Analysis) -> Iterator[Remark]:
    """Where times of kernels are all there is, they may be of more bytes."""
    if all(each.totals.movement_count and not each.totals.bytes for each in (base, candidate)):
        yield Remark("sizes-unknown", "no size is known in either run: kernels of larger messages run longer")


def _device_clocks(base: Analysis, candidate: Analysis, noise: float) -> Iterator[Remark]:
    """How far the clocks of two devices alone may move the wire rate of messages as short as these."""
    took = [took for each in (base, candidate) if (took := _wire_ms(each))]
    apart = DEVICES_MS / min(took) if took else 0.0
    if apart > noise:
        yield Remark(
            "device-clocks",
            f"a message takes {human_ns(round(min(took) * NS_PER_MS))}: clocks of two devices, which may be 30 \u00b5s"
            f" apart, move wire rates by up to {human_share(min(apart, 1.0))} from run to run, in all layers alike",
        )


def _wire_ms(analysis: Analysis) -> float | None:
    """How long the median message is on the wire between two devices; None where that is not known."""
    rate, size = analysis.summary.get("wire_gb_s"), analysis.summary.get("message_bytes")
    between = any(link.transport == "nccl" and link.src != link.dst for link in analysis.links)
    if not between or rate is None or size is None or not rate.p50 or size.p50 is None:
        return None
    return size.p50 / rate.p50 / NS_PER_MS


def _known(base: Analysis, candidate: Analysis) -> Iterator[Remark]:
    """How much is known of each run, and how well."""
    methods = [sorted({clock.method for clock in each.clocks or ()}) for each in (base, candidate)]
    yield from _differ("clocks", "Clocks", *(", ".join(each) or "one" for each in methods))
    bounds = [[bool(link.headline_is_bound) for link in each.links if link.headline_gb_s] for each in (base, candidate)]
    if all(bounds) and any(all(each) for each in bounds):
        only = [where for where, each in zip(("base", "the candidate"), bounds, strict=True) if all(each)]
        which = "both runs prove" if len(only) == len(bounds) else f"only {only[0]} proves"
        what = "lower bounds of rates only" if len(only) == len(bounds) else "no more than lower bounds of rates"
        yield Remark("bounds", f"{which} {what}: more waiting lowers them, too")
    for field in ("layer", "request"):
        shares = [_attributed(each, field) for each in (base, candidate)]
        known = [share for share in shares if share is not None]
        if len(known) == len(shares) and max(known) - min(known) > _POINTS:
            said = [human_share(share) for share in known]
            yield Remark(f"attributed-{field}", f"bytes with a {field}: {said[0]} in base, {said[1]} in the candidate")
    ours, theirs = (
        {warning.code: warning.message for warning in each.warnings if warning not in each.of_a_part}
        for each in (base, candidate)
    )
    for code in sorted(ours.keys() ^ theirs.keys()):
        where, message = ("base", ours[code]) if code in ours else ("the candidate", theirs[code])
        yield Remark(f"warning-{code}", f"only in {where}: {quoted(message)}")


def _attributed(analysis: Analysis, field: str) -> float | None:
    missing, total = analysis.unattributed.get(field), analysis.totals.bytes
    if missing is None or missing.bytes is None or not total:
        return None
    return 1 - missing.bytes / total
