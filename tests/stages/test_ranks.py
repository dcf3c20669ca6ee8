"""Own ranks that nobody recorded follow where all nodes of a communicator are there and one numbering fits."""

import random
from itertools import permutations

import polars as pl

from nsysparse.ranks import inferred_ranks

Flow = tuple[int, int, int]
"""Source rank, target rank, number of messages."""


def seen(flows: list[Flow], nodes: list[int], **facts: object) -> pl.DataFrame:
    """What the nodes of some ranks record of flows; rank r is process 100 + r."""
    rows = []
    for source, target, count in flows:
        for me, peer, side in ((source, target, "send"), (target, source, "recv")):
            if me in nodes:
                rows += [{"process": 100 + me, "peer": peer, "side": side}] * count
    return pl.DataFrame(rows, schema={"process": pl.Int64, "peer": pl.Int64, "side": pl.String}).with_columns(
        trace_id=pl.lit("t"), gpu=pl.lit("gpu0"), transport=pl.lit("nccl"), communicator=pl.lit("7"),
        is_self=pl.lit(None, dtype=pl.Boolean), rank_count=pl.lit(facts.get("rank_count"), dtype=pl.Int64),
    )  # fmt: skip


def ranks(frame: pl.DataFrame) -> dict[int, int]:
    return dict(inferred_ranks(frame).select("process", "inferred").iter_rows())


def test_two_nodes_are_whom_the_other_names() -> None:
    assert ranks(seen([(0, 1, 5)], [0, 1])) == {100: 0, 101: 1}


def test_four_nodes_are_numbered_where_one_way_fits() -> None:
    flows = [(0, 2, 20), (1, 3, 12), (0, 3, 7)]
    assert ranks(seen(flows, [0, 1, 2, 3])) == {100: 0, 101: 1, 102: 2, 103: 3}


def test_numberings_that_fit_alike_tell_nothing() -> None:
    assert ranks(seen([(0, 2, 20), (1, 3, 20)], [0, 1, 2, 3])) == {}


def test_nodes_that_are_not_there_tell_nothing() -> None:
    # Rank 2 sends to 1 and rank 3 receives from 2: nobody here is whom the other names.
    assert ranks(seen([(2, 1, 20), (2, 3, 20)], [2, 3])) == {}
    assert ranks(seen([(0, 1, 5)], [0, 1], rank_count=4)) == {}
    # Both only send: they talk to others.
    assert ranks(seen([(0, 1, 5), (1, 0, 5)], [0, 1]).filter(pl.col("side") == "send")) == {}


def test_what_follows_is_true_of_random_flows() -> None:
    told = 0
    for seed in range(60):
        rng = random.Random(seed)  # noqa: S311 (a test's own dice)
        count = rng.randint(2, 5)
        pairs = list(permutations(range(count), 2))
        flows = [(*pair, rng.randint(1, 40)) for pair in rng.sample(pairs, rng.randint(1, len(pairs)))]
        if {rank for source, target, _ in flows for rank in (source, target)} != set(range(count)):
            continue
        found = ranks(seen(flows, list(range(count))))
        assert found in ({}, {100 + rank: rank for rank in range(count)}), seed
        told += bool(found)
    assert told > 10


def test_communicators_of_many_nodes_are_left_alone() -> None:
    assert ranks(seen([(rank, rank + 1, rank + 1) for rank in range(7)], list(range(8)))) == {}
