"""The commands that record an engine with one version of nsys, and what the recording will say."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from nsysparse.capture.entries import Engine, Launch, Option, Role
from nsysparse.capture.loader import Options
from nsysparse.capture.versions import Version, parse, shown, within
from nsysparse.errors import UsageError

WIDTH = 100
Basis = Literal["tried", "documented", "newer"]


@dataclass(frozen=True, slots=True)
class Command:
    """A command in pieces, one per line to print."""

    pieces: tuple[str, ...]

    @property
    def line(self) -> str:
        """The command on one line."""
        return " ".join(self.pieces)

    @property
    def shell(self) -> str:
        """The command in lines that a shell joins again."""
        return " \\\n  ".join(self.pieces)


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another command for the same launch, and what it is for."""

    about: str
    profile: Command


@dataclass(frozen=True, slots=True)
class Recording:
    """One launch: how it is recorded, and how its report is exported. `role` None: whichever."""

    role: Role | None
    note: str | None
    profile: Command
    export: Command
    sqlite: str
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True, slots=True)
class Capture:
    """How one engine is recorded with one nsys.

    `basis` says how the options of that nsys are known: `tried` with it, `documented`, or those of the newest known one
    because it is `newer`. `extras` are options to add, each with what it is for; `lacking` is what this nsys cannot do.
    """

    engine: Engine
    nsys: str
    basis: Basis
    recordings: tuple[Recording, ...]
    extras: tuple[tuple[str, str], ...]
    lacking: tuple[str, ...]


def newest(known: Options) -> Version:
    """The newest nsys whose options are known."""
    return parse(known.releases[-1].version)


def compose(engine: Engine, version: Version, role: Role | None, known: Options) -> Capture:
    """The commands for an engine.

    Args:
        engine: The engine.
        version: That of the nsys that will record.
        role: Only this side; None for all.
        known: The options of nsys.

    Raises:
        UsageError: Nothing is known of an nsys that old.
    """
    oldest = known.releases[0].version
    if not within(version, oldest, None):
        raise UsageError(
            f"Nothing is known of the options of nsys {shown(version)}: the oldest known is {oldest}.",
            "Record with a newer nsys, or see `nsys profile --help` of yours.",
        )
    all_options = known.options
    trace, extras = _named(engine.trace, known), _named(engine.extras, known)
    profile = [*_shared("profile", known), *_named(engine.options, known)]
    export = _shared("export", known)
    variants = [known.variants[each] for each in engine.variants]
    added = [all_options[each] for variant in variants for each in (*variant.trace, *variant.options)]
    possible = [
        variant
        for variant in variants
        if all(spelling(all_options[each], version) for each in (*variant.trace, *variant.options))
    ]

    def recording(launch: Launch) -> Recording:
        name = launch.role or role or launch.name or engine.id
        return Recording(
            role=launch.role or role,
            note=launch.note,
            profile=_profile(launch, name, _texts(trace, version), _texts(profile, version)),
            export=_filled("nsys export", [*_texts(export, version), f"-o {name}.sqlite {name}.nsys-rep"]),
            sqlite=f"{name}.sqlite",
            alternatives=tuple(
                Alternative(
                    variant.about,
                    _profile(
                        launch,
                        name,
                        _texts([*trace, *_named(variant.trace, known)], version),
                        _texts([*profile, *_named(variant.options, known)], version),
                    ),
                )
                for variant in possible
            ),
        )

    asked = [*profile, *trace, *added, *extras, *export]
    missing = [option.lacking for option in asked if option.lacking and spelling(option, version) is None]
    return Capture(
        engine=engine,
        nsys=shown(version),
        basis=_basis(version, known),
        recordings=tuple(
            recording(launch) for launch in engine.launches if role is None or launch.role in (None, role)
        ),
        extras=tuple((text, extra.about) for extra in extras for text in _texts([extra], version)),
        lacking=tuple(dict.fromkeys(missing)),
    )


def spelling(option: Option, version: Version) -> str | None:
    """How this nsys spells an option; None where it has none."""
    return next((each.text for each in option.spellings if within(version, each.since, each.until)), None)


def _profile(launch: Launch, name: str, trace: Sequence[str], options: Sequence[str]) -> Command:
    start = " ".join([*launch.environment, "nsys profile"])
    return Command((*_filled(start, [f"-t {','.join(trace)}", *options, f"-o {name}"]).pieces, *launch.command))


def _shared(command: str, known: Options) -> list[Option]:
    return [option for option in known.options.values() if option.shared and option.command == command]


def _named(ids: Sequence[str], known: Options) -> list[Option]:
    return [known.options[each] for each in ids]


def _texts(options: Iterable[Option], version: Version) -> list[str]:
    return [text for option in options if (text := spelling(option, version)) is not None]


def _basis(version: Version, known: Options) -> Basis:
    top = newest(known)
    if version[: len(top)] > top:
        return "newer"
    tried = any(release.basis == "tried" and parse(release.version) == version[:2] for release in known.releases)
    return "tried" if tried else "documented"


def _filled(start: str, groups: Iterable[str]) -> Command:
    """A command in lines no longer than WIDTH, broken between groups only."""
    lines = [start]
    for group in groups:
        if len(lines[-1]) + 1 + len(group) > WIDTH:
            lines.append(group)
        else:
            lines[-1] += f" {group}"
    return Command(tuple(lines))
