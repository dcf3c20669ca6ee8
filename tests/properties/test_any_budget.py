"""For any budget a report fits it or is refused; a larger budget never shows less."""

import re
from functools import cache

import factories
from hypothesis import given, settings
from hypothesis import strategies as st

from nsysparse.document import Document
from nsysparse.errors import UsageError
from nsysparse.render import to_markdown
from nsysparse.sections import build_review


@cache
def report() -> Document:
    return build_review(factories.rich(requests=6, layers=4, ids=["a|b", "<!-- nsysparse:report -->", "漢" * 90]))


def size(budget: int) -> int | None:
    """What the report takes; None where it is refused."""
    try:
        return len(to_markdown.render(report(), budget).encode())
    except UsageError:
        return None


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 30_000), st.integers(0, 5_000))
def test_any_budget_is_kept_or_refused(budget: int, more: int) -> None:
    least, largest = size(budget), size(budget + more)
    assert least is None or least <= budget
    assert largest is None or largest <= budget + more
    assert least is None or (largest is not None and least <= largest)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30_000))
def test_what_is_shown_is_whole(budget: int) -> None:
    if size(budget) is None:
        return
    text = to_markdown.render(report(), budget)
    assert text.startswith(f"{to_markdown.marker(report())}\n")
    assert text.endswith("</sub>\n")
    assert re.findall(r"</?details>", text) == ["<details>", "</details>"] * text.count("<details>")
    assert not re.search(r"&#?\w*$", text, flags=re.MULTILINE)
