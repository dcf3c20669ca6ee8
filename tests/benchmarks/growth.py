"""How the work after reading grows with the number of transfers: no faster than n·log n, or the gate fails.

Pairing, sharing, exchanges, wire, exposure, attribution and metrics run on made-up transfers, without files. Times are
CPU seconds of one thread, so that what else runs on the machine hardly shows; `growth` is time per n·log2 n against the
smallest size of the case. The cases: `lanes` (twenty communicators seen from both sides, half of the calls four to a
kernel, one lane in ten cut at its head on one side), `short` (the same in lanes of ten messages), `peers` (calls that
name no peer, some no size or communicator either), `requests` (as `lanes`, with as many requests as there are tens of
messages, each prefilled and decoded in steps of four kernels) and `evidence` (copies inside transfers of NIXL).

    python tests/benchmarks/growth.py [--full] [--case CASE] [--gate 2.5]
"""

import os

os.environ["POLARS_MAX_THREADS"] = "1"  # before polars is imported: times are those of one core

import argparse
import math
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from nsysparse.analysis import DEFAULT_PURPOSE, DEFAULT_THRESHOLD, Setting
from nsysparse.anchor import Anchor
from nsysparse.attribution import agree_between_sides
from nsysparse.clocks import solve
from nsysparse.crossings import Seen
from nsysparse.evidence import Surroundings, count_once
from nsysparse.exchanges import exchanges
from nsysparse.exposure import with_exposure
from nsysparse.frames import Shares, StepRequests, Steps, Transfers, Work, found_frame
from nsysparse.instants import Busy, Instants
from nsysparse.metrics.assemble import assemble
from nsysparse.metrics.journeys import Journeys
from nsysparse.metrics.measured import select
from nsysparse.pairing import pair
from nsysparse.paths import find_paths
from nsysparse.presets.loader import FIELDS
from nsysparse.scope_table import ScopeTable
from nsysparse.shares import settled, shares
from nsysparse.sharing import share_time
from nsysparse.theory.references import References
from nsysparse.wire import windows, with_wire

SIZES, FULL = (10_000, 30_000, 100_000), (10_000, 100_000, 1_000_000)
COPIES, COPIES_FULL = (10_000, 30_000, 100_000), (10_000, 100_000, 300_000)
COMMUNICATORS, MESSAGES, CUT = 20, 10, 37
STEP_NS, KERNEL_NS, LATE_NS = 20_000, 9_000, 1_500
LAYERS, REQUESTS = 32, 500
TOKENS, KERNELS = 3, 4
Stages = dict[str, float]


@contextmanager
def timed(stages: Stages, name: str) -> Iterator[None]:
    """Add the CPU seconds of the block to a stage."""
    start = time.process_time()
    yield
    stages[name] = stages.get(name, 0.0) + time.process_time() - start


