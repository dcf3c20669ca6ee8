"""How many bytes a model keeps per sequence, exactly, from its layer groups.

The sum is over layer groups, not `2 x layers x heads x width`, which is wrong for latent caches (one vector for keys
and values), windows, recurrent layers and layers without attention. Query heads never enter. Everything is for one
copy of the cache: no tensor-parallel share, no rounding up to cache blocks, no speculative layers.
"""

from nsysparse.catalog.entries import (
    Attention,
    FullAttention,
    GatedDeltaNet,
    IndexedLatent,
    Kda,
    Latent,
    LayerGroup,
    Mamba1,
    Mamba2,
    Model,
    Recurrent,
    WindowedAttention,
)
from nsysparse.errors import UsageError

# Engines keep the inputs of a recurrent layer's short convolution in the 16-bit type of the activations, whatever the
# type of the cache or of the state is.
CONV_BYTES = 2


def bytes_per_token(model: Model, dtype_bytes: int = 2) -> int:
    """Bytes that one more token adds while it still fits every window: all attention layers, no recurrent state.

    Args:
        model: An entry of the catalogue.
        dtype_bytes: Bytes per cached value: 2 for FP16 and BF16.

    Raises:
        UsageError: `dtype_bytes` is less than 1.
    """
    _at_least(1, dtype_bytes, "bytes per cached value")
    attention = [group for group in model.groups if isinstance(group, Attention)]
    return sum(group.layers * _entry_bytes(group, dtype_bytes) for group in attention)


def kv_bytes(model: Model, tokens: int, batch: int = 1, dtype_bytes: int = 2) -> int:
    """Bytes that `batch` sequences of `tokens` tokens each keep, recurrent states included.

    Args:
        model: An entry of the catalogue.
        tokens: Tokens per sequence; 0 tokens keep nothing.
        batch: Sequences of that length.
        dtype_bytes: Bytes per cached value. Recurrent states and indexer keys have their own type and ignore it.

    Raises:
        UsageError: `tokens` is negative, or one of the others is less than 1.
    """
    _check(tokens, batch, dtype_bytes)
    return batch * sum(group.layers * _per_layer(group, tokens, dtype_bytes) for group in model.groups)


def layer_count(model: Model) -> int:
    """Layers that keep anything, so have something to send; fewer than `model.layers` where blocks lack attention."""
    return sum(group.layers for group in model.groups)


def _check(tokens: int, batch: int, dtype_bytes: int) -> None:
    _at_least(0, tokens, "tokens")
    _at_least(1, batch, "sequences")
    _at_least(1, dtype_bytes, "bytes per cached value")


def _at_least(minimum: int, value: int, what: str) -> None:
    if value < minimum:
        raise UsageError(f"A cache of {value} {what} is asked for; at least {minimum} is needed.")


def _per_layer(group: LayerGroup, tokens: int, dtype_bytes: int) -> int:
    """Bytes that one layer of the group keeps for one sequence."""
    if tokens == 0:
        return 0
    match group:
        case FullAttention() | Latent() | IndexedLatent():
            return tokens * _entry_bytes(group, dtype_bytes)
        case WindowedAttention(kind="sliding"):
            return min(tokens, group.window) * _entry_bytes(group, dtype_bytes)
        case WindowedAttention():
            # The token after a full chunk starts the next one, so 1 to `window` tokens are live, never 0.
            return ((tokens - 1) % group.window + 1) * _entry_bytes(group, dtype_bytes)
        case _:
            return _state_bytes(group)


def _entry_bytes(group: Attention, dtype_bytes: int) -> int:
    """Bytes that one token adds to one layer of the group."""
    match group:
        case FullAttention() | WindowedAttention():
            value_dim = group.head_dim if group.v_head_dim is None else group.v_head_dim
            return group.kv_heads * (group.head_dim + value_dim) * dtype_bytes
        case Latent():
            return (group.kv_lora_rank + group.qk_rope_head_dim) * dtype_bytes
        case IndexedLatent():
            # The indexer's keys are FP8 with a scale in every engine, so their size ignores `dtype_bytes`.
            return (group.kv_lora_rank + group.qk_rope_head_dim) * dtype_bytes + group.index_bytes_per_token


def _state_bytes(group: Recurrent) -> int:
    """Bytes of one layer's recurrent state and convolution window for one sequence, however long."""
    match group:
        case GatedDeltaNet():
            values, channels = group.v_heads * group.v_dim * group.k_dim, 2 * group.k_heads * group.k_dim
            channels += group.v_heads * group.v_dim
        case Kda():
            values, channels = group.heads * group.head_dim**2, 3 * group.heads * group.head_dim
        case Mamba1():
            values, channels = group.d_inner * group.d_state, group.d_inner
        case Mamba2():
            inner = group.heads * group.head_dim
            values, channels = inner * group.d_state, inner + 2 * group.n_groups * group.d_state
    return values * group.state_bytes + channels * (group.conv_kernel - 1) * CONV_BYTES
