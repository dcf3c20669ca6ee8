# ruff: noqa: INP001 (a script beside the pages it writes, no package)
"""Writes the reference pages that say what the code says, from capture to warnings.

`python docs/generate.py` writes the pages; with `--check` it exits 1 and names those that are no longer current.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import getdoc
from pathlib import Path

import click
import polars as pl

from nsysparse import frames
from nsysparse.capture.entries import Option
from nsysparse.capture.lines import Capture, compose, newest
from nsysparse.capture.loader import engines, options
from nsysparse.cli import cli, keys
from nsysparse.cli.export import FRAMES
from nsysparse.cli.settings import Configured
from nsysparse.compare.measures import STATISTICS
from nsysparse.compare.of_parts import LAYERS, LINKS
from nsysparse.compare.of_run import FAMILIES, SINGLE
from nsysparse.metrics.warnings import MESSAGES
from nsysparse.presets.loader import FIELDS, KINDS, Preset, Rule, builtin, builtin_rules
from nsysparse.source import schema
from nsysparse.source.schema import TableSpec
from nsysparse.transports import TRANSPORTS, Transport

REFERENCE = Path(__file__).resolve().parent / "reference"
HEAD = "<!-- Written by docs/generate.py: do not edit. `make docs-write` writes it again. -->"
HELP_WIDTH = 92


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with --check compare them; returns the exit code."""
    pages = {REFERENCE / name: "\n".join([HEAD, "", *page()]).rstrip() + "\n" for name, page in PAGES.items()}
    if list(arguments) not in ([], ["--check"]):
        sys.stderr.write(f"{__doc__}")
        return 2
    if not arguments:
        for path, text in pages.items():
            path.write_text(text, encoding="utf-8")
        return 0
    stale = [path for path, text in pages.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for path in stale:
        sys.stderr.write(f"docs/reference/{path.name} is not current: run `make docs-write`\n")
    return 1 if stale else 0


# --- capture ----------------------------------------------------------------------------------------------------------


CAPTURE_HEAD = """
# Capture

What `nsysparse capture ENGINE` prints, for nsys {newest}. Which version of nsys knows which option stands
[below](#options-of-nsys): for another, `nsysparse capture ENGINE --nsys VERSION` leaves out or respells what that one
lacks, which would end it with an error. [How to capture](../how-to/capture.md) says why these options. Capitals are
yours to fill in; options of servers are those of the versions named, newer ones may have renamed them.
"""
OPTIONS_HEAD = """
## Options of nsys

Tried with nsys {tried}; what is said of others is from documentation. Where that names no first version, `from` is the
first with which the option was seen in use.
"""


def capture_page() -> Iterator[str]:
    """Per engine its commands and what a trace of it says; then the options of nsys by version."""
    known = options()
    yield from CAPTURE_HEAD.format(newest=known.releases[-1].version).strip().splitlines()
    yield ""
    yield from _table(("engine", "is"), ((f"[`{each.id}`](#{each.id})", each.name) for each in engines().values()))
    for engine in engines().values():
        yield from _captured(compose(engine, newest(known), None, known))
    tried = " and ".join(each.version for each in known.releases if each.basis == "tried")
    yield from OPTIONS_HEAD.format(tried=tried).strip().splitlines()
    yield ""
    rows = (row for option in known.options.values() for row in _option_rows(option))
    yield from _table(("option", "of", "from", "to", "for"), rows)


def _captured(capture: Capture) -> Iterator[str]:
    engine = capture.engine
    also = f", also called {_codes(engine.aliases)}" if engine.aliases else ""
    yield f"## {engine.id}"
    yield ""
    yield f"{engine.name}{also}. Source: {engine.source}."
    yield ""
    said = (("leaves", engine.leaves), ("layer", engine.layer), ("request", engine.request), ("bytes", engine.bytes))
    yield from (f"- {what}: {value}." for what, value in said)
    yield ""
    yield "```sh"
    for each in capture.recordings:
        yield f"# {each.role or 'record'}" + (f": {each.note}" if each.note else "")
        yield each.profile.shell
        yield each.export.shell
        for other in each.alternatives:
            yield f"# {other.about}"
            yield other.profile.shell
    yield "```"
    yield ""
    yield from (f"- {_plain_link(each)}" for each in engine.todo)
    yield from (f"- To add: `{option}`, {about}." for option, about in capture.extras)
    yield ""


def _plain_link(text: str) -> str:
    return text.replace("docs/reference/convention.md", "[the convention](convention.md)")


def _option_rows(option: Option) -> Iterator[tuple[str, ...]]:
    where = {"trace": "`nsys profile -t`"}.get(option.command, f"`nsys {option.command}`")
    for each in option.spellings:
        yield f"`{each.text}`", where, each.since, each.until or "", option.about


# --- commands ---------------------------------------------------------------------------------------------------------


def cli_page() -> Iterator[str]:
    """Every command with its whole help."""
    yield from CLI_HEAD.strip().splitlines()
    yield ""
    yield from _table(
        ("exit code", "means"),
        [
            ("0", "done; a stated “unknown” is an answer too"),
            ("1", "could not be done: the message says what and where, the line below it what to do"),
            ("2", "the command line asks for something that does not exist"),
            ("3", "all is written, and a gate failed: `diff --fail-on`, `report --fail-over-threshold`"),
            ("4", "all is written, and a gate has no answer: what it asks for is not known"),
            ("130", "interrupted"),
        ],
    )
    for context in _contexts(cli, "nsysparse", None):
        yield f"## {context.command_path}"
        yield ""
        yield "```text"
        yield from (line.rstrip() for line in context.command.get_help(context).splitlines())
        yield "```"
        yield ""


CLI_HEAD = """
# The command line

Data goes to stdout; errors, progress and where a file went go to stderr. `-f` names the format, `-o` the place (`-o -`
is stdout, and `report` then prints no summary). A trace cannot be read from stdin: SQLite needs a file it can seek in.
`python -m nsysparse` is the same program.
"""


def _contexts(command: click.Command, name: str, parent: click.Context | None) -> Iterator[click.Context]:
    """The command and all below it, each in the context in which its help reads as for a user."""
    width = HELP_WIDTH
    context = click.Context(command, parent, name, terminal_width=width, max_content_width=width)
    context.help_option_names = ["-h", "--help"]
    yield context
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            below = command.get_command(context, each)
            assert below is not None, each  # noqa: S101 (a listed command exists)
            yield from _contexts(below, each, context)


# --- config -----------------------------------------------------------------------------------------------------------


CONFIG_HEAD = """
# Keys of the config file

What `nsysparse.toml`, `[tool.nsysparse]` in `pyproject.toml`, and variables of the environment can set
([how to](../how-to/configure.md)), and which commands read it. [The command line](cli.md) says what each option means.
"""


def config_page() -> Iterator[str]:
    """Every key with its variable, what it takes, and who reads it."""
    yield from CONFIG_HEAD.strip().splitlines()
    yield ""
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    reading = {name: each.settable() for name, each in found.items() if isinstance(each, Configured)}
    titles = ("key", "variable", "takes", "read by")
    yield from _table(titles, (_key_row(key, option, reading) for key, option in sorted(keys.shared().items())))
    for name, known in keys.tables().items():
        yield f"## In the table [{name}]"
        yield ""
        yield from _table(titles, (_key_row(key, option, reading) for key, option in sorted(known.items())))


def _key_row(key: str, option: click.Option, reading: Mapping[str, Mapping[str, click.Option]]) -> tuple[str, ...]:
    readers = ", ".join(f"`{name}`" for name, known in reading.items() if key in known)
    return (f"`{key}`", f"`{keys.variable(key)}`", _takes(option), readers)


def _takes(option: click.Option) -> str:
    if option.is_flag:
        return "true or false"
    if isinstance(option.type, click.Choice):
        return " or ".join(f"`{each}`" for each in option.type.choices)
    return f"{'a list of ' if option.multiple else ''}{option.metavar or option.type.name.upper()}"


# --- frames -----------------------------------------------------------------------------------------------------------

# What a column means wherever nsysparse.frames does not say it beside the column itself.
_NVTX_NOTE = """
Sorted by process, thread, start, and the longer first. A GPU operation belongs to a range when its launching call
starts and ends inside the range on the same thread; for a start/end range that another thread closed, inside it
anywhere in the process. Marks are left out.
"""
_SCOPES_NOTE = """
Sorted and projected as `nvtx_ranges`. Marks, as `kv_role`, hold nothing and are left out.
"""
_TRANSFERS_NOTE = """
One row per side that was recorded, sorted by input, process, thread and call. Sums over movements take the rows with
`is_movement`. Each side has its own layer and request, or its pair's where it does not know them. `layer=all` needs
`--layers`, or `kv_role` marks that agree.
"""
EXPORTED: dict[str, tuple[type[frames.Schema], Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "nvtx_ranges": (frames.NvtxRanges, lambda frame: frame, _NVTX_NOTE),
    "scopes": (frames.Scopes, lambda frame: frame, _SCOPES_NOTE),
    "gpu_ops": (frames.GpuOps, frames.exported_gpu_ops, "Sorted by start, end and device."),
    "transfers": (frames.Transfers, frames.exported_transfers, _TRANSFERS_NOTE),
    "attributions": (
        frames.Shares,
        lambda frame: frame,
        "Sorted by transfer; only those with `is_movement` have rows.",
    ),
    "exchanges": (frames.Exchanges, lambda frame: frame, "Sorted by input and time. Two kernels meet once."),
}
BETWEEN = (
    frames.Labels,
    frames.Ranges,
    frames.Payloads,
    frames.NcclOps,
    frames.GpuOps,
    frames.UcpEvents,
    frames.Counters,
    frames.Found,
)
_TYPES = {
    pl.String: "text",
    pl.Categorical: "text",
    pl.Enum: "text",
    pl.Boolean: "true/false",
    pl.Int64: "integer",
    pl.UInt32: "integer",
    pl.UInt64: "integer",
    pl.Float64: "number",
}
_FROM = {"pid": "process", "tid": "thread"}
_FROM_ABOUT = {"pid": "process id of the operating system", "tid": "thread id of the operating system"}


FRAMES_HEAD = """
# Frames

    nsysparse export TRACE... --frame NAME -f parquet|csv|ndjson -o PATH|-

One row per record, totally sorted, so that the same input gives the same file. Times are integer nanoseconds on the
clock of their own trace; intervals are half-open. More columns may be added at the end. In CSV, a text that a
spreadsheet would run as a formula gets a leading apostrophe. [Metrics](../metrics.md) defines the terms.
"""


def frames_page() -> Iterator[str]:
    """Columns of the exported frames as they are really written, then those between stages."""
    yield from FRAMES_HEAD.strip().splitlines()
    yield ""
    for name in FRAMES:
        schema, written, note = EXPORTED[name]
        yield f"## {name}"
        yield ""
        yield f"{getdoc(schema)}"
        yield from note.strip().splitlines()
        yield ""
        yield from _columns(schema, written(schema.create_empty()).schema)
    yield "# Between stages"
    yield ""
    yield "Not exported; for authors of transports and presets. Each is validated where it leaves its stage."
    yield ""
    for schema in BETWEEN:
        yield f"## {schema.__name__}"
        yield ""
        yield f"{getdoc(schema)}"
        yield ""
        yield from _columns(schema, schema.create_empty().schema)


def _columns(schema: type[frames.Schema], written: pl.Schema) -> Iterator[str]:
    declared = schema.columns()
    rows = []
    for name, dtype in written.items():
        column = declared.get(name) or declared[_FROM[name]]
        meaning = column.about if name in declared else _FROM_ABOUT[name]
        rows.append((f"`{name}`", _TYPES[type(dtype)], "yes" if column.nullable else "", meaning))
    yield from _table(("column", "type", "may be null", "meaning"), rows)


# --- presets ----------------------------------------------------------------------------------------------------------


def presets_page() -> Iterator[str]:
    """The file format, then every built-in preset and rule with its examples."""
    yield from PRESET_FORMAT.strip().splitlines()
    yield ""
    yield "## Kinds"
    yield ""
    yield from _table(("kind", "a range of it is"), ((f"`{kind}`", about) for kind, about in KINDS.items()))
    yield "## Fields"
    yield ""
    yield "What this version does with a field hangs on the kind; those without use here are read for what comes later."
    yield ""
    yield from _table(("field", "means"), ((f"`{name}`", FIELD_MEANINGS[name]) for name in FIELDS))
    yield "## Built-in presets, strongest first"
    yield ""
    yield from _table(
        ("preset", "rules", "speaks in a trace where", "about"), (_preset_row(each) for each in builtin())
    )
    yield "## Built-in rules, strongest first"
    yield ""
    yield from _table(("rule", "kind", "says", "where", "purpose"), (_rule_row(rule) for rule in builtin_rules()))
    yield "## What they match"
    yield ""
    yield "Each example is a test: the rule must match it and find exactly these fields."
    yield ""
    for rule in builtin_rules():
        yield f"### {rule.cite}"
        yield ""
        yield "```toml"
        yield f"pattern = {_literal(rule.pattern)}"
        yield from (f"fields.{name} = {_literal(pattern)}" for name, pattern in rule.fields.items())
        yield from (f'says.{name} = "{value}"' for name, value in rule.says.items())
        yield "```"
        yield ""
        for example in rule.examples:
            found = ", ".join(f"{name} `{value}`" for name, value in example.fields.items())
            yield f"- `{example.text}` → {'nothing' if rule.drop else found or 'no field'}"
        yield ""


FIELD_MEANINGS = {
    "layer": "`7`, `0-31` (inclusive), `0,2,4` or `all`",
    "layer_bytes": "bytes of each named layer, with commas",
    "request": "id, or several with commas",
    "request_bytes": "bytes of each named request, with commas",
    "bytes": "size of what moves",
    "role": "`prefill` or `decode`: what the process, or the side of a transfer, is for",
    "phase": "`prefill`, `decode` or `mixed`: what a step works on",
    "prompt": "tokens of the prompt",
    "layers": "layers of the model",
    "op": "`send`, `recv`, `put`, `get`, `copy`, `offload` or `load`",
    "xfer": "id of a transfer, the same on both sides",
    "peer": "rank or name of the other side",
    "step": "number of a step of the engine",
    "tokens": "tokens that a step works on, or that a transfer carries",
    "requests": "ids of the requests of a step, with commas",
    "ctx_reqs": "how many requests of a step work on their prompt",
    "gen_reqs": "how many requests of a step generate",
    "tp": "tensor-parallel rank or size",
    "pp": "pipeline-parallel rank or size",
    "rank": "own rank",
    "chunk": "which part of a request, `i` or `i/n`",
    "blocks": "number of cache blocks",
    "order": "how the sends of a step follow; `layer-major`: layer by layer, within one request by request",
    "ttft": "`decode-emits-first` or `prefill-emits-first`: which side emits the first token",
    "own_layers": "the layers of a process, `7-14`, where it has some of the model's only",
}

PRESET_FORMAT = """
# Presets

A preset knows how one program words its NVTX ranges. It turns names into what the later stages need: the kind of range,
fields such as layer and request, and whether what happens inside moves KV. It is a TOML file.
[Write a preset](../how-to/write-a-preset.md) goes through one step by step.

```toml
name = "mine"                           # a rule is cited as name/id
about = "ranges of my server"
# ttft = "decode-emits-first"           # or prefill-emits-first: who emits the first token; leave out when not told

[probe]                                 # without it the rules speak in every trace; see below
pattern = '^srv:'
# domain = "NAME"

[[rule]]
id = "send"
kind = "transfer"                       # see Kinds
pattern = '^srv:send (?P<request>\\w+)/(?P<layer>\\d+)'  # which texts; groups with the name of a field find it
# purpose = "kv"                        # or "other": what a transfer issued inside is for; leave out when not told
# domain = "NAME"                       # only ranges in the domain of that name
# default_domain = true                 # only ranges in NVTX's default domain
# drop = true                           # instead of kind: what it matches says nothing
says = { role = "prefill" }             # fields that the text implies
[rule.fields]                           # for keys that come in any order: a pattern with one group each
bytes = '\\bbytes=(\\d+)'
[[rule.examples]]                       # at least one; they are the rule's tests
text = "srv:send r1/3 bytes=4096"
fields = { request = "r1", layer = "3", bytes = "4096" }  # what the text gives, without what `says` adds
```

- `--preset FILE` of `report`, `export` and `inspect` reads a file; its rules are stronger than all that is built in,
  and of several files the first is strongest. `--preset NAME` lets only the named built-in presets speak, whatever
  their probes say. Default: all whose probe matches.
- A preset speaks in a trace where its probe matches some text of it. Under several `[[probe]]` each must match some
  text.
- Where several rules match one text, each field and the purpose come from the strongest rule that has them, the kind
  from the strongest that is not `scope`. A rule with `drop = true` silences all weaker ones.
- A rule that is stronger than `own/kv_transfer` and matches its texts too takes its place with its own kind and
  purpose. `nsysparse presets check FILE TRACE` says which rules a preset overrules.
- What a range says that is no `transfer` is `nested` ([provenance](../metrics.md#layers-and-requests)). `layer = "all"`
  in `says` of a `scope` is divided evenly (`estimated`) where the number of layers is known, and gives way to any range
  that names layers.
- `--request-pattern REGEX` is a strongest rule that finds only `request`: its group of that name, else its first.
- Patterns run in a regex engine whose time is linear in the text: no look-around, no back-references. A pattern that
  is too large once compiled is refused, as is one that matches the empty text.
- An example that its rule does not match, or in which it finds other fields, is refused; so is one of which a stronger
  rule of the same preset says something else. So are unknown keys, kinds and fields, and files over 1 MB.
- Names of NCCL's own ranges are never matched; a probe sees them.
"""


def _literal(pattern: str) -> str:
    return f"'''{pattern}'''" if "'" in pattern else f"'{pattern}'"


def _preset_row(preset: Preset) -> tuple[str, ...]:
    probes = [" in ".join(
        [f"a text matches `{each.pattern}`"] * bool(each.pattern) + [f"domain `{each.domain}`"] * bool(each.domain)
    ) for each in preset.probes]  # fmt: skip
    where = "; and ".join(probes) or ("every trace" if preset.rules else "none")
    return (f"`{preset.name}`", str(len(preset.rules)), where, preset.about)


def _rule_row(rule: Rule) -> tuple[str, ...]:
    says = ", ".join([*(f"`{name}`" for name in rule.captures), *(f"`{k}` = {v}" for k, v in rule.says.items())])
    where = f"domain `{rule.domain}`" if rule.domain else "default domain" if rule.default_domain else "any domain"
    return (f"`{rule.cite}`", rule.kind, says or "", where, rule.purpose or "")


# --- transports -------------------------------------------------------------------------------------------------------


TRANSPORTS_HEAD = """
# Transports

What a transfer is found by, best source first: where several recorded one movement, the one that comes first stands,
and the others are noted in `evidence` of the transfer. `nsysparse inspect` says for each how many transfers it found,
and where it found none whether it could look: that hangs on [capabilities](capabilities.md).

No transport sees RDMA that an engine does of its own, as Mooncake's transfer engine does for SGLang and vLLM's
`MooncakeConnector`: it leaves no row of any kind. [Annotate](convention.md) it from post to completion, or sample the
counters of the adapters ([how to capture](../how-to/capture.md#engines)).
"""
TABLES_HEAD = """
Every table that is read, with the exporter's names of its columns. Where a table exists and lacks a required column,
the file is refused; an optional column that is missing reads as unknown. Counters, and the nodes of CUDA graphs, are
left out where their tables lack a column. Nothing else of a file is read ([privacy](../explanation/privacy.md)).
"""
# Columns of NVTX_EVENTS of which values are read for some names only; of others, whether there are any.
_NUMBERS = ("unsigned_value", "signed_value")
_CARRIED = {name: theirs for name, (theirs, _) in schema.NVTX_CARRIED.columns.items() if name != schema.ROW}
_NVTX_MORE: dict[str, tuple[str, Sequence[str]]] = {
    "nccl": ("of NCCL's own rows", [theirs for name, theirs in _CARRIED.items() if name not in _NUMBERS]),
    "nixl": ("of NIXL's own rows", list(_CARRIED.values())),
}


def transports_page() -> Iterator[str]:
    """Per transport what it finds, needs and cannot see; then the columns of all tables that are read."""
    yield from TRANSPORTS_HEAD.strip().splitlines()
    yield ""
    for transport in TRANSPORTS:
        yield from _transport(transport)
    yield "# Tables"
    yield ""
    yield from TABLES_HEAD.strip().splitlines()
    yield ""
    needed = list(dict.fromkeys(spec.table for transport in TRANSPORTS for spec in transport.NEEDS))
    specs = [each for value in vars(schema).values() for each in (value if isinstance(value, tuple) else (value,))]
    tables: dict[str, list[TableSpec]] = {name: [] for name in needed}
    for spec in specs:
        if isinstance(spec, TableSpec):
            tables.setdefault(spec.table, []).append(spec)
    yield from _table(("table", "required", "optional"), (_spec_row(name, found) for name, found in tables.items()))


def _transport(transport: Transport) -> Iterator[str]:
    yield f"## {transport.NAME}"
    yield ""
    yield f"Finds {transport.ABOUT}."
    yield ""
    yield f"- Cannot see: {transport.UNSEEN}."
    needs = ", ".join(f"`{spec.table}`" for spec in transport.NEEDS)
    more = _NVTX_MORE.get(transport.NAME)
    yield f"- Reads {needs}" + (f", and {more[0]} {_codes(more[1])}." if more else ".")
    ways = ", or ".join(" and ".join(f"`{each}`" for each in way) for way in transport.SHOWN_BY)
    yield f"- Could look where not absent: {ways}."
    yield ""


def _spec_row(table: str, specs: Sequence[TableSpec]) -> tuple[str, str, str]:
    required = {spec.columns[ours][0] for spec in specs for ours in spec.required}
    named = list(dict.fromkeys(theirs for spec in specs for theirs, _ in spec.columns.values() if theirs))
    return (
        f"`{table}`", _codes([name for name in named if name in required]),
        _codes([name for name in named if name not in required]),
    )  # fmt: skip


def _codes(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


# --- warnings ---------------------------------------------------------------------------------------------------------


WARNINGS_HEAD = """
# Warnings

Something odd that was seen and did not stop the analysis. `warnings[]` of the JSON report has code, message and how
often; the other formats have the message and how often.
"""


def warnings_page() -> Iterator[str]:
    """Every code that `warnings[]` can hold."""
    yield from WARNINGS_HEAD.strip().splitlines()
    yield ""
    yield from _table(("code", "counts"), ((f"`{code}`", MESSAGES[code]) for code in sorted(MESSAGES)))


GATES = """# Gates and the metrics of a comparison

`nsysparse diff --fail-on METRIC OPERATOR LIMIT`, with `<`, `>`, `<=` or `>=`. The condition says when the gate fails.

- A limit with a sign is of the change: `<-5%` of the base's value, `>+2` in the metric's unit. Without one it is of the
  candidate's own value; a share may be written `0.20` or `20%`.
- `layer.` or `link.` before a metric asks it of every layer or link: any that fails fails it.
- The word `regressed` fails where the verdict is `regressed` or `mixed`. It has no answer where the candidate lacks
  what decides and the base has it.

[Compare two runs](../how-to/compare.md) shows how; [metrics](../metrics.md#comparison) has the rules. A change must
exceed the floor, too, unless no change at all would fail (`<+5%`). What is marked * decides the verdict."""


def gates_page() -> Iterator[str]:
    """Every metric that can be compared, by what it is of."""
    yield from GATES.splitlines()
    yield from ("", "## The whole run, by statistic", "")
    statistics = ", ".join(f"`.{name}`" for name in STATISTICS)
    yield f"Each with one of {statistics}, as in `kv_gap_ms.p99`. The last column has those that are always listed."
    yield ""
    rows = [
        (f"`{each.name}`", each.title, each.unit, each.better, f"{each.floor:g}", _listed(each.listed, each.decides))
        for each in FAMILIES
    ]
    yield from _table(("metric", "is", "unit", "better", "floor", "listed"), rows)
    for title, prefix, measures in (
        ("The whole run, single values", "", SINGLE),
        ("Layers", "layer.", LAYERS),
        ("Links", "link.", LINKS),
    ):
        yield from ("", f"## {title}", "")
        named = [
            (
                f"`{prefix}{each.name}`{'*' if each.decides else ''}",
                each.title,
                each.unit,
                each.better,
                f"{each.floor:g}",
            )
            for each in measures
        ]
        yield from _table(("metric", "is", "unit", "better", "floor"), named)


def _listed(listed: Sequence[str], decides: Sequence[str]) -> str:
    return ", ".join(f"{name}*" if name in decides else name for name in listed)


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(titles)} |"
    yield f"|{'|'.join('---' for _ in titles)}|"
    for row in rows:
        cells = [cell.replace("|", "\\|") for cell in row]
        yield f"| {' | '.join(cells)} |"
    yield ""


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "capture.md": capture_page,
    "cli.md": cli_page,
    "config.md": config_page,
    "frames.md": frames_page,
    "gates.md": gates_page,
    "presets.md": presets_page,
    "transports.md": transports_page,
    "warnings.md": warnings_page,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
