"""Find the KV-cache transfer in Nsight Systems traces, and hold it against the interconnect.

The public names load on first use, so that `import nsysparse` and `nsysparse --help` stay cheap.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from nsysparse.api import analyse as analyse
    from nsysparse.api import inspect as inspect
    from nsysparse.errors import NsysparseError as NsysparseError

__all__ = ["NsysparseError", "__version__", "analyse", "inspect"]

_HOMES = {"analyse": "nsysparse.api", "inspect": "nsysparse.api", "NsysparseError": "nsysparse.errors"}


def __getattr__(name: str) -> Any:  # noqa: ANN401 (the type of a lazily loaded name is not known here)
    """Load a public name from its home on first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'nsysparse' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
