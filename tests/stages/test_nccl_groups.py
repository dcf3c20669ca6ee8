"""Which range launches a call: itself, or the end of its outermost group."""

import numpy as np
import pytest

from nsysparse.transports.nccl_groups import CALL, GROUP_END, GROUP_START, launching_range

KINDS = {"c": CALL, "C": CALL, "(": GROUP_START, ")": GROUP_END, "]": GROUP_END}


def owners(pattern: str) -> list[int]:
    """One range of 10 ns per character, 20 ns apart; inside `C` and `]` a kernel was launched, at `*` outside ranges.

    Positions are those in the pattern without stars.
    """
    at = np.arange(len(pattern), dtype=np.int64) * 20
    star = np.array([letter == "*" for letter in pattern], dtype=bool)
    letters = pattern.replace("*", "")
    kinds = np.array([KINDS[letter] for letter in letters], dtype=np.int8)
    starts = at[~star]
    launched = np.array([letter in "C]" for letter in letters], dtype=bool)
    return launching_range(kinds, starts, starts + 10, launched, at[star]).tolist()


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
        # A call that launches for itself proves that a group before it lost its end.
        ("(cCCc", [-1, -1, 2, 3, 4]),
        ("(c(cC(c)C", [-1, -1, -1, -1, 4, -1, 7, -1, 8]),
        ("(cC)c)", [-1, -1, 2, -1, 4, -1]),
        ("c)C", [1, -1, 2]),
        # An end that launches closes the outermost group: one further out had lost its end.
        ("(c]c", [-1, 2, -1, 3]),
        ("(c(c)c]", [-1, 6, -1, 6, -1, 6, -1]),
        ("(c(c](c]", [-1, -1, -1, 4, -1, -1, 7, -1]),
        ("c](c]", [1, -1, -1, 4, -1]),
        # So had a group within which NCCL launched outside all ranges.
        ("(c*(c]", [-1, -1, -1, 4, -1]),
        ("(c*c]", [-1, -1, 2, -1]),
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
    assert launching_range(kinds, starts, ends, np.zeros(8, dtype=bool)).tolist() == [0, -1, -1, -1, 7, -1, -1, -1]


@pytest.mark.parametrize("length", [0, 1])
def test_marks_in_the_same_nanosecond_as_the_call_are_still_marks(length: int) -> None:
    # GroupStart at the start of the Send, GroupEnd at its end.
    kinds = np.array([CALL, GROUP_START, GROUP_END], dtype=np.int8)
    starts = np.array([100, 100, 110], dtype=np.int64)
    ends = np.array([110, 100 + length, 110 + length], dtype=np.int64)
    order = np.lexsort((-ends, starts))
    got = launching_range(kinds[order], starts[order], ends[order], np.zeros(3, dtype=bool))
    call, end = (int(np.flatnonzero(kinds[order] == kind)[0]) for kind in (CALL, GROUP_END))
    assert got[call] == end
