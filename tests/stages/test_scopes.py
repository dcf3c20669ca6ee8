"""Ranges that a preset knows, what they say and what ran on the GPU inside, as `export --frame scopes` gives them."""

from pathlib import Path

import pytest

from nsysparse.api import Options, export_frame
from nsysparse.errors import NsysparseError
from nsysparse.testing import TraceBuilder


def trace(folder: Path) -> Path:
    """A step with two layers, a request from start to end on several threads, a mark, and ranges that nobody knows."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    process = builder.process(pid=11)
    main, other = process.thread(tid=21), process.thread(tid=22)
    main.mark("kv_role role=prefill layers=2", 5)
    main.push_pop("kv_step step=4 phase=prefill requests=a", 100, 900)
    main.push_pop("nobody knows this", 110, 890)
    for layer, at in ((0, 200), (1, 400)):
        main.push_pop(f"kv_layer layer={layer}", at, at + 150)
        launch = main.launch(at + 10, at + 20)
        process.kernel("gemm", at + 1_000, at + 1_090, launch=launch)
        process.kernel("gemm", at + 1_100, at + 1_150, launch=launch)
    main.start_end("kv_request request=a-deadbeef prompt=512", 50, 2_000, end_thread=other)
    other.push_pop("model.layers.7", 3_000, 3_100)
    return builder.write(folder / "t.sqlite")


def scopes(folder: Path, **asked: object) -> dict[str, dict[str, object]]:
    rows = export_frame([trace(folder)], "scopes", Options(purpose="all", **asked))  # type: ignore[arg-type]
    return {str(row["name"]): row for row in rows.iter_rows(named=True)}


def test_what_ran_on_the_gpu_inside_ends_a_scope_there(tmp_path: Path) -> None:
    found = scopes(tmp_path)
    projected = {
        name: (row["projected_start_ns"], row["projected_end_ns"], row["gpu_op_count"]) for name, row in found.items()
    }
    assert projected == {
        "kv_step step=4 phase=prefill requests=a": (1_200, 1_550, 4),
        "kv_layer layer=0": (1_200, 1_350, 2),
        "kv_layer layer=1": (1_400, 1_550, 2),
        "kv_request request=a-deadbeef prompt=512": (1_200, 1_550, 4),
        "model.layers.7": (None, None, 0),
    }


def test_a_scope_says_what_its_rule_found_and_which_rule(tmp_path: Path) -> None:
    found = scopes(tmp_path)
    said = found["kv_step step=4 phase=prefill requests=a"]
    assert {name: said[name] for name in ("rule", "kind", "step", "phase", "requests", "layer", "pid", "tid")} == {
        "rule": "own/kv_step", "kind": "step", "step": "4", "phase": "prefill", "requests": "a", "layer": None,
        "pid": 11, "tid": 21,
    }  # fmt: skip
    layers = {name: row["layer"] for name, row in found.items() if row["kind"] == "layer"}
    assert layers == {"kv_layer layer=0": "0", "kv_layer layer=1": "1", "model.layers.7": "7"}
    assert found["model.layers.7"]["rule"] == "generic/layer-path"


def test_ids_are_normalised_as_asked(tmp_path: Path) -> None:
    found = scopes(tmp_path, normalize_request="^(.*)-[0-9a-f]{8}$")
    assert found["kv_request request=a-deadbeef prompt=512"]["request"] == "a"


def test_a_pattern_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NsysparseError):
        scopes(tmp_path, normalize_request="(")


def test_ranges_that_attribute_nothing_are_marked(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10_000)
    thread = builder.process(pid=1).thread(tid=1)
    thread.push_pop("kv_layer layer=0", 100, 300)
    thread.push_pop("kv_layer layer=1", 200, 400)
    thread.push_pop("kv_layer layer=2", 500, None)
    thread.start_end("kv_request request=r", 600, None)
    rows = export_frame([builder.write(tmp_path / "t.sqlite")], "scopes")
    assert rows.select("name", "style", "is_open", "end_ns").rows() == [
        ("kv_layer layer=0", "crossed", False, 300),
        ("kv_layer layer=1", "crossed", False, 400),
        ("kv_layer layer=2", "open", True, 10_000),
        ("kv_request request=r", "start_end", True, 10_000),
    ]


def test_order_is_that_of_ranges_whatever_the_order_of_rows(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    for pid in (2, 1):
        thread = builder.process(pid=pid).thread(tid=pid)
        for layer in (3, 0, 2):
            thread.push_pop(f"kv_layer layer={layer}", 10 * layer, 10 * layer + 5)
    plain = export_frame([builder.write(tmp_path / "t.sqlite")], "scopes")
    builder.shuffle(5)
    assert export_frame([builder.write(tmp_path / "t.sqlite")], "scopes").equals(plain)
    assert plain.select("pid", "layer").rows() == [(pid, layer) for pid in (1, 2) for layer in "023"]
