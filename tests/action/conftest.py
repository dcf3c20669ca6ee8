"""A job's folder with traces' saved analyses, and the fake of GitHub."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.action.fake_github import GitHub, serving
from tests.action.runner_of_steps import ROOT, Run, Step, run_action
from tests.commands import call

SAMPLE = ROOT / "sample_traces/synthetic/pd-oneprofile.sqlite"
SLOW = ROOT / "sample_traces/synthetic/pd-slow-layers.sqlite"
PULL_REQUEST = {"pull_request": {"number": 5}}
ANALYSING = ["Set up Python", "Install nsysparse", "Run nsysparse"]
"""The steps that end with the report; those after it publish."""


@pytest.fixture
def github() -> Iterator[GitHub]:
    with serving() as fake:
        yield fake


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`base.json` and `candidate.json`, analyses saved reports; middle layers of the candidate are slower."""
    folder = tmp_path_factory.mktemp("saved")
    for name, trace in (("base", SAMPLE), ("candidate", SLOW)):
        done = call("report", trace, "-q", "-o", f"{name}.json", cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def inputs_of(given: dict[str, str]) -> dict[str, str]:
    named = {name.replace("_", "-"): value for name, value in given.items()}
    return {"version": "installed", "base": "base.json", "candidate": "candidate.json", **named}


@pytest.fixture
def job(tmp_path: Path, saved: Path, github: GitHub) -> Callable[..., Run]:
    """Runs the action where `base.json` and `candidate.json` are saved analyses; inputs override these two."""
    folder = shutil.copytree(saved, tmp_path / "work")

    def run(event: object = PULL_REQUEST, before: str = "", **inputs: str) -> Run:
        return run_action(folder, inputs_of(inputs), github.env(), event, before)

    return run


@pytest.fixture(scope="session")
def analysed(tmp_path_factory: pytest.TempPathFactory, saved: Path) -> Callable[[str], dict[str, Step]]:
    """What the analysing steps leave, once for each `fail-on`: three starts of nsysparse a test would cost minutes."""
    known: dict[str, dict[str, Step]] = {}

    def steps(fail_on: str) -> dict[str, Step]:
        if fail_on not in known:
            folder = shutil.copytree(saved, tmp_path_factory.mktemp("analysed") / "work")
            run = run_action(folder, inputs_of({"fail_on": fail_on, "comment": "false"}), {})
            known[fail_on] = {name: run.steps[name] for name in ANALYSING}
        return known[fail_on]

    return steps


@pytest.fixture
def publish(tmp_path: Path, github: GitHub, analysed: Callable[[str], dict[str, Step]]) -> Callable[..., Run]:
    """Runs the action as `job` does, but for its analysing steps, which have run before."""

    def run(event: object = PULL_REQUEST, before: str = "", fail_on: str = "", **inputs: str) -> Run:
        (tmp_path / "work").mkdir(exist_ok=True)
        given = inputs_of({"fail_on": fail_on, **inputs})
        return run_action(tmp_path / "work", given, github.env(), event, before, analysed(fail_on))

    return run
