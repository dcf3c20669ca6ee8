"""Match rules against the texts of ranges, all texts at once."""

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from nsysparse.presets.engine import literal_prefix
from nsysparse.presets.rules import FIELDS, SCOPE, Preset, Probe, Rule

_HEAD = 4
_NO_VALUE = ("", "None", "null", "nil")
"""What programs write where they have no value."""
_SAYS = ("rule", "kind", "purpose", "purpose_rule", *FIELDS)
SAID = pl.Schema({"label_id": pl.UInt32, **dict.fromkeys(_SAYS, pl.String)})


def active(presets: Iterable[Preset], labels: pl.DataFrame) -> tuple[Preset, ...]:
    """The presets whose rules speak in a trace: those all of whose probes match some text of it.

    Args:
        presets: Strongest first.
        labels: All labels of the trace; columns as for `match`.
    """
    asked = [preset for preset in presets if preset.rules]
    probes = list(dict.fromkeys(probe for preset in asked for probe in preset.probes))
    found = {probe for place, _ in matches(labels, probes) for probe in (probes[place],)}
    return tuple(preset for preset in asked if found.issuperset(preset.probes))


def rules_of(presets: Iterable[Preset]) -> tuple[Rule, ...]:
    """All their rules, strongest first."""
    return tuple(rule for preset in presets for rule in preset.rules)


def matches(labels: pl.DataFrame, asked: Sequence[Rule | Probe]) -> Iterator[tuple[int, pl.Series]]:
    """For each rule or probe that matches anything its place in `asked`, and for each label whether it matches."""
    # Most know nothing of most traces; where no text begins as theirs do, none needs to be looked at.
    heads = set(labels["name"].str.slice(0, _HEAD).unique())
    domains = set(labels["domain"].unique())
    tests = {
        str(place): _condition(each)
        for place, each in enumerate(asked)
        if _may_begin(each.pattern, heads) and (each.domain is None or each.domain in domains)
    }
    for place, mask in labels.select(**tests).to_dict().items():
        if mask.any():
            yield int(place), mask


def _may_begin(pattern: str | None, heads: set[str]) -> bool:
    prefix = literal_prefix(pattern) if pattern is not None else ""
    return len(prefix) < _HEAD or prefix[:_HEAD] in heads


def _condition(asked: Rule | Probe) -> pl.Expr:
    conditions = [] if asked.pattern is None else [pl.col("name").str.contains(asked.pattern)]
    if asked.domain is not None:
        conditions.append((pl.col("domain") == asked.domain).fill_null(value=False))
    if isinstance(asked, Rule) and asked.default_domain:
        conditions.append(pl.col("is_default_domain"))
    return pl.all_horizontal(conditions)


def match(labels: pl.DataFrame, rules: Sequence[Rule]) -> pl.DataFrame:
    """What each label says.

    Args:
        labels: Columns `label_id`, `domain`, `name`, `is_default_domain`.
        rules: Strongest first. A field comes from the strongest matching rule that has it, the purpose likewise, the
            kind from the strongest that knows more than `scope`; `rule` is the strongest. Where one that drops matches,
            no weaker one speaks.

    Returns:
        Labels of which at least one rule says something: the columns `SAID`, in the order of `labels`.
    """
    masks: list[tuple[Rule, pl.Series]] = []
    spoken = dropped = pl.repeat(value=False, n=labels.height, eager=True)
    for place, mask in matches(labels, rules):
        rule = rules[place]
        if rule.drop:
            dropped |= mask
        elif (heard := mask & ~dropped).any():
            masks.append((rule, heard))
            spoken |= heard
    known = labels.filter(spoken)
    said: dict[str, pl.Series] = {}
    for rule, mask in masks:
        _add(said, known["name"], rule, mask.filter(spoken))
    empty = pl.Series([None], dtype=pl.String).new_from_index(0, known.height)
    return pl.DataFrame({"label_id": known["label_id"], **{name: said.get(name, empty) for name in _SAYS}}, schema=SAID)


def _add(said: dict[str, pl.Series], names: pl.Series, rule: Rule, mask: pl.Series) -> None:
    """What a rule says of the names it matches, where no stronger rule has said it."""
    told = {"rule": rule.cite, "kind": rule.kind, **rule.says}
    if rule.purpose is not None:
        told |= {"purpose": rule.purpose, "purpose_rule": rule.cite}
    captures = rule.captures
    needs = {name: mask & _unsaid(said[name], name) if name in said else mask for name in (*told, *captures)}
    needs = {name: need for name, need in needs.items() if need.any()}
    # A text that is null is not searched.
    texts = {name: pl.when(name).then(" text") for name in needs if name in captures}
    values: dict[str, pl.Expr] = {name: pl.when(name).then(pl.lit(told[name])) for name in needs if name in told}
    values |= {name: text.str.extract(*captures[name]) for name, text in texts.items()}
    for name, new in pl.DataFrame({" text": names, **needs}).select(**values).to_dict().items():
        found = new.set(new.is_in(_NO_VALUE), None) if name in captures else new
        said[name] = said[name].zip_with(~needs[name], found) if name in said else found


def _unsaid(said: pl.Series, name: str) -> pl.Series:
    unsaid = said.is_null()
    return unsaid | (said == SCOPE).fill_null(value=False) if name == "kind" else unsaid
