"""What ranks send: heads and states divided, latents as asked, stages and blocks rounded up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.catalog.entries import FullAttention, Mamba2, Model
from nsysparse.catalog.loader import find_model, models
from nsysparse.errors import UsageError
from nsysparse.theory.dtypes import CacheType, cache_types
from nsysparse.theory.kv_cache import kv_bytes, rank_bytes, sequence_bytes
from nsysparse.theory.layout import WHOLE, Layout, layout

LAYOUTS = st.builds(
    Layout,
    tp=st.integers(1, 40),
    pp=st.integers(1, 9),
    block=st.sampled_from([1, 16, 48, 64]),
    mla=st.sampled_from(["replicated", "repeated", "divided"]),
)
MODELS = st.sampled_from(list(models().values()))
TYPES = st.sampled_from([kind for kind in cache_types().values() if kind.packed_values is None])


@pytest.mark.parametrize(
    ("tp", "rank", "together"),
    # 8 KV heads of 80 layers: 128 values of 2 bytes for keys and for values each.
    [(1, 8, 8), (2, 4, 8), (8, 1, 8), (16, 1, 16), (3, 3, 9)],
)
def test_heads_are_divided_and_kept_twice_where_there_are_too_few(tp: int, rank: int, together: int):
    model, head = find_model("llama-3-70b"), 100 * 80 * 2 * 128 * 2
    assert rank_bytes(model, 100, layout=Layout(tp=tp)) == rank * head
    assert sequence_bytes(model, 100, layout=Layout(tp=tp)) == together * head


@pytest.mark.parametrize(
    ("mla", "rank", "together"),
    [("replicated", 1_000, 1_000), ("repeated", 1_000, 8_000), ("divided", 125, 1_000)],
)
@pytest.mark.parametrize(("model_id", "per_token"), [("deepseek-v3", 70_272), ("deepseek-v3.2", 78_324)])
def test_latents_and_their_indexer_keys_are_sent_as_asked(
    model_id: str, per_token: int, mla: str, rank: int, together: int
):
    ranks = layout(tp=8, mla=mla)
    assert rank_bytes(find_model(model_id), 1_000, layout=ranks) == rank * per_token
    assert sequence_bytes(find_model(model_id), 1_000, layout=ranks) == together * per_token


def test_a_divided_latent_goes_by_whole_blocks():
    # 1,000 tokens are 16 blocks of 64, of which the fullest of 3 ranks has 6.
    ranks = Layout(tp=3, block=64, mla="divided")
    assert rank_bytes(find_model("deepseek-v3"), 1_000, layout=ranks) == 6 * 64 * 70_272
    assert sequence_bytes(find_model("deepseek-v3"), 1_000, layout=ranks) == 1_024 * 70_272


@pytest.mark.parametrize(
    ("model_id", "block", "tokens", "as_if"),
    [
        ("deepseek-v3", 64, 1_000, 1_024),
        ("llama-3-70b", 16, 1_000, 1_008),
        ("llama-3-70b", 16, 1_008, 1_008),
        ("llama-3-70b", 1_024, 1, 1_024),
        ("llama-3-70b", 16, 0, 0),
    ],
)
def test_whole_blocks_are_kept(model_id: str, block: int, tokens: int, as_if: int):
    model = find_model(model_id)
    assert sequence_bytes(model, tokens, batch=5, layout=Layout(block=block)) == kv_bytes(model, as_if, 5)


def test_a_window_caps_first_and_is_rounded_then():
    # gpt-oss-20b: half of 24 layers keep 128 tokens, which 48 does not divide: 3 blocks, 144 tokens.
    assert sequence_bytes(find_model("gpt-oss-20b"), 1_000, layout=Layout(block=48)) == (1_008 + 144) * 24_576
    # A chunk of 8,192 that has just begun is one block; the layers without chunks keep all 8,193 tokens.
    scout = sequence_bytes(find_model("llama-4-scout"), 8_193, layout=Layout(block=16))
    assert scout == (36 * 16 + 12 * 8_208) * 8 * 256 * 2


@pytest.mark.parametrize(
    ("model_id", "pp", "layers"),
    [("llama-3-70b", 1, 80), ("llama-3-70b", 4, 20), ("llama-3-70b", 3, 27), ("llama-3-70b", 80, 1)],
)
def test_the_largest_stage_has_the_layers_that_do_not_divide(model_id: str, pp: int, layers: int):
    model = find_model(model_id)
    assert rank_bytes(model, 100, layout=Layout(pp=pp)) == 100 * layers * 4_096
    assert rank_bytes(model, 100, layout=Layout(pp=pp, tp=8)) == 100 * layers * 512
    assert sequence_bytes(model, 100, layout=Layout(pp=pp)) == kv_bytes(model, 100)


@pytest.mark.parametrize(("pp", "full", "windowed"), [(2, 6, 6), (5, 3, 2), (24, 1, 0)])
def test_a_stage_has_no_more_layers_than_fit_whatever_its_groups_are(pp: int, full: int, windowed: int):
    # gpt-oss-20b, 24 layers: 12 keep all tokens, 12 keep 128, 2,048 bytes each; the heavier ones are taken first.
    sent = rank_bytes(find_model("gpt-oss-20b"), 1_000, layout=Layout(pp=pp))
    assert sent == (full * 1_000 + windowed * 128) * 2_048


def test_layers_side_by_side_are_both_in_their_stage():
    groups = (FullAttention("full", 6, 2, 16), Mamba2("mamba2", 6, 4, 8, 16, 1, 4, 2))
    model = Model("toy", "Toy", "hybrid", 6, 8, 768, 768, verified=False, source="arithmetic", groups=groups)
    assert rank_bytes(model, 10, layout=Layout(pp=6)) * 6 == kv_bytes(model, 10)


def test_states_are_divided_by_heads_and_stay_of_one_size():
    # Qwen3 Next: 36 layers with 32 value and 16 key heads of 128, convolution of 4; 12 with 2 KV heads of 256.
    model, cache = find_model("qwen3-next-80b"), 24_576
    for tp in (1, 2, 4, 16):
        held = kv_bytes(model, 1) - cache
        twice = max(tp // 2, 1)
        assert rank_bytes(model, 1, layout=Layout(tp=tp)) == held // tp + cache * twice // tp
        assert sequence_bytes(model, 1, layout=Layout(tp=tp)) == held + cache * twice
    # 32 ranks have a value head each, and share the 16 key heads by twos.
    values, keys = 128 * 128 * 2 + 128 * 3 * 2, 2 * 128 * 3 * 2
    assert rank_bytes(model, 1, layout=Layout(tp=32)) == 36 * (values + keys) + cache // 2
    assert rank_bytes(model, 0, layout=Layout(tp=32)) == 0


@pytest.mark.parametrize("model_id", ["jamba-v0.1", "nemotron-h-56b", "kimi-k3", "nemotron-3-nano-30b"])
def test_states_of_every_family_are_whole_on_two_ranks_together(model_id: str):
    model = find_model(model_id)
    assert sequence_bytes(model, 1, layout=Layout(tp=2)) == kv_bytes(model, 1)


@given(MODELS, st.integers(0, 20_000), st.integers(1, 9), LAYOUTS, TYPES)
def test_ranks_together_send_what_is_kept_and_none_sends_more_than_all(
    model: Model, tokens: int, batch: int, ranks: Layout, kind: CacheType
):
    whole = sequence_bytes(model, tokens, batch=batch, layout=Layout(block=ranks.block), kv_dtype=kind)
    together = sequence_bytes(model, tokens, batch=batch, layout=ranks, kv_dtype=kind)
    rank = rank_bytes(model, tokens, batch=batch, layout=ranks, kv_dtype=kind)
    assert whole <= together <= rank * ranks.tp * ranks.pp
    assert rank <= together


@given(MODELS, st.integers(0, 20_000), st.integers(1, 9), LAYOUTS, TYPES)
def test_more_sequences_send_that_many_times_and_more_tokens_no_less(
    model: Model, tokens: int, batch: int, ranks: Layout, kind: CacheType
):
    for size in (sequence_bytes, rank_bytes):
        one = size(model, tokens, layout=ranks, kv_dtype=kind)
        assert size(model, tokens, batch=batch, layout=ranks, kv_dtype=kind) == batch * one
        # Only chunks empty, when the next one starts.
        if "chunked" not in {group.kind for group in model.groups}:
            assert size(model, tokens + 1, layout=ranks, kv_dtype=kind) >= one


@pytest.mark.parametrize("size", [sequence_bytes, rank_bytes])
def test_more_stages_than_layers_are_refused(size):
    with pytest.raises(UsageError, match="36 layers, too few for 37 pipeline stages") as refused:
        size(find_model("qwen3-8b"), 1_000, layout=Layout(pp=37))
    assert "at most 36" in refused.value.hint


def test_a_layout_is_what_was_asked_for():
    assert layout() == WHOLE == Layout(1, 1, 1, "replicated")
    assert layout(8, 2, 16, "divided") == Layout(tp=8, pp=2, block=16, mla="divided")


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"tp": 0}, "0 tensor-parallel ranks"),
        ({"pp": -1}, "-1 pipeline stages"),
        ({"block": 0}, "0 tokens per block"),
        ({"mla": "shared"}, "'shared'"),
    ],
)
def test_a_layout_that_makes_no_sense_is_refused_with_what_would(asked: dict, named: str):
    with pytest.raises(UsageError, match=named) as refused:
        layout(**asked)
    assert refused.value.hint
