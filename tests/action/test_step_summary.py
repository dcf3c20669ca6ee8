"""The step summary never grows beyond what GitHub takes."""

from collections.abc import Callable

import pytest

from tests.action.runner_of_steps import ARTIFACT_URL, Run

LIMIT = 1_048_576
STEP = "Write the summary"
VERDICT = "### 🔴 Transfer regressed: "
LAST = "</details>"


def test_the_report_is_appended(publish: Callable[..., Run]) -> None:
    shown = publish(before="what was there").steps[STEP].summary

    assert shown.startswith("what was there\n\n<!-- nsysparse:diff -->\n### ")


@pytest.mark.parametrize(
    ("room", "shown", "hidden"),
    [
        (20_000, LAST, "does not fit"),
        (1_000, "\n\nThe rest does not fit into what is left of this summary. It is in the artifact", LAST),
        (150, f"nsysparse: not even the verdict fits here. It is in the artifact: {ARTIFACT_URL}", VERDICT),
        (40, "", "nsysparse"),
        (-5, "", "nsysparse"),
    ],
)
def test_a_summary_that_is_nearly_full(publish: Callable[..., Run], room: int, shown: str, hidden: str) -> None:
    before = "é" * ((LIMIT - room) // 2)

    run = publish(before=before)

    summary = run.steps[STEP].summary
    added = summary.removeprefix(before)
    assert len(summary.encode()) <= max(LIMIT, len(before.encode()))
    assert shown in added
    assert hidden not in added
    assert added.startswith(f"\n\n{VERDICT}") is (room == 1_000)
    assert run.failed == []
    assert ("::warning title=nsysparse%3A summary cut::" in run.log) is (room < 20_000)
