"""The tables and columns of an Nsight Systems export that we read: the only place with their camelCase names.

An export has no promised layout: tables exist only when they have rows, columns come and go between versions. So
each `TableSpec` names what must be there and what may be, and a missing optional column reads as NULL.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One table: its name, and our snake_case column → (its column, type). `required` columns must exist.

    Of a column that is Boolean here, only whether it has a value is read.
    """

    table: str
    columns: Mapping[str, tuple[str, type[pl.DataType]]]
    required: frozenset[str] = field(default_factory=frozenset)


ROW = "row"
ROWID: tuple[str, type[pl.DataType]] = ("", pl.Int64)
"""Our column, and what stands for theirs, that tells rows of a table apart: the rowid, or the position without one."""


def _ints(**names: str) -> dict[str, tuple[str, type[pl.DataType]]]:
    return {ours: (theirs, pl.Int64) for ours, theirs in names.items()}


STRINGS = TableSpec(
    "StringIds", {"id": ("id", pl.Int64), "value": ("value", pl.String)}, required=frozenset({"id", "value"})
)

# Read for NCCL's and NIXL's own events only: elsewhere they can hold anything, of any size.
_CARRIED: Mapping[str, tuple[str, type[pl.DataType]]] = {
    "json_text": ("jsonText", pl.String),
    "json_text_id": ("jsonTextId", pl.Int64),
    "blob": ("binaryData", pl.Binary),  # declared TEXT, holds bytes
    # A number of the event's own: of NIXL's, which request they are about. Unsigned, stored as signed.
    "unsigned_value": ("uint64Value", pl.Int64),
    "signed_value": ("int64Value", pl.Int64),
}

NVTX = TableSpec(
    "NVTX_EVENTS",
    {
        ROW: ROWID,
        **_ints(
            start_ns="start",
            end_ns="end",
            event_type="eventType",
            thread="globalTid",
            end_thread="endGlobalTid",
            text_id="textId",
            domain_id="domainId",
        ),
        "text": ("text", pl.String),
        "has_category": ("category", pl.Boolean),
        **{f"has_{theirs}": (theirs, pl.Boolean) for theirs, _ in _CARRIED.values()},
    },
    required=frozenset({"start_ns", "end_ns", "event_type", "thread"}),
)
NVTX_CARRIERS = tuple(f"has_{theirs}" for theirs, _ in _CARRIED.values())
NVTX_CARRIED = TableSpec("NVTX_EVENTS", {ROW: ROWID, **_CARRIED})

PAYLOAD_ENTRIES = TableSpec(
    "NVTX_PAYLOAD_SCHEMA_ENTRIES",
    {
        **_ints(
            domain_id="domainId",
            schema_id="schemaId",
            idx="idx",
            entry_type="type",
            array_detail="arrayOrUnionDetail",
            offset="offset",
            flags="flags",
        ),
        "name": ("name", pl.String),
    },
    required=frozenset({"schema_id", "idx", "entry_type", "name"}),
)

RUNTIME = TableSpec(
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    _ints(start_ns="start", end_ns="end", thread="globalTid", correlation_id="correlationId"),
    required=frozenset({"start_ns", "end_ns", "thread", "correlation_id"}),
)

_GPU_WORK = _ints(
    start_ns="start",
    end_ns="end",
    device_id="deviceId",
    stream_id="streamId",
    correlation_id="correlationId",
    global_pid="globalPid",
    graph_node_id="graphNodeId",
)
_GPU_REQUIRED = frozenset({"start_ns", "end_ns", "device_id"})

