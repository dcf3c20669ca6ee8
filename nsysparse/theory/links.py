"""From what the user names to the rate that a link is held against.

A KV transfer uses one direction of a full-duplex link, so a link's peak is its one-direction rate. The totals that
vendors print add both directions; they are used only when asked for by that name, so that published tables can be
reproduced. What headers leave of a rate is asked for by the packets' size: `eth-100g@roce-mtu1024`, `pcie5-x16@mps256`.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import isfinite

from nsysparse.catalog.entries import Link
from nsysparse.catalog.loader import find_link
from nsysparse.errors import UsageError
from nsysparse.units import GB, transfer_ns

BOTH_WAYS = "bidirectional"
# What a link can be: slower is no link, faster is no link yet, and both ends would overflow times in nanoseconds.
LEAST_GB_S, MOST_GB_S = 0.001, 1_000_000

# How the catalogue calls what headers leave: bytes per second, or the share of the line rate.
_PAYLOAD, _SHARE = "_payload_bytes_per_s", "_eff_"

_BASES = {
    "measured": "as measured by others",
    "framing": "packet headers only, not measured",
    "rated": "as rated by the maker",
}


@dataclass(frozen=True, slots=True)
class Peak:
    """The reference lines of a link, in bytes per second (1 GB = 1e9), each with its source.

    `link_id` is the name that was asked for (`nvlink4-h100@bidirectional` keeps its suffix), None for a bare figure.
    `bytes_per_s` is the line rate; `practical_bytes_per_s` what large transfers reach, None when nothing is known,
    `practical_curve` what messages of each size (bytes) reach where a benchmark showed it, by size.
    """

    link_id: str | None
    name: str
    bytes_per_s: float
    source: str
    practical_bytes_per_s: float | None
    practical_source: str | None
    practical_curve: tuple[tuple[int, float], ...] = ()

    @property
    def catalogue_id(self) -> str | None:
        """The link's id in the catalogue."""
        return None if self.link_id is None else self.link_id.partition("@")[0]

    @property
    def adds_both_ways(self) -> bool:
        """Whether the rate is a vendor's total of both directions."""
        return self.link_id is not None and self.link_id.endswith(f"@{BOTH_WAYS}")

    @property
    def gb_s(self) -> float:
        """The line rate in GB/s."""
        return self.bytes_per_s / GB

    @property
    def practical_gb_s(self) -> float | None:
        """The practical ceiling in GB/s, None when nothing is known."""
        return None if self.practical_bytes_per_s is None else self.practical_bytes_per_s / GB


def resolve(link: str | None, peak_gb_s: float | None) -> Peak | None:
    """The peak that options `--link` and `--peak` ask for; None when neither is given.

    Args:
        link: A link's id, or `ID@bidirectional` for the vendor's total of both directions, or `ID@PACKETS` for what the
            headers of such packets leave, as its practical ceiling.
        peak_gb_s: The user's own figure in GB/s; it wins over the catalogue, which then only names the link.

    Raises:
        UsageError: No such link, a total that the catalogue does not have, a peak that is not a positive number, or
            a total together with a peak.
    """
    if peak_gb_s is not None and not (isfinite(peak_gb_s) and LEAST_GB_S <= peak_gb_s <= MOST_GB_S):
        raise UsageError(
            f"--peak {peak_gb_s} is no rate of a link.",
            f"Give GB/s of one direction, from {LEAST_GB_S} to {MOST_GB_S:,}: --peak 50",
        )
    if link is None:
        return None if peak_gb_s is None else _given(peak_gb_s, None, "a link without a name")
    link_id, at, variant = link.partition("@")
    found = find_link(link_id)
    known = packets(found)
    if at and variant != BOTH_WAYS and variant not in known:
        sizes = f", or one of @{', @'.join(known)} for what the headers of such packets leave" if known else ""
        raise UsageError(
            f"--link {link}: {variant!r} is no variant of {link_id}.",
            f"Write {link_id} for one direction or {link_id}@{BOTH_WAYS} for the total that vendors print{sizes}.",
        )
    if peak_gb_s is not None:
        if at:
            raise UsageError(
                f"--link {link} asks for a figure of the catalogue and --peak {peak_gb_s} for another one.",
                f"Leave out one of them: --link {link_id} --peak {peak_gb_s}",
            )
        return _given(peak_gb_s, found.id, f"{found.name}, peak as given")
    if at and variant != BOTH_WAYS:
        return _in_packets(found, variant, known[variant])
    return _both_ways(found) if at else _one_way(found)


def packets(link: Link) -> dict[str, float]:
    """Bytes per second of payload that the headers of packets leave, by how `--link ID@…` calls them."""
    found = {}
    for name, value in link.details:
        if isinstance(value, str):
            continue
        if name.endswith(_PAYLOAD):
            found[name.removesuffix(_PAYLOAD)] = float(value)
        elif _SHARE in name:
            kind, _, size = name.partition(_SHARE)
            found[size if kind == "payload" else f"{kind}-{size}"] = value * link.one_way_peak_bytes_per_s
    return found


def _in_packets(link: Link, variant: str, payload: float) -> Peak:
    share = f"{payload / link.one_way_peak_bytes_per_s:.1%} of the line rate"
    return replace(
        _one_way(link),
        link_id=f"{link.id}@{variant}",
        name=f"{link.name}, packets {variant}",
        practical_bytes_per_s=payload,
        practical_source=f"catalogue: {share}, what headers of packets {variant} leave, not measured",
    )


def _given(peak_gb_s: float, link_id: str | None, name: str) -> Peak:
    # The decimal that the user typed, not its nearest binary fraction, times 1e9.
    return Peak(link_id, name, float(Fraction(str(peak_gb_s)) * GB), "option --peak", None, None)


def _one_way(link: Link) -> Peak:
    practical, practical_source = None, None
    if link.typical_fraction is not None and link.typical_basis is not None:
        low, high = link.typical_fraction
        practical = high * link.one_way_peak_bytes_per_s
        typical = f"{low:.0%} to {high:.0%}" if low < high else f"{high:.0%}"
        practical_source = (
            f"catalogue: {high:.0%} of the line rate, upper end of the typical {typical}, {_BASES[link.typical_basis]}"
        )
    return Peak(
        link_id=link.id,
        name=link.name,
        bytes_per_s=float(link.one_way_peak_bytes_per_s),
        source=f"catalogue: {link.id}, one direction ({link.source})",
        practical_bytes_per_s=practical,
        practical_source=practical_source,
    )


def _both_ways(link: Link) -> Peak:
    total = link.marketing_bidirectional_bytes_per_s
    if total is None:
        raise UsageError(
            f"The catalogue has no total of both directions for {link.id}: this kind of link is quoted one way.",
            f"Use --link {link.id}.",
        )
    # No practical ceiling: typical fractions are shares of one direction.
    return Peak(
        link_id=f"{link.id}@{BOTH_WAYS}",
        name=f"{link.name}, both directions added up",
        bytes_per_s=float(total),
        source=f"catalogue: {link.id}, vendor's total of both directions ({link.source})",
        practical_bytes_per_s=None,
        practical_source=None,
    )


def line_rate_ns(nbytes: int, peak: Peak) -> int:
    """Nanoseconds that `nbytes` bytes take at the line rate."""
    return transfer_ns(nbytes, peak.bytes_per_s)


def practical_ns(nbytes: int, peak: Peak) -> int | None:
    """Nanoseconds that `nbytes` bytes take at the practical ceiling; None when that is unknown."""
    return None if peak.practical_bytes_per_s is None else transfer_ns(nbytes, peak.practical_bytes_per_s)
