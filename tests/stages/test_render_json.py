"""The JSON report: the contract's keys in the contract's order, valid by the schema, the same bytes every time."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import factories
import jsonschema
import pytest

from nsysparse.analysis import Analysis, Distribution, Setting
from nsysparse.render import to_json

ANALYSES: dict[str, Callable[[], Analysis]] = {
    "rich": factories.rich,
    "small": factories.small,
    "sizeless": factories.sizeless,
    "unknown": factories.unknown,
}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "report-json.md"
SCHEMA, COMPARED = (
    json.loads(files("nsysparse.render").joinpath("assets", f"{name}.schema.json").read_text(encoding="utf-8"))
    for name in ("report", "diff")
)


def documented() -> dict[str, list[str]]:
    """The page's key block: top-level names, and the names it lists for each, without what stands in braces."""
    block = PAGE.read_text(encoding="utf-8").split("```")[1]
    entries: dict[str, str] = {}
    for line in block.strip().splitlines():
        head, rest = line[:17].strip(), line[17:]
        if head:
            name = head.removesuffix("[]")
            entries[name] = rest
        else:
            entries[name] += " " + rest
    return {name: _names(rest) for name, rest in entries.items()}


def _names(text: str) -> list[str]:
    text = re.sub(r" {4,}\(.*", "", text)
    while (shorter := re.sub(r"\{[^{}]*\}|\([^()]*\)", "", text)) != text:
        text = shorter
    words = (word.strip().split(" ")[0].removesuffix("[]") for word in text.split(","))
    return [word for word in words if re.fullmatch(r"[a-z][a-z0-9_]*", word)]


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).resolve().parents[2] / "reports").glob("*.json")), ids=lambda p: p.stem
)
def test_committed_reports_are_valid_by_the_schema(path: Path):
    jsonschema.validate(
        json.loads(path.read_text(encoding="utf-8")), COMPARED if path.stem.startswith("diff-") else SCHEMA
    )


@pytest.mark.parametrize("name", ANALYSES)
def test_reports_are_valid_by_the_schema(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    report = json.loads(to_json.render(ANALYSES[name]()))
    jsonschema.Draft202012Validator(SCHEMA).validate(report)


def test_schema_refuses_what_is_not_in_the_contract() -> None:
    report = json.loads(to_json.render(factories.small()))
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for broken in (
        report | {"extra": 1},
        {key: value for key, value in report.items() if key != "totals"},
        report | {"verdict": report["verdict"] | {"state": "fine"}},
        report | {"links": [report["links"][0] | {"bytes": 1.5}]},
        report | {"links": [report["links"][0] | {"communicator": 9185731236401847271}]},
    ):
        assert not validator.is_valid(broken)


def test_top_level_keys_are_the_documented_ones_in_their_order() -> None:
    assert list(json.loads(to_json.render(factories.rich()))) == list(documented())


@pytest.mark.parametrize(
    "part", ["verdict", "traces", "totals", "links", "layers", "requests", "layer_request", "message_sizes"]
)
def test_keys_of_a_part_are_the_documented_ones_in_their_order(part: str) -> None:
    value = json.loads(to_json.render(factories.rich()))[part]
    assert list(value[0] if isinstance(value, list) else value) == documented()[part]


def test_same_analysis_same_bytes_and_a_line_end() -> None:
    text = to_json.render(factories.rich())
    assert text == to_json.render(factories.rich())
    assert text.endswith("}\n")


def test_order_of_maps_does_not_show() -> None:
    whole = factories.small()
    turned = replace(whole, settings=dict(reversed(whole.settings.items())))
    assert to_json.render(turned) == to_json.render(whole)


def test_numbers_come_back_as_they_were() -> None:
    whole = factories.rich()
    report = json.loads(to_json.render(whole))
    assert report["totals"]["time_ns"] == whole.totals.time_ns
    assert report["links"][1]["headline_gb_s"] == whole.links[1].headline_gb_s
    assert report["links"][1]["communicator"] == "9185731236401847271"
    assert report["settings"]["presets"] == {"value": ["vllm", "nccl"], "source": "detected"}
    assert report["links"][0]["peak_gb_s"] is None
    assert list(report["summary"]["kv_gap_ms"]) == ["p10", "p50", "p90", "p99", "min", "max", "count"]


def test_a_column_of_numbers_stands_on_one_line_and_comes_back() -> None:
    whole = factories.timeline()
    text = to_json.render(replace(factories.small(), timeline=whole))
    assert '\n    "request": [0,0,null,0,0]\n' in text
    (coarse, fine), found = whole.levels, json.loads(text)["timeline"]
    assert [level["start_ns"] for level in found["levels"]] == [list(coarse.start_ns), list(fine.start_ns)]
    assert found["undrawn"] == [{"trace_id": "decode", "reason": "no-time", "count": 3}]
    assert "\n" not in to_json.render([1, 2])[:-1]
    assert to_json.render([{"a": []}, 1]) == '[\n {\n  "a": []\n },\n 1\n]\n'


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_an_error_that_says_where(value: float) -> None:
    broken = replace(factories.small(), summary={"ttft_ms": Distribution(1, p50=value)})
    with pytest.raises(ValueError, match="/summary/ttft_ms/p50"):
        to_json.render(broken)


def test_a_setting_that_json_cannot_hold_is_an_error_that_says_where() -> None:
    with pytest.raises(TypeError, match="/settings/model/value is a set"):
        to_json.render(replace(factories.small(), settings={"model": Setting({1}, "option")}))


def test_characters_that_a_terminal_obeys_are_escaped_and_come_back() -> None:
    name = "é ° \x1b[31m \x9b \u202e \u2028 \U000e0041 漢"
    text = to_json.render(factories.hostile(name))
    assert "é ° \\u001b[31m \\u009b \\u202e \\u2028 \\udb40\\udc41 漢" in text
    assert json.loads(text)["traces"][0]["file"] == name
