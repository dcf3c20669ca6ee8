"""`nsysparse kv` as people run it: one answer in four formats, and plain words for what cannot be."""

import json
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from nsysparse.catalog.loader import models
from nsysparse.cli import cli
from nsysparse.errors import NsysparseError, OutputError, UsageError

SCHEMA = json.loads(files("nsysparse.render").joinpath("assets", "kv.schema.json").read_text(encoding="utf-8"))
REQUESTS = "prompt_tokens\n" + "100\n" * 6 + "1144\n1145\n4000\n\n5\n"
EVERYTHING = (
    "llama-3-70b", "--tokens", "1024,8192", "--tp", "8", "--nics", "4", "--block", "16", "--wire-dtype", "fp8",
    "--link", "ib-xdr", "--link", "eth-100g", "--layer-ms", "1.5", "--fixed-cost-us", "250", "--benefit-ms", "100",
)  # fmt: skip

MANY = ("--link=nvlink4-h100", "--link=ib-ndr", "--link=ib-hdr", "--link=eth-100g", "--link=eth-400g")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["kv", *map(str, arguments)], catch_exceptions=False)


def answer(*arguments: object) -> dict:
    result = run(*arguments, "-f", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


@pytest.fixture
def requests(tmp_path: Path) -> Path:
    path = tmp_path / "requests.csv"
    path.write_text(REQUESTS)
    return path


# --- the answer -------------------------------------------------------------------------------------------------------


def test_without_options_the_table_teaches():
    found = answer("llama-3-70b")
    assert (found["kv_bytes_per_token"], found["tokens"], found["batch"]) == (327_680, [1024], [1, 32])
    table = {(row["link"], row["batch"]): row["line_rate_ns"] / 1e6 for row in found["rows"]}
    shown = {key: float(f"{value:.3g}") for key, value in table.items()}
    assert shown == {
        ("nvlink4-h100@bidirectional", 1): 0.373, ("nvlink4-h100@bidirectional", 32): 11.9,
        ("nvlink4-h100", 1): 0.746, ("nvlink4-h100", 32): 23.9,
        ("ib-ndr", 1): 6.71, ("ib-ndr", 32): 215, ("ib-hdr", 1): 13.4, ("ib-hdr", 32): 429,
        ("eth-100g", 1): 26.8, ("eth-100g", 32): 859,
    }  # fmt: skip


def test_the_keys_of_the_contract_come_in_its_order():
    found = answer("llama-3-70b")
    contract = ("model", "kv_bytes_per_token", "bytes_per_rank", "batch", "tokens", "tp", "kv_dtype", "wire_dtype", "rows", "lengths")  # noqa: E501  # fmt: skip
    assert [key for key in found if key in contract] == list(contract)
    row = ("link", "peak_gb_s", "batch", "tokens", "bytes", "line_rate_ns", "practical_ns", "steps", "critical_tokens")
    assert [key for key in found["rows"][0] if key in row] == list(row)


def test_the_critical_length_of_the_issue_is_in_every_format():
    asked = ("llama-3-70b", "--link", "eth-100g", "--step-ms", "30")
    assert answer(*asked)["rows"][0]["critical_tokens"] == {"low": 1144, "high": 1144}
    for chosen in ("text", "markdown", "html"):
        assert "1,144" in run(*asked, "-f", chosen).stdout


def visible(page: str) -> str:
    """The text of a page or a comment, without marks."""
    page = re.sub(r"(?s)<style.*?</style>|<script.*?</script>", "", page)
    return re.sub(r"&#\d+;|&nbsp;|\u00a0", " ", re.sub(r"<[^>]+>", " ", page))


def test_formats_agree(requests: Path):
    asked = (*EVERYTHING, "--lengths", requests)
    found = answer(*asked)
    numbers = {f"{row['critical_tokens'][end]:,}" for row in found["rows"] for end in ("low", "high")}
    numbers |= {f"{row['fixed_cost_tokens']:,}" for row in found["rows"]} | {f"{found['kv_bytes_per_token']:,}"}
    numbers |= {f"{row['peak_gb_s']:.1f}" for row in found["rows"]}
    numbers |= {f"{part['kv_bytes_per_token']:,}" for part in found["packings"]}
    numbers |= {f"{each['pays_share'] * 100:.1f} %" for each in found["lengths"]["by_link"] if each["pays_share"] < 1}
    for chosen in ("text", "markdown", "html"):
        shown = visible(run(*asked, "-f", chosen).stdout)
        assert [number for number in sorted(numbers) if number not in shown] == [], chosen
        assert "not counted" in re.sub(r"\s+", " ", shown)


@pytest.mark.parametrize("model", list(models()))
def test_every_model_is_valid_by_the_schema_and_says_why_something_is_missing(model: str, requests: Path):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for more in ((), ("--link", "ib-xdr", "--lengths", requests), ("--peak", "0.001", "--lengths", requests)):
        found = answer(model, *more)
        jsonschema.Draft202012Validator(SCHEMA).validate(found)
        reasons = {reason["path"] for reason in found["reasons"]}
        assert set(nulls(found)) == reasons


def nulls(value: object, path: str = "") -> list[str]:
    if isinstance(value, dict):
        return [found for key, each in value.items() for found in nulls(each, f"{path}/{key}")]
    if isinstance(value, list):
        return [found for place, each in enumerate(value) for found in nulls(each, f"{path}/{place}")]
    return [path] if value is None else []


def test_everything_at_once_is_valid_by_the_schema(requests: Path):
    found = answer(*EVERYTHING, "--lengths", requests)
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    assert all(any(fnmatchcase(path, each["path"]) for each in found["reasons"]) for path in nulls(found))


@pytest.mark.parametrize("chosen", ["text", "json", "markdown", "html"])
def test_the_same_question_gives_the_same_bytes(chosen: str, requests: Path):
    first, second = (run(*EVERYTHING, "--lengths", requests, "-f", chosen).stdout_bytes for _ in range(2))
    assert first == second
    assert str(requests.parent).encode() not in first


def test_all_rows_are_shown_as_text():
    tokens = ",".join(str(1000 + each) for each in range(30))
    shown = run("llama-3-8b", "--tokens", tokens, "--batch", 1).stdout
    assert shown.count("eth-100g") == 30 + 1
    assert "more row" not in shown


def test_tensor_parallel_ranks_say_that_each_has_a_link():
    shown = run("qwen3-235b-a22b", "--tp", 8, "--tokens", 32_768, "--link", "ib-ndr").stdout
    assert "Every rank that sends has a link of its own, 8 side by side" in shown
    assert "12.6 GB" in shown
    assert "divided among 4 links" in run("qwen3-235b-a22b", "--tp", 8, "--nics", 4).stdout


def test_a_fixed_state_and_windows_are_said():
    assert "Fixed state" in run("kimi-k3").stdout
    assert "The recurrent state alone takes longer" in run("kimi-k3").stdout
    assert "Past all windows" in run("gpt-oss-20b").stdout
    assert "The cache never takes so long" in run("mistral-7b-v0.1", "--link", "nvlink4-h100").stdout


def test_a_cost_that_windows_never_outweigh_dominates_everywhere():
    found = answer("mistral-7b-v0.1", "--link", "nvlink4-h100", "--fixed-cost-us", 2000)
    assert found["rows"][0]["fixed_cost_tokens"] is None
    assert "/rows/0/fixed_cost_tokens" in {reason["path"] for reason in found["reasons"]}
    assert "none" in run("mistral-7b-v0.1", "--link", "nvlink4-h100", "--fixed-cost-us", 2000).stdout


def test_the_first_line_says_of_how_many_requests_it_speaks():
    shown = run("llama-3-70b", "--batch", "32", "--link", "ib-ndr").stdout.splitlines()
    assert shown[0] == "llama-3-70b hands over 10.7 GB for 1,024 tokens of each of 32 requests."


def test_a_narrower_cache_is_offered_nothing():
    assert "NARROWER TYPES" in run("llama-3-70b").stdout
    eight = run("llama-3-70b", "--kv-dtype", "fp8").stdout
    assert "NARROWER" not in eight
    assert "167.8 MB for 1,024 tokens" in eight


def test_a_config_file_is_a_model(tmp_path: Path):
    config = {
        "model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 2,
        "hidden_size": 1024, "head_dim": 128,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert answer(tmp_path / "config.json")["kv_bytes_per_token"] == 2 * 2 * 2 * 128 * 2


def test_a_rate_of_ones_own_needs_no_link():
    (row,) = answer("llama-3-70b", "--peak", 12.5, "--batch", 1)["rows"]
    assert (row["link"], row["line_rate_ns"]) == (None, 26_843_546)
    (named,) = answer("llama-3-70b", "--peak", 12.5, "--link", "ib-edr", "--batch", 1)["rows"]
    assert named["link"] == "ib-edr"


def test_a_link_named_twice_is_one():
    assert len(answer("llama-3-70b", "--link", "ib-ndr", "--link", "ib-ndr", "--batch", "1,1")["rows"]) == 1


# --- lengths ----------------------------------------------------------------------------------------------------------


def test_requests_are_held_against_the_link(requests: Path):
    asked = ("llama-3-70b", "--link", "eth-100g", "--step-ms", 30, "--fixed-cost-us", 1000, "--benefit-ms", 31)
    found = answer(*asked, "--lengths", requests)["lengths"]
    assert (found["total"], found["source"]) == (10, "requests.csv, prompt_tokens")
    assert found["above_critical_share"] == {"low": 0.2, "high": 0.2}
    assert (found["below_fixed_cost_share"], found["pays_share"]) == (0.1, 0.8)
    shown = run(*asked, "--lengths", requests).stdout
    assert "10 requests (requests.csv, prompt_tokens): p50 100, p90 1,145, p99 4,000 tokens" in shown
    assert "64 to 127" in shown


def test_a_traces_requests_are_lengths(sample: Callable[[str], Path], tmp_path: Path):
    trace = sample("synthetic/pd-oneprofile.sqlite")
    found = answer("llama-3-8b", "--link", "eth-100g", "--lengths", trace)["lengths"]
    assert (found["total"], found["source"]) == (8, "pd-oneprofile.sqlite, announced")
    (tmp_path / "renamed").write_bytes(trace.read_bytes())
    again = answer("llama-3-8b", "--link", "eth-100g", "--lengths", tmp_path / "renamed")["lengths"]
    assert again["counts"] == found["counts"]


# --- what cannot be ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("llama-3-7b",), "Did you mean"),
        (("llama-3-70b", "--link", "ib-nrd"), "ib-ndr"),
        (("llama-3-70b", "--link", "ib-ndr@bidirectional"), "no total of both directions"),
        (("llama-3-70b", "--tokens", "0"), "--tokens 0"),
        (("llama-3-70b", "--tokens", "1,,2"), "nothing is no whole number"),
        (("llama-3-70b", "--tokens", "1e3"), "--tokens 1e3"),
        (("llama-3-70b", "--tokens", ",".join("1" * 9000)), "no whole number"),
        (("llama-3-70b", "--batch", "-1"), "--batch -1"),
        (("llama-3-70b", "--step-ms", "50..20"), "ends before it begins"),
        (("llama-3-70b", "--step-ms", "0"), "no time"),
        (("llama-3-70b", "--step-ms", "nan"), "no time"),
        (("llama-3-70b", "--step-ms", "20..inf"), "no time"),
        (("llama-3-70b", "--layer-ms", "-1"), "--layer-ms -1"),
        (("llama-3-70b", "--fixed-cost-us", "1/3"), "--fixed-cost-us 1/3"),
        (("llama-3-70b", "--peak", "nan"), "no rate"),
        (("llama-3-70b", "--peak", "50", "--link", "ib-ndr", "--link", "ib-hdr"), "which of them"),
        (
            (
                "llama-3-70b",
                "--tokens",
                ",".join(map(str, range(1, 33))),
                "--batch",
                ",".join(map(str, range(1, 33))),
                *MANY,
            ),
            "That would be 5,120 rows",
        ),
        (("llama-3-70b", "--pp", "81"), "too few for 81 pipeline stages"),
        (("llama-3-70b", "--kv-dtype", "fp7"), "fp7"),
        (("llama-3-70b", "--kv-dtype", "fp8", "--wire-dtype", "int8"), "saves nothing"),
        (("llama-3-70b", "--benefit-ms", "5"), "lengths of requests"),
        (("llama-3-70b", "--length-column", "n"), "lengths of requests"),
        (("llama-3-70b", "--lengths", "."), "no .sqlite file in this folder"),
        (("llama-3-70b", "--lengths", "missing.csv"), "no such file"),
        (("llama-3-70b", "--lengths", "missing.sqlite"), "missing.sqlite"),
    ],
)
def test_what_cannot_be_is_said_with_what_to_do(
    arguments: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["kv", *arguments])
    assert isinstance(result.exception, NsysparseError)
    assert message in result.exception.message
    assert result.exception.hint
    assert len(result.exception.message) < 400
    assert result.stdout == ""


