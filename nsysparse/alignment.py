"""Which send of a lane met which receive: k-th with k-th, from where both sides of the capture begin.

A lane is (communicator, source rank, destination rank); NCCL carries its messages in order. Where the capture began on
both sides before the first message, counting is proof. Else one side may lack messages at its head that the other has,
so that all pairs are shifted: then the sizes, or the clock, may say by how much. What none of them says is not proven.

- `start`: both sides recorded the communicator's creation, so no message before is missing.
- `sizes`: of all ways to slide one sequence of sizes along the other just one fits, it has enough different sizes, and
  both sides are on one clock, which does not contradict.
- `clock`: on one clock, sends and receives end together, of messages so large that both kernels must have been there.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from nsysparse.intervals import Ints, groups_in_order

LANE = ["communicator", "source", "target"]
CLOCK_SLACK_NS = 30_000
"""How far the clocks of two devices in one file may be apart."""
END_TOLERANCE_NS = 30_000
"""How far apart a send and a receive of one message end: pipeline tail and the clocks, as measured on one H100 pair."""

# A receive cannot end before its send has ended, but for the pipeline's tail and the clocks.
_ENDS_APART_NS = END_TOLERANCE_NS + CLOCK_SLACK_NS

START, SIZES, CLOCK = "start", "sizes", "clock"
# A sequence must have that many pairs, of that many different sizes, for its sizes to prove anything: two sequences of
# one size fit everywhere, and of two alternating ones every other way.
_LEAST_PAIRS, _LEAST_SIZES = 8, 3
# Less than this share of the shorter side may be another request's like sequence, where a row was lost.
_MOST_OF_IT = 0.75
# Of the messages too large to be buffered, how many must end together on both sides.
_TOGETHER = 0.9
# Ways to slide that leave only this share of the shorter side to compare are not considered: they would fit by chance.
_LEAST_OVERLAP = 0.1


def align(lanes: pl.DataFrame, anomalies: Counter[str]) -> pl.DataFrame:
    """Pairs of the lanes whose two sides agree.

    Args:
        lanes: Sends and receives with `transfer_id`, `side`, the columns `LANE`, `k` (issue order within lane and
            side), `node`, `trace_id`, `start_ns`, `end_ns`, `bytes`, `staging_bytes`, `kernel_ops`, `created`.
        anomalies: Counts lanes that do not pair, and those that had to be realigned.

    Returns:
        `LANE`, `send`, `recv` (transfer ids), `pairing` (`fifo`, or `positional` without communicator), `proof` (null
        where nothing proves that the right ones meet), `slid` (whether the sides begin at different messages).
    """
    met = _met(lanes)
    tally = met.group_by(LANE).agg(
        agrees=pl.col("fits").all() & (pl.col("node").n_unique() == 1) & (pl.col("node_right").n_unique() == 1),
        nodes=(pl.col("node").drop_nulls().n_unique() == 1) & (pl.col("node_right").drop_nulls().n_unique() == 1),
        seen_twice=pl.col("send").is_not_null().any() & pl.col("recv").is_not_null().any(),
        from_start=(pl.col("created").fill_null(value=True) & pl.col("created_right").fill_null(value=True)).all(),
        shorter=pl.min_horizontal(pl.col("send").count(), pl.col("recv").count()),
        bulky=pl.col("too_large").sum(),
        together=(pl.col("too_large") & pl.col("end_together")).sum(),
        sizes_known=(pl.col("send").is_null() | pl.col("send_bytes").is_not_null()).all()
        & (pl.col("recv").is_null() | pl.col("recv_bytes").is_not_null()).all(),
    )
    named = pl.col("communicator").is_not_null()
    by_clock = (pl.col("bulky") > 0) & (pl.col("together") >= _TOGETHER * pl.col("bulky"))
    proof = (
        pl.when(named & pl.col("agrees") & pl.col("from_start"))
        .then(pl.lit(START))
        .when(named & pl.col("agrees") & by_clock)
        .then(pl.lit(CLOCK))
    )
    tally = tally.filter(pl.col("seen_twice")).with_columns(proof=proof)
    doubtful = tally.filter(
        named & pl.col("proof").is_null() & pl.col("nodes")
        & (pl.col("from_start") | (pl.col("sizes_known") & (pl.col("shorter") >= _LEAST_PAIRS)))
    )  # fmt: skip
    slides = _slides(met, doubtful)
    settled = tally.join(slides, on=LANE, how="left", nulls_equal=True).with_columns(
        proof=pl.coalesce("slid_proof", "proof"),
        shift=pl.when(pl.col("slid_shift").is_not_null()).then("slid_shift").when("agrees").then(0),
    )
    unsettled = settled.filter(pl.col("shift").is_null()).height
    if unsettled:
        anomalies["lanes-that-do-not-pair"] += unsettled
    moved = settled.filter((pl.col("shift") != 0) | ~pl.col("agrees"))["shift"].drop_nulls().len()
    if moved:
        anomalies["lanes-realigned"] += moved
    return _pairs(lanes, settled.filter(pl.col("shift").is_not_null()))


def _met(lanes: pl.DataFrame) -> pl.DataFrame:
    """Sends beside receives, k-th with k-th, as far as there are any, and how well they fit."""
    side = {
        name: lanes.filter(pl.col("side") == name).select(
            *LANE, "k", "node", pl.col("created").fill_null(value=False),
            pl.col("transfer_id").alias(name),
            *(pl.col(column).alias(f"{name}_{column}") for column in ("bytes", "trace_id", "start_ns", "end_ns")),
            (pl.col("kernel_ops") == 1).fill_null(value=False).alias(f"{name}_alone"),
            pl.col("staging_bytes").alias(f"{name}_staging"),
        )
        for name in ("send", "recv")
    }  # fmt: skip
    met = side["send"].join(side["recv"], on=[*LANE, "k"], how="full", coalesce=True, nulls_equal=True)
    one_clock = pl.col("send_trace_id") == pl.col("recv_trace_id")
    before_it_began = pl.col("recv_end_ns") < pl.col("send_start_ns") - CLOCK_SLACK_NS
    before_it_was_sent = pl.col("send_alone") & (pl.col("recv_end_ns") < pl.col("send_end_ns") - _ENDS_APART_NS)
    too_early = one_clock & (before_it_began | before_it_was_sent)
    both_sized = pl.col("send_bytes").is_not_null() & pl.col("recv_bytes").is_not_null()
    apart = (pl.col("send_end_ns") - pl.col("recv_end_ns")).abs()
    staging = pl.max_horizontal("send_staging", "recv_staging")
    return met.with_columns(
        fits=pl.col("send").is_not_null()
        & pl.col("recv").is_not_null()
        & (~both_sized | (pl.col("send_bytes") == pl.col("recv_bytes")))
        & ~too_early.fill_null(value=False),
        too_large=(one_clock & (pl.col("send_bytes") > staging) & apart.is_not_null()).fill_null(value=False),
        end_together=(apart <= END_TOLERANCE_NS).fill_null(value=False),
    )


def _pairs(lanes: pl.DataFrame, settled: pl.DataFrame) -> pl.DataFrame:
    shifts = settled.select(*LANE, "shift", "proof", slid=(pl.col("shift") != 0) | ~pl.col("agrees"))
    sends = (
        lanes.filter(pl.col("side") == "send")
        .join(shifts, on=LANE, nulls_equal=True)
        .select(*LANE, "proof", "slid", k=pl.col("k").cast(pl.Int64) + pl.col("shift"), send="transfer_id")
    )
    receives = lanes.filter(pl.col("side") == "recv").select(*LANE, pl.col("k").cast(pl.Int64), recv="transfer_id")
    by_name = pl.when(pl.col("communicator").is_null()).then(pl.lit("positional")).otherwise(pl.lit("fifo"))
    return sends.join(receives, on=[*LANE, "k"], nulls_equal=True).select(
        *LANE, "send", "recv", "proof", "slid", pairing=by_name
    )


_SLIDES = {"slid_shift": pl.Int64, "slid_proof": pl.String}


def _slides(met: pl.DataFrame, doubtful: pl.DataFrame) -> pl.DataFrame:
    """For lanes whose k-th need not belong to k-th: the one way to slide that sizes or clock prove."""
    wanted = met.join(doubtful.select(*LANE, "from_start"), on=LANE, nulls_equal=True).sort(*LANE, "k")
    lane = groups_in_order(wanted, LANE)
    firsts = np.flatnonzero(np.diff(lane, prepend=-1))
    traces = pl.concat([wanted["send_trace_id"], wanted["recv_trace_id"]]).drop_nulls().unique()
    clocks = {name: code for code, name in enumerate(traces)}
    sides = zip(*(_Side.of_each(wanted, side, lane, len(firsts), clocks) for side in ("send", "recv")), strict=True)
    from_start = wanted["from_start"].gather(firsts)
    proven = [_slide(*both, from_start=start) for both, start in zip(sides, from_start, strict=True)]
    found = [each is not None for each in proven]
    told = pl.DataFrame([each for each in proven if each is not None], schema=_SLIDES, orient="row")
    return pl.concat([wanted.select(LANE)[firsts].filter(pl.Series(found, dtype=pl.Boolean)), told], how="horizontal")


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a lane in issue order.

    Times are -1 where none was recorded; `alone` tells kernels that served nothing else; `clock` is the file, if it is
    one.
    """

    sizes: Ints
    starts: Ints
    ends: Ints
    staging: Ints
    alone: NDArray[np.bool_]
    clock: int | None

    @classmethod
    def of_each(
        cls, wanted: pl.DataFrame, side: str, lane: Ints, count: int, clocks: Mapping[str, int]
    ) -> Iterator["_Side"]:
        """That side of every lane.

        Args:
            wanted: Rows of `_met`, lane by lane in issue order.
            side: send or recv.
            lane: The number of each row's lane, from 0.
            count: Lanes.
            clocks: A number for each file.
        """
        there = wanted[side].is_not_null()
        rows = wanted.filter(there)
        sizes, starts, ends = (
            rows[f"{side}_{name}"].fill_null(-1).to_numpy() for name in ("bytes", "start_ns", "end_ns")
        )
        staging = rows[f"{side}_staging"].to_numpy()
        alone = rows[f"{side}_alone"].to_numpy()
        clock = rows[f"{side}_trace_id"].replace_strict(clocks, return_dtype=pl.Int64).to_numpy()
        edges = np.searchsorted(lane[there.to_numpy()], np.arange(count + 1)).tolist()
        for first, last in pairwise(edges):
            own = clock[first:last]
            one = int(own[0]) if first < last and bool((own == own[0]).all()) else None
            part = slice(first, last)
            yield cls(sizes[part], starts[part], ends[part], staging[part], alone[part], clock=one)