_KERNEL_NAMES = _ints(name_id="demangledName", short_name_id="shortName")
KERNEL = TableSpec(
    "CUPTI_ACTIVITY_KIND_KERNEL",
    {**_GPU_WORK, **_KERNEL_NAMES, **_ints(grid_x="gridX")},
    required=_GPU_REQUIRED,
)
_TIMES = _ints(start_ns="start", end_ns="end", device_id="deviceId", global_pid="globalPid")
KERNEL_TIMES = TableSpec("CUPTI_ACTIVITY_KIND_KERNEL", {**_TIMES, **_KERNEL_NAMES}, required=_GPU_REQUIRED)
GRAPH_TIMES = TableSpec("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", _TIMES, required=_GPU_REQUIRED)
_LAUNCHED = _TIMES | _ints(correlation_id="correlationId")
KERNEL_WORK = TableSpec(
    "CUPTI_ACTIVITY_KIND_KERNEL",
    {
        **_LAUNCHED,
        **_KERNEL_NAMES,
        **_ints(grid_x="gridX", grid_y="gridY", grid_z="gridZ", block_x="blockX"),
    },
    required=_GPU_REQUIRED,
)  # fmt: skip
GRAPH_WORK = TableSpec("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", _LAUNCHED, required=_GPU_REQUIRED)
LAUNCHED = tuple(
    TableSpec(f"CUPTI_ACTIVITY_KIND_{kind}", _LAUNCHED, required=_GPU_REQUIRED)
    for kind in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")
)
MEMCPY = TableSpec(
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    {
        **_GPU_WORK,
        **_ints(
            bytes="bytes",
            copy_kind="copyKind",
            src_device_id="srcDeviceId",
            dst_device_id="dstDeviceId",
            copy_count="copyCount",
        ),
    },
    required=_GPU_REQUIRED | {"bytes", "copy_kind"},
)
MEMSET = TableSpec("CUPTI_ACTIVITY_KIND_MEMSET", {**_GPU_WORK, **_ints(bytes="bytes")}, required=_GPU_REQUIRED)
GRAPH = TableSpec(
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    {**_GPU_WORK, **_ints(graph_id="graphId")},
    required=_GPU_REQUIRED,
)

_GRAPH_NODES = _ints(
    start_ns="start",
    end_ns="end",
    thread="globalTid",
    graph_node_id="graphNodeId",
    original_node_id="originalGraphNodeId",
)
# Up to schema 3.7 the second table has the nodes; later it has whole graphs, and other columns under the same name.
GRAPH_NODES = tuple(
    TableSpec(table, _GRAPH_NODES, required=frozenset(_GRAPH_NODES) - {"original_node_id"})
    for table in ("CUDA_GRAPH_NODE_EVENTS", "CUDA_GRAPH_EVENTS")
)

UCP_WORKERS = TableSpec(
    "UCP_WORKERS",
    _ints(thread="globalTid", worker="workerUid"),
    required=frozenset({"thread", "worker"}),
)
# Parameters are missing where the UCX is old (size before 1.14, peer before 1.12) or NSYS_UCP_COMM_PARAMS=0.
_UCP = _ints(
    start_ns="start",
    end_ns="end",
    thread="globalTid",
    name_id="textId",
    address="bufferAddr",
    bytes="packedSize",
    peer_worker="peerWorkerUid",
    tag="tag",
)
_UCP_REQUIRED = frozenset({"start_ns", "end_ns", "thread"})
UCP_SUBMIT = TableSpec("UCP_SUBMIT_EVENTS", _UCP, required=_UCP_REQUIRED)
UCP_PROGRESS = TableSpec("UCP_PROGRESS_EVENTS", _UCP, required=_UCP_REQUIRED)

GPU_METRICS = TableSpec(
    "GPU_METRICS",
    {**_ints(end_ns="timestamp", type_id="typeId", metric_id="metricId"), "value": ("value", pl.Float64)},
)
GPU_METRIC_NAMES = TableSpec(
    "TARGET_INFO_GPU_METRICS",
    {**_ints(type_id="typeId", metric_id="metricId"), "metric": ("metricName", pl.String)},
)
NIC_METRICS = TableSpec(
    "NET_NIC_METRIC",
    {
        **_ints(start_ns="start", end_ns="end", global_id="globalId", list_id="metricsListId", index="metricsIdx"),
        "value": ("value", pl.Float64),
    },
)
NIC_METRIC_NAMES = TableSpec(
    "TARGET_INFO_NETWORK_METRICS",
    {
        **_ints(list_id="metricsListId", index="metricsIdx"),
        "metric": ("name", pl.String),
        "unit_said": ("unit", pl.String),
    },
)
NIC_IDS = TableSpec("NIC_ID_MAP", _ints(nic_id="nicId", global_id="globalId"))
NICS = TableSpec("TARGET_INFO_NIC_INFO", {**_ints(nic_id="nicId"), "name": ("name", pl.String)})

