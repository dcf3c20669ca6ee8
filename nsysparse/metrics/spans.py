"""What the time between a request's first send and its last receive was made of, on the rank that finished last.

While a receive of the request runs there, its KV is on the wire or the receive waits for the sender. While none runs
and a kernel that sends to there does, that sender waits for the receive; the rest are gaps between its transfers. The
wire's part of a receive is the last of it, as what comes before is waiting. Where KV crosses host memory, the copies to
there are as much on the wire as those that fetch it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from nsysparse.clocks import Clocks
from nsysparse.intervals import union_length
from nsysparse.metrics.path import Event

_TIMES = ["start_ns", "end_ns"]


@dataclass(frozen=True, slots=True)
class Span:
    """The parts of one request's `transfer_span_ns`, and what of it no prefill and no decode of it could hide.

    `rank` is that of the receiver in its communicator, None where that was not recorded; `wire_ns` and `peer_wait_ns`
    are None where they cannot be told apart. `peer_wait_ns` are receives that wait for their sender, `sender_wait_ns`
    senders that wait for a receive.
    """

    rank: int | None
    wire_ns: int | None
    peer_wait_ns: int | None
    sender_wait_ns: int
    gap_ns: int
    exposed_ns: int | None

    @property
    def parts(self) -> dict[str, int | None]:
        """As `Request.span` has it."""
        return {
            "rank": self.rank,
            "wire_ns": self.wire_ns,
            "peer_wait_ns": self.peer_wait_ns,
            "sender_wait_ns": self.sender_wait_ns,
            "gap_ns": self.gap_ns,
        }


def receives(sides: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """What shows the arrival of each request's KV, or brings it to host memory before that.

    One row for transfers that share kernels.

    Args:
        sides: From `kv_sides`.
    """
    units = sides.filter(pl.col("arrives") | pl.col("stages")).unique(
        ["request_id", "trace_id", "unit"], keep="first", maintain_order=True
    )
    columns = ["transfer_id", "trace_id", "process", "gpu", "rank", "start_ns", "end_ns", "wire_ns", "arrives"]
    parts = units.select("request_id", *columns).partition_by("request_id", as_dict=True, include_key=False)
    return {str(key): rows for (key,), rows in parts.items()}


def senders(sides: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The kernels that send each request's KV, with the place (`to_…`) that each sends to.

    Args:
        sides: From `kv_sides`.
    """
    place = ["trace_id", "process", "gpu"]
    to = [f"to_{name}" for name in place]
    there = sides.filter("arrives").select(
        "request_id", *(pl.col(name).alias(f"to_{name}") for name in place), far_id="transfer_id"
    )
    sending = (
        sides.filter("spins").select("request_id", "trace_id", "unit", "far_id", "start_ns", "end_ns")
        .join(there, on=["request_id", "far_id"], maintain_order="left")
        .unique(["request_id", "trace_id", "unit", *to], keep="first", maintain_order=True)
        .drop("unit", "far_id")
    )  # fmt: skip
    parts = sending.partition_by("request_id", as_dict=True, include_key=False)
    return {str(key): rows for (key,), rows in parts.items()}


def span(
    arriving: pl.DataFrame | None,
    sending: pl.DataFrame | None,
    seen: Mapping[str, Event | None],
    span_ns: int | None,
    clocks: Clocks,
) -> Span | None:
    """The parts of one request's span; None where that is not known, or nothing shows what arrived.

    Args:
        arriving: Of `receives`.
        sending: Of `senders`.
        seen: Its events.
        span_ns: Its `transfer_span_ns`, which the parts add up to.
        clocks: Of all traces.
    """
    last, end = seen["last_recv"], seen["prefill_end"]
    if arriving is None or span_ns is None or last is None or end is None:
        return None
    within = window(seen, clocks)
    if within is None:
        return None
    begin, until = within
    coming = arriving.filter("arrives")
    own = finishing(coming, last)
    moving = pl.concat([own, _placed(arriving.filter(~pl.col("arrives")), last.trace, clocks)])
    busy = min(_busy(moving, begin, until), span_ns)
    wire = None if moving["wire_ns"].null_count() else _busy(on_wire(moving), begin, until)
    either = busy
    if sending is not None:
        kernels = pl.concat([moving.select(_TIMES), sending_to(own, sending, last.trace, clocks)])
        either = min(_busy(kernels, begin, until), span_ns)
    return Span(
        rank=own.filter(end_ns=last.at_ns)["rank"][0],
        wire_ns=None if wire is None else min(wire, busy),
        peer_wait_ns=None if wire is None else busy - min(wire, busy),
        sender_wait_ns=either - busy,
        gap_ns=span_ns - either,
        exposed_ns=max(
            _busy(rows, _on(clocks, last.trace, end), until)
            for rows in coming.filter(trace_id=last.trace).partition_by("process", "gpu")
        ),
    )  # fmt: skip


