"""`nsysparse diff`: two runs, one verdict, and gates for a pipeline."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from nsysparse.analysis import DEFAULT_PURPOSE, PURPOSES
from nsysparse.cli.gates import hold
from nsysparse.cli.markdown_options import check_markdown, max_bytes_option, room
from nsysparse.cli.numbers import part_of_one
from nsysparse.cli.options import AnalysisArguments, analysis_options, files_of, options_of, refuse_options
from nsysparse.cli.place import format_for, write
from nsysparse.cli.settings import LINES, Configured
from nsysparse.cli.talk import progress, say, verbosity_options
from nsysparse.cli.terminal import as_text
from nsysparse.comparison import DEFAULT_NOISE, DEFAULT_SAMPLES
from nsysparse.errors import InputError, UsageError
from nsysparse.render import FORMATS

if TYPE_CHECKING:
    from nsysparse.comparison import Comparison

_LEAST_BARE = 0.01
"""A bare number below one percent is as likely meant as a share."""
EXTENSIONS = {name: known.extension for name, known in FORMATS.items()}


@click.command("diff", cls=Configured)
@click.argument("named", nargs=-1, metavar="BASE CANDIDATE")
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
@max_bytes_option
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
    named: tuple[str, ...],
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
    base, candidate = _two(named)
    chosen = format_for(output_format, output, EXTENSIONS, "text")
    check_markdown(chosen, {"--max-bytes": max_bytes})
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
        to_screen = chosen == "text" and target is None
        content = summary if to_screen else _rendered(comparison, chosen, room(max_bytes))
    read = [path for run in (*bases, *runs) for path in run.paths]
    inputs = [*read, *map(Path, (base, candidate, *more_bases)), *files_of(options)]
    if to_screen:
        click.echo(content, nl=False)  # names are neutral in it, and its colours are ours
    else:
        write(content, target, force=force, inputs=inputs)
    if target is not None:
        click.echo(summary, nl=False)
        say(f"Wrote {target}")
    hold(comparison.gates)


def _two(named: Sequence[str]) -> tuple[str, str]:
    """The base and the candidate."""
    if len(named) == 2:  # noqa: PLR2004 (a comparison is of two)
        return named[0], named[1]
    if len(named) < 2:  # noqa: PLR2004
        raise UsageError("diff compares two runs: BASE and CANDIDATE.", "`nsysparse diff --help` shows how.")
    raise UsageError(
        f"diff compares two runs, and {len(named):,} are named.",
        "Put a pattern in quotes, so that it stays one; name more base runs with --base.",
    )


def _noise(given: str) -> float:
    """Percent, with or without the sign: a bare number could be taken for a share, so it says what it is."""
    is_bare = not given.strip().endswith("%")
    share = part_of_one("--noise-floor", f"{given}%" if is_bare else given, example="5%")
    if is_bare and share < _LEAST_BARE:
        said = f"Say {given}%, or for the share {share * 1e4:g}%."
        raise UsageError(f"--noise-floor {given}: percent, or a share?", said)
    return share


def _rendered(comparison: "Comparison", chosen: str, max_bytes: int) -> str:
    from nsysparse.changes import build, build_review, build_summary

    renderer = FORMATS[chosen]
    if renderer.subject == "result":
        return renderer.render(comparison)
    if chosen == "markdown":
        return renderer.render(build_review(comparison), max_bytes)
    return renderer.render(build_summary(comparison) if chosen == "text" else build(comparison))
