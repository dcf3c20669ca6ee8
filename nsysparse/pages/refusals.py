"""Why pages are not read: the reader does not cover them, or the file contradicts itself."""


class NotCovered(Exception):  # noqa: N818 (no error: SQL reads what is not covered here)
    """This table or file must be read by SQL; the text is the reason."""


class Damaged(Exception):  # noqa: N818 (reads as what it says at the raise site)
    """The file contradicts itself; the text says on which page, and what."""
