"""`annotate.py` under the nsys of this machine: what it writes arrives as plain text, whatever way it takes."""

import ctypes
import json
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from recorded_answers import assert_finds

ROOT = Path(__file__).resolve().parents[2]
NSYS = shutil.which("nsys")
pytestmark = pytest.mark.skipif(NSYS is None, reason="nsys is not on PATH")

WAYS = """
import os, sys, threading
way = sys.argv[1]
sys.path.insert(0, sys.argv[2])
import annotate
if way != "injection":
    annotate._injection = lambda: 1 / 0
annotate.kv_role(role="prefill")
with annotate.kv_step(step=1), annotate.kv_transfer(op="send", request="\\u00e9 1", layer=range(4), bytes=8):
    pass
posted = annotate.kv_transfer_start(op="put", xfer="x")
thread = threading.Thread(target=annotate.end, args=(posted,))
thread.start()
thread.join()
child = os.fork()
if not child:
    with annotate.kv_wait(request="forked"):
        pass
    sys.exit()  # os._exit would lose what the profiler has not written yet
os.waitpid(child, 0)
print("through", annotate.writes_through())
"""


def recorded(folder: Path, *command: str) -> tuple[str, list[tuple[Any, ...]]]:
    """What the command printed, and its NVTX events."""
    assert NSYS is not None
    options = ("--trace=nvtx", "--sample=none", "--cpuctxsw=none", "--trace-fork-before-exec=true", "-o", "t")
    done = subprocess.run(
        [NSYS, "profile", *options, *command], cwd=folder, capture_output=True, text=True, check=False
    )
    if not (folder / "t.nsys-rep").exists():
        pytest.skip(f"nsys wrote no report: {(done.stdout + done.stderr)[-200:]}")
    subprocess.run(
        [NSYS, "export", "--type", "sqlite", "-o", "t.sqlite", "t.nsys-rep"],
        cwd=folder,
        capture_output=True,
        check=True,
    )
    with closing(sqlite3.connect(folder / "t.sqlite")) as connection:
        query = "SELECT eventType, text, textId, globalTid, endGlobalTid FROM NVTX_EVENTS WHERE eventType != 75"
        return done.stdout, connection.execute(query).fetchall()


@pytest.mark.parametrize("way", ["injection", "library"])
def test_text_arrives(way: str, tmp_path: Path) -> None:
    if way == "library":
        try:
            ctypes.CDLL("libnvToolsExt.so.1")
        except OSError:
            pytest.skip("libnvToolsExt is not installed")
    said, events = recorded(tmp_path, sys.executable, "-c", WAYS, way, str(ROOT / "nsysparse"))
    assert f"through {way}" in said
    assert {(kind, text) for kind, text, *_ in events} == {
        (34, "kv_role role=prefill"),
        (59, "kv_step step=1"),
        (59, "kv_transfer op=send request=%C3%A9%201 layer=0-3 bytes=8"),
        (60, "kv_transfer op=put xfer=x"),
        (59, "kv_wait request=forked"),
    }
    assert all(text_id is None for _, _, text_id, *_ in events)
    ((started, ended),) = [(event[3], event[4]) for event in events if event[0] == 60]
    assert started != ended


def test_a_new_recording_is_found_as_its_program_counted(tmp_path: Path) -> None:
    script = ROOT / "sample_traces/record.py"
    done = subprocess.run(
        [sys.executable, str(script), "annotated", str(tmp_path)], capture_output=True, text=True, check=False
    )
    if "nsys wrote no report" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*.sqlite")
    (counts,) = tmp_path.glob("*.counts.json")
    samples = tomllib.loads((ROOT / "sample_traces/manifest.toml").read_text(encoding="utf-8"))["trace"]
    (answers,) = [trace["answers"] for trace in samples if trace["path"] == "real/nsys22-annotated.sqlite"]
    # What moves does not hang on the machine or on the time.
    assert json.loads(counts.read_text())["prefill"]["layers"] == answers["layers"]
    assert_finds(path, answers)
