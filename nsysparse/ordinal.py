"""Layers and requests from the order in which sends were issued, where nothing names them.

Engines that send per layer do so layer by layer, and within a layer request by request: with L layers, the sends of a
step with R requests are L blocks of R, so send k is of layer k ÷ R and request k mod R. A worker thread makes the
calls, often after the step's own range has ended, so only the order ties them to it. One call too many or too few
shifts all that follow; so the order must be proven, or nothing is said:

- every step has its L·R sends, of which those of one request have one size in all layers, and none begins before its
  step does; from the first step on where that fails, nothing is said;
- where the communicators were made within the capture the first send is the first, and no send may be missing. Else
  each step must have exactly its own sends between its beginning and that of the next, and of all ways to begin only
  one may fit, which needs sizes that tell steps apart;
- of a step with several requests the sizes must rule out that it sends request by request, or the engine must be known
  to send layer by layer (`order=layer-major`);
- what ranges name must agree.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import polars as pl

from nsysparse.intervals import Ints
from nsysparse.kinds import NCCL
from nsysparse.scope_table import ScopeTable
from nsysparse.scopes import holding, process_fact
from nsysparse.shares import request_id

ORDINAL = "ordinal"
LAYER_MAJOR = "layer-major"
SPANNING = "spanning"
_LEAST_STEPS = 2  # of which the sizes must differ, where the beginning is not known
_MOST_DIGITS = 6


@dataclass(frozen=True, slots=True)
class _Sends:
    """The sends of one thread in issue order, with what ranges say of them."""

    ids: Ints
    sizes: Ints
    starts: Ints
    layers: list[str | None]
    requests: list[str | None]
    request_provenance: list[str | None]


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of a process: when it began, how many requests it sends for, and their ids where they are told."""

    start: int
    count: int
    requests: tuple[str, ...]
    is_layer_major: bool


@dataclass(frozen=True, slots=True)
class _Steps:
    """The steps of a process until the first whose requests are not known: when that one began, if there is one."""

    known: list[_Step]
    until: int | None


@dataclass(frozen=True, slots=True)
class _Found:
    """What the order says of one send; `conflicts`: a request that spans it says another id."""

    transfer_id: int
    layer: str
    request: str | None
    conflicts: bool


def by_issue_order(
    transfers: pl.DataFrame, scopes: ScopeTable, layer_count: int | None, anomalies: Counter[str]
) -> pl.DataFrame:
    """Fill `layer_text` and `request_text`, with the provenance `ordinal`, of sends that nothing names.

    Args:
        transfers: From `annotate`, of one trace, with the columns of `Found`.
        scopes: From `find_scopes`, of the same trace: its steps say how many requests they prefill (`ctx_reqs`), or
            which (`requests`); `kv_role` marks, which layers are a process's own (`own_layers`).
        layer_count: Layers of the model, each of which a request sends once; without it, nothing follows.
        anomalies: Counts sends without a layer whose step is not proven, those whose order would speak if the number of
            layers were known, and those whose request the order and a range tell differently.

    Returns:
        The same rows in the same order. A request that only spans a send and is not the one that the order tells is
        taken back.
    """
    candidates = transfers.filter(
        (pl.col("transport") == NCCL) & (pl.col("side") == "send") & (pl.col("purpose") != "other")
        & ~pl.col("is_self").fill_null(value=False) & pl.col("call_start_ns").is_not_null()
    )  # fmt: skip
    found: list[_Found] = []
    all_steps = holding(scopes, pl.col("kind") == "step")
    own = {process: _layers_of(text) for process, text in process_fact(scopes, "own_layers").iter_rows()}
    for (process,), part in candidates.group_by("process", maintain_order=True):
        steps = _steps(all_steps.filter(process=process))
        silent = part["layer_text"].null_count()
        if not silent or not any(step.count for step in steps.known):
            continue
        layers = own.get(process, range(layer_count or 0))
        if not layers:
            anomalies["order-needs-layers"] += silent
            continue
        placed = _placed(part, steps, layers)
        told = {each.transfer_id for each in placed}
        left = part.filter(pl.col("layer_text").is_null(), ~pl.col("transfer_id").is_in(list(told))).height
        found += placed
        if left:
            anomalies["sends-without-proven-order"] += left
    conflicts = sum(each.conflicts for each in found)
    if conflicts:
        anomalies["order-and-request-differ"] += conflicts
    return _filled(transfers, found) if found else transfers


