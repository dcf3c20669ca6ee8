"""`nsysparse presets`, `--preset` and `--request-pattern` as people run them."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nsysparse.api import Options, analyse, check_preset, study_traces
from nsysparse.cli import cli
from nsysparse.errors import UsageError
from nsysparse.presets.loader import BUILTIN, builtin
from nsysparse.testing import TraceBuilder

MINE = """
name = "mine"
about = "ranges of my server"
[[rule]]
id = "send"
kind = "transfer"
purpose = "kv"
pattern = '^srv:send (?P<request>\\w+)/(?P<layer>\\d+)$'
says = { role = "prefill" }
examples = [{ text = "srv:send a/3", fields = { request = "a", layer = "3" } }]
[[rule]]
id = "any"
kind = "scope"
pattern = '^srv:'
examples = [{ text = "srv:idle" }]
"""


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(MINE)
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two sends in ranges of a server of its own, each with a kernel; other ranges no preset knows."""
    builder = TraceBuilder(gpus={0: "x"})
    process = builder.process(pid=1)
    thread = process.thread(tid=1)
    for place, start in ((0, 0), (1, 10_000)):
        thread.push_pop(f"srv:send req{place}/{place + 4}", start, start + 900)
        thread.nccl("ncclSend", start + 100, start + 800, communicator=7, nbytes=8192, peer=1)
        process.kernel("ncclDevKernel_SendRecv", start + 400, start + 2_000, stream=20,
                       launch=thread.launch(start + 200, start + 300))  # fmt: skip
        thread.push_pop(f"step {place} of {10**15 + place:x}abc", start + 3_000, start + 4_000)
    thread.push_pop("srv:idle \x1b[31m", 30_000, 31_000)
    thread.push_pop("srv:idle \x1b[31m", 32_000, 33_000)
    return builder.write(tmp_path / "own-server.sqlite")


# --- list and show ----------------------------------------------------------------------------------------------------


