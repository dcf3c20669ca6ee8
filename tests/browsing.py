"""A page in a real browser that reaches nothing but the page itself; what it says or tries is written down.

Nothing here knows the report's markup: what tests ask of it is what any reader, keyboard or screen reader meets.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, Route, sync_playwright

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

    def draw(self) -> None:
        """Scroll to each figure that scripts draw when it comes near, until it is drawn."""
        for box in self.page.locator(".plotbox").all():
            box.scroll_into_view_if_needed()
            self.page.wait_for_function("(box) => box.matches('.drawn')", arg=box.element_handle())
        self.settle()

    def overhangs(self) -> list[str]:
        """Elements that end right of the window and that no scroll area holds."""
        return self.page.evaluate(_OVERHANGS)


OpenReport = Callable[..., Opened]
"""Opens a page, given as its file or as HTML, with the options of `Window.open`, and `scripts` on or off."""


def quiet(opened: Opened) -> None:
    """The page has settled, fetched nothing, said nothing, and broken neither its policy nor itself."""
    opened.settle()
    found = {
        "requests": opened.requests,
        "console": opened.said,
        "errors": opened.errors,
        "violations": opened.violations,
    }
    assert not any(found.values()), found


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


class Window:
    """A window in which one page after the other is opened: far cheaper than a window each, as plotly stays compiled.

    Whether a page's scripts run is settled for all of them.
    """

    def __init__(self, browser: Browser, *, scripts: bool = True) -> None:
        self._scripts = scripts
        self._context = browser.new_context(java_script_enabled=scripts, offline=True)
        self._context.add_init_script(_WATCH)
        self._page = self._context.new_page()
        self._opened = Opened(self._page, scripts)
        self._address = "about:blank"
        # Not only what gets as far as a request: what the policy stops before is heard of here, too.
        self._context.on("request", lambda request: self._note(request.url))
        self._context.route("**/*", self._decide)
        self._page.on("websocket", lambda socket: self._note(socket.url))
        self._page.on("popup", lambda popup: self._note(popup.url))
        self._page.on("console", lambda message: self._opened.said.append(f"{message.type}: {message.text}"))
        self._page.on("pageerror", lambda error: self._opened.errors.append(str(error)))

    def open(
        self, path: Path, *, width: int = LAPTOP, height: int = 900, theme: Theme = "light", printed: bool = False
    ) -> Opened:
        """The page at `path`, settled; what was open before is gone."""
        self._page.goto("about:blank")
        self._address = path.resolve().as_uri()
        self._opened = Opened(self._page, self._scripts)
        self._page.mouse.move(0, 0)
        self._page.set_viewport_size({"width": width, "height": height})
        self._page.emulate_media(media="print" if printed else "screen", color_scheme=theme)
        self._page.goto(self._address)
        self._opened.settle()
        return self._opened

    def close(self) -> None:
        """Close the window."""
        self._context.close()

    def _is_the_page(self, url: str) -> bool:
        return url.partition("#")[0] in (self._address, "about:blank")

    def _decide(self, route: Route) -> None:
        if self._is_the_page(route.request.url):
            route.continue_()
        else:
            route.abort()

    def _note(self, url: str) -> None:
        if not self._is_the_page(url) and not url.startswith("data:"):
            self._opened.requests.append(url)


def plain(text: str) -> str:
    """A text with every run of blanks as one, so that where and how it wraps does not matter."""
    return re.sub(r"[\s\u00ad\u200b\u2060]+", " ", text).strip()
