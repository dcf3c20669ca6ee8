"""Why no KV transfer was found: what else moved, or where transfers were looked for and where they could not be."""

from collections.abc import Mapping, Sequence

from nsysparse.analysis import Excluded, TraceFacts
from nsysparse.metrics.moved import Moved
from nsysparse.units import counted

# What transfers are found by, as a reader knows it, the most usual first.
_SOUGHT: Mapping[str, str] = {
    "nccl_calls": "calls of NCCL", "nixl_requests": "requests of NIXL", "ucx_messages": "operations of UCX",
    "gpu_copies": "copies", "nvtx_ranges": "NVTX ranges",
}  # fmt: skip
_ROWLESS = (
    "What an engine moves by RDMA of its own leaves no row at all (Mooncake's, in SGLang and vLLM's MooncakeConnector):"
    " put kv_transfer ranges around it (docs/reference/convention.md), or sample --nic-metrics=lf and"
    " --gpu-metrics-devices=all."
)


def nothing(excluded: Sequence[Excluded], traces: Sequence[TraceFacts]) -> Moved:
    """What is to be said where no transfer counts.

    Args:
        excluded: What is not counted.
        traces: Facts about the inputs.
    """
    if not excluded:
        return _sought(traces)
    rules = ", ".join(sorted({row.rule for row in excluded if row.purpose == "other"}))
    transfers, kernels = (sum(row.transfer_count for row in excluded), sum(row.kernel_count for row in excluded))
    found = counted(transfers, "transfer") + (f" in {counted(kernels, 'kernel')}" if kernels else "")
    unproven = sum(row.transfer_count for row in excluded if row.purpose != "other")
    if not unproven:
        which = f"all {found} are" if transfers > 1 else "the only transfer is"
        return Moved(f"no KV transfer found: {which} other traffic ({rules})")
    rest = f", the others are other traffic ({rules})" if rules else ""
    return Moved(f"no proven KV transfer found: of {found}, {unproven:,} may be KV, but nothing proves it{rest}")


def _sought(traces: Sequence[TraceFacts]) -> Moved:
    """Where transfers were looked for and where they could not be, why, and what would leave them to be found."""
    facts = [trace.capabilities for trace in traces]
    recorded = [name for name in _SOUGHT if any(found[name].status != "absent" for found in facts if name in found)]
    missing = [name for name in _SOUGHT if name not in recorded]
    text = "no KV transfer found"
    if recorded:
        text += f" among {_listed(recorded)}, which were recorded"
    if missing:
        text += f"; {_listed(missing)} were not" if recorded else f": no {_listed(missing, 'or')} were recorded"
    # Kernels that could not be seen may have been NCCL's, whatever else was recorded.
    hidden = [found["graph_nodes"].reason for found in facts if found["graph_nodes"].status != "present"]
    # One command records all kinds; the first that is missing and known to a command has it.
    unrecorded = ("nixl_requests", "ucx_messages", "nccl_calls", "graph_nodes")
    fixes = [found[name].fix for name in unrecorded for found in facts if found[name].status == "absent"]
    why = f"{hidden[0][0].upper()}{hidden[0][1:]}. " if hidden else ""
    return Moved(text, f"{why}{_ROWLESS}", fixes[0] if fixes else "")


def _listed(names: Sequence[str], word: str = "and") -> str:
    *most, last = [_SOUGHT[name] for name in names]
    return f"{', '.join(most)} {word} {last}" if most else last
