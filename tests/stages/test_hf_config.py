"""A model read from a `config.json` is the catalogue's, and families beside it come to what their own code keeps."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from model_configs import CONFIGS, SLIDING, Config, every, gdn, grouped, latent

from nsysparse.catalog.entries import Model
from nsysparse.catalog.hf_config import read_config
from nsysparse.catalog.loader import models
from nsysparse.theory.kv_cache import bytes_per_token, kv_bytes, layer_count

Read = Callable[[Config], Model]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def from_file(config: Config) -> Model:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        return read_config(path)

    return from_file


def test_every_model_of_the_catalogue_has_a_config_here():
    assert list(models()) == list(CONFIGS) or set(models()) == set(CONFIGS)


@pytest.mark.parametrize("model", models().values(), ids=lambda model: model.id)
def test_config_and_catalogue_agree(model: Model, read: Read):
    found = read(CONFIGS[model.id])

    assert set(found.groups) == set(model.groups)
    same = {"layers", "query_heads", "attention", "short_bytes_per_token", "long_bytes_per_token"}
    for name in (*same, "window_cap_bytes", "state_bytes"):
        assert getattr(found, name) == getattr(model, name), name
    assert not found.verified


@pytest.mark.parametrize("model_id", CONFIGS)
def test_stated_figures_are_theory_s(model_id: str, read: Read):
    found = read(CONFIGS[model_id])
    far = 1 << 20

    assert found.short_bytes_per_token == bytes_per_token(found)
    assert kv_bytes(found, 1) == found.short_bytes_per_token + (found.state_bytes or 0)
    grown = far * found.long_bytes_per_token + (found.window_cap_bytes or 0) + (found.state_bytes or 0)
    assert kv_bytes(found, far) == grown


GPT = {"n_layer": 12, "n_head": 12, "n_embd": 768}
MAMBA = {"num_hidden_layers": 4, "hidden_size": 256, "state_size": 16, "conv_kernel": 4, "expand": 2}
BAMBA = {"mamba_n_heads": 8, "mamba_d_head": "auto", "mamba_n_groups": 1, "mamba_d_state": 16, "mamba_d_conv": 4}
BAMBA |= {"mamba_expand": 2, "mamba_chunk_size": 256}
MAMBA2_STATE = 8 * 64 * 16 * 2 + (8 * 64 + 2 * 16) * 3 * 2
"""Bytes of a Mamba 2 layer with 8 heads of 64 (twice a width of 256), 16 state values and one group; 16-bit."""
SMALL = {"num_hidden_layers": 6, "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2}


@pytest.mark.parametrize(
    ("config", "short", "long", "state"),
    [
        ({"model_type": "gpt2", **GPT}, 12 * 2 * 768 * 2, None, None),
        (
            {"model_type": "gpt_neox", "num_hidden_layers": 44, "hidden_size": 6144, "num_attention_heads": 64},
            1081344,
            None,
            None,
        ),
        ({"model_type": "bloom", "n_layer": 70, "n_head": 112, "hidden_size": 14336}, 70 * 2 * 14336 * 2, None, None),
        (
            {"model_type": "baichuan", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32},
            524288,
            None,
            None,
        ),
        ({"model_type": "gpt_bigcode", "n_layer": 40, "n_head": 48, "n_embd": 6144}, 40 * 2 * 128 * 2, None, None),
        ({"model_type": "gpt_bigcode", "multi_query": False, **GPT}, 12 * 2 * 768 * 2, None, None),
        ({"model_type": "falcon", "multi_query": False, "n_layer": 2, "n_head": 4, "hidden_size": 64}, 512, None, None),
        (
            {
                "model_type": "chatglm",
                "num_layers": 28,
                "hidden_size": 4096,
                "num_attention_heads": 32,
                "kv_channels": 128,
            }
            | {"multi_query_attention": True, "multi_query_group_num": 2},
            28 * 2 * 2 * 128 * 2,
            None,
            None,
        ),
        (
            {"model_type": "dbrx", "n_layers": 40, "n_heads": 48, "d_model": 6144, "attn_config": {"kv_n_heads": 8}},
            163840,
            None,
            None,
        ),
        ({"model_type": "mpt", "n_layers": 32, "n_heads": 32, "d_model": 4096, "attn_config": {}}, 524288, None, None),
        (grouped("internlm2", 32, 4096, 32, 8), 131072, None, None),
        (grouped("starcoder2", 32, 4608, 36, 4, sliding_window=4096), 65536, 0, None),
        (grouped("phi3", 32, 3072, 32, 32, sliding_window=2047), 393216, 0, None),
        (grouped("cohere2", 32, 4096, 32, 8, sliding_window=4096, sliding_window_pattern=4), 131072, 32768, None),
        (
            grouped("qwen2", 6, 256, 4, 2, sliding_window=8, use_sliding_window=True, max_window_layers=4),
            3072,
            2048,
            None,
        ),
        (grouped("exaone4", 8, 256, 4, 2, sliding_window=8, sliding_window_pattern="LLLG"), 4096, 1024, None),
        (
            {"model_type": "gemma3n", "text_config": {"model_type": "gemma3n_text", "sliding_window": 512}},
            20 * 2 * 2 * 256 * 2,
            4 * 2 * 2 * 256 * 2,
            None,
        ),
        (
            grouped("gemma4_text", 35, 1536, 8, 1, head_dim=256, global_head_dim=512, num_kv_shared_layers=20)
            | {"layer_types": every(5, 35, SLIDING), "sliding_window": 512},
            (12 * 256 + 3 * 512) * 2 * 2,
            3 * 512 * 2 * 2,
            None,
        ),
        (
            {"model_type": "step3p5", "num_hidden_layers": 4, "num_attention_heads": 8, "num_attention_groups": 2}
            | {"head_dim": 128, "sliding_window": 16, "layer_types": every(2, 4, SLIDING)}
            | {"attention_other_setting": {"attention_type": SLIDING, "num_attention_groups": 4, "head_dim": 64}},
            (2 * 2 * 128 + 2 * 4 * 64) * 2 * 2,
            2 * 2 * 128 * 2 * 2,
            None,
        ),
        (grouped("llama4_text", 4, 256, 4, 2, attention_chunk_size=None, head_dim=64), 2048, None, None),
        (
            latent("deepseek_v2", 2, 4, use_mla=False) | {"kv_lora_rank": None, "v_head_dim": 0, "head_dim": 64},
            2048,
            None,
            None,
        ),
        ({"model_type": "mamba", **MAMBA}, 0, 0, 4 * (512 * 16 * 2 + 512 * 3 * 2)),
        ({"model_type": "mamba", **MAMBA, "intermediate_size": 512}, 0, 0, 4 * (512 * 16 * 2 + 512 * 3 * 2)),
        (
            {"model_type": "falcon_mamba", "num_hidden_layers": 64, "hidden_size": 4096, "intermediate_size": 8192}
            | {"state_size": 16, "conv_kernel": 4, "expand": 16},
            0,
            0,
            19_922_944,
        ),
        (
            {"model_type": "mamba2", **MAMBA, "num_heads": 8, "head_dim": 64, "n_groups": 1},
            0,
            0,
            4 * MAMBA2_STATE,
        ),
        ({"model_type": "bamba", **SMALL, **BAMBA, "attn_layer_indices": [2, 5]}, 1024, None, 4 * MAMBA2_STATE),
        (
            {"model_type": "granitemoehybrid", **SMALL, **BAMBA, "layer_types": every(3, 6, "mamba", "attention")},
            1024,
            None,
            4 * MAMBA2_STATE,
        ),
        ({"model_type": "falcon_h1", **SMALL, **BAMBA, "mamba_d_ssm": 512}, 3072, None, 6 * MAMBA2_STATE),
        (
            {"model_type": "nemotron_h", **SMALL, "ssm_state_size": 16, "mamba_num_heads": 8, "mamba_head_dim": 64}
            | {"n_groups": 1, "conv_kernel": 4, "layers_block_type": ["mamba", "moe", "attention", "mlp"]}
            | {"num_hidden_layers": None},
            512,
            None,
            MAMBA2_STATE,
        ),
    ],
    ids=lambda value: str(value.get("model_type")) if isinstance(value, dict) else "",
)
def test_families_beside_the_catalogue(config: Config, short: int, long: int | None, state: int | None, read: Read):
    found = read(config)

    stated = (found.short_bytes_per_token, found.long_bytes_per_token, found.state_bytes)
    assert stated == (short, short if long is None else long, state)


def test_a_layer_with_attention_and_a_state_counts_once(read: Read):
    found = read({"model_type": "falcon_h1", **SMALL, **BAMBA, "mamba_d_ssm": 512})
    assert (layer_count(found), sum(group.layers for group in found.groups)) == (6, 12)


def test_query_heads_change_nothing_but_the_width_that_follows_from_them(read: Read):
    sizes = {read(grouped("llama", 2, 64, query, 2, head_dim=16)).short_bytes_per_token for query in (2, 4, 64)}
    assert sizes == {2 * 2 * 2 * 16 * 2}


def test_indexer_types_win_over_their_schedule_and_may_include_a_speculative_layer(read: Read):
    how = {"indexer_types": ["full", "shared", "full", "full"], "num_nextn_predict_layers": 1, "index_head_dim": 128}
    found = read(latent("glm_moe_dsa", 3, 8, **how))
    assert {group.kind: group.layers for group in found.groups} == {"mla_dsa": 2, "mla": 1}


def test_layers_counted_from_zero_are_read_too(read: Read):
    how = {
        "kda_layers": [0, 2],
        "full_attn_layers": [1, 3],
        "num_heads": 2,
        "head_dim": 32,
        "short_conv_kernel_size": 4,
    }
    found = read(latent("other", 4, 2, linear_attn_config=how))
    assert {group.kind: group.layers for group in found.groups} == {"mla": 2, "kda": 2}


def test_gated_delta_nets_state_has_the_type_that_the_file_says(read: Read):
    states = [
        read(gdn("qwen3_next", 4, 64, 4, 2, 4, **more)).state_bytes for more in ({}, {"mamba_ssm_dtype": "float32"})
    ]
    assert states[1] - states[0] == 3 * 4 * 128 * 128 * 2
