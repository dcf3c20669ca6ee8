"""Read nodes of CUDA graphs, and follow them back to the one that was made while a stream was captured.

Instantiating a graph clones its nodes, and a clone can be cloned again. Kernels name the last of the line, the ranges
that say what they are for were open when the first was made.
"""

from collections import Counter

import numpy as np
import polars as pl

from nsysparse.frames import Frame, GraphNodes, thread_process
from nsysparse.source import nccl_domain, schema
from nsysparse.source.export import Export
from nsysparse.source.usable import usable_times

NODE = ["process", "graph_node_id"]


def read_graph_nodes(
    export: Export, labels: pl.DataFrame, ops: pl.DataFrame, anomalies: Counter[str]
) -> Frame[GraphNodes]:
    """Nodes of CUDA graphs with their making; none where NCCL is in no graph: a large model's graphs have many."""
    in_graphs = pl.col("name").str.contains(nccl_domain.ANY_KERNEL) & pl.col("graph_node_id").is_not_null()
    if labels.filter(nccl_domain.is_nccl()).is_empty() and ops.filter(in_graphs).is_empty():
        return GraphNodes.create_empty()
    # One table name has had two meanings: the columns tell.
    parts = [
        export.read(spec)
        for spec in schema.GRAPH_NODES
        if export.columns(spec.table).issuperset(spec.columns[ours][0] for ours in spec.required)
    ]
    if not parts:
        return GraphNodes.create_empty()
    nodes = pl.concat(parts).drop_nulls("graph_node_id")
    unowned = nodes["thread"].null_count()
    if unowned:
        anomalies["graph-nodes-without-thread"] += unowned
    return with_making(usable_times(nodes.drop_nulls("thread"), "graph-nodes", anomalies, open_ended=False))


def with_making(rows: pl.DataFrame) -> Frame[GraphNodes]:
    """Nodes with the making of their roots; nodes whose root is not known or was made unrecorded have no row.

    Args:
        rows: A row per node made or cloned, in any order: `thread`, `start_ns`, `end_ns`, `graph_node_id` and
            `original_node_id` (null where it is no clone; a clone has both kinds of row).
    """
    original = pl.col("original_node_id")
    nodes = rows.with_columns(
        process=thread_process(pl.col("thread")),
        # CUPTI counts nodes from 1, so 0 is none; and none is a clone of itself.
        original_node_id=pl.when((original != 0) & (original != pl.col("graph_node_id"))).then(original),
    ).sort("process", "start_ns", "end_ns", "thread", "graph_node_id", "original_node_id", nulls_last=True)
    clones = nodes.drop_nulls("original_node_id")
    made = nodes.join(clones, on=NODE, how="anti").unique(NODE, keep="first", maintain_order=True)
    found = roots(nodes).join(
        made.select("process", "thread", "start_ns", "end_ns", root_node_id="graph_node_id"),
        on=["process", "root_node_id"],
    )
    return GraphNodes.validate(found.select(GraphNodes.column_names()).sort(NODE))


def roots(nodes: pl.DataFrame) -> pl.DataFrame:
    """For each node the one it is a clone of in the end, itself if of none.

    A node with two originals, and one whose originals run in a circle, has no row: nothing says which is meant.

    Args:
        nodes: `process`, `graph_node_id`, `original_node_id` (null where it is no clone).

    Returns:
        `process`, `graph_node_id`, `root_node_id`, also of nodes that are only named as originals.
    """
    clones = nodes.drop_nulls("original_node_id")
    both = [nodes.select(NODE), clones.select("process", graph_node_id="original_node_id")]
    known = pl.concat(both).unique().sort(NODE).with_row_index("row")
    nobody = known.height
    named = (
        clones.select(*NODE, "original_node_id")
        .unique()
        .join(known, on=NODE)
        .join(known, left_on=["process", "original_node_id"], right_on=NODE, suffix="_original")
        .group_by("row")
        .agg(parent=pl.when(pl.len() == 1).then(pl.col("row_original").first()).otherwise(nobody))
    )
    parent = np.arange(nobody + 1)  # roots, and nobody, are their own parents
    parent[named["row"].to_numpy()] = named["parent"].to_numpy()
    root = parent
    for _ in range(nobody.bit_length()):  # each step doubles how far up the lines of descent are followed
        root = root[root]
    # After that only what runs in a circle is not where a line begins.
    root = np.where(parent[root] == root, root, nobody)[:nobody]
    found = root < nobody
    ids = known["graph_node_id"].to_numpy()
    return known.filter(found).select(*NODE, root_node_id=pl.Series(ids[root[found]], dtype=pl.Int64))
