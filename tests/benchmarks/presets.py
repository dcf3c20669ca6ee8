"""How long it takes to match a million distinct texts: against all built-in rules, and against those that speak.

python tests/benchmarks/presets.py [COUNT]
"""

import sys
import time
from collections.abc import Callable, Mapping

import polars as pl

from nsysparse.presets.loader import active, builtin, builtin_rules, match, rules_of

COUNT = 1_000_000
TEXTS: Mapping[str, Callable[[int], str]] = {
    "annotations": lambda i: f"kv_transfer v=1 op=send request=cmpl-{i:032x}-0 layer={i % 32} bytes={2**22 + i} peer=1",
    "request ids": lambda i: f"chatcmpl-{i * 2654435761 % 2**128:032x}",
    "unknown": lambda i: f"{i * 0x9E3779B97F4A7C15 % 2**64:016x} work item",
    "operations": lambda i: f"aten::mm, seq = {i}, op_id = {2 * i}, sizes = [[16, 4096], [4096, 4096]]",
    "modules": lambda i: f"{{'Module': 'LlamaForCausalLM.model.layers.{i % 32}.mlp', 'Inputs': [[{i}, 4096]]}}",
}


def main(count: int) -> None:
    """Print wall-clock seconds per kind of text."""
    for name, text in TEXTS.items():
        labels = pl.DataFrame(
            {"label_id": range(count), "domain": None, "name": list(map(text, range(count)))},
            schema={"label_id": pl.UInt32, "domain": pl.String, "name": pl.String},
        ).with_columns(is_default_domain=pl.lit(value=True))
        start = time.perf_counter()
        known = match(labels, builtin_rules()).height
        everything = time.perf_counter() - start
        start = time.perf_counter()
        speaking = active(builtin(), labels)
        match(labels, rules_of(speaking))
        spoken = time.perf_counter() - start
        print(f"{name:12} {known:>9,} known  all rules {everything:5.2f} s  probes and what speaks {spoken:5.2f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else COUNT)
