"""Own ranks that were not recorded but follow from whom everybody names.

Only the call that makes a communicator names its own rank, and a capture often begins later. Where all nodes of a
communicator are in the files, what a node sends to a rank is what the node of that rank received from it: where only
one way to number the nodes fits that, it is theirs.
"""

from collections.abc import Sequence
from itertools import permutations

import polars as pl

from nsysparse.kinds import NCCL

NODE = ["trace_id", "process", "gpu"]
"""Of what one rank of a communicator is known where its number is not."""
MOST_NODES = 6
"""Ways to number nodes grow beyond looking at them all."""
# A capture cuts off heads and tails, so of several nodes both sides of a direction must be only this much alike.
_LEAST_ALIKE = 0.5

_Tally = dict[int, tuple[int, int]]


def inferred_ranks(transfers: pl.DataFrame) -> pl.DataFrame:
    """Nodes and the ranks that follow for them.

    Args:
        transfers: `transport`, `communicator`, `side`, `peer`, `rank`, `is_self`, `rank_count` and the columns `NODE`.

    Returns:
        `communicator`, the columns `NODE`, `inferred` and `is_sure` (the communicator is known to have no further
        ranks), of communicators of which exactly one numbering fits.
    """
    remote = transfers.filter(
        (pl.col("transport") == NCCL) & pl.col("peer").is_not_null() & pl.col("side").is_in(["send", "recv"])
        & ~pl.col("is_self").fill_null(value=False)
    )  # fmt: skip
    lanes = remote.group_by("communicator", *NODE, "peer").agg(
        sends=(pl.col("side") == "send").sum().cast(pl.Int64),
        recvs=(pl.col("side") == "recv").sum().cast(pl.Int64),
        ranks=pl.col("rank_count").max(),
    )
    found = []
    for (communicator,), rows in lanes.group_by("communicator", maintain_order=True):
        told = [count for count in rows["ranks"].unique().to_list() if count is not None]
        nodes = rows.select(NODE).unique().sort(NODE, nulls_last=True)
        if nodes.height > MOST_NODES or nodes.height < 2 or told not in ([], [nodes.height]):  # noqa: PLR2004 (two ends)
            continue
        tallies = [_tally(rows, node) for node in nodes.iter_rows()]
        numbering = _only_numbering(tallies)
        if numbering is not None:
            found.append(
                nodes.select(
                    pl.lit(communicator, dtype=pl.String).alias("communicator"),
                    *NODE,
                    inferred=pl.Series(numbering, dtype=pl.Int64),
                    is_sure=pl.lit(bool(told)),
                )
            )
    none = {"inferred": pl.lit(0, dtype=pl.Int64), "is_sure": pl.lit(value=True)}
    return pl.concat([transfers.select("communicator", *NODE, **none).clear(), *found])


def _tally(rows: pl.DataFrame, node: tuple[object, ...]) -> _Tally:
    """How often one node sends to and receives from each rank."""
    own = rows.filter(
        pl.all_horizontal(pl.col(name).eq_missing(pl.lit(value)) for name, value in zip(NODE, node, strict=True))
    )
    return {peer: (sends, recvs) for peer, sends, recvs in own.select("peer", "sends", "recvs").iter_rows()}


def _only_numbering(tallies: Sequence[_Tally]) -> tuple[int, ...] | None:
    """The rank of each node, where one numbering fits and no other does."""
    count = len(tallies)
    if any(not 0 <= peer < count for tally in tallies for peer in tally):
        return None
    fitting = [ranks for ranks in permutations(range(count)) if _fits(tallies, ranks)]
    return fitting[0] if len(fitting) == 1 else None


def _fits(tallies: Sequence[_Tally], ranks: Sequence[int]) -> bool:
    """Whether nobody names itself, and each direction was seen about as often from both its sides."""
    for one, rank in zip(tallies, ranks, strict=True):
        if rank in one:
            return False
        for other, far in zip(tallies, ranks, strict=True):
            sent, received = one.get(far, (0, 0))[0], other.get(rank, (0, 0))[1]
            alike = min(sent, received) >= _LEAST_ALIKE * max(sent, received)
            # Of two nodes there is only one way to number them: there it is enough that both saw the direction.
            if not (alike or (len(ranks) == 2 and sent and received)):  # noqa: PLR2004
                return False
    return True
