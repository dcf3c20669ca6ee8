"""The real command line, run as people run it."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path


def run(*arguments: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python -m nsysparse` with these arguments in a folder; a failure is for the caller to look at."""
    return subprocess.run(
        [sys.executable, "-m", "nsysparse", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def call(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """As `run`, in this process: for what many tests ask, since imports cost more than most commands."""
    from nsysparse.cli import main

    told = [*map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    before, argv = Path.cwd(), sys.argv
    os.chdir(cwd)
    sys.argv = ["nsysparse", *told]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.argv = argv
        os.chdir(before)
    said = [each.buffer.getvalue().decode("utf-8") for each in (out, err)]  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(told, code, *said)
