"""Options that a file or the environment sets: found, checked, weaker than what is typed, and named in errors."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nsysparse.cli import cli, keys
from nsysparse.cli.config_file import MOST_BYTES, ConfigFile, find
from nsysparse.cli.config_values import checked
from nsysparse.cli.options import AnalysisArguments, options_of
from nsysparse.cli.settings import LINES, Configured
from nsysparse.errors import NsysparseError, UsageError
from tests.commands import call, run

SAMPLE = "synthetic/pd-oneprofile.sqlite"
HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "configure.md"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, the root of a repository."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(text: str, path: str = "nsysparse.toml") -> Path:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")
    return Path(path)


def parsed(*arguments: str, name: str = "report", before: tuple[str, ...] = ()) -> click.Context:
    """The context of a command, as its callback gets it; nothing is run."""
    found: list[click.Context] = []
    command = cli.get_command(click.Context(cli), name)
    assert isinstance(command, Configured)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Configured, "invoke", lambda _self, context: found.append(context))
        trace = "llama-3-8b" if name == "kv" else "t.sqlite"
        cli.main([*before, name, trace, *arguments], standalone_mode=False)
    return found[0]


def value(key: str, *arguments: str, name: str = "report") -> object:
    context = parsed(*arguments, name=name)
    assert isinstance(context.command, Configured)
    return context.params[str(context.command.settable()[key].name)]


def refused(text: str, *arguments: str) -> UsageError:
    config(text)
    with pytest.raises(UsageError) as caught:
        parsed(*arguments)
    return caught.value


# --- precedence and sources -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "variable", "file", "wins"),
    [
        (True, True, True, "typed"),
        (False, True, True, "variable"),
        (False, False, True, "file"),
        (False, False, False, None),
        (True, False, True, "typed"),
        (True, True, False, "typed"),
    ],
)
def test_typed_beats_a_variable_beats_a_file_beats_the_default(
    typed: bool,  # noqa: FBT001 (columns of the table above)
    variable: bool,  # noqa: FBT001
    file: bool,  # noqa: FBT001
    wins: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if file:
        config('link = "file"')
    if variable:
        monkeypatch.setenv("NSYSPARSE_LINK", "variable")
    assert value("link", *(["--link", "typed"] if typed else [])) == wins


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    config('link = "file"')
    monkeypatch.setenv("NSYSPARSE_LINK", "")
    assert value("link") == "file"


def test_every_key_has_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, option in keys.shared().items():
        text = {"purpose": "kv", "clock": "utc", "ttft": "decode-emits-first"}.get(key, "1")
        monkeypatch.setenv(f"NSYSPARSE_{key.upper()}", text)
        assert value(key) not in (None, option.get_default(click.Context(cli))), key
        monkeypatch.delenv(f"NSYSPARSE_{key.upper()}")


def test_of_options_that_may_be_repeated_a_variable_has_one_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NSYSPARSE_ROLE", "my trace.sqlite=prefill\n\n other.sqlite=decode\r\n")
    assert value("role") == ("my trace.sqlite=prefill", "other.sqlite=decode")
    monkeypatch.setenv("NSYSPARSE_ROLE", "\n")
    assert value("role") == ()


def test_what_is_typed_replaces_a_whole_list() -> None:
    config('preset = ["vllm", "sglang"]')
    assert value("preset") == ("vllm", "sglang")
    assert value("preset", "--preset", "own") == ("own",)


def test_settings_of_a_report_say_where_each_value_came_from(sample: Callable[[str], Path], project: Path) -> None:
    config('model = "llama-3-8b"\nthreshold = 0.2\nlink = "eth-100g"\nstep_ms = "10..20"\nutc-error = 1', "ci/one.toml")
    command = ("report", sample(SAMPLE), "-f", "json", "-o", "-", "--config", "ci/one.toml", "--tp", "1")
    done = run(*command, cwd=project, NSYSPARSE_LINK="ib-ndr", NSYSPARSE_TTFT="decode-emits-first")
    assert (done.returncode, done.stderr) == (0, "")
    settings = json.loads(done.stdout)["settings"]
    told = {name: (each["value"], each["source"]) for name, each in settings.items()}
    assert told["link"] == ("ib-ndr", "NSYSPARSE_LINK")
    assert told["ttft"] == ("decode-emits-first", "NSYSPARSE_TTFT")
    assert told["model"] == ("llama-3-8b", "one.toml")
    assert told["threshold"] == (0.2, "one.toml")  # the default's value, and yet set
    assert told["step_ms"] == ([10, 20], "one.toml")
    assert told["utc_error_ms"] == (1, "one.toml")
    assert told["tp"] == (1, "option")
    assert told["kv_dtype"] == ("16-bit", "default")
    assert told["box"] == (None, "not given")
    assert json.loads(done.stdout)["lengths"]["step_basis"] == "option"  # told, by whatever
    assert str(project) not in done.stdout


def test_the_same_values_from_a_file_give_the_same_numbers(sample: Callable[[str], Path], project: Path) -> None:
    typed = run(
        "report", sample(SAMPLE), "-f", "json", "-o", "-", "--link", "ib-ndr", "--threshold", "2%",
        "--role", "other.sqlite=decode", cwd=project,
    )  # fmt: skip
    assert typed.returncode == 2, "a role that is typed must mean a trace"
    asked = ("report", sample(SAMPLE), "-f", "json", "-o", "-")
    typed = call(*asked, "--link", "ib-ndr", "--threshold", "2%", cwd=project)
    config('[tool.nsysparse]\nlink = "ib-ndr"\nthreshold = "2%"\nrole = {"other.sqlite" = "decode"}', "pyproject.toml")
    filed = call(*asked, cwd=project)
    assert (typed.returncode, filed.returncode, filed.stderr) == (0, 0, "")
    one, other = json.loads(typed.stdout), json.loads(filed.stdout)
    assert other["settings"]["link"] == {"value": "ib-ndr", "source": "pyproject.toml"}
    assert other["settings"]["roles"] == {"value": "other.sqlite=decode", "source": "pyproject.toml"}
    for each in (one, other):
        each["settings"] = None
        each["reasons"] = [reason for reason in each["reasons"] if not reason["path"].startswith("/settings")]
    assert one == other


def test_a_gate_in_a_file_fails(sample: Callable[[str], Path], project: Path) -> None:
    config("fail_over_threshold = true\nthreshold = 0.02")
    done = call("report", sample(SAMPLE), "-f", "text", "-v", cwd=project)
    assert done.returncode == 3
    assert done.stderr.splitlines()[0] == "Options are set by nsysparse.toml"
    assert call("report", sample(SAMPLE), "-f", "text", "--no-config", cwd=project).returncode == 0
    unset = run("report", sample(SAMPLE), "-f", "text", cwd=project, NSYSPARSE_FAIL_OVER_THRESHOLD="0")
    assert (unset.returncode, unset.stderr) == (0, "")


# --- where it is looked for -------------------------------------------------------------------------------------------


def test_the_nearest_file_upwards_sets_options(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config('link = "root"')
    (project / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir("a/b")
    assert value("link") == "root"
    found = find()
    assert found is not None
    assert found.path == Path("../../nsysparse.toml")
    config('[tool.nsysparse]\nlink = "nearer"', "../pyproject.toml")
    assert value("link") == "nearer"
    config('link = "beside"', "../nsysparse.toml")
    assert value("link") == "beside"
    config("[tool.other]", "pyproject.toml")
    assert value("link") == "beside"


@pytest.mark.parametrize("root", ["folder", "file"])
def test_the_search_ends_at_the_root_of_the_repository(
    root: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config('link = "above"')
    inner = project / "inner" / "deep"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)
    assert value("link") == "above"
    marker = project / "inner" / ".git"
    if root == "folder":
        marker.mkdir()
    else:
        marker.write_text("gitdir: elsewhere", encoding="utf-8")
    assert value("link") is None
    config('link = "at the root"', "../nsysparse.toml")
    assert value("link") == "at the root"


def test_nothing_is_read_beside_a_trace(sample: Callable[[str], Path], project: Path) -> None:
    folder = project / "theirs"
    folder.mkdir()
    shutil.copy(sample(SAMPLE), folder / "t.sqlite")
    (folder / "nsysparse.toml").write_text("no TOML at all", encoding="utf-8")
    done = call("inspect", folder / "t.sqlite", "-o", "out.txt", cwd=project)
    assert (done.returncode, done.stderr) == (0, "Wrote out.txt\n")


@pytest.mark.parametrize("text", ["[tool.other\n", "\0", ""])
def test_a_pyproject_of_others_may_be_as_it_likes(text: str) -> None:
    config(text, "pyproject.toml")
    assert find() is None


def test_a_pyproject_that_only_names_us_is_passed_over() -> None:
    config('[project]\ndependencies = ["nsysparse"]', "pyproject.toml")
    assert find() is None


def test_a_file_is_named_before_or_behind_the_command_and_the_latter_wins() -> None:
    config('link = "found"')
    config('link = "named"', "a/one.toml")
    config('link = "other"', "a/two.toml")
    named = ("--config", "a/one.toml")
    assert parsed(before=named).params["link"] == "named"
    assert parsed(*named).params["link"] == "named"
    assert parsed("--config", "a/two.toml", before=named).params["link"] == "other"
    assert parsed("--no-config", before=named).params["link"] is None
    assert parsed(before=("--no-config",)).params["link"] is None
    assert parsed(*named, before=("--no-config",)).params["link"] == "named"


@pytest.mark.parametrize("before", [True, False])
def test_both_contradict(before: bool) -> None:  # noqa: FBT001 (a column)
    both = ("--config", "one.toml", "--no-config")
    with pytest.raises(UsageError, match="which of them"):
        parsed(*(() if before else both), before=both if before else ())


def test_help_and_commands_without_keys_do_not_read_it() -> None:
    config("no TOML at all")
    assert CliRunner().invoke(cli, ["report", "--help"]).exit_code == 0
    assert CliRunner().invoke(cli, ["links", "list"]).exit_code == 0
    assert isinstance(CliRunner().invoke(cli, ["kv", "llama-3-8b"]).exception, UsageError)


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said", "advised"),
    [
        ("treshold = 0.2", "nsysparse.toml, treshold: there is no such key. Did you mean threshold?", "Keys are box"),
        ("Link = 'x'", "nsysparse.toml, Link: there is no such key. Did you mean link?", ""),
        ("[dif]\nfail_on = 'x'", "nsysparse.toml, dif: there is no such key. Did you mean diff?", ""),
        ("[diff]\nfail-onn = 'x'", "nsysparse.toml, diff.fail-onn: there is no such key. Did you mean fail_on?", ""),
        ("fail_on = 'x'", "nsysparse.toml, fail_on: is not known here.", "Write it below [diff]."),
        ("[diff]\nlink = 'x'", "nsysparse.toml, diff.link: is not known here.", "above all tables"),
        ("diff = 1", "nsysparse.toml, diff: is no table.", "Write [diff]"),
        ("output = 'x'", "nsysparse.toml, output: says what one run writes, so it is not for a file.", "command line"),
        ("format = 'x'", "nsysparse.toml, format: ", ""),
        ("force = true", "nsysparse.toml, force: ", ""),
        ("quiet = true", "nsysparse.toml, quiet: ", ""),
        ("verbose = 1", "nsysparse.toml, verbose: ", ""),
        ("config = 'x'", "nsysparse.toml, config: ", ""),
        ("no-config = true", "nsysparse.toml, no-config: ", ""),
        ("frame = 'scopes'", "nsysparse.toml, frame: there is no such key.", ""),
        ("step_ms = 20\nstep-ms = 30", "nsysparse.toml, step-ms: is set twice, with - and with _.", "Leave one out"),
        ("layers = '80'", "nsysparse.toml, layers: is text, and a whole number is needed.", ""),
        ("layers = 80.0", "nsysparse.toml, layers: is the number 80, and a whole number is needed.", ""),
        ("layers = true", "nsysparse.toml, layers: is true, and a whole number is needed.", ""),
        ("layers = 5000", "nsysparse.toml, layers: 5000 is not in the range", ""),
        (f"layers = 0x{'f' * 9000}", "nsysparse.toml, layers: is larger than any number here can be.", ""),
        ("peak = 'fast'", "nsysparse.toml, peak: is text, and a number is needed.", ""),
        ("peak = inf", "nsysparse.toml, peak: is the number inf, and a number is needed.", ""),
        ("threshold = nan", "nsysparse.toml, threshold: is the number nan, and text in quotes, or a number", ""),
        ("overlap_attribution = 'yes'", "nsysparse.toml, overlap_attribution: is text, and true or false", ""),
        ("link = ['ib-ndr']", "nsysparse.toml, link: is a list, and text in quotes, or a number is needed.", ""),
        ("link = 2026-01-01", "nsysparse.toml, link: is a date or a time,", ""),
        ("clock = 'sundial'", "nsysparse.toml, clock: 'sundial' is not one of 'auto'", ""),
        ("purpose = 1", "nsysparse.toml, purpose: is a whole number, and text in quotes is needed.", ""),
        ("preset = [['x']]", "nsysparse.toml, preset: is a list,", ""),
        ("role = {a = ['prefill']}", "nsysparse.toml, role.a: is a list,", ""),
        ('measured = "a\\u0000b"', "nsysparse.toml, measured: has a character that no text here can have (NUL).", ""),
    ],
)
def test_a_wrong_key_or_value_names_the_file_and_the_key(text: str, said: str, advised: str) -> None:
    error = refused(text)
    assert error.message.startswith(said)
    assert advised in error.hint
    assert len(error.message) < 300


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"link = \n", "nsysparse.toml: is no TOML: Invalid value (at line 1, column 8)."),
        (b"link = 'a'\nlink = 'b'\n", "nsysparse.toml: is no TOML: Cannot overwrite a value (at line 2, column 11)."),
        (b"link = '\xff'", "nsysparse.toml: is not UTF-8 at byte 8."),
        (b"a = " + b"[" * 100_000, "nsysparse.toml: is no TOML"),
        (b"layers = " + b"9" * 9000, "nsysparse.toml: is no TOML"),
        (b"#" * (MOST_BYTES + 1), "nsysparse.toml: is larger than 1 MiB."),
    ],
)
def test_what_is_no_toml_is_refused_with_its_place(content: bytes, said: str) -> None:
    Path("nsysparse.toml").write_bytes(content)
    with pytest.raises(UsageError) as caught:
        parsed()
    assert caught.value.message.startswith(said)


def test_windows_saves_with_a_mark_and_other_line_ends() -> None:
    Path("nsysparse.toml").write_bytes(b"\xef\xbb\xbflink = 'x'\r\nlayers = 3\r\n")
    assert (value("link"), value("layers")) == ("x", 3)


@pytest.mark.parametrize("kind", ["folder", "pipe", "missing", "no table", "scalar"])
def test_a_file_that_cannot_be_read_is_told(kind: str) -> None:
    if kind == "folder":
        Path("nsysparse.toml").mkdir()
    elif kind == "pipe":
        os.mkfifo("nsysparse.toml")
    elif kind == "scalar":
        config("tool.nsysparse = 1", "pyproject.toml")
    elif kind == "no table":
        config("[tool.x]", "pyproject.toml")
    named = {"missing": ["--config", "none.toml"], "no table": ["--config", "pyproject.toml"]}.get(kind, [])
    with pytest.raises(UsageError) as caught:
        parsed(*named)
    assert re.match(r"(nsysparse|none|pyproject)\.toml: (is|cannot be|has|tool)", caught.value.message)
    assert caught.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_told() -> None:
    config("").chmod(0)
    with pytest.raises(UsageError, match=r"nsysparse\.toml: cannot be read"):
        parsed()


def test_the_command_line_says_it_in_two_lines_and_exits_with_two(project: Path) -> None:
    config("thresold = 1")
    done = call("report", "t.sqlite", cwd=project)
    assert (done.returncode, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert first == "nsysparse: nsysparse.toml, thresold: there is no such key. Did you mean threshold?"
    assert second.startswith("  Keys are ")


def test_nothing_raw_reaches_the_terminal(project: Path) -> None:
    config('"\\u001b]0;owned\\u0007" = 1\n')
    done = call("report", "t.sqlite", cwd=project)
    assert done.returncode == 2
    assert done.stderr.replace("\n", "").isprintable()


# --- errors of options, told of what set them -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "text", "said", "advised"),
    [
        ("threshold", "5", " 5: is no share between 0 and 1.", "0.2"),
        ("step_ms", "'5x'", " 5x: is no time from 1 ns to 1 h.", "20..50"),
        ("link", "'ib-ndx'", ": There is no link called 'ib-ndx'. Did you mean ib-ndr", "links list"),
        ("box", "'dgx'", ": There is no box called 'dgx'", "--boxes"),
        ("model", "'lama'", ": There is no model called 'lama'", "models list"),
        ("kv_dtype", "'fp9'", ": There is no type of cached values called 'fp9'", "fp8"),
        ("peak", "-1", " -1.0 is no rate of a link.", ""),
        ("preset", "'vlm'", ": There is no preset called 'vlm'", "presets list"),
        ("preset", "'./no.toml'", ": no.toml: cannot be read", ""),
        ("measured", "'no.txt'", ": no.txt cannot be read", ""),
        ("request_pattern", "'('", ": The request pattern does not compile", ""),
        ("normalize_request", "'('", ": the pattern does not compile", ""),
        ("role", "'x'", " x: is not FILE=ROLE.", "prefill"),
        ("role", "'t.sqlite=king'", ": There is no role 'king'", "prefill"),
    ],
)
@pytest.mark.parametrize("by", ["file", "variable"])
def test_an_option_that_nobody_typed_is_not_named(
    by: str,
    key: str,
    text: str,
    said: str,
    advised: str,
    sample: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copy(sample(SAMPLE), "t.sqlite")
    model = "model = 'llama-3-8b'\n" if key == "kv_dtype" else ""
    config(model)
    if by == "file":
        config(f"{model}{key} = {text}")
        where = f"nsysparse.toml, {key}"
    else:
        monkeypatch.setenv(keys.variable(key), text.strip("'"))
        where = keys.variable(key)
    result = CliRunner().invoke(cli, ["report", "t.sqlite", "-f", "text"])
    assert isinstance(result.exception, NsysparseError)
    assert result.exception.message.startswith(f"{where}{said}")
    assert f"--{key.replace('_', '-')} " not in result.exception.message + result.exception.hint
    assert advised in result.exception.hint
    if key in {"threshold", "step_ms"}:
        example = f"threshold = {advised}." if key == "threshold" else f'step_ms = "{advised}".'
        assert example in result.exception.hint if by == "file" else f"{where}={advised}." in result.exception.hint


def test_the_typed_option_is_still_named() -> None:
    config("threshold = 5")
    result = CliRunner().invoke(cli, ["report", "t.sqlite", "--threshold", "7"])
    assert isinstance(result.exception, NsysparseError)
    assert "threshold" not in result.exception.message or result.exception.message.startswith("--threshold 7")


def test_unknown_variables_are_warned_of_and_stop_nothing(project: Path) -> None:
    done = run("kv", "llama-3-8b", cwd=project, NSYSPARSE_LINKS="x", NSYSPARSE_OTHER_PROGRAM="y", NSYSPARSE_TPP="")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "NSYSPARSE_LINKS: sets nothing. Did you mean NSYSPARSE_LINK?",
        "NSYSPARSE_OTHER_PROGRAM: sets nothing.",
    ]
    assert run("kv", "llama-3-8b", "-q", cwd=project, NSYSPARSE_LINKS="x").stderr == ""


# --- values -----------------------------------------------------------------------------------------------------------


def test_values_arrive_as_if_typed() -> None:
    config(
        'threshold = 0.00001\nstep-ms = 30\npeak = 45\nlayers = 80\npreset = "own"\noverlap_attribution = true\n'
        'role = {"a b.sqlite" = "prefill", c = "decode"}\nutc_error = "0.1"'
    )
    got = parsed().params
    assert got["threshold"] == "0.00001"  # read exactly, so never 1e-05
    assert (got["step_ms"], got["peak_gb_s"], got["layers"], got["utc_error"]) == ("30", 45.0, 80, "0.1")
    assert (got["presets"], got["overlap_attribution"]) == (("own",), True)
    assert got["role"] == ("a b.sqlite=prefill", "c=decode")


def test_roles_as_a_list() -> None:
    config('role = ["a.sqlite=prefill"]')
    assert value("role") == ("a.sqlite=prefill",)


@pytest.mark.parametrize(
    ("key", "written", "from_below"),
    [
        ("measured", "bw.txt", "../bw.txt"),
        ("measured", "/abs/bw.txt", "/abs/bw.txt"),
        ("model", "llama-3-70b", "llama-3-70b"),
        ("model", "m/config.json", "../m/config.json"),
        ("model", "config.json", "../config.json"),
        ("model", "house", "../house"),  # a folder that is there
        ("model", "qwen3-8b", "qwen3-8b"),  # likewise, but an id wins
        ("model", "./qwen3-8b", ".././qwen3-8b"),
        ("model", "nowhere", "nowhere"),
        ("preset", "vllm", "vllm"),
        ("preset", "mine.toml", "../mine.toml"),
        ("preset", "p/mine", "../p/mine"),
    ],
)
def test_paths_are_seen_from_the_file(
    key: str, written: str, from_below: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("house", "qwen3-8b", "below"):
        (project / folder).mkdir()
    config(f"{key} = '{written}'")
    monkeypatch.chdir("below")
    got = value(key)
    assert (str(got[0]) if isinstance(got, tuple) else str(got)) == from_below
    typed = value(key, f"--{key}", written)
    assert (str(typed[0]) if isinstance(typed, tuple) else str(typed)) == written


def test_a_model_beside_a_named_file_is_read(sample: Callable[[str], Path], project: Path) -> None:
    from model_configs import CONFIGS

    (project / "ci" / "house").mkdir(parents=True)
    (project / "ci" / "house" / "config.json").write_text(json.dumps(CONFIGS["llama-3-8b"]), encoding="utf-8")
    config("model = 'house'", "ci/c.toml")
    done = call("report", sample(SAMPLE), "-f", "json", "-o", "-", "--config", "ci/c.toml", cwd=project)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["settings"]["model"]["source"].startswith("c.toml")


@pytest.mark.parametrize(
    ("file", "typed", "left"),
    [
        ("box = 'a'", ["--link", "b"], {"link": "b", "box": None}),
        ("link = 'a'\npeak = 45\nmeasured = 'm'", ["--box", "b"], {"box": "b", "link": None, "peak_gb_s": None}),
        ("link = 'a'\npeak = 45\nmeasured = 'm'", ["--link", "b"], {"link": "b", "peak_gb_s": None, "measured": None}),
        ("link = 'a'", ["--peak", "9"], {"link": "a", "peak_gb_s": 9.0}),
        ("box = 'a'", ["--peak", "9"], {"box": None, "peak_gb_s": 9.0}),
        ("layers = 8\nmodel = 'a'", ["--model", "b"], {"model": "b", "layers": None}),
        ("link = 'a'\npeak = 45", [], {"link": "a", "peak_gb_s": 45.0}),
    ],
)
def test_what_belongs_to_another_link_is_left_out(file: str, typed: list[str], left: dict[str, object]) -> None:
    config(file)
    got = parsed(*typed).params
    assert {name: got[name] for name in left} == left


def test_what_is_left_out_is_not_told_as_set() -> None:
    config("link = 'ib-ndr'\npeak = 45.0\nbox = 'dgx-h100'")
    with parsed("--link", "ib-hdr") as context:
        known = {name: context.params[name] for name in AnalysisArguments.__annotations__}
        told = options_of("kv", **known)  # type: ignore[typeddict-item]
    assert (told.link, told.peak_gb_s, told.box) == ("ib-hdr", None, None)
    assert told.sources == {"link": "option"}


# --- commands ---------------------------------------------------------------------------------------------------------


def test_kv_reads_only_what_means_the_same() -> None:
    config("link = 'ib-ndr'\nmodel = 'x'\ntp = 8\nkv_dtype = 'fp8'\nstep_ms = 30\npeak = 1.0\nthreshold = 0.1")
    got = parsed(name="kv").params
    assert (got["tp"], got["kv_dtype"], got["step_ms"]) == (8, "fp8", "30")
    assert (got["links"], got["peak_gb_s"], got["model"]) == ((), None, "llama-3-8b")


def test_export_of_a_frame_is_not_narrowed_nor_refused(sample: Callable[[str], Path], project: Path) -> None:
    command = ("export", sample(SAMPLE), "--frame", "transfers", "-f", "csv")
    plain = call(*command, cwd=project)
    config("purpose = 'kv'\nlink = 'ib-ndr'\npeak = 45\ntp = 2\nmax_bytes = 5\nfail_over_threshold = true")
    filed = call(*command, cwd=project)
    assert (filed.returncode, filed.stderr) == (0, "")
    assert filed.stdout == plain.stdout
    refusal = call(*command, "--link", "ib-ndr", cwd=project)
    assert (refusal.returncode, "--link: no frame depends on it" in refusal.stderr) == (2, True)


def test_metrics_take_the_link(sample: Callable[[str], Path], project: Path) -> None:
    config("link = 'eth-100g'")
    done = call("export", sample(SAMPLE), "--metrics", cwd=project)
    typed = call("export", sample(SAMPLE), "--metrics", "--no-config", "--link", "eth-100g", cwd=project)
    assert (done.returncode, done.stdout) == (0, typed.stdout)


def test_inspect_takes_presets(sample: Callable[[str], Path], project: Path) -> None:
    config("preset = 'vllm'\nlayers = 8")
    done = call("inspect", sample(SAMPLE), cwd=project)
    assert done.returncode == 0, done.stderr
    assert "presets that know its ranges: vllm" in done.stdout


def test_a_budget_of_markdown_does_nothing_to_other_formats(sample: Callable[[str], Path], project: Path) -> None:
    config("max_bytes = 3000")
    assert call("report", sample(SAMPLE), "-f", "text", cwd=project).returncode == 0
    done = call("report", sample(SAMPLE), "-f", "markdown", "-o", "-", cwd=project)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.encode()) <= 3000


def test_the_file_that_was_read_is_never_replaced(sample: Callable[[str], Path], project: Path) -> None:
    text = "link = 'ib-ndr'"
    config(text)
    done = call("report", sample(SAMPLE), "-f", "text", "-o", "nsysparse.toml", "--force", cwd=project)
    assert (done.returncode, Path("nsysparse.toml").read_text(encoding="utf-8")) == (1, text)


def test_all_keys_of_commands_are_keys_of_the_file() -> None:
    for name in ("export", "inspect", "kv"):
        command = cli.get_command(click.Context(cli), name)
        assert isinstance(command, Configured)
        assert command.settable().keys() <= keys.shared().keys()
        assert set(command.reads or ()) <= command.settable().keys()


def test_what_is_refused_is_an_option_somewhere_or_will_be() -> None:
    report = cli.get_command(click.Context(cli), "report")
    assert report is not None
    options = {keys.key_of(each) for each in report.params if isinstance(each, click.Option)}
    assert keys.REFUSED.keys() - options == {"base", "help"}
    assert keys.shared().keys() == options - keys.REFUSED.keys()


# --- the table of a command -------------------------------------------------------------------------------------------


@click.command("diff", cls=Configured)
@click.argument("base")
@click.option("--base", "bases", multiple=True)
@click.option("--link")
@click.option("-o", "--output")
@click.option("--fail-on", "gates", multiple=True, type=LINES)
@click.option("--min-samples", type=click.IntRange(1, 100))
@click.option("--noise-floor", "noise")
def like_diff(**_values: object) -> None:
    """What `diff` is to the file: options of report, of its own, and of one run."""


@pytest.fixture
def diff(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, object]]:
    module = ModuleType("nsysparse.cli.diff")
    module.command = like_diff  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nsysparse.cli.diff", module)
    return lambda *arguments: parsed(*arguments, name="diff").params


def test_a_table_sets_options_of_its_command(
    diff: Callable[..., dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    config("link = 'ib-ndr'\n[diff]\nfail-on = ['a<1', 'b>2']\nnoise_floor = 5\nmin_samples = 8")
    got = diff()
    assert (got["link"], got["gates"], got["noise"], got["min_samples"]) == ("ib-ndr", ("a<1", "b>2"), "5", 8)
    assert diff("--fail-on", "c<1")["gates"] == ("c<1",)
    monkeypatch.setenv("NSYSPARSE_FAIL_ON", "d < 1\ne > 2\n")
    assert diff()["gates"] == ("d < 1", "e > 2")
    assert parsed().params["link"] == "ib-ndr"  # and report passes over the table


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[diff]\nmin_samples = 0", "nsysparse.toml, diff.min_samples: 0 is not in the range"),
        ("[diff]\nmin_samples = 'x'", "nsysparse.toml, diff.min_samples: is text, and a whole number is needed."),
        ("[diff]\nbase = 'x'", "nsysparse.toml, diff.base: names a run, so it is not for a file."),
        ("[diff]\noutput = 'x'", "nsysparse.toml, diff.output: says what one run writes"),
        ("[diff]\nthreshold = 1", "nsysparse.toml, diff.threshold: is not known here."),
    ],
)
def test_a_table_is_checked_by_the_options_of_its_command(
    text: str, said: str, diff: Callable[..., dict[str, object]]
) -> None:
    config(text)
    with pytest.raises(UsageError) as caught:
        diff()
    assert caught.value.message.startswith(said)


# --- anything ---------------------------------------------------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates()
VALUES = SCALARS | st.lists(SCALARS) | st.dictionaries(st.text(), SCALARS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])  # the folder, where nothing is written
@given(st.dictionaries(st.sampled_from([*keys.shared(), "diff", "output"]) | st.text(), VALUES, max_size=3))
def test_any_table_is_good_or_refused(table: dict[str, object]) -> None:
    said = ""
    try:
        checked(ConfigFile(Path("../nsysparse.toml"), table))
    except UsageError as error:
        said = error.message
    assert said == "" or said.startswith("../nsysparse.toml, ")


def test_a_name_that_is_no_utf8_can_be_told(sample: Callable[[str], Path], project: Path) -> None:
    name = os.fsdecode(b"a\xff.toml")
    (project / name).write_text("link = 'ib-ndr'", encoding="utf-8")
    done = call("report", sample(SAMPLE), "-f", "json", "-o", "-", "--config", name, cwd=project)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["settings"]["link"]["source"] == "a\\udcff.toml"


# --- the guide --------------------------------------------------------------------------------------------------------


def test_the_file_of_the_guide_is_good() -> None:
    example = re.search(r"```toml\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    config(example[1])
    found = find()
    assert found is not None
    values = checked(found)
    assert values["fail_on"] == ["wire_gb_s.p50<-5%", "kv_gap_ms.p99>+10%"]
    assert (values["threshold"], values["model"]) == ("15%", "./models/house-llama/config.json")
    got = parsed().params
    assert got["kv_dtype"] == "fp8"
