"""`nsysparse capture`: commands that can be copied, comments that a shell ignores, and what the nsys on PATH says."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nsysparse.capture.loader import engines, options
from nsysparse.capture.versions import parse, within
from nsysparse.cli import cli
from nsysparse.errors import InputError, OutputError, UsageError

NO_PROGRAM = "no-such-program-of-nsysparse"
REFUSED = re.compile(r"unrecognised option|unrecognized option|illegal|ambiguous|usage:", re.IGNORECASE)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["capture", *map(str, arguments)], catch_exceptions=False)


def plain(*arguments: object) -> dict:
    return json.loads(run(*arguments, "-f", "json").stdout)


def test_without_an_engine_they_are_listed():
    lines = run().stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(engines())
    assert run("list").stdout == run().stdout
    listed = json.loads(run("list", "-f", "json").stdout)
    assert [each["id"] for each in listed] == list(engines())
    assert listed[2]["aliases"] == ["lmcache"]


def test_an_unknown_engine_names_the_nearest():
    with pytest.raises(UsageError) as raised:
        run("vlm")
    assert "vllm" in raised.value.message
    assert "capture list" in raised.value.hint


def test_an_alias_is_the_engine():
    assert run("lmcache").stdout == run("vllm-lmcache").stdout


def test_the_newest_version_is_meant_unless_one_is_named():
    newest = options().releases[-1].version
    text = run("nccl").stdout
    assert f"--nsys {newest}" in text.splitlines()[0]
    assert "name yours with --nsys" in text
    assert "name yours" not in run("nccl", "--nsys", newest).stdout
    assert plain("nccl")["nsys"] == {"version": newest, "options": "documented"}


def test_the_first_line_prints_the_same_again():
    for arguments in (("vllm",), ("sglang", "--role", "decode", "--nsys", "2025.1")):
        first = run(*arguments).stdout.splitlines()[0]
        words = shlex.split(first.removeprefix("# nsysparse capture "))
        assert run(*words).stdout.splitlines()[3:] == run(*arguments).stdout.splitlines()[3:]


@pytest.mark.parametrize("engine", engines())
@pytest.mark.parametrize("version", ["2022.4", "2026.4"])
def test_the_text_is_a_script_whose_commands_are_those_of_the_json(engine: str, version: str):
    text = run(engine, "--nsys", version).stdout
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    joined = text.replace("\\\n", " ").splitlines()
    said = [shlex.split(line) for line in joined if line and not line.startswith("#")]
    given = plain(engine, "--nsys", version)
    wanted = [
        line
        for each in given["recordings"]
        for line in (each["profile"], *(other["profile"] for other in each["alternatives"]), each["export"])
    ]
    wanted.append("nsysparse inspect " + " ".join(each["sqlite"] for each in given["recordings"]))
    assert said == [shlex.split(line) for line in wanted]
    for what in ("leaves", "layer", "request", "bytes"):
        assert re.search(rf"^#   {what} +\S", text, flags=re.MULTILINE)


def test_json_of_a_kv_config_survives_the_shell():
    (each,) = plain("vllm", "--role", "decode")["recordings"]
    words = shlex.split(each["profile"])
    assert json.loads(words[words.index("--kv-transfer-config") + 1])["kv_connector"] == "NixlConnector"
    assert words[0] == "NIXL_TRACE_BACKENDS=nvtx"


def test_it_is_written_whole_and_replaces_its_own_only(tmp_path: Path):
    target = tmp_path / "capture.txt"
    run("nccl", "-o", target)
    assert target.read_text(encoding="utf-8") == run("nccl").stdout
    run("vllm", "-o", target)
    assert "NixlConnector" in target.read_text(encoding="utf-8")
    target.write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError):
        run("nccl", "-o", target)
    run("nccl", "-o", tmp_path / "capture.json")
    assert json.loads((tmp_path / "capture.json").read_text(encoding="utf-8"))["engine"] == "nccl"


def test_nothing_heavy_is_loaded():
    program = (
        "import sys\nfrom click.testing import CliRunner\nfrom nsysparse.cli import cli\n"
        "assert CliRunner().invoke(cli, ['capture', 'vllm']).exit_code == 0\n"
        "print([name for name in ('polars', 'numpy', 'sqlalchemy', 'plotly', 'rich') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- the nsys on PATH -------------------------------------------------------------------------------------------------


def fake_nsys(folder: Path, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "nsys"
    program.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_installed_is_the_version_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_nsys(tmp_path, "NVIDIA Nsight Systems version 2025.1.1.103-251135427971v0", monkeypatch)
    text = run("nccl", "--nsys", "installed").stdout
    assert "--nsys 2025.1.1" in text.splitlines()[0]
    assert "on PATH" in text
    assert "--discard-environment=true" not in text


def test_installed_without_an_nsys_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="not on PATH"):
        run("nccl", "--nsys", "installed")


def test_an_nsys_that_does_not_say_its_version_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fake_nsys(tmp_path, "hello", monkeypatch)
    with pytest.raises(InputError, match="did not say its version"):
        run("nccl", "--nsys", "installed")


@pytest.fixture(scope="module")
def nsys() -> str:
    """The version of the real nsys on PATH."""
    if shutil.which("nsys") is None:
        pytest.skip("nsys is not on PATH")
    said = subprocess.run(["nsys", "--version"], capture_output=True, text=True, check=False).stdout
    version = said.split()[-1]
    if not within(parse(version), options().releases[0].version, None):
        pytest.skip(f"nsys {version} is older than what is known")
    return version


def answer(*arguments: str) -> str:
    """What nsys says to a command that starts nothing: options are read before the program or report is looked for.

    What it says of the missing program is not looked at: on a busy machine it may fail before it gets there.
    """
    done = subprocess.run(["nsys", *arguments], capture_output=True, text=True, check=False, timeout=120)
    return done.stdout + done.stderr


def test_a_wrong_option_is_noticed(nsys: str, tmp_path: Path):
    assert nsys
    assert REFUSED.search(answer("profile", "--no-such-option=1", "-o", str(tmp_path / "r"), NO_PROGRAM))
    assert REFUSED.search(answer("export", "--no-such-option=1", str(tmp_path / "none.nsys-rep")))
    for wrong in (("-t", "cuda,nonsense"), ("--nic-metrics=nonsense",), ("--cuda-graph-trace=nonsense",)):
        assert REFUSED.search(answer("profile", *wrong, "-o", str(tmp_path / "r"), NO_PROGRAM)), wrong


@pytest.mark.parametrize("engine", engines())
def test_the_nsys_on_path_knows_every_option_printed_for_it(engine: str, nsys: str, tmp_path: Path):
    given = plain(engine, "--nsys", "installed")
    for each in given["recordings"]:
        for line in (each["profile"], *(other["profile"] for other in each["alternatives"])):
            words = shlex.split(line)
            words = words[words.index("profile") : words.index("-o")]
            said = answer(*words, "-o", str(tmp_path / "report"), NO_PROGRAM)
            assert not REFUSED.search(said), f"nsys {nsys}: {line}\n{said}"
        words = shlex.split(each["export"])
        said = answer(*words[1 : words.index("-o")], "-o", str(tmp_path / "x.sqlite"), str(tmp_path / "none.nsys-rep"))
        assert not REFUSED.search(said), f"nsys {nsys}: {each['export']}\n{said}"
    known = answer("profile", "--help")
    assert all(extra["option"].partition("=")[0] + "=" in known for extra in given["extras"])
