"""Events that several ranks saw: the first or the last, on a clock that they share."""

import polars as pl
import pytest
from engine_scenes import Aligned

from nsysparse.events import EVENT, agreed


def seen(event: str, **at: int) -> pl.DataFrame:
    rows = [("r", event, trace, when) for trace, when in at.items()]
    return pl.DataFrame(rows, schema=EVENT, orient="row")


@pytest.mark.parametrize(("event", "trace", "at"), [("prefill_start", "b", 90), ("prefill_end", "a", 100)])
def test_starts_are_of_the_first_rank_and_ends_of_the_last(event: str, trace: str, at: int) -> None:
    """What b has at 90 is at 95 for a."""
    told, apart = agreed(seen(event, a=100, b=90), Aligned({"a": 5, "b": 0}, doubt=7))
    assert told.select("trace_id", "at_ns").rows() == [(trace, at)]
    # The other may be up to 2 further out: it is 5 behind, and the clocks may be off by 7.
    assert told["doubt_ns"].to_list() == [2]
    assert apart.is_empty()


def test_ranks_that_are_not_aligned_leave_an_event_out() -> None:
    told, apart = agreed(seen("prefill_end", a=100, b=90), Aligned({"a": 0}))
    assert told.is_empty()
    assert apart.rows() == [("r", "prefill_end")]


@pytest.mark.parametrize("alone", ["a", "b", "c"])
def test_an_arrival_is_what_files_tell_that_can_be_aligned_with_most(alone: str) -> None:
    """Whichever file stands alone, and whatever it is called: the other two decide."""
    ahead = dict.fromkeys({"a", "b", "c"} - {alone}, 0)
    told, apart = agreed(
        seen("arrival", a=500, b=100, c=90)
        if alone == "a"
        else seen("arrival", **{**dict.fromkeys(ahead, 100), max(ahead): 90, alone: 5}),
        Aligned(ahead),
    )
    assert told["at_ns"].to_list() == [90]
    assert apart.is_empty()
