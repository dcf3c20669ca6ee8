"""How many bytes a model keeps per sequence, exactly, from its layer groups, and how many of them ranks hand over.

The sum is over layer groups, not `2 x layers x heads x width`, which is wrong for latent caches (one vector for keys
and values), windows, recurrent layers and layers without attention. Query heads never enter, nor do speculative layers.
`bytes_per_token` and `kv_bytes` are for one copy of the cache on one rank, token by token; the others know ranks,
blocks and quantised types.
"""

from typing import NamedTuple

from nsysparse.catalog.entries import Attention, IndexedLatent, Latent, LayerGroup, Model, WindowedAttention
from nsysparse.catalog.sizes import entry, entry_bytes, state_bytes
from nsysparse.errors import UsageError
from nsysparse.theory.dtypes import CacheType, default_type, value_bytes
from nsysparse.theory.layout import WHOLE, Layout, parts
from nsysparse.theory.states import rank_state


class _Sent(NamedTuple):
    """Bytes of one layer for one sequence: those that all ranks of its stage send, and those of the rank with most."""

    stage: int
    rank: int


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
    _check(tokens, batch)
    _at_least(1, dtype_bytes, "bytes per cached value")
    return batch * sum(group.layers * _per_layer(group, tokens, dtype_bytes) for group in model.groups)


def layer_count(model: Model) -> int:
    """Layers that keep anything, so have something to send; fewer than `model.layers` where blocks lack attention.

    A layer that runs attention and a recurrent state side by side is in two groups and counts once.
    """
    return min(model.layers, sum(group.layers for group in model.groups))


def sequence_bytes(
    model: Model, tokens: int, *, batch: int = 1, layout: Layout = WHOLE, kv_dtype: CacheType | None = None
) -> int:
    """Bytes that all ranks together send when they hand over `batch` sequences of `tokens` tokens each.

    Heads that several ranks keep count once for each of them. Latents count once, or once for each rank if
    `layout.mla` is `repeated`. Layers are each in one stage, so `layout.pp` changes nothing.

    Args:
        model: An entry of the catalogue.
        tokens: Tokens per sequence; 0 tokens keep nothing. Attention layers keep whole blocks of what their window
            leaves of them.
        batch: Sequences of that length.
        layout: Ranks and blocks of the side that sends.
        kv_dtype: Type of the cached values, 16-bit unless given. Recurrent states and indexer keys have their own.

    Raises:
        UsageError: `tokens` is negative, `batch` less than 1, there are more stages than layers, or the model has no
            entries of that type.
    """
    return batch * sum(group.layers * sent.stage for group, sent in _layers(model, tokens, batch, layout, kv_dtype))


def rank_bytes(
    model: Model, tokens: int, *, batch: int = 1, layout: Layout = WHOLE, kv_dtype: CacheType | None = None
) -> int:
    """Bytes that the one rank sends that sends most; arguments and errors as for `sequence_bytes`.

    That rank is in the largest stage: `ceil(layers / PP)` layers, of which no group has more than `ceil` of its own
    share, those with most bytes first. Which layer belongs to which group is not known, so a real stage can differ.
    """
    layers = sorted(_layers(model, tokens, batch, layout, kv_dtype), key=lambda one: -one[1].rank)
    # Layers that attend and recur side by side are in two groups, and only the groups then say how many a stage has.
    listed = sum(group.layers for group in model.groups)
    room = parts(model.layers, layout.pp) if listed <= model.layers else listed
    nbytes = 0
    for group, sent in layers:
        held = min(parts(group.layers, layout.pp), room)
        nbytes += held * sent.rank
        room -= held
    return batch * nbytes


