"""Types of cached values: bytes of a vector, names, and what they cannot hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.catalog.loader import find_model
from nsysparse.errors import UsageError
from nsysparse.theory.dtypes import CacheType, cache_type, cache_types, default_type, value_bytes
from nsysparse.theory.kv_cache import rank_bytes, sequence_bytes

PLAIN = [kind for kind in cache_types().values() if kind.packed_values is None]


@pytest.mark.parametrize(
    ("name", "count", "nbytes"),
    [
        ("16-bit", 128, 256),
        ("fp32", 128, 512),
        ("fp8", 128, 128),
        ("int8", 128, 130),
        ("fp8-g128", 256, 260),
        ("fp8-g128-fp32", 256, 264),
        ("int4", 128, 68),
        ("int4-g32", 128, 80),
        ("fp8-mla", 576, 656),
        # A group that is not full has its scale too, and half a byte is a byte.
        ("int8", 192, 192 + 2 * 2),
        ("int8", 64, 66),
        ("int8", 576, 576 + 5 * 2),
        ("int4", 1, 1 + 4),
        ("int4", 129, 64 + 1 + 2 * 4),
        ("int4-g32", 65, 32 + 1 + 3 * 4),
        ("int4", 0, 0),
    ],
)
def test_a_vector_costs_its_values_and_their_scales(name: str, count: int, nbytes: int):
    assert value_bytes(count, cache_type(name)) == nbytes


@given(st.sampled_from(PLAIN), st.integers(0, 2_000), st.integers(0, 2_000))
def test_more_values_cost_no_less_and_groups_waste_no_more_than_one(kind: CacheType, count: int, more: int):
    together = value_bytes(count + more, kind)
    assert value_bytes(count, kind) <= together <= value_bytes(count, kind) + value_bytes(more, kind)
    assert 8 * together >= (count + more) * kind.bits


@pytest.mark.parametrize("name", ["bf16", "fp16", "BF16", "16-BIT"])
def test_a_type_has_other_names(name: str):
    assert cache_type(name) == default_type()


def test_every_type_is_found_by_its_id():
    assert [cache_type(name) for name in cache_types()] == list(cache_types().values())


def test_an_unknown_type_is_refused_with_those_that_are_known():
    with pytest.raises(UsageError, match="'fp4'") as refused:
        cache_type("fp4")
    assert all(name in refused.value.hint for name in cache_types())


@pytest.mark.parametrize("size", [sequence_bytes, rank_bytes])
@pytest.mark.parametrize("model_id", ["llama-3-70b", "gpt-oss-20b", "qwen3-next-80b"])
def test_heads_have_no_packed_latents(size, model_id: str):
    with pytest.raises(UsageError, match="latents of 576 values, not vectors of") as refused:
        size(find_model(model_id), 1_000, kv_dtype=cache_type("fp8-mla"))
    assert "fp8" in refused.value.hint


def test_a_group_never_spans_two_heads():
    # Heads of 64 values: each has a scale of its own, so 66 bytes for keys and for values.
    assert sequence_bytes(find_model("llama-3.2-1b"), 1, kv_dtype=cache_type("int8")) == 16 * 8 * 2 * 66
