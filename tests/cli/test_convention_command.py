"""`nsysparse convention`: the page and the file as they are in the repository, byte for byte."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "nsysparse", "convention", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "source"), [((), "docs/reference/convention.md"), (("--python",), "nsysparse/annotate.py")]
)
def test_it_prints_the_file(arguments: tuple[str, ...], source: str, tmp_path: Path) -> None:
    content = (ROOT / source).read_bytes()
    printed = run(*arguments, folder=tmp_path)
    assert (printed.returncode, printed.stderr) == (0, b"")
    assert printed.stdout == content
    written = run(*arguments, "-o", "below/file", folder=tmp_path)
    assert (written.returncode, written.stdout) == (0, b"")
    assert (tmp_path / "below/file").read_bytes() == content


def test_the_page_of_the_package_is_the_one_of_the_documentation() -> None:
    assert (ROOT / "nsysparse/convention.md").resolve() == ROOT / "docs/reference/convention.md"


def test_an_existing_file_is_replaced_only_with_force(tmp_path: Path) -> None:
    (tmp_path / "kvx.py").write_text("mine")
    refused = run("--python", "-o", "kvx.py", folder=tmp_path)
    assert refused.returncode == 1
    assert b"--force" in refused.stderr
    assert (tmp_path / "kvx.py").read_text() == "mine"
    assert run("--python", "-o", "kvx.py", "--force", "-q", folder=tmp_path).stderr == b""
    assert (tmp_path / "kvx.py").read_bytes() == (ROOT / "nsysparse/annotate.py").read_bytes()
