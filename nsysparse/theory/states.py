"""What one tensor-parallel rank keeps of a recurrent layer's state."""

from dataclasses import replace

from nsysparse.catalog.entries import GatedDeltaNet, Kda, Mamba1, Mamba2, Recurrent
from nsysparse.theory.layout import parts


def rank_state(group: Recurrent, tp: int) -> Recurrent:
    """The group with the heads (channels, for the first Mamba) of one of `tp` ranks, the rest as it was.

    Heads that are shared by others (keys of a gated delta net, groups of the second Mamba) are divided as far as they
    go, and kept more than once beyond that, as vLLM does:
    https://github.com/vllm-project/vllm/blob/main/vllm/model_executor/layers/mamba/mamba_utils.py
    """
    match group:
        case GatedDeltaNet():
            return replace(group, k_heads=parts(group.k_heads, tp), v_heads=parts(group.v_heads, tp))
        case Kda():
            return replace(group, heads=parts(group.heads, tp))
        case Mamba1():
            return replace(group, d_inner=parts(group.d_inner, tp))
        case Mamba2():
            return replace(group, heads=parts(group.heads, tp), n_groups=parts(group.n_groups, tp))