def _filled(transfers: pl.DataFrame, found: list[_Found]) -> pl.DataFrame:
    rows = [(each.transfer_id, each.layer, each.request, each.conflicts) for each in found]
    schema = {
        "transfer_id": pl.UInt32, "layer_found": pl.String, "request_found": pl.String, "conflicts": pl.Boolean,
    }  # fmt: skip
    joined = transfers.join(
        pl.DataFrame(rows, schema=schema, orient="row"), on="transfer_id", how="left", maintain_order="left"
    ).with_columns(
        pl.when(pl.col("conflicts").fill_null(value=False)).then(None).otherwise(name).alias(name)
        for name in ("request_text", "request_provenance", "request_found")
    )
    filled = {}
    for field in ("layer", "request"):
        learns = pl.col(f"{field}_text").is_null() & pl.col(f"{field}_found").is_not_null()
        filled[f"{field}_text"] = pl.coalesce(f"{field}_text", f"{field}_found")
        filled[f"{field}_provenance"] = pl.when(learns).then(pl.lit(ORDINAL)).otherwise(f"{field}_provenance")
    return joined.with_columns(**filled).drop("layer_found", "request_found", "conflicts")


def _layers_of(text: str) -> range:
    """The layers in `7` or `7-14`; none where it is neither."""
    first, _, last = text.partition("-")
    parts = (first, last or first)
    if not all(part.isascii() and part.isdigit() and len(part) <= _MOST_DIGITS for part in parts):
        return range(0)
    return range(int(parts[0]), int(parts[1]) + 1)


def _steps(rows: pl.DataFrame) -> _Steps:
    """The steps of a process in order; ranges within another one are about the same step."""
    steps: list[_Step] = []
    in_order = rows.sort("start_ns", "end_ns", descending=[False, True])
    told = list(in_order.select("start_ns", "end_ns", "phase", "requests", "ctx_reqs", "order").iter_rows())
    place = 0
    while place < len(told):
        start, end = told[place][:2]
        same = [each for each in told[place:] if each[0] < end] if end > start else [told[place]]
        step = None if any(each[1] > end for each in same) else _step(start, same)
        if step is None:
            return _Steps(steps, start)
        steps.append(step)
        place += len(same)
    return _Steps(steps, None)


def _step(start: int, rows: list[tuple[int, int, str | None, str | None, str | None, str | None]]) -> _Step | None:
    """What several ranges say of one step; None where its requests are not known, or they contradict each other."""
    counts, names = set[int](), set[tuple[str, ...]]()
    for _, _, phase, listed, counted, _ in rows:
        ids = tuple(name for name in (listed or "").split(",") if name)
        if phase == "decode":
            counts.add(0)
        elif counted is not None and counted.isascii() and counted.isdigit() and len(counted) <= _MOST_DIGITS:
            counts.add(int(counted))
        elif ids and phase in ("prefill", None):
            counts.add(len(ids))
            names.add(ids)
    if len(counts) != 1:
        return None
    (count,) = counts
    ids = names.pop() if len(names) == 1 else ()
    return _Step(start, count, ids if len(ids) == count else (), any(each[5] == LAYER_MAJOR for each in rows))


def _placed(part: pl.DataFrame, steps: _Steps, layers: range) -> list[_Found]:
    """What the order says of those sends of one process whose place is proven."""
    ordered = part.sort("call_start_ns", "transfer_id")
    single = part["thread"].n_unique() == 1 and part["thread"].null_count() == 0
    # Sends of a group share a kernel: then the engine does not send layer by layer.
    alone = bool((part["kernel_ops"].fill_null(1) == 1).all())
    if not (single and alone) or part["bytes"].null_count():
        return []
    ids, sizes, starts = (
        ordered[name].to_numpy().astype(np.int64) for name in ("transfer_id", "bytes", "call_start_ns")
    )
    layers_told, requests, how = (
        ordered[name].to_list() for name in ("layer_text", "request_text", "request_provenance")
    )
    sends = _Sends(ids, sizes, starts, layers_told, requests, how)
    sending = [step for step in steps.known if step.count]
    blocks = [len(layers) * step.count for step in sending]
    from_start = bool(part["created"].fill_null(value=False).all())
    first = 0 if from_start else _only_beginning(sends, sending, blocks)
    if first is None:
        return []
    sure = _sure_steps(sends, sending, blocks, first, steps.until, whole=from_start)
    found: list[_Found] = []
    for step, block in zip(sending[:sure], blocks, strict=False):
        told = _told(sends, first, step, layers)
        if told is None:
            break
        found += told
        first += block
    return found


