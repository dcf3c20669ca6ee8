"""GitHub's API as this action needs it: JSON, pages, and which failures pass. The standard library only."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, NoReturn

SECONDS = 30
"""How long one request may take."""
PER_PAGE = 100
MAX_PAGES = 100
"""GitHub takes 2,500 comments in a pull request; a server that never says "last" must not hold the job."""
MESSAGE_LENGTH = 300
MAX_BYTES = 64 * 2**20
"""Of one answer: a hundred comments of the greatest length take less than half of it."""


class RefusedError(Exception):
    """An answer that trying again would not change."""

    def __init__(self, status: int, message: str) -> None:
        """With the status of HTTP, 0 where there is none."""
        super().__init__(f"GitHub refused it: {message} (HTTP {status})" if status else message)
        self.status = status


class PassingError(Exception):
    """A failure that may pass: of the network, of the server, or too many requests."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        """With how many seconds the server asks to wait, where it does."""
        super().__init__(message)
        self.wait = wait


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: the token would go along, to whatever host the answer names."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, with its headers."""

    content: Any
    headers: Message


class Api:
    """One server, one token. Proxies are those of the environment."""

    def __init__(self, base: str, graphql: str, token: str) -> None:
        """With the addresses of both APIs, as the runner gives them."""
        for address in (base, graphql):
            if not re.match(r"https?://", address):
                raise RefusedError(0, f"{plain(address)}: not an http address.")
        self._base = base.rstrip("/")
        self._graphql = graphql
        self._token = token
        self._opener = urllib.request.build_opener(_NoRedirect())

    def call(self, method: str, path: str, content: object = None) -> Answer:
        """Ask for a path below the API's base.

        Raises:
            PassingError: It may work later.
            RefusedError: It will not.
        """
        return self._ask(method, self._base + path, content)

    def pages(self, path: str) -> Iterator[Any]:
        """All entries of a list, over all its pages.

        Pages are counted, not followed by the address in `Link`: that could lead the token elsewhere.
        """
        joint = "&" if "?" in path else "?"
        for number in range(1, MAX_PAGES + 1):
            answer = self.call("GET", f"{path}{joint}per_page={PER_PAGE}&page={number}")
            if not isinstance(answer.content, list):
                raise RefusedError(0, "the answer is not a list.")
            yield from answer.content
            link = answer.headers.get("Link")
            if len(answer.content) < PER_PAGE if link is None else 'rel="next"' not in link:
                return
        raise RefusedError(0, f"more than {MAX_PAGES} pages.")

    def login(self) -> str | None:
        """Whose token it is, as `user.login` of what it writes says; None where the server does not tell.

        By GraphQL, since the token of a workflow may not ask for `/user`.
        """
        try:
            found = self._ask("POST", self._graphql, {"query": "{viewer{login}}"}).content
        except RefusedError:
            return None
        try:
            return str(found["data"]["viewer"]["login"])
        except (KeyError, TypeError):
            return None

    def _ask(self, method: str, address: str, content: object) -> Answer:
        try:
            with self._opener.open(self._request(method, address, content), timeout=SECONDS) as answer:
                return Answer(_parsed(answer.read(MAX_BYTES + 1)), answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                _sort_out(error)
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise PassingError(f"no answer: {plain(str(reason))}.") from error
        except ValueError as error:  # not quoted: it may be the token
            raise RefusedError(0, "the token or the address has a character that no request can hold.") from error

    def _request(self, method: str, address: str, content: object) -> urllib.request.Request:
        request = urllib.request.Request(  # noqa: S310 (http addresses only: checked when made)
            address,
            method=method,
            data=None if content is None else json.dumps(content).encode(),
            headers={
                "Accept": "application/vnd.github+json",
                "Content-Type": "application/json",
                "User-Agent": "nsysparse-action",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        return request


def _parsed(data: bytes) -> Any:  # noqa: ANN401 (whatever JSON there is)
    """What an answer says: a proxy's page, half an answer or nonsense may be another one the next time."""
    if len(data) > MAX_BYTES:
        raise PassingError(f"the answer is longer than {MAX_BYTES // 2**20} MiB.")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:  # also what is not UTF-8, and numbers of thousands of digits
        raise PassingError("the answer is not JSON.") from error


def plain(text: str) -> str:
    """A stranger's text on one line, of bounded length."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())[:MESSAGE_LENGTH]


def _sort_out(error: urllib.error.HTTPError) -> NoReturn:
    try:
        message = plain(str(json.loads(error.read(MAX_BYTES))["message"]))
    except (OSError, HTTPException, ValueError, RecursionError, KeyError, TypeError):
        message = plain(str(error.reason))
    asked = error.headers.get("Retry-After")
    limited = asked is not None or error.headers.get("X-RateLimit-Remaining") == "0"
    busy = error.code == HTTPStatus.TOO_MANY_REQUESTS or (error.code == HTTPStatus.FORBIDDEN and limited)
    if busy or error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        wait = float(asked) if asked is not None and asked.isdecimal() else None
        raise PassingError(f"{message} (HTTP {error.code})", wait) from error
    raise RefusedError(error.code, message) from error
