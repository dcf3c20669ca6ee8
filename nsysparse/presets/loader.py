"""Which presets there are: those built in, those of a user's files, and the pattern of a command's option."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path

from nsysparse.errors import InputError, UsageError, unknown_name
from nsysparse.filenames import shown_name
from nsysparse.presets.engine import complaint, group_names
from nsysparse.presets.format import Refusal, parse
from nsysparse.presets.matching import active, match, rules_of
from nsysparse.presets.rules import FIELDS, KINDS, REQUEST, SCOPE, Example, Preset, Probe, Rule
from nsysparse.presets.verify import advice, verify

__all__ = [
    "BUILTIN",
    "FIELDS",
    "KINDS",
    "OPTION",
    "Example",
    "Preset",
    "Probe",
    "Refusal",
    "Rule",
    "active",
    "builtin",
    "builtin_rules",
    "examine",
    "find",
    "load",
    "match",
    "rules_of",
    "source_text",
]

BUILTIN = (
    "own", "vllm-p2p-nccl", "vllm", "vllm-nixl", "nixl", "sglang", "trtllm", "trtllm-bounce", "lmcache", "distserve",
    "megatron-pp", "weights", "torch", "generic",
)  # fmt: skip
"""Names of the built-in presets, strongest first."""
MOST_BYTES = 1_000_000
_LISTING = "nsysparse presets list"
OPTION = "request-pattern"
"""Name of the preset that the option of that name makes."""


@cache
def builtin() -> tuple[Preset, ...]:
    """The built-in presets, strongest first."""
    return tuple(_builtin(name) for name in BUILTIN)


def builtin_rules() -> tuple[Rule, ...]:
    """All built-in rules, strongest first."""
    return rules_of(builtin())


def _builtin(name: str) -> Preset:
    found, refusals = parse(source_text(name), f"{name}.toml", builtin=True)
    if found is None:  # patterns and examples are checked by the tests
        raise InputError(str(refusals[0]), refusals[0].fix)
    return found


def source_text(name: str) -> str:
    """The TOML of a preset that `find` finds."""
    if name in BUILTIN:
        return resources.files("nsysparse.presets.builtin").joinpath(f"{name}.toml").read_text("utf-8")
    text = _text(Path(name), _origin(name))
    return text if isinstance(text, str) else ""


def load(chosen: Sequence[str] = (), request_pattern: str | None = None) -> tuple[Preset, ...]:
    """The presets that may speak, strongest first.

    Args:
        chosen: Names of built-in presets, which then speak whatever their probes say while all others built in stay
            silent; and files, which are stronger than all of these, in the order given.
        request_pattern: Finds the id of a request: its group `request`, else its first group. Stronger than all as to
            the request; it gives a range a kind only where no preset knows one.

    Raises:
        UsageError: A name is unknown, or the pattern of the option cannot be used.
        InputError: A file cannot be used.
    """
    named = [each for each in chosen if each in BUILTIN]
    users = [read(each) for each in dict.fromkeys(chosen) if each not in BUILTIN]
    for place, preset in enumerate(users):
        if preset.name in [other.name for other in users[:place]]:
            raise InputError(
                f"{preset.origin}: another file has the name {preset.name!r} too.", "Give it another name."
            )
    own = [replace(each, probes=()) for each in builtin() if each.name in named] if named else builtin()
    strong, weak = _of_option(request_pattern)
    return (*strong, *users, *own, *weak)


def _of_option(pattern: str | None) -> tuple[tuple[Preset, ...], tuple[Preset, ...]]:
    """The rule of the option twice: as the strongest for the field, as the weakest for the kind."""
    if pattern is None:
        return (), ()
    text = complaint(pattern)
    if text is None:
        groups = group_names(pattern)
        other = next((name for name in groups if name in FIELDS and name != REQUEST), None)
        text = None if groups and not other else f"has a group {other!r}" if other else "has no group"
    if text is not None:
        raise UsageError(
            f"The request pattern {text}.", f"{advice(text)} The id is the group (?P<request>…), else the first."
        )
    fields = {} if REQUEST in group_names(pattern) else {REQUEST: pattern}
    rule = Rule(OPTION, "option", SCOPE, pattern, (), fields)
    about = "the id of a request, as the command line says"
    strong, weak = (Preset(OPTION, about, (replace(rule, kind=kind),)) for kind in (SCOPE, REQUEST))
    return (strong,), (weak,)


def find(name: str) -> Preset:
    """A built-in preset by name, or that of a file; errors as for `load`."""
    return next((each for each in builtin() if each.name == name), None) or read(name)


def read(name: str) -> Preset:
    """The preset of a file.

    Raises:
        UsageError: There is no such preset.
        InputError: The file cannot be used; the message is the first refusal.
    """
    preset, refusals = examine(name)
    if preset is None:
        more = f" ({len(refusals) - 1} more)" if len(refusals) > 1 else ""
        fix = refusals[0].fix or "docs/reference/presets.md shows a whole preset."
        raise InputError(f"Preset {refusals[0]}{more}", f"{fix} `nsysparse presets check` says all that is wrong.")
    return preset


def examine(name: str) -> tuple[Preset | None, list[Refusal]]:
    """The preset of a file, or of what is built in, and all that is wrong with it: then the preset is None.

    Raises:
        UsageError: There is no such file, and nothing built in of that name.
        InputError: The file cannot be read.
    """
    if name in BUILTIN:
        return find(name), []
    path, origin = Path(name), _origin(name)
    if "\0" in name or (path.suffix != ".toml" and path.name == name and not _exists(path, origin)):
        raise unknown_name("preset", name, BUILTIN, _LISTING)
    text = _text(path, origin)
    if isinstance(text, Refusal):
        return None, [text]
    preset, refusals = parse(text, origin)
    if preset is None:
        return None, refusals
    if preset.name in (*BUILTIN, OPTION):
        fix = "Give it another name; rules are cited as name/id."
        refusals.append(Refusal(origin, f"the name {preset.name!r} is taken by one that is built in", fix))
    if not preset.rules:
        refusals.append(Refusal(origin, "has no rule", "docs/how-to/write-a-preset.md says how to write one."))
    refusals += verify(preset, origin)
    return (None if refusals else preset), refusals


def _origin(name: str) -> str:
    return shown_name(Path(name).name)


def _exists(path: Path, origin: str) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise _unreadable(origin, error) from error


def _unreadable(origin: str, error: OSError) -> InputError:
    fix = f"`{_LISTING}` shows what is built in." if isinstance(error, FileNotFoundError) else "Name a TOML file."
    return InputError(f"{origin or 'the empty name'}: cannot be read ({error.strerror}).", fix)


def _text(path: Path, origin: str) -> str | Refusal:
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{origin or path}: is no regular file.", "Name a TOML file.")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise _unreadable(origin, error) from error
    if len(content) > MOST_BYTES:
        return Refusal(origin, "is larger than 1 MB", "A preset is a short list of rules.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return Refusal(origin, f"is not UTF-8 at byte {error.start:,}", "Save it as UTF-8.")
