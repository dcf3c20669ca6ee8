"""Write the sample traces' reports as Markdown and JSON; `--check` only says which are stale.

The committed files show what reports look like, and a test holds them against the code.
"""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from nsysparse import changes
from nsysparse.api import Options, analyse
from nsysparse.compare import compare
from nsysparse.render import FORMATS
from nsysparse.sections import build_review

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent / "sample_traces"
# The synthetic ones say what link and model they have the shape of; those of several files have no model's.
OPTIONS = {"synthetic": Options(link="ib-ndr", model="llama-3-8b"), "real": Options()}
RUN_OPTIONS = Options(link="ib-ndr")
COMPARED = (("diff-slow-layers", "pd-oneprofile", "pd-slow-layers"),)
"""Comparisons: their names, bases and candidates."""


def runs() -> Iterator[tuple[str, list[Path], Options]]:
    """What is reported on: the runs that several sample traces hold, and every other trace alone."""
    manifest = tomllib.loads((SAMPLES / "manifest.toml").read_text(encoding="utf-8"))
    together = {run["name"]: [SAMPLES / path for path in run["paths"]] for run in manifest["run"]}
    parts = {path for paths in together.values() for path in paths}
    for name, paths in together.items():
        yield name, paths, RUN_OPTIONS
    for trace in sorted(set(SAMPLES.glob("*/*.sqlite")) - parts):
        yield trace.stem, [trace], OPTIONS[trace.parent.name]


def reports() -> dict[str, str]:
    """File name → content, for every run of the sample traces and every comparison of two of them."""
    written, found = {}, {}
    for name, paths, options in runs():
        analysis = analyse(paths, options)
        written[f"{name}.md"] = FORMATS["markdown"].render(build_review(analysis))
        written[f"{name}.json"] = FORMATS["json"].render(analysis)
        found[name] = analysis
    for name, base, candidate in COMPARED:
        comparison = compare([found[base]], found[candidate])
        written[f"{name}.md"] = FORMATS["markdown"].render(changes.build_review(comparison))
        written[f"{name}.json"] = FORMATS["json"].render(comparison)
    return written


def stale() -> list[str]:
    """Names of committed reports that differ from what the code writes now, are missing, or have no trace."""
    now = reports()
    committed = {path.name: path.read_text(encoding="utf-8") for path in HERE.glob("*.md")}
    committed |= {path.name: path.read_text(encoding="utf-8") for path in HERE.glob("*.json")}
    committed.pop("README.md", None)
    return sorted(name for name in {*now, *committed} if now.get(name) != committed.get(name))


def main(arguments: list[str]) -> int:
    """Write or check."""
    if arguments == ["--check"]:
        for name in (names := stale()):
            sys.stderr.write(f"reports/{name} is stale: run `make reports`\n")
        return int(bool(names))
    now = reports()
    for path in [*HERE.glob("*.md"), *HERE.glob("*.json")]:
        if path.name not in now and path.name != "README.md":
            path.unlink()
    for name, content in now.items():
        (HERE / name).write_text(content, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
