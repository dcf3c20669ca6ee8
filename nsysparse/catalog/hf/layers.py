"""What each layer is: full, sliding, chunked, recurrent, both at once, or nothing that is kept.

Configs say it in several ways, some in two at once. Every way that a file uses is read, and they must agree.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Literal, NoReturn

from nsysparse.catalog.hf.families import (
    ALWAYS_SLIDING,
    LAST_IS_FULL,
    PERIODS,
    SLIDING_UNLESS_NULL,
    WINDOW_EVERYWHERE,
)
from nsysparse.catalog.hf.fields import LONGEST_WINDOW, MOST_LAYERS, Fields, quoted

Kind = Literal["full", "sliding", "chunked", "recurrent", "both", "none"]

# `layer_types` of today and of files from before: ALLOWED_LAYER_TYPES and _LEGACY_LAYER_TYPE_REMAP in
# https://github.com/huggingface/transformers/blob/main/src/transformers/configuration_utils.py
_WORDS: Mapping[str, Kind] = MappingProxyType(
    {
        "full_attention": "full",
        "attention": "full",
        "deepseek_sparse_attention": "full",
        "sliding_attention": "sliding",
        "chunked_attention": "chunked",
        "linear_attention": "recurrent",
        "mamba": "recurrent",
        "moe": "none",
        "mlp": "none",
    }
)
_LETTERS: Mapping[str, Kind] = MappingProxyType({"*": "full", "M": "recurrent", "-": "none", "E": "none"})


def layer_kinds(fields: Fields, family: str) -> list[Kind]:
    """What each of the model's layers is, in order of depth.

    Raises:
        InputError: A kind is unknown, the ways of saying it contradict each other, or do not cover every layer.
    """
    count = _count(fields)
    (first, kinds), *others = list(_told(fields, family, count)) or [_untold(fields, family, count)]
    if family in LAST_IS_FULL:
        for _, each in ((first, kinds), *others):
            each[-1] = "full"
    for key, also in others:
        if also != kinds:
            layer = next(number for number, pair in enumerate(zip(kinds, also, strict=True)) if pair[0] != pair[1])
            fields.refuse(
                f"{first} says that layer {layer} is {kinds[layer]}, {key} that it is {also[layer]}.",
                "Keep the one that the model's code reads.",
            )
    return kinds


def window_of(fields: Fields, kind: Kind) -> int:
    """The tokens that a sliding or chunked layer keeps at most."""
    if kind == "chunked":
        return fields.need("attention_chunk_size", most=LONGEST_WINDOW)
    names = ("sliding_window", "sliding_window_size")
    window = fields.integer(*names, most=LONGEST_WINDOW)
    if window is None:
        _refuse_no_window(fields, "layers slide", *names)
    if fields.values.get("attention_chunk_size") == window:  # MiMo says it under both names
        fields.seen(["attention_chunk_size"])
    return window


def _refuse_no_window(fields: Fields, who: str, *names: str) -> NoReturn:
    """Classes have windows of their own where a file says none, but not all families' are known here."""
    null = next((key for key in names if key in fields.values), None)
    fields.refuse(
        f"{who}, but the file does not say its window: {f'{null} is null' if null else f'{names[0]} is missing'}.",
        "Write sliding_window of the model into the file, or name a similar model by its id.",
    )


def _count(fields: Fields) -> int:
    """How many layers the model has; files of NemotronH may only list them."""
    names = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    if not any(map(fields.given, names)) and (listed := fields.items("layers_block_type")) is not None:
        return len(listed)
    return fields.need(*names, most=MOST_LAYERS)


def _told(fields: Fields, family: str, count: int) -> Iterator[tuple[str, list[Kind]]]:
    """Each way in which the file itself tells the layers apart: the key and what it says."""
    for key in ("layer_types", "layers_block_type"):
        if (words := fields.items(key)) is not None:
            kinds = [_of_word(fields, f"{key}[{place}]", word, family) for place, word in words]
            yield key, _fitted(fields, key, kinds, count)
    if (pattern := fields.word("hybrid_override_pattern")) is not None:
        if wrong := set(pattern) - set(_LETTERS):
            fields.refuse(f"hybrid_override_pattern has the unknown letter {quoted(min(wrong))}.", _known(_LETTERS))
        yield (
            "hybrid_override_pattern",
            _fitted(fields, "hybrid_override_pattern", [_LETTERS[x] for x in pattern], count),
        )
    if (marks := fields.integers("hybrid_layer_pattern", most=1)) is not None:  # MiMo: 1 slides
        yield "hybrid_layer_pattern", _fitted(fields, "hybrid_layer_pattern", _either(marks, "sliding"), count)
    if (marks := fields.integers("attn_type_list", most=1)) is not None:
        if 0 in marks:
            fields.refuse("attn_type_list has lightning attention (0), whose state is not known here.")
        yield "attn_type_list", _fitted(fields, "attn_type_list", ["full" for _ in marks], count)
    yield from _told_by_places(fields, count)
    yield from _told_by_period(fields, family, count)


