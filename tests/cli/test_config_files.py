"""A `config.json` where a model is asked for: shown, reported with, hinted at, and never a danger to the terminal."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from model_configs import CONFIGS, grouped

from nsysparse.api import Options, analyse
from nsysparse.catalog.loader import find_model, models, shown_model
from nsysparse.errors import InputError, UsageError
from tests.commands import call

SAMPLE = "synthetic/pd-oneprofile.sqlite"
LLAMA = {**CONFIGS["llama-3-8b"], "_name_or_path": "/home/somebody/checkpoints/house-llama"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, in which `house/` holds a config."""
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["house/config.json", "house", "house/", "./house", "{}/house/config.json"])
def test_a_file_or_its_folder_names_a_model(name: str, folder: Path):
    assert find_model(name.format(folder)).short_bytes_per_token == 131_072


def test_an_id_wins_over_a_folder_of_its_name(folder: Path):
    (folder / "qwen3-8b").mkdir()
    (folder / "qwen3-8b" / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    assert find_model("qwen3-8b") is models()["qwen3-8b"]
    assert find_model("./qwen3-8b").id == "house-llama"


def test_an_unknown_id_that_is_a_file_here_is_hinted_at(folder: Path):
    (folder / "my-model").write_text(json.dumps(LLAMA), encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        find_model("my-model")
    assert "`./my-model` is a file here" in caught.value.hint
    assert find_model("./my-model").id == "house-llama"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["", "no-such-model", "x" * 5000, "a\0b"])
def test_an_unknown_id_is_told_that_files_are_read(name: str):
    with pytest.raises(UsageError) as caught:
        find_model(name)
    assert "config.json of any other model" in caught.value.hint


LOST = ["missing.json", "missing/config.json", "house/none.json", "a\0b.json", "y" * 5000 + ".json"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", LOST)
def test_a_file_that_is_not_there_is_an_input_error(name: str):
    with pytest.raises(InputError, match="cannot be read"):
        find_model(name)


def test_models_show_takes_a_file(folder: Path):
    done = call("models", "show", "house/config.json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("house-llama: ")
    assert "131,072 (16-bit)" in done.stdout
    assert "config.json (unverified)" in done.stdout
    assert "somebody" not in done.stdout + call("models", "show", "house", "-f", "json", cwd=folder).stdout


def test_a_report_on_a_file_is_that_of_the_catalogue_s_model_and_shows_no_path(
    folder: Path, sample: Callable[[str], Path]
):
    by_file = analyse([sample(SAMPLE)], Options(model=str(folder / "house" / "config.json")))
    by_id = analyse([sample(SAMPLE)], Options(model="llama-3-8b"))
    assert by_file.settings["model"].value == "house-llama (config.json)"
    assert by_id.settings["model"].value == "llama-3-8b"
    assert (by_file.theory, by_file.requests) == (by_id.theory, by_id.requests)
    done = call("report", sample(SAMPLE), "--model", folder / "house", "-f", "json", "-o", "-", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert str(folder) not in done.stdout


def test_a_config_that_was_read_is_never_replaced(folder: Path, sample: Callable[[str], Path]):
    config = folder / "house" / "config.json"
    before = config.read_bytes()
    for model in ("house", "house/config.json"):
        done = call("report", sample(SAMPLE), "--model", model, "-o", config, "--force", cwd=folder)
        assert (done.returncode, config.read_bytes()) == (1, before)


def test_a_report_with_a_model_of_states_only_is_written(folder: Path, sample: Callable[[str], Path]):
    mamba = {
        "model_type": "mamba",
        "num_hidden_layers": 32,
        "hidden_size": 64,
        "state_size": 16,
        "conv_kernel": 4,
        "expand": 2,
    }
    (folder / "config.json").write_text(json.dumps(mamba), encoding="utf-8")
    done = call("report", sample(SAMPLE), "--model", "config.json", "-f", "text", cwd=folder)
    assert done.returncode == 0, done.stderr


def test_a_file_that_is_refused_says_the_key_and_what_to_do(folder: Path):
    (folder / "config.json").write_text(json.dumps(LLAMA | {"compress_ratios": [4]}), encoding="utf-8")
    done = call("models", "show", "config.json", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert 'config.json: "compress_ratios" may change what the cache holds' in done.stderr
    assert "similar model by its id" in done.stderr


def test_nothing_raw_reaches_the_terminal(folder: Path):
    evil = "\x1b]0;owned\x07\x9b2J\u202e"
    hostile = grouped("llama\x1b[2J", 2, 64, 4, 2, _name_or_path=f"a/{evil}b", head_dim=16)
    (folder / f"{evil}.json").write_text(json.dumps(hostile), encoding="utf-8")
    (folder / "key.json").write_text(json.dumps(hostile | {f"kv_{evil}": 1}), encoding="utf-8")
    (folder / "value.json").write_text(json.dumps(hostile | {"layer_types": [evil, evil]}), encoding="utf-8")
    for name, code in ((f"{evil}.json", 0), ("key.json", 1), ("value.json", 1), (f"{evil}none.json", 1)):
        done = call("models", "show", f"./{name}", cwd=folder)
        assert done.returncode == code, done.stderr
        assert (done.stdout + done.stderr).replace("\n", "").isprintable()


@pytest.mark.usefixtures("folder")
def test_a_model_of_the_catalogue_is_shown_by_its_id_and_a_file_by_both():
    shown = [shown_model(find_model(name)) for name in ("kimi-k3", "house")]
    assert shown == ["kimi-k3", "house-llama (config.json)"]
