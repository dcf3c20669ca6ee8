"""Whatever stands in a report: it is refused in a sentence, or every format can be made of it, and it compares."""

import json
import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import factories
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nsysparse.changes import build as changes_of
from nsysparse.compare import compare
from nsysparse.errors import InputError
from nsysparse.render import to_html, to_json, to_markdown, to_text
from nsysparse.saved import read_saved
from nsysparse.sections import build, build_review, build_summary

Place: TypeAlias = tuple[str | int, ...]
SAMPLE = Path(__file__).parents[2] / "reports" / "pd-oneprofile.json"
INTS = st.sampled_from([0, 1, -1, 2**31, 2**32, 2**63 - 1, -(2**63), 2**63]) | st.integers(-(2**64), 2**64)
FLOATS = st.sampled_from([0.0, 5e-324, 1e-39, 0.5, 1.0, 1.5, 9e18, -9e18, 1e308]) | st.floats(
    allow_nan=False, allow_infinity=False
)
TEXTS = st.one_of(
    st.sampled_from(
        ["", "/", "/5", "//", "unknown", "ok", "nccl", "\ud800", "a\0b\n", "漢" * 300, "decode-emits-first"]
    ),
    st.text(max_size=20),
)
VALUES = st.one_of(
    INTS,
    FLOATS,
    TEXTS,
    st.sampled_from([None, True, False, [], {}, [1], [1, 2], ["a", "b"], [None], {"low": 1, "high": 2}, {"low": 1}]),
)


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Of every value in a tree of JSON, but for the whole."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in items:
        yield (*place, step)
        yield from places(each, (*place, step))


@cache
def reports() -> Sequence[tuple[Any, Sequence[Sequence[Place]]]]:
    """Reports as JSON, each with its places by what they are: one of a thousand cells weighs as much as the verdict."""
    found = []
    for text in (to_json.render(factories.rich(requests=4, layers=3)), SAMPLE.read_text()):
        whole = json.loads(text)
        kinds: dict[Place, list[Place]] = defaultdict(list)
        for place in places(whole):
            kinds[tuple("*" if isinstance(step, int) else step for step in place)].append(place)
        found.append((whole, list(kinds.values())))
    return found


@st.composite
def changed(draw: st.DrawFn) -> Any:
    """A report with one to four values, each in one place or in all alike, replaced, dropped, added or emptied."""
    whole, kinds = draw(st.sampled_from(reports()))
    report = deepcopy(whole)
    for _ in range(draw(st.sampled_from((1, 1, 2, 4)))):
        alike = draw(st.sampled_from(kinds))
        change = draw(changes(at(whole, alike[0])))
        for place in alike if draw(st.booleans()) else [draw(st.sampled_from(alike))]:
            with suppress(KeyError, IndexError, TypeError):  # an earlier change may have taken the place away
                change(at(report, place[:-1]), place[-1])
    return report


def at(whole: Any, place: Place) -> Any:
    for step in place:
        whole = whole[step]
    return whole


def changes(old: Any) -> st.SearchStrategy[Callable[[Any, Any], object]]:
    """What may become of a value: mostly another of its own type, as others are refused at once."""

    def put(value: Any) -> Callable[[Any, Any], object]:
        return lambda inside, last: operator.setitem(inside, last, deepcopy(value))

    def add(key: str, value: Any) -> Callable[[Any, Any], object]:
        return lambda inside, _last: operator.setitem(inside, key, deepcopy(value))

    like = VALUES
    if isinstance(old, int | float) and not isinstance(old, bool):
        own = st.sampled_from([-old, old + 1, old - 1, old * 1000, 0])
        like = own | (INTS if isinstance(old, int) else FLOATS)
    elif isinstance(old, str):
        like = TEXTS
    elif isinstance(old, list | dict):
        like = st.just(type(old)()) | VALUES
    return st.one_of(
        like.map(put),
        like.map(put),
        st.just(put(None)),
        VALUES.map(put),
        st.just(operator.delitem),
        st.builds(add, TEXTS, VALUES | st.just(old)),
    )


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(report=changed())
def test_any_report_is_refused_or_drawn(report: Any, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(report))
    try:
        analysis = read_saved(path)
    except InputError as error:
        error.message.encode("utf-8")
        return
    other = factories.rich(requests=4, layers=3)
    compared = [compare([one], another) for one, another in ((analysis, other), (other, analysis))]
    for text in (
        to_json.render(analysis),
        to_html.render(build(analysis)),
        to_markdown.render(build_review(analysis), 0),
        to_text.render(build_summary(analysis)),
        to_text.render(build(analysis)),
        *(to_json.render(each) for each in compared),
        *(to_text.render(changes_of(each)) for each in compared),
    ):
        text.encode("utf-8")
