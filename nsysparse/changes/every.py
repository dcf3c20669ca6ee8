"""All metrics of the run, changed or not, with the reason why one was not compared."""

from nsysparse.changes.rows import all_rows, value_columns
from nsysparse.comparison import Comparison
from nsysparse.document import Block, Column, Heading, Table


def build(comparison: Comparison) -> list[Block]:
    """One table, in the order of the metrics."""
    columns = [
        *value_columns(),
        Column("Verdict"),
        Column("Observations", "right", minor=True),
        Column("Why", minor=True),
    ]
    rows = all_rows(comparison.metrics)
    return [Heading("All metrics", "diff-all"), Table("All metrics", columns, rows, "diff-all-table", folded=True)]
