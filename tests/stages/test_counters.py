"""Hardware counters are read, integrated over the transfers, and held beside their bytes."""

from dataclasses import replace
from pathlib import Path

import factories
import polars as pl
import pytest

from nsysparse.analysis import Capability, CounterCheck
from nsysparse.api import Options, analyse
from nsysparse.document import Abstention, Heading, Table
from nsysparse.metrics.counters import NOTE, plausibility
from nsysparse.sections import SECTIONS
from nsysparse.source.extract import read_trace
from nsysparse.source.trace import Trace
from nsysparse.testing import TraceBuilder

TX, RX = "NVLink TX Requests User Data [Throughput %]", "NVLink RX Responses User Data [Throughput %]"
SENT, RECEIVED = "IB: Bytes sent", "IB: Bytes received"
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"


def read(builder: TraceBuilder, folder: Path) -> Trace:
    return read_trace(builder.write(folder / "t.sqlite"), "t", all_gpu_work=False)


def sampled(schema: str = "3.25") -> TraceBuilder:
    builder = TraceBuilder(schema=schema, gpus={0: "x", 3: "y"})
    builder.process(pid=1).thread(tid=1).push_pop("r", 1, 2)
    builder.gpu_metric(3, TX, {1_000: 9, 2_000: 40, 3_000: 0})
    builder.gpu_metric(3, "PCIe RX Throughput [Throughput %]", {1_000: 1, 2_000: 2}, metric_id=2)
    builder.gpu_metric(0, "PCIe Read Requests to BAR1 [Requests]", {1_000: 1, 2_000: 2}, metric_id=3)
    builder.gpu_metric(0, "SMs Active [Throughput %]", {1_000: 1, 2_000: 2}, metric_id=4)
    builder.nic_metric("mlx5_0", SENT, {(0, 2_000_000): 500}, index=6)
    builder.nic_metric("mlx5_1", RECEIVED, {(0, 1_000): 4_096}, unit="bytes", index=7)
    builder.nic_metric("mlx5_1", "IB: Packets sent", {(0, 1_000): 7}, unit="packets/ms", index=8)
    return builder


READ = [
    ("gpu_metrics", "gpu3", TX, "egress", 1_000, 2_000, 40.0, "percent"),
    ("gpu_metrics", "gpu3", TX, "egress", 2_000, 3_000, 0.0, "percent"),
    ("gpu_metrics", "gpu3", "PCIe RX Throughput [Throughput %]", "ingress", 1_000, 2_000, 2.0, "percent"),
    ("nic_metrics", "mlx5_0", SENT, "egress", 0, 2_000_000, 1_000.0, "bytes"),  # 500 bytes/ms for 2 ms
    ("nic_metrics", "mlx5_1", RECEIVED, "ingress", 0, 1_000, 4_096.0, "bytes"),
]


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_links_and_adapters_are_read_and_nothing_else(seed: int | None, tmp_path: Path) -> None:
    builder = sampled()
    if seed is not None:
        builder.shuffle(seed)
    trace = read(builder, tmp_path)
    assert trace.counters.drop("trace_id").rows() == READ
    assert trace.counters["trace_id"].unique().to_list() == ["t"]


def test_capabilities_say_what_was_sampled_and_what_would_sample(tmp_path: Path) -> None:
    facts = read(sampled(), tmp_path).capabilities
    assert (facts["gpu_metrics"].status, facts["nic_metrics"].status) == ("present", "present")
    builder = TraceBuilder(schema="3.0")
    builder.process(pid=1).thread(tid=1).push_pop("r", 1, 2)
    facts = read(builder, tmp_path).capabilities
    assert "--gpu-metrics-devices=all" in facts["gpu_metrics"].fix
    assert "--nic-metrics=lf" in facts["nic_metrics"].fix


@pytest.mark.parametrize(
    ("table", "column", "left"),
    [
        ("GPU_METRICS", "typeId", ["nic_metrics"]),
        ("TARGET_INFO_GPU_METRICS", "metricName", ["nic_metrics"]),
        ("NET_NIC_METRIC", "metricsListId", ["gpu_metrics"]),
        ("TARGET_INFO_NETWORK_METRICS", "unit", ["gpu_metrics"]),
    ],
)
def test_what_cannot_be_told_without_a_column_is_left_out(
    table: str, column: str, left: list[str], tmp_path: Path
) -> None:
    builder = sampled()
    builder.omit(table, column)
    assert read(builder, tmp_path).counters["source"].unique().to_list() == left


