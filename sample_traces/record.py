"""Records a `drive_NAME.py` under the `nsys` on PATH, and makes the export fit to be published.

    python sample_traces/record.py annotated|hooks [FOLDER]

FOLDER, `real/` by default, gets `nsysVERSION-NAME.sqlite` and, as `.counts.json`, what the driver counted while it
moved bytes. No two recordings have the same bytes: after a new one, `make traces` renews the manifest. The
export holds the environment, names and paths of the machine; `scrub.py` takes them out, and nothing is written where
one is left.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import scrub

HERE = Path(__file__).resolve().parent
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable


def main(driver: str, target: Path) -> None:
    """Record a driver into `target`."""
    nsys = shutil.which("nsys")
    if nsys is None:
        sys.exit("nsys is not on PATH (Debian: nsight-systems, of non-free)")
    said = subprocess.run([nsys, "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\d{4}\.\d+\.\d+", said)
    if found is None:
        sys.exit(f"nsys says no version: {said}")
    name = f"nsys{found[0][2:4]}-{driver}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        shutil.copyfile(HERE / f"drive_{driver}.py", folder / f"drive_{driver}.py")
        shutil.copyfile(HERE.parent / "nsysparse/annotate.py", folder / "kvx_annotate.py")
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": temporary, "PYTHONDONTWRITEBYTECODE": "1"}

        def run(*command: str) -> str:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
            return done.stdout

        profile = (nsys, "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", "-o", "t")
        counts = json.JSONDecoder().raw_decode(run(*profile, PYTHON, f"drive_{driver}.py").lstrip())[0]
        if not (folder / "t.nsys-rep").exists():
            sys.exit("nsys wrote no report (Debian's package lacks target-linux-x64/../host-linux-x64: make it a link)")
        run(nsys, "export", "--type", "sqlite", "-o", "t.sqlite", "t.nsys-rep")
        scrub.scrub(folder / "t.sqlite")
        left = scrub.private_left(folder / "t.sqlite", [temporary, nsys, *os.environ.values(), *map(str, HERE.parents)])
        if left:
            sys.exit(f"the export still holds {left}")
        shutil.copyfile(folder / "t.sqlite", target / f"{name}.sqlite")
    (target / f"{name}.counts.json").write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    print(f"{name}.sqlite: {(target / f'{name}.sqlite').stat().st_size} bytes")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("annotated", "hooks"):  # noqa: PLR2004 (the driver)
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "real")  # noqa: PLR2004 (and the folder)
