"""The lives of the requests that a decode device serves, on its own clock: prefilled, sent, ready, decoding."""

from dataclasses import dataclass

import polars as pl

from nsysparse.clocks import Clocks
from nsysparse.metrics.devices import Device
from nsysparse.metrics.instants import EARLIEST, LATEST, Instants
from nsysparse.metrics.journeys import Journeys
from nsysparse.roles import DECODE, PREFILL

KV_READY, TRANSFER, PREFILL_RUNNING, BETWEEN_STEPS = "kv_ready", "transfer", "prefill_running", "between_steps"
STATES = (KV_READY, TRANSFER, PREFILL_RUNNING, BETWEEN_STEPS)
"""What requests may be doing, the first that any does being told of an idle device."""
NO_REQUEST, UNKNOWN = "no_request", "unknown"
_EVENTS = ("arrival", "prefill_start", "prefill_end", "first_send", "last_recv", "decode_start", "last_token")


@dataclass(frozen=True, slots=True)
class Lives:
    """What is known of the requests of one device.

    Attributes:
        rows: `request_id`, and on the device's clock, null where not known: `arrival`, `prefill_start`, `prefill_end`,
            `sent` (its KV leaves, or where that is not known begins to arrive), `ready` (all of it has arrived),
            `begins` and `ends` (its decode steps on this device).
        others: `begins` and `ends` of requests of which is not known where they will decode; null: without end.
        complete: Nothing was decoded, prefilled or received that names no request.
    """

    rows: pl.DataFrame
    others: pl.DataFrame
    complete: bool

    def when(self, state: str) -> Instants:
        """When any request is in one of the `STATES`."""
        begin, end = {
            KV_READY: (pl.col("ready"), pl.col("begins")),
            TRANSFER: (pl.col("sent"), pl.col("ready")),
            PREFILL_RUNNING: (pl.col("prefill_start"), pl.coalesce("sent", "prefill_end")),
            BETWEEN_STEPS: (pl.col("begins"), pl.col("ends")),
        }[state]
        # A request that decodes waits no more; where only that is known, not what it did before.
        until = end if state == BETWEEN_STEPS else pl.when(end.is_not_null()).then(pl.min_horizontal(end, "begins"))
        return Instants.covered(self.rows.select(begin=begin, end=until), "begin", "end")

    @property
    def perhaps(self) -> Instants:
        """When there may be a request: always, unless all are known from when they came to their last step."""
        if not self.complete:
            return Instants.span(EARLIEST, LATEST)
        came = pl.min_horizontal("arrival", "prefill_start")
        spans = [self.rows.select(begins=came, ends="ends"), self.others.select("begins", "ends")]
        whole = pl.concat(spans).select(
            begin=pl.col("begins").fill_null(EARLIEST), end=pl.col("ends").fill_null(LATEST)
        )
        return Instants.covered(whole, "begin", "end")


def lives(
    device: Device, steps: pl.DataFrame, nameless: pl.DataFrame, journeys: Journeys, paths: pl.DataFrame
) -> Lives:
    """The requests that have decode steps, or receive KV, on a device.

    Args:
        device: The device.
        steps: Rows of `placed` that are decode steps on it.
        nameless: `start_ns` and `end_ns` of what comes to it, or perhaps does, and names no request.
        journeys: What is known of the requests.
        paths: From `on_clock`, for its trace.
    """
    at_home = (
        steps.join(journeys.held, on="step_id")
        .join(paths.select("request_id", "decode_start"), on="request_id", how="left")
        # An engine that prefills may also run a decode step before it hands a request over.
        .filter((pl.col("end_ns") > pl.col("decode_start")).fill_null(value=True))
        .group_by("request_id")
        .agg(begins=pl.col("start_ns").min(), ends=pl.col("end_ns").max())
    )
    arriving = (
        journeys.sides.filter("arrives", trace_id=device.trace_id, gpu=device.gpu)
        .group_by("request_id")
        .agg(first_recv=pl.col("start_ns").min())
    )
    both = at_home.join(arriving, on="request_id", how="full", coalesce=True)
    rows = both.join(paths, on="request_id", how="left").select(
        "request_id", "arrival", "prefill_start", "prefill_end", "begins", "ends",
        sent=pl.coalesce("first_send", "first_recv"), ready="last_recv",
    )  # fmt: skip
    found = Lives(rows.sort("request_id"), _elsewhere(paths, journeys), complete=True)
    unnamed = journeys.steps.filter(
        (pl.col("phase") == PREFILL) | pl.col("step_id").is_in(steps["step_id"].implode())
    ).join(journeys.held, on="step_id", how="anti")
    # What comes while a named request's KV does is taken for a part of that.
    timed = nameless.drop_nulls(["start_ns", "end_ns"])
    starts, ends = timed["start_ns"].to_numpy(), timed["end_ns"].to_numpy()
    explained = timed.height == nameless.height and bool(
        (found.when(TRANSFER).within(starts, ends) == ends - starts).all()
    )
    known = unnamed.is_empty() and steps.height > 0 and explained
    return Lives(found.rows, found.others, complete=known)


def _elsewhere(paths: pl.DataFrame, journeys: Journeys) -> pl.DataFrame:
    """Requests that neither decode nor arrive anywhere as far as is known: they may be meant for any device."""
    steps = journeys.steps.filter("is_projected", phase=DECODE)
    decoding = journeys.held.join(steps, on="step_id", how="semi")["request_id"]
    arriving = journeys.sides.filter("arrives", pl.col("gpu").is_not_null(), acts_as="recv")["request_id"]
    return paths.filter(~pl.col("request_id").is_in(pl.concat([decoding, arriving]).unique().implode())).select(
        begins=pl.min_horizontal("arrival", "prefill_start"), ends="last_token"
    )


def on_clock(paths: pl.DataFrame, base: str, clocks: Clocks) -> pl.DataFrame:
    """`request_id` and the events of each on the clock of one trace; null where their own could not be aligned with it.

    An event of another clock is null too where it is no further from when KV had arrived here (or, where that is not
    known, decoding began here) than the two clocks may be apart: then it is not known which came first.

    Args:
        paths: Columns of `Paths`.
        base: The trace.
        clocks: Of all traces.
    """
    here = [pl.when(pl.col(f"{name}_trace") == base).then(f"{name}_ns") for name in ("last_recv", "decode_start")]
    anchored = paths.with_columns(anchor=pl.coalesce(here))
    return paths.select("request_id").with_columns(_on_clock(anchored, name, base, clocks) for name in _EVENTS)


def _on_clock(paths: pl.DataFrame, name: str, base: str, clocks: Clocks) -> pl.Series:
    times = paths.select("anchor", at=f"{name}_ns", where=f"{name}_trace").with_row_index("row")
    parts = [times.filter(where=base).select("row", "at")]
    for (other,), rows in times.filter(pl.col("where") != base).group_by("where", maintain_order=True):
        offset = clocks.between(base, str(other))
        if offset is not None:
            there = rows.with_columns(at=pl.Series([offset.to_base(at) for at in rows["at"]], dtype=pl.Int64))
            apart = (pl.col("anchor") - pl.col("at")).abs() > offset.uncertainty_ns
            parts.append(there.filter(apart.fill_null(value=True)).select("row", "at"))
    told = times.select("row").join(pl.concat(parts), on="row", how="left", maintain_order="left")
    return told["at"].alias(name)
