"""Write the sample traces' reports as Markdown and JSON; `--check` only says which are stale.

The committed files show what reports look like, and a test holds them against the code.
"""

import sys
from pathlib import Path

from nsysparse.api import Options, analyse
from nsysparse.render import FORMATS
from nsysparse.sections import build

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parent / "sample_traces"
# The synthetic ones say what link and model they have the shape of.
OPTIONS = {"synthetic": Options(link="ib-ndr", model="llama-3-8b"), "real": Options()}


def reports() -> dict[str, str]:
    """File name → content, for every sample trace."""
    written = {}
    for trace in sorted(SAMPLES.glob("*/*.sqlite")):
        analysis = analyse([trace], OPTIONS[trace.parent.name])
        written[f"{trace.stem}.md"] = FORMATS["markdown"].render(build(analysis))
        written[f"{trace.stem}.json"] = FORMATS["json"].render(analysis)
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
