"""TensorRT-LLM's hand-over through bounce buffers: one `nixlWrite` range per chunk on the wire.

The prefill engine gathers a chunk of KV into a buffer, writes it to the decode engine and has it scattered there; each
step is a start/end range that may end on another thread. Only the write moves data between the engines; the `req` range
spans all chunks of a request and repeats their bytes.
"""

import polars as pl

from nsysparse.frames import Found, Frame, found_frame
from nsysparse.scope_table import ScopeTable
from nsysparse.source import schema
from nsysparse.source.trace import Trace
from nsysparse.transports.announced import announced

NAME = "trtllm-bounce"
ABOUT = "TensorRT-LLM's nixlWrite ranges: chunks of KV on their way from bounce buffer to bounce buffer"
UNSEEN = (
    "builds without these ranges, as release wheels are; TensorRT-LLM's other paths, which leave rows of NIXL or UCX at"
    " best; layers, which no range of it names"
)
NEEDS = (schema.NVTX,)
SHOWN_BY = (("nvtx_ranges",),)
RULE = "trtllm-bounce/nixlWrite"


def find(trace: Trace, scopes: ScopeTable) -> Frame[Found]:
    """All writes of a trace, seen from their sender; request and size are in the range's own text."""
    return found_frame(
        announced(trace, scopes, RULE, bytes_source="text").with_columns(
            transport=pl.lit(NAME), side=pl.lit("send"), peer=pl.lit(None, dtype=pl.Int64)
        )
    )
