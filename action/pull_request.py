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
    except (OSError, ValueError, RecursionError) as error:
        raise NoneFoundError("The event cannot be read.") from error
    if not isinstance(told, dict):
        raise NoneFoundError("The event cannot be read.")
    match told:
        case {"pull_request": {"number": int(number)}} | {"issue": {"pull_request": _, "number": int(number)}}:
            return number
        case {"workflow_run": dict(run)}:
            return _of_run(run, api, repository)
        case _:
            raise NoneFoundError("The event is about no pull request.")


def _of_run(run: dict[str, Any], api: Api, repository: str) -> int:
    """The open pull request whose newest commit the run was about.

    By the head that GitHub itself names: a number in an artifact of that run would be what a stranger says.
    """
    match run:
        case {
            "head_repository": {"owner": {"login": str(owner)}},
            "head_branch": str(branch),
            "head_sha": str(commit),
        } if owner and branch and commit:
            wanted = quote(f"{owner}:{branch}", safe="")
        case _:
            raise NoneFoundError("The event's workflow run names no branch.")
    pulls = api.pages(f"/repos/{repository}/pulls?state=open&head={wanted}")
    found = [number for each in pulls if (number := _at(each, commit)) is not None]
    if not found:
        raise NoneFoundError("No open pull request has the commit of the workflow run as its newest.")
    if len(found) > 1:
        raise NoneFoundError("Several open pull requests have the commit of the workflow run. Set pull-request.")
    return found[0]


def _at(pull: object, commit: str) -> int | None:
    """The number of a pull request whose newest commit that is; None for others, and for what is none."""
    match pull:
        case {"number": int(number), "head": {"sha": str(sha)}} if sha == commit:
            return number
        case _:
            return None
