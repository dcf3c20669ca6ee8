"""Prints what a step needs of a saved result, as outputs of one line each: the verdict, and why the gates fail."""

import json
import re
import sys
from pathlib import Path
from typing import Any

LENGTH = 1000
FAILED, UNANSWERED = 3, 4


def main() -> int:
    """Read the JSON named first; the exit code of nsysparse is named second, then what else is known of it."""
    result = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    state = str(result["verdict"]["state"])
    print(f"verdict={state if re.fullmatch('[a-z-]{1,40}', state) else 'unknown'}")
    print(f"why={_one_line(sys.argv[3] or _why(result, int(sys.argv[2])))}")
    return 0


def _why(result: dict[str, Any], code: int) -> str:
    gates = result.get("gates", [])
    said = [f"failed: {gate['expression']}" for gate in gates if gate["passed"] is False]
    said += [f"not answered: {gate['expression']} ({gate['reason']})" for gate in gates if gate["passed"] is None]
    if said:
        return "; ".join(said)
    return str(result["verdict"]["text"]) if code in (FAILED, UNANSWERED) else ""


def _one_line(text: str) -> str:
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())[:LENGTH]


if __name__ == "__main__":
    sys.exit(main())
