"""Which send met which receive when the capture cut the sequence, and what counts as proof."""

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.alignment import fitting_shifts
from nsysparse.frames import Found
from nsysparse.pairing import pair

MIB = 2**20
SAID = dict.fromkeys(("layer_text", "layer_provenance", "request_text", "request_provenance"), pl.String)
SCHEMA = {**Found.create_empty().schema, "transfer_id": pl.UInt32, "told_id": pl.UInt32, **SAID}


def lane(
    sends: list[tuple[int, int, int]], receives: list[tuple[int, int, int]], *, staging: int = 4 * MIB, **more: object
) -> pl.DataFrame:
    """One lane from rank 0 to rank 1 in issue order; each message is (bytes, start, end)."""
    rows = []
    for side, messages in (("send", sends), ("recv", receives)):
        me = 0 if side == "send" else 1
        for issue, (nbytes, start, end) in enumerate(messages):
            row = {
                "trace_id": "t", "transport": "nccl", "purpose": "kv", "purpose_rule": "x", "side": side,
                "bytes": nbytes,
                "communicator": "7", "peer": 1 - me, "process": me + 1, "device_id": me, "gpu": f"gpu{me}",
                "kernel_count": 1, "kernel_ops": 1, "rank_count": 2,
                "staging_bytes": staging, "call_start_ns": issue, "start_ns": start, "end_ns": end,
            }  # fmt: skip
            rows.append({**row, "created": more.get("created"), **more.get(side, {})})  # type: ignore[dict-item]
    frame = pl.DataFrame(rows, schema=SCHEMA)
    return frame.with_columns(transfer_id=pl.int_range(len(rows), dtype=pl.UInt32, eager=True))


def met(frame: pl.DataFrame) -> tuple[list[tuple[int, int]], set[str | None], Counter[str]]:
    """Pairs as (send, receive) in issue order within each side, their proofs, and what was counted."""
    anomalies: Counter[str] = Counter()
    paired = pair(frame, anomalies).filter(pl.col("pair_id").is_not_null())
    sides = {side: paired.filter(side=side).select("pair_id", "call_start_ns") for side in ("send", "recv")}
    both = sides["send"].join(sides["recv"], on="pair_id").sort("call_start_ns")
    pairs = both.select("call_start_ns", "call_start_ns_right").rows()
    return pairs, set(paired["pairing_proof"].to_list()), anomalies


def test_a_tail_that_only_one_side_recorded_stays_alone() -> None:
    frame = lane([(8, 0, 10)] * 5, [(8, 0, 10)] * 3, created=True)
    pairs, proofs, anomalies = met(frame)
    assert pairs == [(0, 0), (1, 1), (2, 2)]
    # A row may as well have been lost anywhere before.
    assert proofs == {None}
    assert anomalies == {"lanes-realigned": 1}
    assert pair(frame, Counter())["is_movement"].sum() == 5


def test_sizes_tell_by_how_much_the_capture_cut_a_side() -> None:
    sizes = [10, 20, 10, 30, 40, 10, 20, 50, 60, 70, 10, 80]
    sends = [(size, 100 * k, 100 * k + 50) for k, size in enumerate(sizes)]
    receives = [(size, 100 * k, 100 * k + 50) for k, size in enumerate(sizes)][2:]
    pairs, proofs, anomalies = met(lane(sends, receives))
    assert pairs == [(k, k - 2) for k in range(2, 12)]
    assert proofs == {"sizes"}
    assert anomalies == {"lanes-realigned": 1}
    assert pair(lane(sends, receives), Counter())["is_movement"].sum() == 12


def test_equal_counts_may_hide_a_shift_that_sizes_show() -> None:
    sizes = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110]
    across = {"recv": {"trace_id": "u"}}  # two files: no common clock
    pairs, proofs, _ = met(lane([(s, 0, 1) for s in sizes[1:]], [(s, 0, 1) for s in sizes[:-1]], **across))
    assert pairs == [(k, k + 1) for k in range(9)]
    # Two files may hold two runs of the same requests: that is no proof.
    assert proofs == {None}


def test_one_size_proves_nothing_and_unequal_counts_then_do_not_pair() -> None:
    pairs, proofs, anomalies = met(lane([(8, 0, 10)] * 12, [(8, 0, 10)] * 12))
    assert len(pairs) == 12
    assert proofs == {None}
    assert not anomalies
    pairs, _, anomalies = met(lane([(8, 0, 10)] * 12, [(8, 0, 10)] * 10))
    assert pairs == []
    assert anomalies["lanes-that-do-not-pair"] == 1


