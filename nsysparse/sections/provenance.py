"""How transfers got their layer or request, in words."""

from collections.abc import Mapping

ORDER = ("exact", "nested", "spanning", "ordinal", "overlap", "estimated", "none")
"""Best first."""


def ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Provenances with a count, best first; ones not in `ORDER` last, by name."""
    place = {name: rank for rank, name in enumerate(ORDER)}
    return sorted(
        ((name, count) for name, count in counts.items() if count),
        key=lambda item: (place.get(item[0], len(ORDER)), item[0]),
    )


def described(counts: Mapping[str, int]) -> str:
    """One table cell: the name alone where all agree, else names with counts."""
    items = ranked(counts)
    if len(items) == 1:
        return items[0][0]
    return ", ".join(f"{name} {count:,}" for name, count in items)
