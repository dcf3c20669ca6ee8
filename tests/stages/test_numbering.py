"""Values have one number each, however batches bring them and whoever asks at the same time."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from nsysparse.source.numbering import Numbering


def test_numbers_stay_with_their_values() -> None:
    rng = np.random.default_rng(7)
    numbering, told = Numbering(), {}
    for size in (5, 1, 4000, 0, 30, 2500, 9000):
        values = rng.integers(-(2**63), 2**63 - 1, size=size) if size > 100 else rng.integers(-9, 9, size=size)
        for value, number in zip(values.tolist(), numbering.of(values).tolist(), strict=True):
            assert told.setdefault(value, number) == number
    assert sorted(told.values()) == list(range(len(told)))
    assert numbering.values.tolist() == [value for value, _ in sorted(told.items(), key=lambda item: item[1])]


def test_threads_agree_on_numbers() -> None:
    numbering = Numbering()
    batches = [np.arange(first, first + 3000) % 5000 for first in range(0, 40_000, 1000)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(numbering.of, batches))
    known = numbering.values
    assert sorted(known.tolist()) == list(range(5000))
    assert all((known[numbers] == values).all() for values, numbers in zip(batches, answers, strict=True))
