"""An answer that is no answer, a token that is none, an event of another shape: a sentence, never a traceback."""

import importlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any

import pytest

ACTION = Path(__file__).parents[2] / "action"
NONSENSE = {
    "a page": b"<!doctype html><title>Sign in</title>",
    "nothing": b"",
    "no UTF-8": b'["\xff"]',
    "half of it": b'[{"id": 1, "bo',
    "very deep": b"[" * 100_000,
    "a long number": b"[" + b"9" * 5000 + b"]",
}


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The action's own files, which find each other by name."""
    monkeypatch.syspath_prepend(str(ACTION))
    return {name: importlib.import_module(name) for name in ("comments_api", "comment", "pull_request")}


@contextmanager
def answering(body: bytes, status: int = 200) -> Iterator[str]:
    """A server on loopback that says the same to everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PATCH = do_GET  # noqa: N815 (likewise)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("name", NONSENSE)
def test_what_is_no_answer_may_be_one_later(name: str, modules: dict[str, ModuleType]) -> None:
    api = modules["comments_api"]
    with answering(NONSENSE[name]) as url, pytest.raises(api.PassingError, match=r"^the answer is not JSON\.$"):
        api.Api(url, url, "t").call("GET", "/x")


@pytest.mark.parametrize("name", NONSENSE)
def test_a_refusal_without_words_is_a_refusal(name: str, modules: dict[str, ModuleType]) -> None:
    api = modules["comments_api"]
    with answering(NONSENSE[name], 403) as url, pytest.raises(api.RefusedError, match=r"\(HTTP 403\)$"):
        api.Api(url, url, "t").call("GET", "/x")


def test_an_endless_answer_is_not_kept(modules: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    api = modules["comments_api"]
    monkeypatch.setattr(api, "MAX_BYTES", 2**20)
    with answering(b" " * 2**21) as url, pytest.raises(api.PassingError, match="longer than 1 MiB"):
        api.Api(url, url, "t").call("GET", "/x")


@pytest.mark.parametrize("token", ["a\nb", "a\r\nX: y", "\u2026", ""])
def test_a_token_that_no_header_holds_is_not_said(token: str, modules: dict[str, ModuleType]) -> None:
    api = modules["comments_api"]
    with answering(b"[]") as url:
        ours = api.Api(url, url, token)
        if not token:
            assert ours.call("GET", "/x").content == []
            return
        with pytest.raises(api.RefusedError) as caught:
            ours.call("GET", "/x")
    assert token not in str(caught.value)


class Told:
    """An API that holds a list, and takes what is written."""

    def __init__(self, entries: list[Any]) -> None:
        self.entries, self.written = entries, list[tuple[str, str]]()

    def login(self) -> str:
        return "bot"

    def pages(self, _path: str) -> Iterator[Any]:
        yield from self.entries

    def call(self, method: str, path: str, _content: object = None) -> Any:
        self.written.append((method, path))
        return type("Answer", (), {"content": ["no comment"]})


def test_entries_that_are_no_comments_are_not_ours(modules: dict[str, ModuleType]) -> None:
    text = "<!-- nsysparse:diff -->\n<!-- nsysparse:key k -->\nx"
    own = {"id": 7, "body": text, "user": {"login": "bot"}}
    odd: list[Any] = [None, 3, "x", [], {}, {**own, "id": "../../7"}, {**own, "id": None}, {**own, "body": 3}]
    odd += [{**own, "user": "bot"}, {**own, "user": None}, {"user": {"login": "bot"}, "body": text}]
    api = Told([*odd, own])
    assert modules["comment"].write(api, "/repos/a/b", 5, text) == ""
    assert api.written == [("PATCH", "/repos/a/b/issues/comments/7")]


@pytest.mark.parametrize(
    "event",
    [
        "", "[]", "3", "{}", "[" * 100_000, '{"pull_request": null}', '{"pull_request": {"number": "5"}}',
        '{"issue": 3}', '{"issue": {"pull_request": {}}}', '{"workflow_run": []}',
        '{"workflow_run": {"head_repository": "x", "head_branch": "b", "head_sha": "c"}}',
    ],
)  # fmt: skip
def test_an_event_of_another_shape_names_no_pull_request(
    event: str, modules: dict[str, ModuleType], tmp_path: Path
) -> None:
    path = tmp_path / "event.json"
    path.write_text(event)
    with pytest.raises(modules["pull_request"].NoneFoundError):
        modules["pull_request"].number_of("", str(path), Told([]), "a/b")


def test_pull_requests_of_another_shape_are_passed_over(modules: dict[str, ModuleType], tmp_path: Path) -> None:
    run = {"head_repository": {"owner": {"login": "o"}}, "head_branch": "b", "head_sha": "c"}
    path = tmp_path / "event.json"
    path.write_text(json.dumps({"workflow_run": run}))
    api = Told([None, {"number": 3}, {"number": "4", "head": {"sha": "c"}}, {"number": 9, "head": {"sha": "c"}}])
    assert modules["pull_request"].number_of("", str(path), api, "a/b") == 9
