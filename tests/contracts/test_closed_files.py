"""`with sqlite3.connect(…)` ends a transaction and leaves the file open; only Python 3.13 and newer say so.

Where an older Python runs the tests, nothing else would tell.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("nsysparse", "tests", "sample_traces", "docs")
OURS = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def left_open(code: str) -> list[int]:
    """Lines of `with` statements that open a bare connection."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.With)
        and any(
            isinstance(item.context_expr, ast.Call) and ast.unparse(item.context_expr.func) == "sqlite3.connect"
            for item in node.items
        )
    ]


def test_a_bare_connection_is_seen() -> None:
    assert left_open("with sqlite3.connect(path) as file:\n    pass") == [1]
    assert left_open("with closing(sqlite3.connect(path)) as file, file:\n    pass") == []


def test_no_file_is_left_open() -> None:
    found = {path.relative_to(ROOT): left_open(path.read_text(encoding="utf-8")) for path in OURS}
    assert {path: lines for path, lines in found.items() if lines} == {}
