"""Requests by the length of their prompts: long prompts move more KV, and compute longer before they do."""

from collections.abc import Sequence

import polars as pl

from nsysparse.analysis import PromptBucket, Request
from nsysparse.metrics.measured import distribution
from nsysparse.units import NS_PER_MS

_SHORTEST, _MOST = 512, 2**40


def by_prompt(requests: Sequence[Request]) -> tuple[PromptBucket, ...] | None:
    """Requests in classes whose lengths double; None where no prompt's length is known, classes without any left out.

    The first class has the prompts below 512 tokens.
    """
    known = [request for request in requests if request.prompt_tokens is not None]
    classes: dict[int, list[Request]] = {}
    for request in known:
        tokens = min(request.prompt_tokens or 0, _MOST)
        classes.setdefault(0 if tokens < _SHORTEST else 2 ** (tokens.bit_length() - 1), []).append(request)
    return tuple(_bucket(low, classes[low]) for low in sorted(classes)) if known else None


def _bucket(low: int, requests: Sequence[Request]) -> PromptBucket:
    gaps, firsts = ([getattr(each, name) for each in requests] for name in ("kv_gap_ns", "ttft_ns"))
    shares = pl.Series([each.kv_gap_share for each in requests], dtype=pl.Float64)
    return PromptBucket(
        low=low,
        high=max(2 * low, _SHORTEST),
        request_count=len(requests),
        over_count=sum(each.verdict == "over" for each in requests),
        kv_gap_ms=distribution(pl.Series(gaps, dtype=pl.Int64) / NS_PER_MS),
        kv_gap_share=distribution(shares),
        ttft_ms=distribution(pl.Series(firsts, dtype=pl.Int64) / NS_PER_MS),
    )
