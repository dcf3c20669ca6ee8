"""`nsysparse diff` as people run it: the answer, the gates' exit codes, and saved reports that cost little."""

import contextlib
import json
import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import factories
import jsonschema
import pytest

from nsysparse.analysis import Analysis
from nsysparse.render import to_json
from tests.commands import call, run

BASE, SLOW = "synthetic/pd-oneprofile.sqlite", "synthetic/pd-slow-layers.sqlite"
SLOWED = set(range(10, 21))
LAYER_GATE = "layer.wire_gb_s.p50<-5%"


@pytest.fixture(scope="module")
def saved(sample: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`base.json` and `slow.json`, the samples' saved reports."""
    folder = tmp_path_factory.mktemp("saved")
    for name, trace in (("base", BASE), ("slow", SLOW)):
        options = ("--link", "ib-ndr", "--model", "llama-3-8b", "-q")
        done = call("report", sample(trace), *options, "-o", f"{name}.json", cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def write(folder: Path, name: str, analysis: Analysis) -> Path:
    path = folder / name
    path.write_text(to_json.render(analysis), encoding="utf-8")
    return path


def test_a_trace_does_not_differ_from_itself(sample: Callable[[str], Path], tmp_path: Path) -> None:
    trace = sample(BASE)
    first, again = (run("diff", trace, trace, "-f", "json", cwd=tmp_path) for _ in range(2))
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout == again.stdout
    found = json.loads(first.stdout)
    assert (found["links"], found["layers"], found["requests"]["rows"]) == ([], [], [])
    assert {each["verdict"] for each in found["metrics"]} == {"unchanged", "not-comparable"}
    assert {each["delta"] for each in found["metrics"]} == {0.0, None}
    assert found["compared"]["layers"] > 32


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json"])
def test_every_format_says_the_same_bytes_again(saved: Path, form: str) -> None:
    once, again = (call("diff", "base.json", "slow.json", "-f", form, cwd=saved) for _ in range(2))
    assert (once.returncode, once.stderr) == (0, "")
    assert once.stdout == again.stdout
    assert "10\u201320" in once.stdout.replace("\\u2013", "\u2013")


def test_the_layers_that_lost_rate_are_named_and_the_gate_fails(saved: Path, sample: Callable[[str], Path]) -> None:
    asked = ("--fail-on", "wire_gb_s.p50<-5%", "--fail-on", "kv_gap_share.p90>0.50", "--min-samples", "7")
    for base, slow in (("base.json", "slow.json"), (sample(BASE), sample(SLOW))):
        given = () if base == "base.json" else ("--model", "llama-3-8b")
        done = call("diff", base, slow, "-f", "json", *asked, *given, "--fail-on", LAYER_GATE, cwd=saved)
        assert done.returncode == 3
        found = json.loads(done.stdout)
        rates = {int(each["subject"]) for each in found["layers"] if each["metric"] == "wire_gb_s.p50"}
        assert rates == SLOWED
        assert [each["passed"] for each in found["gates"]] == [False, True, False]
        assert "2 gates failed: wire_gb_s.p50<-5% (" in done.stderr


def test_swapping_the_runs_mirrors_every_change(saved: Path) -> None:
    there, back = (
        json.loads(call("diff", *pair, "-f", "json", cwd=saved).stdout)
        for pair in (("base.json", "slow.json"), ("slow.json", "base.json"))
    )
    mirror = {"improved": "regressed", "regressed": "improved"}
    assert (there["verdict"]["state"], back["verdict"]["state"]) == ("regressed", "improved")
    for kind in ("metrics", "links", "layers"):
        ours = {(each["subject"], each["metric"]): each for each in there[kind]}
        theirs = {(each["subject"], each["metric"]): each for each in back[kind]}
        assert ours.keys() == theirs.keys()
        for key, one in ours.items():
            other = theirs[key]
            assert other["delta"] == (None if one["delta"] is None else -one["delta"])
            assert other["verdict"] == mirror.get(one["verdict"], one["verdict"])


def test_a_regression_that_hides_in_slack_fails_its_gate(tmp_path: Path) -> None:
    """The wire is a fifth slower, and no request waits a nanosecond longer."""
    rich = factories.rich()
    base = replace(rich, requests=tuple(replace(each, uncertainties={}) for each in rich.requests))
    wire = base.summary["wire_gb_s"]
    assert wire is not None
    slower = replace(wire, p10=wire.p10 * 0.8, p50=wire.p50 * 0.8)  # type: ignore[operator]
    write(tmp_path, "base.json", base)
    write(tmp_path, "slow.json", replace(base, summary={**base.summary, "wire_gb_s": slower}))
    done = call("diff", "base.json", "slow.json", "--fail-on", "wire_gb_s.p50<-5%", cwd=tmp_path)
    assert done.returncode == 3
    assert "wire_gb_s.p50<-5% (\u221220.0 %, 39.5 \u2192 31.6 GB/s)" in done.stderr
    assert call("diff", "base.json", "slow.json", "--fail-on", "kv_gap_ms.p50>+5%", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("gates", "code", "said"),
    [
        (["regressed"], 3, "1 gate failed: regressed (14 deciding values worse)."),
        (["ttft_ms.p50>+5%"], 4, "1 gate cannot be answered: ttft_ms.p50>+5% (unknown in both: "),
        (["ttft_ms.p50>+5%", "regressed"], 3, "1 gate failed: regressed"),
        (["wire_gb_s.p50<-50%"], 0, ""),
        (["wire_gbs.p50<-5%"], 2, "Did you mean wire_gb_s.p50"),
        (["ttft_ms.p50>+5%", "nonsense"], 2, "--fail-on nonsense: is no condition."),
    ],
)
def test_gates_have_exit_codes(saved: Path, gates: list[str], code: int, said: str) -> None:
    options = [part for gate in gates for part in ("--fail-on", gate)]
    done = call("diff", "base.json", "slow.json", *options, cwd=saved)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert bool(done.stdout) == (code != 2)  # what was compared is written before the gate fails


def test_output_goes_where_it_is_sent_and_a_summary_to_stdout(saved: Path, tmp_path: Path) -> None:
    for name, begins in (("d.md", "<!-- nsysparse:diff -->\n"), ("d.html", "<!doctype html>"), ("d.json", "{\n")):
        done = call("diff", saved / "base.json", saved / "slow.json", "-o", name, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, f"Wrote {name}\n")
        assert done.stdout.startswith("Transfer regressed: ")
        assert (tmp_path / name).read_text(encoding="utf-8").lower().startswith(begins.lower())
    again = call("diff", saved / "base.json", saved / "base.json", "-o", "d.md", cwd=tmp_path)
    assert again.returncode == 0  # our own file is replaced
    (tmp_path / "mine.md").write_text("mine", encoding="utf-8")
    refused = call("diff", saved / "base.json", saved / "slow.json", "-o", "mine.md", cwd=tmp_path)
    assert (refused.returncode, (tmp_path / "mine.md").read_text(encoding="utf-8")) == (1, "mine")
    shutil.copy(saved / "base.json", tmp_path / "base.json")
    over = call("diff", "base.json", saved / "slow.json", "-o", "base.json", "--force", cwd=tmp_path)
    assert over.returncode == 1  # what was read is never replaced


def test_a_comment_keeps_its_budget_and_its_marker_with_ten_megabytes_of_names(tmp_path: Path) -> None:
    names = [f"{'x' * 40_000} {place}" for place in range(24)]
    base = factories.rich(ids=names)
    slower = tuple(replace(each, kv_gap_ns=3 * (each.kv_gap_ns or 10**8)) for each in base.requests)
    links = tuple(
        replace(each, src=f"{'y' * 300_000}:gpu0", dst="b:gpu1", link_key="k", headline_gb_s=place + 1.0)
        for place, each in enumerate(base.links)
    )
    write(tmp_path, "base.json", base)
    write(tmp_path, "slow.json", replace(base, requests=slower, links=links))
    assert (tmp_path / "slow.json").stat().st_size > 10_000_000
    done = call("diff", "base.json", "slow.json", "-o", "d.md", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "d.md").read_text(encoding="utf-8")
    assert len(text.encode()) <= 60_000
    assert text.startswith("<!-- nsysparse:diff -->\n")
    small = call("diff", "base.json", "slow.json", "-f", "markdown", "--max-bytes", "5000", cwd=tmp_path)
    assert len(small.stdout.encode()) <= 5000
    assert "Left out to stay within" in small.stdout
    assert len(call("diff", "base.json", "slow.json", cwd=tmp_path).stdout) < 20_000


def test_several_base_runs_are_a_pattern_a_folder_or_named_one_by_one(saved: Path, tmp_path: Path) -> None:
    bases = tmp_path / "bases"
    bases.mkdir()
    for name, source in (("a", "base"), ("b", "slow")):
        shutil.copy(saved / f"{source}.json", bases / f"{name}.json")
    (bases / "other.json").write_text('{"counts": 3}', encoding="utf-8")  # not every JSON is a report
    ways = (
        (bases, "c.json"),
        ("bases/[ab].json", "c.json"),
        ("bases/a.json", "c.json", "--base", "bases/b.json"),
    )
    shutil.copy(saved / "slow.json", tmp_path / "c.json")
    texts = {call("diff", *way, "-f", "json", cwd=tmp_path).stdout for way in ways}
    assert len(texts) == 1
    found = json.loads(texts.pop())
    assert found["base_run_count"] == 2
    assert found["verdict"]["state"] == "unchanged"  # the base runs lie as far apart as the candidate does
    refused = call("diff", "c.json", bases, cwd=tmp_path)
    assert (refused.returncode, "a candidate is one run" in refused.stderr) == (1, True)


def test_a_base_run_counts_once_however_often_it_is_named(saved: Path) -> None:
    again = ("--base", "base.json", "--base", f"../{saved.name}/base.json")
    found = json.loads(call("diff", "base.json", "slow.json", *again, "-f", "json", cwd=saved).stdout)
    assert (found["base_run_count"], found["verdict"]["state"]) == (1, "regressed")
    itself = call("diff", "base.json", f"../{saved.name}/base.json", "-f", "json", cwd=saved)
    assert "Nothing changed" in itself.stdout


def test_a_candidate_among_its_base_runs_is_refused(saved: Path) -> None:
    """Else whatever it changed would be the spread of the base runs."""
    done = call("diff", "*.json", "slow.json", cwd=saved)
    assert (done.returncode, done.stdout) == (1, "")
    assert "slow.json: is the candidate and one of 2 base runs" in done.stderr


def test_traces_and_saved_reports_in_one_folder_are_refused(
    saved: Path, sample: Callable[[str], Path], tmp_path: Path
) -> None:
    shutil.copy(saved / "base.json", tmp_path / "base.json")
    shutil.copy(sample(BASE), tmp_path / "t.sqlite")
    done = call("diff", ".", "base.json", cwd=tmp_path)
    assert done.returncode == 1
    assert "holds traces and saved reports" in done.stderr


def test_options_that_could_change_nothing_are_refused(saved: Path) -> None:
    done = call("diff", "base.json", "slow.json", "--link", "ib-hdr", cwd=saved)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--link: both runs are saved reports, whose numbers stand." in done.stderr


def test_a_role_that_is_set_for_a_project_may_name_no_file_of_either_run(
    saved: Path, sample: Callable[[str], Path], tmp_path: Path
) -> None:
    config = tmp_path / "nsysparse.toml"
    config.write_text('role = { "elsewhere.sqlite" = "prefill" }', encoding="utf-8")
    set_for_all = ("--config", config)
    assert call("diff", "base.json", "slow.json", *set_for_all, cwd=saved).returncode == 0
    assert call("diff", sample(BASE), "slow.json", *set_for_all, cwd=saved).returncode == 0
    typed = call("diff", sample(BASE), "slow.json", "--role", "elsewhere.sqlite=prefill", cwd=saved)
    assert (typed.returncode, "is none of the traces" in typed.stderr) == (2, True)


@pytest.mark.parametrize("options", [["--noise-floor", "abc"], ["--noise-floor", "150"], ["--min-samples", "0"]])
def test_what_is_no_noise_is_refused(saved: Path, options: list[str]) -> None:
    assert call("diff", "base.json", "slow.json", *options, cwd=saved).returncode == 2


def test_a_wider_noise_floor_takes_the_change_for_noise(saved: Path) -> None:
    for given in ("15", "15%"):
        done = call("diff", "base.json", "slow.json", "--noise-floor", given, "-f", "json", cwd=saved)
        assert json.loads(done.stdout)["noise"] == 0.15
        assert json.loads(done.stdout)["verdict"]["state"] == "unchanged"


def test_a_run_of_two_files_compares_with_itself_under_other_names(
    sample: Callable[[str], Path], tmp_path: Path
) -> None:
    for folder, names in (("monday", ("prefill", "decode")), ("tuesday", ("p", "d"))):
        (tmp_path / folder).mkdir()
        for role, name in zip(("prefill", "decode"), names, strict=True):
            os.link(sample(f"synthetic/pd-two-hosts-{role}.sqlite"), tmp_path / folder / f"{name}.sqlite")
    done = call("diff", "monday", "tuesday", "-f", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "traces-by-role" in {each["code"] for each in found["comparability"]}
    assert (found["links"], found["layers"], found["requests"]["rows"]) == ([], [], [])
    assert found["verdict"]["state"] == "unchanged"


@pytest.mark.parametrize("make", [factories.rich, factories.small, factories.sizeless, factories.unknown])
def test_comparisons_are_valid_by_the_schema(make: Callable[[], Analysis], tmp_path: Path) -> None:
    path = Path(__file__).resolve().parents[2] / "nsysparse/render/assets/diff.schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    write(tmp_path, "base.json", factories.rich())
    write(tmp_path, "other.json", make())
    for pair in (("base.json", "other.json"), ("other.json", "base.json")):
        done = call("diff", *pair, "-f", "json", "--fail-on", "wire_gb_s.p50>1", cwd=tmp_path)
        jsonschema.Draft202012Validator(schema).validate(json.loads(done.stdout))


def on_screen(folder: Path, **environment: str) -> str:
    """What comes to a terminal behind stdout."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "nsysparse", "diff", "base.json", "slow.json", "-q"],
        cwd=folder, stdout=side, stderr=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm", **environment},
    )  # fmt: skip
    os.close(side)
    told = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while read := os.read(main, 65536):
            told += read
    os.close(main)
    assert process.wait() == 0
    return told.decode()


def test_a_terminal_gets_colours_and_whoever_wants_none_gets_none(saved: Path) -> None:
    coloured = on_screen(saved)
    assert coloured.startswith("\x1b[1;31mTransfer regressed: ")
    assert "\u27e8" not in coloured  # escapes that stand as text are names' alone
    for plain in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in on_screen(saved, **plain)
