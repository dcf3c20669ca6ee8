"""Names of files, which on some systems are bytes that nobody promised to be text."""


def shown_name(name: str) -> str:
    """A file name as text that can be written: bytes that are no UTF-8 become escapes."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
