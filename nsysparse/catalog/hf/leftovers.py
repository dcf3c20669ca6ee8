"""Fields that nobody read though they may change the cache: a config that has one is refused, not guessed at."""

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


def refuse_unread(fields: Fields) -> None:
    """Refuse a file with such a field.

    Raises:
        InputError: It names the first one.
    """
    for key in fields.unread():
        if _TELLING.search(key) and not _HARMLESS.fullmatch(key):
            fields.refuse(
                f"{quoted(key)} may change what the cache holds, and is not known here.",
                "Set it to null if it plays no part in this model, or name a similar model with --model ID "
                "(`nsysparse models list`).",
            )
