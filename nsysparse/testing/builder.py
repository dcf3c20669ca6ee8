"""Writes SQLite files shaped like Nsight Systems exports, for tests and for authors of presets and transports.

A prefill process that sends 8 KiB to rank 1:

    trace = TraceBuilder(schema="3.25", gpus={0: "NVIDIA H100 80GB HBM3"})
    process = trace.process(pid=111)
    thread = process.thread()
    thread.nccl("ncclSend", 1_000, 9_000, communicator=7, nbytes=8192, peer=1)
    process.kernel("ncclDevKernel_SendRecv", 9_000, 12_000, stream=20, launch=thread.launch(2_000, 3_000))
    trace.write("trace.sqlite")

Rows keep the order in which they were added; `shuffle` gives them another one, as exporters from 2025.6 on do.
"""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path

from nsysparse.testing.derived import (
    CAPTURE_START_NS,
    SYNTHETIC,
    UTC_START_NS,
    Target,
    derived_rows,
    domain_rows,
    metadata_rows,
)
from nsysparse.testing.processes import Process
from nsysparse.testing.store import Row, RowStore, Statement, Value, shuffled, write_sqlite

_TIMED_TABLES = (
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "NVTX_EVENTS",
    "UCP_SUBMIT_EVENTS",
    "UCP_PROGRESS_EVENTS",
)


# The lowest byte of a type of GPU metrics is the GPU; the rest, like an adapter's global id, says whose it is.
_GPU_METRIC_TYPE = 0x0100_0000_0000_0000
_NIC_GLOBAL = 0x0001_0000_0000_0000


