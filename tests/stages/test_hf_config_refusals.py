"""What a `config.json` says that is not understood is refused, with the key and what to do; so is what is no config."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from model_configs import SLIDING, Config, every, gdn, grouped, latent

from nsysparse.catalog.hf_config import read_config
from nsysparse.errors import InputError

Refuse = Callable[[Config | bytes], InputError]
LLAMA = grouped("llama", 4, 256, 4, 2)
MAMBA = {"num_hidden_layers": 4, "hidden_size": 256, "state_size": 16, "conv_kernel": 4, "expand": 2}
MAMBA |= {"intermediate_size": 1024}
MPT = {"model_type": "mpt", "n_layers": 4, "n_heads": 4, "d_model": 256}


@pytest.fixture
def refuse(tmp_path: Path) -> Refuse:
    def from_file(content: Config | bytes) -> InputError:
        path = tmp_path / "config.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        with pytest.raises(InputError) as caught:
            read_config(path)
        assert caught.value.message.startswith("config.json")
        assert str(tmp_path) not in caught.value.message + caught.value.hint
        assert (caught.value.message + caught.value.hint).isprintable()
        return caught.value

    return from_file


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("num_hidden_layers", 0, "num_hidden_layers must be a whole number from 1 to 10,000, not 0"),
        ("num_hidden_layers", 10**9, "not 1000000000"),
        ("num_hidden_layers", 4.0, "not 4.0"),
        ("num_hidden_layers", "4", 'not "4"'),
        ("num_hidden_layers", True, "not true"),
        ("num_hidden_layers", None, "num_hidden_layers is null"),
        ("num_key_value_heads", 0, "num_key_value_heads must be a whole number"),
        ("num_key_value_heads", -2, "not -2"),
        ("num_key_value_heads", None, "num_key_value_heads is null; query heads are never taken for KV heads"),
        ("num_key_value_heads", [2, 2], "not a list of 2"),
        ("num_key_value_heads", {}, "not an object"),
        ("head_dim", 2**70, "head_dim must be a whole number"),
        ("head_dim", float("inf"), "not Infinity"),
        ("num_attention_heads", 7, "hidden_size 256 is no multiple of num_attention_heads 7"),
        ("hidden_size", None, "head_dim is missing"),
        ("model_type", 3, "model_type must be text"),
        ("sliding_window", 4096, "nothing says which layers have it"),
        ("layer_types", "full_attention", "layer_types must be a list"),
        ("layer_types", ["full_attention"] * 3, "layer_types is about 3 layers, num_hidden_layers about 4"),
        ("layer_types", ["full_attention", "conv", "conv", "conv"], 'layer_types[1] is "conv"'),
        ("layer_types", ["full_attention", None, 1, 2], "layer_types[1] is null"),
        ("layer_types", ["hybrid"] * 4, 'layer_types[0] is "hybrid"'),
        ("layer_types", [SLIDING] * 4, "sliding_window is missing"),
        ("layer_types", ["chunked_attention"] * 4, "attention_chunk_size is missing"),
        ("layer_types", [LINEAR := "linear_attention"] * 4, "recurrent layers whose state is not known"),
        ("layer_types", ["moe"] * 4, "none of its layers keeps anything"),
        ("layer_types", ["x"] * 30_000, "more than any model has layers"),
        ("compress_ratios", [0, 4, 128, 4], '"compress_ratios" may change what the cache holds'),
        ("cross_attention_layers", [1], '"cross_attention_layers" may change'),
        ("is_encoder_decoder", True, "an encoder's keys and values"),
        ("add_cross_attention", True, "an encoder's keys and values"),
        ("use_bidirectional_attention", True, "makes it an encoder"),
        ("use_bidirectional_attention", "all", "makes it an encoder"),
        ("attention_chunk_size", 8192, '"attention_chunk_size" may change'),
        ("per_layer_config", {"1": {"head_dim": 32}}, '"per_layer_config" may change'),
        ("conv_L_cache", 3, '"conv_L_cache" may change'),
        ("kv_share_every", 2, '"kv_share_every" may change'),
        ("attn_type_list", [1, 0, 1, 1], "lightning attention"),
        ("hybrid_override_pattern", "M*Q-", 'unknown letter "Q"'),
        ("hybrid_layer_pattern", [0, 1, 2, 0], "hybrid_layer_pattern[2] must be a whole number from 0 to 1, not 2"),
        ("num_kv_shared_layers", 4, "leaves no full layer whose cache could be shared"),
        ("num_kv_shared_layers", 5, "num_kv_shared_layers must be a whole number from 0 to 4"),
        ("attn_config", {"attn_type": "odd"}, 'attn_type "odd" is not known here'),
        ("use_sliding_window", "yes", "use_sliding_window must be true or false"),
        ("use_sliding_window", True, "max_window_layers is missing"),
        ("block_configs", [{}] * 4, "attention is missing"),
        ("block_configs", [{"attention": {"window_length": 8}}] * 4, "window_length is 8"),
        ("block_configs", [3] * 4, "block_configs[0] must be an object"),
        ("block_configs", [{}], "block_configs is about 1 layers"),
        ("attn_layer_period", 4, "attn_layer_offset is missing"),
        ("layer_group_size", 8, "layer_group_size is 8: all but one layer of each group have linear attention"),
        ("layer_group_size", True, "layer_group_size must be a whole number"),
        ("total_ut_steps", 4, "total_ut_steps is 4: layers run several times"),
        ("use_cla", True, "use_cla is true: layers share a cache"),
        ("linear_attn_alpha_factor", 3.5, "tells of lightning attention"),
        ("full_attn_alpha_factor", 1, '"full_attn_alpha_factor" tells of lightning attention'),
        ("model_type", "minimax", 'model_type "minimax" tells of lightning attention'),
        ("attention_config", {"kv_heads": 1}, '"kv_heads" may change'),
        ("linear_attn_config", {"kda_layers": [1]}, "kda_layers and full_attn_layers are needed"),
        ("linear_attn_config", {"kda_layers": [1, 2], "full_attn_layers": [2, 3]}, "do not hold each of 4 layers once"),
    ],
)
def test_a_field_that_is_not_understood_is_refused(key: str, value: object, named: str, refuse: Refuse):
    assert named in refuse(LLAMA | {key: value}).message


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({}, "num_hidden_layers is missing"),
        (
            {key: value for key, value in LLAMA.items() if key != "num_key_value_heads"},
            "num_key_value_heads is missing",
        ),
        (LLAMA | {"n_layer": 5}, "num_hidden_layers and n_layer differ"),
        (LLAMA | {"model_type": "deepseek_v4"}, "compress_ratios"),
        (LLAMA | {"model_type": "longcat_flash"}, "two attention blocks"),
        (LLAMA | {"model_type": "longcat_flash_ngram"}, 'model_type "longcat_flash_ngram": each of its layers has two'),
        (LLAMA | {"model_type": "minicpm3"}, "its size is the engine's"),
        (
            LLAMA | {"model_type": "opt"},
            "num_key_value_heads is 2, but in this family each of 4 query heads has its own",
        ),
        (latent("deepseek_v3", 2, 4) | {"qk_rope_head_dim": None}, "qk_rope_head_dim is null"),
        (latent("glm_moe_dsa", 2, 4, index_head_dim=64), "index_head_dim is 64"),
        (latent("glm_moe_dsa", 2, 4, index_head_dim=128, indexer_types=["full"]), "one mode for each of 2 layers"),
        (latent("glm_moe_dsa", 2, 4, index_head_dim=128, indexer_types=["full", "x"]), 'indexer_types has "x"'),
        (latent("other", 2, 4, index_head_dim=128, index_kpool=4), '"index_kpool" may change'),
        (latent("other", 2, 4, layer_types=[SLIDING] * 2, sliding_window=8), "layer 0 is sliding with a latent"),
        (gdn("qwen3_next", 4, 64, 4, 2, 4, mamba_ssm_dtype="int3"), 'mamba_ssm_dtype is "int3"'),
        (gdn("qwen3_next", 4, 64, 4, 2, 4) | {"linear_key_head_dim": None}, "linear_key_head_dim is null"),
        (grouped("jamba", 4, 64, 4, 2, attn_layer_period=4, attn_layer_offset=4), "from 0 to 3, not 4"),
        (
            grouped("bamba", 4, 60, 4, 2, mamba_d_state=16, mamba_d_conv=4, mamba_n_heads=7, mamba_expand=2),
            "7 state-space",
        ),
        (grouped("cohere2", 4, 64, 4, 2, sliding_window=8, sliding_window_pattern="LX"), "letters L and G"),
        (MAMBA | {"model_type": "mamba"}, "intermediate_size is 1024, but hidden_size 256 times expand 2 is 512"),
        (MAMBA | {"model_type": "mamba2", "num_heads": 8, "head_dim": 64, "n_groups": 1}, "intermediate_size is 1024"),
    ],
)
def test_a_config_that_is_not_understood_is_refused(config: Config, named: str, refuse: Refuse):
    assert named in refuse(config).message


@pytest.mark.parametrize("family", ["afmoe", "cohere2", "cwm", "gemma2", "gpt_oss", "olmo3", "vaultgemma"])
@pytest.mark.parametrize("more", [{}, {"sliding_window": None}, {"layer_types": every(2, 4, SLIDING)}], ids=str)
def test_a_family_that_slides_must_say_its_window(family: str, more: Config, refuse: Refuse):
    assert "does not say its window: sliding_window is" in refuse(LLAMA | {"model_type": family} | more).message


@pytest.mark.parametrize("family", ["exaone4", "exaone_moe", "ministral"])
def test_a_family_that_slides_unless_told_otherwise_must_be_told(family: str, refuse: Refuse):
    assert "does not say its window" in refuse(LLAMA | {"model_type": family}).message


def test_a_window_that_the_class_is_known_to_have_does_not_stand_for_null(refuse: Refuse):
    assert "sliding_window is null" in refuse(LLAMA | {"model_type": "gemma3_text", "sliding_window": None}).message


@pytest.mark.parametrize(
    ("setting", "value"),
    [("sliding_window_size", 4096), ("reuse_kv_layer_idx", 2), ("attn_logits_kv_cache", "fp8")],
)
def test_settings_in_an_object_about_attention_are_not_passed_over(setting: str, value: object, refuse: Refuse):
    error = refuse(MPT | {"attn_config": {"kv_n_heads": 1, setting: value}})
    assert f'attn_config: "{setting}" may change what the cache holds' in error.message


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"layer_types": every(2, 4, SLIDING), "sliding_window_pattern": 4, "sliding_window": 8}, "layer 1 is full"),
        (
            {"layer_types": [SLIDING] * 4, "sliding_window": 8, "use_sliding_window": False},
            "use_sliding_window is false",
        ),
        (
            {"layer_types": ["full_attention"] * 4, "full_attention_interval": 4},
            "layer_types says that layer 0 is full, full_attention_interval that it is recurrent",
        ),
        ({"hybrid_override_pattern": "****", "hybrid_layer_pattern": [0, 1, 0, 0], "sliding_window": 8}, "layer 1"),
        ({"sliding_window": 8, "sliding_window_size": 9, "layer_types": [SLIDING] * 4}, "differ"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(more: Config, named: str, refuse: Refuse):
    assert named in refuse(LLAMA | more).message


def test_both_sides_of_a_multimodal_file_must_agree(refuse: Refuse):
    nested = {"text_config": LLAMA, "num_hidden_layers": 5}
    assert "num_hidden_layers is 5 outside text_config, 4 in it" in refuse(nested).message
    assert "both text_config and llm_config" in refuse({"text_config": LLAMA, "llm_config": LLAMA}).message


def test_every_refusal_of_a_field_says_what_to_do(refuse: Refuse):
    assert "similar model by its id" in refuse(LLAMA | {"compress_ratios": [4]}).hint
    hint = refuse({**LLAMA, "num_key_value_heads": None}).hint
    assert "Write it into the file (where every query head has its own, it is 4)" in hint


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"[1]", "must hold an object, not a list of 1"),
        (b'"text"', 'must hold an object, not "text"'),
        (b"\xff\xfe{}", "not UTF-8 text: byte 0"),
        (b'{"a": "\xe9"}', "not UTF-8 text: byte 7"),
        (b'{"num_hidden_layers": 4, "num_hidden_layers": 5}', 'the key "num_hidden_layers" occurs twice'),
        (b'{"x": {"\\u001b[2J": 1, "\\u001b[2J": 2}}', 'the key "?[2J" occurs twice'),
        (b'{"rope_theta": NaN}', "NaN"),
        (b'{"x": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b'{"x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
        (b'{"x": "' + b"a" * 1_000_000 + b'"}', "more than 1,000,000 bytes"),
        (b'{"num_hidden_layers": "\\u001b]0;owned\\u0007\\u202e"}', 'not "?]0;owned??"'),
        (b'{"layer_types": ["' + b"x" * 9000 + b'"], "num_hidden_layers": 1}', 'x..."'),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_hostile_files_are_refused_in_printable_words(content: bytes, named: str, refuse: Refuse):
    error = refuse(content)
    assert named in error.message
    assert len(error.message) < 300


def test_a_file_that_is_not_there_or_a_folder_says_so(tmp_path: Path):
    for path in (tmp_path / "config.json", tmp_path, tmp_path / ("x" * 400), tmp_path / "a\0b"):
        with pytest.raises(InputError, match="cannot be read"):
            read_config(path)


@pytest.mark.parametrize(
    ("config", "off"),
    [
        (
            LLAMA,
            {"compress_ratios": None, "cross_attention_layers": [], "per_layer_config": {}, "use_mla": False}
            | {"kv_rank": 0, "layer_group_size": 1, "total_ut_steps": 1, "use_cla": False, "cla_share_factor": 2},
        ),
        (LLAMA, {"layer_types": ["full_attention"] * 4, "linear_attn_alpha_factor": 1, "full_attn_beta_factor": 1}),
        (MPT, {"attn_config": {"sliding_window_size": -1, "attn_type": "multihead_attention", "kv_cache": None}}),
        (MPT, {"attn_config": {"sliding_window_size": None, "attn_impl": "torch", "clip_qkv": 8.0}}),
        (LLAMA | {"model_type": "ministral"} | {"sliding_window": None}, {"sliding_window_pattern": None}),
    ],
    ids=lambda value: next(iter(value)),
)
def test_switches_that_are_off_and_empty_fields_change_nothing(config: Config, off: Config, tmp_path: Path):
    sizes = []
    for each in (config, config | off):
        path = tmp_path / "config.json"
        path.write_text(json.dumps(each), encoding="utf-8")
        sizes.append(read_config(path).groups)
    assert sizes[0] == sizes[1]