def test_a_trace_without_announced_prompts_says_how_to_get_them(sample: Callable[[str], Path]):
    result = CliRunner().invoke(cli, ["kv", "llama-3-8b", "--lengths", str(sample("synthetic/pd-grouped.sqlite"))])
    assert isinstance(result.exception, NsysparseError)
    assert "kv_request" in result.exception.hint


def test_a_trace_names_its_own_lengths(sample: Callable[[str], Path]):
    trace = sample("synthetic/pd-oneprofile.sqlite")
    result = CliRunner().invoke(cli, ["kv", "llama-3-8b", "--lengths", str(trace), "--length-column", "n"])
    assert isinstance(result.exception, UsageError)


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".json", ".md", ".html", ".txt"])
def test_the_suffix_names_the_format_and_what_is_ours_is_replaced(suffix: str, tmp_path: Path):
    target = tmp_path / f"answer{suffix}"
    first = run("llama-3-8b", "-o", target)
    assert (first.stdout, first.stderr) == ("", f"Wrote {target}\n")
    if suffix != ".txt":
        run("llama-3-70b", "-o", target)
        assert "llama-3-70b" in target.read_text(encoding="utf-8")


def test_quiet_is_for_one_command_alone(tmp_path: Path):
    for told, said in ((["-q"], ""), ([], f"Wrote {tmp_path / 'a.md'}\n")):
        assert run("llama-3-8b", "-o", tmp_path / "a.md", *told).stderr == said


