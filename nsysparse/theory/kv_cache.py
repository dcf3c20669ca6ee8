"""How many bytes a model keeps per sequence, exactly, from its layer groups.

The sum is over layer groups, not `2 x layers x heads x width`, which is wrong for latent caches (one vector for keys
and values), windows, recurrent layers and layers without attention. Query heads never enter. Everything is for one
copy of the cache: no tensor-parallel share, no rounding up to cache blocks, no speculative layers.
"""

from nsysparse.catalog.entries import (
    Attention,
    FullAttention,
    IndexedLatent,
    Latent,
    LayerGroup,
    Model,
    WindowedAttention,
)
from nsysparse.catalog.sizes import entry_bytes, state_bytes
from nsysparse.errors import UsageError


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
    return sum(group.layers * entry_bytes(group, dtype_bytes) for group in attention)


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
    """Layers that keep anything, so have something to send; fewer than `model.layers` where blocks lack attention.

    A layer that runs attention and a recurrent state side by side is in two groups and counts once.
    """
    return min(model.layers, sum(group.layers for group in model.groups))


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
            return tokens * entry_bytes(group, dtype_bytes)
        case WindowedAttention(kind="sliding"):
            return min(tokens, group.window) * entry_bytes(group, dtype_bytes)
        case WindowedAttention():
            # The token after a full chunk starts the next one, so 1 to `window` tokens are live, never 0.
            return ((tokens - 1) % group.window + 1) * entry_bytes(group, dtype_bytes)
        case _:
            return state_bytes(group)
