"""Creates or updates one comment of a pull request, found again by its two hidden first lines.

Prints one line: `posted` and its address; `skipped` or `refused` and why, where the job may go on; `failed` and why.
"""

import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path

from comments_api import Api, PassingError, RefusedError, plain
from pull_request import NoneFoundError, number_of

MARKERS = ("<!-- nsysparse:diff -->", "<!-- nsysparse:report -->")
"""First lines that nsysparse writes; a report becomes a comparison once there is a base, in the same comment."""
KEY = r"[A-Za-z0-9_.-]{1,64}"
DEFAULT_LOGIN = "github-actions[bot]"
"""Whose comments a workflow's own token writes."""
MAX_CHARACTERS, MAX_BYTES = 65_536, 262_144
"""What GitHub takes as a comment."""
TRIES, FIRST_PAUSE, LONGEST_PAUSE = 4, 2.0, 60.0


def main() -> int:
    """Do it as the environment says; the exit code."""
    try:
        return _say("posted", _commented(os.environ))
    except NoneFoundError as none:
        return _say("skipped", str(none))
    except PassingError as error:
        return _say("refused", f"GitHub did not take it: {error}")
    except RefusedError as error:
        if error.status in (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND):
            # A fork's token may not write; of a private repository it does not even see the pull request.
            return _say("refused", f"{error}. The token needs pull-requests: write; that of a fork's job never has it.")
        return _say("failed", f"{error}.")


def _commented(env: Mapping[str, str]) -> str:
    """The address of the comment that was left."""
    key, repository, base = env["INPUT_KEY"], env.get("GITHUB_REPOSITORY", ""), env.get("GITHUB_API_URL", "")
    if not re.fullmatch(KEY, key):
        raise RefusedError(0, "key: letters, digits, _, . and - only, at most 64 of them")
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise RefusedError(0, "GITHUB_REPOSITORY does not name a repository")
    run = f"{env.get('GITHUB_SERVER_URL', '')}/{repository}/actions/runs/{env.get('GITHUB_RUN_ID', '')}"
    text = body(Path(sys.argv[1]).read_text(encoding="utf-8"), key, env.get("ARTIFACT_URL", ""), run)
    api = Api(base, env.get("GITHUB_GRAPHQL_URL") or base + "/graphql", env["INPUT_TOKEN"])

    def once() -> str:
        number = number_of(env["INPUT_PULL_REQUEST"], env.get("GITHUB_EVENT_PATH", ""), api, repository)
        return write(api, f"/repos/{repository}", number, text)

    return patiently(once, time.sleep)


def body(markdown: str, key: str, artifact: str, run: str) -> str:
    """The comment: marker, key, the report, and where the whole of it is; a line in its place where it is too long."""
    marker, _, rest = markdown.partition("\n")
    if marker not in MARKERS:
        raise RefusedError(0, "the report begins with no marker")
    known = re.fullmatch(r"https?://[^\s<>()]+", artifact)
    links = f"\n\n[The whole report]({artifact}) · [run]({run})\n" if known else f"\n\n[Run]({run})\n"
    text = f"{marker}\n{_key_line(key)}\n{rest.rstrip()}{links}"
    if len(text) > MAX_CHARACTERS or len(text.encode()) > MAX_BYTES:
        rest = "The report is longer than a comment may be; it is in the run's summary."
        text = f"{marker}\n{_key_line(key)}\n{rest}{links}"
    return text


def write(api: Api, repository: str, number: int, text: str) -> str:
    """Update the oldest comment of the token's own with the text's key, else create one; its address."""
    login = api.login() or DEFAULT_LOGIN
    key = text.split("\n", maxsplit=2)[1]
    own = [
        comment["id"]
        for comment in api.pages(f"{repository}/issues/{number}/comments")
        if _is_ours(comment, login, key)
    ]
    if not own:
        return _address(api.call("POST", f"{repository}/issues/{number}/comments", {"body": text}).content)
    try:
        return _address(api.call("PATCH", f"{repository}/issues/comments/{min(own)}", {"body": text}).content)
    except RefusedError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        raise PassingError("the comment was deleted meanwhile", 0) from error


def patiently(once: Callable[[], str], pause: Callable[[float], None]) -> str:
    """Try the whole of it again where that may help: whether a lost answer left a comment is seen by looking anew."""
    for tried in range(TRIES - 1):
        try:
            return once()
        except PassingError as error:
            asked = FIRST_PAUSE * 2**tried if error.wait is None else error.wait
            print(f"nsysparse: {error}; trying again", file=sys.stderr)
            pause(min(asked, LONGEST_PAUSE))
    return once()


def _key_line(key: str) -> str:
    return f"<!-- nsysparse:key {key} -->"


def _is_ours(comment: object, login: str, key: str) -> bool:
    """Whether an entry is a comment of that login with that key; what is no comment at all is not ours."""
    match comment:
        case {"id": int(), "body": str(text), "user": {"login": str(author)}} if author == login:
            return _is_marked(text, key)
        case _:
            return False


def _is_marked(text: str, key: str) -> bool:
    lines = text.split("\n", maxsplit=2)
    return [line.rstrip("\r") for line in lines[:2]] in [[marker, key] for marker in MARKERS]


def _address(comment: object) -> str:
    return plain(str(comment.get("html_url", ""))) if isinstance(comment, dict) else ""


def _say(state: str, what: str) -> int:
    print(f"{state} {plain(what)}")
    return 1 if state == "failed" else 0


if __name__ == "__main__":
    sys.exit(main())
