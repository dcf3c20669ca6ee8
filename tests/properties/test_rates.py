"""No rate that is reported exceeds what the wire carries, whoever waits and whatever is buffered or cut off."""

import random
from collections import Counter
from pathlib import Path

import pytest
import simulated_wire

from nsysparse.analysis import Link
from nsysparse.api import analyse

SEEDS, PARTS = 200, 10


def rates(link: Link) -> dict[str, float]:
    """The greatest of each kind, GB/s."""
    found = {
        "headline": link.headline_gb_s,
        "delivered": link.delivered_gb_s,
        "fitted": link.fitted_gb_s,
        "link": link.link_gb_s,
        "wire": link.wire_gb_s.max if link.wire_gb_s else None,
        "kernel": link.kernel_gb_s.max if link.kernel_gb_s else None,
    }
    return {name: rate for name, rate in found.items() if rate is not None}


@pytest.mark.parametrize("part", range(PARTS))
def test_no_rate_is_above_that_of_the_wire(part: int, tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for seed in range(part, SEEDS, PARTS):
        rng = random.Random(seed)  # noqa: S311 (a test's own dice)
        wire = simulated_wire.simulate(rng)
        paths = simulated_wire.write(rng, wire, simulated_wire.recording(rng, wire), tmp_path)
        analysis = analyse(paths)
        burst = analysis.summary["delivered_gb_s"]
        for link in analysis.links:
            told = rates(link) | ({"burst": burst.max} if burst and burst.max else {})
            too_fast = {name: rate / wire.gb_s for name, rate in told.items() if rate > wire.gb_s * (1 + 1e-9)}
            assert not too_fast, (seed, link.link_key, link.headline_basis)
            seen.update(told)
            seen["near"] += told.get("headline", 0) > wire.gb_s / 2
    # A bound that is never given, or far below the truth, would hold as well.
    assert all(seen[name] > 0 for name in ("headline", "delivered", "wire", "kernel", "near")), seen
