"""What the engine did: its steps, the requests in them, the GPU work that it launched, and each request's way."""

import polars as pl

from nsysparse.frames.ids import OfTrace
from nsysparse.frames.schema import Column, Schema


class Work(OfTrace):
    """Kernels and CUDA graphs recorded whole, lean: where and when each ran, and which call launched it."""

    device = Column(pl.String, nullable=False, about="the device, as `device_key` names it")
    device_id = Column(pl.Int64, nullable=False, about="CUDA ordinal of the device")
    process = Column(pl.Int64, nullable=True, about="global process id of the export")
    launch_thread = Column(pl.Int64, nullable=True, about="global id of the thread that launched it")
    launch_start_ns = Column(pl.Int64, nullable=True, about="start of the CUDA call that launched it")
    launch_end_ns = Column(pl.Int64, nullable=True, about="end of that call")
    start_ns = Column(pl.Int64, nullable=False, about="first instant, on the clock of its own trace")
    end_ns = Column(pl.Int64, nullable=False, about="first instant after it")
    is_compute = Column(pl.Boolean, nullable=False, about="it is no kernel of NCCL's")
    shape = Column(
        pl.Int64,
        nullable=True,
        about="number of a kernel's name and grid within its trace; null for graphs recorded whole",
    )


class Steps(OfTrace):
    """Iterations of an engine, or what else a range says is prefill or decode, from their first to their last work."""

    step_id = Column(pl.UInt32, nullable=False, primary_key=True, about="number of the step within the run")
    process = Column(pl.Int64, nullable=False, about="global process id of the export")
    phase = Column(pl.String, nullable=False, about="prefill or decode")
    host_start_ns = Column(pl.Int64, nullable=False, about="start of its range")
    host_end_ns = Column(pl.Int64, nullable=False, about="end of its range")
    start_ns = Column(
        pl.Int64,
        nullable=False,
        about="start of the first GPU work launched inside, else of its range",
    )
    end_ns = Column(pl.Int64, nullable=False, about="end of the last such work, else of its range")
    is_projected = Column(pl.Boolean, nullable=False, about="GPU work was launched inside")
    device = Column(
        pl.String,
        nullable=True,
        about="the device of that work, as `device_key` names it, where it is one",
    )


class StepRequests(Schema):
    """Which requests a step works on."""

    step_id = Column(pl.UInt32, nullable=False, primary_key=True, about="number of the step within the run")
    request_id = Column(pl.String, nullable=False, primary_key=True, about="the request")


_WHERE = "the trace on whose clock that is"
_DOUBT = "how far another rank's, seen by another trace, may lie beyond it; 0 where none can"


class Paths(Schema):
    """When each request came where, every event on the clock of the trace that saw it; null where none did."""

    request_id = Column(pl.String, nullable=False, primary_key=True, about="the request")
    arrival_ns = Column(pl.Int64, nullable=True, about="its arrival")
    arrival_trace = Column(pl.String, nullable=True, about=_WHERE)
    arrival_doubt_ns = Column(pl.Int64, nullable=True, about=_DOUBT)
    prefill_start_ns = Column(pl.Int64, nullable=True, about="start of its first prefill step")
    prefill_start_trace = Column(pl.String, nullable=True, about=_WHERE)
    prefill_start_doubt_ns = Column(pl.Int64, nullable=True, about=_DOUBT)
    prefill_end_ns = Column(pl.Int64, nullable=True, about="end of its last prefill step")
    prefill_end_trace = Column(pl.String, nullable=True, about=_WHERE)
    prefill_end_doubt_ns = Column(pl.Int64, nullable=True, about=_DOUBT)
    first_send_ns = Column(pl.Int64, nullable=True, about="when the first byte of its KV could leave")
    first_send_trace = Column(pl.String, nullable=True, about=_WHERE)
    first_send_doubt_ns = Column(pl.Int64, nullable=True, about=_DOUBT)
    last_recv_ns = Column(pl.Int64, nullable=True, about="when the last of its KV had arrived")
    last_recv_trace = Column(pl.String, nullable=True, about=_WHERE)
    last_recv_doubt_ns = Column(pl.Int64, nullable=True, about=_DOUBT)
    decode_start_ns = Column(pl.Int64, nullable=True, about="start of its first decode step")
    decode_start_trace = Column(pl.String, nullable=True, about=_WHERE)
    decode_start_doubt_ns = Column(pl.Int64, nullable=True, about=_DOUBT)
    decode_end_ns = Column(pl.Int64, nullable=True, about="end of that step")
    decode_end_trace = Column(pl.String, nullable=True, about=_WHERE)
    decode_end_doubt_ns = Column(pl.Int64, nullable=True, about=_DOUBT)
    last_token_ns = Column(pl.Int64, nullable=True, about="end of its last decode step")
    last_token_trace = Column(pl.String, nullable=True, about=_WHERE)
    last_token_doubt_ns = Column(pl.Int64, nullable=True, about=_DOUBT)
    is_announced = Column(pl.Boolean, nullable=False, about="a range tells of its arrival, on whichever clock")
    is_apart = Column(
        pl.Boolean,
        nullable=False,
        about="an event is left out, as traces hold it whose clocks could not be aligned",
    )
    prefill_steps = Column(pl.UInt32, nullable=False, about="prefill steps that hold it, on the rank with most")
    decode_steps = Column(pl.UInt32, nullable=False, about="decode steps that hold it, on the rank with most")
