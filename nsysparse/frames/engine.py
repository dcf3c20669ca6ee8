"""What the engine did: its steps, the requests in them, the GPU work that it launched, and each request's way."""

import dataframely as dy

from nsysparse.frames.ids import OfTrace


class Work(OfTrace):
    """Kernels and CUDA graphs recorded whole, lean: where and when each ran, and which call launched it."""

    device = dy.String(nullable=False, metadata={"about": "the device, as `device_key` names it"})
    device_id = dy.Int64(nullable=False, metadata={"about": "CUDA ordinal of the device"})
    process = dy.Int64(nullable=True, metadata={"about": "global process id of the export"})
    launch_thread = dy.Int64(nullable=True, metadata={"about": "global id of the thread that launched it"})
    launch_start_ns = dy.Int64(nullable=True, metadata={"about": "start of the CUDA call that launched it"})
    launch_end_ns = dy.Int64(nullable=True, metadata={"about": "end of that call"})
    start_ns = dy.Int64(nullable=False, metadata={"about": "first instant, on the clock of its own trace"})
    end_ns = dy.Int64(nullable=False, metadata={"about": "first instant after it"})
    is_compute = dy.Bool(nullable=False, metadata={"about": "it is no kernel of NCCL's"})
    shape = dy.Int64(
        nullable=True,
        metadata={"about": "number of a kernel's name and grid within its trace; null for graphs recorded whole"},
    )


class Steps(OfTrace):
    """Iterations of an engine, or what else a range says is prefill or decode, from their first to their last work."""

    step_id = dy.UInt32(nullable=False, primary_key=True, metadata={"about": "number of the step within the run"})
    process = dy.Int64(nullable=False, metadata={"about": "global process id of the export"})
    phase = dy.String(nullable=False, metadata={"about": "prefill or decode"})
    host_start_ns = dy.Int64(nullable=False, metadata={"about": "start of its range"})
    host_end_ns = dy.Int64(nullable=False, metadata={"about": "end of its range"})
    start_ns = dy.Int64(
        nullable=False, metadata={"about": "start of the first GPU work launched inside, else of its range"}
    )
    end_ns = dy.Int64(nullable=False, metadata={"about": "end of the last such work, else of its range"})
    is_projected = dy.Bool(nullable=False, metadata={"about": "GPU work was launched inside"})
    device = dy.String(
        nullable=True, metadata={"about": "the device of that work, as `device_key` names it, where it is one"}
    )


class StepRequests(dy.Schema):
    """Which requests a step works on."""

    step_id = dy.UInt32(nullable=False, primary_key=True, metadata={"about": "number of the step within the run"})
    request_id = dy.String(nullable=False, primary_key=True, metadata={"about": "the request"})


_WHERE = "the trace on whose clock that is"
_DOUBT = "how far another rank's, seen by another trace, may lie beyond it; 0 where none can"


class Paths(dy.Schema):
    """When each request came where, every event on the clock of the trace that saw it; null where none did."""

    request_id = dy.String(nullable=False, primary_key=True, metadata={"about": "the request"})
    arrival_ns = dy.Int64(nullable=True, metadata={"about": "its arrival"})
    arrival_trace = dy.String(nullable=True, metadata={"about": _WHERE})
    arrival_doubt_ns = dy.Int64(nullable=True, metadata={"about": _DOUBT})
    prefill_start_ns = dy.Int64(nullable=True, metadata={"about": "start of its first prefill step"})
    prefill_start_trace = dy.String(nullable=True, metadata={"about": _WHERE})
    prefill_start_doubt_ns = dy.Int64(nullable=True, metadata={"about": _DOUBT})
    prefill_end_ns = dy.Int64(nullable=True, metadata={"about": "end of its last prefill step"})
    prefill_end_trace = dy.String(nullable=True, metadata={"about": _WHERE})
    prefill_end_doubt_ns = dy.Int64(nullable=True, metadata={"about": _DOUBT})
    first_send_ns = dy.Int64(nullable=True, metadata={"about": "when the first byte of its KV could leave"})
    first_send_trace = dy.String(nullable=True, metadata={"about": _WHERE})
    first_send_doubt_ns = dy.Int64(nullable=True, metadata={"about": _DOUBT})
    last_recv_ns = dy.Int64(nullable=True, metadata={"about": "when the last of its KV had arrived"})
    last_recv_trace = dy.String(nullable=True, metadata={"about": _WHERE})
    last_recv_doubt_ns = dy.Int64(nullable=True, metadata={"about": _DOUBT})
    decode_start_ns = dy.Int64(nullable=True, metadata={"about": "start of its first decode step"})
    decode_start_trace = dy.String(nullable=True, metadata={"about": _WHERE})
    decode_start_doubt_ns = dy.Int64(nullable=True, metadata={"about": _DOUBT})
    decode_end_ns = dy.Int64(nullable=True, metadata={"about": "end of that step"})
    decode_end_trace = dy.String(nullable=True, metadata={"about": _WHERE})
    decode_end_doubt_ns = dy.Int64(nullable=True, metadata={"about": _DOUBT})
    last_token_ns = dy.Int64(nullable=True, metadata={"about": "end of its last decode step"})
    last_token_trace = dy.String(nullable=True, metadata={"about": _WHERE})
    last_token_doubt_ns = dy.Int64(nullable=True, metadata={"about": _DOUBT})
    is_announced = dy.Bool(nullable=False, metadata={"about": "a range tells of its arrival, on whichever clock"})
    is_apart = dy.Bool(
        nullable=False, metadata={"about": "an event is left out, as traces hold it whose clocks could not be aligned"}
    )
    prefill_steps = dy.UInt32(nullable=False, metadata={"about": "prefill steps that hold it, on the rank with most"})
    decode_steps = dy.UInt32(nullable=False, metadata={"about": "decode steps that hold it, on the rank with most"})
