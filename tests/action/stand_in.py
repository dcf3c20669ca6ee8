"""Stands in for what `nsysparse` is to do, in the tests of the action: `diff`, gates, and reports on saved analyses.

Reports on traces are the real ones; of a saved analysis the traces it came from are noted beside it.
"""

import json
import subprocess
import sys
from pathlib import Path

VALUED = ("-f", "-o")
ANSWERS = {
    "wire_gb_s.p50<999": (False, ""),
    "ttft_ms.p50>1": (None, "the run has no value"),
    "wire_gb_s.p50<1": (True, ""),
}
"""Conditions that these tests use, with what the real command says of them on the sample trace."""


def main(arguments: list[str]) -> int:
    command, *rest = arguments
    flags, values, names = [], {}, []
    while rest:
        word = rest.pop(0)
        if word == "--":
            names, rest = rest, []
        elif word in VALUED:
            values[word] = rest.pop(0)
        else:
            flags.append(word)
    return diff(flags, values, names) if command == "diff" else report(flags, values, names)


def report(flags: list[str], values: dict[str, str], names: list[str]) -> int:
    ours = [flag for flag in flags if not flag.startswith(("--config=", "--no-config", "--fail-over-threshold"))]
    if Path(names[0]).suffix == ".json":
        noted = json.loads(Path(names[0] + ".from").read_text(encoding="utf-8"))
        ours, names = [*noted["flags"], *ours], noted["names"]
    given = [word for pair in values.items() for word in pair]
    code = subprocess.run(
        [sys.executable, "-m", "nsysparse", "report", *ours, *given, "--", *names], check=False
    ).returncode
    if code == 0 and values["-f"] == "json":
        Path(values["-o"] + ".from").write_text(json.dumps({"flags": ours, "names": names}), encoding="utf-8")
    if code == 0 and "--fail-over-threshold" in flags:
        state = json.loads(Path(values["-o"]).read_text(encoding="utf-8"))["verdict"]["state"]
        return {"ok": 0, "over": 3}.get(state, 4)
    return code


def diff(flags: list[str], values: dict[str, str], names: list[str]) -> int:
    conditions = [flag.removeprefix("--fail-on=") for flag in flags if flag.startswith("--fail-on=")]
    unknown = [condition for condition in conditions if condition not in ANSWERS]
    if unknown:
        sys.stderr.write(
            f"nsysparse: --fail-on {unknown[0]}: no such metric.\n  Nearest: wire_gb_s.p50 <or> `others`\n"
        )
        return 2
    assert all(Path(name).exists() for name in names), names
    gates = [
        {"expression": condition, "value": None, "passed": ANSWERS[condition][0], "reason": ANSWERS[condition][1]}
        for condition in conditions
    ]
    text = f"Nothing moved between {Path(names[0]).name} and {Path(names[1]).name}"
    content = {
        "json": json.dumps({"verdict": {"state": "unchanged", "text": text}, "gates": gates}),
        "markdown": f"<!-- nsysparse:diff -->\n### ⚪ {text}\n\n{'row' * 100}\n",
        "html": f"<!doctype html><title>{text}</title>",
    }[values["-f"]]
    Path(values["-o"]).write_text(content, encoding="utf-8")
    if "-q" not in flags:
        sys.stdout.write(f"{text}\n::error::a stranger's name\n")
    passed = [gate["passed"] for gate in gates]
    return 3 if False in passed else 4 if None in passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