def sending_to(own: pl.DataFrame, sending: pl.DataFrame, trace: str, clocks: Clocks) -> pl.DataFrame:
    """`start_ns` and `end_ns` of kernels that send to the rank that finished last, on the clock of its trace.

    Args:
        own: From `finishing`.
        sending: Of `senders`.
        trace: Of the last receive.
        clocks: Of all traces.
    """
    place = own.select("trace_id", "process", "gpu").row(0)
    names = ("to_trace_id", "to_process", "to_gpu")
    mine = sending.filter(pl.col(name).eq_missing(value) for name, value in zip(names, place, strict=True))
    return _placed(mine, trace, clocks).select(_TIMES)


def _placed(rows: pl.DataFrame, base: str, clocks: Clocks) -> pl.DataFrame:
    """Rows of other traces on the clock of one; those that cannot be aligned are left out."""
    if (rows["trace_id"] == base).all():
        return rows
    parts = [rows.clear()]
    for (trace,), part in rows.group_by("trace_id", maintain_order=True):
        offset = clocks.between(base, str(trace))
        if offset is not None:
            times = (pl.col(name) for name in ("start_ns", "end_ns"))
            parts.append(part.with_columns(offset.expr_to_base(time) for time in times))
    return pl.concat(parts)


def window(seen: Mapping[str, Event | None], clocks: Clocks) -> tuple[int, int] | None:
    """From when to when a request's KV was awaited, on the clock of its last receive; None where an event is missing.

    Args:
        seen: Its events, in traces whose clocks are aligned.
        clocks: Of all traces.
    """
    last, end, decode = seen["last_recv"], seen["prefill_end"], seen["decode_start"]
    if last is None or end is None or decode is None:
        return None
    sent = seen["first_send"] or end
    until = min(last.at_ns, _on(clocks, last.trace, decode))
    return min(max(_on(clocks, last.trace, sent), _on(clocks, last.trace, end)), until), until


def finishing(arriving: pl.DataFrame, last: Event) -> pl.DataFrame:
    """What arrived on the rank that finished last."""
    here = arriving.filter(trace_id=last.trace)
    finisher: dict[str, Any] = here.filter(end_ns=last.at_ns).row(0, named=True)
    return here.filter(pl.col("process").eq_missing(finisher["process"]), pl.col("gpu").eq_missing(finisher["gpu"]))


def on_wire(rows: pl.DataFrame) -> pl.DataFrame:
    """The part of each interval that was on the wire: its last `wire_ns`."""
    return rows.with_columns(start_ns=pl.max_horizontal("start_ns", pl.col("end_ns") - pl.col("wire_ns")))


def _busy(rows: pl.DataFrame, begin: int, until: int) -> int:
    """How long between two times any of the intervals ran."""
    starts = np.clip(rows["start_ns"].to_numpy(), begin, max(begin, until))
    ends = np.clip(rows["end_ns"].to_numpy(), begin, max(begin, until))
    return union_length(starts, ends)


def _on(clocks: Clocks, base: str, event: Event) -> int:
    """A time on the clock of `base`; both traces are known to be aligned, as the span is known."""
    offset = clocks.between(base, event.trace)
    if offset is None:
        raise ValueError(f"the clocks of {base} and {event.trace} are not aligned")
    return offset.to_base(event.at_ns)