def _told_by_places(fields: Fields, count: int) -> Iterator[tuple[str, list[Kind]]]:
    """Where the file lists or computes which layers attend, among recurrent ones."""
    if (period := fields.integer("attn_layer_period", most=MOST_LAYERS)) is not None:  # Jamba
        offset = fields.need("attn_layer_offset", least=0, most=period - 1)
        yield "attn_layer_period", ["full" if at % period == offset else "recurrent" for at in range(count)]
    if (places := fields.integers("attn_layer_indices", most=count - 1)) is not None:  # Bamba
        yield "attn_layer_indices", _attending(set(places), range(count))
    if (every := fields.integer("full_attention_interval", most=MOST_LAYERS)) is not None:  # Qwen3-Next
        yield "full_attention_interval", ["recurrent" if (at + 1) % every else "full" for at in range(count)]
    if (inner := fields.inner("linear_attn_config")) is not None:  # Kimi: counted from 1; others from 0
        kda, full = inner.integers("kda_layers", most=count), inner.integers("full_attn_layers", most=count)
        if kda is None or full is None:
            inner.refuse("kda_layers and full_attn_layers are needed.")
        both = sorted([*kda, *full])
        if both not in (list(range(count)), list(range(1, count + 1))):
            inner.refuse(f"kda_layers and full_attn_layers do not hold each of {count} layers once.")
        yield "linear_attn_config", _attending(set(full), range(both[0], both[0] + count))


def _told_by_period(fields: Fields, family: str, count: int) -> Iterator[tuple[str, list[Kind]]]:
    """Where the file says how often a layer is not windowed."""
    for key in ("sliding_window_pattern", "_sliding_window_pattern"):
        if fields.given(key) and _windows_on(fields):
            yield key, _periodic(fields, key, family, count)
    if family == "llama4_text" and fields.integer("attention_chunk_size", most=LONGEST_WINDOW) is not None:
        marks = fields.integers("no_rope_layers", most=1)
        every = fields.integer("no_rope_layer_interval", most=MOST_LAYERS) or 4
        if marks is None and not fields.given("layer_types"):
            marks = [int((at + 1) % every != 0) for at in range(count)]
        if marks is not None:
            yield "no_rope_layers", _fitted(fields, "no_rope_layers", _either(marks, "chunked"), count)
    if fields.flag("use_sliding_window"):  # Qwen: layers from that one on slide
        first = fields.need("max_window_layers", least=0, most=MOST_LAYERS)
        yield "max_window_layers", ["sliding" if at >= first else "full" for at in range(count)]


def _untold(fields: Fields, family: str, count: int) -> tuple[str, list[Kind]]:
    """What the layers are where the file does not tell them apart."""
    if family in ("mamba", "mamba2", "falcon_mamba", "bamba", "granitemoehybrid"):
        return "model_type", ["recurrent"] * count
    if family == "falcon_h1":
        return "model_type", ["both"] * count
    if not _windows_on(fields):
        return "num_hidden_layers", ["full"] * count
    if fields.integer("sliding_window", most=LONGEST_WINDOW) is None:
        silent = "sliding_window" not in fields.values
        if family in ALWAYS_SLIDING or (silent and family in SLIDING_UNLESS_NULL):
            _refuse_no_window(fields, f"layers of model_type {quoted(family)} slide", "sliding_window")
        return "num_hidden_layers", ["full"] * count
    if family in PERIODS:
        return "model_type", _periodic(fields, "model_type", family, count)
    if family not in WINDOW_EVERYWHERE:
        fields.refuse(
            f"sliding_window is {quoted(fields.raw('sliding_window'))}, but nothing says which layers have it.",
            "Write layer_types of the model into the file, or sliding_window null where no layer has one.",
        )
    return "sliding_window", ["sliding"] * count


def _windows_on(fields: Fields) -> bool:
    """Whether a window that the file states is in use; Qwen's files state one and switch it off."""
    off = fields.flag("use_sliding_window") is False
    if off:
        fields.seen(["sliding_window", "max_window_layers"])
    return not off


def _periodic(fields: Fields, key: str, family: str, count: int) -> list[Kind]:
    """Layers that slide but for one in each period, or as a repeated word of L (local) and G (global) says."""
    value = fields.raw(key) if key != "model_type" else PERIODS[family]
    if isinstance(value, str):  # EXAONE 4: "LLLG"
        if not value or set(value) - {"L", "G"}:
            fields.refuse(f"{key} must be a number or letters L and G, not {quoted(value)}.")
        kinds: list[Kind] = ["full" if value[at % len(value)] == "G" else "sliding" for at in range(count)]
    else:
        every = PERIODS[family] if key == "model_type" else fields.need(key, most=MOST_LAYERS)
        kinds = ["sliding" if (at + 1) % every else "full" for at in range(count)]
    return kinds


def _of_word(fields: Fields, key: str, word: object, family: str) -> Kind:
    if word == "hybrid" and family == "falcon_h1":
        return "both"
    if not isinstance(word, str) or word not in _WORDS:
        fields.refuse(f"{key} is {quoted(word)}, a kind of layer that is not known here.", _known(_WORDS))
    kind = _WORDS[word]
    if kind == "sliding" and fields.flag("use_sliding_window") is False:
        fields.refuse(f"{key} slides, but use_sliding_window is false.", "Keep the one that the model's code reads.")
    return kind


def _fitted(fields: Fields, key: str, kinds: list[Kind], count: int) -> list[Kind]:
    """The kinds of the model's own layers: a list may go on with those of speculative layers (Step 3.5)."""
    speculative = fields.integer("num_nextn_predict_layers", least=0, most=MOST_LAYERS) or 0
    if len(kinds) not in (count, count + speculative):
        fields.refuse(f"{key} is about {len(kinds)} layers, num_hidden_layers about {count}.")
    return kinds[:count]


def _attending(full: set[int], layers: range) -> list[Kind]:
    return ["full" if layer in full else "recurrent" for layer in layers]


def _either(marks: list[int], kind: Kind) -> list[Kind]:
    return [kind if mark else "full" for mark in marks]


def _known(words: Mapping[str, Kind]) -> str:
    return f"Known: {', '.join(words)}. A similar model can be named by its id."