def _slide(sends: _Side, receives: _Side, *, from_start: bool) -> tuple[int, str | None] | None:
    """How far receives are ahead in the sequence (send i met receive i + shift), and what proves it, if anything."""
    fitting = fitting_shifts(sends.sizes, receives.sizes)
    by_clock = _shift_by_clock(sends, receives)
    if by_clock is not None and by_clock in fitting and _agree(sends, receives, by_clock):
        return by_clock, CLOCK
    if len(fitting) == 1 and _agree(sends, receives, int(fitting[0])):
        shift = int(fitting[0])
        part, _ = _overlap(shift, len(sends.sizes), len(receives.sizes))
        told = sends.sizes[part]
        shorter = min(len(sends.sizes), len(receives.sizes))
        enough = len(told) >= max(_LEAST_PAIRS, _MOST_OF_IT * shorter)
        if enough and len(np.unique(told)) >= _LEAST_SIZES:
            # Two files may hold two runs of the same requests, which look alike.
            return shift, SIZES if sends.clock is not None and sends.clock == receives.clock else None
    # Nothing is missing at the head, but one side has more: of the tail, or a row of the other side was lost anywhere.
    return (0, None) if from_start and _agree(sends, receives, 0) else None


def _overlap(shift: int, sends: int, receives: int) -> tuple[slice, slice]:
    """Which sends meet which receives when send i meets receive i + shift."""
    first = max(0, -shift)
    last = min(sends, receives - shift)
    return slice(first, max(first, last)), slice(first + shift, max(first, last) + shift)


