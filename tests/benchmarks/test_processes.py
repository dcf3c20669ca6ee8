import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import in_turns, run

_MEASURED = """
import sys
from pathlib import Path
from processes import run
held = run([sys.executable, "-c", "held = bytearray(200_000_000); held[::4096] = b'x' * len(held[::4096])"], Path())
little = run([sys.executable, "-c", "print('here')"], Path())
print(held.peak_bytes, little.peak_bytes, little.said.strip())
"""


def test_peak_memory_is_of_the_child_and_what_it_printed_is_kept(tmp_path):
    # In a process of its own: a child begins with the peak of the process that starts it, and this one may be large.
    command = [sys.executable, "-c", _MEASURED]
    folder = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    said = subprocess.run(command, cwd=tmp_path, env=folder, capture_output=True, text=True, check=True).stdout
    held, little, here = said.split()
    assert 200e6 < int(held) < 400e6
    assert int(little) < int(held)
    assert here == "here"


def test_a_process_that_never_ends_is_ended_after_its_cpu_seconds(tmp_path):
    ended = run([sys.executable, "-c", "print('begun', flush=True)\nwhile True: pass"], tmp_path, cpu_limit=1)
    assert ended.is_cut_off
    assert 0.5 < ended.cpu_seconds < 2
    assert ended.said == "begun\n"


def test_a_process_that_fails_is_no_measurement(tmp_path):
    with pytest.raises(RuntimeError, match=r"ended with 3: why"):
        run([sys.executable, "-c", "import sys; sys.stderr.write('why'); sys.exit(3)"], tmp_path)


def test_commands_are_run_in_turns(tmp_path):
    trail = tmp_path / "trail"
    commands = {
        name: [sys.executable, "-c", f"open('trail', 'a').write('{name}')"] for name in ("a", "b")
    }  # fmt: skip
    runs = in_turns(commands, tmp_path, rounds=3)
    assert trail.read_text(encoding="utf-8") == "ababab"
    assert [len(each) for each in runs.values()] == [3, 3]
