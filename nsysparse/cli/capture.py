"""`nsysparse capture`: the commands that record a serving system so that its transfers can be attributed."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from nsysparse.cli.place import format_for, write
from nsysparse.cli.talk import say, verbosity_options

if TYPE_CHECKING:
    from nsysparse.capture.entries import Engine
    from nsysparse.capture.lines import Capture

FORMATS = {"text": ".txt", "json": ".json"}
LIST = "list"
INSTALLED = "installed"
_WIDTH = 110
_BASIS = {
    "tried": "options tried with it.",
    "documented": "options from documentation, not tried.",
    "newer": "newer than any known. These are the options of the newest; `nsys profile --help` has the last word.",
}


@click.command("capture")
@click.argument("engine", required=False, metavar="[ENGINE|list]")
@click.option("--role", type=click.Choice(["prefill", "decode"]), help="Only this side. Default: both.")
@click.option(
    "--nsys",
    "version",
    metavar="VERSION",
    help="The nsys that will record, as 2025.6.1, or `installed` for that on PATH. Default: the newest that is known.",
)
@click.option("-f", "--format", "output_format", type=click.Choice(list(FORMATS)), help="Default: by -o, else text.")
@click.option("-o", "--output", metavar="PATH", help="Where to write; default and - are stdout.")
@click.option("--force", is_flag=True, help="Replace a file that nsysparse did not write.")
@verbosity_options
def command(
    engine: str | None,
    role: Literal["prefill", "decode"] | None,
    version: str | None,
    output_format: str | None,
    output: str | None,
    force: bool,  # noqa: FBT001 (click passes flags by name)
) -> None:
    """Print the commands that record a serving system with nsys and export the report.

    Also says what the trace will tell of layers, requests and bytes, and what to do for the rest. Without ENGINE, or
    with `list`, lists the engines.

    \b
        nsysparse capture list
        nsysparse capture vllm --role decode
        nsysparse capture nccl --nsys 2023.4.4
        nsysparse capture sglang --nsys installed -f json
    """
    chosen = format_for(output_format, output, FORMATS, "text")
    from nsysparse.capture.lines import compose, newest
    from nsysparse.capture.loader import engines, find_engine, options
    from nsysparse.capture.versions import installed, parse

    if engine in (None, LIST):
        listed = list(engines().values())
        content = _json([_brief(each) for each in listed]) if chosen == "json" else _listed(listed)
    else:
        found, known = find_engine(str(engine)), options()
        used = newest(known) if version is None else installed() if version == INSTALLED else parse(version)
        capture = compose(found, used, role, known)
        asked = "" if role is None else f" --role {role}"
        head = f"nsysparse capture {found.id}{asked} --nsys {capture.nsys}"
        named = {None: "the newest known (name yours with --nsys)", INSTALLED: "which is on PATH here"}.get(version)
        content = _json(_plain(capture)) if chosen == "json" else _text(capture, head, named)
    target = None if output in (None, "-") else Path(str(output))
    write(content, target, force=force)
    if target is not None:
        say(f"Wrote {target}")


def _json(value: object) -> str:
    import json

    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _brief(engine: "Engine") -> dict[str, object]:
    return {"id": engine.id, "aliases": engine.aliases, "name": engine.name, "leaves": engine.leaves}


def _listed(listed: "list[Engine]") -> str:
    width = max(len(engine.id) for engine in listed)
    return "".join(f"{engine.id:{width}}  {engine.name}\n" for engine in listed)


def _plain(capture: "Capture") -> dict[str, object]:
    from nsysparse import __version__

    engine = capture.engine
    return {
        "nsysparse": __version__,
        "engine": engine.id,
        "name": engine.name,
        "source": engine.source,
        "nsys": {"version": capture.nsys, "options": capture.basis},
        "recordings": [
            {
                "role": each.role,
                "note": each.note,
                "profile": each.profile.line,
                "alternatives": [{"about": other.about, "profile": other.profile.line} for other in each.alternatives],
                "export": each.export.line,
                "sqlite": each.sqlite,
            }
            for each in capture.recordings
        ],
        "extras": [{"option": option, "about": about} for option, about in capture.extras],
        "leaves": engine.leaves,
        "layer": engine.layer,
        "request": engine.request,
        "bytes": engine.bytes,
        "todo": list(engine.todo),
        "lacking": list(capture.lacking),
    }


def _text(capture: "Capture", head: str, named: str | None) -> str:
    engine = capture.engine
    nsys = f"nsys {capture.nsys}" + (f", {named}" if named else "")
    lines = [f"# {head}", *_comment(engine.name), *_comment(f"For {nsys}: {_BASIS[capture.basis]}")]
    for each in capture.recordings:
        lines += ["", *_comment(f"Record {each.role or 'it'}." + (f" {each.note}" if each.note else ""))]
        lines.append(each.profile.shell)
        for other in each.alternatives:
            lines += [*_comment(other.about), other.profile.shell]
        lines += ["# Export it, whole.", each.export.shell]
    lines += ["", "# What the trace will say"]
    for label in ("leaves", "layer", "request", "bytes"):
        lines += _comment(f"{label:8} {getattr(engine, label)}", indent=2, more=9)
    lines += _block("What else to do", engine.todo)
    lines += _block("What may be added to nsys profile", [f"{option}: {about}" for option, about in capture.extras])
    lines += _block(f"What nsys {capture.nsys} lacks", capture.lacking)
    files = " ".join(each.sqlite for each in capture.recordings)
    lines += ["", "# Exports hold command lines, paths and output of programs: docs/explanation/privacy.md"]
    lines += ["# Look what was recorded before anything else.", f"nsysparse inspect {files}"]
    return "\n".join(lines) + "\n"


def _block(title: str, items: "tuple[str, ...] | list[str]") -> list[str]:
    if not items:
        return []
    return ["", f"# {title}", *(line for item in items for line in _comment(f"- {item}", indent=2, more=2))]


def _comment(text: str, indent: int = 0, more: int = 0) -> list[str]:
    from textwrap import wrap

    first = "# " + " " * indent
    return wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=first + " " * more,
        break_long_words=False,
        break_on_hyphens=False,
    )
