"""Which range launches a call: itself, or the end of its outermost group."""

import numpy as np
import pytest

from nsysparse.transports.nccl_groups import CALL, GROUP_END, GROUP_START, launching_range

KINDS = {"c": CALL, "(": GROUP_START, ")": GROUP_END}


def owners(pattern: str) -> list[int]:
    """One range of 10 ns per character, 20 ns apart."""
    kinds = np.array([KINDS[letter] for letter in pattern], dtype=np.int8)
    starts = np.arange(len(pattern), dtype=np.int64) * 20
    return launching_range(kinds, starts, starts + 10).tolist()


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("c", [0]),
        ("(cc)", [-1, 3, 3, -1]),
        ("()", [-1, -1]),
        ("c(c)c", [0, -1, 3, -1, 4]),
        ("(c(c)c)", [-1, 6, -1, 6, -1, 6, -1]),
        ("(())c", [-1, -1, -1, -1, 4]),
        ("(c", [-1, -1]),
        ("(c)(c", [-1, 2, -1, -1, -1]),
        ("c)c", [1, -1, 2]),
        ("c)c)(c)", [3, -1, 3, -1, -1, 6, -1]),
        ("(c))c", [-1, 2, -1, -1, 4]),
        ("(c))(c)", [-1, 2, -1, -1, -1, 6, -1]),
        ("", []),
    ],
)
def test_owner(pattern: str, expected: list[int]) -> None:
    assert owners(pattern) == expected


def test_group_ranges_inside_a_call_are_no_groups() -> None:
    # ncclSend [0, 100) with GroupStart and GroupEnd inside, as NCCL up to 2.23 writes it; then a real group.
    kinds = np.array(
        [CALL, GROUP_START, GROUP_END, GROUP_START, CALL, GROUP_START, GROUP_END, GROUP_END], dtype=np.int8
    )
    starts = np.array([0, 10, 30, 200, 220, 225, 235, 300], dtype=np.int64)
    ends = np.array([100, 20, 40, 210, 280, 230, 240, 310], dtype=np.int64)
    assert launching_range(kinds, starts, ends).tolist() == [0, -1, -1, -1, 7, -1, -1, -1]
