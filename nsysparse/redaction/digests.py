"""Keyed digests in the shapes that rules of presets know: equal texts get equal ones, in every file of one key."""

import hashlib
import hmac
import re

_PREFIX = re.compile(r"^(chatcmpl|cmpl|embd|score|pool|resp)([-_])(.+)$", re.DOTALL)
_SUFFIX = re.compile(r"^(.+)-([0-9a-f]{8})$", re.DOTALL)  # as `request_ids.HINT_SUFFIX`
_HANDED_OVER = re.compile(r"___prefill_addr_.+:\d+___decode_addr_.+:\d+_[0-9a-f]{32}", re.DOTALL)
_LONG = re.compile(r"[0-9a-f]{32}")
_NAME, _WORD, _NUMBER, _SUFFIXED, _WHOLE = 16, 10, 18, 8, 32
_LETTERS = str.maketrans("0123456789", "ghijklmnop")


class Digests:
    """Digests by one key.

    Args:
        key: Secret bytes: who has them can test guesses.
    """

    def __init__(self, key: bytes) -> None:
        """Keep the key."""
        self._key = key

    def hex(self, kind: str, text: str, digits: int = _NAME) -> str:
        """Hexadecimal digits; the same text has others for another kind."""
        said = f"{kind}\0{text}".encode("utf-8", "backslashreplace")
        return hmac.new(self._key, said, hashlib.sha256).hexdigest()[:digits]

    def name(self, text: str) -> str:
        """What stands for a whole name: no rule of a preset knows it."""
        return f"~{self.hex('name', text)}"

    def word(self, text: str) -> str:
        """What stands for a word within a name: letters alone."""
        return f"x{self.hex('word', text, _WORD).translate(_LETTERS)}"

    def number(self, kind: str, text: str) -> str:
        """What stands for a number: one of 18 digits."""
        top = 10 ** (_NUMBER - 1)
        return str(top + int(self.hex(kind, text, _WHOLE), 16) % (9 * top))

    def request(self, text: str) -> str:
        """What stands for the id of a request, in the shape in which engines write such.

        A number becomes a number; a known prefix stays; what comes before the suffix that recent engines append, and
        the suffix, become digests of their own, so that ids that differed by the suffix alone still do.
        """
        if text.isascii() and text.isdigit():
            return self.number("request", text)
        if _HANDED_OVER.search(text):
            return f"cmpl-___prefill_addr_h:0___decode_addr_h:0_{self.hex('request', text, _WHOLE)}"
        if known := _PREFIX.match(text):
            return f"{known[1]}{known[2]}{self._part(known[3])}"
        return self._part(text)

    def _part(self, text: str) -> str:
        if parted := _SUFFIX.match(text):
            return f"{self._part(parted[1])}-{self.hex('suffix', text, _SUFFIXED)}"
        if _LONG.fullmatch(text):
            return self.hex("request", text, _WHOLE)
        return f"r0{self.hex('request', text)}"