def both_sides(count: int, communicators: int) -> pl.DataFrame:
    """Sends of even processes and receives of odd ones: message i of a communicator's lane on each side.

    The first rank of every tenth communicator recorded no creation, and its receiver lacks the first messages.
    """
    message = np.arange(count // 2)
    lane, k = message % communicators, message // communicators
    sizes = 2**20 + 4096 * np.random.default_rng(7).integers(0, 200, len(message))
    grouped = k // 4 % 2 == 1
    sides = []
    for side, own in (("send", 0), ("recv", 1)):
        first = np.where(grouped, k // 4 * 4, k)  # whose kernel it is
        begin = first * STEP_NS + lane * 17 + own * LATE_NS
        sides.append(
            pl.DataFrame(
                {
                    "lane": lane, "k": k, "side": side, "bytes": sizes, "rank": own, "peer": 1 - own,
                    "process": 2 * lane + own, "thread": 2 * lane + own, "device_id": own,
                    "gpu": [f"gpu{own}/pid{each}" for each in (2 * lane + own).tolist()],
                    "communicator": lane.astype(str), "start_ns": begin, "end_ns": begin + KERNEL_NS - own * LATE_NS,
                    "time_ns": np.where(grouped, np.where(k % 4 == 0, KERNEL_NS - own * LATE_NS, 0), KERNEL_NS),
                    "kernel_ops": np.where(grouped, 4, 1), "group_key": 2 * (first * communicators + lane) + own,
                    "call_start_ns": k * STEP_NS // 4 + lane, "layer_text": (k % LAYERS).astype(str),
                    "request_text": (k // LAYERS % REQUESTS).astype(str),
                }
            )
        )  # fmt: skip
    rows = pl.concat(sides)
    cut = pl.col("lane") % 10 == 0
    head = min(CUT, count // 2 // communicators // 4)
    return rows.filter(~(cut & (pl.col("side") == "recv") & (pl.col("k") < head))).with_columns(
        rank=pl.when(~cut).then("rank"),
        layer_text=pl.when(pl.col("k") % 20 == 19).then(pl.lit("0-3")).otherwise("layer_text"),
    )


def without_peers(count: int) -> pl.DataFrame:
    """Calls that may have met, of which too little is known to pair them."""
    rows = both_sides(count, COMMUNICATORS)
    return rows.with_columns(
        rank=None,
        peer=None,
        bytes=pl.when(pl.col("k") % 4 != 0).then(pl.col("bytes") + pl.col("k")),
        communicator=pl.when(pl.col("k") % 2 == 0).then("communicator"),
    )


def attributed(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows as they leave attribution, one trace after the other numbered as `api` numbers them."""
    texts = dict.fromkeys(
        ("layer_bytes", "request_bytes", "request_tokens", "phase", "role", "phase_provenance", "role_provenance"),
        pl.String,
    )
    defaults = {
        "trace_id": "t", "transport": "nccl", "purpose": "kv", "purpose_rule": "own/kv_transfer", "kernel_count": 1,
        "device_count": 1, "staging_bytes": 2**18, "interval_kind": "gpu", "bytes_source": "payload",
    }  # fmt: skip
    given = rows.with_columns(
        pl.lit(value).alias(name) for name, value in defaults.items() if name not in rows.columns
    ).with_columns(call_end_ns=pl.col("call_start_ns") + 1, is_self=pl.lit(value=False), is_first_use=pl.col("k") == 0)
    ordered = given.sort("process", "call_start_ns", "k")
    said = ordered.select("layer_text", "request_text").with_columns(
        *(pl.lit(None, dtype=dtype).alias(name) for name, dtype in texts.items()),
        layer_provenance=pl.lit("exact"),
        request_provenance=pl.lit("nested"),
    )
    found = pl.concat([found_frame(ordered), said], how="horizontal")
    return found.with_row_index("transfer_id").with_columns(pl.col("transfer_id").cast(pl.UInt32))


def compute_beside(rows: pl.DataFrame) -> Busy:
    """Compute on every device during half of the time, in as many pieces as there are messages in a lane."""
    last = rows["end_ns"].max()
    starts = np.arange(0, last if isinstance(last, int) else 0, STEP_NS)
    devices = rows.select(device=pl.concat_str("process", pl.lit(":"), "device_id"))["device"].unique().sort()
    pieces = Instants.of(starts, starts + STEP_NS // 2)
    return {("t", device): pieces for device in devices.head(COMMUNICATORS * 2)}


@dataclass(frozen=True, slots=True)
class Engine:
    """What an engine did beside its transfers: columns of `Steps`, of `StepRequests` and of `Work`."""

    steps: pl.DataFrame = field(default_factory=Steps.create_empty)
    held: pl.DataFrame = field(default_factory=StepRequests.create_empty)
    work: pl.DataFrame = field(default_factory=Work.create_empty)


def engine_of(rows: pl.DataFrame) -> Engine:
    """A prefill step before the sends of each request, and `TOKENS` decode steps after its last receive."""
    known = rows.group_by("process", pl.col("device_id").cast(pl.Int64), request_id="request_text").agg(
        first=pl.col("start_ns").min(), last=pl.col("end_ns").max()
    )
    place = pl.col("first") - STEP_NS // 2, pl.col("last") + pl.int_ranges(TOKENS) * STEP_NS
    prefill = known.filter(device_id=0).with_columns(phase=pl.lit("prefill"), start_ns=place[0])
    decode = known.filter(device_id=1).with_columns(phase=pl.lit("decode"), start_ns=place[1]).explode("start_ns")
    steps = (
        pl.concat([prefill, decode])
        .sort("start_ns", "process", "request_id")
        .with_row_index("step_id")
        .with_columns(
            pl.col("step_id").cast(pl.UInt32), end_ns=pl.col("start_ns") + STEP_NS // 3, trace_id=pl.lit("t"),
            is_projected=pl.lit(value=True), device=pl.concat_str("process", pl.lit(":"), "device_id"),
        )
        .with_columns(host_start_ns="start_ns", host_end_ns="end_ns")
    )  # fmt: skip
    kernel = STEP_NS // 3 // KERNELS
    begins = pl.col("start_ns") + pl.int_ranges(KERNELS) * kernel
    work = steps.with_columns(
        start_ns=begins, shape=pl.int_ranges(KERNELS), launch_thread="process", launch_start_ns="host_start_ns",
        launch_end_ns=pl.col("host_start_ns") + 1, is_compute=pl.lit(value=True),
    ).explode("start_ns", "shape").with_columns(end_ns=pl.col("start_ns") + kernel).sort("start_ns")  # fmt: skip
    return Engine(
        Steps.validate(steps.select(Steps.column_names())),
        StepRequests.validate(steps.select(StepRequests.column_names())),
        Work.validate(work.select(Work.column_names())),
    )


def analyse(transfers: pl.DataFrame, compute: Busy, engine: Engine | None = None) -> Stages:
    """Run what `api` runs after reading, and time it by stage."""
    stages: Stages = {}
    anomalies: Counter[str] = Counter()
    with timed(stages, "pairing"):
        paired = pair(transfers, anomalies)
    if 2 * paired["is_movement"].sum() > 1.1 * len(paired):  # then sides did not meet: another case would be measured
        raise AssertionError(f"{paired['is_movement'].sum()} of {len(paired)} transfers are movements")
    with timed(stages, "sharing"):
        shared = share_time(paired)
    with timed(stages, "exchanges"):
        present = windows(exchanges(shared))
    with timed(stages, "wire"):
        wired = with_wire(shared, present)
    with timed(stages, "exposure"):
        measured = with_exposure(wired, present, compute)
    with timed(stages, "shares"):
        agreed = agree_between_sides(measured, anomalies)
        divided = shares(agreed, None, anomalies)
        done = Transfers.validate(settled(agreed, divided).select(Transfers.column_names()))
        parts = Shares.validate(divided.join(agreed.filter("is_movement"), on="transfer_id", how="semi"))
    with timed(stages, "metrics"):
        settings = {name: Setting(None, "not given") for name in ("link", "peak_gb_s", "model", "layers")}
        asked = {"purpose": Setting(DEFAULT_PURPOSE, "default"), "threshold": Setting(0.2, "default")}
        ways = _journeys(done, parts, compute, engine or Engine())
        found = assemble(select(done, parts), [], ways, settings | asked, None, anomalies, None, References())
    gaps = [request.kv_gap_ns for request in found.requests]
    if engine and (not found.decode or not found.prefill or gaps.count(None) > len(gaps) / 10):
        raise AssertionError("the ways of requests, or what devices did, is not known")
    return stages


def _journeys(transfers: pl.DataFrame, parts: pl.DataFrame, compute: Busy, engine: Engine) -> Journeys:
    """Ways of requests of which no arrival is known."""
    at = pl.DataFrame(schema={"request_id": pl.String, "trace_id": pl.String, "at_ns": pl.Int64})
    seen = Seen(transfers, parts, engine.steps, engine.held, at)
    clocks = solve({trace: Anchor() for trace in transfers["trace_id"].unique()}, transfers)
    paths, sides = find_paths(seen, clocks)
    return Journeys(
        announced=pl.DataFrame(schema={"request_id": pl.String, "start_ns": pl.Int64, "prompt_tokens": pl.Int64}),
        paths=paths,
        sides=sides,
        steps=seen.steps,
        held=seen.held,
        work=engine.work,
        compute=compute if engine.work.height else {},
        clocks=clocks,
        spans={},
        convention=None,
        threshold=DEFAULT_THRESHOLD,
    )


def lanes(count: int) -> Stages:
    """Long lanes, some of which slide."""
    rows = both_sides(count, COMMUNICATORS)
    return analyse(attributed(rows), compute_beside(rows))


def short(count: int) -> Stages:
    """As many lanes as there are tens of messages."""
    rows = both_sides(count, count // 2 // MESSAGES)
    return analyse(attributed(rows), compute_beside(rows))


def peers(count: int) -> Stages:
    """Nobody names a peer."""
    rows = without_peers(count)
    return analyse(attributed(rows), compute_beside(rows))


def requests(count: int) -> Stages:
    """More and more requests, and steps that hold them."""
    named = pl.concat_str("lane", pl.lit("-"), pl.col("k") // MESSAGES)
    rows = both_sides(count, COMMUNICATORS).with_columns(request_text=named)
    engine = engine_of(rows)
    ran = engine.work.group_by("trace_id", "device")
    return analyse(
        attributed(rows), {(str(trace), str(device)): Instants.covered(part) for (trace, device), part in ran}, engine
    )


def evidence(count: int) -> Stages:
    """Copies of ten to a NIXL transfer, which carry what it moved."""
    copy, post = np.arange(count), np.arange(count // 10)
    common = {"trace_id": "t", "purpose": None, "side": "send"}
    parts = pl.DataFrame(
        {"process": copy // 10 % 4, "thread": copy // 10 % 4, "bytes": 1000, "start_ns": copy * 100 + 10,
         "end_ns": copy * 100 + 80, "call_start_ns": copy * 100, "call_end_ns": copy * 100 + 5}
    ).with_columns(transport=pl.lit("memcpy"))  # fmt: skip
    whole = pl.DataFrame(
        {"process": post % 4, "thread": post % 4, "bytes": 10_000, "start_ns": post * 1000, "end_ns": post * 1000 + 999,
         "call_start_ns": post * 1000, "call_end_ns": post * 1000 + 5}
    ).with_columns(transport=pl.lit("nixl"))  # fmt: skip
    rows = pl.concat([whole, parts]).with_columns(pl.lit(value).alias(name) for name, value in common.items())
    found = found_frame(rows).with_row_index("transfer_id").with_columns(pl.col("transfer_id").cast(pl.UInt32))
    words = ("rule", "kind", "purpose", "purpose_rule", *FIELDS)
    places = {"range_id": pl.UInt32, "label_id": pl.UInt32, "style": pl.String}
    numbers = dict.fromkeys(("process", "thread", "start_ns", "end_ns"), pl.Int64)
    said = {"label_id": pl.UInt32, **dict.fromkeys(words, pl.String)}
    scopes = ScopeTable(pl.DataFrame(schema={**places, **numbers}), pl.DataFrame(schema=said))
    ids = found["transfer_id"].clear()
    around = Surroundings(
        other=ids,
        within=pl.DataFrame({"transfer_id": ids, "scope_id": ids}),
        threads=found["thread"].clear(),
        issuing=pl.DataFrame({"transfer_id": ids, "begin": found["start_ns"].clear(), "end": found["end_ns"].clear()}),
    )
    stages: Stages = {}
    with timed(stages, "evidence"):
        standing = count_once(found, scopes, around, Counter())
    if standing.height != len(post):
        raise AssertionError(f"{standing.height} of {len(post)} transfers stand")
    return stages


CASES: dict[str, Callable[[int], Stages]] = {"lanes": lanes, "short": short, "peers": peers, "requests": requests,
                                             "evidence": evidence}  # fmt: skip


def main() -> int:
    """Measure, print, and fail when the gate is passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="up to a million transfers")
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--gate", type=float, default=2.5)
    asked = parser.parse_args()
    worst = 0.0
    for name in asked.case or CASES:
        case = CASES[name]
        sizes = (COPIES_FULL if asked.full else COPIES) if name == "evidence" else FULL if asked.full else SIZES
        case(sizes[0] // 10)  # what is loaded and compiled on first use is not measured
        first = 0.0
        for count in sizes:
            stages = case(count)
            seconds = sum(stages.values())
            unit = seconds / (count * math.log2(count))
            first = first or unit
            worst = max(worst, unit / first)
            said = "  ".join(f"{stage} {part:.2f}" for stage, part in stages.items())
            print(f"{name:9} {count:9,}  {seconds:7.2f} s  growth {unit / first:5.2f}   {said}", flush=True)
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"growth    {worst:.2f} (at most {asked.gate:g}), peak memory {peak_gb:.1f} GB")
    return int(worst > asked.gate)


if __name__ == "__main__":
    sys.exit(main())
