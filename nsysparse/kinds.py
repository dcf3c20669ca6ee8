"""What transports are like, where later stages must know: by the names that stand in the column `transport`."""

NCCL = "nccl"
"""Its ends are ranks of a communicator, its messages keep their order, and its kernels wait for each other."""
ANNOTATED = "annotated"
"""Ranges that tell of a transfer: they may stand for the other side of one that only one side recorded."""
HOST_STAGED = "host-staged"
"""The copies of a range, with pauses between them."""
COPIES = ("memcpy", HOST_STAGED)
"""Their intervals hold no waiting at all: a copy waits for nobody."""
HOST = "host"
"""The end of a link that is host memory: what leads there is another wire than the one between two GPUs."""
TWO_SIDED = (NCCL, "ucx", ANNOTATED)
"""Both sides leave rows; of others only the side that acts does, so two rows are two movements.

UCX's put and get are of the others (`is_one_sided`)."""
