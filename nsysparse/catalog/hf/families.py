"""What a config does not say because its family's own code knows it.

From the configuration classes of transformers (https://github.com/huggingface/transformers, src/transformers/models/
FAMILY/configuration_FAMILY.py), where no other source is named.
"""

from collections.abc import Mapping
from types import MappingProxyType

# Families without a field for KV heads: every query head has its own.
PLAIN_HEADS = frozenset(
    {"baichuan", "bloom", "chatglm", "codegen", "falcon", "gpt2", "gpt_bigcode", "gpt_neox", "gptj", "internlm", "mpt"}
    | {"opt", "qwen"}
)

# Families in which a `sliding_window` alone means a window on every attention layer.
WINDOW_EVERYWHERE = frozenset({"mistral", "mixtral", "phi3", "phi3small", "phimoe", "starcoder2"})

# Every layer whose number, counted from 1, is a multiple of the period is full, the others slide.
PERIODS: Mapping[str, int] = MappingProxyType(
    {
        "cohere2": 4,
        "gemma2": 2,
        "gemma3_text": 6,
        "gemma3n_text": 5,
        "gemma4_text": 6,
        "gpt_oss": 2,
        "olmo3": 4,
    }
)
# Families that have windows even where the file is silent: by their class some layers slide, whatever it says, ...
ALWAYS_SLIDING = frozenset(PERIODS) | {"afmoe", "cwm", "vaultgemma"}
# ... or slide unless the file says null.
SLIDING_UNLESS_NULL = frozenset({"exaone4", "exaone_moe", "ministral"})

# The last layer is full whatever the file says.
LAST_IS_FULL = frozenset({"gemma4_text"})

# Files of multimodal models leave out what equals the class's default (Gemma 3 4B and 12B say neither heads nor
# head_dim in full), so a missing field means these.
_GEMMA3 = {"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "hidden_size": 2304}
DEFAULTS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "gemma": {"head_dim": 256},
        "gemma2": {"head_dim": 256},
        "gemma3_text": {**_GEMMA3, "num_hidden_layers": 26, "sliding_window": 4096},
        "gemma3n_text": {
            "num_attention_heads": 8,
            "num_key_value_heads": 2,
            "head_dim": 256,
            "num_hidden_layers": 35,
            "sliding_window": 512,
            "num_kv_shared_layers": 15,
        },
        "gemma4_text": {**_GEMMA3, "num_hidden_layers": 30, "sliding_window": 512, "global_head_dim": 512},
        "gpt_bigcode": {"multi_query": True},
        "falcon": {"multi_query": True, "new_decoder_architecture": False},
        "llama4_text": {"attention_chunk_size": 8192, "no_rope_layer_interval": 4, "head_dim": 128},
        "mistral": {"sliding_window": 4096},
        "qwen3": {"head_dim": 128},
    }
)

# The object inside a multimodal file often repeats the outer type.
TEXT_TYPES: Mapping[str, str] = MappingProxyType(
    {"gemma3": "gemma3_text", "gemma3n": "gemma3n_text", "gemma4": "gemma4_text", "llama4": "llama4_text"}
)

# Families whose cache the fields do not describe, and why.
REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "deepseek_v4": "its layers compress several tokens into one (compress_ratios), which is not counted yet",
        "minicpm3": "engines keep the latent or the heads that it expands to, so its size is the engine's",
        "recurrentgemma": "its recurrent blocks keep a state that is not known here",
        "recurrent_gemma": "its recurrent blocks keep a state that is not known here",
        "rwkv": "its layers keep a state that is not known here",
        "xlstm": "its layers keep a state that is not known here",
        "zamba": "its attention blocks are shared between layers",
        "zamba2": "its attention blocks are shared between layers",
    }
)

# The same of every family whose name begins so: variants of one design come out under names of their own.
REFUSED_BEGINNINGS: Mapping[str, str] = MappingProxyType({"longcat": "each of its layers has two attention blocks"})

# Families that were held against published sizes or their own code; others are read by their fields, and say so.
KNOWN = frozenset(
    PLAIN_HEADS
    | WINDOW_EVERYWHERE
    | set(PERIODS)
    | set(DEFAULTS)
    | {"bamba", "cohere", "dbrx", "deepseek_v2", "deepseek_v3", "deepseek_v32", "falcon_h1", "falcon_mamba", "glm"}
    | {"glm4", "glm4_moe", "glm4_moe_lite", "glm_moe_dsa", "granite", "granitemoe", "granitemoehybrid", "internlm2"}
    | {"exaone4", "ministral3", "qwen2_5_vl"}
    | {"jamba", "kimi_k2", "kimi_linear", "laguna", "llama", "mamba", "mamba2", "mimo_v2_flash", "minimax_m2"}
    | {"nemotron", "nemotron-nas", "nemotron_h", "olmo", "olmo2", "phi", "qwen2", "qwen2_moe", "qwen3_5_moe_text"}
    | {"qwen3_5_text", "qwen3_moe", "qwen3_next", "smollm3", "stablelm", "step3p5", "step3p7", "yi", "Yi"}
)
