"""`nsysparse diff`: two runs, one verdict, and gates for a pipeline."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from nsysparse.analysis import DEFAULT_PURPOSE, PURPOSES
from nsysparse.cli.numbers import part_of_one
from nsysparse.cli.options import AnalysisArguments, analysis_options, files_of, options_of, refuse_options
from nsysparse.cli.place import format_for, write
from nsysparse.cli.settings import LINES, Configured, is_typed
from nsysparse.cli.talk import progress, say, verbosity_options
from nsysparse.cli.terminal import as_text
from nsysparse.comparison import DEFAULT_NOISE, DEFAULT_SAMPLES
from nsysparse.errors import GateFailed, GateUnanswered, InputError, UsageError
from nsysparse.render import FORMATS
from nsysparse.render.budget import COMMENT_BYTES
from nsysparse.units import counted

if TYPE_CHECKING:
    from nsysparse.comparison import Comparison, Gate

EXTENSIONS = {name: known.extension for name, known in FORMATS.items()}


@click.command("diff", cls=Configured)
@click.argument("base")
@click.argument("candidate")
@click.option(
    "--base",
    "more_bases",
    multiple=True,
    metavar="RUN",
    help="One more run of the base: values are then medians, and how far base runs lie apart is noise. Repeatable.",
)
@click.option("-f", "--format", "output_format", type=click.Choice(list(FORMATS)), help="Default: by -o, else text.")
@click.option("-o", "--output", metavar="PATH", help="Where to write; - is stdout. Default: text on stdout.")
@click.option(
    "--fail-on",
    multiple=True,
    type=LINES,
    metavar="CONDITION",
    help="Exit with 3 where it holds, with 4 where that cannot be told: 'wire_gb_s.p50<-5%' (change),"
    " 'kv_gap_share.p90>0.20' (the candidate's own value), 'layer.wire_gb_s.p50<-10%' (any layer), or 'regressed'."
    " May be repeated.",
)
@click.option(
    "--noise-floor",
    metavar="PERCENT",
    help=f"Share of the larger value by which two must differ to count as changed; default {DEFAULT_NOISE * 100:g}%.",
)
@click.option(
    "--min-samples",
    type=click.IntRange(min=1),
    default=DEFAULT_SAMPLES,
    show_default=True,
    metavar="N",
    help="So many observations a percentile needs in each run to be compared.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(min=0),
    metavar="N",
    help="Markdown: leave out sections, then rows, until it fits, and say which; 0: no limit. Default:"
    f" {COMMENT_BYTES}, for a comment on GitHub.",
)
@click.option("--force", is_flag=True, help="Replace a file that nsysparse did not write.")
@analysis_options
@click.option(
    "--purpose",
    type=click.Choice(list(PURPOSES)),
    default=DEFAULT_PURPOSE,
    show_default=True,
    help="Which traffic counts in both runs.",
)
@verbosity_options
@click.pass_context
def command(
    context: click.Context,
    base: str,
    candidate: str,
    more_bases: tuple[str, ...],
    output_format: str | None,
    output: str | None,
    fail_on: tuple[str, ...],
    noise_floor: str | None,
    min_samples: int,
    max_bytes: int | None,
    force: bool,  # noqa: FBT001 (click passes flags by name)
    purpose: str,
    **known: Unpack[AnalysisArguments],
) -> None:
    """Compare the KV-cache transfer of two runs: did it get better or worse, where, and is that more than noise?

    \b
        nsysparse diff base.sqlite candidate.sqlite
        nsysparse diff base/ candidate/ --fail-on 'wire_gb_s.p50<-5%' --fail-on 'kv_gap_ms.p99>+10%'
        nsysparse diff base.json candidate.json -o comment.md
        nsysparse diff 'runs/main-*.json' candidate.json -o diff.html

    BASE and CANDIDATE are traces, folders or patterns of the traces of one run, or reports that
    `nsysparse report -f json` saved, which compare in no time. Several saved reports as BASE are several runs.
    """
    chosen = format_for(output_format, output, EXTENSIONS, "text")
    if max_bytes is not None and chosen != "markdown" and is_typed("max_bytes"):
        raise UsageError(f"--max-bytes is for Markdown, not for {chosen}.", "Add -f markdown, or -o NAME.md.")
    noise = DEFAULT_NOISE if noise_floor is None else _noise(noise_floor)
    from nsysparse.api import compare_runs
    from nsysparse.changes import build_summary
    from nsysparse.compare import Rules
    from nsysparse.source.inputs import find_runs

    options = options_of(purpose, **known)
    with ExitStack() as stack, progress() as tell:
        bases = [run for name in (base, *more_bases) for run in find_runs(name, stack)]
        runs = find_runs(candidate, stack)
        if len(runs) > 1:
            raise InputError(
                f"{candidate}: holds {len(runs):,} saved reports, and a candidate is one run.", "Name one."
            )
        if all(run.is_saved for run in (*bases, *runs)):
            refuse_options(context, "both runs are saved reports, whose numbers stand")
        rules = Rules(noise, min_samples)
        comparison = compare_runs(bases, runs[0], options, rules, fail_on, tell)
        target = None if output is None or output == "-" else Path(output)
        summary = as_text(build_summary(comparison))
        if chosen == "text" and target is None:
            content = summary
        else:
            content = _rendered(comparison, chosen, COMMENT_BYTES if max_bytes is None else max_bytes)
    read = [path for run in (*bases, *runs) for path in run.paths]
    inputs = [*read, *map(Path, (base, candidate, *more_bases)), *files_of(options)]
    write(content, target, force=force, inputs=inputs)
    if target is not None:
        click.echo(summary, nl=False)
        say(f"Wrote {target}")
    _answer(comparison.gates)


def _noise(given: str) -> float:
    """Percent, with or without the sign: a bare number could be taken for a share, so it says what it is."""
    number = given if given.strip().endswith("%") else f"{given}%"
    return part_of_one("--noise-floor", number, example="5%")


def _rendered(comparison: "Comparison", chosen: str, max_bytes: int) -> str:
    from nsysparse.changes import build, build_review, build_summary

    renderer = FORMATS[chosen]
    if renderer.subject == "analysis":
        return renderer.render(comparison)
    if chosen == "markdown":
        return renderer.render(build_review(comparison), max_bytes)
    return renderer.render(build_summary(comparison) if chosen == "text" else build(comparison))


def _answer(gates: Sequence["Gate"]) -> None:
    """Raise what the gates come to, once everything is written; a failure outweighs what could not be told."""
    failed = [gate for gate in gates if gate.passed is False]
    unanswered = [gate for gate in gates if gate.passed is None]
    if failed:
        raise GateFailed(f"{counted(len(failed), 'gate')} failed: {_said(failed)}.")
    if unanswered:
        raise GateUnanswered(
            f"{counted(len(unanswered), 'gate')} cannot be answered: {_said(unanswered)}.",
            "The comparison says what was missing; `nsysparse inspect TRACE` says how to record it.",
        )


def _said(gates: Sequence["Gate"]) -> str:
    return "; ".join(f"{gate.expression} ({gate.reason})" for gate in gates)
