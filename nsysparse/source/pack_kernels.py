"""Kernels that gather, scatter or convert KV before it is moved or after: known by parts of their names.

Few, and of programs that use them for nothing else. `reshape_and_cache` is missing on purpose: with it a model writes
the KV it just computed, which is no part of moving it.
"""

import polars as pl

# LMCache's. They read and write pinned host memory as well as memory of the device: they may be the transfer itself.
REACH_HOST = (
    "kv_transfer", "load_and_reshape_multi_layer", "load_and_reshape_flash", "reshape_and_cache_back",
)  # fmt: skip
# TensorRT-LLM's, between its cache blocks and a send or receive buffer on the device.
ON_DEVICE = ("splitKVCache", "concatKVCache")
NAMES = (*REACH_HOST, *ON_DEVICE)


def is_pack() -> pl.Expr:
    """True for kernels that pack or unpack KV; for a frame with `kind` and `name`."""
    return (pl.col("kind") == "kernel") & pl.col("name").str.contains_any(list(NAMES), ascii_case_insensitive=True)


def reaches_host() -> pl.Expr:
    """True for names of kernels that can move KV to or from the host without a copy."""
    return pl.col("name").str.contains_any(list(REACH_HOST), ascii_case_insensitive=True)
