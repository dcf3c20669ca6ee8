"""What can be said of exports without analysing them: what was recorded, how long prompts are, what presets find."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from nsysparse import __version__
from nsysparse.api.options import Progress, each_file, silent
from nsysparse.api.reading import announcements, find_standing, merged, numbering, read
from nsysparse.attribution import annotate
from nsysparse.inspection import FORMAT_VERSION, Inspection, first_token, look
from nsysparse.presets.check import Check, Uses, uses
from nsysparse.presets.loader import active, examine, load
from nsysparse.purpose import communicators_with_collectives, with_purpose
from nsysparse.roles import process_roles
from nsysparse.source import nccl_domain
from nsysparse.source.extract import read_trace
from nsysparse.steps import find_steps


def inspect(paths: Sequence[Path], progress: Progress = silent, presets: Sequence[str] = ()) -> Inspection:
    """Look at exports without analysing them: what was recorded, and what can be answered.

    Args:
        paths: The .sqlite files.
        progress: Is told what is being done.
        presets: As in `Options`.

    Raises:
        NsysparseError: A file cannot be used.
    """
    looked, named = [], []
    loaded = load(presets)
    for path, trace_id in each_file(paths, progress):
        trace, scopes, heard = read(path, trace_id, loaded, all_gpu_work=True)
        standing = numbering(find_standing(trace, scopes, Counter()), 0)
        decided = with_purpose(standing, scopes, communicators_with_collectives(trace))
        found = annotate(decided, scopes, Counter())
        steps, held = find_steps(trace, scopes, process_roles(decided, scopes), 0, Counter())
        named.append(held.join(steps, on="step_id").select("phase", "request_id"))
        looked.append(look(trace, scopes, found, [each.shown for each in heard]))
    answers = (first_token(pl.concat(named)),)
    return Inspection(FORMAT_VERSION, nsysparse=__version__, traces=tuple(looked), answers=answers)


def prompt_lengths(paths: Sequence[Path], progress: Progress = silent, presets: Sequence[str] = ()) -> list[int | None]:
    """Prompt tokens of every request that the ranges of the exports announce, by request id; None where not told.

    Args:
        paths: The .sqlite files; a request that several announce is one.
        progress: Is told what is being done.
        presets: As in `Options`.

    Raises:
        NsysparseError: A file cannot be used.
    """
    loaded = load(presets)
    told = []
    for path, trace_id in each_file(paths, progress):
        _, scopes, _ = read(path, trace_id, loaded, all_gpu_work=False)
        told.append(announcements(scopes, trace_id))
    lengths: list[int | None] = merged(told)["prompt_tokens"].to_list()
    return lengths


def check_preset(name: str, paths: Sequence[Path] = (), most: int = 20, progress: Progress = silent) -> Check:
    """Whether a preset file is good, and what its rules find in traces.

    Args:
        name: The file, or the name of a built-in preset.
        paths: The .sqlite files.
        most: How many shapes of texts that no rule knows are listed, the most frequent first.
        progress: Is told what is being done.

    Raises:
        NsysparseError: A trace cannot be used, or there is no such preset. What is wrong with it is no error here.
    """
    preset, refusals = examine(name)
    if preset is None:
        return Check(None, (), tuple(refusals), ())
    beside = load(() if preset.origin is None else (name,))
    found: list[Uses] = []
    for path, trace_id in each_file(paths, progress):
        trace = read_trace(path, trace_id, all_gpu_work=False)
        counted = trace.labels.join(trace.ranges.group_by("label_id").agg(range_count=pl.len()), on="label_id")
        speaking = [each.name for each in active(beside, trace.labels)]
        texts = counted.filter(~nccl_domain.is_nccl()).sort("label_id")
        found.append(uses(trace.file, texts, preset.name, beside, speaking, most))
    return Check(preset.name, preset.rules, (), tuple(found))
