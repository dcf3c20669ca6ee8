"""Layers and requests: each known way, and the traps in which only `unattributed` is right."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from nsysparse.api import Options, Study, analyse, study_traces
from nsysparse.shares import AMOUNTS
from nsysparse.shares import shares as divide
from nsysparse.testing import Thread, TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"


class Scene:
    """A thread that sends, with one kernel of 100 ns per call."""

    def __init__(self) -> None:
        self.builder = TraceBuilder(schema="3.25", gpus={0: "x"})
        self.process = self.builder.process(pid=1)
        self.thread = self.process.thread(tid=1)

    def send(self, at: int, nbytes: int | None = 1000, thread: Thread | None = None) -> None:
        issuing = thread or self.thread
        issuing.nccl("ncclSend", at, at + 10, nbytes=nbytes, peer=1, payload="json" if nbytes is not None else None)
        launch = issuing.launch(at + 2, at + 4)
        self.process.kernel(SEND_RECV, 10 * at, 10 * at + 100, launch=launch, stream=20)

    def study(self, folder: Path, layers: int | None = None) -> Study:
        return study_traces([self.builder.write(folder / "t.sqlite")], Options(layers=layers))


def shares(study: Study) -> list[tuple[object, ...]]:
    columns = ("layer", "layer_provenance", "request_id", "request_provenance", "bytes", "time_ns")
    return study.shares.sort("transfer_id", "layer", "request_id").select(columns).rows()


def test_our_annotation_is_exact_whatever_the_domain(tmp_path: Path) -> None:
    for domain in (None, "kvx", "serving"):
        scene = Scene()
        scene.thread.push_pop("kv_transfer request=r%2C1 layer=3", 90, 120, domain=domain)
        scene.send(100)
        assert shares(scene.study(tmp_path)) == [(3, "exact", "r,1", "exact", 1000, 100)]


def test_enclosing_ranges_are_nested_and_the_innermost_wins(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("request:req-9", 10, 500)
    scene.thread.push_pop("model.layers.1", 20, 400)
    scene.thread.push_pop("model.layers.2.self_attn", 80, 300)
    scene.thread.push_pop("forward", 90, 200)
    scene.send(100)
    assert shares(scene.study(tmp_path)) == [(2, "nested", "req-9", "nested", 1000, 100)]


def test_annotation_and_enclosing_range_complete_each_other(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("model.layers.5", 20, 400)
    scene.thread.push_pop("kv_transfer request=a", 90, 120)
    scene.send(100)
    assert shares(scene.study(tmp_path)) == [(5, "nested", "a", "exact", 1000, 100)]


@pytest.mark.parametrize(
    "other",
    ["another thread", "ended before", "ends inside the call", "mark"],
)
def test_ranges_that_do_not_hold_the_call_say_nothing(other: str, tmp_path: Path) -> None:
    scene = Scene()
    second = scene.process.thread(tid=2)
    text = "kv_layer layer=1"
    if other == "another thread":
        second.push_pop(text, 50, 200)
    elif other == "ended before":
        scene.thread.push_pop(text, 50, 99)
    elif other == "ends inside the call":
        scene.thread.push_pop(text, 50, 105)
    else:
        scene.thread.mark(text, 100)
    scene.send(100)
    assert shares(scene.study(tmp_path)) == [(None, None, None, None, 1000, 100)]


def test_the_only_start_end_range_open_in_the_process_spans_the_call(tmp_path: Path) -> None:
    scene = Scene()
    second = scene.process.thread(tid=2)
    second.start_end("kv_request request=a prompt=7", 10, 500, end_thread=scene.thread)
    second.start_end("kv_request request=b", 600, 900, end_thread=scene.thread)
    scene.send(100)
    assert shares(scene.study(tmp_path)) == [(None, None, "a", "spanning", 1000, 100)]
    # A range of the thread itself knows better than one that merely spans the call.
    scene.thread.push_pop("request=c", 90, 120)
    assert shares(scene.study(tmp_path)) == [(None, None, "c", "nested", 1000, 100)]


@pytest.mark.parametrize("second_at", [20, 99, 100])
def test_of_several_open_start_end_ranges_none_speaks(second_at: int, tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.start_end("kv_request request=a", 10, 500)
    scene.thread.start_end("kv_request request=b", second_at, 400)
    scene.send(100)
    assert shares(scene.study(tmp_path)) == [(None, None, None, None, 1000, 100)]


def test_a_start_end_annotation_that_began_around_a_call_is_about_it(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.start_end("kv_transfer request=a layer=1 bytes=77", 10, 500)
    scene.send(100, None)
    study = scene.study(tmp_path)
    assert shares(study) == [(1, "exact", "a", "exact", 77, 100)]
    assert study.transfers["purpose"].to_list() == ["kv"]


def test_a_start_end_annotation_of_another_size_decides_neither_purpose_nor_bytes(tmp_path: Path) -> None:
    """Such a range is about an asynchronous transfer of its own, not about a call that happens meanwhile."""
    scene = Scene()
    scene.thread.start_end("kv_transfer request=a layer=1 bytes=77", 10, 500)
    scene.send(100, 1000)
    transfers = scene.study(tmp_path).transfers.sort("transport")
    assert transfers.select("transport", "bytes", "purpose").rows() == [
        ("annotated", 77, "kv"),
        ("nccl", 1000, "unknown"),
    ]


def test_divided_movements_are_estimated_in_the_transfers_frame(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer request=a layer=0-2", 90, 120)
    scene.send(100, 1000)
    row = scene.study(tmp_path).transfers.row(0, named=True)
    assert (row["layer"], row["layer_provenance"]) == (None, "estimated")
    assert (row["request_id"], row["request_provenance"]) == ("a", "exact")


def test_the_number_of_layers_comes_from_marks_that_agree(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer request=a layer=all", 90, 120)
    scene.send(100, 1000)
    scene.thread.mark("kv_role role=prefill layers=4", 1)
    assert [row[0] for row in shares(scene.study(tmp_path))] == [0, 1, 2, 3]
    assert [row[0] for row in shares(scene.study(tmp_path, 2))] == [0, 1]
    scene.builder.process(pid=2).thread(tid=2).mark("kv_role role=decode layers=5", 1)
    assert [row[0] for row in shares(scene.study(tmp_path))] == [None]


def test_a_layer_span_divides_evenly_and_exactly(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer request=a layer=0-2", 90, 120)
    scene.send(100, 1000)
    assert shares(scene.study(tmp_path)) == [
        (0, "estimated", "a", "exact", 334, 34),
        (1, "estimated", "a", "exact", 333, 33),
        (2, "estimated", "a", "exact", 333, 33),
    ]


def test_given_bytes_divide_as_given(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer request=a,b request_bytes=900,100 layer=0-1 layer_bytes=750,250", 90, 120)
    scene.send(100, 1000)
    assert shares(scene.study(tmp_path)) == [
        (0, "exact", "a", "exact", 675, 68),
        (0, "exact", "b", "exact", 75, 7),
        (1, "exact", "a", "exact", 225, 23),
        (1, "exact", "b", "exact", 25, 2),
    ]


@pytest.mark.parametrize(
    ("texts", "parts"),
    [
        (["kv_transfer request=a,b tokens=300,100"], [("a", 750), ("b", 250)]),
        (["kv_transfer request=a,b tokens=400"], [("a", 500), ("b", 500)]),
        (["kv_transfer request=a,b", "kv_request request=a prompt=200", "kv_request request=b prompt=800"],
         [("a", 200), ("b", 800)]),
        (["kv_transfer request=a,b", "kv_request request=a prompt=200", "kv_request request=b"],
         [("a", 500), ("b", 500)]),
        (["kv_transfer request=a,b tokens=300,100", "kv_request request=a prompt=1", "kv_request request=b prompt=9"],
         [("a", 750), ("b", 250)]),
    ],
)  # fmt: skip
def test_without_bytes_requests_divide_by_tokens_else_by_prompts_else_evenly(
    texts: list[str], parts: list[tuple[str, int]], tmp_path: Path
) -> None:
    scene = Scene()
    scene.thread.push_pop(texts[0], 90, 120)
    for number, text in enumerate(texts[1:]):
        scene.thread.start_end(text, 500 + number, 900 + number)
    scene.send(100, 1000)
    study = scene.study(tmp_path)
    assert study.shares.select("request_id", "bytes").rows() == parts
    assert set(study.shares["request_provenance"]) == {"estimated"}


def test_all_layers_needs_their_number(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer request=a layer=all", 90, 120)
    scene.send(100, 1000)
    assert [row[0] for row in shares(scene.study(tmp_path, 4))] == [0, 1, 2, 3]
    unknown = scene.study(tmp_path)
    assert shares(unknown) == [(None, None, "a", "exact", 1000, 100)]
    assert unknown.anomalies["layers-need-their-number"] == 1


@pytest.mark.parametrize("layer", ["x", "-1", "3-", "5-2", "1-99999", "999999999999999999999", "٣"])
def test_a_layer_that_is_none_is_counted(layer: str, tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop(f"kv_transfer request=a layer={layer}", 90, 120)
    scene.send(100)
    study = scene.study(tmp_path)
    expected = 3 if layer == "3-" else None
    assert shares(study)[0][0] == expected
    assert study.anomalies["layers-unreadable"] == (0 if layer == "3-" else 1)


def test_annotated_bytes_fill_what_the_payload_lacks(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer request=a layer=1 bytes=501", 90, 150)
    scene.send(100, None)
    scene.send(130, None)
    study = scene.study(tmp_path)
    assert study.transfers["bytes"].to_list() == [251, 250]
    assert study.transfers["bytes_source"].unique().to_list() == ["annotation"]


def test_the_payload_wins_over_the_annotation_with_a_warning(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer request=a layer=1 bytes=500", 90, 120)
    scene.send(100, 400)
    study = scene.study(tmp_path)
    assert study.transfers["bytes"].to_list() == [400]
    assert study.anomalies["annotated-bytes-differ"] == 1


def test_an_annotation_around_both_sides_gives_neither_its_bytes(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer request=a layer=1 bytes=500", 90, 150)
    scene.send(100, None)
    scene.thread.nccl("ncclRecv", 130, 140)
    study = scene.study(tmp_path)
    assert study.transfers["bytes"].null_count() == 2
    assert study.anomalies["annotations-around-both-sides"] == 1


def two_sides(folder: Path, send_text: str | None, recv_text: str | None, *, proven: bool = True) -> Study:
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for pid, name, text in ((1, "ncclSend", send_text), (2, "ncclRecv", recv_text)):
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        if proven:
            thread.nccl("ncclCommInitRank", 10, 50, communicator=5, nranks=2, rank=pid - 1, device=pid - 1)
        if text:
            thread.push_pop(text, 90, 120)
        thread.nccl(name, 100, 110, communicator=5, nbytes=1000, peer=2 - pid, payload="json")
        process.kernel(SEND_RECV, 1000, 1000 + 50 * pid, device=pid - 1, launch=thread.launch(102, 104), stream=20)
    return study_traces([builder.write(folder / "t.sqlite")], None)


def test_of_a_pair_that_nothing_proves_no_side_learns(tmp_path: Path) -> None:
    study = two_sides(tmp_path, "kv_transfer request=a layer=1", None, proven=False)
    if study.transfers["pairing_proof"].null_count() == 0:
        pytest.fail("the pair is proven")
    assert shares(study)[0][:4] == (None, None, None, None)
    assert study.anomalies["names-of-unproven-pairs"] == 2


def test_of_two_sides_that_differ_the_better_known_word_counts(tmp_path: Path) -> None:
    study = two_sides(tmp_path, "kv_transfer request=a layer=1", "request=b")
    assert shares(study) == [(1, "exact", "a", "exact", 1000, 100)]
    assert study.anomalies["sides-disagree-on-request"] == 1


def test_spellings_of_one_name_do_not_differ(tmp_path: Path) -> None:
    study = two_sides(tmp_path, "kv_transfer request=a%2Db layer=01", "kv_transfer request=a-b layer=1")
    assert {code for code, count in study.anomalies.items() if count} == set()


def test_the_standing_side_learns_from_the_other(tmp_path: Path) -> None:
    study = two_sides(tmp_path, "kv_transfer request=a layer=1", None)
    assert shares(study) == [(1, "exact", "a", "exact", 1000, 100)]
    assert study.transfers.filter("is_movement")["purpose"].to_list() == ["kv"]


def test_both_sides_of_a_pair_have_layer_and_request_in_the_transfers_frame(tmp_path: Path) -> None:
    study = two_sides(tmp_path, "kv_transfer request=a layer=1", None)
    assert study.transfers.select("side", "layer", "request_id", "layer_provenance").rows() == [
        ("send", 1, "a", "exact"),
        ("recv", 1, "a", "exact"),
    ]


def test_sides_that_differ_are_counted_and_the_receive_side_kept(tmp_path: Path) -> None:
    study = two_sides(tmp_path, "kv_transfer request=a layer=1", "kv_transfer request=b layer=1")
    assert shares(study) == [(1, "exact", "b", "exact", 1000, 100)]
    assert study.anomalies["sides-disagree-on-request"] == 1


def test_unknown_sizes_stay_unknown_in_every_share(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer request=a layer=0-1", 90, 120)
    scene.send(100, None)
    assert shares(scene.study(tmp_path)) == [
        (0, "estimated", "a", "exact", None, 50),
        (1, "estimated", "a", "exact", None, 50),
    ]


def test_roles_come_from_marks_that_agree(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.mark("kv_role role=prefill rank=0", 1)
    scene.send(100)
    study = scene.study(tmp_path)
    assert study.roles == {"t": ("prefill", "kv_role mark")}
    assert study.transfers["role"].to_list() == ["prefill"]
    scene.thread.mark("kv_role role=decode", 2)
    assert scene.study(tmp_path).transfers["role"].to_list() == [None]


def test_every_transfer_keeps_its_row(tmp_path: Path) -> None:
    scene = Scene()
    for index in range(5):
        scene.thread.push_pop(f"kv_transfer request=a layer={index}", 90 + 100 * index, 130 + 100 * index)
        scene.send(100 + 100 * index)
    study = scene.study(tmp_path)
    assert study.transfers["transfer_id"].to_list() == list(range(5))
    assert study.transfers.select(pl.col("layer"), "layer_provenance").rows() == [(i, "exact") for i in range(5)]


def test_a_replay_has_the_layer_of_its_capture_and_the_request_of_its_launch(tmp_path: Path) -> None:
    scene = Scene()
    captured, launched = "model.layers.4", "kv_step step=1 phase=prefill"
    for at, node, around in ((100, 1, captured), (200, 2, "model.layers.5"), (300, 3, "request:capture")):
        scene.thread.push_pop(around, at - 5, at + 20)
        scene.thread.nccl("ncclSend", at, at + 10, nbytes=1000, peer=1)
        scene.thread.graph_node(node, at + 5)
        scene.thread.graph_node(10 + node, 350, original=node)
    for index, inside in enumerate((launched, "kv_transfer layer=9 request=b")):
        at = 1000 * (index + 1)
        scene.thread.push_pop(f"request:req-{index}", at - 20, at + 40)
        scene.thread.push_pop(inside, at - 10, at + 30)
        launch = scene.thread.launch(at, at + 5, "cudaGraphLaunch_v10000")
        for node in (11, 12, 13):
            start = at + 100 * (node - 10)
            scene.process.kernel(SEND_RECV, start, start + 50, launch=launch, graphNodeId=node, stream=20)
    study = scene.study(tmp_path)
    assert shares(study) == [
        (4, "nested", "req-0", "nested", 1000, 50),
        (5, "nested", "req-0", "nested", 1000, 50),
        (None, None, "req-0", "nested", 1000, 50),
        *[(9, "exact", "b", "exact", 1000, 50)] * 3,
    ]
    assert study.transfers["phase"].to_list() == ["prefill"] * 3 + [None] * 3


def test_shares_stand_in_the_order_of_transfers_whether_they_divide_or_not() -> None:
    texts = {"layer_text": ["2", "0-1", None, "x"], "request_text": ["a", None, "a,b", "a%20b"]}
    weights = {
        "layer_bytes": [None, "3,1", None, None],
        "request_bytes": [None, None, None, "1,2"],
        "request_tokens": [None, None, None, None],
    }
    how = {
        "layer_provenance": ["exact", "nested", None, "exact"],
        "request_provenance": ["nested", None, "exact", "exact"],
    }
    amounts = {name: pl.Series([None] * 4, dtype=pl.Int64) for name in AMOUNTS}
    amounts |= {"bytes": pl.Series([8, 8, 8, None], dtype=pl.Int64), "time_ns": pl.Series([4, 3, 5, 6], dtype=pl.Int64)}
    ids = pl.Series([5, 3, 9, 4], dtype=pl.UInt32)
    told = {name: pl.Series(values, dtype=pl.String) for name, values in (texts | weights | how).items()}
    frame = pl.DataFrame({"transfer_id": ids, "is_movement": [True, True, True, True], **told, **amounts})
    anomalies: Counter[str] = Counter()
    assert divide(frame, None, anomalies).select(
        "transfer_id", "layer", "layer_provenance", "request_id", "request_provenance", "bytes", "time_ns"
    ).rows() == [
        (5, 2, "exact", "a", "nested", 8, 4),
        (3, 0, "estimated", None, None, 6, 2),
        (3, 1, "estimated", None, None, 2, 1),
        (9, None, None, "a", "estimated", 4, 3),
        (9, None, None, "b", "estimated", 4, 2),
        (4, None, None, "a b", "exact", None, 6),
    ]
    assert anomalies == {"layers-unreadable": 1, "weights-do-not-fit": 1}


@pytest.mark.parametrize(("weights", "how"), [("750,250", "exact"), ("3,1", "estimated"), ("0,0", "estimated")])
def test_given_bytes_are_exact_where_they_add_up(weights: str, how: str, tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop(f"kv_transfer request=a,b request_bytes={weights}", 90, 120)
    scene.send(100, 1000)
    study = scene.study(tmp_path)
    assert set(study.shares["request_provenance"]) == {how}
    assert study.shares["bytes"].sum() == 1000


def test_coverage_of_every_field_adds_up_to_what_moved(tmp_path: Path) -> None:
    scene = Scene()
    scene.thread.push_pop("kv_transfer request=a layer=0-1", 90, 120)
    scene.send(100)
    scene.send(300)
    analysis = analyse([scene.builder.write(tmp_path / "t.sqlite")])
    for field in ("layer", "request", "phase", "role"):
        rows = [each for each in analysis.coverage if each.field == field]
        assert sum(each.bytes or 0 for each in rows) == analysis.totals.bytes, field
        assert sum(each.time_ns or 0 for each in rows) == analysis.totals.time_ns, field
        assert sum(each.time_share or 0 for each in rows) == pytest.approx(1), field
    known = {(each.field, each.provenance): each.movement_count for each in analysis.coverage}
    assert known == {
        ("layer", "estimated"): 1, ("layer", "none"): 1, ("request", "exact"): 1, ("request", "none"): 1,
        ("phase", "none"): 2, ("role", "process"): 2,
    }  # fmt: skip
