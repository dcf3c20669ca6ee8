"""GitHub's comments API on loopback, as far as the action uses it: pages, whose token it is, and failures to order."""

import json
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

BOT = "github-actions[bot]"
TOKEN = "the-job-token"  # noqa: S105 (of the fake)


@dataclass
class GitHub:
    """What the server holds and was asked. Of `failures` the first is sent, once, to a request whose line matches."""

    url: str = ""
    login: str | None = BOT
    comments: list[dict[str, Any]] = field(default_factory=list)
    pulls: list[dict[str, Any]] = field(default_factory=list)
    failures: deque[tuple[str, int, dict[str, str]]] = field(default_factory=deque)
    requests: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    links: bool = True

    def add(self, body: str, login: str = BOT) -> dict[str, Any]:
        number = 100 + len(self.comments)
        comment = {
            "id": number,
            "body": body,
            "user": {"login": login},
            "html_url": f"https://github.example/acme/server/pull/5#issuecomment-{number}",
        }
        self.comments.append(comment)
        return comment

    def env(self) -> dict[str, str]:
        return {"GITHUB_API_URL": self.url, "GITHUB_GRAPHQL_URL": f"{self.url}/graphql"}

    def asked(self, pattern: str) -> list[str]:
        return [line for line in self.requests if re.search(pattern, line)]


class _Handler(BaseHTTPRequestHandler):
    github: GitHub

    def handle_one(self) -> None:  # noqa: PLR0911 (one return a path)
        github, length = self.github, int(self.headers.get("Content-Length") or 0)
        content = json.loads(self.rfile.read(length)) if length else None
        line = f"{self.command} {self.path}"
        github.requests.append(line)
        github.tokens.add(self.headers.get("Authorization", ""))
        if github.failures and re.search(github.failures[0][0], line):
            _, status, headers = github.failures.popleft()
            return self.answer({"message": "as ordered"}, status, headers)
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.answer({"message": "Bad credentials"}, 401)
        place = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(place.query).items()}
        if place.path == "/graphql":
            viewer = {"data": {"viewer": {"login": github.login}}}
            return self.answer(viewer if github.login else {"errors": [{"message": "no"}]})
        if place.path == "/repos/acme/server/pulls":
            return self.answer([pull for pull in github.pulls if pull["label"] == asked["head"]])
        if place.path == "/repos/acme/server/issues/5/comments":
            if self.command == "POST":
                return self.answer(github.add(content["body"]), 201)
            return self.listed(int(asked["page"]), int(asked["per_page"]))
        match = re.fullmatch(r"/repos/acme/server/issues/comments/(\d+)", place.path)
        for comment in github.comments:
            if match and comment["id"] == int(match[1]):
                comment["body"] = content["body"]
                return self.answer(comment)
        return self.answer({"message": "Not Found"}, 404)

    do_GET = do_POST = do_PATCH = handle_one  # noqa: N815 (http.server's names)

    def listed(self, page: int, size: int) -> None:
        until = page * size
        more = until < len(self.github.comments)
        headers = {"Link": f'<https://elsewhere.example/?page={page + 1}>; rel="next"'} if more else {}
        self.answer(self.github.comments[until - size : until], 200, headers if self.github.links else {})

    def answer(self, content: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing: pytest shows what failed."""


@contextmanager
def serving() -> Iterator[GitHub]:
    github = GitHub()
    handler = type("Handler", (_Handler,), {"github": github})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        github.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield github
        finally:
            server.shutdown()
            thread.join()
