"""Hardware counters of what crossed a device's links or the node's network adapters, as nsys sampled them.

Only throughput over NVLink and PCIe and bytes of adapters are read: the rest of GPU_METRICS is large and of no use
here. Ids of metrics are not stable, so metrics go by their names.
"""

from collections import Counter

import polars as pl

from nsysparse.frames import Counters, Frame
from nsysparse.source import schema
from nsysparse.source.export import Export
from nsysparse.source.schema import TableSpec
from nsysparse.source.sql import Piece, among, like
from nsysparse.source.usable import MAX_BYTES, usable_times

# "NVLink TX Requests User Data [Throughput %]"; what stands in brackets is the unit, older names have none.
_GPU_METRIC = r"(?i)^(?:nvlink|pcie)\s+(?:tx|rx)\b[^\[]*(?:\[[^\]]*%[^\]]*\])?\s*$"
_GPU_EGRESS = r"(?i)^\w+\s+tx\b"
# Such as the bytes sent over InfiniBand, "IB: Bytes sent".
_NIC_METRIC = r"(?i)\bbytes (?:sent|received)\s*$"
_NIC_EGRESS = r"(?i)\bsent\s*$"
# Adapters are sampled as rates ("bytes/ms") or, as NVIDIA's description has it, as bytes of the interval.
_UNITS_NS = {"bytes": None, "bytes/ns": 1, "bytes/us": 10**3, "bytes/ms": 10**6, "bytes/s": 10**9}
_MOST_PERCENT = 1000.0  # rounding may lift a counter a little over its peak, damage lifts it anywhere
_GPU_ID_BITS = 256
_ORDER = ["source", "device", "metric", "start_ns", "end_ns", "value"]


def read_counters(export: Export, trace_id: str, anomalies: Counter[str]) -> Frame[Counters]:
    """Counter values over intervals, in total order.

    Args:
        export: The open file.
        trace_id: Name of this input within the command.
        anomalies: Counts values that no counter can have, impossible times, and units that are not known.
    """
    parts = [_gpu_metrics(export), _nic_metrics(export, anomalies)]
    columns = ["source", "device", "metric", "direction", "start_ns", "end_ns", "value", "unit"]
    found = usable_times(
        pl.concat([part.select(columns) for part in parts]), "counters", anomalies, open_ended=False
    ).filter(pl.col("end_ns") > pl.col("start_ns"))
    highest = pl.when(pl.col("unit") == "percent").then(pl.lit(_MOST_PERCENT)).otherwise(pl.lit(float(MAX_BYTES)))
    sane = found.filter(pl.col("value").is_between(pl.lit(0.0), highest).fill_null(value=False))
    if sane.height < found.height:
        anomalies["counters-impossible"] += found.height - sane.height
    if export.window is not None:
        sane = sane.filter(export.window.overlaps())
    ordered = sane.with_columns(trace_id=pl.lit(trace_id)).sort(_ORDER, nulls_last=True)
    return Counters.validate(ordered.select(Counters.column_names()))


def gpu_metric_ids(export: Export) -> list[int]:
    """Ids of the GPU metrics that are read."""
    return _gpu_metric_names(export)["metric_id"].unique().sort().to_list()


def nic_metric_lists(export: Export) -> list[int]:
    """Lists with metrics of adapters that are read."""
    return _nic_metric_names(export)["list_id"].unique().sort().to_list()


def is_read(metric: pl.Expr) -> pl.Expr:
    """Whether metrics of these names are read, of GPUs or adapters."""
    return (metric.str.contains(_GPU_METRIC) | metric.str.contains(_NIC_METRIC)).fill_null(value=False)


def _gpu_metric_names(export: Export) -> pl.DataFrame:
    wanted = like("metricName", "nvlink%") | like("metricName", "pcie%")
    return _named(export, schema.GPU_METRIC_NAMES, wanted).filter(pl.col("metric").str.contains(_GPU_METRIC))


