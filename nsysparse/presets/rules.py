"""What a preset is: rules, each from the text of a range to what the range says."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from nsysparse.presets.engine import group_names

FIELDS = (
    "layer", "layer_bytes", "request", "request_bytes", "bytes", "role", "phase", "prompt", "layers",
    "op", "xfer", "peer", "step", "tokens", "requests", "ctx_reqs", "gen_reqs", "tp", "pp", "rank", "chunk", "blocks",
    "order", "own_layers", "ttft",
)  # fmt: skip
SCOPE, NOTHING, REQUEST = "scope", "nothing", "request"
KINDS: Mapping[str, str] = {
    "step": "one iteration of the engine",
    "layer": "work on a layer",
    REQUEST: "a request: its range announces it, with start and prompt length",
    "transfer": "one transfer; what it says of a call inside is `exact`, and gives it its bytes (a start/end range is"
    " `spanning`, and gives none)",
    "role": "what a whole process is for",
    "pack": "gathering, scattering or converting KV",
    "wait": "waiting for a transfer",
    "offload": "a move to host memory: the copies to the host launched inside are one transfer",
    "load": "a move from host memory, likewise",
    "pipeline": "exchange between pipeline stages",
    "weights": "moves of weights or experts",
    "collective": "a collective operation",
    "p2p": "a send or receive of which is not said what it moves",
    SCOPE: "anything else; gives way to the kind of a weaker rule",
    NOTHING: "with `drop = true`: a text that says nothing, and for which no weaker rule speaks",
}
PHASES = ("prefill", "decode", "mixed")
ROLES = ("prefill", "decode")
PURPOSES = ("kv", "other")


@dataclass(frozen=True, slots=True)
class Example:
    """A text the rule must match and the fields it must find in it; examples are the rule's tests."""

    text: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of range.

    Attributes:
        preset: Name of the preset; a rule is cited as preset/id.
        id: Unique in the preset.
        kind: A key of `KINDS`.
        pattern: Decides whether a text is of this kind; its named groups are fields.
        examples: At least one.
        fields: Further fields, each with a pattern of one group: for keys that come in any order.
        says: Fields that the text does not spell out but implies.
        purpose: What a transfer issued inside is for: kv, other, or None where this does not say.
        default_domain: Only names in the default domain count.
        domain: Only names in the domain of that name count.
        drop: What it matches says nothing.
    """

    preset: str
    id: str
    kind: str
    pattern: str
    examples: tuple[Example, ...]
    fields: Mapping[str, str] = field(default_factory=dict)
    says: Mapping[str, str] = field(default_factory=dict)
    purpose: str | None = None
    default_domain: bool = False
    domain: str | None = None
    drop: bool = False

    @property
    def cite(self) -> str:
        """How reports name the rule."""
        return f"{self.preset}/{self.id}"

    @property
    def captures(self) -> dict[str, tuple[str, int]]:
        """Field → the pattern that finds it and the number of the group that holds it."""
        groups = enumerate(group_names(self.pattern), 1)
        named = {name: (self.pattern, number) for number, name in groups if name in FIELDS}
        return named | {name: (pattern, 1) for name, pattern in self.fields.items()}


@dataclass(frozen=True, slots=True)
class Probe:
    """What some text of a trace must look like; with both, one text must have both."""

    pattern: str | None = None
    domain: str | None = None


@dataclass(frozen=True, slots=True)
class Preset:
    """How one program words its ranges.

    Attributes:
        name: Its name.
        about: What it knows, one sentence.
        rules: Strongest first; none where the program leaves no ranges, and `about` says what to do.
        probes: All must match some text of a trace, or the rules stay silent there. Without any they always speak.
        origin: Name of the file; None for those that are built in.
        ttft: Which side emits the first token where this program serves (`analysis.CONVENTIONS`), if that is known.
    """

    name: str
    about: str
    rules: tuple[Rule, ...]
    probes: tuple[Probe, ...] = ()
    origin: str | None = None
    ttft: str | None = None

    @property
    def shown(self) -> str:
        """Its name, and where it comes from unless it is built in."""
        return f"{self.name} ({self.origin})" if self.origin else self.name
