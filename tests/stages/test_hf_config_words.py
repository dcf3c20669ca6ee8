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
