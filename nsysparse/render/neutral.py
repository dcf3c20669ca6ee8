"""Text that Markdown and GitHub leave alone: no mention, link, image, comment or table cell comes out of it."""

import re

from nsysparse.render.names import sentence, shortened, visible

_ACTIVE = re.compile(r"[|`<>&\[\]*_~\\#@$]")
_LONGEST_NAME = 60

# GitHub links mentions, issues and addresses in the rendered text, where entities are characters again; an invisible
# space breaks them.
_MENTION = re.compile(r"(@|#(?=\d)|\bGH-(?=\d)|:(?=//)|\bwww(?=\.))", re.IGNORECASE)
_LIST_MARK = re.compile(r"^([-+=](?=[-+=\s]|$)|\d+(?=[.)](?:\s|$)))")
_INVISIBLE_SPACE = "&#8203;"


def entities(text: str) -> str:
    """The visible text with every character that Markdown or HTML acts on as an entity."""
    return _ACTIVE.sub(lambda found: f"&#{ord(found[0])};", visible(text))


def html(text: str) -> str:
    """A sentence of ours inside a block of HTML, where Markdown is not read but mentions are."""
    pieces = _MENTION.split(sentence(text).strip())
    return "".join(entities(piece) + _INVISIBLE_SPACE * (place % 2) for place, piece in enumerate(pieces))


def prose(text: str) -> str:
    """A sentence of ours, which may quote a name."""
    pieces = _MENTION.split(sentence(text).strip())
    escaped = [_ACTIVE.sub(r"\\\g<0>", piece) for piece in pieces]
    written = "".join(piece + _INVISIBLE_SPACE if place % 2 else piece for place, piece in enumerate(escaped))
    return _LIST_MARK.sub(_no_list, written)


def _no_list(found: re.Match[str]) -> str:
    """A dash or number that would start a list or underline a heading."""
    return f"{found[1]}{_INVISIBLE_SPACE}" if found[1].isdigit() else f"\\{found[1]}"


def name(text: str, limit: int = _LONGEST_NAME) -> str:
    """A name from a trace or a command, as code, cut in the middle beyond `limit` characters.

    Mentions are not looked for inside code, but addresses are linked even there: the entity hides the colon and the
    dot, and the break opportunity after "@" copies as nothing.
    """
    inside = entities(shortened(text, limit)).replace("://", "&#58;//").replace("&#64;", "&#64;<wbr>")
    return f"<code>{re.sub(r'(?i)www[.]', 'www&#46;', inside)}</code>"
