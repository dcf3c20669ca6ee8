"""Cache sizes that papers, engines and makers of transfer libraries state, to the byte."""

from fractions import Fraction

import pytest

from nsysparse.catalog.loader import find_model
from nsysparse.theory.dtypes import cache_type
from nsysparse.theory.kv_cache import bytes_per_token, kv_bytes, sequence_bytes
from nsysparse.theory.layout import Layout

GIB = 2**30


@pytest.mark.parametrize(
    ("model_id", "per_token"),
    [
        ("llama-3-70b", 327_680),
        ("deepseek-v3", 70_272),
        ("kimi-k2", 70_272),
        ("deepseek-v3.2", 78_324),
        ("nemotron-super-49b", 200_704),
    ],
)
def test_bytes_per_token(model_id: str, per_token: int):
    assert bytes_per_token(find_model(model_id)) == per_token


@pytest.mark.parametrize(
    ("model_id", "tokens", "batch", "nbytes"),
    [
        ("llama-3-70b", 1_024, 1, 335_544_320),
        ("llama-3-70b", 1_000, 1, 327_680_000),
        ("llama-3-70b", 1_024, 32, 10_737_418_240),
        ("llama-3-70b", 128, 1, 41_943_040),
        ("llama-3-70b", 131_072, 1, 40 * GIB),  # "40 GB" of https://github.com/kvcache-ai/Mooncake are GiB
        ("opt-66b", 512, 1, 1_207_959_552),  # "1.13 GB" of https://arxiv.org/abs/2401.09670 are GiB
        ("opt-175b", 512, 1, 2_415_919_104),
        ("qwen3-8b", 32_768, 1, 4_831_838_208),
        ("deepseek-v3", 131_072, 1, 9_210_691_584),
        ("gpt-oss-20b", 128, 1, 128 * 49_152),  # as long as the window of every second layer
        ("gpt-oss-20b", 129, 1, 128 * 49_152 + 24_576),
        ("gpt-oss-120b", 1_024, 1, 1_024 * 36_864 + 4_718_592),
        ("mistral-7b-v0.1", 100_000, 1, 536_870_912),
    ],
)
def test_bytes_of_sequences(model_id: str, tokens: int, batch: int, nbytes: int):
    assert kv_bytes(find_model(model_id), tokens, batch) == nbytes
    assert sequence_bytes(find_model(model_id), tokens, batch=batch) == nbytes


# "Total KV transfer" of Qwen3-235B on eight GPUs, 4 KV heads:
# https://github.com/kvcache-ai/Mooncake/blob/main/docs/source/performance/sglang/sglang-benchmark-results-v1.md
@pytest.mark.parametrize(
    ("tokens", "nbytes", "published"),
    [(1_024, 394_264_576, "0.394"), (8_192, 3_154_116_608, "3.15"), (32_768, 12_616_466_432, "12.62")],
)
def test_eight_ranks_send_four_heads_twice(tokens: int, nbytes: int, published: str):
    model = find_model("qwen3-235b-a22b")
    assert sequence_bytes(model, tokens, layout=Layout(tp=8)) == nbytes == 2 * 192_512 * tokens
    assert sequence_bytes(model, tokens, layout=Layout(tp=4)) == nbytes // 2
    assert abs(Fraction(nbytes, 10**9) - Fraction(published)) <= Fraction(5, 1_000)


def test_one_rank_or_eight_send_heads_once_where_they_divide():
    for tp in (1, 2, 8):
        assert sequence_bytes(find_model("qwen3-8b"), 32_768, layout=Layout(tp=tp)) == 4_831_838_208


# Shares of a 16-bit cache, scales included; heads are 128 wide, the latent 512 + 64.
@pytest.mark.parametrize(
    ("model_id", "kind", "share"),
    [
        ("llama-3-70b", "fp8", "0.500"),
        ("llama-3-70b", "int8", "0.508"),
        ("llama-3-70b", "fp8-g128", "0.508"),
        ("llama-3-70b", "fp8-g128-fp32", "0.516"),
        ("llama-3-70b", "int4", "0.266"),
        ("llama-3-70b", "int4-g32", "0.313"),
        ("deepseek-v3", "fp8-mla", "0.569"),  # 656 of 1,152 bytes
    ],
)
def test_quantised_caches(model_id: str, kind: str, share: str):
    model = find_model(model_id)
    small, full = sequence_bytes(model, 1_000, kv_dtype=cache_type(kind)), kv_bytes(model, 1_000)
    assert abs(Fraction(small, full) - Fraction(share)) <= Fraction(5, 10_000)


def test_a_packed_latent_is_656_bytes_beside_its_indexer_keys():
    tokens, packed = 1_000, cache_type("fp8-mla")
    assert sequence_bytes(find_model("deepseek-v3"), tokens, kv_dtype=packed) == tokens * 61 * 656
    assert sequence_bytes(find_model("deepseek-v3.2"), tokens, kv_dtype=packed) == tokens * 61 * (656 + 132)
