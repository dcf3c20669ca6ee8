"""The style and the markup know each other: no class without a rule, no rule without a use, and palettes that agree."""

import re
from importlib.resources import files
from typing import get_args

import factories
import pair_scenes
import pytest

from nsysparse.document import Meaning, Tone
from nsysparse.render import to_html
from nsysparse.render.divergence import LOOKS
from nsysparse.render.heat import SHADES
from nsysparse.sections import build

ASSETS = files("nsysparse.render") / "assets"
CSS = re.sub(r"/\*.*?\*/", "", (ASSETS / "report.css").read_text(encoding="utf-8"), flags=re.DOTALL)
SCRIPTS = "".join(each.read_text(encoding="utf-8") for each in [*(ASSETS / "scripts").iterdir(), ASSETS / "theme.js"])
HOOKS = {"sortable", "lanebox"}
"""Classes by which scripts find elements, and which look like nothing."""
PALETTE = r"(--[\w-]+):\s*([^;]+);"


def styled() -> set[str]:
    """Classes in selectors."""
    return set(re.findall(r"\.([A-Za-z][\w-]*)", " ".join(re.findall(r"([^{};]+)\{", CSS))))


def classes(markup: str) -> set[str]:
    plain = re.sub(r"<(script|style)\b.*?</\1>", "", markup, flags=re.DOTALL)
    return {name for names in re.findall(r' class="([^"]*)"', plain) for name in names.split()}


@pytest.fixture(scope="module")
def drawn() -> set[str]:
    made = (factories.rich, factories.unknown, factories.small, factories.sizeless, lambda: factories.rich(320, 2))
    documents = [*(build(each()) for each in made), pair_scenes.document()]
    return {name for each in documents for name in classes(to_html.render(each))}


def possible() -> set[str]:
    """Classes that end in a kind of which not every one is in the samples, or that a script or another file uses."""
    by_meaning = {f"{start}-{meaning}" for start in ("mark", "on") for meaning in get_args(Meaning)}
    by_tone = {f"{start}-{tone}" for start in ("dot", "band", "chip", "joint") for tone in get_args(Tone)}
    others = (
        {f"heat-{shade}" for shade in range(SHADES)} | set(LOOKS) | {f"series-{place}" for place in range(6)} | {"by-6"}
    )
    by_script = {name for text in re.findall(r"\"([^\"\n]*)\"", SCRIPTS) for name in re.findall(r"[\w-]+", text)}
    # A long sentence, a worse idea, a lower bound, a file of its own, a long prefill or queue, several views, a why,
    # a value beyond its axis.
    rarely = {"stacks", "mark-worse", "pt-bound", "ground", "halo-in", "halo-queue", "switch", "why", "beyond"}
    return by_meaning | by_tone | others | by_script | rarely


def test_every_class_on_a_page_has_its_rule(drawn: set[str]) -> None:
    # A tone that has no colour of its own looks like what it stands on.
    assert drawn - styled() - HOOKS - {"plain", "band-plain", "chip-muted"} == set()


def test_every_rule_is_for_a_class_that_is_used(drawn: set[str]) -> None:
    assert styled() - drawn - possible() == set()
    assert drawn >= HOOKS


def test_every_meaning_has_its_colour() -> None:
    assert {f"mark-{meaning}" for meaning in get_args(Meaning)} <= styled()


def test_every_colour_is_used_and_defined() -> None:
    defined = set(re.findall(r"(--[\w-]+):", CSS))
    used = set(re.findall(r"var\((--[\w-]+)\)", CSS))
    by_script = {f"--{name}" for name in re.findall(r"token\(\"([\w-]+)\"", SCRIPTS)}
    assert used <= defined
    assert defined - used - by_script == set()
    assert by_script - {"--heat-"} <= defined


def test_palettes_that_stand_twice_agree() -> None:
    light, dark, chosen, printed = (
        dict(re.findall(PALETTE, each)) for each in re.findall(r":root[^{]*\{([^}]*)\}", CSS)
    )
    assert dark == chosen
    assert {name: light[name] for name in printed} == printed
    assert set(light) - set(printed) == {"--sans", "--mono", "--focus"}
    assert set(light) - set(dark) == {"--sans", "--mono"}
