"""Request ids in one spelling: engines add prefixes and suffixes of their own to the id they hand on."""

import re
from collections import Counter
from collections.abc import Sequence
from urllib.parse import quote, unquote

import polars as pl

from nsysparse.errors import UsageError
from nsysparse.presets.engine import complaint, group_names

HINT_SUFFIX = r"^(.*)-[0-9a-f]{8}$"
"""What recent engines append to an id, one each."""


def check_pattern(pattern: str) -> None:
    """Refuse a normaliser that the linear engine does not know, or that names nothing.

    Raises:
        UsageError: The pattern cannot be used, or has no group.
    """
    text = complaint(pattern)
    if text is None and not group_names(pattern):
        text = "has no group"
    if text is not None:
        raise UsageError(
            f"--normalize-request: the pattern {text}.",
            f"Put what is the id in parentheses, as in '{HINT_SUFFIX}'. Patterns run in linear time: no look-around and"
            " no back-references.",
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


def collisions(lists: pl.DataFrame, pattern: str) -> int:
    """How many normalised ids stand for several ids of one process: those requests are no longer told apart.

    Args:
        lists: `process`, and `request`: comma lists of percent-encoded ids, as recorded.
        pattern: The normaliser.
    """
    distinct = lists.drop_nulls().unique()
    known = [
        (process, unquote(part, errors="backslashreplace"))
        for process, text in distinct.select("process", "request").iter_rows()
        for part in text.split(",")
        if part
    ]
    ids = pl.DataFrame(known, schema={"process": pl.Int64, "request": pl.String}, orient="row").unique()
    if ids.is_empty():
        return 0
    named = ids.with_columns(short=normalised(ids["request"], pattern))
    return named.group_by("process", "short").len().filter(pl.col("len") > 1).height


def differ_by_suffix(per_trace: Sequence[set[str]], anomalies: Counter[str]) -> None:
    """Count requests whose ids differ between traces only by what `HINT_SUFFIX` takes off.

    Not where it would make one id of several of a trace: then the suffix tells requests apart.
    """
    shortened = [Counter(_short(each) for each in ids) for ids in per_trace]
    if any(count > 1 for ids in shortened for count in ids.values()):
        return
    alike: set[str] = set()
    for number, ids in enumerate(per_trace):
        for each in ids:
            met = [place for place in range(number) if _short(each) in shortened[place]]
            if met and not any(each in per_trace[place] for place in met):
                alike.add(_short(each))
    if alike:
        anomalies["request-ids-differ-by-suffix"] += len(alike)


_SUFFIX = re.compile(HINT_SUFFIX)


def _short(ident: str) -> str:
    match = _SUFFIX.match(ident)
    return match[1] if match else ident
