"""Cache sizes: every model of the catalogue against a count that lists what is kept, and types of values."""

import tomllib
from collections.abc import Callable
from importlib.resources import files
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.catalog.entries import Model
from nsysparse.catalog.loader import find_model, models, parse_models
from nsysparse.errors import UsageError
from nsysparse.theory.dtypes import cache_type
from nsysparse.theory.kv_cache import (
    bytes_per_token,
    kv_bytes,
    layer_count,
    rank_bytes,
    sequence_bytes,
    wire_bytes,
)

RAW = {
    table["id"]: table
    for table in tomllib.loads(files("nsysparse.catalog").joinpath("models.toml").read_text(encoding="utf-8"))["model"]
}
FULL_WINDOWS = 16_384  # a multiple of every window and chunk of the catalogue


def kept(group: dict, tokens: int, value_bytes: int) -> int:
    """Bytes that one layer keeps: the tokens it still holds, one by one, times the tensors it stores for each."""
    kind, window, now = group["kind"], group.get("window"), tokens - 1
    if kind in {"full", "sliding", "chunked", "mla", "mla_dsa"}:
        held = {
            "sliding": lambda token: now - token < window,
            "chunked": lambda token: token // window == now // window,
        }.get(kind, lambda _: True)
        live = sum(1 for token in range(tokens) if held(token))
        if kind in {"mla", "mla_dsa"}:
            latent = (group["kv_lora_rank"] + group["qk_rope_head_dim"]) * value_bytes
            index = group["index_head_dim"] + 4 if kind == "mla_dsa" else 0
            return live * (latent + index)
        keys = (group["kv_heads"], group["head_dim"], value_bytes)
        values = (group["kv_heads"], group.get("v_head_dim", group["head_dim"]), value_bytes)
        return live * (prod(keys) + prod(values))
    history, half = group["conv_kernel"] - 1, 2
    state, conv = {
        "gated_delta_net": lambda g: (
            [(g["v_heads"], g["k_dim"], g["v_dim"])],
            [(g["k_heads"], g["k_dim"]), (g["k_heads"], g["k_dim"]), (g["v_heads"], g["v_dim"])],
        ),
        "kda": lambda g: ([(g["heads"], g["head_dim"], g["head_dim"])], [(g["heads"], g["head_dim"])] * 3),
        "mamba1": lambda g: ([(g["d_inner"], g["d_state"])], [(g["d_inner"],)]),
        "mamba2": lambda g: (
            [(g["heads"], g["head_dim"], g["d_state"])],
            [(g["heads"], g["head_dim"]), (g["n_groups"], g["d_state"]), (g["n_groups"], g["d_state"])],
        ),
    }[kind](group)
    return sum(map(prod, state)) * group["state_bytes"] + sum(map(prod, conv)) * history * half


@pytest.mark.parametrize("model", models().values(), ids=lambda model: model.id)
@pytest.mark.parametrize("tokens", [1, 127, 128, 129, 4097, 8192, 8193])
def test_every_model_keeps_what_its_tensors_add_up_to(model: Model, tokens: int):
    expected = sum(group["layers"] * kept(group, tokens, 2) for group in RAW[model.id]["group"])
    assert kv_bytes(model, tokens) == expected


@pytest.mark.parametrize("model", models().values(), ids=lambda model: model.id)
def test_every_model_yields_the_catalogue_s_own_figures(model: Model):
    assert bytes_per_token(model) == model.short_bytes_per_token
    state = model.state_bytes or 0
    assert kv_bytes(model, 1) == model.short_bytes_per_token + state
    grown = kv_bytes(model, 2 * FULL_WINDOWS) - kv_bytes(model, FULL_WINDOWS)
    assert grown == FULL_WINDOWS * model.long_bytes_per_token
    windowed = kv_bytes(model, FULL_WINDOWS) - FULL_WINDOWS * model.long_bytes_per_token - state
    assert windowed == (model.window_cap_bytes or 0)


def test_a_chunk_empties_when_the_next_one_starts():
    scout = find_model("llama-4-scout")
    chunked = 36 * 8 * 256 * 2
    assert kv_bytes(scout, 8_193) == kv_bytes(scout, 8_192) + 49_152 - 8_191 * chunked


def test_query_heads_and_unlisted_layers_play_no_part():
    text = """
schema = 1
[[model]]
id = "toy"
name = "Toy"
attention = "gqa"
layers = {layers}
query_heads = {heads}
short_bytes_per_token = 1
long_bytes_per_token = 1
verified = false
source = "arithmetic"
  [[model.group]]
  kind = "full"
  layers = 3
  kv_heads = 2
  head_dim = 5
  v_head_dim = 7
"""
    sizes = {
        kv_bytes(parse_models(text.format(layers=layers, heads=heads), "toy")["toy"], 11)
        for layers, heads in ((3, 2), (3, 64), (9, 2))
    }
    assert sizes == {11 * 3 * 2 * (5 + 7) * 2}


