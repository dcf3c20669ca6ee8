"""What a recording's program counted against what the analysis finds in it."""

from pathlib import Path
from typing import Any

import polars as pl

from nsysparse.api import analyse, study_traces


def assert_finds(path: Path, answers: dict[str, Any]) -> None:
    """All numbers of the answers, each from the analysis."""
    analysis = analyse([path])
    totals = analysis.totals
    assert {"movements": totals.movement_count, "bytes": totals.bytes} == answers["total"]
    assert totals.paired_count == answers["paired"]
    assert totals.transfer_count == answers["send_transfers"] + answers["recv_transfers"]
    assert [layer.layer for layer in analysis.layers] == list(range(len(answers["layers"]["bytes"])))
    assert [layer.bytes for layer in analysis.layers] == answers["layers"]["bytes"]
    assert [layer.movement_count for layer in analysis.layers] == answers["layers"]["movements"]
    assert {
        row.request_id: {"bytes": row.bytes, "movements": row.movement_count, "prompt_tokens": row.prompt_tokens}
        for row in analysis.requests
    } == answers["requests"]
    assert {rest.movement_count for rest in analysis.unattributed.values()} == {0}
    assert analysis.warnings == ()

    transfers = study_traces([path], None).transfers
    for side, role in (("send", "prefill"), ("recv", "decode")):
        rows = transfers.filter(side=side)
        assert rows.height == answers[f"{side}_transfers"]
        assert rows["role"].unique().to_list() == [role]
        assert rows.filter(interval_kind="call").height == answers["styles"]["push_pop"]
        assert rows.filter(interval_kind="host").height == answers["styles"]["start_end"]
    kinds = transfers.select("transport", "purpose", "pairing", "pairing_proof", "bytes_source", "request_provenance")
    assert kinds.unique().rows() == [("annotated", "kv", "named", "name", "annotation", "exact")]
    # Every layer is named, of those posted whole by weights that the range gives.
    assert transfers.filter(pl.col("layer").is_not_null())["layer_provenance"].unique().to_list() == ["exact"]
