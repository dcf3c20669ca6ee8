"""The tables of real exports, as compact data: names, order, types and NOT NULL of their columns.

Re-typed from files of five exporters; `tests/real/test_builder_columns.py` compares them with such files.
One column is `name`, then `!` for NOT NULL, `*` for the primary key, and `:TEXT` or `:REAL` where it is no INTEGER.
"""

from typing import NamedTuple

from nsysparse.testing.documented import DOCUMENTED


class Column(NamedTuple):
    """One column as `PRAGMA table_info` shows it."""

    name: str
    type: str
    not_null: bool
    primary_key: bool

    @property
    def ddl(self) -> str:
        """The column's line in CREATE TABLE."""
        return f'"{self.name}" {self.type}{" NOT NULL" * self.not_null}{" PRIMARY KEY" * self.primary_key}'


class Version(NamedTuple):
    """What an exporter says about itself; the legacy exporter says nothing."""

    schema: str
    product: str
    metadata_table: str | None

    @property
    def has_payload_options(self) -> bool:
        """Whether the export states if it includes JSON and blobs."""
        return self.schema.startswith("3.2")


VERSIONS = {
    "2021": Version("", "", None),
    "3.0": Version("3.0.0", "2022.4.2.1", "EXPORT_META_DATA"),
    "3.7": Version("3.7.2", "2023.4.4.54", "META_DATA_EXPORT"),
    "3.25": Version("3.25.0", "2026.2.1.210", "META_DATA_EXPORT"),
    "3.27": Version("3.27.0", "2026.3.1.157", "META_DATA_EXPORT"),
}

_NVTX = """start! end eventType! rangeId category color text:TEXT globalTid endGlobalTid textId domainId uint64Value
    int64Value doubleValue:REAL uint32Value int32Value floatValue:REAL jsonTextId jsonText:TEXT"""
_RUNTIME = "start! end! eventClass! globalTid correlationId nameId! returnValue! callchainId"
_KERNEL = """registersPerThread! gridX! gridY! gridZ! blockX! blockY! blockZ! staticSharedMemory! dynamicSharedMemory!
    localMemoryPerThread! localMemoryTotal! gridId! sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig"""
_KERNEL_3_25 = """qmdBulkReleaseDone qmdPreexitDone qmdLastCtaDone graphId clusterX clusterY clusterZ
    clusterSchedulingPolicy maxPotentialClusterSize maxActiveClusters
    sharedMemoryRequestedPercentage tensorSizeMinusOneElements!:TEXT"""
_MEMCPY = """bytes! copyKind! deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId
    migrationCause graphNodeId"""
_MEMSET = "value! bytes! graphNodeId memKind"
_GPU = """vmId! id! name:TEXT busLocation:TEXT isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate smCount
    pwGpuId uuid:TEXT luid chipName:TEXT cuDevice ctxswDevPath:TEXT ctrlDevPath:TEXT revision nodeMask constantMemory
    maxIPC maxRegistersPerBlock maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm maxRegistersPerSm threadsPerWarp
    asyncEngines maxWarpsPerSm maxBlocksPerSm maxThreadsPerBlock maxBlockDimX maxBlockDimY maxBlockDimZ maxGridDimX
    maxGridDimY maxGridDimZ computeMajor computeMinor smMajor smMinor"""
_NAME_VALUE = "name!:TEXT value:TEXT"
_WORK = "start! end! deviceId! contextId! {green}streamId! correlationId globalPid"
_NAMES = "demangledName! shortName!"
_LAUNCH = "launchType cacheConfig"

_GRAPH_EVENT = "start! end! eventClass! globalTid nameId!"
_NODES = f"{_GRAPH_EVENT} graphNodeId! originalGraphNodeId"

_GREEN = _WORK.format(green="greenContextId ")
_PLAIN = _WORK.format(green="")

_ALL = {"StringIds": "id!* value!:TEXT", "CUPTI_ACTIVITY_KIND_RUNTIME": _RUNTIME, "NVTX_EVENTS": _NVTX}
_ALL |= {"TARGET_INFO_GPU": _GPU, "ThreadNames": "nameId! priority globalTid"}

_SINCE_3_0 = {
    "CUDA_GRAPH_EVENTS": _NODES,
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{_PLAIN} {_NAMES} mangledName {_LAUNCH} {_KERNEL}",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_PLAIN} {_MEMCPY} virtualAddress",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_PLAIN} {_MEMSET}",
    "ANALYSIS_DETAILS": "globalVid! duration! startTime! stopTime!",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime:TEXT localTime:TEXT",
    "PROCESSES": "globalPid pid name:TEXT",
    "TARGET_INFO_SYSTEM_ENV": "globalVid! devStateName!:TEXT name!:TEXT nameEnum! value!:TEXT",
}
_SINCE_3_7 = {
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{_GREEN} {_NAMES} mangledName {_LAUNCH} {_KERNEL}",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_GREEN} {_MEMCPY} virtualAddress",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_GREEN} {_MEMSET}",
    "META_DATA_EXPORT": _NAME_VALUE,
    "META_DATA_CAPTURE": _NAME_VALUE,
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName!:TEXT name!:TEXT nameEnum! value!:TEXT",
}
# Our two newest files have no whole-graph rows: the columns of that table are those of 3.16 and 3.24.
_SINCE_3_25 = {
    "NVTX_EVENTS": f"{_NVTX} binaryData:TEXT",
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{_GREEN} {_NAMES} mangledName {_LAUNCH} {_KERNEL} {_KERNEL_3_25}",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_GREEN} {_MEMCPY} virtualAddress copyCount",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{_GREEN} graphId! graphExecId!",
    "CUDA_GRAPH_EVENTS": f"{_GRAPH_EVENT} graphId originalGraphId graphExecId",
    "CUDA_GRAPH_NODE_EVENTS": _NODES,
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId! pid! uuid:TEXT numMultiprocessors",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime:TEXT localTime:TEXT systemClockNs",
    "NVTX_PAYLOAD_SCHEMAS": "domainId schemaId name:TEXT type flags numEntries payloadSize alignTo",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": """domainId! schemaId! idx! flags type name:TEXT description:TEXT arrayOrUnionDetail
        offset""",
}
_LEGACY = {
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{_PLAIN} {_NAMES} {_LAUNCH} {_KERNEL}",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_PLAIN} {_MEMCPY}",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_PLAIN} {_MEMSET}",
}

_TABLES = {
    "2021": _ALL | _LEGACY,
    "3.0": _ALL | _SINCE_3_0 | {"EXPORT_META_DATA": _NAME_VALUE},
    "3.7": _ALL | _SINCE_3_0 | _SINCE_3_7 | DOCUMENTED,
    "3.25": _ALL | _SINCE_3_0 | _SINCE_3_7 | _SINCE_3_25 | DOCUMENTED,
    "3.27": _ALL | _SINCE_3_0 | _SINCE_3_7 | _SINCE_3_25 | DOCUMENTED,
}


def _column(spec: str) -> Column:
    head, _, kind = spec.partition(":")
    return Column(head.rstrip("!*"), kind or "INTEGER", not_null="!" in head, primary_key="*" in head)


def tables(schema: str) -> dict[str, tuple[Column, ...]]:
    """The tables of a schema version and their columns, in the exporter's column order.

    Args:
        schema: A key of `VERSIONS`.
    """
    if schema not in VERSIONS:
        raise ValueError(f"schema {schema!r} is not one of {', '.join(VERSIONS)}")
    return {table: tuple(map(_column, columns.split())) for table, columns in _TABLES[schema].items()}
