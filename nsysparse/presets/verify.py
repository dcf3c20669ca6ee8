"""Whether the rules of a preset do what their examples say, and whether the engine may run them."""

from collections.abc import Iterator, Sequence

import polars as pl

from nsysparse.presets.engine import complaint, group_names
from nsysparse.presets.format import Refusal
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
        Refusal(f"{origin}, probe", f"the pattern {text}", LINEAR)
        for probe in preset.probes
        if probe.pattern is not None and (text := complaint(probe.pattern)) is not None
    ]
    good = []
    for rule in preset.rules:
        where = f"{origin}, rule {rule.id}"
        found = list(_patterns(rule, where))
        if not found:
            good.append(rule)
            found = list(_examples(rule, where))
        refusals += found
    return refusals + list(_ambiguous(good, origin))


def _patterns(rule: Rule, where: str) -> Iterator[Refusal]:
    text = complaint(rule.pattern)
    if text is not None:
        yield Refusal(where, f"the pattern {text}", LINEAR)
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
            yield Refusal(where, f"the pattern of the field {name!r} {text}", LINEAR)
        elif len(group_names(pattern)) != 1:
            yield Refusal(where, f"the pattern of the field {name!r} must have one group", "Write (?:…) for others.")


def _examples(rule: Rule, where: str) -> Iterator[Refusal]:
    for example in rule.examples:
        found = _said(rule, example.text, rule)
        fields = None if found is None else {name: found[name] for name in found if name not in rule.says}
        if fields is None:
            yield Refusal(where, f"does not match its example {example.text!r}", "Change the pattern or the example.")
        elif fields != dict(example.fields):
            shown = ", ".join(f"{name} = {value!r}" for name, value in fields.items()) or "no field"
            yield Refusal(where, f"finds {shown} in its example {example.text!r}", "Change the pattern or the example.")


def _ambiguous(rules: Sequence[Rule], origin: str) -> Iterator[Refusal]:
    """Examples of which a stronger rule of the same preset says something else."""
    for place, rule in enumerate(rules):
        for example in rule.examples:
            own = _said(rule, example.text, rule)
            for stronger in rules[:place]:
                other = _said(stronger, example.text, rule)
                if other is not None and (other != own or stronger.drop):
                    yield Refusal(
                        f"{origin}, rule {rule.id}",
                        f"the rule {stronger.id} is stronger, matches the example {example.text!r} too and says"
                        " something else of it",
                        "Make one of the two narrower, or change their order.",
                    )


def _said(rule: Rule, text: str, place: Rule) -> dict[str, str] | None:
    """The fields a rule finds in a text that stands where another rule looks; None where it does not match."""
    domain = place.domain
    labels = pl.DataFrame(
        {"label_id": [0], "domain": [domain], "name": [text], "is_default_domain": [domain is None]},
        schema={"label_id": pl.UInt32, "domain": pl.String, "name": pl.String, "is_default_domain": pl.Boolean},
    )
    if rule.drop:
        return {} if list(matches(labels, [rule])) else None
    found = match(labels, [rule])
    if found.is_empty():
        return None
    row = found.row(0, named=True)
    return {name: row[name] for name in FIELDS if row[name] is not None}
