"""Which pull request an event is about."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from comments_api import Api


class NoneFoundError(Exception):
    """There is no pull request to comment in; the message says why."""


def number_of(given: str, event: str, api: Api, repository: str) -> int:
    """The number of the pull request: as given, else the event's.

    Args:
        given: What the user says, or nothing.
        event: The file with the event.
        api: Asked only for a `workflow_run` from a fork, whose event names no pull request.
        repository: `owner/name`.

    Raises:
        NoneFoundError: There is none, or not exactly one.
    """
    if given:
        if not re.fullmatch(r"[1-9][0-9]{0,9}", given):
            raise NoneFoundError("pull-request is not a number.")
        return int(given)
    try:
        told = json.loads(Path(event).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NoneFoundError("The event cannot be read.") from error
    if not isinstance(told, dict):
        raise NoneFoundError("The event cannot be read.")
    issue = told.get("issue") or {}
    if "pull_request" in told:
        return int(told["pull_request"]["number"])
    if "pull_request" in issue:
        return int(issue["number"])
    if "workflow_run" in told:
        return _of_run(told["workflow_run"], api, repository)
    raise NoneFoundError("The event is about no pull request.")


def _of_run(run: dict[str, Any], api: Api, repository: str) -> int:
    """The open pull request whose newest commit the run was about.

    By the head that GitHub itself names: a number in an artifact of that run would be what a stranger says.
    """
    head = run.get("head_repository") or {}
    owner = (head.get("owner") or {}).get("login")
    branch, commit = run.get("head_branch"), run.get("head_sha")
    if not (owner and branch and commit):
        raise NoneFoundError("The event's workflow run names no branch.")
    wanted = quote(f"{owner}:{branch}", safe="")
    found = [
        int(each["number"])
        for each in api.pages(f"/repos/{repository}/pulls?state=open&head={wanted}")
        if each["head"]["sha"] == commit
    ]
    if not found:
        raise NoneFoundError("No open pull request has the commit of the workflow run as its newest.")
    if len(found) > 1:
        raise NoneFoundError("Several open pull requests have the commit of the workflow run. Set pull-request.")
    return found[0]
