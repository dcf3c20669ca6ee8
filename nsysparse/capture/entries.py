"""What the capture files hold, field by field as in the TOML files (whose headers define each of them)."""

from dataclasses import dataclass
from typing import Literal

Basis = Literal["tried", "documented"]
Role = Literal["prefill", "decode"]


@dataclass(frozen=True, slots=True)
class Release:
    """A version of nsys whose options are known, by trying them or from its documentation."""

    version: str
    basis: Basis
    source: str


@dataclass(frozen=True, slots=True)
class Spelling:
    """How an option is written from version `since` to version `until`, both included; open where `until` is None."""

    text: str
    since: str
    source: str
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """An option of `nsys profile` or `nsys export`, or a value of `nsys profile -t`.

    `about` says what it is for, `lacking` what is lost where an nsys has no spelling of it (None: nothing
    worth a word). A `shared` one stands in the commands of every engine.
    """

    id: str
    command: Literal["profile", "export", "trace"]
    about: str
    spellings: tuple[Spelling, ...]
    shared: bool = False
    lacking: str | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """Another way to record the same: what of `nsys profile` it adds, by ids of options."""

    id: str
    about: str
    trace: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """How an engine is started: its command line in pieces, one per line to print, and the variables it needs.

    Without `role` it serves either role. `name` is that of the report where no role names it.
    """

    command: tuple[str, ...]
    role: Role | None = None
    name: str | None = None
    environment: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Engine:
    """A serving system, or a way of moving KV, and what a trace of it will say.

    `trace`, `options`, `extras` and `variants` are ids: what its commands have beside the shared options, what may be
    added to them, and other ways to record. `leaves` is what its KV leaves in a trace; `layer`, `request` and `bytes`
    say where those come from, `todo` what else to do.
    """

    id: str
    name: str
    source: str
    trace: tuple[str, ...]
    leaves: str
    layer: str
    request: str
    bytes: str
    launches: tuple[Launch, ...]
    options: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    todo: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
