"""action.yml and its scripts are what GitHub, shellcheck and the guide take them for."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from ruamel.yaml import YAML

from tests.action.runner_of_steps import ACTION, ROOT

GUIDE = ROOT / "docs/how-to/pull-request.md"
WORKFLOWS = [
    token.content
    for token in MarkdownIt().parse(GUIDE.read_text(encoding="utf-8"))
    if token.type == "fence" and token.info == "yaml" and "jobs:" in token.content
]
RUNS = [step for step in ACTION["runs"]["steps"] if "run" in step]


def held_to(schema: str, path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_action_fits_the_schema_of_actions() -> None:
    held_to("github-actions", ROOT / "action.yml")


@pytest.mark.parametrize("number", range(len(WORKFLOWS)))
def test_workflows_of_the_guide_fit_their_schema_and_the_actions_inputs(number: int, tmp_path: Path) -> None:
    path = tmp_path / "workflow.yml"
    path.write_text(WORKFLOWS[number], encoding="utf-8")
    held_to("github-workflows", path)

    workflow: dict[str, Any] = YAML(typ="safe").load(WORKFLOWS[number])
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    ours = [step for step in steps if "nsysparse@" in step.get("uses", "")]
    assert ours
    for step in ours:
        assert set(step["with"]) <= set(ACTION["inputs"])
        assert "candidate" in step["with"]
    read = re.findall(r"steps\.nsysparse\.outputs\.([\w-]+)", WORKFLOWS[number])
    assert set(read) <= set(ACTION["outputs"])


def test_scripts_are_clean() -> None:
    beside = Path(sys.executable).with_name("shellcheck")
    program = str(beside) if beside.exists() else shutil.which("shellcheck")
    if program is None:
        pytest.skip("shellcheck is not installed")
    scripts = [str(path.relative_to(ROOT)) for path in [*sorted((ROOT / "action").glob("*.sh")), ROOT / ".ci/run"]]
    assert len(scripts) > 5

    done = subprocess.run([program, "-x", *scripts], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("step", RUNS, ids=lambda step: step["name"])
def test_scripts_get_what_others_write_by_their_environment_only(step: dict[str, Any]) -> None:
    script = re.fullmatch(r'bash "\$GITHUB_ACTION_PATH/(action/\w+\.sh)"', step["run"])

    assert script, "nothing is put into a script's text"
    text = (ROOT / script[1]).read_text(encoding="utf-8")
    assert "set -x" not in text
    assert "eval" not in text


def test_only_the_comment_has_the_token() -> None:
    having = [step["name"] for step in ACTION["runs"]["steps"] if "token" in str(step)]

    assert having == ["Comment in the pull request"]


def test_every_input_reaches_a_step() -> None:
    used = set(re.findall(r"inputs\.([\w-]+)", str(ACTION["runs"])))

    assert used == set(ACTION["inputs"])