def test_adapters_without_names_keep_their_bytes(tmp_path: Path) -> None:
    builder = sampled()
    builder.omit("TARGET_INFO_NIC_INFO")
    nics = read(builder, tmp_path).counters.filter(pl.col("source") == "nic_metrics")
    assert nics.select("device", "value").rows() == [("nic0", 1_000.0), ("nic1", 4_096.0)]
    builder.omit("NIC_ID_MAP")
    assert read(builder, tmp_path).counters.filter(pl.col("source") == "nic_metrics")["device"].to_list() == [None] * 2


def test_damaged_samples_are_counted(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.process(pid=1).thread(tid=1).push_pop("r", 1, 2)
    builder.gpu_metric(0, TX, {1_000: 1, 2_000: -5, 3_000: 5_000, 4_000: 7})
    builder.nic_metric("mlx5_0", SENT, {(9, 5): 1}, index=1)
    builder.nic_metric("mlx5_0", RECEIVED, {(0, 5): 1}, unit="furlongs", index=2)
    trace = read(builder, tmp_path)
    assert trace.counters.select("start_ns", "end_ns", "value").rows() == [(3_000, 4_000, 7.0)]
    counted = {code: count for code, count in trace.anomalies.items() if code.startswith("counters")}
    assert counted == {
        "counters-impossible": 2,
        "counters-with-impossible-times": 1,
        "counters-in-unknown-units": 1,
    }


# --- the check --------------------------------------------------------------------------------------------------------

Counted = tuple[str, str | None, str, str, int, int, float, str]


def counters(*rows: Counted) -> pl.DataFrame:
    names = ["source", "device", "metric", "direction", "start_ns", "end_ns", "value", "unit"]
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(trace_id=pl.lit("t"))


def moved(
    *rows: tuple[str | None, str | None, int | None, int | None, int | None], transport: str = "memcpy", **ends: str
) -> pl.DataFrame:
    schema = {"side": pl.String, "gpu": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64, "bytes": pl.Int64}
    place = {name: pl.lit(ends.get(name), dtype=pl.String) for name in ("src_end", "dst_end")}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        trace_id=pl.lit("t"), gpu_id=pl.lit(0, pl.Int64), transport=pl.lit(transport), **place
    )


NVLINK = [("gpu_metrics", "gpu0", TX, "egress", 0, 1_000, 50.0, "percent"),
          ("gpu_metrics", "gpu0", TX, "egress", 1_000, 2_000, 10.0, "percent")]  # fmt: skip


def test_a_gpu_counter_is_integrated_over_the_union_of_what_left_the_gpu() -> None:
    movements = moved(
        ("send", "gpu0", 500, 1_200, 90_000),
        ("send", "gpu0", 700, 1_000, 20_000),
        ("send", "gpu0", 1_800, 1_900, 5_000),
        ("recv", "gpu0", 0, 2_000, 10**9),
        ("send", "gpu1", 0, 2_000, 10**9),
        ("send", "gpu0", None, None, 10**9),
    )
    (check,) = plausibility(movements, counters(*NVLINK), {"nvlink": 450.0})
    # 500 ns at 50 % and 200 + 100 ns at 10 % of 450 bytes per ns.
    assert check.covered_ns == 800
    assert check.counted_bytes == 112_500 + 13_500
    assert check.payload_bytes == 115_000
    assert check.ratio == 126_000 / 115_000
    assert (check.device, check.direction, check.note) == ("gpu0", "egress", NOTE)


@pytest.mark.parametrize("peaks", [{}, {"pcie": 64.0}])
def test_percent_of_an_unknown_peak_are_no_bytes(peaks: dict[str, float]) -> None:
    (check,) = plausibility(moved(("send", "gpu0", 0, 2_000, 8)), counters(*NVLINK), peaks)
    assert (check.counted_bytes, check.payload_bytes, check.ratio) == (None, 8, None)


def test_a_size_that_is_unknown_leaves_the_payload_unknown() -> None:
    movements = moved(("send", "gpu0", 0, 100, 8), (None, "gpu0", 100, 200, None))
    (check,) = plausibility(movements, counters(*NVLINK), {"nvlink": 100.0})
    assert (check.covered_ns, check.counted_bytes, check.payload_bytes, check.ratio) == (200, 10_000, None, None)


def test_counters_of_all_adapters_are_added_up() -> None:
    rows = [("nic_metrics", f"mlx5_{nic}", SENT, "egress", 0, 1_000, 4_000.0 + nic, "bytes") for nic in (0, 1)]
    (check,) = plausibility(moved(("send", None, 500, 1_000, 4_000)), counters(*rows), {})
    assert (check.device, check.counted_bytes, check.ratio) == ("2 network adapters", 4_000, 1.0)
    (single,) = plausibility(moved(("send", None, 500, 1_000, 4_000)), counters(rows[0]), {})
    assert (single.device, single.counted_bytes) == ("mlx5_0", 2_000)


