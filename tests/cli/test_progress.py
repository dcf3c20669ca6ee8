"""What people who wait see: a bar on the terminal behind stderr alone, gone when the work is over, however it ends."""

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nsysparse.api import AFTER_READING, Options, Stage, analyse, export_frame

SAMPLE = "synthetic/pd-oneprofile.sqlite"
ROOM = 100


def on_a_terminal(code: str, *arguments: str | Path, cwd: Path, **more: str) -> tuple[int, bytes, str]:
    """Exit code, stdout (a file) and all that came to a terminal behind stderr."""
    main, side = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(ROOM), "LINES": "24", **more}
    with (cwd / "stdout").open("w+b") as out:  # not a pipe, which nobody would empty meanwhile
        process = subprocess.Popen(
            [sys.executable, "-c", f"{code}\nfrom nsysparse.cli import main; main()", *map(str, arguments)],
            cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=side,
        )  # fmt: skip
        os.close(side)
        told = b""
        try:
            while read := os.read(main, 65536):
                told += read
        except OSError:  # the other end is closed
            pass
        os.close(main)
        process.wait()
        out.seek(0)
        return process.returncode, out.read(), told.decode()


_STEP = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


def screen(told: str) -> list[str]:
    """What stands on a terminal after it was told that; only the escapes that a bar needs."""
    lines, row, column = [""], 0, 0
    for number, letter, control, text in (found.groups() for found in _STEP.finditer(told)):
        if control == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif control == "\r":
            column = 0
        elif text:
            lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
            column += len(text)
        elif letter == "A":
            row = max(row - int(number or 1), 0)
        elif letter == "K":
            lines[row] = "" if number == "2" else lines[row][:column]
        else:
            assert letter in "mhl", f"an escape that this terminal does not know: {number}{letter}"
    return [line.rstrip() for line in lines]


def test_a_bar_is_drawn_on_stderr_alone_and_is_gone_at_the_end(sample: Callable[[str], Path], tmp_path: Path) -> None:
    code, out, told = on_a_terminal("", "report", sample(SAMPLE), "-f", "json", "-o", "-", cwd=tmp_path)
    assert code == 0
    assert json.loads(out)["format_version"] == 1
    assert b"\x1b[" not in out
    bare = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told)
    for stage in ("0/4 ", "reading pd-oneprofile.sqlite", "1/4 ", "pairing", "2/4 ", "metrics", "3/4 ", "writing"):
        assert stage in bare
    assert [line for line in screen(told) if line] == []
    assert told.rindex("\x1b[?25h") > told.rindex("\x1b[?25l")  # the cursor is back


def test_what_is_said_afterwards_stands_on_a_line_of_its_own(sample: Callable[[str], Path], tmp_path: Path) -> None:
    code, out, told = on_a_terminal("", "report", sample(SAMPLE), "-o", "x.html", cwd=tmp_path)
    assert code == 0
    assert out.decode().startswith("KV gap is 5.1 %")
    assert [line for line in screen(told) if line] == ["Wrote x.html"]


def test_long_and_hostile_names_of_files_do_not_steer_the_terminal(
    sample: Callable[[str], Path], tmp_path: Path
) -> None:
    name = f"[red]{'long' * 40}\x1b]0;owned\x07.sqlite"
    (tmp_path / name).write_bytes(sample(SAMPLE).read_bytes())
    _, _, told = on_a_terminal("", "inspect", name, cwd=tmp_path)
    assert "\x1b]" not in told
    assert "\x07" not in told
    assert "reading [red]long" in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", told)
    assert [line for line in screen(told) if line] == []


@pytest.mark.parametrize(
    ("options", "environment"), [(["-q"], {}), ([], {"TERM": "dumb"})], ids=["quiet", "dumb terminal"]
)
def test_no_bar_where_none_is_wanted(
    options: list[str], environment: dict[str, str], sample: Callable[[str], Path], tmp_path: Path
) -> None:
    code, _, told = on_a_terminal("", "inspect", sample(SAMPLE), *options, cwd=tmp_path, **environment)
    assert (code, told) == (0, "")


def test_verbose_are_lines(sample: Callable[[str], Path], tmp_path: Path) -> None:
    _, _, told = on_a_terminal("", "report", sample(SAMPLE), "-v", "-f", "json", "-o", "-", cwd=tmp_path)
    assert screen(told) == [
        "reading pd-oneprofile.sqlite", "pairing and attributing transfers", "computing metrics", "writing the report",
        "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ends", "exit_code", "said"),
    [
        ("raise KeyboardInterrupt", 130, "nsysparse: interrupted"),
        ("raise InputError('broken', 'mend it')", 1, "nsysparse: broken"),
        ("raise ValueError('oops')", 1, "nsysparse: internal error: ValueError: oops"),
    ],
)
def test_an_end_before_time_leaves_no_half_line(
    ends: str, exit_code: int, said: str, sample: Callable[[str], Path], tmp_path: Path
) -> None:
    code = (
        "import nsysparse.api.reports as reports\n"
        "from nsysparse.errors import InputError\n"
        "def broken(paths, options, tell):\n"
        "    tell('reading for long')\n"
        f"    {ends}\n"
        "reports.analyse = broken\n"
    )
    done, out, told = on_a_terminal(code, "report", sample(SAMPLE), cwd=tmp_path)
    assert (done, out) == (exit_code, b"")
    assert "reading for long" in told
    shown = [line for line in screen(told) if line]
    assert shown[0] == said
    assert not [line for line in shown if "reading" in line]
    assert told.rindex("\x1b[?25h") > told.rindex("\x1b[?25l")


def test_a_plain_function_of_one_text_is_still_told(sample: Callable[[str], Path]) -> None:
    told: list[str] = []
    analyse([sample(SAMPLE)], Options(), told.append)
    assert told == ["reading pd-oneprofile.sqlite", "pairing and attributing transfers", "computing metrics"]
    stages = [each for each in told if isinstance(each, Stage)]
    assert [(each.done, each.of) for each in stages] == [(place, 1 + AFTER_READING) for place in range(3)]


def test_every_file_is_a_stage(sample: Callable[[str], Path]) -> None:
    told: list[str] = []
    paths = [sample(f"synthetic/pd-two-hosts-{side}.sqlite") for side in ("prefill", "decode")]
    export_frame(paths, "nvtx_ranges", progress=told.append)
    assert [(each.done, each.of) for each in told if isinstance(each, Stage)] == [(0, 2), (1, 2)]
