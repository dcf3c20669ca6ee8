"""Frozen dataclasses that are quick to define, for modules that hold dozens of them.

`dataclasses` compiles six methods for each class, for 0.6 ms on Python 3.11: for the trees of an analysis and of a page
longer than numpy takes to load. Here `__init__` alone is compiled, and the others are one for all classes. To type
checkers, `fields`, `replace` and `asdict` the classes are what `dataclasses` makes.
"""

import dataclasses
from typing import TYPE_CHECKING, Any, NoReturn

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen, slots):  # noqa: ANN001, ANN201 (type checkers are shown the other)
        """What `dataclasses.dataclass` does for a frozen class with slots."""
        if not (frozen and slots):
            raise TypeError("a record is frozen and has slots")

        def define(plain):  # noqa: ANN001, ANN202 (likewise)
            plain.__eq__, plain.__hash__, plain.__repr__ = _eq, _hash, _repr
            made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(plain)
            made.__init__ = _init(dataclasses.fields(made))
            made.__setattr__, made.__delattr__ = _setattr, _delattr
            made.__getstate__, made.__setstate__ = _values, _setstate
            return made

        return define


def _init(fields: "tuple[dataclasses.Field[Any], ...]") -> Any:  # noqa: ANN401 (a method of any class)
    """`__init__`, which sets what its class lets nobody set."""
    known: dict[str, Any] = {"set_": object.__setattr__, "absent": dataclasses.MISSING}
    takes, sets = ["self"], []
    for field in fields:
        name, value = field.name, field.name
        if field.default is not dataclasses.MISSING:
            known[f"default_{name}"] = field.default
            takes.append(f"{name}=default_{name}")
        elif field.default_factory is not dataclasses.MISSING:
            known[f"make_{name}"] = field.default_factory
            takes.append(f"{name}=absent")
            value = f"make_{name}() if {name} is absent else {name}"
        else:
            takes.append(name)
        sets.append(f" set_(self, {name!r}, {value})")
    exec(f"def __init__({', '.join(takes)}):\n" + "\n".join(sets or [" pass"]), known)  # noqa: S102 (names of our fields)
    return known["__init__"]


def _values(self: Any) -> tuple[Any, ...]:  # noqa: ANN401 (a record of any class)
    return tuple(getattr(self, name) for name in self.__match_args__)


def _setstate(self: Any, state: tuple[Any, ...]) -> None:  # noqa: ANN401
    for name, value in zip(self.__match_args__, state, strict=True):
        object.__setattr__(self, name, value)


def _eq(self: Any, other: object) -> Any:  # noqa: ANN401
    return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:  # noqa: ANN401
    return hash(_values(self))


def _repr(self: Any) -> str:  # noqa: ANN401
    told = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{self.__class__.__qualname__}({told})"


def _setattr(_self: object, name: str, _value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(_self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
