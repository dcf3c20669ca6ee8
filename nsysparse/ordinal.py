"""Layers and requests from the order in which sends were issued, where nothing names them.

Engines that send per layer do so layer by layer, and within a layer request by request: with L layers, the sends of a
step with R requests are L blocks of R, so send k is of layer k ÷ R and request k mod R. A worker thread makes the
calls, often after the step's own range has ended, so only the order ties them to it. One call too many or too few
shifts all that follow; so the order must be proven, or nothing is said:

- every step has its L·R sends, of which those of one request have one size in all layers, and none begins before its
  step does; from the first step on where that fails, nothing is said;
- where the communicators were made within the capture, the first send is the first; else only one way to begin may fit,
  which needs sizes that tell steps apart.

A stage of a pipeline sends its own layers only, as many as every other stage does: what `kv_role` marks call stage `pp`
begins with layer pp · L ÷ stages.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import polars as pl

from nsysparse.intervals import Ints
from nsysparse.kinds import NCCL
from nsysparse.scopes import process_fact

ORDINAL = "ordinal"
_LEAST_STEPS = 2  # of which the sizes must differ, where the beginning is not known


@dataclass(frozen=True, slots=True)
class _Sends:
    """The sends of one thread in issue order."""

    ids: Ints
    sizes: Ints
    starts: Ints


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of a process: when it began, how many requests it sends for, and their ids where they are told."""

    start: int
    count: int
    requests: tuple[str, ...]


def by_issue_order(
    transfers: pl.DataFrame,
    scopes: pl.DataFrame,
    layer_count: int | None,
    anomalies: Counter[str],
    stage_count: int = 1,
) -> pl.DataFrame:
    """Fill `layer_text` and `request_text`, with the provenance `ordinal`, of sends that nothing names.

    Args:
        transfers: From `annotate`, of one trace, with the columns of `Found`.
        scopes: From `find_scopes`, of the same trace: its steps say how many requests they prefill (`ctx_reqs`), or
            which (`requests`).
        layer_count: Layers of the model, each of which a request sends once; without it, nothing follows.
        anomalies: Counts sends whose step is not proven though steps and layers are known.
        stage_count: Stages of the pipeline that all traces together tell of.

    Returns:
        The same rows in the same order.
    """
    candidates = transfers.filter(
        (pl.col("transport") == NCCL) & (pl.col("side") == "send") & (pl.col("purpose") != "other")
        & ~pl.col("is_self").fill_null(value=False) & pl.col("call_start_ns").is_not_null()
    )  # fmt: skip
    rows: list[tuple[int, str, str | None]] = []
    stages = dict(process_fact(scopes, "pp").iter_rows())
    for (process,), part in candidates.group_by("process", maintain_order=True) if layer_count else ():
        steps = _steps(scopes.filter(pl.col("process") == process))
        if not any(step.count for step in steps):
            continue
        own = _own_layers(int(layer_count or 0), stages.get(process), stage_count)
        placed = _placed(part, steps, own)
        rows += placed
        if len(placed) < part.height:
            anomalies["sends-without-proven-order"] += part.height - len(placed)
    if not rows:
        return transfers
    schema = {"transfer_id": pl.UInt32, "layer_found": pl.String, "request_found": pl.String}
    found = pl.DataFrame(rows, schema=schema, orient="row")
    joined = transfers.join(found, on="transfer_id", how="left", maintain_order="left")
    filled = {}
    for field in ("layer", "request"):
        learns = pl.col(f"{field}_text").is_null() & pl.col(f"{field}_found").is_not_null()
        filled[f"{field}_text"] = pl.coalesce(f"{field}_text", f"{field}_found")
        filled[f"{field}_provenance"] = pl.when(learns).then(pl.lit(ORDINAL)).otherwise(f"{field}_provenance")
    return joined.with_columns(**filled).drop("layer_found", "request_found")


def _own_layers(count: int, stage: str | None, stage_count: int) -> range:
    """The layers of a process: its stage's, where it is one; none where they do not divide evenly."""
    if stage is None:
        return range(count)
    own, rest = divmod(count, stage_count)
    first = int(stage) * own
    return range(0) if rest or first >= count else range(first, first + own)


def stages_told(scopes: pl.DataFrame) -> int:
    """How many stages of a pipeline the marks of one trace tell of: one more than the highest; 1 without any."""
    told = process_fact(scopes, "pp")["pp"].cast(pl.Int64, strict=False).drop_nulls().to_list()
    return max(told, default=0) + 1


def _steps(scopes: pl.DataFrame) -> list[_Step]:
    """The steps of a process in order; from the first on whose requests are not known, none."""
    steps: list[_Step] = []
    known = scopes.filter((pl.col("kind") == "step") & (pl.col("style") != "mark")).sort("start_ns", "range_id")
    last_end = -1
    told = known.select("start_ns", "end_ns", "phase", "requests", "ctx_reqs")
    for start, end, phase, listed, counted in told.iter_rows():
        if start < last_end:  # the engine's own range of the same step, within ours
            continue
        last_end = end
        names = tuple(name for name in (listed or "").split(",") if name)
        if phase == "decode":
            count = 0
        elif counted is not None and counted.isascii() and counted.isdigit() and len(counted) <= 6:  # noqa: PLR2004
            count = int(counted)
        elif names and phase in ("prefill", None):
            count = len(names)
        else:
            break
        steps.append(_Step(start, count, names if len(names) == count else ()))
    return steps


def _placed(part: pl.DataFrame, steps: list[_Step], layers: range) -> list[tuple[int, str, str | None]]:
    """Transfer id, layer and request of the sends of one process whose place is proven."""
    ordered = part.sort("call_start_ns", "transfer_id")
    single = part["thread"].n_unique() == 1 and part["thread"].null_count() == 0
    nameless = part["layer_text"].null_count() == part.height and part["request_text"].null_count() == part.height
    # Sends of a group share a kernel: then the engine does not send layer by layer.
    alone = bool((part["kernel_ops"].fill_null(1) == 1).all())
    if not (layers and single and nameless and alone) or part["bytes"].null_count():
        return []
    sends = _Sends(*(ordered[name].to_numpy().astype(np.int64) for name in ("transfer_id", "bytes", "call_start_ns")))
    sending = [step for step in steps if step.count]
    blocks = [len(layers) * step.count for step in sending]
    from_start = bool(part["created"].fill_null(value=False).all())
    first = 0 if from_start else _only_beginning(sends, sending, blocks)
    if first is None:
        return []
    sure = _sure_steps(sends, sending, blocks, first) if from_start else _fitting(sends, sending, blocks, first)
    rows: list[tuple[int, str, str | None]] = []
    for step, block in zip(sending[:sure], blocks, strict=False):
        for position, ident in enumerate(sends.ids[first : first + block].tolist()):
            request = step.requests[position % step.count] if step.requests else None
            rows.append((ident, str(layers[position // step.count]), request))
        first += block
    return rows


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


def _sure_steps(sends: _Sends, steps: list[_Step], blocks: list[int], first: int) -> int:
    """Of the steps that fit from the very first send on, those in which no send can be missing.

    Where there are as many sends as the steps make, none is. Else each step must have its own between its beginning and
    that of the next.
    """
    fitting = _fitting(sends, steps, blocks, first)
    if len(sends.ids) - first == sum(blocks) and fitting == len(steps):
        return fitting
    edges = np.searchsorted(sends.starts, np.asarray([step.start for step in steps], dtype=np.int64), side="left")
    ends = np.append(edges[1:], len(sends.ids))
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
