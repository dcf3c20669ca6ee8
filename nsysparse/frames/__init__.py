"""The typed frames that cross stage boundaries.

A frame is validated where it leaves its stage. Times are nanoseconds of the trace's own clock, intervals are
half-open. `process` and `thread` are the export's global ids (hardware, VM and process id included): two processes
with the same pid on different machines differ. `docs/reference/frames.md` is generated from this package.

`recorded` has what an export holds, `found` what was found in it, `engine` what the engine did, `exported` what other
tools get; `ids` takes global ids apart, `schema` checks.
"""

from nsysparse.frames.engine import Paths, StepRequests, Steps, Work
from nsysparse.frames.exported import NvtxRanges, Scopes, exported_gpu_ops, exported_scopes, exported_transfers
from nsysparse.frames.found import GROUP, OF_DEVICE, Exchanges, Found, Shares, Transfers, found_frame
from nsysparse.frames.ids import THREAD_BITS, device_key, pid, thread_process, tid
from nsysparse.frames.recorded import (
    STYLES,
    Counters,
    GpuOps,
    GraphNodes,
    Labels,
    NcclOps,
    Payloads,
    Ranges,
    UcpEvents,
)
from nsysparse.frames.schema import Frame, Schema

__all__ = [
    "GROUP",
    "OF_DEVICE",
    "STYLES",
    "THREAD_BITS",
    "Counters",
    "Exchanges",
    "Found",
    "Frame",
    "GpuOps",
    "GraphNodes",
    "Labels",
    "NcclOps",
    "NvtxRanges",
    "Paths",
    "Payloads",
    "Ranges",
    "Schema",
    "Scopes",
    "Shares",
    "StepRequests",
    "Steps",
    "Transfers",
    "UcpEvents",
    "Work",
    "device_key",
    "exported_gpu_ops",
    "exported_scopes",
    "exported_transfers",
    "found_frame",
    "pid",
    "thread_process",
    "tid",
]
