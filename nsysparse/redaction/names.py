"""What the texts of a trace become in a copy."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Label(NamedTuple):
    """What an NVTX event is called: its domain (None: nameless), whether that is the default one, and its name."""

    domain: str | None
    is_default: bool
    name: str


class Names(Protocol):
    """Says what texts become. Equal texts become equal, also in copies of other files by the same key."""

    def label(self, label: Label) -> str:
        """The name of an NVTX event."""

    def domain(self, name: str) -> str:
        """The name of an NVTX domain, or of an agent of NIXL's, which are the same names."""

    def kernel(self, name: str) -> str:
        """The name of a kernel."""

    def call(self, name: str) -> str:
        """The name of a call of UCX's."""

    def said(self) -> Sequence[str]:
        """Sentences on what became of the names."""


class Kept:
    """All names stay as they are."""

    def label(self, label: Label) -> str:
        """As it is."""
        return label.name

    def domain(self, name: str) -> str:
        """As it is."""
        return name

    kernel = call = domain

    def said(self) -> Sequence[str]:
        """That they are there."""
        return ("Names of ranges and kernels are kept: what the server wrote into them is in the copy.",)
