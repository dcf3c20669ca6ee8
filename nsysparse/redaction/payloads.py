"""What is left of NCCL's and NIXL's payloads in a copy: JSON of the fields that are read, whatever form they had.

Unreadable payloads stay unreadable, so that a report of the copy counts them too.
"""

import json
from collections.abc import Callable, Mapping

from nsysparse.source import nccl_trace, nixl_payloads, payloads
from nsysparse.source.nixl_payloads import COLUMNS as NIXL_FIELDS

_NAMES: Mapping[str, str] = {column: name for name, column in reversed(list(payloads.FIELDS.items()))}
UNREADABLE = "unreadable"
"""No JSON."""


class Rewritten:
    """Rewrites payloads of one file.

    Args:
        nccl: Reads NCCL's.
        nixl: Reads NIXL's.
        agent: What names of agents become.
    """

    def __init__(self, nccl: payloads.Decoder, nixl: nixl_payloads.Decoder, agent: Callable[[str], str]) -> None:
        """Nothing has been rewritten."""
        self._nccl, self._nixl, self._agent = nccl, nixl, agent

    def of_nccl(self, text: str | None, blob: bytes | None) -> str | None:
        """The payload of one of NCCL's own ranges; None without any."""
        if text is not None:
            return _known_fields(text, payloads.FIELDS)
        if blob is None:
            return None
        before = self._nccl.undecodable
        values = self._nccl.from_blob(blob)
        if self._nccl.undecodable > before:
            return UNREADABLE
        return _written({_NAMES[column]: value for column, value in values.items()})

    def of_nixl(self, text: str | None, blob: bytes | None) -> str | None:
        """The payload of a post of NIXL's; None without any."""
        if text is None and blob is None:
            return None
        before = self._nixl.undecodable
        said = self._nixl.attributes(text, blob)
        self._nixl.undecodable = before
        kept: dict[str, object] = {}
        for name in (name for name in NIXL_FIELDS if name in said):
            value = said[name]
            if isinstance(value, str):
                kept[name] = self._agent(value) if name == "remote_agent" and self._nixl.is_agent(value) else None
            else:
                kept[name] = value if isinstance(value, int) else None
        return _written(kept) if kept else UNREADABLE

    def traced(self, text: str | None) -> str | None:
        """The JSON of a row of advanced NCCL tracing; None without any."""
        if text is None:
            return None
        loaded = _object(text)
        return UNREADABLE if loaded is None else _written(nccl_trace.known_part(loaded))


def _known_fields(text: str, fields: Mapping[str, str]) -> str:
    loaded = _object(text)
    if loaded is None:
        return UNREADABLE
    kept = {key: value for key, value in loaded.items() if str(key).strip().lower() in fields}
    return _written({key: value if isinstance(value, int | float) else None for key, value in kept.items()})


def _object(text: str) -> dict[str, object] | None:
    try:
        loaded = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return loaded if isinstance(loaded, dict) else None


def _written(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
