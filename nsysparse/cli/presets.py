"""`nsysparse presets`: which names of ranges are known, and help with teaching it more."""

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from nsysparse.cli.listing import format_option, matches, print_columns, print_json, report_none
from nsysparse.cli.talk import progress, verbosity_options

if TYPE_CHECKING:
    from nsysparse.presets.check import Check, RuleUse, Uses
    from nsysparse.presets.rules import Preset, Rule

_LONGEST = 72


@click.group("presets")
def command() -> None:
    """Show what range names are known, and check a preset of your own.

    A preset knows how one program words its NVTX ranges. Start from one that is built in, and try it on a trace:

    \b
    nsysparse presets list
    nsysparse presets show generic > mine.toml
    nsysparse presets check mine.toml trace.sqlite
    nsysparse report trace.sqlite --preset mine.toml
    """


@command.command("list")
@click.argument("word", required=False)
@format_option
@verbosity_options
def list_(word: str | None, output_format: str) -> None:
    """List built-in presets, strongest first; WORD keeps those with it in name or description.

    \b
    nsysparse presets list
    nsysparse presets list vllm -f json
    """
    from nsysparse.presets.loader import builtin

    chosen = [preset for preset in builtin() if matches(word, preset.name, preset.about)]
    if output_format == "json":
        print_json([_plain(preset) for preset in chosen])
    elif chosen:
        rows = [(each.name, str(len(each.rules)), _probe(each), each.about) for each in chosen]
        print_columns([("name", "rules", "speaks where", "about"), *rows], right=frozenset({1}))
    if not chosen:
        report_none("preset", word)


@command.command()
@click.argument("name", metavar="NAME|FILE")
@format_option
@verbosity_options
def show(name: str, output_format: str) -> None:
    """Show one preset: as the TOML it is written in, or as JSON.

    \b
    nsysparse presets show vllm
    nsysparse presets show generic > mine.toml
    """
    from nsysparse.presets.loader import find, source_text
    from nsysparse.render.names import visible

    preset = find(name)
    if output_format == "json":
        print_json(_plain(preset))
        return
    for line in source_text(name).splitlines():
        click.echo(visible(line))


@command.command()
@click.argument("name", metavar="FILE")
@click.argument("traces", nargs=-1, metavar="[TRACE]...")
@click.option("--top", default=20, show_default=True, metavar="N", type=click.IntRange(0, 10_000),
              help="How many shapes of texts that no rule knows are listed.")  # fmt: skip
@format_option
@verbosity_options
def check(name: str, traces: tuple[str, ...], top: int, output_format: str) -> None:
    """Say all that is wrong with a preset, or what its rules find in a trace and what no rule knows.

    FILE is a preset of yours, or the name of one that is built in. The exit code is 1 where the preset is refused.

    \b
    nsysparse presets check mine.toml
    nsysparse presets check mine.toml trace.sqlite --top 50
    """
    from dataclasses import asdict

    from nsysparse.api import check_preset
    from nsysparse.source.inputs import find_inputs

    with ExitStack() as stack, progress() as tell:
        paths = find_inputs(traces, stack) if traces else []
        found = check_preset(name, paths, top, tell)
    if output_format == "json":
        parts = [{"id": rule.id, "kind": rule.kind, "examples": len(rule.examples)} for rule in found.rules]
        print_json({**asdict(found), "rules": parts})
    else:
        _print(found)
    if found.refusals:
        sys.exit(1)


def _plain(preset: "Preset") -> dict[str, object]:
    from dataclasses import asdict

    return asdict(preset)


def _probe(preset: "Preset") -> str:
    from nsysparse.render.names import shortened

    if not preset.rules:
        return "nowhere"
    parts = [
        " and ".join([f"domain {each.domain}"] * (each.domain is not None) + [f"/{each.pattern}/"] * bool(each.pattern))
        for each in preset.probes
    ]
    return shortened(" and ".join(parts), _LONGEST) or "everywhere"


def _print(found: "Check") -> None:
    from nsysparse.render.names import visible
    from nsysparse.units import counted

    for refusal in found.refusals:
        click.echo(visible(str(refusal)))
        if refusal.fix:
            click.echo(f"  {visible(refusal.fix)}")
    if found.preset is not None:
        examples = sum(len(rule.examples) for rule in found.rules)
        what = f"{counted(len(found.rules), 'rule')}, {counted(examples, 'example')}"
        click.echo(f"{visible(found.preset)}: good, {what}")
    for trace in found.traces:
        _print_uses(trace, found.rules)


def _print_uses(trace: "Uses", rules: "tuple[Rule, ...]") -> None:
    from nsysparse.render.names import shortened, visible
    from nsysparse.units import counted

    texts, ranges = counted(trace.text_count, "text"), counted(trace.range_count, "range")
    click.echo(f"\n{visible(trace.trace)}: {texts} in {ranges}")
    click.echo(f"  presets that speak: {visible(', '.join(trace.active))}")
    if not trace.is_active:
        click.echo("  This preset does not: no text is as its probe says, so its rules are not used here.")
    if rules:
        rows = [("  rule", "kind", "texts", "ranges", "finds", "in"), *(_row(use) for use in trace.rules)]
        print_columns(rows, right=frozenset({2, 3}))
    for use in trace.rules:
        for other, count in use.overruled_by.items():
            click.echo(f"  {visible(use.rule)} is overruled by {visible(other)} in {counted(count, 'text')}")
        for other, count in use.overrules.items():
            click.echo(f"  {visible(use.rule)} overrules {visible(other)} in {counted(count, 'text')}")
    texts, ranges = counted(trace.unknown_text_count, "text"), counted(trace.unknown_range_count, "range")
    click.echo(f"  No rule knows {texts} in {ranges}.")
    if trace.unknown:
        shapes = [(f"  {each.range_count:,}", f"{each.text_count:,}", shortened(each.example, _LONGEST))
                  for each in trace.unknown]  # fmt: skip
        print_columns([("  ranges", "texts", "such as"), *shapes], right=frozenset({0, 1}))


def _row(use: "RuleUse") -> tuple[str, ...]:
    from nsysparse.render.names import shortened, visible

    fields = ", ".join(f"{name} {value}" for name, value in use.fields.items())
    example = "" if use.example is None else shortened(use.example, _LONGEST)
    return (f"  {visible(use.rule)}", use.kind, f"{use.text_count:,}", f"{use.range_count:,}",
            shortened(fields, _LONGEST) or "-", example)  # fmt: skip
