"""What both runs are drawn with, on the same axes; of several base runs the first."""

from collections.abc import Mapping, Sequence

from nsysparse.analysis import Analysis, Link
from nsysparse.compare.matching import BY_ID, BY_LENGTH, Ends, Partners, RequestMatch, link_labels
from nsysparse.compare.of_parts import LAYERS
from nsysparse.compare.of_run import DRAWN, UNITS
from nsysparse.comparison import Cells, LayerCurve, LinkPair, LinkRate, Spread

MOST_CELLS = 20_000
_LEAST = 2
"""With fewer rows or columns there is no pattern to see."""


def spreads(base: Analysis, candidate: Analysis) -> tuple[Spread, ...]:
    """Distributions that at least one run has."""
    pairs = [(name, base.summary.get(name), candidate.summary.get(name)) for name in DRAWN]
    return tuple(Spread(name, UNITS[name], one, other) for name, one, other in pairs if one or other)


def link_pairs(bases: Sequence[Partners], candidate: Mapping[Ends, Link]) -> tuple[LinkPair, ...]:
    """Every link of both runs, those with most bytes first, called as their changes are."""
    partners, labels = bases[0], link_labels(bases, candidate)
    found = [
        LinkPair(labels[ends], _rate(partners.pairs[ends][0] if ends in partners.pairs else None), _rate(link))
        for ends, link in candidate.items()
    ]
    found += [LinkPair(labels[ends], _rate(link), None) for ends, link in partners.only_base.items()]
    return tuple(sorted(found, key=lambda pair: (-_bytes(pair), pair.link)))


def _bytes(pair: LinkPair) -> int:
    return max((each.bytes or 0) for each in (pair.base, pair.candidate) if each is not None)


def _rate(link: Link | None) -> LinkRate | None:
    return None if link is None else LinkRate(
        link.headline_gb_s, link.headline_basis, link.headline_is_bound, link.wire_gb_s, link.peak_gb_s,
        link.practical_gb_s, link.movement_count, link.bytes,
    )  # fmt: skip


def layer_curves(base: Analysis, candidate: Analysis) -> tuple[LayerCurve, ...]:
    """Each metric of layers that both runs know of some."""
    before, after = ({layer.layer: layer for layer in each.layers} for each in (base, candidate))
    numbers = tuple(sorted({*before, *after}))
    curves = []
    for measure in LAYERS:
        ours, theirs = (
            tuple(measure.read(layers[number]).value if number in layers else None for number in numbers)
            for layers in (before, after)
        )
        if any(value is not None for value in ours) and any(value is not None for value in theirs):
            curves.append(LayerCurve(measure.name, measure.unit, numbers, ours, theirs))
    return tuple(curves)


def cells(base: Analysis, candidate: Analysis, match: RequestMatch) -> Cells | None:
    """How much longer a byte took, where layers and requests cross; None where no pattern can be seen."""
    column = _columns(base, candidate, match)
    before, after = (_times(each, names) for each, names in zip((base, candidate), column, strict=True))
    shared = [key for key in after if key in before]
    layers = sorted({layer for layer, _ in shared})
    took: dict[str, int] = {}
    for key in shared:
        took[key[1]] = took.get(key[1], 0) + after[key][0]
    if len(layers) < _LEAST or len(took) < _LEAST:
        return None
    most = max(1, MOST_CELLS // len(layers))
    kept = set(sorted(took, key=lambda name: (-took[name], name))[:most])
    order = [name for name in dict.fromkeys(column[1].values()) if name in kept]
    return Cells(
        by=match.by,
        layers=tuple(layers),
        columns=tuple(order),
        change=tuple(tuple(_change(before, after, (layer, name)) for name in order) for layer in layers),
        dropped_count=len(took) - len(order),
    )


_Times = dict[tuple[int, str], tuple[int, int]]


def _columns(base: Analysis, candidate: Analysis, match: RequestMatch) -> tuple[dict[str, str], dict[str, str]]:
    """For each run the column of each of its requests, in the order of prompt lengths, then of ids."""
    if match.by == BY_ID:
        tokens = {each.request_id: each.prompt_tokens or 0 for each in candidate.requests}
        same = {name: name for name in sorted(match.ids, key=lambda name: (tokens[name], name))}
        return same, same
    if match.by == BY_LENGTH:
        return _classes(base), _classes(candidate)
    return {}, {}


def _classes(analysis: Analysis) -> dict[str, str]:
    buckets = analysis.prompts or ()
    known = sorted(
        (each.prompt_tokens, each.request_id) for each in analysis.requests if each.prompt_tokens is not None
    )
    return {
        request: f"{bucket.low:,}\u2013{bucket.high - 1:,}"
        for tokens, request in known
        for bucket in buckets
        if bucket.low <= tokens < bucket.high
    }


def _times(analysis: Analysis, columns: Mapping[str, str]) -> _Times:
    """Time and bytes by layer and column, of cells that know both."""
    found: _Times = {}
    for cell in analysis.layer_request:
        if cell.time_ns is None or not cell.bytes or cell.request_id not in columns:
            continue
        key = (cell.layer, columns[cell.request_id])
        time, size = found.get(key, (0, 0))
        found[key] = (time + cell.time_ns, size + cell.bytes)
    return found


def _change(before: _Times, after: _Times, key: tuple[int, str]) -> float | None:
    if key not in before or key not in after:
        return None
    (old_time, old_size), (new_time, new_size) = before[key], after[key]
    return None if not old_time else (new_time / new_size) / (old_time / old_size) - 1
