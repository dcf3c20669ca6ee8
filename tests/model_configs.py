"""Configs of every model of the catalogue, typed by hand: the fields that published `config.json` files have.

`CONFIGS` has them by id. Where a published file says more (vocabularies, experts), it plays no part here; what could
mislead a reader is kept: heads that an MLA model must ignore, widths that differ from hidden/heads, windows that are
switched off.
"""

from collections.abc import Mapping

Config = dict[str, object]


def grouped(kind: str, layers: int, hidden: int, query: int, kv: int, **more: object) -> Config:
    """Attention whose query heads share KV heads, or not where both counts are alike."""
    return {
        "model_type": kind,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": query,
        "num_key_value_heads": kv,
        **more,
    }


def every(period: int, layers: int, other: str, last: str = "full_attention") -> list[str]:
    """One layer of kind `last` after each `period - 1` of kind `other`."""
    return [other if (layer + 1) % period else last for layer in range(layers)]


SLIDING, LINEAR = "sliding_attention", "linear_attention"
OFF = {"sliding_window": 131072, "use_sliding_window": False, "max_window_layers": 28}
NO_WINDOW = {"sliding_window": None}


def gdn(kind: str, layers: int, hidden: int, query: int, kv: int, v_heads: int, **more: object) -> Config:
    """Gated DeltaNet with full attention on every fourth layer."""
    return grouped(
        kind,
        layers,
        hidden,
        query,
        kv,
        head_dim=256,
        full_attention_interval=4,
        linear_conv_kernel_dim=4,
        linear_key_head_dim=128,
        linear_num_key_heads=16,
        linear_num_value_heads=v_heads,
        linear_value_head_dim=128,
        **more,
    )


def latent(kind: str, layers: int, query: int, **more: object) -> Config:
    """MLA; the KV heads in these files play no part."""
    return grouped(kind, layers, 7168, query, query, kv_lora_rank=512, qk_rope_head_dim=64, v_head_dim=128, **more)


def qwen35(layers: int, query: int, kv: int, v_heads: int, kind: str = "qwen3_5_moe") -> Config:
    """A multimodal file, whose language model is inside; it says layers twice and the type of the state."""
    types = every(4, layers, LINEAR)
    inner = gdn(f"{kind}_text", layers, 4096, query, kv, v_heads, layer_types=types, mamba_ssm_dtype="float32")
    return {"model_type": kind, "text_config": inner, "vision_config": {"num_hidden_layers": 27, "hidden_size": 1152}}


def kda(layers: int, full: list[int], query: int) -> Config:
    """Kimi delta attention; layers are counted from 1."""
    recurrent = [layer for layer in range(1, layers + 1) if layer not in full]
    how = {"head_dim": 128, "num_heads": query, "short_conv_kernel_size": 4}
    both = {"kda_layers": recurrent, "full_attn_layers": full}
    return latent("kimi_linear", layers, query, linear_attn_config=how | both, mla_use_nope=True, head_dim=72)


def nemotron_h(pattern: str, query: int, kv: int, heads: int, state: int, **more: object) -> Config:
    """Attention, Mamba 2 and layers that keep nothing, by letters."""
    return grouped(
        "nemotron_h",
        len(pattern),
        8192,
        query,
        kv,
        hybrid_override_pattern=pattern,
        mamba_num_heads=heads,
        mamba_head_dim=64,
        ssm_state_size=state,
        n_groups=8,
        conv_kernel=4,
        expand=2,
        chunk_size=128,
        time_step_limit=[0.0, float("inf")],
        **more,
    )


def pruned() -> Config:
    """Nemotron-NAS: 49 of 80 blocks keep attention."""
    kept = {"attention": {"n_heads_in_group": 8, "no_op": False, "replace_with_linear": False, "window_length": None}}
    gone = {"attention": {"n_heads_in_group": None, "no_op": True}}
    blocks = [kept if block % 80 < 49 else gone for block in range(80)]
    return {**grouped("nemotron-nas", 80, 8192, 64, 8), "num_key_value_heads": None, "block_configs": blocks}


