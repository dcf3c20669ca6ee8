"""Says whether an input names analyses that are saved, or traces: `saved` goes to `nsysparse diff` as it stands.

The rules are those by which `nsysparse diff` itself reads a name; whose Python this is may not have nsysparse.
"""

import glob
import sys
from pathlib import Path

TRACE, SAVED = ".sqlite", ".json"
BEGINNING = 4096
SIGNATURE = b'"nsysparse": "'
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def main() -> int:
    """Print which of both the named input is."""
    print("saved" if is_saved(sys.argv[1]) else "traces")
    return 0


def is_saved(name: str) -> bool:
    """Whether a file, a folder or a pattern means saved analyses; what is not there is none."""
    try:
        path = Path(name)
        if path.is_dir():
            inside = [entry for entry in path.iterdir() if entry.suffix.lower() in (TRACE, SAVED)]
            return any(SIGNATURE in _json_of(entry) for entry in inside)
        there = [path] if path.exists() else [Path(match) for match in glob.glob(name)]  # noqa: PTH207 (may be absolute)
        return any(each.suffix.lower() == SAVED or _json_of(each) for each in there)
    except (OSError, RuntimeError, ValueError):  # nsysparse says what is wrong with it
        return False


def _json_of(path: Path) -> bytes:
    """How the file begins, where that is the beginning of a JSON object."""
    if not path.is_file():
        return b""
    with path.open("rb") as file:
        beginning = file.read(BEGINNING)
    return beginning if beginning.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"{") else b""


if __name__ == "__main__":
    sys.exit(main())
