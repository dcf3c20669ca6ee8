"""Hold hardware counters beside the transfers that they should have seen.

Counters see everything that a device or node moved, so agreement makes sizes plausible and proves nothing; a count far
below the payload means that sizes, devices or the kind of link are wrong.
"""

from collections.abc import Mapping

import polars as pl

from nsysparse.analysis import CounterCheck
from nsysparse.intervals import Ints, coverage, merge
from nsysparse.metrics.measured import names_device

NOTE = "host-wide: every process on the node is in it"
WHOLE = 0.999
_KEY = ["trace_id", "source", "metric", "direction"]
_FABRICS = ("nvlink", "pcie")


def plausibility(
    movements: pl.DataFrame, counters: pl.DataFrame, peak_gb_s: Mapping[str, float]
) -> tuple[CounterCheck, ...]:
    """One check for each counter that ran while data moved its way.

    Args:
        movements: Sends, receives and copies, each seen from one side: `trace_id`, `gpu`, `side`, `start_ns`, `end_ns`,
            `bytes`, `src_end`, `dst_end`. A counter of a GPU is held against what left or reached this GPU, those of
            network adapters, added up, against what left or reached the trace's processes.
        counters: Columns of `nsysparse.frames.Counters`, of all traces.
        peak_gb_s: Of a GPU's `nvlink` or `pcie`, in one direction, as far as known: what 100 percent are.

    Returns:
        Sorted by trace, source, device, metric and direction. Counters beside which nothing moved have no check.
    """
    placed = _placed(movements)
    of_gpu = counters["source"] == "gpu_metrics"
    by_device = counters.filter(of_gpu).with_columns(where="device")
    together = counters.filter(~of_gpu).with_columns(where=pl.lit(None, dtype=pl.String))
    checks = []
    for part in (by_device, together):
        for _, samples in part.group_by(*_KEY, "where", maintain_order=True):
            check = _check(samples, placed, peak_gb_s)
            if check is not None:
                checks.append(check)
    return tuple(sorted(checks, key=lambda check: (
        check.trace_id, check.source, check.device or "", check.metric, check.direction or ""
    )))  # fmt: skip


def _placed(movements: pl.DataFrame) -> pl.DataFrame:
    """Timed movements with `egress` and `ingress`: the ends (`trace:gpuN`) that they leave and reach."""
    # A copy says where it comes from and goes to, or that is not known: the device that ran it need be neither.
    own = pl.when(pl.col("side").ne_missing("copy")).then(pl.concat_str("trace_id", pl.lit(":"), "gpu"))
    elsewhere = pl.col("src_end").ne_missing(pl.col("dst_end")) | pl.col("src_end").is_null()
    return movements.filter(pl.col("start_ns").is_not_null() & pl.col("end_ns").is_not_null() & elsewhere).select(
        "trace_id", "side", "start_ns", "end_ns", "bytes", "gpu_id",
        egress=pl.when(names_device("src_end")).then(pl.coalesce("src_end", own)),
        ingress=pl.when(names_device("dst_end")).then(pl.coalesce("dst_end", own)),
    )  # fmt: skip


def _check(samples: pl.DataFrame, placed: pl.DataFrame, peak_gb_s: Mapping[str, float]) -> CounterCheck | None:
    """The check of one counter's samples; None where nothing moved its way."""
    first = samples.row(0, named=True)
    moved = _moved(placed, first)
    starts, ends = merge(moved["start_ns"].to_numpy(), moved["end_ns"].to_numpy())
    covered = int((ends - starts).sum())
    if covered == 0:
        return None
    first_ns, last_ns = samples["start_ns"].to_numpy(), samples["end_ns"].to_numpy()
    seen = coverage(starts, ends, last_ns) - coverage(starts, ends, first_ns)
    once_first, once_last = merge(first_ns, last_ns)
    sampled_ns = int((coverage(starts, ends, once_last) - coverage(starts, ends, once_first)).sum())
    counted = _counted(samples, seen, _rate(first, peak_gb_s)) if sampled_ns else None
    payload = None if moved["bytes"].null_count() else int(moved["bytes"].sum())
    note = NOTE
    if sampled_ns < WHOLE * covered:
        note += f"; sampled during {sampled_ns / covered:.0%} of the time"
    if first["where"] is not None and moved["gpu_id"].null_count():
        note += "; CUDA ordinals are taken for GPUs, as the file does not map them"
    return CounterCheck(
        trace_id=first["trace_id"],
        source=first["source"],
        device=_device(samples),
        metric=first["metric"],
        direction=first["direction"],
        covered_ns=covered,
        counted_bytes=counted,
        payload_bytes=payload,
        ratio=counted / payload if counted is not None and payload else None,
        note=note,
    )


def _moved(placed: pl.DataFrame, counter: Mapping[str, object]) -> pl.DataFrame:
    """What moved in a counter's direction on its trace, and through its device where it is one device's."""
    direction, where = counter["direction"], counter["where"]
    moved = placed.filter(pl.col("trace_id") == counter["trace_id"])
    if direction is not None:
        way = "send" if direction == "egress" else "recv"
        # A kernel of unknown side may have moved either way.
        moved = moved.filter(pl.col("side").is_in([way, "copy"]) | pl.col("side").is_null())
    if where is None:
        return moved
    here = pl.lit(f"{counter['trace_id']}:{where}")
    ends = ["egress", "ingress"] if direction is None else [str(direction)]
    return moved.filter(pl.any_horizontal((pl.col(end) == here).fill_null(value=False) for end in ends))


def _device(samples: pl.DataFrame) -> str | None:
    """The device of the samples; of several adapters how many they are."""
    devices = samples["device"].drop_nulls().unique().to_list()
    if len(devices) == 1 and not samples["device"].null_count():
        return str(devices[0])
    return f"{len(devices)} network adapters" if devices and not samples["device"].null_count() else None


def _rate(counter: Mapping[str, object], peak_gb_s: Mapping[str, float]) -> float | None:
    """Bytes per nanosecond that one percent stands for; 0 where values are bytes already."""
    if counter["unit"] == "bytes":
        return 0.0
    fabric = next((each for each in _FABRICS if str(counter["metric"]).lower().startswith(each)), "")
    return None if fabric not in peak_gb_s else peak_gb_s[fabric] / 100


def _counted(samples: pl.DataFrame, seen_ns: Ints, rate: float | None) -> int | None:
    """Bytes counted during the parts of the samples that count; a sample's value is spread evenly over it."""
    if rate is None:
        return None
    values = samples["value"].to_numpy()
    if rate:
        return round(float((values * seen_ns).sum()) * rate)
    lengths = (samples["end_ns"] - samples["start_ns"]).to_numpy()
    return round(float((values * (seen_ns / lengths)).sum()))
