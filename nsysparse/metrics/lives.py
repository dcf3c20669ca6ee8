"""The lives of the requests that a decode device serves, on its own clock: prefilled, sent, ready, decoding."""

from dataclasses import dataclass, replace

import polars as pl

from nsysparse.alignment import CLOCK_SLACK_NS
from nsysparse.analysis import DECODE, PREFILL
from nsysparse.instants import EARLIEST, LATEST, Instants
from nsysparse.metrics.devices import Device
from nsysparse.metrics.journeys import Journeys
from nsysparse.metrics.on_clock import doubtful

KV_READY, TRANSFER, PREFILL_RUNNING, BETWEEN_STEPS = "kv_ready", "transfer", "prefill_running", "between_steps"
STATES = (KV_READY, TRANSFER, PREFILL_RUNNING, BETWEEN_STEPS)
"""What requests may be doing, the first that any does being told of an idle device."""
NO_REQUEST, UNKNOWN = "no_request", "unknown"


@dataclass(frozen=True, slots=True)
class Lives:
    """What is known of the requests of one device.

    Attributes:
        rows: `request_id`, and on the device's clock, null where not known: `arrival`, `prefill_start`, `prefill_end`,
            `sent` (its KV leaves, or where that is not known begins to arrive), `ready` (all of it has arrived),
            `begins` and `ends` (its decode steps on this device).
        others: `begins` and `ends` of requests of which is not known where they will decode; null: without end.
        complete: Nothing was decoded, prefilled or received that names no request, however the clocks are off.
        doubt: When it depends on the clocks of other files what they were doing; None where all is of one clock.
    """

    rows: pl.DataFrame
    others: pl.DataFrame
    complete: bool
    doubt: Instants | None = None

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
    held = steps.join(journeys.held, on="step_id").select("request_id", "start_ns", "end_ns")
    at_home = (
        held.join(paths.select("request_id", "decode_start"), on="request_id", how="left")
        # An engine that prefills may also run a decode step before it hands a request over.
        .filter((pl.col("end_ns") > pl.col("decode_start")).fill_null(value=True))
        .group_by("request_id")
        .agg(begins=pl.col("start_ns").min(), ends=pl.col("end_ns").max())
    )
    arriving = (
        journeys.sides.filter("arrives", _lands_on() == device.gpu, trace_id=device.trace_id)
        .group_by("request_id")
        .agg(first_recv=pl.col("start_ns").min())
    )
    both = at_home.join(arriving, on="request_id", how="full", coalesce=True)
    known = _on_its_way(both.join(paths, on="request_id", how="left"))
    rows = known.select(
        "request_id", "arrival", "prefill_start", "prefill_end", "begins", "ends",
        sent=pl.coalesce("first_send", "first_recv"), ready="last_recv",
    )  # fmt: skip
    elsewhere = _elsewhere(paths, journeys)
    others = elsewhere.select(begins=pl.min_horizontal("arrival", "prefill_start"), ends="last_token")
    doubt = doubtful(known, elsewhere, held)
    found = Lives(rows.sort("request_id"), others, complete=True, doubt=doubt)
    unnamed = journeys.steps.filter(
        (pl.col("phase") == PREFILL) | pl.col("step_id").is_in(steps["step_id"].implode())
    ).join(journeys.held, on="step_id", how="anti")
    # What comes while a named request's KV does is taken for a part of that.
    timed = nameless.drop_nulls(["start_ns", "end_ns"])
    starts, ends = timed["start_ns"].to_numpy(), timed["end_ns"].to_numpy()
    surely = found.when(TRANSFER) if doubt is None else found.when(TRANSFER).without(doubt)
    explained = timed.height == nameless.height and bool((surely.within(starts, ends) == ends - starts).all())
    return replace(found, complete=unnamed.is_empty() and steps.height > 0 and explained)


def _lands_on() -> pl.Expr:
    """The device of its trace to which a side of a transfer brings KV: its own, or that to which it copies."""
    own = (pl.col("acts_as") == "recv").fill_null(value=False)
    return (
        pl.when(own).then("gpu").otherwise(pl.col("dst_end").str.strip_prefix(pl.concat_str("trace_id", pl.lit(":"))))
    )


def _on_its_way(known: pl.DataFrame) -> pl.DataFrame:
    """Leave out what is known of a request's way where it did not lead here.

    A device that begins after the request's first decode step has ended is of a server to which it moved on: of its KV
    nothing is known here, but that the request had come. Where decode seems to begin before prefill has ended, events
    are of another request of that name, or of another clock than it seems.
    """
    onward = (pl.col("begins") > pl.max_horizontal("decode_end", "decode_end_high")).fill_null(value=False)
    false = (pl.col("decode_start") + CLOCK_SLACK_NS < pl.col("prefill_end")).fill_null(value=False)
    came = pl.min_horizontal("arrival", "prefill_start")
    events = ("prefill_start", "prefill_end", "first_send", "first_recv", "last_recv")
    return known.with_columns(
        pl.when(~false).then(pl.when(onward).then(came).otherwise("arrival")).alias("arrival"),
        *(pl.when(~(onward | false)).then(name).alias(name) for name in events),
    )


def _elsewhere(paths: pl.DataFrame, journeys: Journeys) -> pl.DataFrame:
    """Requests that neither decode nor arrive anywhere as far as is known: they may be meant for any device."""
    steps = journeys.steps.filter("is_projected", phase=DECODE)
    decoding = journeys.held.join(steps, on="step_id", how="semi")["request_id"]
    arriving = journeys.sides.filter("arrives", _lands_on().is_not_null())["request_id"]
    return paths.filter(~pl.col("request_id").is_in(pl.concat([decoding, arriving]).unique().implode()))