class TraceBuilder:
    """Collects what happened in a run, then writes it as one export.

    Args:
        schema: Schema version, a key of `nsysparse.testing.schemas.VERSIONS`.
        gpus: GPU id to product name; empty: the export has no table of GPUs, as in containers.
        lazy: As in `nsys export --lazy`: leave out tables without rows.
        notice: The sentence that labels the file as invented.
        host: Host name.
        duration: Length of the capture in ns; without it, up to the end of the last event.
        utc_epoch_ns: The host's UTC at time 0 of the capture, ns since 1970; None: the export does not tell it.
        system_clock_ns: The host's system clock then.
    """

    def __init__(
        self,
        schema: str = "3.25",
        gpus: Mapping[int, str] | None = None,
        *,
        lazy: bool = True,
        notice: str = "synthetic: invented by the trace builder of nsysparse, nothing in it was measured",
        host: str = "node-0",
        duration: int | None = None,
        utc_epoch_ns: int | None = UTC_START_NS,
        system_clock_ns: int = CAPTURE_START_NS,
    ) -> None:
        """Start with an empty capture."""
        self.store = RowStore(schema)
        self.processes: list[Process] = []
        self._gpus = dict(gpus or {})
        self._lazy = lazy
        self._notice = notice
        self._host = host
        self._duration = duration
        self._clocks = (system_clock_ns, utc_epoch_ns)
        self._metadata: dict[str, str] = {}
        self._omitted: set[str] = set()
        self._omitted_columns: set[tuple[str, str]] = set()
        self._nccl_domain_row = True
        self._seed: int | None = None
        self._statements: list[Statement] = []

    def process(
        self,
        pid: int,
        *,
        name: str = "python3",
        hardware_id: int = 0,
        vm_id: int = 1,
        domains: Mapping[str, int] | None = None,
        devices: Mapping[int, int] | None = None,
    ) -> Process:
        """A process; `domains` fixes the ids of NVTX domains (`{"NCCL": 3}`), `devices` maps CUDA ordinal to GPU id."""
        seen = {gpu: gpu for gpu in self._gpus} if devices is None else dict(devices)
        process = Process(self.store, pid, (hardware_id, vm_id), name, dict(domains or {}), seen)
        self.processes.append(process)
        return process

    def row(self, table: str, /, **columns: Value) -> None:
        """Any row of any table of the schema, by the exporter's column names."""
        self.store.add(table, **columns)

    def gpu_metric(self, gpu: int, name: str, samples: Mapping[int, float], *, metric_id: int = 1) -> None:
        """A sampled counter of a GPU: time in ns to the mean percent since the sample before."""
        type_id = _GPU_METRIC_TYPE + gpu
        self.row(
            "TARGET_INFO_GPU_METRICS", typeId=type_id, sourceId=1, typeName="x", metricId=metric_id, metricName=name
        )
        for at, value in samples.items():
            self.row("GPU_METRICS", timestamp=at, typeId=type_id, metricId=metric_id, value=value)

    def nic_metric(
        self, nic: str, name: str, samples: Mapping[tuple[int, int], float], *, unit: str = "bytes/ms", index: int = 1
    ) -> None:
        """A sampled counter of a network adapter: (start, end) in ns to the value, in `unit`, between them."""
        nics = [row["name"] for row in self.store.rows["TARGET_INFO_NIC_INFO"]]
        nic_id = nics.index(nic) if nic in nics else len(nics)
        if nic not in nics:
            self.row("TARGET_INFO_NIC_INFO", nicId=nic_id, name=nic)
            self.row("NIC_ID_MAP", nicId=nic_id, globalId=_NIC_GLOBAL + nic_id)
        self.row("TARGET_INFO_NETWORK_METRICS", metricsListId=0, metricsIdx=index, name=name, unit=unit)
        for (start, end), value in samples.items():
            self.row(
                "NET_NIC_METRIC",
                start=start, end=end, globalId=_NIC_GLOBAL + nic_id, metricsListId=0, metricsIdx=index, value=value,
            )  # fmt: skip

    def meta(self, name: str, value: str) -> None:
        """Set or add one record of the export's metadata."""
        self._metadata[name] = value

    def omit(self, table: str, *columns: str) -> None:
        """Leave out a table, or only some of its columns."""
        if not columns:
            self._omitted.add(table)
        self._omitted_columns |= {(table, column) for column in columns}

    def omit_nccl_domain_row(self) -> None:
        """Leave out the rows that say which NVTX domain is NCCL's, as some real exports do."""
        self._nccl_domain_row = False

    def shuffle(self, seed: int) -> None:
        """Write the rows of each table in another order; nothing read from the file may depend on it."""
        self._seed = seed

    def sql(self, statement: str, *parameters: tuple[Value, ...]) -> None:
        """A statement to run on the finished file, for tables and damage the builder has no words for."""
        self._statements.append((statement, list(parameters)))

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the export; the same calls give the same bytes."""
        target = Path(path)
        duration = self._last_ns() if self._duration is None else self._duration
        for process in self.processes:
            for row in process.open_rows:
                row["end"] = duration
        target_facts = Target(self._host, *self._clocks, duration)
        derived = derived_rows(self.store, self.processes, self._gpus, target_facts)
        derived["NVTX_EVENTS"] = domain_rows(self.processes, with_nccl=self._nccl_domain_row)
        metadata_table = self.store.version.metadata_table
        if metadata_table is not None:
            derived[metadata_table] = self._metadata_rows()
        rows = {
            table: added + [self.store.row(table, values) for values in derived.get(table, ())]
            for table, added in self.store.rows.items()
        }
        write_sqlite(target, [*self._tables(rows), *self._label(), *self._statements])
        return target

    def _last_ns(self) -> int:
        rows = (row for table in _TIMED_TABLES for row in self.store.rows.get(table, ()))
        times = (row[column] for row in rows for column in ("start", "end"))
        return max((time for time in times if isinstance(time, int)), default=0)

    def _metadata_rows(self) -> list[Row]:
        events = self.store.rows["NVTX_EVENTS"]
        return metadata_rows(
            self.store.version,
            lazy=self._lazy,
            json=any(row["jsonText"] is not None or row["jsonTextId"] is not None for row in events),
            blobs=any(row.get("binaryData") is not None for row in events),
            notice=self._notice,
            more=self._metadata,
        )

    def _tables(self, rows: Mapping[str, list[Row]]) -> list[Statement]:
        statements: list[Statement] = []
        for table, columns in self.store.columns.items():
            if table in self._omitted or (self._lazy and not rows[table] and table != "StringIds"):
                continue
            kept = [column for column in columns if (table, column.name) not in self._omitted_columns]
            statements.append((f"CREATE TABLE {table} ({', '.join(column.ddl for column in kept)})", []))
            if rows[table]:
                values = [tuple(row[column.name] for column in kept) for row in shuffled(rows[table], self._seed)]
                statements.append((f"INSERT INTO {table} VALUES ({', '.join('?' * len(kept))})", values))
        return statements

    def _label(self) -> list[Statement]:
        """The label in a table of its own, where no metadata table carries it."""
        table = self.store.version.metadata_table
        if table is not None and table not in self._omitted:
            return []
        create = f"CREATE TABLE {SYNTHETIC} (name TEXT NOT NULL, value TEXT)"
        return [(create, []), (f"INSERT INTO {SYNTHETIC} VALUES (?, ?)", [(SYNTHETIC, self._notice)])]
