"""NCCL in CUDA graphs: which captured call a kernel of a replay goes back to.

While a stream is captured, NCCL's calls launch nothing: they make nodes of a graph. Launching the graph runs the nodes,
without any range of NCCL, and all under the correlation id of that launch. A kernel names the node that it is a run of;
nodes are cloned when a graph is instantiated, and name the node that they are a clone of. So a kernel leads to the node
that was made during capture, and the instant of its making lies in the range of the call or group that issued it.
"""

import polars as pl

from nsysparse.frames import Frame, GraphNodes

NODE = ["process", "graph_node_id"]
# Group keys of replays lie above the range ids (32 bits) that are the keys of groups launched directly.
REPLAY_KEYS_FROM = 1 << 32
_ISSUE = ("thread", "start_ns", "end_ns")


def with_issue(ops: pl.DataFrame, nodes: Frame[GraphNodes]) -> pl.DataFrame:
    """Tell of each kernel where it was issued, and of which replay of a graph it is.

    Args:
        ops: Kernels as in `GpuOps`, sorted by start.
        nodes: The nodes of their graphs.

    Returns:
        The kernels with `issued_thread`, `issued_start_ns` and `issued_end_ns`: the launch, or for a kernel in a graph
        the making of its node during capture, null where that is not known; `replay`: a number equal for kernels of
        the same launch of a graph, null for kernels that were launched directly or lead to no call; and `pass_number`:
        how many times before it the same launch ran the same node, as loops inside a graph do.
    """
    made = nodes.select(*NODE, *(pl.col(name).alias(f"made_{name}") for name in _ISSUE))
    joined = ops.join(made, on=NODE, how="left", maintain_order="left")
    in_graph = pl.col("graph_node_id").is_not_null()
    traced = in_graph & pl.col("made_thread").is_not_null() & pl.col("correlation_id").is_not_null()
    launch = ["process", "correlation_id", "launch_start_ns"]  # ids can repeat: then the launch tells them apart
    issue = [
        pl.when(traced).then(f"made_{name}").when(~in_graph).then(f"launch_{name}").alias(f"issued_{name}")
        for name in _ISSUE
    ]
    passes = pl.int_range(pl.len()).over(*launch, "graph_node_id")
    return (
        joined.with_columns(*issue, pass_number=pl.when(traced).then(passes))
        .with_columns(replay=pl.when(traced).then(pl.col("op_id").min().over(*launch, "pass_number").cast(pl.Int64)))
        .drop(f"made_{name}" for name in _ISSUE)
    )


def per_replay(calls: pl.DataFrame, work: pl.DataFrame, captured: pl.Series) -> pl.DataFrame:
    """Calls with the work they launched: once as issued, and once for each replay of the graph they were captured into.

    A call that was captured moved nothing by itself, only its replays did.

    Args:
        calls: A row per call: `owner`, `thread`, `call_start_ns`, `call_end_ns`, `is_first_use` and more.
        work: A row per group and replay: `owner`, `replay` (null where launched directly), `launch_thread`,
            `launch_start_ns`, `launch_end_ns` and what the kernels say.
        captured: Owners inside which nodes of a graph were made.

    Returns:
        `calls` and what `work` says. For replays the call is the launch of the graph, `captured_…` say the call at
        capture time, and none is a first use: connections are made during capture.
    """
    direct = work.filter(pl.col("replay").is_null())
    replayed = work.filter(pl.col("replay").is_not_null())
    only_captured = captured.filter(~captured.is_in(direct["owner"].implode())).drop_nulls().unique()
    issued = calls.filter(~pl.col("owner").is_in(only_captured.implode()).fill_null(value=False)).join(
        direct, on="owner", how="left", maintain_order="left"
    )
    call = {"thread": "thread", "start_ns": "call_start_ns", "end_ns": "call_end_ns"}
    replays = calls.join(replayed, on="owner", how="inner", maintain_order="left_right").with_columns(
        *(pl.col(column).alias(f"captured_{name}") for name, column in call.items()),
        *(pl.col(f"launch_{name}").alias(column) for name, column in call.items()),
        is_first_use=pl.when(pl.col("is_first_use").is_not_null()).then(pl.lit(value=False)),
    )
    return pl.concat([issued, replays], how="diagonal").drop("launch_thread", "launch_start_ns", "launch_end_ns")
