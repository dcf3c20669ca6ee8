"""One comment, found again, whatever else stands in the pull request and however GitHub answers."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.action.conftest import SAMPLE, SLOW
from tests.action.fake_github import BOT, TOKEN, GitHub
from tests.action.runner_of_steps import ARTIFACT_URL, ROOT, Run

Job = Callable[..., Run]
STEP = "Comment in the pull request"
OURS = "<!-- nsysparse:diff -->\n<!-- nsysparse:key default -->\n"
AT_ONCE = {"Retry-After": "0"}
FROM_FORK = {
    "workflow_run": {
        "head_repository": {"owner": {"login": "stranger"}},
        "head_branch": "feature/x",
        "head_sha": "abc",
        "pull_requests": [],
    }
}


def test_two_traces_become_a_comment_which_the_next_run_updates(job: Job, github: GitHub) -> None:
    first = job(base=str(SAMPLE), candidate=str(SLOW), link="ib-ndr", fail_on="wire_gb_s.p50<-5%")
    [comment] = github.comments
    created = comment["body"]
    second = job(candidate="base.json")

    assert first.failed == ["Hold the gates"]
    verdict = created.removeprefix(OURS).splitlines()[0]
    assert verdict.startswith("### 🔴 Transfer regressed: ")
    assert "(\u22125.9 %); wire rate of layers 10\u201316, 18\u201320" in verdict
    assert "1 gate failed: wire\\_gb\\_s.p50\\<-5% (\u22125.9 %" in created
    assert created.endswith(
        f"[The whole report]({ARTIFACT_URL}) · [run](https://github.example/acme/server/actions/runs/7)\n"
    )
    assert second.failed == []
    assert [each["id"] for each in github.comments] == [comment["id"]]
    assert comment["body"].startswith(OURS + "### 🟢 Nothing changed")
    assert len(github.asked("^POST /repos")) == len(github.asked("^PATCH")) == 1
    assert first.outputs["comment-url"] == second.outputs["comment-url"] == comment["html_url"]
    assert github.tokens == {f"Bearer {TOKEN}"}
    assert TOKEN not in first.log + second.log


def test_the_same_result_is_the_same_comment(publish: Job, github: GitHub) -> None:
    publish()
    created = github.comments[0]["body"]
    publish()

    assert [comment["body"] for comment in github.comments] == [created]


def test_what_changed_is_written(publish: Job, github: GitHub) -> None:
    github.add(OURS + "as it was")

    publish()

    assert "as it was" not in github.comments[0]["body"]
    assert "Transfer regressed" in github.comments[0]["body"]


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("others", [249, 200])
def test_it_is_found_on_a_later_page(publish: Job, github: GitHub, links: bool, others: int) -> None:  # noqa: FBT001
    github.links = links
    for number in range(others):
        github.add(f"comment {number}", "someone")
    own = github.add(OURS)

    publish()

    assert len(github.comments) == others + 1
    assert "Transfer regressed" in own["body"]
    pages = [f"GET /repos/acme/server/issues/5/comments?per_page=100&page={page}" for page in (1, 2, 3)]
    assert github.asked("^GET") == pages


def test_others_are_left_alone(publish: Job, github: GitHub) -> None:
    bodies = {
        "stranger": OURS + "mine too",
        "github-actions": OURS + "nearly the bot",
        BOT: "<!-- nsysparse:diff -->\n<!-- nsysparse:key other -->\nof another job",
    }
    for login, body in bodies.items():
        github.add(body, login)
    github.add(f"quoted:\n{OURS}", BOT)
    github.add(OURS, "nobody")["user"] = None
    before = [comment["body"] for comment in github.comments]

    publish()

    assert [comment["body"] for comment in github.comments[:5]] == before
    assert len(github.comments) == 6


def test_of_several_the_oldest_is_updated(publish: Job, github: GitHub) -> None:
    old, new = github.add(OURS + "old"), github.add(OURS + "new")
    github.comments.reverse()

    publish()

    assert "Transfer regressed" in old["body"]
    assert new["body"] == OURS + "new"


def test_a_report_becomes_a_comparison_in_the_same_comment(publish: Job, github: GitHub) -> None:
    own = github.add(OURS.replace(":diff", ":report").replace("\n", "\r\n") + "a report")

    publish()

    assert len(github.comments) == 1
    assert own["body"].startswith(OURS)


def test_two_keys_are_two_comments(publish: Job, github: GitHub) -> None:
    for key in ("nvlink", "ib.ndr-2_x", "nvlink"):
        publish(key=key)

    assert [comment["body"].splitlines()[1] for comment in github.comments] == [
        "<!-- nsysparse:key nvlink -->",
        "<!-- nsysparse:key ib.ndr-2_x -->",
    ]


@pytest.mark.parametrize("key", ["", "a b", "x" * 65, "-->", "a\nb"])
def test_a_key_that_could_break_out_is_refused(publish: Job, github: GitHub, key: str) -> None:
    run = publish(key=key)

    assert run.failed == [STEP]
    assert "key: letters, digits" in run.steps[STEP].log
    assert github.requests == []


def test_a_personal_token_has_its_owners_comments(publish: Job, github: GitHub) -> None:
    github.login = "reviewer"
    github.add(OURS, BOT)
    own = github.add(OURS, "reviewer")

    publish()

    assert len(github.comments) == 2
    assert "Transfer regressed" in own["body"]


def test_where_the_server_does_not_say_whose_token_it_is_it_is_the_workflows(publish: Job, github: GitHub) -> None:
    github.login = None
    own = github.add(OURS, BOT)

    publish()

    assert len(github.comments) == 1
    assert "Transfer regressed" in own["body"]


@pytest.mark.parametrize("status", [403, 404])
def test_a_token_that_may_not_write_is_a_warning(publish: Job, github: GitHub, status: int) -> None:
    github.failures.append(("^POST /repos", status, {}))

    run = publish(fail_on="wire_gb_s.p50<-5%")

    assert run.failed == ["Hold the gates"], "the gate still decides"
    assert "::warning title=nsysparse%3A no comment::GitHub refused it: as ordered" in run.steps[STEP].log
    assert "**No comment was left**" in run.steps[STEP].summary
    assert "pull-requests: write" in run.steps[STEP].summary
    assert len(github.asked("^POST /repos")) == 1, "asking again would not help"
    assert run.outputs["comment-url"] == ""


@pytest.mark.parametrize(
    ("line", "status", "headers"),
    [
        ("^POST /repos", 500, AT_ONCE),
        ("^GET", 502, AT_ONCE),
        ("graphql", 429, AT_ONCE),
        ("^POST /repos", 403, AT_ONCE),  # GitHub's answer to too many comments at once
    ],
)
def test_what_passes_is_tried_again(
    publish: Job, github: GitHub, line: str, status: int, headers: dict[str, str]
) -> None:
    github.failures.append((line, status, headers))

    run = publish()

    assert run.failed == []
    assert len(github.comments) == 1
    assert len(github.asked(line)) == 2


def test_a_comment_deleted_meanwhile_is_created_anew(publish: Job, github: GitHub) -> None:
    github.add(OURS)
    github.failures.append(("^PATCH", 404, {}))

    assert publish().failed == []
    assert len(github.asked("^PATCH")) == 2


def test_an_answer_that_was_lost_leaves_no_second_comment(publish: Job, github: GitHub) -> None:
    add = github.add

    def add_and_lose(body: str, login: str = BOT) -> dict[str, Any]:
        add(body, login)
        github.add = add  # type: ignore[method-assign]
        return {"not": "JSON", "that": object()}  # the server breaks while it answers

    github.add = add_and_lose  # type: ignore[method-assign]

    run = publish()

    assert run.failed == []
    assert len(github.comments) == 1


def test_a_server_that_stays_down_is_a_warning(publish: Job, github: GitHub) -> None:
    github.failures.extend([("graphql", 503, AT_ONCE)] * 4)

    run = publish()

    assert run.failed == []
    assert "::warning title=nsysparse%3A no comment::GitHub did not take it: as ordered (HTTP 503)" in run.log
    assert len(github.requests) == 4


def test_a_wrong_token_is_an_error(publish: Job) -> None:
    run = publish(token="another", fail_on="wire_gb_s.p50<-5%")  # noqa: S106

    assert run.failed == [STEP, "Hold the gates"]
    assert "Bad credentials (HTTP 401)" in run.steps[STEP].log
    assert "another" not in run.log


def test_a_redirect_does_not_take_the_token_along(publish: Job, github: GitHub) -> None:
    github.failures.append(("^GET", 307, {"Location": f"{github.url}/elsewhere"}))

    run = publish()

    assert run.failed == [STEP]
    assert github.asked("elsewhere") == []


@pytest.mark.parametrize("event", [{}, {"issue": {"number": 5}}, {"ref": "refs/heads/main"}, []])
def test_without_a_pull_request_there_is_no_comment(publish: Job, github: GitHub, event: object) -> None:
    run = publish(event=event)

    assert run.failed == []
    assert "::notice title=nsysparse%3A no comment::The event" in run.steps[STEP].log
    assert github.asked("^POST /repos|^PATCH") == []


def test_comments_can_be_off(publish: Job, github: GitHub) -> None:
    assert publish(comment="false").steps[STEP].outcome == "skipped"
    assert github.requests == []


def test_a_comment_on_a_pull_request_names_it(publish: Job, github: GitHub) -> None:
    publish(event={"issue": {"number": 5, "pull_request": {}}, "comment": {"body": "/bench"}})

    assert len(github.comments) == 1


def test_a_number_can_be_given(publish: Job, github: GitHub) -> None:
    publish(event={}, pull_request="5")
    run = publish(event={}, pull_request="5/../6")

    assert len(github.comments) == 1
    assert "is not a number" in run.log


def test_a_run_from_a_fork_finds_its_pull_request(publish: Job, github: GitHub) -> None:
    label = "stranger:feature/x"
    github.pulls += [
        {"label": label, "number": 9, "head": {"sha": "newer"}},
        {"label": label, "number": 5, "head": {"sha": "abc"}},
        {"label": "other:feature/x", "number": 6, "head": {"sha": "abc"}},
    ]

    publish(event=FROM_FORK)

    assert len(github.comments) == 1


def test_a_run_whose_pull_request_went_on_leaves_no_comment(publish: Job, github: GitHub) -> None:
    github.pulls.append({"label": "stranger:feature/x", "number": 5, "head": {"sha": "newer"}})

    run = publish(event=FROM_FORK)

    assert run.failed == []
    assert "has the commit of the workflow run as its newest" in run.log
    assert github.comments == []


@pytest.mark.parametrize("letter", ["x" * 65_500, "\U0001f7e2" * 65_500])
def test_a_report_too_long_for_a_comment_is_named_instead(tmp_path: Path, github: GitHub, letter: str) -> None:
    report, event = tmp_path / "report.md", tmp_path / "event.json"
    event.write_text('{"pull_request": {"number": 5}}')
    env = {
        **github.env(), "GITHUB_REPOSITORY": "acme/server", "GITHUB_EVENT_PATH": str(event), "INPUT_TOKEN": TOKEN,
        "INPUT_KEY": "default", "INPUT_PULL_REQUEST": "", "GITHUB_SERVER_URL": "https://github.example",
    }  # fmt: skip

    for text in (letter, letter[:60_000]):
        report.write_text(f"<!-- nsysparse:diff -->\n{text}", encoding="utf-8")
        subprocess.run([sys.executable, ROOT / "action/comment.py", report], env=env, check=True)
        [comment] = github.comments
        assert len(comment["body"]) <= 65_536
        assert len(comment["body"].encode()) <= 262_144
        assert comment["body"].startswith(OURS)
        assert ("longer than a comment may be" in comment["body"]) is (text == letter)
