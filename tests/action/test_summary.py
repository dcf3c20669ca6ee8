"""The step summary never grows beyond what GitHub takes."""

from collections.abc import Callable

import pytest

from tests.action.runner_of_steps import ARTIFACT_URL, Run

LIMIT = 1_048_576
STEP = "Write the summary"
VERDICT = "### ⚪ Nothing moved between base.json and candidate.json"


def test_the_report_is_appended(job: Callable[..., Run]) -> None:
    shown = job(before="what was there").steps[STEP].summary

    assert shown.startswith("what was there\n\n<!-- nsysparse:diff -->\n### ")


@pytest.mark.parametrize(
    ("room", "shown", "hidden"),
    [
        (700, "row\n", "does not fit"),
        (
            300,
            f"\n{VERDICT}\n\nThe rest does not fit into what is left of this summary. It is in the artifact",
            "row\n",
        ),
        (150, f"nsysparse: not even the verdict fits here. It is in the artifact: {ARTIFACT_URL}", VERDICT),
        (40, "", "nsysparse"),
        (-5, "", "nsysparse"),
    ],
)
def test_a_summary_that_is_nearly_full(job: Callable[..., Run], room: int, shown: str, hidden: str) -> None:
    before = "é" * ((LIMIT - room) // 2)

    run = job(before=before)

    summary = run.steps[STEP].summary
    added = summary.removeprefix(before)
    assert len(summary.encode()) <= max(LIMIT, len(before.encode()))
    assert shown in added
    assert hidden not in added
    assert run.failed == []
    assert ("::warning title=nsysparse%3A summary cut::" in run.log) is (room < 700)
