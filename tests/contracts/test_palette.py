"""The page's colours, as its style sheet has them: they can be read, seen, and told apart by eyes of all kinds.

Contrast is that of WCAG 2. Colour vision deficiencies are simulated in full (Machado, Oliveira and Fernandes 2009:
severity 1.0, on linear RGB), and distances are those of CIE 1976 L*a*b* under D65.
"""

import math
import re
from collections.abc import Mapping
from importlib.resources import files
from itertools import combinations, pairwise

import pytest

Colour = tuple[float, float, float]
Matrix = tuple[Colour, Colour, Colour]

CSS = files("nsysparse.render").joinpath("assets", "report.css").read_text(encoding="utf-8")
THEMES = {
    "light": r":root \{",
    "dark": r":root\[data-theme=dark\] \{",
    "dark by preference": r":root:not\(\[data-theme=light\]\) \{",
    "print": r":root:root \{",
}
SEEN_BY: Mapping[str, Matrix] = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
TO_XYZ: Matrix = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
WHITE: Colour = (0.95047, 1.0, 1.08883)

PATH = ("wire", "wait", "handoff", "ready", "compute")
READ = (
    *((text, ground) for text in ("ink", "muted", "bad", "good", "doubt") for ground in ("bg", "panel")),
    *((text, f"{text}-bg") for text in ("bad", "good", "doubt")),
    ("ink", "doubt-bg"),
    ("bg", "ink"),
    ("on-compute", "compute"),
    *(("on-fill", ground) for ground in ("wire", "whole", "handoff", "ready")),
    *(("ink", ground) for ground in ("queue", "gap", "idle")),
)
"""Texts and what they stand on."""
MARKED = (*PATH, "whole", "hatch", "bad", "good", "doubt", "muted", "ink", "focus")
"""Marks that mean something by themselves. `queue`, `gap` and `idle` are grounds: an edge or a word tells them."""


def tokens(theme: str) -> dict[str, str]:
    found = re.search(THEMES[theme] + r"([^{}]*)\}", CSS)
    assert found is not None, theme
    return dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]+);", found[1]))


def linear(colour: str) -> Colour:
    digits = colour.removeprefix("#")
    whole = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
    red, green, blue = (int(whole[at : at + 2], 16) / 255 for at in (0, 2, 4))

    def decoded(value: float) -> float:
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    return decoded(red), decoded(green), decoded(blue)


def times(matrix: Matrix, colour: Colour) -> Colour:
    first, second, third = (sum(map(math.prod, zip(row, colour, strict=True))) for row in matrix)
    return first, second, third


def contrast(one: str, other: str) -> float:
    dark, light = sorted(times(TO_XYZ, linear(each))[1] for each in (one, other))
    return (light + 0.05) / (dark + 0.05)


def lab(colour: Colour) -> Colour:
    def bent(value: float) -> float:
        return math.cbrt(value) if value > (6 / 29) ** 3 else value / (3 * (6 / 29) ** 2) + 4 / 29

    x, y, z = (bent(value / white) for value, white in zip(times(TO_XYZ, colour), WHITE, strict=True))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: str, other: str, seen_by: str) -> float:
    def seen(colour: str) -> Colour:
        red, green, blue = (min(1.0, max(0.0, part)) for part in times(SEEN_BY[seen_by], linear(colour)))
        return lab((red, green, blue))

    return math.dist(seen(one), seen(other))


def test_contrast_and_distance_are_as_others_compute_them() -> None:
    assert contrast("#fff", "#000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert lab(linear("#ffffff")) == pytest.approx((100, 0, 0), abs=0.02)
    assert lab(linear("#ff0000")) == pytest.approx((53.24, 80.09, 67.20), abs=0.02)
    assert distance("#ff0000", "#00ff00", "all cones") > 2 * distance("#ff0000", "#00ff00", "deutan")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_reaches_four_and_a_half_to_one(theme: str) -> None:
    of = tokens(theme)
    found = {(text, ground): contrast(of[text], of[ground]) for text, ground in READ}
    # The one text of a colour that is no token, as orange is light in both themes.
    (on_wait,) = re.findall(r"\.on-wait \{ fill: (#[0-9a-f]+)", CSS)
    found["on-wait", "wait"] = contrast(on_wait, of["wait"])
    assert {pair: round(ratio, 2) for pair, ratio in found.items() if ratio < 4.5} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_reach_three_to_one_against_the_page(theme: str) -> None:
    of = tokens(theme)
    found = {name: contrast(of[name], of["bg"]) for name in MARKED}
    assert {name: round(ratio, 2) for name, ratio in found.items() if ratio < 3} == {}


@pytest.mark.parametrize("seen_by", SEEN_BY)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_any_two_colours_of_a_path_differ(theme: str, seen_by: str) -> None:
    of = tokens(theme)
    found = {pair: distance(of[pair[0]], of[pair[1]], seen_by) for pair in combinations(PATH, 2)}
    assert {pair: round(apart, 1) for pair, apart in found.items() if apart < 10} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_shades_of_a_heatmap_go_one_way(theme: str) -> None:
    of = tokens(theme)
    lightness = [lab(linear(of[f"heat-{shade}"]))[0] for shade in range(6)]
    steps = [after - before for before, after in pairwise(lightness)]
    assert min(map(abs, steps)) > 8
    assert len({step > 0 for step in steps}) == 1


LOW, HIGH = (tuple(f"heat-{side}{shade}" for shade in (1, 2, 3)) for side in ("low", "high"))


@pytest.mark.parametrize("seen_by", SEEN_BY)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_shades_of_both_ways_differ_from_each_other_and_from_the_middle(theme: str, seen_by: str) -> None:
    of = tokens(theme)
    found = {pair: distance(of[pair[0]], of[pair[1]], seen_by) for pair in combinations((*LOW, "heat-mid", *HIGH), 2)}
    assert {pair: round(apart, 1) for pair, apart in found.items() if apart < 14} == {}


@pytest.mark.parametrize("side", [LOW, HIGH])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_shades_of_either_way_go_one_way_from_a_middle_without_colour(theme: str, side: tuple[str, ...]) -> None:
    of = tokens(theme)
    parts = [lab(linear(of[name])) for name in ("heat-mid", *side)]
    steps = [after[0] - before[0] for before, after in pairwise(parts)]
    assert min(map(abs, steps)) > 8
    assert len({step > 0 for step in steps}) == 1
    assert math.hypot(*parts[0][1:]) < 8
    assert math.hypot(*parts[2][1:]) > 30


def test_a_theme_is_the_same_however_it_was_chosen() -> None:
    assert tokens("dark by preference") == tokens("dark")
    light, printed = tokens("light"), tokens("print")
    assert {name: light[name] for name in printed} == printed
    assert set(tokens("dark")) == set(light)
