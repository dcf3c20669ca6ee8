"""Text that Markdown and GitHub leave alone: no mention, link, image, comment, table cell or emoji comes out of it."""

import re

from nsysparse.render.names import shortened, visible

_ACTIVE = re.compile(r"[|`<>&\[\](){}*_~\\#@$!:^=]")
_LONGEST_NAME = 60

# GitHub links mentions, issues and addresses in the rendered text, where entities are characters again; an invisible
# space breaks them. Inside code it does not look.
_MENTION = re.compile(r"(@|#(?=\d)|\bGH-(?=\d)|://|\bwww\.(?=\w))", re.IGNORECASE)
_LIST_MARK = re.compile(r"^(?:([-+])|(\d+)([.)]))(?=\s|$)")
_BREAK = "&#8203;"


def _entities(text: str) -> str:
    return _ACTIVE.sub(lambda found: f"&#{ord(found[0])};", text)


def prose(text: str) -> str:
    """A sentence of ours, which may quote a name."""
    pieces = _MENTION.split(visible(text).strip())
    written = "".join(
        _entities(piece) + _BREAK if place % 2 else _entities(piece) for place, piece in enumerate(pieces)
    )
    return _LIST_MARK.sub(_unlisted, written)


def _unlisted(found: re.Match[str]) -> str:
    """A number or dash that would start a list, as an entity."""
    if found[1]:
        return f"&#{ord(found[1])};"
    return f"{found[2]}&#{ord(found[3])};"


def name(text: str, limit: int = _LONGEST_NAME) -> str:
    """A name from a trace or a command, as code, cut in the middle beyond `limit` characters."""
    return f"<code>{_entities(shortened(text, limit))}</code>"