def test_a_receive_that_ends_before_its_send_has_is_another_message_s() -> None:
    """Back to back, neighbours touch: only that nothing arrives before it was sent tells them apart."""
    at = [200_000 * k for k in range(12)]
    sends = [(8, t, t + 190_000) for t in at[1:]]
    receives = [(8, t, t + 195_000) for t in at[:-1]]
    _, proofs, anomalies = met(lane(sends, receives, created=True))
    assert proofs == set()
    assert anomalies == {"lanes-that-do-not-pair": 1, "movements-counted-by-side": 11}
    both_whole = [(8, t, t + 190_000) for t in at[:-1]]
    assert met(lane(both_whole, receives, created=True))[1] == {"start"}


def test_two_sizes_in_turn_prove_nothing_either() -> None:
    _, proofs, _ = met(lane([(8 + k % 2, 0, 10) for k in range(20)], [(8 + k % 2, 0, 10) for k in range(20)]))
    assert proofs == {None}


def rendezvous(count: int, first_send: int, last_recv: int, nbytes: int) -> pl.DataFrame:
    """Messages every 2 ms, 1 ms long, receives ending 10 us after sends; sends from `first_send`, receives up to."""
    at = [2_000_000 * k for k in range(count)]
    sends = [(nbytes, t, t + 1_000_000) for t in at[first_send:]]
    return lane(sends, [(nbytes, t - 500_000, t + 1_010_000) for t in at[:last_recv]])


def test_large_messages_that_end_together_are_proof_on_one_clock() -> None:
    pairs, proofs, anomalies = met(rendezvous(12, 0, 12, 5 * MIB))
    assert pairs == [(k, k) for k in range(12)]
    assert proofs == {"clock"}
    assert not anomalies
    pairs, proofs, _ = met(rendezvous(12, 1, 11, 5 * MIB))  # equal counts, all shifted by one
    assert pairs == [(k, k + 1) for k in range(10)]
    assert proofs == {"clock"}


def test_messages_that_may_have_been_buffered_prove_nothing_by_ending_together() -> None:
    _, proofs, _ = met(rendezvous(12, 0, 12, 4 * MIB))
    assert proofs == {None}


@pytest.mark.parametrize("sent", [[5], [5, 5, 6]])
def test_short_lanes_prove_nothing_by_size(sent: list[int]) -> None:
    across = {"recv": {"trace_id": "u"}}
    _, proofs, _ = met(lane([(s, 0, 1) for s in sent], [(s, 0, 1) for s in sent], **across))
    assert proofs == {None}


@given(st.lists(st.integers(0, 2), min_size=1, max_size=14), st.lists(st.integers(0, 2), min_size=1, max_size=14))
def test_fitting_shifts_are_those_that_brute_force_finds(sends: list[int], receives: list[int]) -> None:
    expected = []
    for shift in range(-len(sends) + 1, len(receives)):
        pairs = [(sends[i], receives[i + shift]) for i in range(len(sends)) if 0 <= i + shift < len(receives)]
        if len(pairs) >= max(1, int(0.1 * min(len(sends), len(receives)))) and all(a == b for a, b in pairs):
            expected.append(shift)
    assert fitting_shifts(np.array(sends), np.array(receives)).tolist() == expected


def test_several_cut_lanes_slide_each_by_its_own_way() -> None:
    sends = [(100 + k, 0, 50) for k in range(20)]
    lanes = [
        lane(
            sends,
            sends[cut:],
            send={"communicator": key, "process": cut, "trace_id": "a"},
            recv={"communicator": key, "process": cut, "trace_id": "b"},
        )
        for cut, key in ((2, "7"), (3, "8"), (5, "9"))
    ]
    frame = pl.concat(lanes).with_columns(transfer_id=pl.int_range(pl.len(), dtype=pl.UInt32))
    anomalies: Counter[str] = Counter()
    paired = pair(frame, anomalies)
    alone = paired.filter(pl.col("pair_id").is_null())
    assert alone["bytes"].to_list() == [100, 101, 100, 101, 102, 100, 101, 102, 103, 104]
    assert set(alone["side"]) == {"send"}
    assert paired.group_by("pair_id").agg(pl.col("bytes").n_unique()).filter(pl.col("pair_id").is_not_null())[
        "bytes"
    ].unique().to_list() == [1]
    assert paired["pairing_proof"].drop_nulls().unique().to_list() == []  # two files may hold two runs
    assert anomalies == {"lanes-realigned": 3}
