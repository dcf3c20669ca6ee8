"""Request ids that engines spell differently become one, and what that hides is counted."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from nsysparse.api import Options, Study, study_traces
from nsysparse.errors import UsageError
from nsysparse.request_ids import HINT_SUFFIX, check_pattern, collisions, normalise_texts, normalised
from nsysparse.testing import TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"
ID = "cmpl-7f1a2b3c4d5e6f708192a3b4c5d6e7f8-0"


def test_the_first_group_is_what_counts_and_other_ids_stay() -> None:
    ids = pl.Series("request", [f"{ID}-0123abcd", ID, "x", None])
    assert normalised(ids, HINT_SUFFIX).to_list() == [ID, ID, "x", None]


def test_lists_are_normalised_one_by_one() -> None:
    texts = pl.Series("request", ["a-00000000,b%20c-11111111", None, "d"])
    assert normalise_texts(texts, HINT_SUFFIX).to_list() == ["a,b%20c", None, "d"]


def test_ids_of_one_process_that_become_one_are_counted() -> None:
    ids = pl.DataFrame({"process": [1, 1, 1, 2], "request": ["a-00000000", "a-11111111", "b", "a-22222222"]})
    assert collisions(ids, HINT_SUFFIX) == 1
    assert collisions(ids.clear(), HINT_SUFFIX) == 0


def test_ids_in_lists_collide_like_others() -> None:
    lists = ["x-aaaaaaaa", "x-bbbbbbbb,y-cccccccc", "z%2D1-00000000", "z-1-11111111"]
    assert collisions(pl.DataFrame({"process": [1] * 4, "request": lists}), HINT_SUFFIX) == 2


@pytest.mark.parametrize("pattern", ["no group", "(?=look)(x)", r"(x)\1", "("])
def test_patterns_that_are_not_linear_or_have_no_group_are_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="--normalize-request"):
        check_pattern(pattern)


def two_engines(folder: Path, first: str, second: str, **options: object) -> Study:
    paths = []
    for pid, (name, request) in enumerate((("ncclSend", first), ("ncclRecv", second)), 1):
        builder = TraceBuilder(schema="3.25", gpus={0: "x"})
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        thread.push_pop(f"kv_transfer request={request} layer=0", 90, 120)
        thread.nccl(name, 100, 110, communicator=5, nbytes=1000, peer=2 - pid)
        process.kernel(SEND_RECV, 1000, 1000 + 50 * pid, launch=thread.launch(102, 104))
        paths.append(builder.write(folder / f"t{pid}.sqlite"))
    return study_traces(paths, Options(**options))  # type: ignore[arg-type]


def test_engines_that_append_different_suffixes_are_one_request_when_told_so(tmp_path: Path) -> None:
    first, second = f"{ID}-0123abcd", f"{ID}-89abcdef"
    apart = two_engines(tmp_path, first, second)
    assert apart.anomalies["sides-disagree-on-request"] == 1
    study = two_engines(tmp_path, first, second, normalize_request=HINT_SUFFIX)
    assert study.transfers["request_id"].to_list() == [ID, ID]
    assert study.anomalies["sides-disagree-on-request"] == 0


def test_ids_that_differ_by_a_suffix_are_pointed_out() -> None:
    from nsysparse.request_ids import differ_by_suffix

    anomalies: Counter[str] = Counter()
    differ_by_suffix([{f"{ID}-0123abcd", "same"}, {f"{ID}-89abcdef", "same"}], anomalies)
    assert anomalies == {"request-ids-differ-by-suffix": 1}
    anomalies.clear()
    differ_by_suffix([{"a", "b"}, {"a", "c"}], anomalies)
    assert not anomalies
    # What the suffix tells apart within a trace is no other spelling of one id.
    differ_by_suffix([{"req-11111111", "req-22222222"}, {"req-33333333", "req-44444444"}], anomalies)
    assert not anomalies
