"""How long both sides of a transfer were present: the part of kernel time in which bytes can have moved.

A SendRecv kernel spins until its peer arrives, so its length says little about the wire. Where the kernels of both
sides were recorded, the time in which both ran is the time on the wire, and the rest of each kernel is waiting.

Kernels meet first, transfers second: a kernel that serves several transfers has one window with its peers' kernels,
which its transfers share as they share its time.
"""

from collections.abc import Sequence

import polars as pl

from nsysparse.apportion import apportion
from nsysparse.intervals import union_lengths

WINDOW, MIN_DURATION = "window", "min-duration"
EAGER, ONE_SIDED, PARTLY_PAIRED, SEVERAL_CLOCKS = "eager", "one-sided", "partly-paired", "several-clocks"
UNSIZED = "sizes-unknown"
LOOSE = "positional-kernels"
BUFFER_BYTES = 4 * 2**20
MOST_CHANNELS = 64
_VIEW = ("one_clock", "eager", "bytes", "staging_bytes", "min_ns", "pairing")
_EDGES = {"send": pl.UInt32, "recv": pl.UInt32, "pairing": pl.String, "bytes": pl.Int64}
GROUP = ["trace_id", "group_key"]


def exchanges(transfers: pl.DataFrame) -> pl.DataFrame:
    """Pairs of kernel groups that exchanged something.

    Args:
        transfers: Paired transfers (`pair_id`, `group_key`, `time_ns`, `start_ns`, `end_ns`, `bytes`, `channels`, …).

    Returns:
        One row per pair of groups, sorted: `send` and `recv` (numbers of the groups in `groups`), `pairing`,
        `one_clock`, `send_start_ns` …, `send_length_ns`, `recv_length_ns`, `window_ns` (may be <= 0), `min_ns`,
        `bytes` (null unless all are known), `staging_bytes`, and `eager`: the message fits into the buffers, and its
        sender began before the receiver.
    """
    groups = _groups(transfers)
    edges = pl.concat([_paired_edges(transfers, groups), _positional_edges(groups)])
    side = groups.select("group", "trace_id", "start_ns", "end_ns", "length_ns", "channels")
    both = edges.join(side.rename(lambda name: f"send_{name}"), left_on="send", right_on="send_group").join(
        side.rename(lambda name: f"recv_{name}"), left_on="recv", right_on="recv_group"
    )
    staging = pl.col("send_channels").fill_null(MOST_CHANNELS) * BUFFER_BYTES
    sent_ahead = pl.col("send_start_ns") < pl.col("recv_start_ns")
    return (
        both.with_columns(
            one_clock=pl.col("send_trace_id") == pl.col("recv_trace_id"),
            window_start_ns=pl.max_horizontal("send_start_ns", "recv_start_ns"),
            window_end_ns=pl.min_horizontal("send_end_ns", "recv_end_ns"),
            min_ns=pl.min_horizontal("send_length_ns", "recv_length_ns"),
            staging_bytes=staging,
        )
        .with_columns(
            window_ns=pl.col("window_end_ns") - pl.col("window_start_ns"),
            eager=(pl.col("one_clock") & sent_ahead & (pl.col("bytes") <= staging)).fill_null(value=False),
        )
        .sort("send_start_ns", "recv_start_ns", "send", "recv")
    )


def with_wire(transfers: pl.DataFrame) -> pl.DataFrame:
    """Add `wire_ns`, `wire_basis`, `peer_wait_ns` and `wire_reason` (why the first is null) to paired transfers.

    Per transfer `time_ns = wire_ns + peer_wait_ns`, and the sum of `wire_ns` over a group is its kernels' time with a
    peer. Transfers of a fused kernel whose sizes are unknown have none: nothing says how the kernel's time divides.
    """
    transfers = transfers.with_columns(staging_bytes=pl.col("channels").fill_null(MOST_CHANNELS) * BUFFER_BYTES)
    groups = _groups(transfers)
    judged = group_wire(groups, exchanges(transfers)).select("group", "group_wire_ns", "wire_basis", "wire_reason")
    numbered = transfers.join(groups.select(*GROUP, "group"), on=GROUP, how="left", maintain_order="left")
    return _shared(numbered.join(judged, on="group", how="left", maintain_order="left")).drop("group", "group_wire_ns")


def group_wire(groups: pl.DataFrame, met: pl.DataFrame) -> pl.DataFrame:
    """Wire time of each kernel group: `groups` with `group_wire_ns`, `wire_basis` and `wire_reason`.

    On one clock it is the union of the windows with its peers' kernels; on two clocks the shorter of the two kernels,
    where the message is too large to finish before the peer arrives. A message that fits into NCCL's buffers can have
    left before its receiver came: then nothing tells how long it was under way.
    """
    views = pl.concat(
        met.select(*_VIEW, group=side, start_ns="window_start_ns", end_ns="window_end_ns") for side in ("send", "recv")
    )
    windows = views.filter(pl.col("one_clock") & (pl.col("end_ns") > pl.col("start_ns")))
    facts = views.group_by("group").agg(
        edges=pl.len(),
        one_clock=pl.col("one_clock").all(),
        one_edge_apart=(pl.len() == 1) & ~pl.col("one_clock").any(),
        eager=pl.col("eager").any(),
        large=(pl.col("bytes") > pl.col("staging_bytes")).fill_null(value=False).all(),
        min_ns=pl.col("min_ns").sum(),
        positional=(pl.col("pairing") == LOOSE).all(),
    )
    known = groups.join(facts, on="group", how="left").join(
        union_lengths(windows, ["group"]).rename({"union_ns": "window_ns"}), on="group", how="left"
    )
    no_window = pl.col("one_clock") & pl.col("window_ns").is_null()
    reason = (
        pl.when(pl.col("edges").is_null())
        .then(pl.lit(ONE_SIDED))
        .when(~pl.col("whole") & ~pl.col("positional"))
        .then(pl.lit(PARTLY_PAIRED))
        .when(pl.col("eager") | no_window | (pl.col("one_edge_apart") & ~pl.col("large")))
        .then(pl.lit(EAGER))
        .when(~pl.col("one_clock") & ~pl.col("one_edge_apart"))
        .then(pl.lit(SEVERAL_CLOCKS))
    )
    clear = pl.col("wire_reason").is_null()
    measured = pl.when(pl.col("one_clock")).then("window_ns").otherwise("min_ns")
    basis = pl.when(pl.col("one_clock")).then(pl.lit(WINDOW)).otherwise(pl.lit(MIN_DURATION))
    return (
        known.with_columns(wire_reason=reason)
        .with_columns(
            # The window of a group with several kernels can hold gaps between them.
            group_wire_ns=pl.when(clear).then(pl.min_horizontal(measured, "length_ns")),
            wire_basis=pl.when(clear).then(basis),
        )
        .sort("group")
    )


