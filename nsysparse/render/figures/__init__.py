"""The figures that stand without scripts, as SVG: they stretch from a phone to a wall, their text keeps its size."""

from nsysparse.render.figures.bars import axis_end, meter, throughput_bar
from nsysparse.render.figures.columns import columns
from nsysparse.render.figures.curve import curve, dot, series_look
from nsysparse.render.figures.histogram import histogram
from nsysparse.render.figures.lanes import lanes
from nsysparse.render.figures.parts import part_bar
from nsysparse.render.figures.scale import mark
from nsysparse.render.figures.strip import strip
from nsysparse.render.figures.ways import axis_marks, axis_of, row, steps, way

__all__ = [
    "axis_end",
    "axis_marks",
    "axis_of",
    "columns",
    "curve",
    "dot",
    "histogram",
    "lanes",
    "mark",
    "meter",
    "part_bar",
    "row",
    "series_look",
    "steps",
    "strip",
    "throughput_bar",
    "way",
]
