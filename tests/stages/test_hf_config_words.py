"""What a model read from a `config.json` says of itself: notes, an id that can be shown, and no path."""

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from model_configs import CONFIGS, Config, grouped

from nsysparse.catalog.entries import Model
from nsysparse.catalog.hf_config import read_config

Read = Callable[[Config], Model]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def from_file(config: Config) -> Model:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        return read_config(path)

    return from_file


@pytest.mark.parametrize(
    ("config", "noted"),
    [
        (CONFIGS["gemma-3-4b"], "language model of a multimodal file (text_config)"),
        (CONFIGS["gemma-3-4b"], "as transformers has it: head_dim, num_attention_heads, num_key_value_heads"),
        (grouped("brandnew", 2, 64, 4, 2), 'model_type "brandnew" is not one'),
        (CONFIGS["gemma-4-26b-a4b"], "attention_k_eq_v"),
        (CONFIGS["deepseek-v3"], "1 speculative layers are not counted"),
        (CONFIGS["glm-5.2"], "57 layers use an earlier layer's indexer"),
        (CONFIGS["qwen3-next-80b"], "type of the recurrent state assumed: 16-bit"),
        (CONFIGS["kimi-k3"], "float32"),
        (
            grouped("llama", 2, 64, 4, 2, quantization_config={"kv_cache_scheme": {"num_bits": 8}}),
            "sizes are for 16-bit",
        ),
    ],
)
def test_what_a_reader_should_know_is_noted(config: Config, noted: str, read: Read):
    assert noted in (read(config).note or "")


FURTHER = {
    "glm-5.2": {"index_share_for_mtp_iteration": True, "indexer_rope_interleave": True, "index_topk_pattern": None}
    | {"indexer_types": [*["full"] * 3, *(["shared"] * 3 + ["full"]) * 18, *["shared"] * 3]},
    "minimax-m2.5": {"layernorm_linear_attention_beta": 1.0, "shared_intermediate_size": 1536, "num_mtp_modules": 3},
    "jamba-v0.1": {"mamba_proj_bias": False, "mamba_conv_bias": True, "mamba_inner_layernorms": True},
    "nemotron-h-56b": {"mamba_hidden_act": "silu", "use_mamba_kernels": True, "mtp_hybrid_override_pattern": "*E"},
    "kimi-linear-48b": {"mla_use_output_gate": True, "latent_moe_use_norm": True, "activation_situ_linear_beta": 25.0},
    "qwen3-30b-a3b": {"decoder_sparse_step": 1, "mlp_only_layers": [], "shared_expert_intermediate_size": 768},
    "gemma-2-9b": {"cache_implementation": "hybrid", "sliding_window_size": 4096, "attn_logit_softcapping": 50.0},
    "mimo-v2-flash": {"swa_rope_theta": 10000, "swa_num_attention_heads": 64, "add_swa_attention_sink_bias": True},
    "llama-3-8b": {"use_cache": True, "chunk_size_feed_forward": 8, "tie_word_embeddings": False, "rope_scaling": {}},
}


QUANTISED = [
    ({"quantization_config": {"kv_cache_quant_algo": "FP8"}}, "kv_cache_quant_algo"),
    ({"quantization_config": {"quantization": {"kv_cache_quant_algo": "FP8"}}}, "kv_cache_quant_algo"),
    ({"quantization": {"kv_cache_quant_algo": "NVFP4"}}, "kv_cache_quant_algo"),
    ({"quantization_config": {"kv_cache_quant_config": {"*k_proj": {"output_tensors": {}}}}}, "kv_cache_quant_config"),
]


@pytest.mark.parametrize(("more", "key"), QUANTISED)
def test_a_quantised_cache_is_noted_whoever_asks_for_it_and_wherever(more: Config, key: str, read: Read):
    plain = grouped("llama", 2, 64, 4, 2)
    for config in (plain | more, {"text_config": plain, **more}):
        found = read(config)
        assert f"the file asks for a quantised cache ({key})" in (found.note or "")
        assert found.groups == read(plain).groups


@pytest.mark.parametrize("algorithm", [None, "None", "NONE", ""])
def test_no_quantised_cache_needs_no_note(algorithm: str | None, read: Read):
    quantised = {"kv_cache_quant_algo": algorithm, "kv_cache_quant_config": {}, "quantization": 4}
    assert read(grouped("llama", 2, 64, 4, 2, quantization_config=quantised)).note is None


@pytest.mark.parametrize("model_id", FURTHER)
def test_further_fields_of_published_files_play_no_part(model_id: str, read: Read):
    assert read(CONFIGS[model_id] | FURTHER[model_id]).groups == read(CONFIGS[model_id]).groups


def test_a_plain_model_needs_no_note(read: Read):
    assert read(CONFIGS["llama-3-8b"]).note is None
    assert "assumed" not in str(read(CONFIGS["qwen3.5-27b"]).note)


@pytest.mark.parametrize(
    ("told", "model_id"),
    [
        ({"_name_or_path": "meta-llama/Llama-3-8B"}, "Llama-3-8B"),
        ({"_name_or_path": "/data/users/somebody/my model/"}, "my-model"),
        ({"_name_or_path": "C:\\models\\mine"}, "mine"),
        ({"_name_or_path": "\x1b[31mred\u202e/\u2066"}, "llama"),
        ({"_name_or_path": "a" * 500}, "a" * 64),
        ({"_name_or_path": 7}, "llama"),
        ({}, "llama"),
    ],
)
def test_an_id_is_safe_and_no_path(told: Config, model_id: str, read: Read):
    found = read(CONFIGS["llama-3-8b"] | told)
    assert (found.id, found.source) == (model_id, "config.json")


def test_every_field_of_an_entry_is_filled(read: Read):
    found = read(CONFIGS["gpt-oss-20b"])
    assert [each.name for each in fields(found) if getattr(found, each.name) is None] == ["state_bytes", "note"]
