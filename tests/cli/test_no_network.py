"""No command asks the network for anything: every one succeeds where sockets end the process."""

import os
from pathlib import Path

import pytest
from commands import run
from every_command import every_command

from nsysparse.cli import COMMANDS

ROOT = Path(__file__).parents[2]
DENIED = 99
DENY = f"""
import os, sys

def deny(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        os.write(2, ("denied: " + event).encode())
        os._exit({DENIED})

sys.addaudithook(deny)
"""


def denied(folder: Path) -> dict[str, str]:
    """The environment in which Python knows no network, in processes that it starts neither."""
    (folder / "sitecustomize.py").write_text(DENY)
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


@pytest.fixture
def where(tmp_path: Path) -> Path:
    (tmp_path / "hook").mkdir()
    (tmp_path / "out").mkdir()
    return tmp_path


# One frame and one format stand for all that run the same code.
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_succeed_without_sockets(name: str, where: Path) -> None:
    trace, folder = ROOT / "sample_traces" / "synthetic" / "pd-oneprofile.sqlite", where / "out"
    environment = denied(where / "hook")
    lines = every_command(trace, folder)
    needed = [lines[[line[:4] for line in lines].index(["report", str(trace), "-f", "json"])]] if name == "diff" else []
    mine = [line for line in lines if line[0] == name and "again.html" not in line[-1]]
    if name == "export":
        mine = [line for line in mine if "transfers" in line or "--metrics" in line]
    for line in (*needed, *mine):
        done = run(*line, cwd=folder, **environment)
        assert done.returncode == 0, (line, done.stderr)


def test_several_processes_read_without_sockets(where: Path) -> None:
    traces = sorted((ROOT / "sample_traces" / "synthetic").glob("pd-two-hosts-*.sqlite"))
    done = run("report", *traces, "--jobs", "2", "-f", "json", "-o", "-", cwd=where, **denied(where / "hook"))
    assert done.returncode == 0, done.stderr


def test_the_hook_ends_who_asks(where: Path) -> None:
    import subprocess
    import sys

    ask = "import socket; socket.create_connection(('127.0.0.1', 9))"
    done = subprocess.run([sys.executable, "-c", ask], env={**os.environ, **denied(where / "hook")}, check=False)
    assert done.returncode == DENIED
