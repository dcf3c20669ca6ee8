"""`--help` stays as fast as click: heavy packages load when a command runs, not before."""

import subprocess
import sys
from pathlib import Path

import click
import factories
import pytest

import nsysparse
from nsysparse.cli import COMMANDS, cli
from nsysparse.render import to_json

HEAVY = ("polars", "numpy", "sqlalchemy", "plotly", "jinja2", "rich", "dataframely")
WATCH = """
import sys
from nsysparse.cli import main
try:
    main()
except SystemExit as end:
    print("exit", end.code)
print("loaded", *sorted(name for name in sys.modules if name in {heavy!r}))
"""


def paths(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [path]
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            found += paths(below, (*path, name))
    return found


def python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", paths(cli), ids=lambda path: " ".join(("nsysparse", *path)))
def test_help_loads_nothing_heavy(path: tuple[str, ...]) -> None:
    said = python("-c", WATCH.format(heavy=HEAVY), *path, "--help").splitlines()

    assert said[0].startswith("Usage: ")
    assert said[-1] == "loaded"


@pytest.mark.parametrize(
    "wrong",
    [["reprot"], ["--nothing"], ["report"], ["report", "t.sqlite", "--nothing"], ["kv", "--layers", "x"]],
    ids=" ".join,
)
def test_a_usage_error_loads_nothing_heavy(wrong: list[str]) -> None:
    said = python("-c", WATCH.format(heavy=HEAVY), *wrong).splitlines()

    assert said == ["exit 2", "loaded"]


def test_the_list_of_commands_loads_none_of_them() -> None:
    watched = (*(f"nsysparse.cli.{name}" for name in COMMANDS), "nsysparse.analysis", "tomllib")
    said = python("-c", WATCH.format(heavy=watched), "--help").splitlines()

    assert said[0].startswith("Usage: ")
    assert said[-1] == "loaded"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_what_the_commands_say(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.help is not None
    assert " ".join(command.help.split("\n\n")[0].split()) == COMMANDS[name]


def test_the_watch_notices_a_heavy_package() -> None:
    said = python("-c", "import polars\n" + WATCH.format(heavy=HEAVY), "--help").splitlines()

    assert "polars" in said[-1].split()


def test_importing_the_package_loads_nothing_heavy() -> None:
    said = python("-c", f"import sys, nsysparse; print(*[name for name in {HEAVY!r} if name in sys.modules])")

    assert said.strip() == ""


@pytest.mark.parametrize("name", nsysparse.__all__)
def test_public_names_load_on_first_use(name: str) -> None:
    assert "None" not in python("-c", f"import nsysparse; print(getattr(nsysparse, {name!r}))")


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = nsysparse.nothing


def test_python_m_nsysparse_is_the_command_line() -> None:
    assert python("-m", "nsysparse", "--version") == f"nsysparse, version {nsysparse.__version__}\n"


def test_pictures_beside_a_comment_need_no_plotly() -> None:
    """They are of what stands without scripts."""
    drawn = """
import sys
from nsysparse.document import Document, Heatmap, HeatView, Lane, Lanes, MarkLevel
from nsysparse.render.standalone import figures
level = MarkLevel(0, [0], ["wire"], [0], [9], [9], [1], [None])
blocks = [
    Heatmap("h", "request", "layer", ["a"], ["0"], [HeatView("t", "ms", [[1.0]])], "heatmap-chart"),
    Lanes("l", 0, 9, [Lane("", "gpu0 sends")], [level], [], [], [("wire", "wire")], "timeline-chart"),
]
print(*(each.anchor for each in figures(Document("t", "s", "g", blocks))), "plotly" in sys.modules)
"""
    assert python("-c", drawn).split() == ["heatmap-chart", "timeline-chart", "False"]


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_comparing_saved_reports_loads_nothing_that_reads_traces(form: str, tmp_path: Path) -> None:
    """It costs a small fraction of an analysis only as long as its imports do, too."""
    saved = tmp_path / "saved.json"
    saved.write_text(to_json.render(factories.rich()), encoding="utf-8")
    said = python("-c", WATCH.format(heavy=HEAVY), "diff", str(saved), str(saved), "-f", form).splitlines()
    assert said[-1] == "loaded"
