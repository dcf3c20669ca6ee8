"""A heatmap's scale that goes both ways: symmetric, no colour near the middle, and its ends in the view's unit."""

import json
from dataclasses import replace

import pair_scenes
import pytest

from nsysparse.document import Document, Heatmap, HeatView
from nsysparse.render import to_html
from nsysparse.render.charts import heatmap_json
from nsysparse.render.divergence import LOOKS, Divergence, divergence
from nsysparse.render.heat import picture, shade_key, unseen


def changes(*values: float | None, least: float = 0.0, middle: float = 0.0) -> HeatView:
    return HeatView("change", "%", [values], middle=middle, least=least, ends=("faster", "slower"))


def scale(shown: HeatView) -> Divergence:
    found = divergence(shown)
    assert found is not None
    return found


def test_a_view_without_a_middle_goes_one_way() -> None:
    assert divergence(HeatView("time", "ms", [[1.0]])) is None


@pytest.mark.parametrize(
    ("values", "least", "half"),
    [
        ((-12.0, 3.0), 0.0, 12.0),
        ((-12.1, 3.0), 0.0, 16.0),
        ((1.0, -2.0), 20.0, 20.0),
        ((None,), 20.0, 20.0),
        ((0.0,), 0.0, 1.0),
    ],
)
def test_it_is_as_wide_as_its_values_need_and_no_narrower_than_told(
    values: tuple[float | None, ...], least: float, half: float
) -> None:
    found = scale(changes(*values, least=least))
    assert (found.low, found.high, found.beyond) == (-half, half, 0)


def test_shades_are_symmetric_and_a_quarter_of_the_way_has_none() -> None:
    found = scale(changes(-20.0, 20.0))
    assert [found.shade(value) for value in (-99, -20, -15.1, -14.9, -9.9, -4.9, 0, 4.9, 9.9, 14.9, 15.1, 20, 99)] == [
        0, 0, 0, 1, 2, 3, 3, 3, 4, 5, 6, 6, 6,
    ]  # fmt: skip
    around_one = scale(changes(0.8, 1.2, middle=1.0))
    assert (around_one.low, around_one.high) == (0.8, 1.2)
    assert [around_one.shade(value) for value in (0.8, 1.0, 1.2)] == [0, 3, 6]


def test_a_few_cells_far_out_do_not_take_the_colour_from_the_others_and_are_said() -> None:
    shown = changes(*[(place * 7) % 41 - 20.0 for place in range(995)], 5000.0, -5000.0, 400.0, 300.0, 21.0)
    found = scale(shown)
    assert (found.half, found.beyond) == (20.0, 5)
    assert unseen(shown) == "Hatched: unknown. 5 cells outside \u221220 to +20 %: in the deepest shade."
    labels = [label for _, label in shade_key(shown)]
    assert (labels[0], labels[-1]) == ("faster: ≤ \u221215 %", "slower: ≥ +15 %")


def test_the_key_has_both_ends_in_the_unit_of_the_view() -> None:
    assert shade_key(changes(-20.0, 10.0)) == [
        ("heat-low3", "faster: \u221220 to \u221215 %"), ("heat-low2", "\u221215 to \u221210 %"),
        ("heat-low1", "\u221210 to \u22125 %"),
        ("heat-mid", "\u22125 to +5 %"),
        ("heat-high1", "+5 to +10 %"), ("heat-high2", "+10 to +15 %"), ("heat-high3", "slower: +15 to +20 %"),
    ]  # fmt: skip
    assert shade_key(HeatView("ratio", "\u00d7", [[1.4]], middle=1.0))[0] == ("heat-low3", "0.6 to 0.7 \u00d7")
    assert [label for _, label in shade_key(HeatView("time", "ms", [[6.0]]))] == [
        f"≤ {limit} ms" for limit in range(1, 7)
    ]


def test_what_is_unknown_is_hatched_and_the_middle_is_not() -> None:
    shown = Heatmap("c", "requests", "layer", ["a", "b", "c"], ["0"], [changes(0.0, None, 30.0)], "a")
    drawn = picture(shown)
    assert drawn.index('class="mark-unknown"') < drawn.index('class="heat-mid"')
    assert 'd="M0 0.5h1" class="heat-mid"' in drawn
    assert 'd="M2 0.5h1" class="heat-high3"' in drawn
    assert drawn.count("M") == 2
    one_way = picture(Heatmap("c", "requests", "layer", ["a"], ["0"], [HeatView("time", "ms", [[None]])], "a"))
    assert "mark-unknown" not in one_way


def test_the_interactive_figure_has_the_same_scale_and_steps() -> None:
    known = json.loads(heatmap_json(pair_scenes.heatmap()))
    both_ways, one_way = known["figures"]
    trace = both_ways["data"][0]
    assert (trace["zmin"], trace["zmax"]) == (-20.0, 20.0)
    assert trace["colorbar"]["ticktext"] == ["\u221220", "0", "+20"]
    assert "%{z:+.3~g} %" in trace["hovertemplate"]
    assert "prompt %{x}" in trace["hovertemplate"]
    steps = both_ways["layout"]["meta"]["steps"]
    assert [look for _, look in steps[::2]] == list(LOOKS)
    assert [(1 + edge) / 2 for edge in (-1, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75)] == [at for at, _ in steps[::2]]
    assert steps[-1] == [1.0, "heat-high3"]
    assert "meta" not in one_way["layout"]
    assert one_way["data"][0]["xgap"] == 1


def test_the_key_of_both_ways_stays_when_the_picture_is_drawn_over() -> None:
    page = to_html.render(Document("t", "s", "g", [pair_scenes.heatmap()]))
    still, _, after = page.partition('<div class="plot"')
    assert "faster: \u221220 to \u221215 %" in after
    assert "faster: \u221220 to \u221215 %" not in still


def test_a_scale_ends_at_its_most_and_says_how_many_lie_beyond() -> None:
    """Changes of 900 % leave a change of 30 % its colour."""
    shown = replace(changes(30.0, *[900.0] * 50, -95.0), most=40.0)
    found = scale(shown)
    assert (found.half, found.beyond) == (40.0, 51)
    assert found.shade(30.0) == len(LOOKS) - 1
    assert scale(replace(changes(12.0), most=40.0)).half == 12.0
