"""Load presets and match them against range names.

Patterns run in polars' regex engine, which is linear in the text: no pattern and no name can make it hang.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import polars as pl

from nsysparse.errors import InputError

BUILTIN = ("own", "lmcache", "trtllm_bounce", "torch", "megatron-pp", "weights", "generic")
FIELDS = (
    "layer", "layer_bytes", "request", "request_bytes", "bytes", "role", "phase", "prompt", "layers",
    "op", "xfer", "peer", "step", "requests", "ctx_reqs",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Example:
    """A text the rule must match and the fields it must find in it; examples are the rule's tests."""

    text: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of range: `pattern` decides whether a name is of it, `fields` hold one capture group each.

    With `default_domain` only names in the default domain count, with `domain` only those in the domain of that name.
    """

    preset: str
    id: str
    kind: str
    pattern: str
    examples: Sequence[Example]
    fields: Mapping[str, str] = field(default_factory=dict)
    purpose: str | None = None
    default_domain: bool = False
    domain: str | None = None


@cache
def builtin_rules() -> tuple[Rule, ...]:
    """All built-in rules, strongest first."""
    folder = resources.files("nsysparse.presets.builtin")
    return tuple(rule for name in BUILTIN for rule in parse(folder.joinpath(f"{name}.toml").read_text("utf-8"), name))


def parse(text: str, origin: str) -> list[Rule]:
    """Rules of one preset file.

    Args:
        text: The TOML.
        origin: Where it came from, for messages.

    Raises:
        InputError: The text is no TOML, or a rule lacks what it needs or has a key or field that does not exist.
    """
    try:
        loaded = tomllib.loads(text)
        name = loaded["name"]
        rules = []
        for entry in loaded["rule"]:
            examples = [Example(**example) for example in entry.pop("examples")]
            rules.append(Rule(preset=name, examples=examples, **entry))
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise InputError(f"Preset {origin}: {error}.", "docs/reference/presets.md shows a whole one.") from error
    for rule in rules:
        unknown = sorted(set(rule.fields) - set(FIELDS))
        if unknown or not rule.examples:
            what = f"unknown field {unknown[0]!r}" if unknown else "no example"
            raise InputError(f"Preset {origin}, rule {rule.id}: {what}.", f"Fields are {', '.join(FIELDS)}.")
    return rules


def match(labels: pl.DataFrame, rules: Sequence[Rule]) -> pl.DataFrame:
    """What each label says.

    Args:
        labels: Columns `label_id`, `domain`, `name`, `is_default_domain`.
        rules: Strongest first. A field comes from the strongest matching rule that has it, kind and purpose likewise.

    Returns:
        Labels matched by at least one rule: `label_id`, `kind`, `purpose`, `purpose_rule` and the columns `FIELDS`
        (text or null).
    """
    matched = [pl.DataFrame(schema=_SCHEMA)]
    for rank, rule in enumerate(rules):
        hits = labels.filter(pl.col("name").str.contains(rule.pattern))
        if rule.default_domain:
            hits = hits.filter("is_default_domain")
        if rule.domain is not None:
            hits = hits.filter(pl.col("domain") == rule.domain)
        if hits.is_empty():  # most rules know nothing of most traces
            continue
        matched.append(
            hits.select(
                "label_id",
                rank=pl.lit(rank, dtype=pl.UInt32),
                kind=pl.lit(rule.kind),
                purpose=pl.lit(rule.purpose, dtype=pl.String),
                purpose_rule=pl.lit(f"{rule.preset}/{rule.id}" if rule.purpose else None, dtype=pl.String),
                **{
                    name: pl.col("name").str.extract(rule.fields[name], 1)
                    if name in rule.fields
                    else pl.lit(None, dtype=pl.String)
                    for name in FIELDS
                },
            ).cast(_SCHEMA)
        )
    first = [pl.col(column).drop_nulls().first() for column in ("purpose", "purpose_rule", *FIELDS)]
    return (
        pl.concat(matched)
        .sort("label_id", "rank")
        .group_by("label_id", maintain_order=True)
        .agg(pl.col("kind").first(), *first)
    )


_SCHEMA = pl.Schema(
    {
        "label_id": pl.UInt32,
        "rank": pl.UInt32,
        "kind": pl.String,
        "purpose": pl.String,
        "purpose_rule": pl.String,
        **dict.fromkeys(FIELDS, pl.String),
    }
)
