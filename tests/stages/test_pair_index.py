"""Pairs of a process and an id have one number each, however their ids are spread."""

import numpy as np
import pytest

from nsysparse.source.pair_index import index_pairs

LARGEST = 2**63 - 1


@pytest.mark.parametrize("seed", range(20))
def test_every_known_pair_has_a_number_of_its_own(seed: int) -> None:
    rng = np.random.default_rng(seed)
    processes = rng.choice([-(2**40), 0, 7, LARGEST], size=400)
    far = rng.random(400) < rng.choice([0.0, 0.01, 0.5])
    ids = np.where(far, rng.integers(-LARGEST, LARGEST, size=400), rng.integers(-20, 90, size=400))
    index = index_pairs(processes, ids)
    known = sorted(set(zip(processes.tolist(), ids.tolist(), strict=True)))
    assert index.size == len(known)
    asked = [*known, *((process + 1, at) for process, at in known if process < LARGEST), (5, 5)]
    found = index.find(np.array([pair[0] for pair in asked]), np.array([pair[1] for pair in asked]))
    assert sorted(found[: len(known)].tolist()) == list(range(len(known)))
    numbers = dict(zip(known, found.tolist(), strict=False))
    assert found.tolist() == [numbers.get(pair, -1) for pair in asked]


def test_many_processes_are_told_apart() -> None:
    processes = np.arange(200)
    index = index_pairs(processes, processes % 3)
    assert index.find(processes, processes % 3).tolist() == list(range(200))
    assert index.find(processes, processes % 3 + 1).tolist() == [-1] * 200


def test_of_nothing_there_is_nothing() -> None:
    none = np.zeros(0, dtype=np.int64)
    index = index_pairs(none, none)
    assert index.size == 0
    assert index.find(none, none).tolist() == []
    assert index.find(np.array([1, 1]), np.array([2, 3])).tolist() == [-1, -1]
