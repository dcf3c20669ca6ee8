"""Documentation cannot rot: commands in it run, links resolve, generated pages are current, no name is missing."""

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import click
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from nsysparse.api import inspect
from nsysparse.capture.lines import newest, spelling
from nsysparse.capture.loader import options
from nsysparse.cli import cli
from nsysparse.metrics.reasons import RULES
from nsysparse.metrics.warnings import MESSAGES
from nsysparse.presets.loader import builtin_rules
from nsysparse.source.schema import TableSpec
from nsysparse.transports import TRANSPORTS, Transport

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
REST = "..."
"""In the expected output of a console block: any number of lines."""


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def tokens(page: Path) -> list[Token]:
    return MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8"))


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


# --- commands and their help ------------------------------------------------------------------------------------------


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if path:
        yield path
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from commands(below, (*path, name))


COMMANDS = list(commands(cli))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_is_documented(path: tuple[str, ...]) -> None:
    assert f"\n## nsysparse {' '.join(path)}\n" in text("docs/reference/cli.md")


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_shows_examples_that_can_be_copied(path: tuple[str, ...]) -> None:
    command: click.Command = cli
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found is not None
        command = found
    shown = command.get_help(click.Context(command, info_name=path[-1], terminal_width=120, max_content_width=120))

    assert "\\b" not in shown, "click's mark for unwrapped lines shows up as text"
    examples = [line for line in shown.splitlines() if re.match(rf" +nsysparse {' '.join(path[:1])}\b", line)]
    assert examples, shown


# --- generated pages --------------------------------------------------------------------------------------------------


def test_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


