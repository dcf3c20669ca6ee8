"""The server's side of docs/how-to/export-metrics.md runs, and gives the metric that the export gives."""

import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from markdown_it import MarkdownIt
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from nsysparse.render.to_openmetrics import BUCKETS_NS, FAMILIES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "export-metrics.md"
GAP, UNKNOWN, ERROR = (f"llm_kv_transfer_gap_{end}" for end in ("seconds", "unknown_requests", "uncertainty_seconds"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """What the page's Python defines; its metrics leave the client's registry again."""
    tokens = MarkdownIt().parse(PAGE.read_text(encoding="utf-8"))
    blocks = [token.content for token in tokens if token.type == "fence" and token.info == "python"]
    assert blocks
    script = tmp_path / "server.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    names = runpy.run_path(str(script))
    yield names
    for name in ("KV_GAP", "KV_GAP_UNKNOWN", "KV_GAP_UNCERTAINTY"):
        REGISTRY.unregister(names[name])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    return lambda now: monkeypatch.setattr("time.time", lambda: now)


def exposed(server: dict[str, Any]) -> dict[str, Metric]:
    own = CollectorRegistry()
    for name in ("KV_GAP", "KV_GAP_UNKNOWN", "KV_GAP_UNCERTAINTY"):
        own.register(server[name])
    return {each.name: each for each in text_string_to_metric_families(generate_latest(own).decode())}


def test_gaps_are_observed_on_the_decode_side(server: dict[str, Any], clock: Callable[[float], None]) -> None:
    for gap in (0.002, 0.25, -0.001):
        request = SimpleNamespace()
        clock(1_700_000_000.0)
        server["prefill_ended"](request)
        clock(1_700_000_000.0 + gap)
        server["decode_starts"](request, "InfiniBand NDR 4x")
    server["decode_starts"](SimpleNamespace(prefill_end=None), "InfiniBand NDR 4x")
    server["clocks_may_differ_by"](0.0001)

    found = exposed(server)
    samples = {
        (each.name.removeprefix(GAP), each.labels.get("le")): each.value
        for each in found[GAP].samples
        if each.labels["role"] == "decode" and each.labels["link"] == "InfiniBand NDR 4x"
    }
    assert samples["_count", None] == 2
    assert samples["_sum", None] == pytest.approx(0.252, abs=1e-5)
    assert [samples["_bucket", bound] for bound in ("0.001", "0.005", "0.1", "0.5", "+Inf")] == [0, 1, 1, 2, 2]
    assert {each.labels["reason"]: each.value for each in found[UNKNOWN].samples if each.name.endswith("_total")} == {
        "contradiction": 1,
        "no-prefill-step": 1,
    }
    assert [each.value for each in found[ERROR].samples] == [0.0001]


def test_names_words_units_and_buckets_are_those_of_the_export(server: dict[str, Any]) -> None:
    server["KV_GAP"].labels(role="decode", link="x").observe(1)
    found = exposed(server)

    for name in (GAP, UNKNOWN, ERROR):
        assert (found[name].unit, found[name].documentation) == (FAMILIES[name].unit, FAMILIES[name].help)
    bounds = [each.labels["le"] for each in found[GAP].samples if each.name == f"{GAP}_bucket"]
    assert bounds == [*(repr(bound / 1e9) for bound in BUCKETS_NS), "+Inf"]
    series = [each for each in found[GAP].samples if not each.name.endswith("_created")]
    said = re.search(r"here of (\d+) lines", PAGE.read_text(encoding="utf-8"))
    assert said
    assert len(series) == int(said[1])


def test_the_page_has_every_metric_with_its_type() -> None:
    rows = re.findall(r"^\| `(\w+?)` \| (\w+) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    endings = {"counter": "_total"}
    assert rows == [(each.name + endings.get(each.type, ""), each.type) for each in FAMILIES.values()]


def test_the_page_has_the_buckets() -> None:
    said = re.search(r"Buckets, in seconds: ([^\n]*)\.\n", PAGE.read_text(encoding="utf-8"))
    assert said
    assert [round(float(each) * 1e9) for each in said[1].split(", ")] == list(BUCKETS_NS)
