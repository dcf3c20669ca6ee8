"""How transfers got their layer or request, in words."""

from collections.abc import Mapping

ORDER = ("exact", "nested", "spanning", "ordinal", "process", "direction", "overlap", "estimated", "none")
"""Best first."""


def rank(provenance: str) -> tuple[int, str]:
    """Sorts best first; provenances not in `ORDER` last, by name."""
    return (ORDER.index(provenance) if provenance in ORDER else len(ORDER), provenance)


def ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Provenances with a count, best first; ones not in `ORDER` last, by name."""
    return sorted(((name, count) for name, count in counts.items() if count), key=lambda item: rank(item[0]))


def described(counts: Mapping[str, int]) -> str:
    """One table cell: the name alone where all agree, else names with counts."""
    items = ranked(counts)
    if len(items) == 1:
        return items[0][0]
    return ", ".join(f"{name} {count:,}" for name, count in items)
