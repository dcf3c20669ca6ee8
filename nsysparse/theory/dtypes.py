"""The types that cached values have, in memory or while they cross: bits per value, and the scales beside them.

A scale belongs to a group of values of one vector (the keys of one head, its values, or one latent), never to values of
two: so engines quantise, and so a head costs the same on whichever rank it lies. A type with one scale for a whole
tensor keeps it apart from the cache, and nothing is counted for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from nsysparse.errors import UsageError


@dataclass(frozen=True, slots=True)
class CacheType:
    """How one value is kept, and what is kept beside it.

    `bits` are those of one value, `group` the values that share `group_bytes` bytes of scale and zero point; None where
    nothing is kept beside them. A packed entry is all that a token has in one layer: it exists for latents of
    `packed_values` values only, the last `wide_values` of which stay 16 bits wide and have no scale.
    """

    id: str
    name: str
    bits: int
    group: int | None = None
    group_bytes: int = 0
    packed_values: int | None = None
    wide_values: int = 0


NARROW_BITS = 8
"""A cache of so many bits a value, or of fewer, is not compressed further for its way."""
_WIDE_BYTES = 2

# A scale is FP16 or FP32, and an asymmetric type has a zero point beside it. LMDeploy keeps both per head and token, so
# per 128 values of common heads: https://github.com/InternLM/lmdeploy/blob/main/docs/en/quantization/kv_quant.md
_TYPES = (
    CacheType("16-bit", "FP16 or BF16", 16),
    # "fp8" of vLLM: scales per tensor lie outside the cache: https://github.com/vllm-project/vllm/pull/47043
    CacheType("fp8", "FP8, one scale per tensor", 8),
    CacheType("fp8-g128", "FP8, a 2-byte scale per 128 values", 8, 128, 2),
    CacheType("fp8-g128-fp32", "FP8, a 4-byte scale per 128 values", 8, 128, 4),
    # "fp8_ds_mla" of vLLM: 512 FP8 values, four FP32 scales, 64 BF16 values = 656 bytes:
    # https://github.com/vllm-project/vllm/pull/48439, https://github.com/flashinfer-ai/flashinfer/issues/2426
    CacheType("fp8-mla", "FP8 latent of 512 packed with a 16-bit rotary part of 64", 8, 128, 4, 576, 64),
    CacheType("int8", "INT8, a 2-byte scale per 128 values", 8, 128, 2),
    CacheType("int4", "INT4, a 2-byte scale and zero point per 128 values", 4, 128, 4),
    CacheType("int4-g32", "INT4, a 2-byte scale and zero point per 32 values", 4, 32, 4),
    CacheType("fp32", "FP32", 32),
)
_ALIASES = {"bf16": "16-bit", "fp16": "16-bit"}


def cache_types() -> Mapping[str, CacheType]:
    """All types by id, in the order in which they are shown."""
    return {kind.id: kind for kind in _TYPES}


def default_type() -> CacheType:
    """What a cache is kept in unless somebody says otherwise: 16 bits per value."""
    return _TYPES[0]


def cache_type(name: str) -> CacheType:
    """The type of that id or alias, in capitals or not.

    Raises:
        UsageError: There is no such type; the hint lists all of them.
    """
    known, asked = cache_types(), name.lower()
    if (found := known.get(_ALIASES.get(asked, asked))) is None:
        raise UsageError(f"There is no type of cached values called {name!r}.", f"Known: {', '.join(known)}.")
    return found


def value_bytes(count: int, kind: CacheType) -> int:
    """Bytes of one vector of `count` values with its scales; a group that is not full is rounded up to whole bytes.

    Raises:
        UsageError: The type is a packed entry, and not of that many values.
    """
    if kind.packed_values not in (None, count):
        raise UsageError(
            f"A cache in {kind.id} holds latents of {kind.packed_values} values, not vectors of {count}.",
            "fp8 is the 8-bit type without a layout of its own.",
        )
    narrow = count - kind.wide_values
    group = kind.group or narrow or 1
    full, rest = divmod(narrow, group)
    nbytes = full * _packed(group, kind) + (_packed(rest, kind) if rest else 0)
    return nbytes + kind.wide_values * _WIDE_BYTES


def _packed(values: int, kind: CacheType) -> int:
    """Bytes of the values of one group and of what is kept beside them."""
    return -(-values * kind.bits // 8) + kind.group_bytes
