"""Which of the nccl-tests was run. Before version 2.20 the output does not say, and a collective is no ceiling.

A collective's bus bandwidth is a figure of the whole group; with reduction inside the switch it may even exceed the
links (https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nsysparse.measured.text import RefusedError

SENDRECV = "sendrecv_perf"
_RUN = f"Run {SENDRECV} -b 1M -e 1G -f 2 -g 2 and give its output."
_PAIR = 2


@dataclass(frozen=True, slots=True)
class Evidence:
    """One row: a size, its bandwidths in GB/s, and whether the values that arrived were checked, out of and in place.

    `reduces` tells whether the table has a column for a reduction, `root` what stands in that for a root.
    """

    line: int | None
    size: int
    algorithm: float | None
    bus: float | None
    wrong: bool
    checked: bool
    checked_in_place: bool
    reduces: bool
    root: str | None


def refuse_other(programs: Iterable[str], found: Sequence[Evidence], ranks: int | None) -> None:
    """Nothing for `sendrecv_perf`; RefusedError for another test, for several, and where it cannot be told.

    Args:
        programs: The tests that the file names.
        found: All rows.
        ranks: How many ranks took part; None if unknown.
    """
    named = sorted(set(programs))
    others = [each for each in named if each != SENDRECV]
    if len(named) > 1:
        raise RefusedError(f"Several tests are in one file ({', '.join(named[:4])}).", f"Keep that of {SENDRECV}.")
    if others:
        raise RefusedError(f"{others[0]} runs a collective; its bus bandwidth is no ceiling of a transfer.", _RUN)
    if ranks == 1:
        raise RefusedError("One rank only: it copied to itself, over no link.", "Run two ranks: -g 2, or mpirun -np 2.")
    if named or not found:
        return
    differing = next((each for each in found if not _equal(each)), None)
    if differing is not None:
        raise RefusedError(
            "Bus and algorithm bandwidth differ: a collective, whose bus bandwidth is no ceiling of a transfer.",
            _RUN,
            differing.line,
        )
    # Only tests that have no in-place variant leave its values unchecked; sendrecv alone has equal bandwidths then.
    unchecked_in_place = all(not each.checked_in_place for each in found) and any(each.checked for each in found)
    # With three ranks or more only tests with a root have equal bandwidths beside sendrecv.
    no_root = all(each.root == "-1" for each in found) and (ranks or 0) > _PAIR
    if not (unchecked_in_place or no_root or not any(each.reduces for each in found)):
        raise RefusedError(
            "The file does not say which test was run; between two ranks an all-reduce prints the same table.",
            f"If it was {SENDRECV}, write its command line above the output.",
            found[0].line,
        )


def _equal(evidence: Evidence) -> bool:
    """Whether both bandwidths are the same, up to the two decimals that are printed."""
    if evidence.algorithm is None or evidence.bus is None:
        return True
    return abs(evidence.algorithm - evidence.bus) <= 0.011 + 1e-3 * evidence.algorithm
