"""One movement counts once, though several sources of one trace recorded it: the best stands, the others are evidence.

Two shapes of the same thing:

- A range that announces a transfer (our annotation, TensorRT-LLM's `nixlWrite`) lies around the call that another
  source recorded. The call stands; the range says what it was for.
- A transfer of a library (NCCL, NIXL, UCX) lies around the copies or messages that carried it out. The library's row
  stands, since it knows the whole; what carried it is evidence, as long as it is not more than the whole.
"""

from collections import Counter

import polars as pl

from nsysparse.evidence.carriers import LIBRARIES, Surroundings, carried
from nsysparse.evidence.issuing import issuing
from nsysparse.evidence.ranges import ANNOUNCED, called, nested
from nsysparse.scope_table import ScopeTable

__all__ = ["Surroundings", "count_once", "issuing"]


def count_once(found: pl.DataFrame, scopes: ScopeTable, around: Surroundings, anomalies: Counter[str]) -> pl.DataFrame:
    """Drop rows of one trace that are evidence for others, and note on these what it was.

    Args:
        found: Rows of all transports with `transfer_id`.
        scopes: What presets say about the trace's ranges.
        around: What else its ranges tell of these rows.
        anomalies: Counts rows that lie inside a transfer but carry more than it.

    Returns:
        The rows that stand, in the same order, with `evidence` and `told_id`, the outermost announcing range that they
        stand for; one of a start/end range has its `scope_id`, and its size and purpose where it knew none.
    """
    standing = nested(found, scopes).with_columns(told_id=pl.lit(None, dtype=pl.UInt32))
    # What carried a library's transfer is settled first: a range is then compared with the transfer alone.
    for library in LIBRARIES:
        standing = carried(standing, library, around, anomalies)
    for transport in ANNOUNCED[::-1]:
        standing = called(standing, transport, scopes, around.other)
    return carried(standing, "trtllm-bounce", around, anomalies)
