"""The action runs nsysparse once a run, publishes everything, and fails last."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.action import runner_of_steps
from tests.action.conftest import SAMPLE, SLOW
from tests.action.fake_github import GitHub
from tests.action.runner_of_steps import ARTIFACT_URL, Run

Job = Callable[..., Run]
UNUSED = "::warning title=nsysparse%3A options without use::"
PUBLISHED = ["Upload the HTML page", "Write the summary", "Comment in the pull request"]


def flags(call: list[str]) -> list[str]:
    return call[: call.index("--")]


def names(call: list[str]) -> list[str]:
    return call[call.index("--") + 1 :]


def test_a_comparison_of_saved_analyses_analyses_nothing(job: Job) -> None:
    run = job(base="base.json\n", candidate="candidate.json", fail_on="wire_gb_s.p50<1", link="ib-ndr")

    assert run.failed == []
    assert [call[0] for call in run.called] == ["diff"] * 3
    assert [names(call) for call in run.called] == [["base.json", "candidate.json"]] * 3
    assert [call[call.index("-f") + 1] for call in run.called] == ["json", "markdown", "html"]
    assert "--max-bytes=60000" in run.called[1]
    assert run.outputs["verdict"] == "regressed"
    assert run.outputs["exit-code"] == "0", "the gate holds"
    assert UNUSED in run.log
    assert run.outputs["analysis"] == "candidate.json"
    assert json.loads(Path(run.outputs["json"]).read_text())["verdict"]["state"] == "regressed"
    assert Path(run.outputs["markdown"]).read_text().startswith("<!-- nsysparse:diff -->\n")
    assert run.steps["Upload the HTML page"].inputs["path"] == run.outputs["html"]
    assert Path(run.outputs["html"]).name == "nsysparse.html"


def test_traces_are_analysed_once_each(job: Job, tmp_path: Path) -> None:
    shutil.copy(SAMPLE, tmp_path / "work/trace.sqlite")
    (tmp_path / "work/n.toml").write_text("threshold = 0.3\n[diff]\nmin_samples = 6", encoding="utf-8")

    run = job(candidate="trace.sqlite", link="ib-ndr", model="llama-3-8b", args="--layers=32", config="n.toml",
              base="base.json", diff_args="--noise-floor\n3")  # fmt: skip

    assert run.failed == []
    assert [call[0] for call in run.called] == ["report", "diff", "diff", "diff"]
    assert names(run.called[0]) == ["trace.sqlite"]
    assert flags(run.called[0])[:5] == [
        "report",
        "--config=n.toml",
        "--layers=32",
        "--link=ib-ndr",
        "--model=llama-3-8b",
    ]
    assert flags(run.called[1])[:4] == ["diff", "--config=n.toml", "--noise-floor", "3"]
    assert names(run.called[3]) == ["base.json", run.outputs["analysis"]]
    saved = json.loads(Path(run.outputs["analysis"]).read_text())
    assert saved["totals"]["movement_count"] == 256
    assert saved["settings"]["threshold"] == {**saved["settings"]["threshold"], "value": 0.3, "source": "n.toml"}
    compared = json.loads(Path(run.outputs["json"]).read_text())
    assert (compared["noise"], compared["min_samples"]) == (0.03, 6)


def test_several_base_runs_widen_the_noise(job: Job, tmp_path: Path) -> None:
    shutil.copy(SLOW, tmp_path / "work/other.sqlite")

    run = job(base="base.json\nother.sqlite", comment="false")

    other = names(run.called[0])
    assert other == ["other.sqlite"]
    written = run.called[0][run.called[0].index("-o") + 1]
    assert [f"--base={written}" in call for call in run.called] == [False, True, True, True]
    assert json.loads(Path(run.outputs["json"]).read_text())["base_run_count"] == 2


def test_without_a_base_the_candidate_is_reported_on(job: Job, github: GitHub) -> None:
    run = job(base="", candidate=str(SAMPLE), link="ib-ndr")

    assert run.failed == []
    assert [call[0] for call in run.called] == ["report"] * 3
    assert names(run.called[0]) == [str(SAMPLE)]
    assert names(run.called[1]) == names(run.called[2]) == [run.outputs["json"]]
    assert (run.outputs["verdict"], run.outputs["exit-code"]) == ("ok", "0")
    assert run.outputs["analysis"] == run.outputs["json"]
    assert "<html" in Path(run.outputs["html"]).read_text()
    shown = run.steps["Write the summary"].summary
    assert shown.startswith("<!-- nsysparse:report -->\n")
    assert "KV gap is 5.1 %" in shown
    assert shown.rstrip().endswith(f"[The whole report]({ARTIFACT_URL})")
    assert "KV gap is 5.1 %" in github.comments[0]["body"]


def test_a_pull_request_without_a_base_says_that_no_gate_was_asked(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_EVENT_NAME", "pull_request")
    run = job(base="", candidate="candidate.json")

    assert run.failed == []
    assert "::warning title=nsysparse%3A no base::" in run.steps["Run nsysparse"].log
    assert "**No base to compare with**" in run.steps["Write the summary"].summary


def test_a_report_over_its_threshold_fails_last(job: Job) -> None:
    run = job(base="", candidate=str(SAMPLE), args="--threshold=1%", fail_over_threshold="true")

    assert run.failed == ["Hold the gates"]
    assert (run.outputs["verdict"], run.outputs["exit-code"]) == ("over", "3")


def test_gates_without_a_base_are_not_answered(job: Job) -> None:
    run = job(base="", candidate="candidate.json", fail_on="wire_gb_s.p50<1", link="ib-ndr")

    assert run.failed == ["Hold the gates"]
    assert run.outputs["exit-code"] == "4"
    assert "fail-on needs a base" in run.steps["Hold the gates"].log
    assert "<code>wire_gb_s.p50&lt;1</code>" in run.steps["Write the summary"].summary
    assert UNUSED in run.log


@pytest.mark.parametrize(
    ("fail_on", "code", "says"),
    [
        ("wire_gb_s.p50<-5%", "3", "title=nsysparse%3A a gate failed::failed: wire_gb_s.p50<-5%25"),
        ("ttft_ms.p50>1", "4", "title=nsysparse%3A a gate could not be answered::not answered: ttft_ms.p50>1 ("),
        ("ttft_ms.p50>1\n\nwire_gb_s.p50<-5%\r\n", "3", "failed: wire_gb_s.p50<-5%25; not answered: ttft_ms.p50>1 ("),
    ],
)
def test_gates_fail_the_last_step_after_all_is_published(
    job: Job, github: GitHub, fail_on: str, code: str, says: str
) -> None:
    run = job(fail_on=fail_on)

    assert run.failed == ["Hold the gates"]
    assert {run.steps[name].outcome for name in PUBLISHED} == {"success"}
    assert len(github.comments) == 1
    assert "Transfer regressed" in run.steps["Write the summary"].summary
    assert run.outputs["exit-code"] == code
    assert says in run.steps["Hold the gates"].log


def test_wrong_usage_ends_at_once_and_the_summary_says_why(job: Job, github: GitHub) -> None:
    run = job(fail_on="wire<1")

    assert run.failed == ["Run nsysparse"]
    assert github.comments == []
    shown = run.steps["Run nsysparse"].summary
    assert (
        "**nsysparse failed**: nsysparse diff ended with code 2. nsysparse: --fail-on wire&lt;1: there is no" in shown
    )
    assert "Did you mean wire_gb_s." in shown
    assert "::error title=nsysparse failed::" in run.log
    assert run.outputs["exit-code"] == "2"


def test_what_is_no_trace_ends_at_once(job: Job, tmp_path: Path) -> None:
    (tmp_path / "work/trace.sqlite").write_text("not a trace")

    run = job(candidate="trace.sqlite")

    assert run.failed == ["Run nsysparse"]
    assert "ended with code" in run.steps["Run nsysparse"].summary
    assert "trace.sqlite" in run.steps["Run nsysparse"].summary


@pytest.mark.parametrize(
    "inputs", [{"candidate": " \n"}, {"artifact": "a b"}, {"artifact": "-x"}, {"artifact": "../x"}]
)
def test_unusable_inputs_are_refused_with_the_reason(job: Job, inputs: dict[str, str]) -> None:
    run = job(**inputs)

    assert run.failed == ["Run nsysparse"]
    assert run.called == []
    assert next(iter(inputs)) in run.steps["Run nsysparse"].summary


def test_names_reach_nsysparse_as_they_are(job: Job, tmp_path: Path) -> None:
    odd = "-a b'c\"$(touch pwned)`x`;*.json"
    shutil.move(tmp_path / "work/candidate.json", tmp_path / "work" / odd)

    run = job(candidate=odd, diff_args="-q\r\n")

    assert run.failed == []
    assert [names(call)[1] for call in run.called] == [odd] * 3
    assert not (tmp_path / "work/pwned").exists()


def test_arguments_reach_nsysparse_as_they_are(job: Job) -> None:
    run = job(diff_args="--noise-floor=3 4\n  --x=*\n-q\r\n")

    assert run.outputs["exit-code"] == "2"
    assert [flags(call)[1:4] for call in run.called] == [["--noise-floor=3 4", "  --x=*", "-q"]]


def put(folder: Path, files: dict[str, str]) -> None:
    """Copies of saved analyses, or JSON that is none."""
    folder.mkdir()
    for name, content in files.items():
        source = folder.parent / content
        (folder / name).write_bytes(source.read_bytes() if source.exists() else b'{"is": "none"}')


def test_folders_and_patterns_are_several_saved_runs(job: Job, tmp_path: Path) -> None:
    put(tmp_path / "work/of main", {"a.json": "base.json", "b.JSON": "candidate.json", "c.json": "other"})
    put(tmp_path / "work/more", {"main-1.json": "base.json", "main-2": "base.json", "c.json": "other"})
    put(tmp_path / "work/this", {"a.json": "candidate.json", "c.json": "other"})

    run = job(base="of main\nmore/main-*", candidate="this", comment="false")

    assert [names(call) for call in run.called] == [["of main", "this"]] * 3
    assert "--base=more/main-*" in flags(run.called[0])
    assert run.outputs["exit-code"] == "0"
    assert json.loads(Path(run.outputs["json"]).read_text())["base_run_count"] == 4
    assert run.outputs["analysis"] == "", "which is a file, and a folder is none"


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ({"a.json": "base.json", "a.sqlite": "a trace"}, "some runs: holds traces and saved reports"),
        ({"c.json": "other"}, "some runs: no .sqlite file in this folder"),
    ],
)
def test_a_folder_that_is_no_run_is_refused(job: Job, tmp_path: Path, inside: dict[str, str], said: str) -> None:
    put(tmp_path / "work/some runs", inside)

    run = job(base="some runs", comment="false")

    assert (len(run.called), run.outputs["exit-code"]) == (1, "1")
    assert said in run.steps["Run nsysparse"].summary


def test_no_line_of_the_output_is_a_workflow_command(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner_of_steps, "TOOL", ["/bin/echo", "::error::a stranger's name\n"])

    run = job()

    log = run.steps["Run nsysparse"].log.splitlines()
    at = log.index("::error::a stranger's name")
    before = [line for line in log[:at] if line.startswith("::")]
    assert before[-1].startswith("::stop-commands::")
    token = before[-1].removeprefix("::stop-commands::")
    assert len(token) == 32
    assert f"::{token}::" in log[at:]
    assert "but wrote no diff.json" in run.steps["Run nsysparse"].summary


def test_without_an_artifact_nothing_is_uploaded(publish: Job, github: GitHub) -> None:
    run = publish(artifact="")

    assert run.steps["Upload the HTML page"].outcome == "skipped"
    assert "The whole report" not in github.comments[0]["body"] + run.steps["Write the summary"].summary
