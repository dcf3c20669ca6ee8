"""The part of the page's style that a figure needs to stand alone: rules, colours and patterns."""

import re
from functools import cache
from importlib.resources import files

_FIGURES = re.compile(r"/\* Figures \*/(.*?)/\* End of figures \*/", re.DOTALL)
_AT_RULE = re.compile(r"@[^{}]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_LIGHT = re.compile(r":root\s*\{([^{}]*)\}")
_DARK = re.compile(r"@media \(prefers-color-scheme: dark\)\s*\{\s*:root[^{}]*\{([^{}]*)\}")
_TOKEN = re.compile(r"(--[\w-]+):\s*([^;]+);")
_USED = re.compile(r"var\((--[\w-]+)\)")
_CLASS = re.compile(r"\.([A-Za-z][\w-]*)")
_PATTERNS = re.compile(r"<defs>.*?</defs>", re.DOTALL)
_CLASS_OF_ELEMENT = re.compile(r' class="([^"]*)"')


def style(markup: str) -> str:
    """The rules for the classes in some SVG, with their colours for light and dark surroundings.

    Raises:
        ValueError: The page's style lacks the comments that mark its figures.
    """
    used = {name for names in _CLASS_OF_ELEMENT.findall(markup) for name in names.split()}
    rules = [
        f"{selector.strip()} {{{body}}}" for selector, body in _rules() if used.intersection(_CLASS.findall(selector))
    ]
    tokens = set(_USED.findall("".join(rules)))
    css = _asset("report.css")
    light, dark = _LIGHT.search(css), _DARK.search(css)
    themes = [f":root {{ {_colours(light[1], tokens)} }}"] if light else []
    themes += [f"@media (prefers-color-scheme: dark) {{ :root {{ {_colours(dark[1], tokens)} }} }}"] if dark else []
    return "\n".join([*themes, *rules])


def patterns() -> str:
    """The definitions of the hatches that rules fill with."""
    found = _PATTERNS.search(_asset("report.html.j2"))
    return "" if found is None else found[0]


@cache
def _rules() -> tuple[tuple[str, str], ...]:
    found = _FIGURES.search(_asset("report.css"))
    if found is None:
        raise ValueError("report.css does not mark where its figures begin and end")
    plain = _AT_RULE.sub("", _COMMENT.sub("", found[1]))
    return tuple((selector, body) for selector, body in _RULE.findall(plain))


def _colours(declarations: str, used: set[str]) -> str:
    return " ".join(f"{name}: {value.strip()};" for name, value in _TOKEN.findall(declarations) if name in used)


@cache
def _asset(name: str) -> str:
    return files("nsysparse.render").joinpath("assets", name).read_text(encoding="utf-8")
