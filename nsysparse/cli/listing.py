"""How the catalogue commands print: aligned columns for people, JSON with a fixed order for programs."""

from collections.abc import Sequence

import click

format_option = click.option(
    "-f",
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Columns to read, or every field as JSON.",
)


def print_columns(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> None:
    """Print rows (the first holds the titles) with aligned columns, two spaces apart.

    Args:
        rows: The cells; all rows of one length.
        right: Numbers of the columns that are set flush right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())


def print_facts(facts: Sequence[tuple[str, str | None]]) -> None:
    """Print labelled values under each other; a fact without value is left out."""
    print_columns([(f"{label}:", value) for label, value in facts if value is not None])


def print_json(value: object) -> None:
    """Print plain values as JSON, keys in the order they have."""
    import json

    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def matches(word: str | None, *fields: str) -> bool:
    """Whether a filter word occurs in any of the fields, whatever the case; no word matches all."""
    return word is None or any(word.casefold() in field.casefold() for field in fields)


def report_none(kind: str, word: str | None) -> None:
    """Say on stderr that a filter left nothing, so that empty output is no riddle."""
    click.echo(f"No {kind} has {word!r} in its id, name or kind.", err=True)
