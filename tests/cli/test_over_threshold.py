"""`report --fail-over-threshold`: an exit code for a pipeline, never 0 where the answer is not known."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nsysparse.analysis import ADVICE
from nsysparse.cli.gates import fail_over_threshold
from nsysparse.errors import GateFailed, GateUnanswered
from nsysparse.testing import TraceBuilder
from tests import factories
from tests.commands import call

ONE = "synthetic/pd-oneprofile.sqlite"  # its KV gap is 5.1 % in the middle
SIDES = ("synthetic/pd-two-hosts-prefill.sqlite", "synthetic/pd-two-hosts-decode.sqlite")  # 12.4 ± 0.1 %


@pytest.mark.parametrize(
    ("threshold", "code", "said"),
    [
        ("20%", 0, []),
        ("2%", 3, ["nsysparse: KV gap 5.1 %: over the threshold of 2 % by 3.08 points."]),
    ],
)
def test_over_is_three_and_within_is_nought(
    threshold: str, code: int, said: list[str], sample: Callable[[str], Path], tmp_path: Path
) -> None:
    done = call("report", sample(ONE), "--threshold", threshold, "--fail-over-threshold", cwd=tmp_path)
    assert done.returncode == code
    assert done.stderr.splitlines() == ["Wrote reports/pd-oneprofile.html", *said]
    assert (tmp_path / "reports" / "pd-oneprofile.html").exists()
    assert done.stdout.startswith("KV gap is 5.1 %")


def test_without_the_option_over_is_no_failure(sample: Callable[[str], Path], tmp_path: Path) -> None:
    done = call("report", sample(ONE), "--threshold", "2%", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "Wrote reports/pd-oneprofile.html\n")


@pytest.mark.parametrize("form", ["json", "markdown", "text", "html"])
def test_the_report_on_stdout_is_whole_all_the_same(form: str, sample: Callable[[str], Path], tmp_path: Path) -> None:
    command = ("report", sample(ONE), "--threshold", "2%", "-f", form, "-o", "-")
    plain, gated = call(*command, cwd=tmp_path), call(*command, "--fail-over-threshold", "-q", cwd=tmp_path)
    assert (plain.returncode, gated.returncode) == (0, 3)
    assert gated.stdout == plain.stdout
    assert len(gated.stderr.splitlines()) == 1


def test_what_the_clocks_leave_open_is_four(sample: Callable[[str], Path], tmp_path: Path) -> None:
    traces = [sample(each) for each in SIDES]
    command = ("report", *traces, "-f", "json", "-o", "out.json", "--fail-over-threshold")
    codes = {}
    for threshold in ("0.12", "0.1241", "0.13"):
        done = call(*command, "--threshold", threshold, cwd=tmp_path)
        state = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["verdict"]["state"]
        codes[threshold] = (done.returncode, state)
        if state == "unresolved":
            assert "KV gap 12.4 ± 0.1 %: too close to call against the threshold of 12.41 %." in done.stderr
            assert "docs/explanation/clocks.md" in done.stderr
        if state == "over":
            assert "KV gap 12.4 ± 0.1 %: over the threshold of 12 % by 0.4 points." in done.stderr
    assert codes == {"0.12": (3, "over"), "0.1241": (4, "unresolved"), "0.13": (0, "ok")}


def test_unknown_is_four_with_the_reason_and_what_would_change_it(
    sample: Callable[[str], Path], tmp_path: Path
) -> None:
    done = call("report", sample(SIDES[1]), "-o", "out.md", "--fail-over-threshold", cwd=tmp_path)
    assert done.returncode == 4
    assert (tmp_path / "out.md").exists()
    wrote, why, fix = done.stderr.splitlines()
    assert wrote == "Wrote out.md"
    assert why.startswith("nsysparse: --fail-over-threshold has no answer: KV gap unknown: no file of the prefill side")
    assert fix == "  Give the trace of the prefill side too, in the same command."


def test_a_trace_without_transfers_is_unknown_not_within(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    builder.process(pid=1).thread(tid=1).push_pop("step", 0, 100)
    trace = builder.write(tmp_path / "t.sqlite")
    done = call("report", trace, "-f", "text", "--fail-over-threshold", cwd=tmp_path)
    assert done.returncode == 4
    assert "No KV transfer found" in done.stderr
    assert "nsys profile -t cuda,nvtx" in done.stderr.splitlines()[-1]


def test_nothing_is_written_over_anothers_file_and_that_is_what_is_said(
    sample: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "out.html").write_text("mine", encoding="utf-8")
    done = call("report", sample(ONE), "-o", "out.html", "--threshold", "2%", "--fail-over-threshold", cwd=tmp_path)
    assert done.returncode == 1


def test_a_doubt_larger_than_the_excess_is_still_over() -> None:
    rich = factories.rich()
    over = replace(rich.verdict, state="over", value=0.30, uncertainty=0.15, threshold=0.20)
    with pytest.raises(GateFailed, match=r"^KV gap 30 ± 15 %: over the threshold of 20 % by 10 points\.$"):
        fail_over_threshold(replace(rich, verdict=over))


@pytest.mark.parametrize("state", ["unknown", "unresolved", "another"])
def test_no_state_but_ok_is_a_yes(state: str) -> None:
    rich = factories.rich()
    text = f"KV gap unknown.{ADVICE}record more"
    with pytest.raises(GateUnanswered):
        fail_over_threshold(replace(rich, verdict=replace(rich.verdict, state=state, value=None, text=text)))