def test_a_copy_leaves_one_gpu_and_reaches_the_other() -> None:
    rows = [*NVLINK, ("gpu_metrics", "gpu1", RX, "ingress", 0, 2_000, 20.0, "percent"),
            ("gpu_metrics", "gpu1", TX, "egress", 0, 2_000, 20.0, "percent")]  # fmt: skip
    movements = moved(("copy", "gpu0", 0, 1_000, 50_000), src_end="t:gpu0", dst_end="t:gpu1")
    checks = plausibility(movements, counters(*rows), {"nvlink": 100.0})
    assert [(check.device, check.direction, check.counted_bytes) for check in checks] == [
        ("gpu0", "egress", 50_000),
        ("gpu1", "ingress", 20_000),
    ]
    inside = moved(("copy", "gpu0", 0, 1_000, 50_000), src_end="t:gpu0", dst_end="t:gpu0")
    assert plausibility(inside, counters(*rows), {"nvlink": 100.0}) == ()
    # An agent may have been called like a device: what it posts need not leave that device.
    posted = moved(("send", None, 0, 1_000, 50_000), transport="nixl", src_end="t:gpu0", dst_end="t:gpu1")
    assert plausibility(posted, counters(*rows), {"nvlink": 100.0}) == ()


def test_what_was_not_sampled_is_said_and_is_not_zero() -> None:
    (partly,) = plausibility(moved(("send", "gpu0", 1_000, 3_000, 8)), counters(*NVLINK), {"nvlink": 100.0})
    assert (partly.counted_bytes, partly.note) == (10_000, f"{NOTE}; sampled during 50% of the time")
    (never,) = plausibility(moved(("send", "gpu0", 5_000, 6_000, 8)), counters(*NVLINK), {"nvlink": 100.0})
    assert (never.counted_bytes, never.ratio) == (None, None)


def test_other_traces_do_not_count() -> None:
    movements = moved(("send", "gpu0", 0, 1_000, 8)).with_columns(trace_id=pl.lit("other"))
    assert plausibility(movements, counters(*NVLINK), {"nvlink": 100.0}) == ()
    assert plausibility(movements.clear(), counters(*NVLINK), {}) == ()


# --- in the report ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "counted"),
    [
        (None, None),
        (Options(peak_gb_s=450.0), None),
        (Options(link="pcie5-x16"), None),
        (Options(link="nvlink4-h100"), 45_000),
        (Options(link="nvlink4-h100@bidirectional"), 45_000),
        (Options(link="nvlink4-h100", peak_gb_s=45.0), 4_500),
    ],
)
def test_the_report_holds_them_beside_payload(options: Options | None, counted: int | None, tmp_path: Path) -> None:
    builder = TraceBuilder(gpus={0: "x"})
    process = builder.process(pid=1)
    thread = process.thread(tid=1)
    thread.nccl("ncclSend", 100, 110, nbytes=40_000, peer=1, communicator=7)
    process.kernel(SEND_RECV, 1_000, 2_000, launch=thread.launch(102, 104))
    builder.gpu_metric(0, TX, {1_000: 3, 2_000: 10})
    analysis = analyse([builder.write(tmp_path / "t.sqlite")], options)
    (check,) = analysis.counters
    assert (check.covered_ns, check.counted_bytes, check.payload_bytes) == (1_000, counted, 40_000)
    told = {reason.path: reason.code for reason in analysis.reasons if reason.path.startswith("/counters")}
    code = "not-applicable" if options and options.link else "needs-option"
    assert told == ({} if counted else {"/counters/*/counted_bytes": code, "/counters/*/ratio": code})


def test_the_section_stays_away_unless_something_was_sampled() -> None:
    build = SECTIONS["counters"]
    assert build(factories.small()) == []
    heading, _, table = build(factories.rich())
    assert isinstance(heading, Heading)
    assert isinstance(table, Table)
    assert [cell.text for cell in table.rows[0]][:2] == [
        "prefill:gpu0",
        "NVLink TX Requests User Data [Throughput %]",
    ]
    sampling = factories.trace(capabilities={"nic_metrics": Capability("present")})
    assert [type(block) for block in build(replace(factories.small(), traces=(sampling,)))] == [Heading, Abstention]


def test_no_check_claims_proof() -> None:
    words = " ".join(str(block) for block in SECTIONS["counters"](factories.rich())) + NOTE + str(CounterCheck.__doc__)
    assert "verif" not in words.lower()
    assert "host-wide" in words
