"""Why a decode device was idle, and which of its steps waited for KV."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from nsysparse.instants import Instants
from nsysparse.metrics.lives import KV_READY, NO_REQUEST, STATES, TRANSFER, UNKNOWN, Lives


@dataclass(frozen=True, slots=True)
class Idle:
    """What a device did not do in its window, as `DecodeDevice` has it."""

    active_ns: int
    idle_ns: int
    by_reason: dict[str, int]
    pending_ns: int | None
    delayed_step_count: int | None
    delayed_ns: int | None
    uncertainty_ns: int | None


def idle(window: Instants, compute: Instants, known: Lives) -> Idle:
    """How long a device was idle in its window, divided by reason.

    Each idle instant counts once, for the first of `STATES` that any request is in. What is left is `no_request` where
    every request is known not to have come yet, or to have ended; else `unknown`. An instant can be counted wrongly
    only where a time of another file may have been before or after it: so much in all is the doubt of each sum.

    Args:
        window: From the first to the last compute of its decode steps.
        compute: When any compute ran on it.
        known: Its requests.
    """
    left = window.without(compute)
    whole, parts = left.length, dict[str, int]()
    doubt = None if known.doubt is None else left.both(known.doubt).length
    for state in STATES:
        claimed = left.both(known.when(state))
        parts[state] = claimed.length
        left = left.without(claimed)
    unclear = left.both(known.perhaps).length
    parts |= {NO_REQUEST: left.length - unclear, UNKNOWN: unclear}
    tells = known.rows["ready"].null_count() < known.rows.height
    count, waited = _delays(window, compute, known.rows)
    return Idle(
        active_ns=window.length,
        idle_ns=whole,
        by_reason=parts,
        pending_ns=parts[TRANSFER] + parts[KV_READY] if tells else None,
        delayed_step_count=count,
        delayed_ns=waited,
        uncertainty_ns=doubt,
    )


def _delays(window: Instants, compute: Instants, rows: pl.DataFrame) -> tuple[int | None, int | None]:
    """How many steps waited for KV, and for how long.

    A step waited where the device was idle just before it, since its last compute in the window, and meanwhile the KV
    of a request that the step is the first to decode was pending: its prefill had ended (where that is not known, its
    KV had begun to leave, or to arrive), and not all of it had arrived. Each nanosecond counts once. None where that
    is known of no request.
    """
    told = rows.drop_nulls(["begins", "ready"])
    if told.is_empty():
        return None, None
    begins = told["begins"].to_numpy()
    before = np.searchsorted(compute.starts, begins, side="left") - 1
    ended = np.full(len(begins), window.starts[0], dtype=np.int64)
    ended[before >= 0] = np.maximum(compute.ends[before[before >= 0]], window.starts[0])
    pending = told.select(pl.coalesce("prefill_end", "sent", "ready")).to_series().to_numpy()
    starts, ends = np.maximum(ended, pending), np.minimum(begins, told["ready"].to_numpy())
    delayed = np.unique(begins[ends > starts])
    return len(delayed), Instants.of(starts, ends).length
