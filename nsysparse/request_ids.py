"""Request ids in one spelling: engines add prefixes and suffixes of their own to the id they hand on."""

import re
from collections import Counter
from collections.abc import Sequence
from urllib.parse import quote, unquote

import polars as pl

from nsysparse.errors import InputError

HINT_SUFFIX = r"^(.*)-[0-9a-f]{8}$"
"""What recent engines append to an id, one each."""


def check_pattern(pattern: str) -> None:
    """Refuse a normaliser that the linear engine does not know, or that names nothing.

    Raises:
        InputError: The pattern does not compile, or has no group.
    """
    try:
        groups = pl.select(pl.lit("x").str.extract_groups(pattern)).to_series().struct.fields
    except pl.exceptions.ComputeError as error:
        raise InputError(
            f"--normalize-request: {str(error).splitlines()[0]}.",
            "Patterns run in linear time: no look-around and no back-references.",
        ) from error
    if not groups or groups == [""]:
        raise InputError(
            "--normalize-request has no group.", "Put what is the id in parentheses, as in '^(.*)-[0-9a-f]{8}$'."
        )


def normalised(ids: pl.Series, pattern: str) -> pl.Series:
    """Each id as the first group of the pattern has it; ids that do not match stay."""
    found = ids.str.extract(pattern, 1)
    return pl.select(pl.coalesce(pl.when(found != "").then(found), ids)).to_series().alias(ids.name)


def normalise_texts(texts: pl.Series, pattern: str) -> pl.Series:
    """Comma lists of percent-encoded ids, as annotations have them, with every id normalised."""
    distinct = texts.drop_nulls().unique()
    table = {text: _normalised_list(text, pattern) for text in distinct.to_list()}
    return texts.replace_strict(table, default=None, return_dtype=pl.String) if table else texts


def _normalised_list(text: str, pattern: str) -> str:
    ids = pl.Series([unquote(part, errors="backslashreplace") for part in text.split(",") if part], dtype=pl.String)
    return ",".join(quote(each, safe="-._~:/#@") for each in normalised(ids, pattern).to_list())


def collisions(ids: pl.DataFrame, pattern: str) -> int:
    """How many normalised ids stand for several ids of one process: those requests are no longer told apart.

    Args:
        ids: `process` and `request`, as recorded.
        pattern: The normaliser.
    """
    distinct = ids.drop_nulls().unique()
    if distinct.is_empty():
        return 0
    named = distinct.with_columns(short=normalised(distinct["request"], pattern))
    return named.group_by("process", "short").len().filter(pl.col("len") > 1).height


def differ_by_suffix(per_trace: Sequence[set[str]], anomalies: Counter[str]) -> None:
    """Count requests whose ids differ between traces only by what `HINT_SUFFIX` takes off."""
    suffix = re.compile(HINT_SUFFIX)
    known: dict[str, int] = {}
    alike: set[str] = set()
    for number, ids in enumerate(per_trace):
        for each in ids:
            match = suffix.match(each)
            short = match[1] if match else each
            if known.setdefault(short, number) != number and not any(each in other for other in per_trace[:number]):
                alike.add(short)
    if alike:
        anomalies["request-ids-differ-by-suffix"] += len(alike)
