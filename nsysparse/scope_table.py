"""Ranges and what presets say of them, each text once: ten million ranges have a few thousand texts."""

from collections.abc import Callable, Sequence

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

    def filter(self, *conditions: pl.Expr) -> pl.DataFrame:
        """Those that meet all conditions, with all columns but `label_id`, in the order of `range_id`."""
        kept = self._beside(_names(conditions)).with_columns(self._rows).filter(*conditions)
        said = self._words.select(pl.exclude("label_id").gather(kept["row"]))
        return kept.select(name for name in self._ranges.columns if name != "label_id").hstack(said)

    def select(self, *columns: IntoExpr, **named: IntoExpr) -> pl.DataFrame:
        """The columns asked for, of all of them, in the order of `range_id`."""
        return self._beside(_names([*columns, *named.values()])).select(*columns, **named)

    def words(self, name: str) -> list[str]:
        """What a column says that stands with the texts, each text once, sorted."""
        found: list[str] = self._words[name].drop_nulls().unique().sort().to_list()
        return found

    def with_words(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> "ScopeTable":
        """The same ranges with other words: `change` gets these and keeps `label_id`."""
        return ScopeTable(self._ranges, change(self._words))

    def _beside(self, names: list[str]) -> pl.DataFrame:
        """The ranges with those of these columns that stand with the texts."""
        wanted = [name for name in dict.fromkeys(names) if name in self._words.columns and name != "label_id"]
        return self._ranges.with_columns(self._words[name].gather(self._rows) for name in wanted)


def _names(asked: Sequence[IntoExpr]) -> list[str]:
    """The columns that are read for what is asked."""
    return [name for each in asked for name in ([each] if isinstance(each, str) else each.meta.root_names())]
