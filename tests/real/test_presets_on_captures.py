"""Presets on captures that others published."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nsysparse.api import check_preset, inspect

pytestmark = pytest.mark.real


def test_lmcaches_ranges_are_known(shared: Callable[[str], Path]) -> None:
    (looked,) = check_preset("lmcache", [shared("real_traces/lmcache_perf-test.v2023.sqlite")]).traces
    assert looked.active == ("own", "lmcache", "generic")
    uses = {use.rule: (use.text_count, use.range_count) for use in looked.rules}
    assert uses["lmcache/remote"] == (5, 207)
    assert looked.unknown == ()


def test_operations_of_torch_are_known(shared: Callable[[str], Path]) -> None:
    path = shared("real_traces/nsys-ai_mfu_2gpu_before.sqlite")
    (looked,) = check_preset("torch", [path]).traces
    uses = {use.rule: use for use in looked.rules}
    assert uses["torch/all-to-all"].range_count == 132
    assert uses["torch/emit-nvtx"].overruled_by == {"torch/all-to-all": 132}
    assert (looked.unknown_text_count, looked.unknown_range_count) == (1, 66)
    assert inspect([path]).traces[0].presets == ("own", "torch", "generic")


def test_unknown_texts_are_told_by_their_shape(shared: Callable[[str], Path]) -> None:
    """Parameters of a trained model are named, but as what is reduced: no layer that a range is about."""
    path = shared("real_traces/cs336-lizhieffe_ddp53_profile.sqlite")
    (looked,) = check_preset("generic", [path], most=2).traces
    assert {use.text_count for use in looked.rules} == {0}
    assert [(each.shape, each.range_count) for each in looked.unknown] == [
        ("all_reduce grad [layers.#.ffn.w#.weight]", 72), ("all_reduce grad [layers.#.ln#.weight]", 48),
    ]  # fmt: skip


def test_a_preset_of_ones_own_knows_them(shared: Callable[[str], Path], tmp_path: Path) -> None:
    mine = tmp_path / "ddp.toml"
    mine.write_text(
        "name = 'ddp'\nabout = 'gradients'\n[[rule]]\nid = 'grad'\nkind = 'collective'\npurpose = 'other'\n"
        r"pattern = '^all_reduce grad \[layers\.(?P<layer>\d+)\.'" + "\n"
        "examples = [{ text = 'all_reduce grad [layers.0.ln1.weight]', fields = { layer = '0' } }]\n"
    )
    path = shared("real_traces/cs336-lizhieffe_ddp53_profile.sqlite")
    (looked,) = check_preset(str(mine), [path]).traces
    (use,) = looked.rules
    assert (use.text_count, use.range_count) == (108, 216)
    assert use.fields == {"layer": "0"}
