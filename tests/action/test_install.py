"""What is installed, and from where; pip itself is not tested here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.action.runner_of_steps import ROOT

FAKE = """#!{python}
import json, os, sys
with open({calls!r}, "a") as calls:
    calls.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1:3] == ["-m", "venv"]:
    os.makedirs(sys.argv[3] + "/bin")
    os.symlink({own!r}, sys.argv[3] + "/bin/python")
sys.exit({code} if "pip" in sys.argv else 0)
"""


def install(folder: Path, version: str, code: int = 0) -> tuple[int, list[list[str]], str, str]:
    fake, calls, output, summary = (folder / name for name in ("python", "calls", "output", "summary"))
    fake.write_text(FAKE.format(python=sys.executable, calls=str(calls), own=str(fake), code=code))
    fake.chmod(0o755)
    calls.touch()
    env = {
        "PATH": os.environ["PATH"], "RUNNER_TEMP": str(folder), "GITHUB_ACTION_PATH": str(ROOT), "PYTHON": str(fake),
        "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary), "INPUT_VERSION": version,
    }  # fmt: skip
    done = subprocess.run(["bash", str(ROOT / "action/install.sh")], env=env, check=False)
    shown = summary.read_text() if summary.exists() else ""
    return done.returncode, [json.loads(line) for line in calls.read_text().splitlines()], output.read_text(), shown


def test_the_actions_own_revision_comes_with_locked_packages(tmp_path: Path) -> None:
    code, [venv, locked, own], output, _ = install(tmp_path, "")

    assert code == 0
    assert venv[:2] == ["-m", "venv"]
    assert locked[-4:] == ["--require-hashes", "--no-deps", "-r", f"{ROOT}/requirements.lock"]
    assert own[-3:] == ["--no-deps", "--no-build-isolation", str(ROOT)]
    assert f"tool={venv[2]}/bin/nsysparse\npython={venv[2]}/bin/python\n" in output


def test_a_version_is_one_argument_and_no_option(tmp_path: Path) -> None:
    version = "--index-url=https://elsewhere.example nsysparse"

    _, [_, pip], _, _ = install(tmp_path, version)

    assert pip[-2:] == ["--", version]


@pytest.mark.parametrize("version", ["", "nsysparse==0.0"])
def test_what_cannot_be_installed_is_said_in_the_summary(tmp_path: Path, version: str) -> None:
    code, calls, _, shown = install(tmp_path, version, code=1)

    assert code == 1
    assert len(calls) == 2
    assert "pip could not install nsysparse" in shown
