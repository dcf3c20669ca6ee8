"""Whatever the fields of a config hold, it is read with sizes that fit together, or refused in words."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_configs import CONFIGS, Config

from nsysparse.catalog.hf_config import read_config
from nsysparse.errors import InputError
from nsysparse.theory.kv_cache import kv_bytes, layer_count

PLAIN = st.none() | st.booleans() | st.integers(-3, 10**7) | st.floats(allow_nan=False) | st.text(max_size=4)
VALUES = PLAIN | st.lists(PLAIN, max_size=5) | st.dictionaries(st.text(max_size=3), PLAIN, max_size=2)
KEYS = sorted({key for config in CONFIGS.values() for key in config} | {"text_config", "use_mla", "indexer_types"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("configs")


@given(model_id=st.sampled_from(sorted(CONFIGS)), changed=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4))
def test_it_is_read_or_refused(folder: Path, model_id: str, changed: Config):
    path = folder / "config.json"
    path.write_text(json.dumps({**CONFIGS[model_id], **changed}), encoding="utf-8")
    try:
        found = read_config(path)
    except InputError as error:
        said = error.message + error.hint
    else:
        said = f"{found.id}{found.name}{found.source}{found.note}"
        assert 0 <= found.long_bytes_per_token <= found.short_bytes_per_token
        assert 0 < layer_count(found) <= found.layers
        assert kv_bytes(found, 1) == found.short_bytes_per_token + (found.state_bytes or 0)
    assert said.isprintable()
    assert str(folder) not in said


@given(st.binary(max_size=60))
def test_any_bytes_are_refused_or_read(folder: Path, content: bytes):
    path = folder / "config.json"
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_config(path)