def test_what_was_read_is_never_replaced(requests: Path):
    result = CliRunner().invoke(
        cli, ["kv", "llama-3-8b", "--lengths", str(requests), "-f", "text", "-o", str(requests), "--force"]
    )
    assert isinstance(result.exception, OutputError)
    assert requests.read_text() == REQUESTS


def test_a_hostile_column_is_seen_and_not_obeyed(tmp_path: Path):
    path = tmp_path / "r.csv"
    path.write_text("a\x1b[31m<script>,tokens\u202e\n1,2\n")
    for chosen in ("text", "json", "markdown", "html"):
        shown = run("llama-3-8b", "--lengths", path, "--length-column", "tokens\u202e", "-f", chosen).stdout
        assert "\x1b" not in shown
        assert "\u202e" not in shown


# --- machines and measurements ----------------------------------------------------------------------------------------

SENDRECV = """# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809
# Collective test starting: sendrecv_perf
#  Rank  0 Group  0 Pid  11 on      one device  0 [0000:04:00] NVIDIA H100
#  Rank  1 Group  0 Pid  12 on      two device  0 [0000:04:00] NVIDIA H100
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
    67108864      16777216     float     sum      -1   1864.1   36.00   36.00      0   1864.1   36.00   36.00    N/A
"""


def test_a_machine_compares_its_links_inside_with_its_adapters():
    rows = answer("llama-3-70b", "--box", "dgx-h100", "--batch", "1")["rows"]
    assert [(row["link"], row["peak_gb_s"]) for row in rows] == [("nvlink4-h100", 450), ("ib-ndr", 50)]
    assert rows[1]["peak_source"].startswith("catalogue: dgx-h100, adapters of one GPU")


