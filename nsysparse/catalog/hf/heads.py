"""KV heads and the widths of keys and values. Query heads count only where a family has no KV heads of its own."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from nsysparse.catalog.hf.families import PLAIN_HEADS
from nsysparse.catalog.hf.fields import Fields, quoted
from nsysparse.catalog.hf.layers import Kind

QUERY_HEADS = ("num_attention_heads", "n_head", "n_heads")


class Heads(NamedTuple):
    """What one layer stores per token: `kv_heads` keys, `head_dim` wide, and as many values, as wide unless told."""

    kv_heads: int
    head_dim: int
    v_head_dim: int | None


def heads_of(fields: Fields, family: str, kind: Kind) -> Heads:
    """Heads of the layers of that kind, which may have their own."""
    if family == "gemma4_text" and kind == "full":
        # As transformers reads it: the count of heads is only another where keys stand for values too.
        own = fields.integer("num_global_key_value_heads") if fields.flag("attention_k_eq_v") else None
        fields.seen(["num_global_key_value_heads"])
        return Heads(own or _kv_heads(fields, family), fields.need("global_head_dim"), None)
    if kind == "sliding" and fields.given("swa_num_key_value_heads"):  # MiMo
        width, values = fields.integer("swa_head_dim"), fields.integer("swa_v_head_dim")
        return _checked(fields.need("swa_num_key_value_heads"), width or _width(fields), values or _values(fields))
    other = fields.inner("attention_other_setting")
    if (
        other is not None and _KINDS_OF_STEP.get(other.word("attention_type") or "sliding_attention") == kind
    ):  # Step 3.5
        return Heads(other.need("num_attention_groups"), other.integer("head_dim") or _width(fields), None)
    return _checked(_kv_heads(fields, family), _width(fields), _values(fields))


def heads_of_blocks(fields: Fields, count: int) -> list[Heads | None] | None:
    """Heads of each layer of a pruned model, None where its attention is gone; None for a file without such blocks.

    `block_configs` is Nemotron-NAS's: https://github.com/NVIDIA/Model-Optimizer, puzzletron.
    """
    blocks = fields.items("block_configs")
    if blocks is None:
        return None
    if len(blocks) != count:
        fields.refuse(f"block_configs is about {len(blocks)} layers, num_hidden_layers about {count}.")
    fields.seen(["num_key_value_heads", "num_key_value_heads_per_layer"])
    return [_of_block(fields, fields.within(f"block_configs[{at}]", block)) for at, block in blocks]


def query_heads_of(fields: Fields) -> int:
    """Query heads, which say how large the model is; 0 where it has no attention."""
    return fields.integer(*QUERY_HEADS) or 0


_KINDS_OF_STEP: dict[str, Kind] = {"sliding_attention": "sliding", "full_attention": "full"}


def _of_block(fields: Fields, block: Fields) -> Heads | None:
    attention = block.inner("attention")
    if attention is None:
        block.refuse("attention is missing.")
    for key in ("window_length", "window_size", "sparsify", "mamba", "num_sink_tokens", "llama4"):
        if attention.raw(key) not in (None, False):
            attention.refuse(f"{key} is {quoted(attention.raw(key))}, which is not known here.")
    if attention.flag("no_op") or attention.flag("replace_with_linear"):
        return None
    shared, query = attention.integer("n_heads_in_group"), fields.need(*QUERY_HEADS)
    if shared is None:
        return Heads(attention.need("num_key_value_heads"), _width(fields), None)
    return Heads(_divided(fields, "num_attention_heads", query, "n_heads_in_group", shared), _width(fields), None)


def _kv_heads(fields: Fields, family: str) -> int:
    """KV heads where all layers have the same."""
    if (of_family := _FAMILIES.get(family)) is not None:
        return of_family(fields)
    if (inner := fields.inner("attn_config")) is not None:
        return _of_mosaic(fields, inner)
    if family in PLAIN_HEADS:
        return _same(fields.integer("num_key_value_heads"), fields.need(*QUERY_HEADS), fields)
    found = fields.integer("num_key_value_heads", "num_attention_groups", "num_kv_heads")
    if found is None:
        query = fields.integer(*QUERY_HEADS)
        state = "null" if "num_key_value_heads" in fields.values else "missing"
        fields.refuse(
            f"num_key_value_heads is {state}; query heads are never taken for KV heads.",
            f"Write it into the file (where every query head has its own, it is {query or 'their number'}), or name a "
            "similar model by its id.",
        )
    return found


def _of_falcon(fields: Fields) -> int:
    """The file of Falcon 7B has num_kv_heads 71 and multi_query true, which is one head."""
    if fields.flag("new_decoder_architecture"):
        fields.seen(["multi_query"])
        return fields.need("num_kv_heads", "n_head_kv", "num_key_value_heads")
    fields.seen(["num_kv_heads", "n_head_kv"])
    return 1 if fields.flag("multi_query") else fields.need(*QUERY_HEADS)


def _of_bigcode(fields: Fields) -> int:
    return 1 if fields.flag("multi_query") else fields.need(*QUERY_HEADS)


def _of_chatglm(fields: Fields) -> int:
    several = fields.flag("multi_query_attention")
    return fields.need("multi_query_group_num") if several else fields.need(*QUERY_HEADS)


def _of_mosaic(fields: Fields, inner: Fields) -> int:
    """DBRX and MPT keep the kind of attention in an object of its own."""
    kind = inner.word("attn_type") or (
        "grouped_query_attention" if inner.given("kv_n_heads") else "multihead_attention"
    )
    if kind == "grouped_query_attention":
        return inner.need("kv_n_heads")
    if kind not in ("multihead_attention", "multiquery_attention"):
        inner.refuse(f"attn_type {quoted(kind)} is not known here.")
    return 1 if kind == "multiquery_attention" else fields.need(*QUERY_HEADS)


_FAMILIES: Mapping[str, Callable[[Fields], int]] = MappingProxyType(
    {"chatglm": _of_chatglm, "falcon": _of_falcon, "gpt_bigcode": _of_bigcode}
)


def _same(told: int | None, query: int, fields: Fields) -> int:
    if told not in (None, query):
        fields.refuse(f"num_key_value_heads is {told}, but in this family each of {query} query heads has its own.")
    return query


def _width(fields: Fields) -> int:
    """Width of a key: as the file says, else what each query head gets of the model's width."""
    width = fields.integer("head_dim", "kv_channels", "attention_head_dim")
    if width is not None:
        return width
    whole = fields.integer("hidden_size", "n_embd", "d_model", "n_embed")
    query = fields.integer(*QUERY_HEADS)
    if whole is None or query is None:
        fields.refuse(
            "head_dim is missing, and it takes hidden_size and num_attention_heads to follow from.",
            "Write head_dim of the model into the file, or name a similar model by its id.",
        )
    return _divided(fields, "hidden_size", whole, "num_attention_heads", query)


def _values(fields: Fields) -> int | None:
    if fields.raw("use_mla") is False and fields.raw("v_head_dim") == 0:  # DeepSeek-VL2's small ones
        return None
    return fields.integer("v_head_dim")


def _checked(kv_heads: int, head_dim: int, v_head_dim: int | None) -> Heads:
    return Heads(kv_heads, head_dim, None if v_head_dim == head_dim else v_head_dim)


def _divided(fields: Fields, name: str, whole: int, part_name: str, part: int) -> int:
    if whole % part:
        fields.refuse(f"{name} {whole} is no multiple of {part_name} {part}.", "Write head_dim into the file.")
    return whole // part


def shared_layers(fields: Fields, kinds: Sequence[Kind]) -> frozenset[int]:
    """Layers that keep nothing because they use the cache of an earlier layer of their kind (Gemma 3n, Gemma 4)."""
    last = fields.integer("num_kv_shared_layers", least=0, most=len(kinds)) or 0
    first = len(kinds) - last
    for kind in set(kinds[first:]):
        if kind not in kinds[:first]:
            fields.refuse(f"num_kv_shared_layers is {last}, which leaves no {kind} layer whose cache could be shared.")
    return frozenset(range(first, len(kinds)))
