"""The action runs nsysparse once a run, publishes everything, and fails last."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.action.conftest import SAMPLE
from tests.action.fake_github import GitHub
from tests.action.runner_of_steps import ARTIFACT_URL, STAND_IN, Run

Job = Callable[..., Run]
TOOL = STAND_IN
PUBLISHED = ["Upload the HTML page", "Write the summary", "Comment in the pull request"]


def flags(call: list[str]) -> list[str]:
    return call[: call.index("--")]


def names(call: list[str]) -> list[str]:
    return call[call.index("--") + 1 :]


def test_a_comparison_of_saved_analyses_analyses_nothing(job: Job) -> None:
    run = job(base="base.json\n", candidate="candidate.json")

    assert run.failed == []
    assert [call[0] for call in run.called] == ["diff"] * 3
    assert [names(call) for call in run.called] == [["base.json", "candidate.json"]] * 3
    assert [call[call.index("-f") + 1] for call in run.called] == ["json", "markdown", "html"]
    assert "--max-bytes=60000" in run.called[1]
    assert run.outputs["verdict"] == "unchanged"
    assert run.outputs["exit-code"] == "0"
    assert run.outputs["analysis"] == "candidate.json"
    assert json.loads(Path(run.outputs["json"]).read_text())["verdict"]["state"] == "unchanged"
    assert Path(run.outputs["markdown"]).read_text().startswith("<!-- nsysparse:diff -->\n")
    assert run.steps["Upload the HTML page"].inputs["path"] == run.outputs["html"]
    assert Path(run.outputs["html"]).name == "nsysparse.html"


def test_traces_are_analysed_once_each(job: Job, tmp_path: Path) -> None:
    shutil.copy(SAMPLE, tmp_path / "work/trace.sqlite")

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
    assert json.loads(Path(run.outputs["analysis"]).read_text())["totals"]["movement_count"] == 256


def test_several_base_runs_widen_the_noise(job: Job, tmp_path: Path) -> None:
    shutil.copy(SAMPLE, tmp_path / "work/other.sqlite")

    run = job(base="base.json\nother.sqlite", comment="false")

    other = names(run.called[0])
    assert other == ["other.sqlite"]
    written = run.called[0][run.called[0].index("-o") + 1]
    assert [f"--base={written}" in call for call in run.called] == [False, True, True, True]


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


def test_a_report_over_its_threshold_fails_last(job: Job) -> None:
    run = job(base="", candidate=str(SAMPLE), args="--threshold=1%", fail_over_threshold="true")

    assert run.failed == ["Hold the gates"]
    assert (run.outputs["verdict"], run.outputs["exit-code"]) == ("over", "3")


def test_gates_without_a_base_are_not_answered(job: Job) -> None:
    run = job(base="", candidate=str(SAMPLE), fail_on="wire_gb_s.p50<1")

    assert run.failed == ["Hold the gates"]
    assert run.outputs["exit-code"] == "4"
    assert "fail-on needs a base" in run.steps["Hold the gates"].log
    assert "<code>wire_gb_s.p50&lt;1</code>" in run.steps["Write the summary"].summary


@pytest.mark.parametrize(
    ("fail_on", "code", "says"),
    [
        ("wire_gb_s.p50<999", "3", "title=nsysparse%3A a gate failed::failed: wire_gb_s.p50<999"),
        ("ttft_ms.p50>1", "4", "title=nsysparse%3A a gate could not be answered::not answered: ttft_ms.p50>1 ("),
        ("ttft_ms.p50>1\n\nwire_gb_s.p50<999\r\n", "3", "failed: wire_gb_s.p50<999; not answered: ttft_ms.p50>1"),
    ],
)
def test_gates_fail_the_last_step_after_all_is_published(
    job: Job, github: GitHub, fail_on: str, code: str, says: str
) -> None:
    run = job(fail_on=fail_on)

    assert run.failed == ["Hold the gates"]
    assert {run.steps[name].outcome for name in PUBLISHED} == {"success"}
    assert len(github.comments) == 1
    assert "Nothing moved" in run.steps["Write the summary"].summary
    assert run.outputs["exit-code"] == code
    assert says in run.steps["Hold the gates"].log


def test_a_gate_that_holds_is_no_failure(job: Job) -> None:
    assert job(fail_on="wire_gb_s.p50<1").failed == []


def test_wrong_usage_ends_at_once_and_the_summary_says_why(job: Job, github: GitHub) -> None:
    run = job(fail_on="wire<1")

    assert run.failed == ["Run nsysparse"]
    assert github.comments == []
    shown = run.steps["Run nsysparse"].summary
    assert (
        "**nsysparse failed**: nsysparse diff ended with code 2. nsysparse: --fail-on wire&lt;1: no such metric."
        in shown
    )
    assert "Nearest: wire_gb_s.p50 &lt;or&gt;" in shown
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

    run = job(candidate=odd, diff_args="--noise-floor=3 4\n  --x=*\n-q\r\n")

    assert run.failed == []
    assert [names(call)[1] for call in run.called] == [odd] * 3
    assert flags(run.called[0])[1:4] == ["--noise-floor=3 4", "  --x=*", "-q"]
    assert not (tmp_path / "work/pwned").exists()


@pytest.mark.parametrize(("inside", "analysed"), [(["a.json"], False), (["a.json", "a.sqlite"], True), ([], True)])
def test_a_folder_is_several_saved_runs_or_one_of_ranks(
    job: Job,
    tmp_path: Path,
    inside: list[str],
    analysed: bool,  # noqa: FBT001 (a column of the table above)
) -> None:
    folder = tmp_path / "work/some runs"
    folder.mkdir()
    for name in inside:
        shutil.copy(SAMPLE if name.endswith("sqlite") else tmp_path / "work/base.json", folder / name)

    run = job(base="some runs", comment="false")

    assert (run.called[0][0] == "report") is analysed
    assert run.outputs["exit-code"] == ("0" if inside else "1")


def test_no_line_of_the_output_is_a_workflow_command(job: Job) -> None:
    log = job().steps["Run nsysparse"].log.splitlines()

    at = log.index("::error::a stranger's name")
    before = [line for line in log[:at] if line.startswith("::")]
    assert before[-1].startswith("::stop-commands::")
    token = before[-1].removeprefix("::stop-commands::")
    assert len(token) == 32
    assert f"::{token}::" in log[at:]


def test_options_that_nothing_takes_are_warned_of(job: Job) -> None:
    assert "::warning title=nsysparse%3A options without use::" in job(link="ib-ndr").log


def test_without_an_artifact_nothing_is_uploaded(job: Job, github: GitHub) -> None:
    run = job(artifact="")

    assert run.steps["Upload the HTML page"].outcome == "skipped"
    assert "The whole report" not in github.comments[0]["body"] + run.steps["Write the summary"].summary