def test_what_was_measured_is_the_practical_rate_of_its_link_alone(tmp_path: Path):
    file = tmp_path / "sendrecv.txt"
    file.write_text(SENDRECV)
    inside, across = answer("llama-3-70b", "--box", "dgx-h100", "--measured", file, "--batch", "1")["rows"]
    assert inside["practical_source"].startswith("catalogue")
    assert (across["practical_gb_s"], across["practical_source"][:24]) == (36, "measured: sendrecv_perf ")
    assert across["practical_ns"] == round(335_544_320 / 36)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--box", "dgx-h100", "--link", "ib-ndr"), "--box names the links"),
        (("--box", "dgx-h100", "--peak", "5"), "--box names the links"),
        (("--link", "ib-ndr", "--link", "ib-hdr", "--measured", "FILE"), "which of them was measured"),
        (("--measured", "FILE"), "needs the link"),
        (("--link", "nvlink4-h100@bidirectional", "--measured", "FILE"), "adds both directions up"),
    ],
)
def test_a_measurement_and_a_machine_name_one_link(tmp_path: Path, arguments: tuple[str, ...], why: str):
    file = tmp_path / "sendrecv.txt"
    file.write_text(SENDRECV)
    with pytest.raises(UsageError, match=why):
        run("llama-3-70b", *(str(file) if each == "FILE" else each for each in arguments))


def test_what_to_know_of_a_model_is_told():
    assert "chunk 8192" in answer("llama-4-scout")["model_note"]
    assert "Of the model: chunk 8192" in run("llama-4-scout").stdout


def test_latents_that_all_ranks_hold_are_sent_by_one():
    assert "One rank sends what all of them hold alike" in run("deepseek-v3", "--tp", "8").stdout