def _agree(sends: _Side, receives: _Side, shift: int) -> bool:
    """Whether the sizes are the same, and no receive was over before its send had begun, and ended."""
    ours, theirs = _overlap(shift, len(sends.sizes), len(receives.sizes))
    if ours.start == ours.stop or not np.array_equal(sends.sizes[ours], receives.sizes[theirs]):
        return False
    if sends.clock is None or sends.clock != receives.clock:
        return True
    timed = (sends.ends[ours] >= 0) & (receives.ends[theirs] >= 0)
    in_time = receives.ends[theirs] >= sends.starts[ours] - CLOCK_SLACK_NS
    in_time &= ~sends.alone[ours] | (receives.ends[theirs] >= sends.ends[ours] - _ENDS_APART_NS)
    # What cannot be buffered cannot have left before its receive began.
    small = sends.sizes[ours] <= np.maximum(sends.staging[ours], receives.staging[theirs])
    waited = small | (sends.ends[ours] >= receives.starts[theirs] - CLOCK_SLACK_NS)
    return bool((in_time & waited)[timed].all())


def _shift_by_clock(sends: _Side, receives: _Side) -> int | None:
    """The shift at which the large messages end together on both sides; None where they do not."""
    if sends.clock is None or sends.clock != receives.clock:
        return None
    large = np.flatnonzero((sends.sizes > sends.staging) & (sends.ends >= 0))
    timed = np.flatnonzero(receives.ends >= 0)
    if len(large) == 0 or len(timed) == 0:
        return None
    order = timed[np.argsort(receives.ends[timed], kind="stable")]
    ends = receives.ends[order]
    after = (
        np.clip(np.searchsorted(ends, sends.ends[large]), 1, len(ends) - 1) if len(ends) > 1 else np.zeros_like(large)
    )
    before = np.maximum(after - 1, 0)
    nearer = np.where(
        np.abs(ends[before] - sends.ends[large]) <= np.abs(ends[after] - sends.ends[large]), before, after
    )
    together = np.abs(ends[nearer] - sends.ends[large]) <= END_TOLERANCE_NS
    shifts, votes = np.unique((order[nearer] - large)[together], return_counts=True)
    if len(shifts) == 0:
        return None
    shift = int(shifts[np.argmax(votes)])
    ours, _ = _overlap(shift, len(sends.sizes), len(receives.sizes))
    within = int(((large >= ours.start) & (large < ours.stop)).sum())
    return shift if votes.max() >= _TOGETHER * within else None


