"""How much of a transfer is hidden behind compute on its own device, and how much is exposed.

Per device, compute is the union of all kernels that are neither NCCL's nor copies (a CUDA graph recorded as one row
counts as compute). Of each transfer's wire time and waiting, the part outside is exposed. Kernels that serve several
transfers are set against compute as one, and the result is shared as their time is.
"""

import polars as pl

from nsysparse.frames import GROUP, OF_DEVICE, device_key
from nsysparse.instants import Busy
from nsysparse.intervals import groups_in_order, reach_before
from nsysparse.sharing import divide
from nsysparse.wire import MIN_DURATION, WINDOW

_COLUMNS = ("overlapped_ns", "exposed_wire_ns", "exposed_wait_ns")


def with_exposure(transfers: pl.DataFrame, present: pl.DataFrame, compute: Busy) -> pl.DataFrame:
    """Add `overlapped_ns`, `exposed_wire_ns` and `exposed_wait_ns`.

    Args:
        transfers: With wire times.
        present: Their `windows`.
        compute: When compute ran, for every device of a trace whose kernels were recorded.

    Returns:
        The same rows in the same order. Null without a device, without recorded kernels and for copies with pauses; the
        exposed parts also where the wire time is unknown. Where all are known,
        `exposed_wire_ns + exposed_wait_ns + overlapped_ns = time_ns`.
    """
    # Copies of one transfer may leave long pauses: where in its interval they ran is not known here.
    paused = pl.col("group_key").is_null() & (pl.col("time_ns") < pl.col("end_ns") - pl.col("start_ns"))
    placed = transfers.filter(pl.col("start_ns").is_not_null() & pl.col("device_id").is_not_null() & ~paused)
    timed = placed.with_columns(
        device=device_key(), unit=pl.coalesce("group_key", -(2**62) - pl.col("transfer_id").cast(pl.Int64))
    )
    units = timed.group_by("trace_id", "unit").agg(
        pl.col("device").first(),
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        time=pl.col("time_ns").sum(),
        wire=pl.when(pl.col("wire_ns").is_not_null().all()).then(pl.col("wire_ns").sum()),
        basis=pl.col("wire_basis").first(),
    )
    recorded = pl.DataFrame(list(compute), schema=dict.fromkeys(OF_DEVICE, pl.String), orient="row")
    known = units.join(recorded, on=OF_DEVICE, how="semi")
    whole = _covered(known, compute)
    parts = wire_parts(known, present)
    on_wire = _covered(parts, compute).group_by("trace_id", "unit").agg(hidden_wire=pl.col("hidden").sum())
    facts = (
        whole.join(on_wire, on=["trace_id", "unit"], how="left")
        # A group's kernels may leave pauses in which compute ran: never more than the kernels' own time.
        .with_columns(hidden=pl.min_horizontal("hidden", "time"))
        .with_columns(
            hidden_wire=pl.when(pl.col("wire").is_not_null()).then(
                pl.min_horizontal(pl.col("hidden_wire").fill_null(0), "wire", "hidden")
            )
        )
        # What is hidden beyond the wire's part hides waiting, as far as there is any.
        .with_columns(
            hidden=pl.when(pl.col("wire").is_null())
            .then("hidden")
            .otherwise(pl.min_horizontal("hidden", pl.col("hidden_wire") + pl.col("time") - pl.col("wire")))
        )
        .select("trace_id", "unit", "hidden", "hidden_wire")
    )
    return _shared(transfers, timed.join(facts, on=["trace_id", "unit"]))


def wire_parts(units: pl.DataFrame, present: pl.DataFrame) -> pl.DataFrame:
    """The intervals of each unit that are its wire time, without overlap.

    Args:
        units: Of each transfer, or of those that share kernels, `trace_id`, `unit` (their `group_key`, where they have
            one), `start_ns`, `end_ns`, `wire` (ns, or null) and `basis`.
        present: Their `windows`.

    Returns:
        The columns of `units`, with the times of a part; no row of units whose wire time is unknown.
    """
    waiting = units.filter(pl.col("wire").is_not_null())
    # Own interval: all of it. Without a common clock: what it ran last, since it waited before.
    whole = waiting.filter(pl.col("basis") != WINDOW).with_columns(
        start_ns=pl.when(pl.col("basis") == MIN_DURATION).then(pl.col("end_ns") - pl.col("wire")).otherwise("start_ns")
    )
    windows = (
        _merged(present)
        .join(waiting.drop("start_ns", "end_ns"), left_on=GROUP, right_on=["trace_id", "unit"])
        .rename({"group_key": "unit"})
    )
    return pl.concat([whole, windows.select(whole.columns)])


def _merged(present: pl.DataFrame) -> pl.DataFrame:
    """Windows of a group without overlap."""
    ordered = present.sort(*GROUP, "start_ns", "end_ns")
    opens = ordered["start_ns"].to_numpy() > reach_before(groups_in_order(ordered, GROUP), ordered["end_ns"].to_numpy())
    part = pl.Series(opens, dtype=pl.Boolean).cum_sum()
    # The rows of a part follow on each other, so its first row and its highest end are all of it.
    parts = ordered.with_columns(part=part).group_by("part", maintain_order=True)
    return parts.agg(pl.col(*GROUP, "start_ns").first(), pl.col("end_ns").max()).drop("part")


def _covered(spans: pl.DataFrame, compute: Busy) -> pl.DataFrame:
    """Add `hidden`: for how long compute ran on the device during each span."""
    found = [spans.clear().with_columns(hidden=pl.lit(0, dtype=pl.Int64))]
    for (trace, device), part in spans.group_by(OF_DEVICE, maintain_order=True):
        hidden = compute[str(trace), str(device)].within(part["start_ns"].to_numpy(), part["end_ns"].to_numpy())
        found.append(part.with_columns(hidden=pl.Series(hidden, dtype=pl.Int64)))
    return pl.concat(found)


def _shared(transfers: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
    """Give each transfer of a unit its part of what is hidden: of the wire by wire time, of the waiting by waiting."""
    alone = pl.col("kernel_ops").fill_null(1) == 1
    wait = pl.col("time_ns") - pl.col("wire_ns")
    rows = units.with_columns(
        wait=wait, hidden_wait=pl.col("hidden") - pl.col("hidden_wire"), all_known=pl.col("hidden_wire").is_not_null()
    )
    single, fused = rows.filter(alone), rows.filter(~alone)
    parts = {
        "wire_part": divide(fused.filter("all_known"), total=pl.col("hidden_wire").first(), weight="wire_ns"),
        "wait_part": divide(fused.filter("all_known"), total=pl.col("hidden_wait").first(), weight="wait"),
        "whole_part": divide(fused.filter(~pl.col("all_known")), total=pl.col("hidden").first(), weight="time_ns"),
    }
    for name, part in parts.items():
        fused = fused.join(part.rename({"part": name}), on="transfer_id", how="left", maintain_order="left")
    single = single.with_columns(wire_part="hidden_wire", wait_part="hidden_wait", whole_part="hidden")
    told = pl.concat([single, fused.select(single.columns)]).select(
        "transfer_id",
        overlapped_ns=pl.when("all_known").then(pl.col("wire_part") + pl.col("wait_part")).otherwise("whole_part"),
        exposed_wire_ns=pl.col("wire_ns") - pl.col("wire_part"),
        exposed_wait_ns=pl.col("wait") - pl.col("wait_part"),
    )
    return transfers.join(told.select("transfer_id", *_COLUMNS), on="transfer_id", how="left", maintain_order="left")