def _told(sends: _Sends, first: int, step: _Step, layers: range) -> list[_Found] | None:
    """What the order says of a step's sends; nothing where it may send request by request; None where ranges differ."""
    found: list[_Found] = []
    block = len(layers) * step.count
    for position in range(block):
        layer, place = str(layers[position // step.count]), first + position
        request = step.requests[position % step.count] if step.requests else None
        named, asked = sends.layers[place], sends.requests[place]
        other = None not in (request, asked) and request_id(str(asked)) != request_id(str(request))
        spans = sends.request_provenance[place] == SPANNING
        if (named is not None and named != layer) or (other and not spans):
            return None
        found.append(_Found(int(sends.ids[place]), layer, request, conflicts=other))
    return found if _is_layer_major(sends.sizes[first : first + block], step, len(layers)) else []


def _is_layer_major(sizes: Ints, step: _Step, layer_count: int) -> bool:
    """Whether the sizes of a step, which fit a sending layer by layer, do not fit one request by request as well."""
    if step.is_layer_major or step.count == 1 or layer_count == 1:
        return True
    by_request = sizes.reshape(step.count, layer_count)
    return not bool((by_request == by_request[:, :1]).all())


def _fitting(sends: _Sends, steps: list[_Step], blocks: list[int], first: int) -> int:
    """How many steps fit the sends from `first` on before one does not, or its sends are not all there."""
    for index, (step, block) in enumerate(zip(steps, blocks, strict=True)):
        if first + block > len(sends.ids):
            return index
        sizes = sends.sizes[first : first + block].reshape(-1, step.count)
        begins_early = bool((sends.starts[first : first + block] < step.start).any())
        if begins_early or not bool((sizes == sizes[0]).all()):
            return index
        first += block
    return len(steps)


def _sure_steps(
    sends: _Sends, steps: list[_Step], blocks: list[int], first: int, until: int | None, *, whole: bool
) -> int:
    """Of the steps that fit from a send on, those in which none can be missing or be another step's.

    Each step must have its own between its beginning and that of the next. With `whole`, where the very first send is
    there, as many sends as all steps make will do: then none is missing.
    """
    fitting = _fitting(sends, steps, blocks, first)
    if whole and until is None and len(sends.ids) == sum(blocks) and fitting == len(steps):
        return fitting
    edges = np.searchsorted(sends.starts, np.asarray([step.start for step in steps], dtype=np.int64), side="left")
    end = len(sends.ids) if until is None else int(np.searchsorted(sends.starts, until, side="left"))
    ends = np.append(edges[1:], end)
    for index in range(fitting):
        if ends[index] - edges[index] != blocks[index] or edges[index] != first:
            return index
        first += blocks[index]
    return fitting


def _only_beginning(sends: _Sends, steps: list[_Step], blocks: list[int]) -> int | None:
    """The send with which the first step begins, where only one way fits: those before it are of steps not recorded.

    A step that was not recorded may have sent late, but not more than a whole step.
    """
    before = int(np.searchsorted(sends.starts, steps[0].start))
    found: list[int] = []
    for first in range(min(len(sends.ids), before + max(blocks) + 1)):
        whole = _whole(len(sends.ids) - first, blocks)
        if _fitting(sends, steps[:whole], blocks[:whole], first) == whole and _begins(
            sends, steps, blocks, first, whole
        ):
            found.append(first)
            if len(found) > 1:
                return None
    return found[0] if found and _whole(len(sends.ids) - found[0], blocks) >= _LEAST_STEPS else None


def _begins(sends: _Sends, steps: list[_Step], blocks: list[int], first: int, whole: int) -> bool:
    """Whether what is left after the whole steps can be the beginning of the next one."""
    if whole == len(steps):
        return True
    first += sum(blocks[:whole])
    sizes, count = sends.sizes[first:], steps[whole].count
    late = bool((sends.starts[first:] >= steps[whole].start).all())
    return late and bool((sizes[count:] == sizes[:-count]).all() if len(sizes) > count else True)


def _whole(count: int, blocks: list[int]) -> int:
    """How many of the blocks so many sends fill."""
    return int(np.searchsorted(np.cumsum(np.asarray(blocks, dtype=np.int64)), count, side="right"))
