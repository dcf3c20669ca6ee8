"""The rows of an export that follow from the rest: machine, capture, processes, NVTX domains, payload layouts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from nsysparse.testing.ids import global_id
from nsysparse.testing.nixl import post_layout
from nsysparse.testing.payloads import Payload
from nsysparse.testing.processes import Process
from nsysparse.testing.schemas import Version
from nsysparse.testing.store import Row, RowStore
from nsysparse.testing.threads import DOMAIN, NCCL

SYNTHETIC = "NSYSPARSE_SYNTHETIC"  # names the row (or, without metadata tables, the table) that labels invented data

CAPTURE_START_NS = 5_000_000_000_000  # on the target's system clock; event times count from here
UTC_START_NS = 1_780_000_000_000_000_000
_HOSTNAME_PROPERTY = 619
_DOMAIN_LEAD_NS = 1_000  # a domain is registered this long before its first range
_STATIC_LAYOUT = 1  # NVTX_PAYLOAD_SCHEMAS.type


@dataclass(frozen=True, slots=True)
class Target:
    """The machine that was captured, and when.

    Attributes:
        host: Host name.
        system_ns: Its system clock when the capture began.
        utc_ns: Its UTC then, ns since 1970; None: not recorded.
        duration: Length of the capture, ns.
    """

    host: str
    system_ns: int
    utc_ns: int | None
    duration: int


def derived_rows(
    store: RowStore, processes: Sequence[Process], gpus: Mapping[int, str], target: Target
) -> dict[str, list[Row]]:
    """All of them but the metadata, by table; tables that the schema does not have included.

    Args:
        store: Knows the schema.
        processes: The processes of the capture.
        gpus: GPU id to product name.
        target: The machine and the capture.
    """
    vid = global_id(*(processes[0].identity if processes else (0, 1)))
    bounds: Row = {"startTime": target.system_ns, "stopTime": target.system_ns + target.duration}
    hostname: Row = {"devStateName": "Local (CLI)", "name": "Hostname", "nameEnum": _HOSTNAME_PROPERTY}
    hostname["value"] = target.host
    layouts = [layout_rows(p.domains[NCCL].id, payload) for p in processes for payload in p.payloads.values()]
    layouts += [post_layout(domain) for p in processes for domain in sorted(p.nixl_domains)]
    return {
        "PROCESSES": [{"globalPid": p.global_pid, "pid": p.pid, "name": p.name} for p in processes],
        "TARGET_INFO_GPU": [_gpu(vid, gpu, name) for gpu, name in gpus.items()],
        "TARGET_INFO_CUDA_DEVICE": [
            {"gpuId": gpu, "cudaId": cuda, "pid": p.pid, "uuid": _uuid(gpu), "numMultiprocessors": 132}
            for p in processes
            for cuda, gpu in p.devices.items()
            if gpu in gpus
        ],
        "ANALYSIS_DETAILS": [{"globalVid": vid, "duration": target.duration, **bounds}],
        "TARGET_INFO_SESSION_START_TIME": _start_time(store, target),
        "TARGET_INFO_SYSTEM_ENV": [{"globalVid": vid, **hostname}],
        "META_DATA_CAPTURE": [{"name": "CAPTURE_EVENT_TYPE", "value": kind} for kind in ("NvtxEvents", "Cuda")],
        "NVTX_PAYLOAD_SCHEMAS": [schema for schema, _ in layouts],
        "NVTX_PAYLOAD_SCHEMA_ENTRIES": [entry for _, entries in layouts for entry in entries],
    }


def layout_rows(domain_id: int, payload: Payload) -> tuple[Row, list[Row]]:
    """How one process declared the layout of a payload: the row of the schema and those of its entries."""
    place: Row = {"domainId": domain_id, "schemaId": payload.schema_id}
    schema: Row = {"type": _STATIC_LAYOUT, "numEntries": len(payload.entries), "payloadSize": payload.size}
    entries: list[Row] = [
        # The exporter leaves offset 0 out.
        {**place, "idx": index, "type": entry.type, "name": entry.label, "offset": entry.offset or None}
        for index, entry in enumerate(payload.entries)
    ]
    return {**place, **schema}, entries


def domain_rows(processes: Iterable[Process], *, with_nccl: bool) -> list[Row]:
    """The rows that name the NVTX domains of each process."""
    return [
        {
            "start": max(0, domain.first_ns - _DOMAIN_LEAD_NS),
            "eventType": DOMAIN,
            "text": name,
            "globalTid": domain.global_tid,
            "domainId": domain.id,
        }
        for process in processes
        for name, domain in process.domains.items()
        if with_nccl or name != NCCL
    ]


def metadata_rows(
    version: Version, *, lazy: bool, json: bool, blobs: bool, notice: str, more: Mapping[str, str]
) -> list[Row]:
    """What the exporter says about itself and its options, with our label as one record more."""
    major, minor, micro = version.schema.split(".")
    options = {"LAZY": lazy} if major == "3" and minor == "0" else {"PARAM_LAZY": lazy, "PARAM_TIME_NORMALIZE": False}
    records = {
        "EXPORT_PRODUCT_NAME": "NVIDIA Nsight Systems",
        "EXPORT_PRODUCT_VERSION": version.product,
        "EXPORT_PRODUCT_DATE": ".".join(version.product.split(".")[:2]),
        "EXPORT_SCHEMA_VERSION": version.schema,
        "EXPORT_SCHEMA_VERSION_MAJOR": major,
        "EXPORT_SCHEMA_VERSION_MINOR": minor,
        "EXPORT_SCHEMA_VERSION_MICRO": micro,
        **{f"EXPORT_{option}": str(value).lower() for option, value in options.items()},
    }
    if "PARAM_LAZY" in options:
        records |= {"EXPORT_PARAM_TIME_SHIFT": "0", "EXPORT_CONFIG_TIME_SHIFT": "0"}
        records |= {"EXPORT_PARAM_TABLES_TO_EXPORT": "", "EXPORT_PARAM_TIMES_TO_EXPORT": ""}
    if version.has_payload_options:
        records["EXPORT_PARAM_INCLUDE_JSON"] = str(json).lower()
        records["EXPORT_PARAM_INCLUDE_BLOBS"] = str(blobs).lower()
    records |= {SYNTHETIC: notice, **more}
    return [{"name": name, "value": value} for name, value in records.items()]


def _start_time(store: RowStore, target: Target) -> list[Row]:
    """When the capture began; no row where the exporter recorded no UTC."""
    if target.utc_ns is None:
        return []
    text = datetime.fromtimestamp(target.utc_ns // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    row: Row = {"utcEpochNs": target.utc_ns, "utcTime": text, "localTime": text}
    if store.has("TARGET_INFO_SESSION_START_TIME", "systemClockNs"):
        row["systemClockNs"] = target.system_ns
    return [row]


def _uuid(gpu: int) -> str:
    return f"00000000-0000-4000-8000-{gpu:012x}"


def _gpu(vid: int, gpu: int, name: str) -> Row:
    """A GPU row; what a product name does not tell is what an H100 has."""
    return {
        "vmId": vid,
        "id": gpu,
        "name": name,
        "busLocation": f"0000:{0x10 + gpu:02x}:00.0",
        "isDiscrete": 1,
        "totalMemory": 85_520_809_984,
        "memoryBandwidth": 3_352_320_000_000,
        "clockRate": 1_980_000_000,
        "smCount": 132,
        "pwGpuId": gpu,
        "uuid": _uuid(gpu),
        "cuDevice": gpu,
        "computeMajor": 9,
        "computeMinor": 0,
        "smMajor": 9,
        "smMinor": 0,
    }
