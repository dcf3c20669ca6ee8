"""The figures that stand without scripts, as SVG: they stretch from a phone to a wall, their text keeps its size."""

from nsysparse.render.figures.bars import axis_end, meter, throughput_bar
from nsysparse.render.figures.columns import columns
from nsysparse.render.figures.curve import curve, dot, series_look
from nsysparse.render.figures.dumbbells import dumbbells, joint
from nsysparse.render.figures.histogram import histogram
from nsysparse.render.figures.lanes import lanes
from nsysparse.render.figures.pair_words import summary, verdicts
from nsysparse.render.figures.parts import part_bar
from nsysparse.render.figures.ranges import (
    base_mark,
    bound_mark,
    candidate_mark,
    range_axis,
    range_row,
    ranges_end,
    spread_mark,
)
from nsysparse.render.figures.scale import mark
from nsysparse.render.figures.strip import strip
from nsysparse.render.figures.tones import JUDGED, UNKNOWN, judged, told
from nsysparse.render.figures.ways import axis_marks, axis_of, row, steps, way

__all__ = [
    "JUDGED",
    "UNKNOWN",
    "axis_end",
    "axis_marks",
    "axis_of",
    "base_mark",
    "bound_mark",
    "candidate_mark",
    "columns",
    "curve",
    "dot",
    "dumbbells",
    "histogram",
    "joint",
    "judged",
    "lanes",
    "mark",
    "meter",
    "part_bar",
    "range_axis",
    "range_row",
    "ranges_end",
    "row",
    "series_look",
    "spread_mark",
    "steps",
    "strip",
    "summary",
    "throughput_bar",
    "told",
    "verdicts",
    "way",
]
