"""What many tests need: the sample traces and, where they lie beside the project, captures that are no part of it."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# No deadlines: the first example pays for lazy imports, and CI machines are noisy.
settings.register_profile("project", deadline=None, print_blob=True)
settings.load_profile("project")

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
SAMPLES = ROOT / "sample_traces"


@pytest.fixture(scope="session", autouse=True)
def _no_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is set on this machine for nsysparse, by variables or a file above temporary folders, is not for tests.

    The search for a file ends at the root of a repository, which is known by what it is called.
    """
    for name in [each for each in os.environ if each.startswith("NSYSPARSE_")]:
        del os.environ[name]
    (tmp_path_factory.getbasetemp() / ".git").mkdir(exist_ok=True)


@pytest.fixture(scope="session")
def shared() -> Callable[[str], Path]:
    """A file or folder below `shared/` beside the project; the test skips, saying so, when it is not there."""

    def find(path: str) -> Path:
        found = SHARED / path
        if not found.exists():
            pytest.skip(f"shared/{path} is not beside the project")
        return found

    return find


@pytest.fixture(scope="session")
def shared_traces(shared: Callable[[str], Path]) -> Callable[[str], list[Path]]:
    """All SQLite files of one kind (`real_traces`, `lab_traces`), by name; skips when there are none."""
    return lambda kind: sorted(shared(kind).glob("*.sqlite"))


@pytest.fixture(scope="session")
def sample() -> Callable[[str], Path]:
    """A file of `sample_traces/`, such as `synthetic/pd-oneprofile.sqlite`. Not to be written to."""
    return lambda path: SAMPLES / path


@pytest.fixture(scope="session")
def manifest() -> dict[str, dict[str, Any]]:
    """The facts and known answers of the sample traces, by path."""
    content = tomllib.loads((SAMPLES / "manifest.toml").read_text(encoding="utf-8"))
    return {trace["path"]: trace for trace in content["trace"]}


@pytest.fixture(scope="session")
def runs() -> dict[str, dict[str, Any]]:
    """The facts and known answers of runs that several sample traces hold, by name."""
    content = tomllib.loads((SAMPLES / "manifest.toml").read_text(encoding="utf-8"))
    return {run["name"]: run for run in content["run"]}
