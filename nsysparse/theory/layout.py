"""How a cache lies on the ranks of the side that hands it over, and in which blocks.

Ranks of one stage are alike: each keeps `ceil(heads / TP)` KV heads, so heads are kept more than once where there are
fewer of them than ranks.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from nsysparse.errors import UsageError

# A latent has no heads to divide: engines keep all of it on every rank of a stage.
#   replicated : one of them sends it
#   repeated   : each of them sends its copy, as where each rank of the other side fetches its own
#   divided    : each keeps and sends an equal part of the tokens, as with context parallelism, and as NIXL's KVBench
#                counts: https://github.com/ai-dynamo/nixl/tree/main/benchmark/kvbench
Mla = Literal["replicated", "repeated", "divided"]


@dataclass(frozen=True, slots=True)
class Layout:
    """Ranks and blocks: `tp` ranks per stage, `pp` stages, `block` tokens per block, and what ranks do with latents."""

    tp: int = 1
    pp: int = 1
    block: int = 1
    mla: Mla = "replicated"


WHOLE = Layout()  # one rank, tokens one by one


def layout(tp: int = 1, pp: int = 1, block: int = 1, mla: str = "replicated") -> Layout:
    """The layout that a user asks for.

    Args:
        tp: Tensor-parallel ranks of each stage.
        pp: Pipeline stages.
        block: Tokens per block of the cache; attention layers keep whole blocks.
        mla: What the ranks of a stage do with latents: `replicated`, `repeated` or `divided`.

    Raises:
        UsageError: A number is less than 1, or `mla` is none of the three.
    """
    for value, what, example in (
        (tp, "tensor-parallel ranks", "8 where a model is spread over eight GPUs"),
        (pp, "pipeline stages", "1 where every GPU holds all layers"),
        (block, "tokens per block", "16, or 1 for no rounding"),
    ):
        if value < 1:
            raise UsageError(f"A cache on {value} {what} is asked for; at least 1 is needed.", f"Give {example}.")
    kinds: tuple[Mla, ...] = get_args(Mla)
    kind = next((known for known in kinds if known == mla), None)
    if kind is None:
        raise UsageError(f"Ranks cannot keep latents {mla!r}.", f"Known: {', '.join(kinds)}.")
    return Layout(tp, pp, block, kind)


def parts(count: int, ranks: int) -> int:
    """The largest of `ranks` parts of `count` indivisible things, so at least 1 of any."""
    return -(-count // ranks)