def _groups(transfers: pl.DataFrame) -> pl.DataFrame:
    """Kernel groups: their interval, summed kernel time, channels, and whether every transfer to another is paired."""
    remote = ~pl.col("is_self").fill_null(value=False)
    return (
        transfers.filter(pl.col("group_key").is_not_null())
        .group_by(GROUP)
        .agg(
            pl.col("start_ns").first(),
            pl.col("end_ns").first(),
            pl.col("device_id").first(),
            pl.col("channels").first(),
            length_ns=pl.col("time_ns").sum(),
            whole=(pl.col("pair_id").is_not_null() | ~remote).all(),
            loose=(pl.col("pair_id").is_null() & pl.col("peer").is_null()).all(),
            purpose=pl.col("purpose").first(),
        )
        .sort("trace_id", "start_ns", "end_ns", "group_key")
        .with_row_index("group")
    )


def _paired_edges(transfers: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Groups of which at least one transfer is paired with one of the other."""
    placed = transfers.filter(pl.col("pair_id").is_not_null()).join(groups.select(*GROUP, "group"), on=GROUP)
    sends = placed.filter(pl.col("side") == "send").select("pair_id", "pairing", "bytes", send="group")
    receives = placed.filter(pl.col("side") == "recv").select("pair_id", recv="group")
    all_known = pl.when(pl.col("bytes").is_not_null().all()).then(pl.col("bytes").sum()).alias("bytes")
    return sends.join(receives, on="pair_id").group_by("send", "recv").agg(pl.col("pairing").first(), all_known)


def _positional_edges(groups: pl.DataFrame) -> pl.DataFrame:
    """The k-th kernel of one device with the k-th of the other, where no peer is recorded and there are just these two.

    Which of them sends is not known; both may.
    """
    loose = groups.filter("loose")
    device = ["trace_id", "device_id"]
    counts = loose.group_by(device).len().sort(device)
    if counts.height != 2 or counts["len"].n_unique() != 1:  # noqa: PLR2004 (two devices)
        return pl.DataFrame(schema=_EDGES)
    one, other = (
        loose.join(counts[index].select(device), on=device).sort("start_ns", "end_ns", "group")["group"]
        for index in (0, 1)
    )
    return pl.DataFrame({"send": one, "recv": other, "pairing": LOOSE, "bytes": None}, schema=_EDGES)


def _shared(numbered: pl.DataFrame) -> pl.DataFrame:
    """Divide each group's wire time among its transfers as their time is divided, never more than a transfer's time."""
    fused = (pl.col("kernel_ops").fill_null(1) > 1) & pl.col("group_wire_ns").is_not_null()
    unsized = fused & pl.col("bytes").is_null().any().over("group")
    plain = numbered.with_columns(
        wire_ns=pl.when(unsized).then(None).otherwise("group_wire_ns"),
        wire_basis=pl.when(unsized).then(None).otherwise("wire_basis"),
        wire_reason=pl.when(unsized).then(pl.lit(UNSIZED)).otherwise("wire_reason"),
    )
    divided: dict[int, int] = {}
    for _, group in plain.filter(fused & pl.col("wire_ns").is_not_null()).group_by("group", maintain_order=True):
        parts = _within(group["group_wire_ns"][0], group["time_ns"].to_list())
        divided |= dict(zip(group["transfer_id"].to_list(), parts, strict=True))
    if divided:
        part = pl.DataFrame(
            {"transfer_id": list(divided), "part_ns": list(divided.values())},
            schema={"transfer_id": pl.UInt32, "part_ns": pl.Int64},
        )
        plain = plain.join(part, on="transfer_id", how="left", maintain_order="left")
        plain = plain.with_columns(wire_ns=pl.coalesce("part_ns", "wire_ns")).drop("part_ns")
    return plain.with_columns(peer_wait_ns=pl.col("time_ns") - pl.col("wire_ns"))


def _within(total: int, limits: Sequence[int]) -> list[int]:
    """Parts of `total` in proportion to `limits`, none above its limit (their sum is at least the total)."""
    parts = apportion(total, limits)
    surplus = sum(max(0, part - limit) for part, limit in zip(parts, limits, strict=True))
    kept = [min(part, limit) for part, limit in zip(parts, limits, strict=True)]
    for index, limit in enumerate(limits):
        taken = min(surplus, limit - kept[index])
        kept[index] += taken
        surplus -= taken
    return kept
