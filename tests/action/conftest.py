"""A job's folder with a trace and saved analyses, and the fake of GitHub."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.action.fake_github import GitHub, serving
from tests.action.runner_of_steps import ROOT, STAND_IN, Run, run_action

SAMPLE = ROOT / "sample_traces/synthetic/pd-oneprofile.sqlite"
PULL_REQUEST = {"pull_request": {"number": 5}}


@pytest.fixture
def github() -> Iterator[GitHub]:
    with serving() as fake:
        yield fake


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An analysis as `report -f json` saves it."""
    path = tmp_path_factory.mktemp("saved") / "analysis.json"
    subprocess.run([sys.executable, "-m", "nsysparse", "report", str(SAMPLE), "-q", "-o", str(path)], check=True)
    return path


@pytest.fixture
def job(request: pytest.FixtureRequest, tmp_path: Path, saved: Path, github: GitHub) -> Callable[..., Run]:
    """Runs the action where `base.json` and `candidate.json` are saved analyses; inputs override these two.

    `nsysparse` is what the test's module names as TOOL, else the stand-in: most tests are not about what it says.
    """
    folder = tmp_path / "work"
    folder.mkdir()
    for name in ("base.json", "candidate.json"):
        shutil.copy(saved, folder / name)

    def run(event: object = PULL_REQUEST, before: str = "", **inputs: str) -> Run:
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        given = {"version": "installed", "base": "base.json", "candidate": "candidate.json", **given}
        return run_action(folder, given, github.env(), event, before, getattr(request.module, "TOOL", STAND_IN))

    return run
