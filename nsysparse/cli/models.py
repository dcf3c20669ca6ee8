"""`nsysparse models`: which models are known, and how many bytes of KV cache each token costs."""

from typing import TYPE_CHECKING

import click

from nsysparse.cli.listing import format_option, matches, print_columns, print_facts, print_json, report_none
from nsysparse.cli.talk import verbosity_options

if TYPE_CHECKING:
    from nsysparse.catalog.entries import LayerGroup, Model

EXAMPLE_TOKENS = (1024, 32_768)


@click.group("models")
def command() -> None:
    """Show the catalogue of models whose KV-cache size is known.

    Sizes are for a 16-bit cache on one rank. Query heads play no part; latent, windowed and recurrent layers are
    counted as what they keep. GB is 1e9 bytes. Any other model can be given as the config.json that it has on
    Hugging Face.

    \b
    nsysparse models list llama
    nsysparse models show llama-3-70b
    nsysparse report trace.sqlite --model llama-3-70b
    nsysparse report trace.sqlite --model ./my-model/config.json
    """


@command.command("list")
@click.argument("word", required=False)
@format_option
@verbosity_options
def list_(word: str | None, output_format: str) -> None:
    """List models; WORD keeps those with it in id, name or kind of layers.

    \b
    nsysparse models list mla
    nsysparse models list qwen -f json
    """
    from dataclasses import asdict

    from nsysparse.catalog.loader import models

    chosen = [
        model
        for model in models().values()
        if matches(word, model.id, model.name, model.attention, *(group.kind for group in model.groups))
    ]
    if output_format == "json":
        print_json([asdict(model) for model in chosen])
    elif chosen:
        titles = ("id", "layers", "bytes/token", "past windows", "fixed state MB", "attention", "name")
        rows = [_row(model) for model in chosen]
        print_columns([titles, *rows], right=frozenset({1, 2, 3, 4}))
    if not chosen:
        report_none("model", word)


@command.command()
@click.argument("name", metavar="ID|FILE")
@format_option
@verbosity_options
def show(name: str, output_format: str) -> None:
    """Show one model: its layer groups, and what its cache comes to.

    FILE is the config.json of a model on Hugging Face, or the folder that holds it.

    \b
    nsysparse models show deepseek-v3
    nsysparse models show ./my-model/config.json
    """
    from dataclasses import asdict

    from nsysparse.catalog.loader import find_model

    model = find_model(name)
    if output_format == "json":
        print_json(asdict(model))
        return
    click.echo(f"{model.id}: {model.name}\n")
    print_facts(_facts(model))
    click.echo("\nLayers that keep something for a sequence:")
    for group in model.groups:
        click.echo(f"  {group.layers} x {group.kind}: {_geometry(group)}")


def _row(model: "Model") -> tuple[str, ...]:
    return (
        model.id,
        str(model.layers),
        f"{model.short_bytes_per_token:,}",
        f"{model.long_bytes_per_token:,}",
        "" if model.state_bytes is None else f"{model.state_bytes / 1e6:.4g}",
        model.attention,
        model.name if model.verified else f"{model.name} (unverified)",
    )


def _facts(model: "Model") -> list[tuple[str, str | None]]:
    from nsysparse.theory.kv_cache import bytes_per_token, kv_bytes, layer_count
    from nsysparse.units import human_bytes

    keeping = layer_count(model)
    rest = "" if keeping == model.layers else f", {keeping} of which keep anything for a sequence"
    cap, state = model.window_cap_bytes, model.state_bytes
    return [
        ("KV bytes per token", f"{bytes_per_token(model):,} (16-bit)"),
        ("past all windows", None if cap is None else f"{model.long_bytes_per_token:,} per token"),
        ("windowed layers hold", None if cap is None else f"at most {human_bytes(cap)} per sequence"),
        ("fixed state", None if state is None else f"{human_bytes(state)} per sequence, however long"),
        *(
            (f"{tokens:,} tokens", f"{kv_bytes(model, tokens):,} bytes = {human_bytes(kv_bytes(model, tokens))}")
            for tokens in EXAMPLE_TOKENS
        ),
        ("layers", f"{model.layers}{rest}"),
        ("attention", model.attention),
        ("source", model.source if model.verified else f"{model.source} (unverified)"),
        ("note", model.note),
    ]


def _geometry(group: "LayerGroup") -> str:
    from dataclasses import asdict

    sizes = {key: value for key, value in asdict(group).items() if key not in ("kind", "layers") and value is not None}
    return ", ".join(f"{key} {value}" for key, value in sizes.items())
