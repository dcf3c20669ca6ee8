"""The words that rules of presets are written in: these say nothing of a user, whatever text they stand in."""

import re
from collections.abc import Iterable

from nsysparse.presets.rules import Preset

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+")
"""Letters between which case, digits or signs change: `LlamaForCausalLM` has five."""


def vocabulary(presets: Iterable[Preset]) -> frozenset[str]:
    """Words of patterns and examples, lower case."""
    texts = (
        text
        for preset in presets
        for text in (
            *(probe.pattern or "" for probe in preset.probes),
            *(part for rule in preset.rules for part in (rule.pattern, *rule.fields.values())),
            *(example.text for rule in preset.rules for example in rule.examples),
        )
    )
    return frozenset(word.lower() for text in texts for word in WORD.findall(text))
