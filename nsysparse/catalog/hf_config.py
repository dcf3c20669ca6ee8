"""A model of the catalogue made from a Hugging Face `config.json`, which is a stranger's file.

The layers are told apart first (`hf.layers`), then each gets its geometry by its kind (`hf.heads`, `hf.latent`,
`hf.recurrent`), then equal ones are counted. What may change the cache and is not understood is refused.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from nsysparse.catalog.entries import FullAttention, LayerGroup, Model, Recurrent, WindowedAttention
from nsysparse.catalog.hf.document import language_of, read_object
from nsysparse.catalog.hf.families import DEFAULTS, KNOWN, REFUSED, REFUSED_BEGINNINGS, TEXT_TYPES
from nsysparse.catalog.hf.fields import Fields, quoted
from nsysparse.catalog.hf.heads import Heads, heads_of, heads_of_blocks, query_heads_of, shared_layers
from nsysparse.catalog.hf.latent import indexed_layers, is_latent, latent_of
from nsysparse.catalog.hf.layers import Kind, layer_kinds, window_of
from nsysparse.catalog.hf.leftovers import refuse_designs, refuse_unread
from nsysparse.catalog.hf.quantised import quantised_cache
from nsysparse.catalog.hf.recurrent import recurrent_of
from nsysparse.catalog.sizes import stated

_LONGEST_NAME = 64


def read_config(path: Path) -> Model:
    """The model that a `config.json` describes; sizes as in the catalogue, for a 16-bit cache.

    Its id is the last part of the file's `_name_or_path`, else its type; its source is the file's name without folders.

    Args:
        path: The file.

    Raises:
        InputError: It cannot be read, or something in it that matters for the cache is unknown, missing or
            contradictory. The message names the key.
    """
    name = _printable(path.name)
    document = read_object(path, name)
    fields, inside = language_of(document, name)
    family = _family(fields)
    if document.get("is_encoder_decoder") or fields.flag("is_encoder_decoder") or fields.flag("add_cross_attention"):
        fields.refuse("an encoder's keys and values, too, are kept, which is not known here.", _SIMILAR)
    if fields.raw("use_bidirectional_attention") in (True, "all"):
        fields.refuse(
            "use_bidirectional_attention makes it an encoder, which keeps nothing for a next token.", _SIMILAR
        )
    fields.defaults = DEFAULTS.get(family, {})
    notes = [f"language model of a multimodal file ({inside})"] if inside else []
    if family not in KNOWN:
        notes.append(
            f"model_type {quoted(family)} is not one that was held against published sizes; read by its fields"
        )
    refuse_designs(fields, family)
    kinds = layer_kinds(fields, family)
    groups = tuple(_merged(_layers(fields, family, kinds, notes)))
    if not groups:
        fields.refuse("none of its layers keeps anything for a sequence.")
    query_heads = query_heads_of(fields)
    _note_rest(document, fields, notes)
    refuse_unread(fields)
    short, long, cap, state = stated(groups)
    model_id = _id(document, fields, family)
    return Model(
        id=model_id,
        name=f"{model_id}, of type {_safe(family) or 'unknown'}",
        attention=_attention(groups, query_heads),
        layers=len(kinds),
        query_heads=query_heads,
        short_bytes_per_token=short,
        long_bytes_per_token=long,
        verified=False,
        source=name,
        groups=groups,
        window_cap_bytes=cap,
        state_bytes=state,
        note="; ".join(dict.fromkeys(notes)) or None,
    )


_SIMILAR = "Name a similar model by its id (`nsysparse models list`)."


def _family(fields: Fields) -> str:
    told = fields.word("model_type") or ""
    family = TEXT_TYPES.get(told, told)
    begins = (why for beginning, why in REFUSED_BEGINNINGS.items() if family.lower().startswith(beginning))
    if (why := REFUSED.get(family) or next(begins, None)) is not None:
        fields.refuse(f"model_type {quoted(family)}: {why}.", _SIMILAR)
    return family


def _layers(fields: Fields, family: str, kinds: list[Kind], notes: list[str]) -> Iterator[LayerGroup]:
    """What each layer keeps, as groups of one layer, in order of depth."""
    shared = shared_layers(fields, kinds)
    if shared:
        notes.append(f"the last {len(shared)} layers use the cache of earlier ones and keep nothing")
    if fields.flag("attention_k_eq_v"):
        notes.append("keys stand for values in some layers (attention_k_eq_v); both are counted, as engines keep both")
    blocks = heads_of_blocks(fields, len(kinds))
    latent = is_latent(fields)
    indexed = indexed_layers(fields, len(kinds), notes) if latent else []
    for layer, kind in enumerate(kinds):
        if layer in shared or kind == "none":
            continue
        if kind in ("recurrent", "both"):
            yield recurrent_of(fields, family, notes)
        if kind == "recurrent":
            continue
        if latent:
            if kind != "full":
                fields.refuse(f"layer {layer} is {kind} with a latent, which is not known here.", _SIMILAR)
            yield latent_of(fields, indexed=indexed[layer])
        elif (heads := heads_of(fields, family, kind) if blocks is None else blocks[layer]) is not None:
            yield _attending(fields, kind, heads)


def _attending(fields: Fields, kind: Kind, heads: Heads) -> LayerGroup:
    if kind in ("full", "both"):
        return FullAttention("full", 1, heads.kv_heads, heads.head_dim, heads.v_head_dim)
    window = window_of(fields, kind)
    return WindowedAttention(
        "sliding" if kind == "sliding" else "chunked", 1, heads.kv_heads, heads.head_dim, window, heads.v_head_dim
    )


def _merged(layers: Iterator[LayerGroup]) -> Iterator[LayerGroup]:
    """Equal layers counted together: attention first, then states, each in order of first appearance."""
    counts: dict[LayerGroup, int] = {}
    for layer in layers:
        counts[layer] = counts.get(layer, 0) + 1
    for layer in sorted(counts, key=lambda each: isinstance(each, Recurrent)):
        yield replace(layer, layers=counts[layer])


def _note_rest(document: Mapping[str, object], fields: Fields, notes: list[str]) -> None:
    """Notes on what was filled in, and on what the sizes leave out."""
    if fields.filled:
        notes.append(f"not in the file, as transformers has it: {', '.join(sorted(fields.filled))}")
    speculative = fields.integer("num_nextn_predict_layers", least=0) or 0
    if speculative:
        notes.append(f"{speculative} speculative layers are not counted")
    notes.extend(
        f"the file asks for a quantised cache ({key}); sizes are for 16-bit values"
        for key in quantised_cache(document, fields.values)
    )


def _attention(groups: tuple[LayerGroup, ...], query_heads: int) -> str:
    """The word of the catalogue for such a model."""
    kinds = {group.kind for group in groups}
    if any(isinstance(group, Recurrent) for group in groups):
        return "state_space" if all(isinstance(group, Recurrent) for group in groups) else "linear_hybrid"
    for kind in ("mla_dsa", "mla"):
        if kind in kinds:
            return kind
    if kinds != {"full"}:
        return "window_hybrid" if "full" in kinds else "window"
    heads = {group.kv_heads for group in groups if isinstance(group, FullAttention)}
    return "mqa" if heads == {1} else "mha" if heads == {query_heads} else "gqa"


def _id(document: Mapping[str, object], fields: Fields, family: str) -> str:
    """A name that can stand in a report: the last part of where the file came from, never a path."""
    told = [values.get("_name_or_path") for values in (document, fields.values)]
    named = next((re.split(r"[/\\]", text.rstrip("/\\"))[-1] for text in told if isinstance(text, str)), "")
    return _safe(named) or _safe(family) or "config"


def _safe(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+-]+", "-", text)[:_LONGEST_NAME].strip("-.")


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)