def test_the_value_type_changes_what_has_that_type_and_nothing_else():
    assert bytes_per_token(find_model("llama-3-70b"), dtype_bytes=1) == 163_840
    assert bytes_per_token(find_model("deepseek-v3.2"), dtype_bytes=1) == 61 * (576 + 132)
    hybrid = find_model("qwen3-next-80b")
    assert kv_bytes(hybrid, 10, dtype_bytes=4) == 10 * 2 * 24_576 + 39_518_208


@given(st.sampled_from(list(models().values())), st.integers(0, 300_000), st.integers(1, 64))
def test_a_batch_is_that_many_sequences_and_no_sequence_exceeds_its_uncapped_size(
    model: Model, tokens: int, batch: int
):
    one = kv_bytes(model, tokens)
    assert kv_bytes(model, tokens, batch) == batch * one
    assert 0 <= one <= tokens * model.short_bytes_per_token + (model.state_bytes or 0)


def test_no_tokens_keep_nothing_not_even_a_state():
    assert kv_bytes(find_model("jamba-v0.1"), 0) == 0


@pytest.mark.parametrize(
    ("tokens", "batch", "dtype_bytes", "named"),
    [(-1, 1, 2, "-1 tokens"), (1, 0, 2, "0 sequences"), (1, 1, 0, "0 bytes per cached value")],
)
def test_sizes_that_make_no_sense_are_refused(tokens: int, batch: int, dtype_bytes: int, named: str):
    with pytest.raises(UsageError, match=named):
        kv_bytes(find_model("qwen3-8b"), tokens, batch, dtype_bytes)
    if dtype_bytes == 0:
        with pytest.raises(UsageError, match=named):
            bytes_per_token(find_model("qwen3-8b"), dtype_bytes)


@pytest.mark.parametrize(
    ("model_id", "count"),
    [("llama-3-8b", 32), ("nemotron-super-49b", 49), ("nemotron-h-56b", 64), ("kimi-k3", 93)],
)
def test_layers_that_have_something_to_send(model_id: str, count: int):
    assert layer_count(find_model(model_id)) == count


@pytest.mark.parametrize("model", models().values(), ids=lambda model: model.id)
@pytest.mark.parametrize("tokens", [0, 1, 129, 8_193])
def test_on_one_rank_all_that_is_kept_is_sent(model: Model, tokens: int):
    kept = kv_bytes(model, tokens, 3)
    assert sequence_bytes(model, tokens, batch=3) == kept
    assert rank_bytes(model, tokens, batch=3) == kept
    assert wire_bytes(model, tokens, batch=3) == kept


@pytest.mark.parametrize(
    ("stored", "wire", "nbytes"),
    [
        (None, None, 1_000 * 147_456),
        (None, "fp8", 1_000 * 73_728),
        ("fp32", "16-bit", 1_000 * 147_456),
        ("fp8", None, 1_000 * 73_728),
        ("fp8", "int4", 1_000 * 36 * 8 * 2 * 68),
    ],
)
def test_the_wire_has_a_type_of_its_own(stored: str | None, wire: str | None, nbytes: int):
    kv_dtype, wire_dtype = (name and cache_type(name) for name in (stored, wire))
    assert wire_bytes(find_model("qwen3-8b"), 1_000, kv_dtype=kv_dtype, wire_dtype=wire_dtype) == nbytes


@pytest.mark.parametrize(
    ("stored", "wire"),
    [(None, "16-bit"), (None, "fp32"), ("fp8", "fp8"), ("fp8", "int8"), ("fp8-g128", "fp8"), ("int4-g32", "int4")],
)
def test_what_is_kept_in_as_few_bits_is_not_compressed_again(stored: str | None, wire: str):
    kv_dtype = None if stored is None else cache_type(stored)
    with pytest.raises(UsageError, match="saves nothing") as refused:
        wire_bytes(find_model("qwen3-8b"), 1_000, kv_dtype=kv_dtype, wire_dtype=cache_type(wire))
    assert "fewer than" in refused.value.hint


def test_neither_type_touches_states_and_indexer_keys():
    hybrid, indexed, fp8 = find_model("qwen3-next-80b"), find_model("deepseek-v3.2"), cache_type("fp8")
    for sent in ({"kv_dtype": fp8}, {"wire_dtype": fp8}):
        assert wire_bytes(hybrid, 10, **sent) == 10 * 24_576 // 2 + 39_518_208
        assert wire_bytes(indexed, 10, **sent) == 10 * 61 * (576 + 132)


@pytest.mark.parametrize("size", [sequence_bytes, rank_bytes, wire_bytes])
@pytest.mark.parametrize(("tokens", "batch", "named"), [(-1, 1, "-1 tokens"), (1, 0, "0 sequences")])
def test_what_is_sent_makes_sense_too(size: Callable[..., int], tokens: int, batch: int, named: str):
    with pytest.raises(UsageError, match=named):
        size(find_model("qwen3-8b"), tokens, batch=batch)
