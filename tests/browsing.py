"""A page in a real browser that reaches nothing but the page itself; what it says or tries is written down.

Nothing here knows the report's markup: what tests ask of it is what any reader, keyboard or screen reader meets.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, BrowserContext, Page, Route, sync_playwright

Theme = Literal["light", "dark"]
PHONE, LAPTOP, WALL = 360, 1280, 3840
"""Widths in CSS pixels: a small phone, a usual window, and a 4K screen without scaling."""

# Runs before anything of the page, and outside its policy. Where the page's scripts are off, so is this.
_WATCH = """(() => {
  const seen = { violations: [], shift: 0, changed: 0 };
  Object.defineProperty(window, "__seen", { value: seen });
  addEventListener("securitypolicyviolation", (event) =>
    seen.violations.push(`${event.effectiveDirective}: ${event.blockedURI} (line ${event.lineNumber})`));
  new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
    if (!entry.hadRecentInput) seen.shift += entry.value;
  })).observe({ type: "layout-shift", buffered: true });
  new MutationObserver(() => { seen.changed = performance.now(); })
    .observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
})()"""
_SETTLED = """(quiet) => document.readyState === "complete" &&
  performance.now() - Math.max(__seen.changed, performance.timing.loadEventEnd - performance.timeOrigin) > quiet"""
_QUIET_MS = 250

_OPEN_FOLDS = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"

_OVERHANGS = """() => {
  const room = document.scrollingElement.clientWidth;
  const clipped = (element) => {
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement)
      if (getComputedStyle(at).overflowX !== "visible") return true;
    return false;
  };
  const named = (element) => element.tagName.toLowerCase() + (element.id ? "#" + element.id : "") +
    Array.from(element.classList, (name) => "." + name).join("");
  return Array.from(document.body.querySelectorAll("*"))
    .filter((element) => element.getBoundingClientRect().right > room + 0.5 && !clipped(element))
    .map((element) => `${named(element)} ends at ${Math.round(element.getBoundingClientRect().right)} of ${room}`);
}"""


@dataclass
class Opened:
    """A page that was opened, with what it tried to fetch, what it said on the console, and its uncaught errors."""

    page: Page
    scripts: bool
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def settle(self) -> None:
        """Wait until nothing of the page has changed for a moment."""
        if self.scripts:
            self.page.wait_for_function(_SETTLED, arg=_QUIET_MS)

    @property
    def violations(self) -> list[str]:
        """What the page's Content-Security-Policy stopped: directive and address."""
        return self.page.evaluate("window.__seen ? __seen.violations : []")

    @property
    def layout_shift(self) -> float:
        """Cumulative layout shift: how far, as a share of the window, what stood on the page was moved unasked."""
        return self.page.evaluate("__seen.shift")

    def unfold(self) -> None:
        """Open what can be opened, so that all of the page can be seen."""
        self.page.evaluate(_OPEN_FOLDS)

    def overhangs(self) -> list[str]:
        """Elements that end right of the window and that no scroll area holds."""
        return self.page.evaluate(_OVERHANGS)


OpenReport = Callable[..., Opened]
"""Opens a page, given as its file or as HTML, with the options of `open_in`."""


def quiet(opened: Opened) -> None:
    """The page has settled, fetched nothing, said nothing, and broken neither its policy nor itself."""
    opened.settle()
    assert {
        "requests": opened.requests,
        "console": opened.said,
        "errors": opened.errors,
        "violations": opened.violations,
    } == {"requests": [], "console": [], "errors": [], "violations": []}


@contextmanager
def started(executable: str) -> Iterator[Browser]:
    """A browser without its sandbox, which root cannot have, and with the scroll bars that a reader has.

    While it runs, Playwright's event loop counts as running in this thread, so that `asyncio.run` fails there.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable, chromium_sandbox=False, ignore_default_args=["--hide-scrollbars"]
        )
        try:
            yield browser
        finally:
            browser.close()


def open_in(
    browser: Browser,
    path: Path,
    *,
    width: int = LAPTOP,
    height: int = 900,
    theme: Theme = "light",
    scripts: bool = True,
    printed: bool = False,
) -> tuple[Opened, BrowserContext]:
    """The page at `path`, settled, in a window of its own; the caller closes the context."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, java_script_enabled=scripts, offline=True
    )
    context.add_init_script(_WATCH)
    opened = Opened(context.new_page(), scripts)
    address = path.resolve().as_uri()

    def decide(route: Route) -> None:
        if route.request.url.partition("#")[0] == address:
            route.continue_()
        else:
            route.abort()

    def note(url: str) -> None:
        if url.partition("#")[0] != address and not url.startswith("data:"):
            opened.requests.append(url)

    # Not only what gets as far as a request: what the policy stops before is heard of here, too.
    context.on("request", lambda request: note(request.url))
    context.route("**/*", decide)
    opened.page.on("websocket", lambda socket: note(socket.url))
    opened.page.on("console", lambda message: opened.said.append(f"{message.type}: {message.text}"))
    opened.page.on("pageerror", lambda error: opened.errors.append(str(error)))
    opened.page.on("popup", lambda popup: note(popup.url))
    if printed:
        opened.page.emulate_media(media="print", color_scheme=theme)
    opened.page.goto(address)
    opened.settle()
    return opened, context


def plain(text: str) -> str:
    """A text with every run of blanks as one, so that where and how it wraps does not matter."""
    return re.sub(r"[\s\u00ad\u200b\u2060]+", " ", text).strip()


def shown_texts(page: Page, selector: str) -> list[str]:
    """The rendered texts of the elements, in their order on the page."""
    texts: list[Any] = page.eval_on_selector_all(selector, "(all) => all.map((each) => each.innerText)")
    return [plain(text) for text in texts]
