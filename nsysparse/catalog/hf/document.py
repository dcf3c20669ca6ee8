"""The JSON of a `config.json`, without trust: its size, its text, and which of its objects describes the language."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from nsysparse.catalog.hf.fields import Fields, quoted
from nsysparse.errors import InputError

MOST_BYTES = 1_000_000
"""A real file has a few thousand bytes; per-layer lists make tens of thousands."""

# Where files of multimodal models keep the language model (Gemma 3, Qwen 3.5, Llama 4; InternVL; DeepSeek-VL2).
NESTED = ("text_config", "llm_config", "language_config")
_DEEPEST = 3


def read_object(path: Path, name: str) -> Mapping[str, object]:
    """The object that the file holds.

    Args:
        path: The file.
        name: How error messages call it.

    Raises:
        InputError: It cannot be read, is too large, no UTF-8, no JSON, no object, or says something twice.
    """
    text = _text(path, name)

    def distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, value in pairs:
            if key in found:
                raise InputError(f"{name}: the key {quoted(key)} occurs twice.", "Keep the one that is meant.")
            found[key] = value
        return found

    def number(word: str) -> float:
        # Infinity is what transformers writes for open limits (`time_step_limit`); nothing real holds a NaN.
        if word == "NaN":
            raise InputError(f"{name} holds NaN, which is no number.", "Write the value, or leave the key out.")
        return float(word)

    try:
        found = json.loads(text, object_pairs_hook=distinct, parse_constant=number)
    except RecursionError as error:
        raise InputError(f"{name} is nested too deeply to be the config of a model.") from error
    except ValueError as error:  # also integers of thousands of digits
        raise InputError(f"{name} is not valid JSON: {quoted(str(error), 120)}.") from error
    if not isinstance(found, dict):
        raise InputError(f"{name} must hold an object, not {quoted(found)}.", "Give the config.json of the model.")
    return found


def language_of(document: Mapping[str, object], name: str) -> tuple[Fields, str | None]:
    """The fields of the language model, and the key that led to them where the file is of a multimodal model.

    Raises:
        InputError: Several objects could be it, or the file says different things outside of it.
    """
    values, inside = document, ""
    for _ in range(_DEEPEST):
        nested = [key for key in NESTED if isinstance(values.get(key), dict)]
        if not nested:
            break
        if len(nested) > 1:
            raise InputError(f"{name} has both {nested[0]} and {nested[1]}.", "Keep the one of the language model.")
        inner = values[nested[0]]
        assert isinstance(inner, dict)  # noqa: S101 (for the type checker; chosen so above)
        for key in ("num_hidden_layers", "num_key_value_heads", "head_dim"):
            if None not in (values.get(key), inner.get(key)) and values[key] != inner[key]:
                raise InputError(
                    f"{name}: {key} is {quoted(values[key])} outside {nested[0]}, {quoted(inner[key])} in it."
                )
        values, inside = inner, ".".join(filter(None, (inside, nested[0])))
    return Fields(values, f"{name}, {inside}" if inside else name), inside or None


def _text(path: Path, name: str) -> str:
    try:
        if not path.is_file():
            _unreadable(name, "there is no such file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        _unreadable(name, error.strerror or type(error).__name__)
    except ValueError:  # a name that no disk can have
        _unreadable(name, "there is no such file")
    if len(content) > MOST_BYTES:
        raise InputError(
            f"{name} has more than {MOST_BYTES:,} bytes: too many for the config of a model.",
            "Give the config.json of the model, not its weights or its tokenizer.",
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text: byte {error.start} cannot be read.") from error


def _unreadable(name: str, why: str) -> NoReturn:
    raise InputError(f"{name} cannot be read: {why}.", "Give the config.json of the model, or its folder.")