FALCON = {"model_type": "falcon", "multi_query": True}
GLM5 = {"index_head_dim": 128, "index_n_heads": 32, "index_topk": 2048, "head_dim": 64}
GEMMA3 = {"model_type": "gemma3"}
MIMO = {"head_dim": 192, "v_head_dim": 128, "swa_head_dim": 192, "swa_v_head_dim": 128, "swa_num_key_value_heads": 8}
MIMO_WINDOW = {"sliding_window": 128, "sliding_window_size": 128, "attention_chunk_size": 128}
GEMMA4 = {"head_dim": 256, "global_head_dim": 512, "num_global_key_value_heads": 2, "attention_k_eq_v": True}

CONFIGS: Mapping[str, Config] = {
    "llama-2-7b": grouped("llama", 32, 4096, 32, 32),
    "llama-2-13b": grouped("llama", 40, 5120, 40, 40),
    "llama-2-70b": grouped("llama", 80, 8192, 64, 8),
    "llama-3-8b": grouped("llama", 32, 4096, 32, 8),
    "llama-3-70b": grouped("llama", 80, 8192, 64, 8),
    "llama-3.1-405b": grouped("llama", 126, 16384, 128, 8),
    "llama-3.2-1b": grouped("llama", 16, 2048, 32, 8, head_dim=64),
    "llama-3.2-3b": grouped("llama", 28, 3072, 24, 8, head_dim=128),
    "mistral-7b-v0.1": grouped("mistral", 32, 4096, 32, 8, sliding_window=4096),
    "mistral-7b-v0.3": grouped("mistral", 32, 4096, 32, 8, **NO_WINDOW),
    "mixtral-8x7b": grouped("mixtral", 32, 4096, 32, 8, num_local_experts=8, **NO_WINDOW),
    "mixtral-8x22b": grouped("mixtral", 56, 6144, 48, 8, **NO_WINDOW),
    "mistral-large-2407": grouped("mistral", 88, 12288, 96, 8, head_dim=128, **NO_WINDOW),
    "qwen2.5-7b": grouped("qwen2", 28, 3584, 28, 4, **OFF),
    "qwen2.5-32b": grouped("qwen2", 64, 5120, 40, 8, **OFF),
    "qwen2.5-72b": grouped("qwen2", 80, 8192, 64, 8, **OFF),
    "qwen3-0.6b": grouped("qwen3", 28, 1024, 16, 8, head_dim=128, **OFF),
    "qwen3-8b": grouped("qwen3", 36, 4096, 32, 8, head_dim=128),
    "qwen3-14b": grouped("qwen3", 40, 5120, 40, 8, head_dim=128),
    "qwen3-32b": grouped("qwen3", 64, 5120, 64, 8, head_dim=128),
    "qwen3-30b-a3b": grouped("qwen3_moe", 48, 2048, 32, 4, head_dim=128),
    "qwen3-235b-a22b": grouped("qwen3_moe", 94, 4096, 64, 4, head_dim=128),
    "qwen3-coder-480b": grouped("qwen3_moe", 62, 6144, 96, 8, head_dim=128),
    "minimax-m2.5": grouped("minimax_m2", 62, 3072, 48, 8, head_dim=128, attn_type_list=[1] * 62),
    "phi-4": grouped("phi3", 40, 5120, 40, 10, **NO_WINDOW),
    "falcon-7b": FALCON | {"num_hidden_layers": 32, "hidden_size": 4544, "num_attention_heads": 71, "num_kv_heads": 71},
    "falcon-40b": grouped("falcon", 60, 8192, 128, 8, new_decoder_architecture=True, num_kv_heads=8),
    "falcon-180b": grouped("falcon", 80, 14848, 232, 8, new_decoder_architecture=True, num_kv_heads=8),
    "gemma-7b": grouped("gemma", 28, 3072, 16, 16, head_dim=256),
    "opt-66b": {"model_type": "opt", "num_hidden_layers": 64, "hidden_size": 9216, "num_attention_heads": 72},
    "opt-175b": {"model_type": "opt", "num_hidden_layers": 96, "hidden_size": 12288, "num_attention_heads": 96},
    "nemotron-super-49b": pruned(),
    "gpt-oss-20b": grouped(
        "gpt_oss", 24, 2880, 64, 8, head_dim=64, sliding_window=128, layer_types=every(2, 24, SLIDING)
    ),
    "gpt-oss-120b": grouped("gpt_oss", 36, 2880, 64, 8, head_dim=64, sliding_window=128),
    "gemma-2-9b": grouped("gemma2", 42, 3584, 16, 8, head_dim=256, sliding_window=4096),
    "gemma-2-27b": grouped("gemma2", 46, 4608, 32, 16, head_dim=128, sliding_window=4096),
    "gemma-3-1b": grouped("gemma3_text", 26, 1152, 4, 1, head_dim=256, sliding_window=512, sliding_window_pattern=6),
    "gemma-3-4b": GEMMA3
    | {
        "text_config": {
            "model_type": "gemma3_text",
            "hidden_size": 2560,
            "num_hidden_layers": 34,
            "sliding_window": 1024,
        }
    },
    "gemma-3-12b": GEMMA3 | {"text_config": grouped("gemma3_text", 48, 3840, 16, 8, sliding_window=1024)},
    "gemma-3-27b": GEMMA3
    | {"text_config": grouped("gemma3_text", 62, 5376, 32, 16, head_dim=128, sliding_window=1024)},
    "gemma-4-26b-a4b": {
        "model_type": "gemma4",
        "text_config": grouped("gemma4_text", 30, 2816, 16, 8, layer_types=every(6, 30, SLIDING), sliding_window=1024)
        | GEMMA4,
    },
    "llama-4-scout": {
        "model_type": "llama4",
        "text_config": grouped(
            "llama4_text", 48, 5120, 40, 8, head_dim=128, attention_chunk_size=8192, no_rope_layers=[]
        ),
    },
    "step-3.7-flash": grouped("step3p7", 45, 4096, 64, 8, head_dim=128, sliding_window=512, num_nextn_predict_layers=3)
    | {"layer_types": ["full_attention", *every(4, 47, SLIDING)]},
    "mimo-v2-flash": grouped("mimo_v2_flash", 48, 4096, 64, 4, **MIMO, **MIMO_WINDOW)
    | {"hybrid_layer_pattern": [int(layer != 0 and (layer + 1) % 6 != 0) for layer in range(48)]},
    "deepseek-v2-lite": latent("deepseek_v2", 27, 16, q_lora_rank=None),
    "deepseek-v2": latent("deepseek_v2", 60, 128, q_lora_rank=1536),
    "deepseek-v3": latent("deepseek_v3", 61, 128, q_lora_rank=1536, num_nextn_predict_layers=1),
    "kimi-k2": latent("kimi_k2", 61, 64),
    "deepseek-v3.2": latent("deepseek_v32", 61, 128, index_head_dim=128, index_n_heads=64, index_topk=2048),
    "glm-5": latent("glm_moe_dsa", 78, 64, **GLM5),
    "glm-5.2": latent("glm_moe_dsa", 78, 64, **GLM5, index_topk_freq=4, index_skip_topk_offset=3),
    "qwen3-next-80b": gdn("qwen3_next", 48, 2048, 16, 2, 32),
    "qwen3.5-27b": qwen35(64, 24, 4, 48, "qwen3_5"),
    "qwen3.5-35b-a3b": qwen35(40, 16, 2, 32),
    "qwen3.5-122b-a10b": qwen35(48, 32, 2, 64),
    "qwen3.5-397b-a17b": qwen35(60, 32, 2, 64),
    "kimi-k3": {"model_type": "kimi_k3", "text_config": kda(93, [*range(4, 93, 4), 93], 96)},
    "kimi-linear-48b": kda(27, [4, 8, 12, 16, 20, 24, 27], 32),
    "jamba-v0.1": grouped("jamba", 32, 4096, 32, 8, attn_layer_period=8, attn_layer_offset=4, mamba_d_state=16)
    | {"mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 256, "use_mamba_kernels": True},
    "nemotron-h-56b": nemotron_h("M-" * 44 + "M*-" * 10, 64, 8, 256, 256),
    "nemotron-3-nano-30b": nemotron_h("MEMEM*E" * 6 + "EMEMEMEMEM", 32, 2, 64, 128, head_dim=128)
    | {"mamba_ssm_cache_dtype": "float32"},
    "nemotron-3-super-120b": nemotron_h("MEMEM*E" * 8 + "ME" * 16, 32, 2, 128, 128, head_dim=128)
    | {"mamba_ssm_cache_dtype": "float32"},
    "laguna-s-2.1": grouped("laguna", 48, 3072, 48, 8, head_dim=128, sliding_window=512)
    | {"layer_types": ["full_attention", SLIDING, SLIDING, SLIDING] * 12, "num_attention_heads_per_layer": [48] * 48},
}
