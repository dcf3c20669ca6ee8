"""Figures of two runs: each as SVG, with a key of both runs and the words beside it."""

from nsysparse.document import Dumbbells, Meaning, Range, RangeRow, Ranges
from nsysparse.render.figures import (
    JUDGED,
    UNKNOWN,
    base_mark,
    bound_mark,
    candidate_mark,
    dumbbells,
    joint,
    range_axis,
    range_row,
    spread_mark,
    told,
)
from nsysparse.render.html_views.base import LONGEST_NAME, LONGEST_TITLE, View, fields_of, said, view
from nsysparse.render.names import shortened, unbroken, visible
from nsysparse.render.svg import element


@view.register
def _(block: Ranges) -> View:
    runs = [run for row in block.rows for run in (row.base, row.candidate)]
    key = _runs(block.base_name, block.candidate_name, block.meaning)
    if any(run is not None and (run.p10 is not None or run.p90 is not None) for run in runs):
        key.append({"dot": spread_mark(), "label": "p10 to p90, mark at p50"})
    if any(run is not None and run.is_bound for run in runs):
        key.append({"dot": bound_mark(), "label": "lower bound"})
    if None in runs:
        key.append(_hatched(UNKNOWN))
    # The ruler is a row without words, for whatever draws rows.
    bars = [*(_row(row, block) for row in block.rows), {"label": "", "svg": range_axis(block)}]
    return fields_of(block) | {"bars": bars, "key": key, "note": said(block.note)}


def _runs(base: str, candidate: str, meaning: Meaning) -> list[View]:
    marks = ((base_mark(), base), (candidate_mark(meaning), candidate))
    return [{"dot": mark, "label": shortened(name, LONGEST_NAME)} for mark, name in marks]


def _hatched(text: str) -> View:
    return {"dot": element("rect", class_="mark-unknown", width=14, height=10), "label": text}


def _row(row: RangeRow, block: Ranges) -> View:
    """`detail` and `verdict` are lines for where there is no room beside the picture."""
    return {
        "label": shortened(row.label, LONGEST_NAME),
        "title": shortened(row.label, LONGEST_TITLE),
        "detail": unbroken(shortened(row.note, 2 * LONGEST_NAME)),
        "verdict": unbroken(visible(told(row))),
        "svg": range_row(row, block),
        "runs": [_run(row.base), _run(row.candidate)],
        "change": unbroken(visible(row.change)),
        "judged": JUDGED.get(row.tone, ""),
        "tone": row.tone,
    }


def _run(run: Range | None) -> View:
    return {"text": UNKNOWN if run is None else unbroken(visible(run.text)), "is_known": run is not None}


@view.register
def _(block: Dumbbells) -> View:
    key = _runs(block.base_name, block.candidate_name, block.meaning)
    pairs = list(zip(block.base, block.candidate, block.tones, strict=True))
    tones = {tone for base, candidate, tone in pairs if base is not None and candidate is not None}
    key += [{"dot": joint(tone), "label": word} for tone, word in JUDGED.items() if tone in tones]
    if any(base is None or candidate is None for base, candidate, _ in pairs):
        key.append(_hatched(f"{UNKNOWN} in one run or both"))
    return fields_of(block) | {"key": key, "svg": dumbbells(block), "note": said(block.note)}
