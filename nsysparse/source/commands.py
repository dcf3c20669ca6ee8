"""The commands of nsys that we advise: what to record with, and how to export it."""

from nsysparse.source.open import NSYS_EXPORT

PROFILE = "nsys profile -t cuda,nvtx --cuda-graph-trace=node --trace-fork-before-exec=true -o trace COMMAND"
PROFILE_UCX = PROFILE.replace("-t cuda,nvtx", "-t cuda,nvtx,ucx")
# NIXL 1.4.0 and newer turns its NVTX on by itself where it sees nsys; saying so holds also where it does not.
PROFILE_NIXL = f"NIXL_TRACE_BACKENDS=nvtx {PROFILE_UCX}"
EXPORT_AGAIN = f"{NSYS_EXPORT} -o trace.sqlite trace.nsys-rep"
ANNOTATE_COPIES = "Push a kv_transfer range around the copies that move KV: docs/reference/convention.md"
ANNOTATE_OFFLOADS = (
    "Push a kv_transfer range with op=offload or op=load around the copies that move KV: docs/reference/convention.md"
)
