"""Records are, to all who use them, what `dataclasses` makes of the same classes."""

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from nsysparse.records import dataclass


@dataclass(frozen=True, slots=True)
class Ours:
    """A class with and without defaults."""

    a: int
    b: tuple[int, ...] = (1,)
    c: dict[str, int] = dataclasses.field(default_factory=dict)

    @property
    def twice(self) -> int:
        """A method of its own."""
        return 2 * self.a


@dataclasses.dataclass(frozen=True, slots=True)
class Theirs:
    """The same class."""

    a: int
    b: tuple[int, ...] = (1,)
    c: dict[str, int] = dataclasses.field(default_factory=dict)


KINDS: list[Any] = [Ours, Theirs]


@pytest.mark.parametrize("kind", KINDS)
def test_values_come_by_place_by_name_or_by_default(kind: Any) -> None:
    assert dataclasses.astuple(kind(1)) == (1, (1,), {})
    assert dataclasses.astuple(kind(1, c={"x": 2}, b=())) == (1, (), {"x": 2})
    assert kind(1).c is not kind(1).c
    for wrong in ({}, {"a": 1, "d": 2}):
        with pytest.raises(TypeError, match="__init__"):
            kind(**wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_changes_them(kind: Any) -> None:
    one = kind(1)
    for change in (lambda: setattr(one, "a", 2), lambda: setattr(one, "d", 2), lambda: delattr(one, "a")):
        with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
            change()
    assert one.a == 1
    assert not hasattr(one, "__dict__")


@pytest.mark.parametrize("kind", KINDS)
def test_equal_values_make_them_equal(kind: Any) -> None:
    assert kind(1) == kind(1)
    assert kind(1) != kind(2)
    assert kind(1) != 1
    assert Ours(1) != Theirs(1)
    with pytest.raises(TypeError):  # a dictionary among its values
        hash(kind(1))
    assert len({dataclasses.replace(kind(1), c=None), dataclasses.replace(kind(1), c=None)}) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_replaced_copied_and_sent_to_other_processes(kind: Any) -> None:
    one = kind(1, c={"x": 2})
    assert dataclasses.replace(one, a=3) == kind(3, c={"x": 2})
    assert dataclasses.asdict(one) == {"a": 1, "b": (1,), "c": {"x": 2}}
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):  # noqa: S301 (our own)
        assert other == one
    assert copy.deepcopy(one).c is not one.c


def test_they_are_shown_and_taken_apart_alike() -> None:
    assert repr(Ours(1)) == repr(Theirs(1)).replace("Theirs", "Ours") == "Ours(a=1, b=(1,), c={})"
    assert Ours.__match_args__ == Theirs.__match_args__  # type: ignore[attr-defined]
    assert [(each.name, each.type) for each in dataclasses.fields(Ours)] == [
        (each.name, each.type) for each in dataclasses.fields(Theirs)
    ]
    assert Ours(4).twice == 8
    assert Ours.__doc__ == "A class with and without defaults."


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(TypeError, match="frozen and has slots"):
        dataclass(frozen=False, slots=True)