GPUS = TableSpec(
    "TARGET_INFO_GPU",
    {**_ints(gpu_id="id", cuda_device="cuDevice"), "name": ("name", pl.String)},
    required=frozenset({"gpu_id"}),
)
CUDA_DEVICES = TableSpec(
    "TARGET_INFO_CUDA_DEVICE",
    _ints(gpu_id="gpuId", device_id="cudaId", pid="pid"),
    required=frozenset({"gpu_id", "device_id"}),
)
ANALYSIS = TableSpec("ANALYSIS_DETAILS", _ints(duration_ns="duration"), required=frozenset({"duration_ns"}))
START_TIME = TableSpec("TARGET_INFO_SESSION_START_TIME", _ints(utc_epoch_ns="utcEpochNs", monotonic_ns="systemClockNs"))
# Of this table the name of the host alone is read, and of that a digest kept.
HOST = TableSpec("TARGET_INFO_SYSTEM_ENV", {"value": ("value", pl.String)})

# Tables of what happened when; CUDA calls are not among them, since what they launched decides which of them matter.
EVENTS = frozenset(spec.table for spec in (NVTX, KERNEL, MEMCPY, MEMSET, GRAPH, UCP_SUBMIT, UCP_PROGRESS, NIC_METRICS))

# Our names of columns that hold instants: what an export shifted is shifted back in these, wherever they are read.
INSTANTS = ("start_ns", "end_ns")


def is_timed(spec: TableSpec) -> bool:
    """Whether these are events with both instants, of which a window leaves out such as lie outside."""
    return spec.table in EVENTS and spec.columns.keys() >= set(INSTANTS)


_PAIRS: Mapping[str, tuple[str, type[pl.DataType]]] = {"name": ("name", pl.String), "value": ("value", pl.String)}
META_TABLES = tuple(
    TableSpec(table, _PAIRS, required=frozenset({"name", "value"}))
    for table in ("META_DATA_EXPORT", "EXPORT_META_DATA", "NSYSPARSE_SYNTHETIC")
)

# The only metadata that is ever read: the other rows hold paths, hosts, users and whole environments.
META_ALLOWED = frozenset(
    {
        "EXPORT_SCHEMA_VERSION",
        "EXPORT_PRODUCT_VERSION",
        "EXPORT_PARAM_TABLES_TO_EXPORT",
        "EXPORT_PARAM_TIMES_TO_EXPORT",
        "EXPORT_PARAM_INCLUDE_BLOBS",
        "EXPORT_CONFIG_TIME_SHIFT",
        "EXPORT_PARAM_TIME_NORMALIZE",
        "EXPORT_PARAM_TIME_SHIFT",
        "NSYSPARSE_SYNTHETIC",
    }
)

# ENUM_NSYS_EVENT_TYPE, stable since schema 3.0; older files have no such table but use the same codes.
NVTX_MARK, NVTX_PUSH_POP, NVTX_START_END, NVTX_DOMAIN_CREATE = 34, 59, 60, 75

# ENUM_CUDA_MEMCPY_OPER (CUPTI's CUpti_ActivityMemcpyKind).
COPY_KINDS: Mapping[int, str] = {
    1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP",
    11: "UVM HtoD", 12: "UVM DtoH", 13: "UVM DtoD",
}  # fmt: skip

PEER_COPY, DEVICE_COPY = 10, 8
HOST_COPIES = (1, 2, 3, 4)  # between host memory and a device

# Any of these beside StringIds makes a SQLite file an export; a file with none of them is something else.
EVIDENCE = (
    NVTX.table, RUNTIME.table, KERNEL.table, MEMCPY.table, MEMSET.table, GRAPH.table, GPUS.table, ANALYSIS.table,
    "META_DATA_EXPORT", "EXPORT_META_DATA",
)  # fmt: skip
