"""Runs the steps of action.yml as a runner does: conditions, expressions, environment, outputs. `uses` is recorded."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
TOOL = [sys.executable, "-m", "nsysparse"]
"""What `nsysparse` is on PATH."""
ACTION: dict[str, Any] = YAML(typ="safe").load((ROOT / "action.yml").read_text(encoding="utf-8"))
ARTIFACT_URL = "https://github.example/runs/7/artifacts/1"


@dataclass
class Step:
    """What became of a step: `outcome` is success, failure or skipped."""

    name: str
    outcome: str = "skipped"
    log: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    inputs: dict[str, str] = field(default_factory=dict)


@dataclass
class Run:
    """All steps of one run, by name, and the action's own outputs."""

    steps: dict[str, Step]
    outputs: dict[str, str]
    called: list[list[str]]
    """The arguments of every call of nsysparse."""

    @property
    def failed(self) -> list[str]:
        return [name for name, step in self.steps.items() if step.outcome == "failure"]

    @property
    def log(self) -> str:
        return "".join(step.log for step in self.steps.values())


def run_action(
    folder: Path,
    given: dict[str, str],
    env: dict[str, str],
    event: object = None,
    summary_before: str = "",
    known: dict[str, Step] | None = None,
) -> Run:
    """Run the action in a folder (the workspace) with these inputs.

    Args:
        folder: Where the job works; what the runner keeps lies beside it.
        given: Inputs that a workflow sets.
        env: What the job's environment has besides a runner's own.
        event: The content of the event's file.
        summary_before: What every step finds in its summary file.
        known: Steps of another run, by name, that stand for what they would do again.
    """
    runner = folder.parent / f"{folder.name}-runner"
    (runner / "temp").mkdir(parents=True, exist_ok=True)
    calls = runner / "calls.jsonl"
    calls.write_text("", encoding="utf-8")
    _place_tool(runner / "bin", calls)
    (runner / "event.json").write_text(json.dumps(event or {}), encoding="utf-8")
    contexts: dict[str, Any] = {
        "inputs": {**{name: str(known.get("default", "")) for name, known in ACTION["inputs"].items()}, **given},
        "steps": {},
    }
    contexts["inputs"] = {
        name: "the-job-token" if "github.token" in value else value for name, value in contexts["inputs"].items()
    }
    base = {
        "PATH": f"{runner / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "HOME": str(runner),
        "RUNNER_TEMP": str(runner / "temp"),
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_EVENT_PATH": str(runner / "event.json"),
        "GITHUB_EVENT_NAME": os.environ.get("GITHUB_EVENT_NAME", "push"),
        "GITHUB_REPOSITORY": "acme/server",
        "GITHUB_SERVER_URL": "https://github.example",
        "GITHUB_RUN_ID": "7",
        **env,
    }
    steps: dict[str, Step] = {}
    for number, told in enumerate(ACTION["runs"]["steps"]):
        step = steps[told["name"]] = Step(told["name"])
        condition = str(told.get("if", "true"))
        failed = any(each.outcome == "failure" for each in steps.values())
        if (failed and "always()" not in condition) or evaluate(condition, contexts) in ("", "false"):
            continue
        step.outcome = "success"
        if told["name"] in (known or {}):
            step.outputs = (known or {})[told["name"]].outputs
        elif "uses" in told:
            step.inputs = {name: fill(str(value), contexts) for name, value in told["with"].items()}
            step.outputs = {"artifact-url": ARTIFACT_URL} if "upload-artifact" in told["uses"] else {}
        else:
            own = {name: fill(str(value), contexts) for name, value in told.get("env", {}).items()}
            _execute(step, told, {**base, **own}, runner / f"step-{number}", folder, summary_before)
        if "id" in told:
            contexts["steps"][told["id"]] = {"outputs": step.outputs}
    outputs = {name: fill(known["value"], contexts) for name, known in ACTION["outputs"].items()}
    return Run(steps, outputs, [json.loads(line) for line in calls.read_text(encoding="utf-8").splitlines()])


def fill(text: str, contexts: dict[str, Any]) -> str:
    """The text with its `${{ }}` expressions replaced."""
    return re.sub(r"\$\{\{(.*?)\}\}", lambda match: evaluate(match[1], contexts), text)


def evaluate(expression: str, contexts: dict[str, Any]) -> str:
    """An expression of those that action.yml uses: a name, or a name held against a string, or `always()`."""
    text = expression.strip()
    if text in ("true", "always()"):
        return "true"
    match = re.fullmatch(r"((?:inputs|steps)(?:\.[\w-]+)+)(?: (==|!=) '([^']*)')?", text)
    assert match, f"not an expression that this runner knows: {text}"
    found: Any = contexts
    for name in match[1].split("."):
        found = found.get(name, {})
    value = found if isinstance(found, str) else ""
    return value if match[2] is None else str((value == match[3]) is (match[2] == "==")).lower()


def _execute(step: Step, told: dict[str, Any], env: dict[str, str], own: Path, cwd: Path, before: str) -> None:
    assert told["shell"] == "bash"
    assert "${{" not in told["run"], "what strangers write reaches a script by its environment only"
    own.mkdir(exist_ok=True)
    script, output, summary = own / "script.sh", own / "output", own / "summary.md"
    script.write_text(told["run"], encoding="utf-8")
    output.write_text("", encoding="utf-8")
    summary.write_text(before, encoding="utf-8")
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
        cwd=cwd,
        env={**env, "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        check=False,
    )
    step.log = done.stdout
    step.outcome = "failure" if done.returncode else "success"
    lines = output.read_text(encoding="utf-8").splitlines()
    assert all("=" in line for line in lines), lines
    step.outputs = dict(line.split("=", 1) for line in lines)
    step.summary = summary.read_text(encoding="utf-8")


def _place_tool(where: Path, calls: Path) -> None:
    """`nsysparse` on PATH: notes its arguments, then is the tool."""
    where.mkdir(exist_ok=True)
    place = where / "nsysparse"
    place.write_text(
        f"#!{sys.executable}\n"
        "import json, os, sys\n"
        f"with open({str(calls)!r}, 'a', encoding='utf-8') as calls:\n"
        "    calls.write(json.dumps(sys.argv[1:]) + '\\n')\n"
        f"os.execv({TOOL[0]!r}, {TOOL!r} + sys.argv[1:])\n",
        encoding="utf-8",
    )
    place.chmod(0o755)
