"""The OpenMetrics text format: names come back through Prometheus' own parser, and obey nobody on the way."""

from dataclasses import replace

import factories
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from nsysparse.analysis import DecodeDevice
from nsysparse.render.exposition import Sample, family, seconds
from nsysparse.render.to_openmetrics import FAMILIES, render

GAP, PER_REQUEST = "llm_kv_transfer_gap_seconds", "llm_kv_transfer_request_gap_seconds"
HOSTILE = {
    "quotes": 'a"b}\\" 1 # {x="y"}',
    "backslashes": "\\n\\\\n\\",
    "lines": "a\nb\n# EOF\nllm_kv_transfer_gap_seconds_count 7\n",
    "end": "# EOF",
    "help": "# HELP x y",
    "blanks": "  a \u3000b ",
    "braces": "{le=+Inf}",
}


def read(text: str) -> dict[str, Metric]:
    return {each.name: each for each in text_string_to_metric_families(text)}


def decode(name: str) -> DecodeDevice:
    reasons = {"transfer": 1}
    return DecodeDevice(name, 0, name, "steps", 3, 5, 1, 0.2, reasons, None, None, None, None, None, None, None, 0)


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_names_come_back_whole(name: str) -> None:
    whole = replace(factories.hostile(name), decode=(decode(name),))
    found = read(render(whole, per_request=True))

    assert name in {sample.labels["request"] for sample in found[PER_REQUEST].samples}
    (link,) = found["llm_kv_transfer_bytes"].samples
    assert link.labels == {"src": name, "dst": name, "link": name, "transport": "nccl"}
    assert {sample.labels["gpu"] for sample in found["llm_kv_decode_idle_seconds"].samples} == {name}
    assert {sample.labels["link"] for sample in found[GAP].samples} == {name}
    assert set(found) <= set(FAMILIES)


def test_what_a_terminal_obeys_is_spelled_out() -> None:
    text = render(factories.hostile("a\x1b[31m\u202eb\u2028c\ud800\td"), per_request=True)
    assert not set("\x1b\u202e\u2028\t") & set(text)
    text.encode("utf-8")
    assert 'request="a⟨1B⟩[31m⟨202E⟩b⟨2028⟩c⟨D800⟩⟨9⟩d"' in text


def test_names_that_look_alike_stay_apart() -> None:
    alike = [factories.request(name, kv_gap_ns=ns) for name, ns in (("a\x1b", 1), ("a⟨1B⟩", 2), ("a⟨1B⟩ (2)", 3))]
    found = read(render(replace(factories.small(), requests=tuple(alike)), per_request=True))
    assert [(each.labels["request"], each.value) for each in found[PER_REQUEST].samples] == [
        ("a⟨1B⟩", 1e-9), ("a⟨1B⟩ (2)", 2e-9), ("a⟨1B⟩ (2) (2)", 3e-9),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, "0.0"), (1, "0.000000001"), (300_000_000, "0.3"), (10_000_000_000, "10.0"), (-1_500_000_000, "-1.5"),
     (9_007_199_254_740_993, "9007199.254740993"), (None, None)],
)  # fmt: skip
def test_seconds_are_exact(ns: int | None, text: str | None) -> None:
    assert seconds(ns) == text


def test_a_family_without_a_value_is_not_written() -> None:
    assert family(FAMILIES[GAP], [Sample(None), Sample(None, (("role", "decode"),))]) == ""