# --- links ------------------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings as GitHub makes them."""
    headings = [
        after for token, after in zip(tokens(page), tokens(page)[1:], strict=False) if token.type == "heading_open"
    ]
    plain = [re.sub(r"[^\w\- ]", "", heading.content.lower()) for heading in headings]
    return {title.replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_relative_links_resolve(page: Path) -> None:
    inline = [child for token in tokens(page) if token.type == "inline" for child in token.children or ()]
    targets = [str(token.attrs["href"]) for token in inline if token.type == "link_open"]
    targets += [str(token.attrs["src"]) for token in inline if token.type == "image"]

    for target in targets:
        if re.match(r"(?:https?|mailto):", target):
            continue
        file, _, anchor = target.partition("#")
        found = page.parent / file if file else page
        assert found.exists(), f"{named(page)} links to {target}"
        assert not anchor or anchor in anchors(found), f"{named(page)} links to {target}"


def test_the_index_leads_to_every_page() -> None:
    index = text("docs/README.md")

    missing = [
        page for page in DOCS.rglob("*.md") if str(page.relative_to(DOCS)) not in index and page.name != "README.md"
    ]

    assert missing == []


# --- console blocks ---------------------------------------------------------------------------------------------------


def console_steps() -> Iterator[tuple[str, str, list[str]]]:
    """(page, command, output shown below it) of every console block."""
    for page in PAGES:
        for token in tokens(page):
            if token.type != "fence" or token.info.split()[:1] != ["console"]:
                continue
            lines = token.content.splitlines()
            starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
            assert starts[:1] == [0], f"{named(page)}: a console block starts with `$ `"
            for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
                yield named(page), lines[start][2:], lines[start + 1 : stop]


STEPS = list(console_steps())


def test_the_readme_shows_a_verdict() -> None:
    assert any(page == "README.md" and command.startswith("nsysparse report") and out for page, command, out in STEPS)


@pytest.mark.parametrize(("page", "command", "shown"), STEPS, ids=[f"{page}: {command}" for page, command, _ in STEPS])
def test_console_blocks_run_and_print_what_they_show(page: str, command: str, shown: list[str], tmp_path: Path) -> None:
    program, *arguments = shlex.split(command)
    if program == "make":
        targets = re.findall(r"^([a-z-]+):", text("Makefile"), flags=re.MULTILINE)
        assert set(arguments) <= set(targets), f"{page}: {command}"
        assert not shown, f"{page}: output of make is not checked"
        return
    assert program == "nsysparse", f"{page}: {command}: console blocks hold nsysparse and make only"
    (tmp_path / "sample_traces").symlink_to(ROOT / "sample_traces")

    done = subprocess.run(
        [sys.executable, "-m", "nsysparse", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    if shown:
        printed = [line.rstrip() for line in done.stdout.splitlines()]
        assert_shown(shown, printed)


def assert_shown(shown: list[str], printed: list[str]) -> None:
    """The lines shown stand in the output in this order, next to each other where no `...` parts them."""
    at, free = 0, False
    for line in shown:
        if line == REST:
            free = True
            continue
        if free:
            assert line in printed[at:], f"not printed: {line}"
            at = printed.index(line, at)
        assert printed[at : at + 1] == [line]
        at, free = at + 1, False
    assert free or at == len(printed), "the output goes on; end the block with ..."


@pytest.mark.parametrize(
    ("shown", "fits"),
    [
        (["a", "b"], True), (["a"], False), (["a", "..."], True), (["...", "b"], True), (["b", "..."], False),
        (["a", "...", "x", "..."], False),
    ],
)  # fmt: skip
def test_shown_output_is_compared(shown: list[str], fits: bool) -> None:  # noqa: FBT001 (a column of the table above)
    if fits:
        assert_shown(shown, ["a", "b"])
    else:
        with pytest.raises(AssertionError):
            assert_shown(shown, ["a", "b"])


def test_examples_in_shell_blocks_use_options_that_exist() -> None:
    lines = [line for page in PAGES for token in tokens(page) if token.type == "fence" and token.info == "sh"
             for line in token.content.splitlines() if line.startswith("nsysparse ")]  # fmt: skip
    assert lines
    for line in lines:
        name, *arguments = shlex.split(line, comments=True)[1:]
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, line
        command.make_context(name, arguments)  # raises on an unknown option or a missing argument


def test_the_nsys_commands_in_pages_use_options_that_the_newest_nsys_knows() -> None:
    known = options()
    spelled = {text for option in known.options.values() if (text := spelling(option, newest(known))) is not None}
    words = {word for text in spelled for word in shlex.split(text)} | {"-t", "-o", "-f"}
    blocks = [token.content for page in PAGES for token in tokens(page) if token.type == "fence" and token.info == "sh"]
    said = [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if "nsys " in line]
    parts = [
        part
        for line in said
        for part in re.findall(r"nsys (?:profile|export) (.*?)(?: [A-Z]+$| [a-z./]+ [^-].*|$)", line)
    ]
    used = {word for part in parts for word in part.split() if word.startswith("-")}

    assert len(parts) > 20
    assert sorted(used - words) == []


# --- names that must not be missing -----------------------------------------------------------------------------------


def counted_codes() -> Iterator[tuple[str, str]]:
    """(pattern, where) of every `anomalies[…]` and every `Counter({…: …})` in the package."""
    for path in sorted((ROOT / "nsysparse").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            keys: list[ast.expr | None] = []
            if (
                isinstance(node, ast.Subscript)
                and getattr(node.value, "id", getattr(node.value, "attr", "")) == "anomalies"
            ):
                keys = [node.slice]
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Counter":
                keys = [key for argument in node.args if isinstance(argument, ast.Dict) for key in argument.keys]
            for key in keys:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value, named(path)
                elif isinstance(key, ast.JoinedStr):
                    parts = [str(part.value) if isinstance(part, ast.Constant) else "*" for part in key.values]
                    yield "".join(parts), named(path)


CODES = sorted(set(counted_codes()))


@pytest.mark.parametrize(("code", "where"), CODES, ids=[f"{code} in {where}" for code, where in CODES])
def test_every_warning_that_is_counted_has_words(code: str, where: str) -> None:
    assert [known for known in MESSAGES if fnmatchcase(known, code)], where


def test_every_warning_with_words_is_counted_somewhere() -> None:
    assert [known for known in MESSAGES if not any(fnmatchcase(known, code) for code, _ in CODES)] == []


def test_every_capability_is_documented() -> None:
    (trace,) = inspect([ROOT / "sample_traces/synthetic/pd-oneprofile.sqlite"]).traces
    rows = re.findall(r"^\| `(\w+)` \|", text("docs/reference/capabilities.md"), flags=re.MULTILINE)

    assert rows == list(trace.capabilities)


@pytest.mark.parametrize("transport", TRANSPORTS, ids=lambda transport: transport.NAME)
def test_every_transport_says_what_it_finds_needs_and_cannot_see(transport: Transport) -> None:
    page = text("docs/reference/transports.md")
    own = page.partition(f"\n## {transport.NAME}\n")[2].partition("\n## ")[0]

    assert transport.ABOUT
    assert transport.UNSEEN
    assert transport.NEEDS
    assert transport.SHOWN_BY
    assert transport.ABOUT in own
    assert transport.UNSEEN in own
    for spec in transport.NEEDS:
        assert isinstance(spec, TableSpec)
        assert f"`{spec.table}`" in own
        assert f"\n| `{spec.table}` | " in page


def test_transports_look_by_capabilities_that_exist() -> None:
    (trace,) = inspect([ROOT / "sample_traces/synthetic/pd-oneprofile.sqlite"]).traces
    names = {name for transport in TRANSPORTS for way in transport.SHOWN_BY for name in way}

    assert sorted(names - set(trace.capabilities)) == []


def test_every_metadata_key_that_may_be_read_is_documented() -> None:
    from nsysparse.source.schema import META_ALLOWED

    rows = re.findall(r"^\| `([A-Z_]+)` \|", text("docs/explanation/privacy.md"), flags=re.MULTILINE)

    assert sorted(rows) == sorted(META_ALLOWED)


def test_the_convention_page_says_what_is_read() -> None:
    page = text("docs/reference/convention.md").partition("## What this version reads")[2]
    rows = dict(re.findall(r"^\| `(kv_\w+)` \| ([^|]*) \|", page, flags=re.MULTILINE))

    said = {rule: re.findall(r"`(\w+)`", fields) for rule, fields in rows.items()}

    assert said == {rule.id: list(rule.fields) for rule in builtin_rules() if rule.preset == "own"}


def test_every_reason_code_is_documented() -> None:
    page = text("docs/metrics.md")

    assert [code for code in sorted({rule.code for rule in RULES}) if f"`{code}`" not in page] == []


def test_every_number_of_the_report_is_in_its_reference() -> None:
    """Last parts of the paths that can be null: each is named in the JSON reference."""
    page = text("docs/reference/report-json.md")
    paths = [rule.path.removesuffix("/value").removesuffix("/*") for rule in RULES if "/settings/" not in rule.path]
    names = {path.rsplit("/", 1)[-1] for path in paths}

    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", page)] == []


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_pages_name_no_path_of_somebodys_machine(page: Path) -> None:
    assert not re.search(r"(?<![\w.])/(?:home|root|work|Users)/", page.read_text(encoding="utf-8"))


def test_commands_and_options_that_we_advise_exist():
    """Every `nsysparse X` and `--option` of ours in the package's own texts is one that the command line has."""
    commands = set(cli.list_commands(click.Context(cli)))
    known = {option for name in commands for option in options_of(name)}
    # Options of nsys and SQLite, in the commands that we print.
    foreign = {
        "--type",
        "--include-blobs",
        "--include-json",
        "--force-overwrite",
        "--cuda-graph-trace",
        "--times",
        "--tables",
        "--ts-normalize",
        "--ts-shift",
        "--trace-fork-before-exec",
        "--gpu-metrics-devices",
        "--gpu-metrics-device",
        "--nic-metrics",
        "--help",
        "--version",
    }
    for path in sorted((ROOT / "nsysparse").rglob("*.py")):
        # The commands of other tools are what `measured` reads and advises; the browser has options of its own.
        if {"testing", "measured", "browser.py"} & set(path.parts):
            continue
        text = path.read_text(encoding="utf-8")
        for command in re.findall(r"[`\"\s]nsysparse ([a-z]+) [A-Z\-`]", text):
            assert command in commands, f"{path.name}: nsysparse {command}"
        for option in re.findall(r"(?<![\w-])(?<!var\()--[a-z][a-z-]+", text):
            assert option in known | foreign, f"{path.name}: {option}"


def options_of(name: str) -> set[str]:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    parts = [command, *getattr(command, "commands", {}).values()]
    return {
        option for part in parts for parameter in part.params for option in (*parameter.opts, *parameter.secondary_opts)
    }


def test_the_layers_of_the_architecture_page_are_those_that_are_checked() -> None:
    contracts = tomllib.loads(text("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["id"] == "layers")
    blocks = [
        token.content.splitlines() for token in tokens(DOCS / "explanation/architecture.md") if token.type == "fence"
    ]

    assert layers in blocks
