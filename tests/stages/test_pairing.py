"""A movement counts once though both its sides were captured, and a sequence that does not agree is not paired."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.frames import Found
from nsysparse.pairing import pair

SAID = dict.fromkeys(("layer_text", "layer_provenance", "request_text", "request_provenance"), pl.String)
SCHEMA = {**Found.create_empty().schema, "transfer_id": pl.UInt32, "told_id": pl.UInt32, **SAID}


def transfers(*rows: dict[str, object]) -> pl.DataFrame:
    defaults = {
        "trace_id": "t", "transport": "nccl", "purpose": "unknown", "purpose_rule": "no rule matched",
        "kernel_count": 1, "communicator": "7", "device_id": 0, "process": 1, "thread": 1,
    }  # fmt: skip
    full = [
        {**defaults, "call_start_ns": index, "start_ns": 10 * index, "end_ns": 10 * index + 5, **row}
        for index, row in enumerate(rows)
    ]
    return pl.DataFrame(full, schema={**SCHEMA}).with_columns(
        gpu=pl.concat_str(pl.lit("gpu"), "device_id"),
        transfer_id=pl.int_range(len(rows), dtype=pl.UInt32, eager=True),
    )


def send(nbytes: int | None = 8, **more: object) -> dict[str, object]:
    return {"side": "send", "process": 1, "device_id": 0, "peer": 1, "bytes": nbytes, **more}


def recv(nbytes: int | None = 8, **more: object) -> dict[str, object]:
    return {"side": "recv", "process": 2, "device_id": 1, "peer": 0, "bytes": nbytes, **more}


def paired(*rows: dict[str, object]) -> tuple[pl.DataFrame, Counter[str]]:
    anomalies: Counter[str] = Counter()
    return pair(transfers(*rows), anomalies), anomalies


def standing(frame: pl.DataFrame) -> list[str | None]:
    return frame.filter("is_movement")["side"].to_list()


def test_kth_send_meets_kth_receive_and_the_receive_stands() -> None:
    frame, anomalies = paired(send(8), recv(8), send(16), recv(16))
    assert frame["pair_id"].to_list() == [0, 0, 1, 1]
    assert standing(frame) == ["recv", "recv"]
    assert frame["pairing"].unique().to_list() == ["fifo"]
    assert anomalies == {"ranks-inferred": 4}  # only two of perhaps more ranks are here
    _, sure = paired(send(8, rank_count=2), recv(8, rank_count=2))
    assert not sure


def test_ranks_follow_from_whom_two_nodes_name() -> None:
    frame, _ = paired(send(), recv())
    assert frame["rank"].to_list() == [0, 1]
    across, _ = paired(send(trace_id="a", process=5), recv(trace_id="b", process=5))
    assert across["pair_id"].to_list() == [0, 0]


def test_recorded_ranks_pair_among_many_nodes() -> None:
    frame, _ = paired(
        send(rank=0, peer=1), send(rank=0, peer=2), recv(rank=2, peer=0, process=3), recv(rank=1, peer=0, process=2)
    )
    assert frame["pair_id"].to_list() == [0, 1, 1, 0] or frame["pair_id"].to_list() == [1, 0, 0, 1]
    assert len(standing(frame)) == 2


def test_in_a_larger_communicator_naming_each_other_proves_nothing() -> None:
    frame, _ = paired(send(peer=2), recv(peer=1))
    assert frame["rank"].to_list() == [None, None]
    assert frame["pair_id"].null_count() == 2
    sized, _ = paired(send(rank_count=4), recv(rank_count=4))
    assert sized["pair_id"].null_count() == 2


def test_one_annotated_side_of_a_cropped_capture_is_not_counted_beside_the_other() -> None:
    kv = {"purpose": "kv", "purpose_rule": "own/kv_transfer"}
    frame, _ = paired(*[send(**kv)] * 10, *[recv()] * 9)
    assert standing(frame) == ["send"] * 10
    unknown_ranks = [send(peer=None, **kv)] * 6, [recv(peer=None)] * 6
    tie, _ = paired(*unknown_ranks[0], *unknown_ranks[1])
    assert tie.filter("is_movement").select("side", "purpose").unique().rows() == [("send", "kv")]


def test_sizes_that_differ_pair_nothing_and_count_one_side() -> None:
    frame, anomalies = paired(send(8), recv(8), send(16), recv(32))
    assert frame["pair_id"].null_count() == 4
    assert standing(frame) == ["recv", "recv"]
    assert anomalies["lanes-that-do-not-pair"] == 1


def test_counts_that_differ_count_the_side_with_more() -> None:
    frame, anomalies = paired(send(), send(), send(), recv())
    assert standing(frame) == ["send", "send", "send"]
    assert anomalies == {"lanes-that-do-not-pair": 1, "movements-counted-by-side": 1, "ranks-inferred": 4}


def test_a_side_without_rank_is_not_counted_beside_one_with_it() -> None:
    # The sender's ncclCommInitRank was recorded, the receiver's was cropped; of more than two ranks none follows.
    frame, anomalies = paired(*[send(rank=0, peer=1, rank_count=4)] * 5, *[recv(peer=0, rank_count=4)] * 5)
    assert standing(frame) == ["recv"] * 5
    assert anomalies["movements-counted-by-side"] == 5


def test_a_side_without_payload_is_not_counted_beside_one_with_it() -> None:
    nameless = {"peer": None, "communicator": None}
    assert standing(paired(*[send(**nameless)] * 5, *[recv()] * 5)[0]) == ["recv"] * 5
    assert standing(paired(*[send(**nameless)] * 6, *[recv(None)] * 5)[0]) == ["send"] * 6


def test_what_cannot_be_each_others_side_counts_twice() -> None:
    wide = {"rank_count": 4}
    assert len(standing(paired(send(40, peer=None), recv(44, peer=None))[0])) == 2
    elsewhere, _ = paired(send(rank=0, peer=2, **wide), recv(rank=1, peer=3, **wide))
    assert len(standing(elsewhere)) == 2
    assert len(standing(paired(send(peer=None, communicator="7"), recv(peer=None, communicator="8"))[0])) == 2


def test_a_nameless_transfer_elsewhere_merges_nothing_else() -> None:
    rows = [send(100, peer=1), recv(200, communicator="8", peer=2)] * 5
    nameless = send(None, peer=None, communicator=None, process=3, device_id=2)
    assert len(standing(paired(*rows, nameless)[0])) == 10
    assert paired(*rows, nameless)[0].filter("is_movement")["bytes"].sum() == 1500


def test_a_peer_that_is_another_rank_rules_a_meeting_out() -> None:
    wide = {"rank_count": 4}
    assert len(standing(paired(*[send(rank=0, peer=1, **wide)] * 5, *[recv(peer=2, **wide)] * 5)[0])) == 10
    assert len(standing(paired(*[send(peer=1, **wide)] * 5, *[recv(rank=3, peer=2, **wide)] * 5)[0])) == 10


def test_of_a_meeting_the_side_that_knows_its_size_stands() -> None:
    sizes = [recv(8 + index) for index in range(5)]
    frame, _ = paired(*[send(None, peer=None, communicator=None)] * 6, *sizes)
    assert sorted(standing(frame)) == ["recv"] * 5 + ["send"]


def test_recorded_creation_tells_where_a_sequence_starts() -> None:
    made = {"created": True}
    assert paired(send(**made), recv(**made))[0]["pairing_proof"].to_list() == ["start", "start"]
    assert paired(send(**made), recv(created=False))[0]["pairing_proof"].to_list() == [None, None]
    # Rows of advanced tracing name a rank whenever they were recorded.
    assert paired(send(rank=0), recv(rank=1))[0]["pairing_proof"].to_list() == [None, None]
    assert paired(send())[0]["pairing_proof"].to_list() == [None]


def test_a_receive_that_ended_before_its_send_began_belongs_to_another() -> None:
    late = {"start_ns": 2_000_000, "end_ns": 2_000_100}
    early = {"start_ns": 1_000_000, "end_ns": 1_900_000}
    frame, anomalies = paired(send(**late), recv(**early))
    assert frame["pair_id"].null_count() == 2
    assert anomalies["lanes-that-do-not-pair"] == 1
    assert standing(frame) == ["recv"]
    # Another file's clock tells nothing, and clocks of two devices differ a little.
    other, _ = paired(send(trace_id="a", **late), recv(trace_id="b", **early))
    assert other["pair_id"].null_count() == 0
    close, _ = paired(send(**late), recv(start_ns=1_000_000, end_ns=1_980_000))
    assert close["pair_id"].null_count() == 0


def test_one_side_alone_counts_wholly() -> None:
    frame, anomalies = paired(send(), send(), {**recv(), "process": 1, "device_id": 0, "peer": 1})
    assert standing(frame) == ["send", "send", "recv"]
    assert not anomalies


def test_without_peers_two_devices_count_the_side_with_more_and_one_device_counts_both() -> None:
    frame, _ = paired(send(peer=None), send(peer=None), recv(peer=None))
    assert standing(frame) == ["send", "send"]
    alone, _ = paired(send(peer=None), recv(peer=None, process=1, device_id=0))
    assert standing(alone) == ["send", "recv"]


def test_without_communicator_two_nodes_pair_by_position_and_say_so() -> None:
    frame, _ = paired(send(communicator=None), recv(communicator=None))
    assert frame["pairing"].to_list() == ["positional", "positional"]
    assert standing(frame) == ["recv"]


def test_only_the_send_side_has_an_interval_so_it_stands() -> None:
    frame, _ = paired(send(), recv(start_ns=None, end_ns=None))
    assert standing(frame) == ["send"]


def test_what_one_side_knows_holds_for_both() -> None:
    frame, _ = paired(send(purpose="kv", purpose_rule="own/kv_transfer"), recv(None))
    assert frame["purpose"].to_list() == ["kv", "kv"]
    assert frame["purpose_rule"].to_list() == ["own/kv_transfer", "other side: own/kv_transfer"]
    assert frame["bytes"].to_list() == [8, 8]


def test_a_self_copy_is_one_movement() -> None:
    frame, _ = paired(send(rank=0, peer=0, is_self=True), recv(rank=0, peer=0, is_self=True, process=1, device_id=0))
    assert len(standing(frame)) == 1


def test_one_process_on_two_devices_is_two_nodes() -> None:
    frame, _ = paired(send(), recv(process=1, device_id=1))
    assert frame["pair_id"].to_list() == [0, 0]
    assert frame["rank"].to_list() == [0, 1]


def test_a_group_over_several_devices_never_doubles() -> None:
    both = {"device_id": None, "device_count": 2, "process": 1}
    frame, anomalies = paired(send(**both), recv(**{**both, "peer": 1}))
    assert len(standing(frame)) == 1
    assert anomalies["movements-counted-by-side"] == 1


def test_self_copies_follow_from_inferred_ranks() -> None:
    frame, _ = paired(send(), recv())
    assert frame["is_self"].to_list() == [False, False]


def named(row: dict[str, object], key: str | None = "ucx-tag:1", **more: object) -> dict[str, object]:
    return {**row, "transport": "ucx", "communicator": None, "peer": None, "match_key": key, **more}


def test_a_name_that_occurs_once_on_each_side_is_proof() -> None:
    frame, anomalies = paired(named(send()), named(recv()))
    assert frame["pairing"].to_list() == ["named", "named"]
    assert frame["pairing_proof"].to_list() == ["name", "name"]
    assert not anomalies


def test_a_name_used_again_proves_nothing() -> None:
    frame, _ = paired(named(send()), named(recv()), named(send()), named(recv()))
    assert frame["pair_id"].to_list() == [0, 0, 1, 1]
    assert frame["pairing_proof"].null_count() == 4


def test_a_name_used_again_does_not_pair_across_a_cut_or_backwards_in_time() -> None:
    frame, anomalies = paired(named(send()), named(recv()), named(send()))
    assert frame["pair_id"].null_count() == 3
    assert anomalies == {"lanes-that-do-not-pair": 1, "movements-counted-by-side": 1}
    ms = 1_000_000
    rows = [named(send(), start_ns=k * ms, end_ns=k * ms + 9) for k in (1, 2, 3)]
    rows += [named(recv(), start_ns=k * ms, end_ns=k * ms + 9) for k in (0, 1, 2)]
    frame, anomalies = paired(*rows)
    assert frame["pair_id"].null_count() == 6
    assert anomalies["lanes-that-do-not-pair"] == 1
    once, _ = paired(rows[0], rows[3])
    assert once["pair_id"].null_count() == 2
    # A call that posts a receive ends before the message comes.
    called, _ = paired(rows[0], {**rows[3], "interval_kind": "call"})
    assert called["pairing_proof"].to_list() == ["name", "name"]


@pytest.mark.parametrize("near", [None, "A"])
def test_one_tag_between_other_workers_is_another_name(near: str | None) -> None:
    rows = [
        named(send(), src_end="A", dst_end="B"),
        named(send(), src_end="C", dst_end="D", process=3),
        named(recv(), src_end=near and "C", dst_end="D", process=4),
        named(recv(), src_end=near, dst_end="B"),
    ]
    frame, _ = paired(*rows)
    ids = frame["pair_id"].to_list()
    assert (ids[0], ids[1]) == (ids[3], ids[2])
    assert len(set(ids)) == 2
    assert set(frame["pairing_proof"]) == {"name"}


def test_two_sides_of_one_name_may_differ_a_little_in_size() -> None:
    frame, anomalies = paired(named(send(1000)), named(recv(1050)))
    assert frame["pair_id"].to_list() == [0, 0]
    assert frame.filter("is_movement")["bytes"].to_list() == [1050]
    assert anomalies == {"named-sizes-differ": 1}
    frame, anomalies = paired(named(send(1000)), named(recv(1060)))
    assert frame["pair_id"].null_count() == 2
    assert anomalies == {"named-sizes-differ": 1}


def test_an_xfer_of_both_sides_in_one_process_is_one_movement() -> None:
    both = {"process": 1, "device_id": 0}
    assert len(standing(paired(named(send(), "xfer:a"), named(recv(), "xfer:a", **both))[0])) == 1
    assert len(standing(paired(named(send()), named(recv(), **both))[0])) == 2


def test_sides_that_disagree_on_purpose_are_kv_and_counted() -> None:
    frame, anomalies = paired(
        send(purpose="other", purpose_rule="torch/all-to-all"), recv(purpose="kv", purpose_rule="own/kv_transfer")
    )
    assert frame["purpose"].to_list() == ["kv", "kv"]
    assert anomalies["sides-disagree-on-purpose"] == 1


@given(st.lists(st.tuples(st.sampled_from([0, 1, 2]), st.sampled_from([0, 1, 2]), st.integers(0, 3)), max_size=30))
def test_full_capture_of_three_ranks_pairs_everything_once(messages: list[tuple[int, int, int]]) -> None:
    """Every message between other ranks becomes exactly one pair; order inside a lane is kept, lanes interleave."""
    rows = []
    for source, target, nbytes in messages:
        if source != target:
            rows.append(send(nbytes, rank=source, peer=target, process=source, device_id=source))
            rows.append(recv(nbytes, rank=target, peer=source, process=target, device_id=target))
    frame, anomalies = paired(*rows) if rows else (transfers(), Counter())
    if not rows:
        return
    assert not anomalies
    assert frame["pair_id"].null_count() == 0
    assert standing(frame) == ["recv"] * (len(rows) // 2)
    meets = frame.group_by("pair_id").agg(pl.col("bytes").n_unique(), pl.col("side").n_unique())
    assert meets.select(pl.col("bytes").max(), pl.col("side").min()).row(0) == (1, 2)


def test_one_group_of_unknown_size_meets_many_of_different_sizes_each_once() -> None:
    sends = [send(None, peer=None, communicator=None) for _ in range(3)]
    receives = [recv(8 * (index + 1), peer=None, communicator=None) for index in range(5)]
    frame, anomalies = paired(*sends, *receives)
    assert standing(frame) == ["recv"] * 5
    assert anomalies == {"movements-counted-by-side": 3}


def test_too_many_that_agree_in_too_little_are_counted_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nsysparse.meeting.MOST_STEPS", 3)
    sends = [send(None, peer=None, communicator=str(10 + index), process=10 + index) for index in range(2)]
    receives = [recv(8 + index, peer=None, communicator=None, process=20 + index) for index in range(2)]
    frame, anomalies = paired(*sends, *receives)
    assert len(standing(frame)) == 4
    assert anomalies["meetings-too-many"] == 2


def test_names_or_ends_that_differ_rule_a_meeting_out() -> None:
    assert len(standing(paired(named(send(), "xfer:a"), named(recv(), "xfer:b"))[0])) == 2
    assert len(standing(paired(named(send()), named(recv(), "ucx-tag:2"))[0])) == 2
    ends = [named(send(), None, src_end="A", dst_end="B"), named(recv(), None, src_end="C", dst_end="D")]
    assert len(standing(paired(*ends)[0])) == 2
    # A tag says nothing against the id of an annotation.
    told = named(recv(), "xfer:a", transport="annotated")
    assert len(standing(paired(named(send()), told)[0])) == 1


def test_a_put_and_a_get_are_two_movements_but_an_annotation_may_be_either() -> None:
    put, get = (named(row, None, is_one_sided=True) for row in (send(), recv()))
    assert standing(paired(put, get)[0]) == ["send", "recv"]
    assert len(standing(paired(put, named(recv(), None, transport="annotated"))[0])) == 1
    streamed = [named(row, None, is_one_sided=False) for row in (send(), recv())]
    assert len(standing(paired(*streamed)[0])) == 1


@pytest.mark.parametrize("key", ["xfer:a", None])
def test_a_copy_and_the_other_process_telling_of_it_are_one_movement(key: str | None) -> None:
    copy = named(send(), key, transport="memcpy", side="copy")
    told = named(recv(), key, transport="annotated", purpose="kv", purpose_rule="own/kv_transfer")
    frame, _ = paired(copy, told)
    assert frame["pair_id"].to_list() == [0, 0]
    assert frame.filter("is_movement").select("transport", "purpose").rows() == [("memcpy", "kv")]
    assert len(standing(paired(copy, {**told, "bytes": 9, "match_key": None})[0])) == 2
    assert len(standing(paired(copy, {**told, "process": 1})[0])) == 2


def test_a_send_to_a_rank_and_a_receive_from_it_are_two_movements() -> None:
    """Rank 1 relays, and is not captured; no rank is known."""
    wide = {"rank_count": 4}
    frame, _ = paired(*[send(peer=1, **wide)] * 3, *[recv(peer=1, **wide)] * 3)
    assert len(standing(frame)) == 6


def test_a_call_whose_own_rank_is_unknown_leaves_no_proof_from_the_start() -> None:
    created = {"rank_count": 3, "created": True}
    lane = [send(rank=0, **created), recv(rank=1, **created)] * 2
    assert set(paired(*lane)[0]["pairing_proof"]) == {"start"}
    over_devices = send(rank=None, peer=1, device_id=None, device_count=2, **created)
    assert set(paired(*lane, over_devices)[0].filter(pl.col("pair_id").is_not_null())["pairing_proof"]) == {None}