def wire_bytes(
    model: Model,
    tokens: int,
    *,
    batch: int = 1,
    layout: Layout = WHOLE,
    kv_dtype: CacheType | None = None,
    wire_dtype: CacheType | None = None,
) -> int:
    """Bytes that cross when what `sequence_bytes` counts is compressed to `wire_dtype` for the crossing only.

    Recurrent states and indexer keys cross as they are kept. Other arguments and errors are those of `sequence_bytes`.

    Args:
        model: An entry of the catalogue.
        tokens: Tokens per sequence.
        batch: Sequences of that length.
        layout: Ranks and blocks of the side that sends.
        kv_dtype: Type of the cached values, 16-bit unless given.
        wire_dtype: Type of the values while they cross; that of the cache unless given.

    Raises:
        UsageError: `wire_dtype` has no fewer bits than `kv_dtype`.
    """
    stored = kv_dtype or default_type()
    kept = sequence_bytes(model, tokens, batch=batch, layout=layout, kv_dtype=stored)
    if wire_dtype is None:
        return kept
    if wire_dtype.bits >= stored.bits:
        raise UsageError(
            f"Sending a cache kept in {stored.id} as {wire_dtype.id} saves nothing: its values have {stored.bits} bits"
            " already.",
            f"Leave the type on the wire out, or name one of fewer than {stored.bits} bits.",
        )
    return sequence_bytes(model, tokens, batch=batch, layout=layout, kv_dtype=wire_dtype)


def _check(tokens: int, batch: int) -> None:
    _at_least(0, tokens, "tokens")
    _at_least(1, batch, "sequences")


def _at_least(minimum: int, value: int, what: str) -> None:
    if value < minimum:
        raise UsageError(f"A cache of {value} {what} is asked for; at least {minimum} is needed.")


def _layers(
    model: Model, tokens: int, batch: int, layout: Layout, kv_dtype: CacheType | None
) -> list[tuple[LayerGroup, _Sent]]:
    """Each group with what one of its layers sends for one sequence."""
    _check(tokens, batch)
    if layout.pp > model.layers:
        raise UsageError(
            f"{model.name} has {model.layers} layers, too few for {layout.pp} pipeline stages.",
            f"Give at most {model.layers} stages.",
        )
    kind = kv_dtype or default_type()
    return [(group, _sent(group, tokens, layout, kind)) for group in model.groups]


def _sent(group: LayerGroup, tokens: int, layout: Layout, kind: CacheType) -> _Sent:
    if not isinstance(group, Attention):
        rank = state_bytes(rank_state(group, layout.tp)) if tokens else 0
        return _Sent(layout.tp * rank, rank)
    heads, widths, own_bytes = entry(group)
    head_bytes = sum(value_bytes(width, kind) for width in widths)
    blocks = parts(_live_tokens(group, tokens), layout.block)
    if not isinstance(group, Latent | IndexedLatent):
        rank = blocks * layout.block * (parts(heads, layout.tp) * head_bytes + own_bytes)
        return _Sent(layout.tp * rank, rank)
    block_bytes = layout.block * (head_bytes + own_bytes)
    whole = blocks * block_bytes
    match layout.mla:
        case "replicated":
            return _Sent(whole, whole)
        case "repeated":
            return _Sent(layout.tp * whole, whole)
        case "divided":
            return _Sent(whole, parts(blocks, layout.tp) * block_bytes)


def _per_layer(group: LayerGroup, tokens: int, dtype_bytes: int) -> int:
    """Bytes that one layer of the group keeps for one sequence."""
    if isinstance(group, Attention):
        return _live_tokens(group, tokens) * entry_bytes(group, dtype_bytes)
    return state_bytes(group) if tokens else 0


def _live_tokens(group: Attention, tokens: int) -> int:
    """Tokens of a sequence that a layer of the group still keeps."""
    match group:
        case WindowedAttention(kind="sliding"):
            return min(tokens, group.window)
        case WindowedAttention() if tokens:
            # The token after a full chunk starts the next one, so 1 to `window` tokens are live, never 0.
            return (tokens - 1) % group.window + 1
        case _:
            return tokens