def _nic_metric_names(export: Export) -> pl.DataFrame:
    named = _named(export, schema.NIC_METRIC_NAMES, like("name", "%bytes %"))
    return named.filter(pl.col("metric").str.contains(_NIC_METRIC))


def _gpu_metrics(export: Export) -> pl.DataFrame:
    """A sample covers the time since the sample before; the first of a metric covers nothing that is known."""
    metrics = _gpu_metric_names(export)
    ids = metrics["metric_id"].unique().sort().to_list()
    samples = _named(export, schema.GPU_METRICS, among("metricId", ids))
    key = ["type_id", "metric_id"]
    one_name = metrics.group_by(key).agg(pl.col("metric").unique()).filter(pl.col("metric").list.len() == 1)
    known = samples.join(one_name.with_columns(pl.col("metric").list.first()), on=key)
    sampled = known.sort(*key, "end_ns", "value").unique([*key, "end_ns"], keep="last", maintain_order=True)
    return sampled.with_columns(
        source=pl.lit("gpu_metrics"),
        # The lowest byte of a type is the GPU's id in TARGET_INFO_GPU, as NVIDIA's own recipes join the two.
        device=pl.concat_str(pl.lit("gpu"), pl.col("type_id").mod(_GPU_ID_BITS)),
        direction=_direction(_GPU_EGRESS),
        start_ns=pl.col("end_ns").shift(1).over(key),
        unit=pl.lit("percent"),
    ).filter(pl.col("start_ns").is_not_null())


def _nic_metrics(export: Export, anomalies: Counter[str]) -> pl.DataFrame:
    metrics = _nic_metric_names(export)
    lists = metrics["list_id"].unique().sort().to_list()
    samples = _named(export, schema.NIC_METRICS, among("metricsListId", lists))
    key = ["list_id", "index"]
    one_name = metrics.group_by(key).agg(pl.struct("metric", "unit_said").unique().alias("said"))
    named = samples.join(
        one_name.filter(pl.col("said").list.len() == 1).with_columns(pl.col("said").list.first()), on=key
    ).unnest("said")
    unit = pl.col("unit_said").fill_null("").str.to_lowercase().str.strip_chars()
    known = named.filter(unit.is_in(list(_UNITS_NS)))
    if known.height < named.height:
        anomalies["counters-in-unknown-units"] += named.height - known.height
    per_ns = unit.replace_strict(_UNITS_NS, default=None, return_dtype=pl.Int64)
    length = pl.col("end_ns") - pl.col("start_ns")
    return known.join(_nics(export), on="global_id", how="left").with_columns(
        source=pl.lit("nic_metrics"),
        direction=_direction(_NIC_EGRESS),
        value=pl.when(per_ns.is_not_null()).then(pl.col("value") * length / per_ns).otherwise("value"),
        unit=pl.lit("bytes"),
    )


def _nics(export: Export) -> pl.DataFrame:
    """The name of each adapter that its samples' global id leads to, else its number in the file."""
    mapped = _named(export, schema.NIC_IDS).unique()
    names = _named(export, schema.NICS).group_by("nic_id").agg(pl.col("name").unique().sort().first())
    number = pl.concat_str(pl.lit("nic"), "nic_id")
    return (
        mapped.join(names, on="nic_id", how="left")
        .with_columns(device=pl.coalesce("name", number))
        .group_by("global_id")
        .agg(pl.col("device").unique())
        .filter(pl.col("device").list.len() == 1)
        .with_columns(pl.col("device").list.first())
    )


def _named(export: Export, spec: TableSpec, where: Piece | None = None) -> pl.DataFrame:
    """Whole rows of a table; none where it lacks a column: counters are a cross-check and stop no analysis."""
    columns = {theirs for theirs, _ in spec.columns.values()}
    if columns <= export.columns(spec.table):
        return export.read(spec, where=where).drop_nulls()
    return pl.DataFrame(schema={ours: dtype for ours, (_, dtype) in spec.columns.items()})


def _direction(egress: str) -> pl.Expr:
    return pl.when(pl.col("metric").str.contains(egress)).then(pl.lit("egress")).otherwise(pl.lit("ingress"))
