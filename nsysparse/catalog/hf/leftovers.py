"""Designs that are not known here, and fields that nobody read though they may change the cache.

A config that has one is refused, not guessed at.
"""

import re

from nsysparse.catalog.hf.fields import Fields, quoted

# What the names of fields about the cache have in common.
_TELLING = re.compile(
    r"kv_|_kv|key_value|cache|window|sliding|swa_|chunk|compress|latent|lora_rank|state|ssm|mamba|linear_|conv|cross_"
    r"|encoder|recurrent|block_type|block_config|layers?_type|layers_block|attn_type|attention_type|attn_layer|attn_config"
    r"|attention_layers|hybrid|share|index|pattern|multi_query|interval|per_layer|mla|kda|lru|nope_layer|global_|local_"
)

# Names that have it too and say nothing about the cache, by the configuration classes of transformers.
_HARMLESS = re.compile(
    r"use_cache|cache_implementation|.*_token_index|.*_token_indices|is_encoder_decoder"
    r"|(rope|rotary|moe|expert|router|mtp|vision|visual|audio|image|video|mm|output|num_experts|num_nextn|num_mtp)_.*"
    r"|.*(shared?_expert|shared_intermediate|_shared_expert).*|swiglu_limits?_shared|.*shared_embeddings?|share_embeddings?"
    r"|.*_(rope|rotary)(_.*)?|rope|q_lora_rank|.*dropout|.*_bias|.*_multipliers?|.*(alpha|beta)_factor"
    r"|use_mamba_kernels|mamba_(hidden_act|dt_.*|rms_norm|norm_before_gate|chunk_size|inner_layernorms|use_mlp)|chunk_size"
    r"|chunk_size_feed_forward|time_step_.*|mlp_layer_types|mlp_only_layers|activation_sparsity_pattern"
    r"|(hidden|vocab)_size_per_layer_input|num_attention_heads_per_layer|num_local_experts|local_rope_theta"
    r"|index_(n_heads|topk)|index_topk_(freq|pattern)|index_skip_topk_offset|swa_num_attention_heads|mla_use_.*|activation_.*|latent_moe_.*|layernorm_.*"
    r"|index_share_for_mtp.*|pre_allocate_kv_cache"
    r"|no_rope_layer_interval|ssm_.*multipliers?|residual_.*|conv_initializer.*|layer_type_validation|max_window_layers"
    r"|moe_layer_interval|interleave_.*|full_attn_layers|kv_channels|state_dict.*"
)

# Counts that say nothing where they are 1, and what more of it means.
_COUNTS = {
    "layer_group_size": "all but one layer of each group have linear attention, whose state is not known here",
    "total_ut_steps": "layers run several times for a token, and each time has a cache of its own",
}

# MiniMax-Text-01: weights of residuals, by kind of layer. They are all that such a file says of its lightning layers.
_LIGHTNING = re.compile(r"linear_attn_(?!config$).*|full_attn_(alpha|beta)_factor")

# Keys of an object of attention settings that say nothing of the cache, or that are read where heads are.
_OF_ATTENTION = re.compile(r"attention|attn")
_READ_THERE = {
    "attn_config": {"attn_type", "kv_n_heads"},
    "attention_other_setting": {"attention_type"},
}
_OPEN = -1  # what MPT writes for no window

_HINT = "Set it to null if it plays no part in this model, or name a similar model by its id (`nsysparse models list`)."


def refuse_designs(fields: Fields, family: str) -> None:
    """Refuse a file of a design whose cache its other fields do not describe, though they look like a plain one's.

    Raises:
        InputError: It names the field, or the family where a field is missing.
    """
    for key, why in _COUNTS.items():
        if (count := fields.integer(key, least=0)) is not None and count > 1:
            fields.refuse(f"{key} is {count}: {why}.", _HINT)
    shares = fields.flag("use_cla")
    if shares:
        fields.refuse("use_cla is true: layers share a cache, in a way that is not known here.", _HINT)
    if shares is False:  # Hunyuan A13B switches it off and still says how many would share
        fields.seen(["cla_share_factor"])
    if fields.given("layer_types"):
        return
    lightning = next((key for key in fields.values if _LIGHTNING.fullmatch(key) and fields.values[key]), None)
    if lightning is not None or family == "minimax":
        told = quoted(lightning) if lightning is not None else 'model_type "minimax"'
        fields.refuse(
            f"{told} tells of lightning attention, but nothing says which layers have it: layer_types is missing.",
            "Write layer_types of the model into the file, or name a similar model by its id.",
        )


def refuse_unread(fields: Fields) -> None:
    """Refuse a file with a field that may change the cache and was not read, also in an object about attention.

    Raises:
        InputError: It names the first one.
    """
    _refuse_unread(fields)
    for key, value in fields.values.items():
        # `linear_attn_config` is a recurrent layer's, and read whole with it.
        if isinstance(value, dict) and _OF_ATTENTION.search(key) and key != "linear_attn_config":
            inner = fields.within(key, value)
            inner.seen(_READ_THERE.get(key, ()))
            inner.seen(each for each, setting in value.items() if setting == _OPEN)
            _refuse_unread(inner)


def _refuse_unread(fields: Fields) -> None:
    for key in fields.unread():
        if _TELLING.search(key) and not _HARMLESS.fullmatch(key):
            fields.refuse(f"{quoted(key)} may change what the cache holds, and is not known here.", _HINT)
