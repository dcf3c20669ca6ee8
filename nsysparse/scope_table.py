"""Ranges and what presets say of them, each text once: ten million ranges have a few thousand texts."""

from collections.abc import Callable, Collection

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

    @property
    def height(self) -> int:
        """How many ranges and marks."""
        return self._ranges.height

    def filter(self, *conditions: pl.Expr) -> pl.DataFrame:
        """Those that meet all conditions, with all columns but `label_id`, in the order of `range_id`."""
        names = [name for each in conditions for name in each.meta.root_names()]
        kept = self._beside(names).filter(*conditions).select(self._ranges.columns)
        return kept.join(self._words, on="label_id", how="left", maintain_order="left").drop("label_id")

    def select(self, *columns: IntoExpr, **named: IntoExpr) -> pl.DataFrame:
        """The columns asked for, of all of them, in the order of `range_id`."""
        asked = [*columns, *named.values()]
        names = [name for each in asked for name in ([each] if isinstance(each, str) else each.meta.root_names())]
        return self._beside(names).select(*columns, **named)

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

    def _beside(self, names: list[str]) -> pl.DataFrame:
        """The ranges with those of these columns that stand with the texts."""
        wanted = [name for name in dict.fromkeys(names) if name in self._words.columns and name != "label_id"]
        if not wanted:
            return self._ranges
        words = self._words.select("label_id", *wanted)
        return self._ranges.join(words, on="label_id", how="left", maintain_order="left")
