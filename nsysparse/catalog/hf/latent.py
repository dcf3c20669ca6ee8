"""Multi-head latent attention: one vector per token for all heads, perhaps with the keys of a sparse indexer."""

from nsysparse.catalog.entries import IndexedLatent, Latent
from nsysparse.catalog.hf.fields import MOST_LAYERS, Fields, quoted

_SCALE_BYTES = 4
_INDEX_WIDTH = 128
_MODES = {"full": True, "F": True, "shared": False, "S": False}


def is_latent(fields: Fields) -> bool:
    """Whether layers with attention keep a latent; small models of DeepSeek-VL2 have its fields and `use_mla` false."""
    if fields.flag("use_mla") is False:
        fields.seen(["kv_lora_rank", "qk_rope_head_dim"])
        return False
    return fields.given("kv_lora_rank")


def latent_of(fields: Fields, *, indexed: bool) -> Latent | IndexedLatent:
    """One such layer. KV heads and head_dim, which files state as well, play no part in it."""
    fields.seen(["num_key_value_heads", "head_dim", "v_head_dim"])
    rank, rope = fields.need("kv_lora_rank"), fields.need("qk_rope_head_dim")
    if not indexed:
        return Latent(kind="mla", layers=1, kv_lora_rank=rank, qk_rope_head_dim=rope)
    width = fields.need("index_head_dim")
    if width != _INDEX_WIDTH:
        fields.refuse(f"index_head_dim is {width}; only the layout of {_INDEX_WIDTH} values and a scale is known here.")
    return IndexedLatent(
        kind="mla_dsa",
        layers=1,
        kv_lora_rank=rank,
        qk_rope_head_dim=rope,
        index_head_dim=width,
        index_bytes_per_token=width + _SCALE_BYTES,
    )


def indexed_layers(fields: Fields, count: int, notes: list[str]) -> list[bool]:
    """Which layers keep keys of an indexer of their own; the others have none, or use an earlier layer's choice.

    `indexer_types`, else `index_topk_pattern`, else every `index_topk_freq`-th layer, as in
    https://github.com/huggingface/transformers/blob/main/src/transformers/models/glm_moe_dsa/configuration_glm_moe_dsa.py
    """
    if not fields.given("index_head_dim"):
        return [False] * count
    told = fields.raw("indexer_types") or fields.raw("index_topk_pattern")
    every = fields.integer("index_topk_freq", most=MOST_LAYERS) or 1
    offset = fields.integer("index_skip_topk_offset", least=0, most=MOST_LAYERS)
    if told is None:
        first = 2 if offset is None else offset
        own = [max(at - first + 1, 0) % every == 0 for at in range(count)]
    else:
        if not isinstance(told, str | list) or len(told) not in (count, count + _speculative(fields)):
            fields.refuse(f"indexer_types must name one mode for each of {count} layers, not {quoted(told)}.")
        wrong = [mode for mode in told if not isinstance(mode, str) or mode not in _MODES]
        if wrong:
            fields.refuse(f"indexer_types has {quoted(wrong[0])}.", f"Known: {', '.join(_MODES)}.")
        own = [_MODES[mode] for mode in told[:count]]
    if not all(own):
        # https://github.com/sgl-project/sglang/pull/30531; before it, every layer kept such keys.
        notes.append(
            f"{own.count(False)} layers use an earlier layer's indexer and keep no keys for it; "
            f"engines that do not know this keep {_INDEX_WIDTH + _SCALE_BYTES} bytes per token in each"
        )
    return own


def _speculative(fields: Fields) -> int:
    return fields.integer("num_nextn_predict_layers", least=0, most=MOST_LAYERS) or 0
