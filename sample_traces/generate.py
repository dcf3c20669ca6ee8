"""Writes the synthetic sample traces and the manifest of all sample traces, with known answers.

    python sample_traces/generate.py [FOLDER]

FOLDER, this one by default, gets `synthetic/*.sqlite` and `manifest.toml`. The same seed gives the same bytes.
"""

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from recipes import grouped, oneprofile, slowlayers, transports, twofiles
from recipes.plan import Answers, known_answers

HERE = Path(__file__).resolve().parent
SEED = 20_261_129
RECIPES = {"pd-oneprofile": oneprofile, "pd-grouped": grouped, "pd-slow-layers": slowlayers}


def main(target: Path) -> None:
    """Write everything below `target`."""
    print(f"seed {SEED}")
    fixed = tomllib.loads((HERE / "origins.toml").read_text(encoding="utf-8"))
    lines = [*(f"# {line}".rstrip() for line in fixed.pop("head").strip().splitlines()), ""]
    for path, facts in fixed["real"].items():
        counts = facts.pop("counts", None)
        files = {name: _sha256(HERE / name) for name in (path, *facts.pop("companions", ()), *filter(None, [counts]))}
        answers = counts and _counted(json.loads((HERE / counts).read_text(encoding="utf-8")))
        lines += _trace(path, facts | {"synthetic": False}, files, answers)
    told = {}
    for name, recipe in RECIPES.items():
        plan = recipe.build(target / f"synthetic/{name}.sqlite", SEED)
        told[name] = known_answers(plan, recipe.LAYERS, recipe.PROMPTS)
    told["pd-transports"] = transports.build(target / "synthetic/pd-transports.sqlite", SEED)
    of_run = twofiles.build(target / "synthetic", SEED)
    of_files: Any = of_run.pop("files")
    told |= of_files
    for name, answers in told.items():
        path = f"synthetic/{name}.sqlite"
        facts = fixed["synthetic"][path] | {"synthetic": True, "seed": SEED}
        lines += _trace(path, facts, {path: _sha256(target / path)}, answers)
        print(f"{path}: {(target / path).stat().st_size} bytes")
    lines += [
        "[[run]]",
        'name = "pd-two-hosts"',
        f"paths = {json.dumps([f'synthetic/{name}.sqlite' for name in of_files])}",
    ]
    lines += [f"seed = {SEED}", "", *_table("run.answers", of_run)]
    (target / "manifest.toml").write_text("\n".join(lines), encoding="utf-8")


def _counted(counts: dict[str, Any]) -> Answers:
    """Answers of a recording whose program counted what it moved, on both sides where it has two."""
    if "answers" in counts:
        return dict(counts["answers"])
    sent, received = counts["prefill"], counts["decode"]
    if sent != received:
        raise ValueError("the sides counted differently")
    movements = sum(sent["transfers"].values())
    return {
        "send_transfers": movements,
        "recv_transfers": movements,
        "paired": movements,
        "total": {"movements": movements, "bytes": sum(sent["layers"]["bytes"])},
        "styles": sent["transfers"],
        "layers": sent["layers"],
        "requests": {
            name: sums | {"prompt_tokens": counts["prompt_tokens"][name]} for name, sums in sent["requests"].items()
        },
    }


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _trace(path: str, facts: dict[str, str | int], files: dict[str, str], answers: Answers | None) -> Iterator[str]:
    yield "[[trace]]"
    yield f'path = "{path}"'
    for key, value in facts.items():
        yield f"{key} = {_scalar(value)}"
    yield "sha256 = { " + ", ".join(f'"{name}" = "{digest}"' for name, digest in files.items()) + " }"
    yield ""
    if answers is not None:
        yield from _table("trace.answers", answers)


def _table(name: str, content: Answers) -> Iterator[str]:
    """A TOML table; plain values first, since those after a sub-table would belong to it."""
    yield f"[{name}]"
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    for key, value in content.items():
        if key not in tables:
            yield f"{key} = {_scalar(value)}"
    yield ""
    for key, value in tables.items():
        yield from _table(f"{name}.{key if re.fullmatch(r'[A-Za-z0-9_-]+', key) else json.dumps(key)}", value)


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
