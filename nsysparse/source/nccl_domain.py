"""Which NVTX ranges are NCCL's own.

NCCL pushes its ranges into a domain named NCCL, whose id differs between processes. The row that names the domain can
be missing from a cropped file; then exact API names outside the default domain are taken for NCCL's. Names in the
default domain never are: torch writes texts such as `nccl:all_to_all` there.
"""

import polars as pl

DOMAIN = "NCCL"
SENDS = ("ncclSend",)
RECEIVES = ("ncclRecv",)
# One-sided (NCCL 2.29 and newer): a copy or a proxy moves the data, no kernel. ncclSignal and ncclWaitSignal move none.
PUTS = ("ncclPutSignal",)
GROUP_START, GROUP_END = "ncclGroupStart", "ncclGroupEnd"
COLLECTIVES = (
    "ncclAllGather", "ncclAllReduce", "ncclBcast", "ncclBroadcast", "ncclReduce", "ncclReduceScatter",
    "ncclAlltoAll", "ncclAllToAll", "ncclGather", "ncclScatter",
)  # fmt: skip
INITS = (
    "ncclCommInitRank", "ncclCommInitAll", "ncclCommInitRankConfig", "ncclCommInitRankScalable", "ncclCommSplit",
)  # fmt: skip
API = (*SENDS, *RECEIVES, *PUTS, GROUP_START, GROUP_END, *COLLECTIVES, *INITS)

# One kernel serves Send, Recv and both together; its name changed in NCCL 2.8 and 2.19.
SEND_RECV_KERNEL = (
    r"^(?:void )?nccl(?:DevKernel_SendRecv|Kernel_SendRecv_\w+|SendRecv(?:RingSimple)?Kernel_\w+)(?:\(.*)?$"
)
ANY_KERNEL = r"(?i)^(?:void )?nccl"


def is_nccl() -> pl.Expr:
    """True for labels of NCCL's ranges; for a frame with the columns of `Labels`."""
    unnamed = pl.col("domain").is_null() & ~pl.col("is_default_domain")
    return (pl.col("domain") == DOMAIN).fill_null(value=False) | (unnamed & pl.col("name").is_in(API))
