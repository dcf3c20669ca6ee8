"""The real command line, run as people run it."""

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
