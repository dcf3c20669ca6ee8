"""Reports to look at: of made analyses and of sample traces, each with the document that it was drawn from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import factories

from nsysparse.analysis import Analysis
from nsysparse.document import Document
from nsysparse.render import to_html
from nsysparse.sections import build

MADE: Mapping[str, Callable[[], Analysis]] = MappingProxyType(
    {
        "rich": factories.rich,
        "unknown": factories.unknown,
        "small": factories.small,
        "sizeless": factories.sizeless,
    }
)
SAMPLED = ("pd-oneprofile", "pd-transports", "pd-two-hosts")
"""Synthetic sample traces, or runs of several, as the manifest names them."""
ALL = (*MADE, *SAMPLED)


@dataclass(frozen=True)
class Report:
    """A report as a page, and the document that was drawn."""

    document: Document
    path: Path


def written(analysis: Analysis, path: Path) -> Report:
    """The report of an analysis, written to `path`."""
    document = build(analysis)
    path.write_text(to_html.render(document), encoding="utf-8")
    return Report(document, path)
