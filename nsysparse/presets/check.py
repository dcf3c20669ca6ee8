"""What the rules of one preset find in a trace, beside all others that speak there: for people who write a preset."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nsysparse.presets.format import Refusal
from nsysparse.presets.matching import match, matches, rules_of
from nsysparse.presets.rules import FIELDS, Preset, Rule


@dataclass(frozen=True, slots=True)
class RuleUse:
    """What one rule matches; a text counts once however many ranges have it.

    Attributes:
        example: The text of most ranges, with the `fields` that the rule finds in it.
        overruled_by: Stronger rule → texts that it matches too: there it speaks first.
        overrules: Weaker rule → texts that it matches too and of which this rule is the strongest.
    """

    rule: str
    kind: str
    text_count: int
    range_count: int
    example: str | None
    fields: Mapping[str, str]
    overruled_by: Mapping[str, int]
    overrules: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Shape:
    """Texts that differ only in digits and long hexadecimal ids, which are `#` in `shape`."""

    shape: str
    example: str
    text_count: int
    range_count: int


@dataclass(frozen=True, slots=True)
class Uses:
    """One trace. `is_active`: all probes of the preset match, so that its rules speak there."""

    trace: str
    is_active: bool
    active: tuple[str, ...]
    text_count: int
    range_count: int
    rules: tuple[RuleUse, ...]
    unknown_text_count: int
    unknown_range_count: int
    unknown: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """A preset, or why it is refused; and what it finds in traces."""

    preset: str | None
    rules: tuple[Rule, ...]
    refusals: tuple[Refusal, ...]
    traces: tuple[Uses, ...]


def uses(
    trace: str, texts: pl.DataFrame, name: str, presets: Sequence[Preset], active: Sequence[str], most: int
) -> Uses:
    """What the rules of a preset match in a trace.

    Args:
        trace: Name of the file.
        texts: Labels but for NCCL's own, with `range_count`.
        name: The preset.
        presets: It and all others, strongest first.
        active: Names of those that speak in the trace.
        most: How many shapes of unknown texts are listed.
    """
    rules = rules_of(each for each in presets if each.name in active or each.name == name)
    masks = dict(matches(texts, rules))
    first = np.full(texts.height, len(rules))
    for place in sorted(masks, reverse=True):
        first[masks[place].to_numpy()] = place
    silent = name not in active
    own = [place for place, rule in enumerate(rules) if rule.preset == name]
    known = np.isin(first, own, invert=True) if silent else np.ones(texts.height, dtype=bool)
    if silent:  # what only this preset would know is unknown
        for place, mask in masks.items():
            if place not in own:
                known |= mask.to_numpy()
    unknown = texts.filter(pl.Series(~known | (first == len(rules)), dtype=pl.Boolean))
    return Uses(
        trace=trace,
        is_active=not silent,
        active=tuple(each.shown for each in presets if each.name in active),
        text_count=texts.height,
        range_count=int(texts["range_count"].sum()),
        rules=tuple(_use(texts, rules, place, masks, first) for place in own),
        unknown_text_count=unknown.height,
        unknown_range_count=int(unknown["range_count"].sum()),
        unknown=_shapes(unknown, most),
    )


def _use(
    texts: pl.DataFrame, rules: Sequence[Rule], place: int, masks: Mapping[int, pl.Series], first: np.ndarray
) -> RuleUse:
    rule = rules[place]
    if place not in masks:
        return RuleUse(rule.cite, rule.kind, 0, 0, None, {}, {}, {})
    mask = masks[place].to_numpy()
    hits = texts.filter(masks[place])
    top = hits.sort("range_count", "label_id", descending=[True, False]).head(1)
    said = match(top, [rule])
    row = said.row(0, named=True) if said.height else {}
    stronger = {rules[each].cite: int((mask & (first == each)).sum()) for each in sorted(masks) if each < place}
    leads = mask & (first == place)
    weaker = {rules[each].cite: int((leads & masks[each].to_numpy()).sum()) for each in sorted(masks) if each > place}
    return RuleUse(
        rule=rule.cite,
        kind=rule.kind,
        text_count=hits.height,
        range_count=int(hits["range_count"].sum()),
        example=top["name"].item(),
        fields={field: row[field] for field in FIELDS if row.get(field) is not None},
        overruled_by={cite: count for cite, count in stronger.items() if count},
        overrules={cite: count for cite, count in weaker.items() if count},
    )


def _shapes(unknown: pl.DataFrame, most: int) -> tuple[Shape, ...]:
    folded = pl.col("name").str.replace_all("[0-9a-fA-F]{16,}", "#").str.replace_all(r"\d+", "#")
    shapes = (
        unknown.group_by(shape=folded)
        .agg(example=pl.col("name").min(), text_count=pl.len(), range_count=pl.col("range_count").sum())
        .sort("range_count", "shape", descending=[True, False])
        .head(most)
    )
    return tuple(Shape(**row) for row in shapes.iter_rows(named=True))