def test_all_presets_are_listed_strongest_first_with_where_they_speak() -> None:
    lines = run("presets", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(BUILTIN)
    by_name = {line.split()[0]: line for line in lines}
    assert " everywhere " in by_name["own"]
    assert " domain lmcache " in by_name["lmcache"]
    assert " nowhere " in by_name["distserve"]
    assert "/^nixl::postXferReq\\./ and /" in by_name["vllm-nixl"]
    listed = json.loads(run("presets", "list", "VLLM", "-f", "json").stdout)
    assert [preset["name"] for preset in listed][:3] == ["vllm-p2p-nccl", "vllm", "vllm-nixl"]
    assert listed[0]["rules"][0]["examples"][0]["fields"]["layer"] == "31"
    none = run("presets", "list", "no-such")
    assert none.stdout == ""
    assert "'no-such'" in none.stderr


@pytest.mark.parametrize("name", BUILTIN)
def test_what_is_shown_is_the_toml_that_one_starts_from(name: str, tmp_path: Path) -> None:
    shown = run("presets", "show", name).stdout
    assert tomllib.loads(shown)["name"] == name
    if name != "distserve":
        (tmp_path / "mine.toml").write_text(shown.replace(f'name = "{name}"', 'name = "mine"', 1))
        assert (
            f"mine: good, {len(next(each for each in builtin() if each.name == name).rules)} rule"
            in run("presets", "check", tmp_path / "mine.toml").stdout
        )


def test_a_file_is_shown_without_being_obeyed(mine: Path) -> None:
    mine.write_text(MINE.replace("ranges of my server", "x\u202ey"))
    shown = run("presets", "show", mine).stdout
    assert "\u202e" not in shown
    assert "⟨202E⟩" in shown
    assert json.loads(run("presets", "show", mine, "-f", "json").stdout)["origin"] == "mine.toml"
    assert isinstance(run("presets", "show", "lmcach", code=1).exception, UsageError)


# --- check ------------------------------------------------------------------------------------------------------------


def test_a_good_preset_is_said_to_be_good(mine: Path) -> None:
    assert run("presets", "check", mine).stdout == "mine: good, 2 rules, 2 examples\n"


def test_all_that_is_wrong_is_printed_and_the_exit_code_says_so(mine: Path, trace: Path) -> None:
    mine.write_text(MINE.replace("(?P<layer>", "(?P<layr>").replace("'^srv:'", "'(?=x)'"))
    lines = run("presets", "check", mine, trace, code=1).stdout.splitlines()
    assert lines[0] == "mine.toml, rule send: the group 'layr' is no field."
    assert lines[2].startswith("mine.toml, rule any: the pattern does not compile: look-around")
    found = json.loads(run("presets", "check", mine, "-f", "json", code=1).stdout)
    assert found["preset"] is None
    assert [each["where"] for each in found["refusals"]] == ["mine.toml, rule send", "mine.toml, rule any"]
    assert all(each["fix"] for each in found["refusals"])


def test_a_check_says_what_each_rule_finds_and_what_no_rule_knows(mine: Path, trace: Path) -> None:
    found = json.loads(run("presets", "check", mine, trace, "-f", "json").stdout)
    assert (found["preset"], found["refusals"]) == ("mine", [])
    (looked,) = found["traces"]
    assert looked["active"] == ["mine (mine.toml)", "own", "generic"]
    assert (looked["text_count"], looked["range_count"]) == (5, 6)  # without NCCL's own
    send, any_ = looked["rules"]
    assert (send["rule"], send["text_count"], send["range_count"]) == ("mine/send", 2, 2)
    assert (send["example"], send["fields"]) == (
        "srv:send req0/4", {"layer": "4", "request": "req0", "role": "prefill"},
    )  # fmt: skip
    assert (send["overruled_by"], send["overrules"]) == ({}, {"mine/any": 2})
    assert (any_["text_count"], any_["range_count"], any_["overruled_by"]) == (3, 4, {"mine/send": 2})
    assert (looked["unknown_text_count"], looked["unknown_range_count"]) == (2, 2)
    (shape,) = looked["unknown"]
    assert (shape["shape"], shape["text_count"], shape["range_count"]) == ("step # of #", 2, 2)


def test_a_check_for_people_is_escaped(mine: Path, trace: Path) -> None:
    text = run("presets", "check", mine, trace, "--top", 1).stdout
    assert "\x1b" not in text
    assert "srv:idle ⟨1B⟩[31m" in text
    assert "mine/any is overruled by mine/send in 2 texts" in text
    assert "No rule knows 2 texts in 2 ranges." in text


def test_where_its_probe_matches_nothing_a_preset_is_checked_and_said_to_be_silent(mine: Path, trace: Path) -> None:
    mine.write_text(MINE.replace("[[rule]]", "[probe]\ndomain = 'srv'\n[[rule]]", 1))
    (looked,) = check_preset(str(mine), [trace]).traces
    assert not looked.is_active
    assert [use.text_count for use in looked.rules] == [2, 3]
    assert looked.unknown_text_count == 5
    assert "no text is as its probe says" in run("presets", "check", mine, trace).stdout


def test_a_built_in_preset_can_be_checked(trace: Path) -> None:
    (looked,) = check_preset("vllm", [trace]).traces
    assert (looked.is_active, looked.active) == (False, ("own", "generic"))


# --- end to end -------------------------------------------------------------------------------------------------------


def test_a_preset_of_ones_own_attributes_transfers(mine: Path, trace: Path, tmp_path: Path) -> None:
    bare = json.loads(run("report", trace, "-f", "json", "-o", "-").stdout)
    assert bare["layers"] == []
    assert bare["settings"]["presets"] == {"value": ["own", "generic"], "source": "detected"}
    report = json.loads(run("report", trace, "--preset", mine, "-f", "json", "-o", "-").stdout)
    assert [(row["layer"], row["bytes"]) for row in report["layers"]] == [(4, 8192), (5, 8192)]
    assert [row["request_id"] for row in report["requests"]] == ["req0", "req1"]
    assert report["totals"]["by_purpose"]["kv"]["bytes"] == 16384
    assert report["settings"]["presets"] == {"value": ["mine (mine.toml)", "own", "generic"], "source": "option"}
    run("export", trace, "--frame", "transfers", "--preset", mine, "-f", "ndjson", "-o", tmp_path / "t.ndjson")
    rows = [json.loads(line) for line in (tmp_path / "t.ndjson").read_text().splitlines()]
    assert [(row["layer"], row["request_id"], row["layer_provenance"], row["role"]) for row in rows] == [
        (4, "req0", "exact", "prefill"), (5, "req1", "exact", "prefill"),
    ]  # fmt: skip


def test_a_request_pattern_finds_requests(trace: Path) -> None:
    report = json.loads(
        run("report", trace, "--request-pattern", r"send (?P<request>\w+)/", "-f", "json", "-o", "-").stdout
    )
    assert [row["request_id"] for row in report["requests"]] == ["req0", "req1"]
    assert report["settings"]["request_pattern"] == {"value": r"send (?P<request>\w+)/", "source": "option"}
    assert report["settings"]["presets"]["value"] == ["own", "generic"]
    assert not [row for row in report["reasons"] if "request_pattern" in row["path"]]


def test_a_request_pattern_leaves_annotations_what_they_are(tmp_path: Path) -> None:
    builder = TraceBuilder()
    thread = builder.process(pid=1).thread(tid=1)
    thread.push_pop("kv_transfer op=put layer=2 bytes=64 id=<r7>", 0, 10)
    thread.push_pop("later", 20, 30)
    path = builder.write(tmp_path / "t.sqlite")
    (row,) = study_traces([path], Options(request_pattern="<(.*?)>")).transfers.rows(named=True)
    assert (row["transport"], row["layer"], row["request_id"], row["bytes"]) == ("annotated", 2, "r7", 64)


def test_what_was_asked_for_and_finds_nothing_is_told(mine: Path, sample: Callable[[str], Path]) -> None:
    path = sample("synthetic/pd-oneprofile.sqlite")
    options = Options(presets=(str(mine),), request_pattern="nobody says (this)", normalize_request="^(x+)y$")
    codes = {row.code: row.count for row in analyse([path], options).warnings}
    assert codes["presets-find-nothing"] == 2
    assert codes["normaliser-changes-nothing"] == 1
    assert not {"presets-find-nothing", "normaliser-changes-nothing"} & {row.code for row in analyse([path]).warnings}


def test_names_restrict_what_speaks(sample: Callable[[str], Path]) -> None:
    path = sample("synthetic/pd-oneprofile.sqlite")
    assert analyse([path]).layers
    without = analyse([path], Options(presets=("torch",)))
    assert without.layers == ()
    assert without.settings["presets"].value == ["torch"]


def test_inspect_lists_the_presets_that_speak(mine: Path, trace: Path) -> None:
    assert "presets that know its ranges: own, generic" in run("inspect", trace).stdout
    looked = json.loads(run("inspect", trace, "--preset", mine, "-f", "json").stdout)
    assert looked["traces"][0]["presets"] == ["mine (mine.toml)", "own", "generic"]
    answers = {row["question"]: row["answer"] for row in looked["traces"][0]["answers"]}
    assert answers["Which layer did each transfer serve?"] == "yes"


@pytest.mark.parametrize("option", [("--preset", "vlm"), ("--request-pattern", "(")])
def test_what_cannot_be_used_stops_a_report(option: tuple[str, str], trace: Path) -> None:
    assert isinstance(run("report", trace, *option, code=1).exception, UsageError)


def test_layers_that_a_preset_says_are_all_carried_need_their_number(tmp_path: Path) -> None:
    builder = TraceBuilder()
    thread = builder.process(pid=1).thread(tid=1)
    thread.push_pop("execute_context_0(0)_generation_1(1)", 0, 50)
    thread.nixl_post("read", 100, 110, agent="decode-0", handle=1, nbytes=64, remote="prefill-0")
    thread.nixl_complete(200, agent="decode-0", handle=1)
    path = builder.write(tmp_path / "t.sqlite")
    evenly = analyse([path], Options(layers=4))
    assert [(row.layer, row.bytes) for row in evenly.layers] == [(0, 16), (1, 16), (2, 16), (3, 16)]
    assert study_traces([path], Options(layers=4)).shares["layer_provenance"].unique().to_list() == ["estimated"]
    unknown = analyse([path])
    assert unknown.layers == ()
    assert [row.code for row in unknown.warnings if "layers" in row.code] == ["layers-need-their-number"]
    plain = analyse([path], Options(layers=4, presets=("nixl",)))
    assert plain.layers == ()
    assert plain.unattributed["layer"].bytes == 64
