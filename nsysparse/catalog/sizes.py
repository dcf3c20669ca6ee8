"""Bytes that one layer of a group keeps: the formulas that the header of `models.toml` states, each once.

Sizes of a whole model and of sequences are theory's; both it and entries made from files compute with these.
"""

from collections.abc import Sequence
from typing import NamedTuple

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
    Recurrent,
    WindowedAttention,
)

# Engines keep the inputs of a recurrent layer's short convolution in the 16-bit type of the activations, whatever the
# type of the cache or of the state is.
CONV_BYTES = 2


class Stated(NamedTuple):
    """What an entry states of its groups, for 16-bit values; the names are those of `Model`."""

    short_bytes_per_token: int
    long_bytes_per_token: int
    window_cap_bytes: int | None
    state_bytes: int | None


def stated(groups: Sequence[LayerGroup]) -> Stated:
    """The figures that an entry with these groups states; caps and states are None where no layer has one."""
    attention = [group for group in groups if isinstance(group, Attention)]
    windowed = [group for group in attention if isinstance(group, WindowedAttention)]
    recurrent = [group for group in groups if isinstance(group, Recurrent)]
    short = sum(group.layers * entry_bytes(group, 2) for group in attention)
    return Stated(
        short_bytes_per_token=short,
        long_bytes_per_token=short - sum(group.layers * entry_bytes(group, 2) for group in windowed),
        window_cap_bytes=sum(group.layers * group.window * entry_bytes(group, 2) for group in windowed) or None,
        state_bytes=sum(group.layers * state_bytes(group) for group in recurrent) or None,
    )


class Entry(NamedTuple):
    """What one token adds to one layer: for each of `heads`, a vector of each of `widths` values in the cache's type.

    `own_bytes` have a type of their own, whatever the cache's is.
    """

    heads: int
    widths: tuple[int, ...]
    own_bytes: int = 0


def entry(group: Attention) -> Entry:
    """What one token adds to one layer of the group; a latent counts as one head with one vector."""
    match group:
        case FullAttention() | WindowedAttention():
            value_dim = group.head_dim if group.v_head_dim is None else group.v_head_dim
            return Entry(group.kv_heads, (group.head_dim, value_dim))
        case Latent():
            return Entry(1, (group.kv_lora_rank + group.qk_rope_head_dim,))
        case IndexedLatent():
            # The indexer's keys are FP8 with a scale in every engine.
            return Entry(1, (group.kv_lora_rank + group.qk_rope_head_dim,), group.index_bytes_per_token)


def entry_bytes(group: Attention, dtype_bytes: int) -> int:
    """Bytes that one token adds to one layer of the group, `dtype_bytes` for each value of the cache's type."""
    heads, widths, own_bytes = entry(group)
    return heads * sum(widths) * dtype_bytes + own_bytes


def state_bytes(group: Recurrent) -> int:
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
