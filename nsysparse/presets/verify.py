"""Whether the rules of a preset do what their examples say, and whether the engine may run them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from nsysparse.presets.engine import EMPTY, complaint, group_names
from nsysparse.presets.format import Refusal, shown
from nsysparse.presets.matching import match, matches
from nsysparse.presets.rules import FIELDS, Preset, Rule

LINEAR = "Patterns run in linear time: no look-around, no back-references, counts of moderate size."


def verify(preset: Preset, origin: str) -> list[Refusal]:
    """What is wrong with the patterns and examples of a preset whose form is right.

    Args:
        preset: From `nsysparse.presets.format.parse`.
        origin: Name of its file.
    """
    refusals = [
        Refusal(f"{origin}, probe", f"the pattern {text}", advice(text))
        for probe in preset.probes
        if probe.pattern is not None and (text := complaint(probe.pattern)) is not None
    ]
    good = []
    for rule in preset.rules:
        found = list(_patterns(rule, f"{origin}, rule {rule.id}"))
        refusals += found
        if not found:
            good.append(rule)
    said = _said(good)
    for place, rule in enumerate(good):
        refusals += _examples(rule, f"{origin}, rule {rule.id}", said[place])
    return refusals + list(_ambiguous(good, said, origin))


def advice(text: str) -> str:
    """What to do about what `complaint` says."""
    return "Begin it with ^, and spell out what the texts spell out." if text == EMPTY else LINEAR


def _patterns(rule: Rule, where: str) -> Iterator[Refusal]:
    text = complaint(rule.pattern)
    if text is not None:
        yield Refusal(where, f"the pattern {text}", advice(text))
        return
    named = [name for name in group_names(rule.pattern) if not name.isdigit()]
    for name in named:
        if name not in FIELDS:
            fix = "Write (?:…) for a group that is no field."
            yield Refusal(where, f"the group {name!r} is no field", f"Fields are {', '.join(FIELDS)}. {fix}")
        elif rule.drop:
            yield Refusal(where, "drops what it matches, and has a group", "Write (?:…) for it.")
    sources = [*named, *rule.fields, *rule.says]
    for name in dict.fromkeys(each for each in sources if sources.count(each) > 1):
        yield Refusal(where, f"the field {name!r} comes from two places", "Leave one out.")
    for name, pattern in rule.fields.items():
        text = complaint(pattern)
        if text is not None:
            yield Refusal(where, f"the pattern of the field {name!r} {text}", advice(text))
        elif len(group_names(pattern)) != 1:
            yield Refusal(where, f"the pattern of the field {name!r} must have one group", "Write (?:…) for others.")


_Found = dict[int, dict[str, str]]
"""The fields that a rule finds, by the number of the example among those of all rules."""


def _examples(rule: Rule, where: str, said: "_Said") -> Iterator[Refusal]:
    for number, example in zip(said.own, rule.examples, strict=True):
        found = said.found.get(number)
        fields = None if found is None else {name: found[name] for name in found if name not in rule.says}
        if fields is None:
            yield Refusal(
                where, f"does not match its example {shown(example.text)}", "Change the pattern or the example."
            )
        elif fields != dict(example.fields):
            names = ", ".join(f"{name} = {shown(value)}" for name, value in fields.items()) or "no field"
            yield Refusal(
                where, f"finds {names} in its example {shown(example.text)}", "Change the pattern or the example."
            )


def _ambiguous(rules: Sequence[Rule], said: Sequence["_Said"], origin: str) -> Iterator[Refusal]:
    """Examples of which a stronger rule of the same preset says something else."""
    for place, rule in enumerate(rules):
        for number, example in zip(said[place].own, rule.examples, strict=True):
            own = said[place].found.get(number)
            for stronger, other in zip(rules[:place], said[:place], strict=True):
                if number in other.found and (other.found[number] != own or stronger.drop):
                    yield Refusal(
                        f"{origin}, rule {rule.id}",
                        f"the rule {stronger.id} is stronger, matches the example {shown(example.text)} too and says"
                        " something else of it",
                        "Make one of the two narrower, or change their order.",
                    )


@dataclass(frozen=True, slots=True)
class _Said:
    """What a rule says of the examples of all rules, and which of these are its own."""

    found: _Found
    own: range


def _said(rules: Sequence[Rule]) -> list[_Said]:
    """Every rule against every example at once, each where the rule looks that it is an example of."""
    owned = [(rule, example) for rule in rules for example in rule.examples]
    labels = pl.DataFrame(
        {
            "label_id": range(len(owned)), "domain": [rule.domain for rule, _ in owned],
            "name": [example.text for _, example in owned],
            "is_default_domain": [rule.domain is None for rule, _ in owned],
        },
        schema={"label_id": pl.UInt32, "domain": pl.String, "name": pl.String, "is_default_domain": pl.Boolean},
    )  # fmt: skip
    said, first = [], 0
    for rule in rules:
        found: _Found
        if rule.drop:
            hits = [mask for _, mask in matches(labels, [rule])]
            found = {number: {} for mask in hits for number in labels["label_id"].filter(mask).to_list()}
        else:
            rows = match(labels, [rule]).select("label_id", *FIELDS).iter_rows(named=True)
            found = {row["label_id"]: {name: row[name] for name in FIELDS if row[name] is not None} for row in rows}
        said.append(_Said(found, range(first, first + len(rule.examples))))
        first += len(rule.examples)
    return said
