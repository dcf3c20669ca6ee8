"""Ranges and what presets say of them, each text once: ten million ranges have a few thousand texts."""

from collections.abc import Callable, Collection, Sequence

import polars as pl

IntoExpr = str | pl.Expr


class ScopeTable:
    """Ranges and marks of which a preset says something.

    It is asked as a frame of all their columns would be; of the columns that stand with the texts only those asked for
    are put beside the ranges.

    Args:
        ranges: `range_id`, `label_id`, `style` (push_pop, start_end, mark, or one of those that hold nothing),
            `process`, `thread`, `start_ns`, `end_ns`, sorted by `range_id`.
        words: What is said of each label: `label_id`, `rule`, `kind`, `purpose`, `purpose_rule` and the presets' fields
            as text.
    """

    def __init__(self, ranges: pl.DataFrame, words: pl.DataFrame) -> None:
        """Keep both apart."""
        self._ranges, self._words = ranges, words
        numbered = words.select("label_id").with_row_index("row")
        self._rows = ranges.select("label_id").join(numbered, on="label_id", how="left", maintain_order="left")["row"]

    @property
    def height(self) -> int:
        """How many ranges and marks."""
        return self._ranges.height

    def filter(self, *conditions: pl.Expr, columns: Collection[str] | None = None) -> pl.DataFrame:
        """Those that meet all conditions, in the order of `range_id`.

        Args:
            conditions: Each about single rows.
            columns: What is wanted of them; None: all columns but `label_id`.
        """
        told, rest = _sorted_out(conditions, self._words)
        kept = self._ranges.with_columns(self._rows)
        if told:
            # What holds of a text holds of all its ranges, so that their texts need not be looked at.
            kept = kept.filter(self._words.select(pl.all_horizontal(told)).to_series().gather(self._rows))
        if rest:
            kept = self._beside(kept, _names(rest)).filter(*rest)
        wanted = [name for name in (*self._ranges.columns, *self._words.columns) if name != "label_id"]
        names = wanted if columns is None else [name for name in wanted if name in columns]
        places = [name for name in names if name in self._ranges.columns]
        words = [pl.col(name).gather(kept["row"]) for name in names if name not in places]
        return kept.select(places).hstack(self._words.select(words)) if words else kept.select(places)

    def select(self, *columns: IntoExpr, **named: IntoExpr) -> pl.DataFrame:
        """The columns asked for, of all of them, in the order of `range_id`."""
        rows = self._ranges.with_columns(self._rows)
        return self._beside(rows, _names([*columns, *named.values()])).select(*columns, **named)

    def dtype(self, name: str) -> pl.DataType:
        """The type of a column."""
        return (self._ranges if name in self._ranges.columns else self._words).schema[name]

    def words(self, name: str) -> list[str]:
        """What a column says that stands with the texts, each text once, sorted."""
        found: list[str] = self._words[name].drop_nulls().unique().sort().to_list()
        return found

    def with_words(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> "ScopeTable":
        """The same ranges with other words: `change` gets these and keeps `label_id`."""
        return ScopeTable(self._ranges, change(self._words))

    def only(self, kinds: Collection[str]) -> "ScopeTable":
        """The ranges and marks of these kinds alone, with the words of their labels alone."""
        words = self._words.filter(pl.col("kind").is_in(list(kinds)))
        ranges = self._ranges.join(words, on="label_id", how="semi", maintain_order="left")
        return ScopeTable(ranges, words.join(ranges, on="label_id", how="semi", maintain_order="left"))

    def _beside(self, rows: pl.DataFrame, names: list[str]) -> pl.DataFrame:
        """Some of the ranges, with those of these columns that stand with the texts."""
        wanted = [name for name in dict.fromkeys(names) if name in self._words.columns and name != "label_id"]
        return rows.with_columns(self._words[name].gather(rows["row"]) for name in wanted) if wanted else rows


def _sorted_out(conditions: Sequence[pl.Expr], words: pl.DataFrame) -> tuple[list[pl.Expr], list[pl.Expr]]:
    """Conditions about nothing but texts, and the others."""
    told: list[pl.Expr] = []
    rest: list[pl.Expr] = []
    for each in conditions:
        (told if set(each.meta.root_names()) <= set(words.columns) else rest).append(each)
    return told, rest


def _names(asked: Sequence[IntoExpr]) -> list[str]:
    """The columns that are read for what is asked."""
    return [name for each in asked for name in ([each] if isinstance(each, str) else each.meta.root_names())]