def fitting_shifts(sends: Ints, receives: Ints) -> Ints:
    """All shifts at which the overlapping parts of two sequences of sizes look alike (by a hash: perhaps too many).

    Args:
        sends: Sizes in order.
        receives: Sizes in order.

    Returns:
        Shifts, send i beside receive i + shift, rising; those that leave hardly anything to compare are left out.

    A polynomial hash of every prefix gives that of every part, so all shifts are compared at once.
    """
    mixed_sends, mixed_receives = _mixed(sends), _mixed(receives)
    powers = np.concatenate([[np.uint64(1)], np.full(max(len(sends), len(receives)), _BASE)]).cumprod(dtype=np.uint64)
    hash_sends, hash_receives = _prefixes(mixed_sends, powers), _prefixes(mixed_receives, powers)
    ahead = _alike(hash_sends, hash_receives, powers)
    behind = _alike(hash_receives, hash_sends, powers)
    least = max(1, int(_LEAST_OVERLAP * min(len(sends), len(receives))))
    shifts = np.concatenate([-behind[behind > 0][::-1], ahead])
    overlap = np.minimum(len(sends), len(receives) - shifts) - np.maximum(0, -shifts)
    found: Ints = shifts[overlap >= least]
    return found


_BASE = np.uint64(0x9E3779B97F4A7C15)
Hashes = NDArray[np.uint64]


def _mixed(sizes: Ints) -> Hashes:
    mixed = sizes.astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(1)
    return np.asarray(mixed ^ (mixed >> np.uint64(29)), dtype=np.uint64)


def _prefixes(values: Hashes, powers: Hashes) -> Hashes:
    terms = values * powers[: len(values)]
    return np.concatenate([[np.uint64(0)], terms.cumsum(dtype=np.uint64)])


def _alike(fixed: Hashes, slid: Hashes, powers: Hashes) -> Ints:
    """Offsets d at which the sequence behind `slid`, from d on, begins like the one behind `fixed`."""
    offsets = np.arange(len(slid) - 1, dtype=np.int64)
    length = np.minimum(len(fixed) - 1, len(slid) - 1 - offsets)
    part = slid[offsets + length] - slid[offsets]
    found: Ints = offsets[part == fixed[length] * powers[offsets]]
    return found
