"""Which file, link and request of one run is which of the other, whatever the runs call them."""

from collections.abc import Sequence
from dataclasses import replace

import factories
import pytest

from nsysparse.analysis import Analysis, Link
from nsysparse.compare.matching import Ends, links_of, match_links, match_requests, match_traces


def run(*traces: tuple[str, str | None], links: Sequence[Link] = ()) -> Analysis:
    facts = tuple(factories.trace(name, role) for name, role in traces)
    return replace(factories.unknown(), traces=facts, links=tuple(links))


def link(src: str, dst: str, transport: str = "nccl") -> Link:
    return factories.link(link_key=f"{src}->{dst}", src=src, dst=dst, transport=transport)


def test_a_single_trace_is_the_other_single_trace() -> None:
    found = match_traces(run(("monday", None)), run(("tuesday", None)))
    assert (dict(found.names), found.how) == ({"monday": "tuesday"}, "only")


def test_traces_of_the_same_names_are_the_same_whatever_their_order() -> None:
    found = match_traces(run(("a", "prefill"), ("b", "decode")), run(("b", "decode"), ("a", "prefill")))
    assert (dict(found.names), found.how) == ({"a": "a", "b": "b"}, "name")


def test_traces_of_other_names_are_matched_by_role_in_the_order_of_names() -> None:
    base = run(("x2", "prefill"), ("x1", "prefill"), ("y", "decode"))
    candidate = run(("q", "decode"), ("p1", "prefill"), ("p2", "prefill"))
    found = match_traces(base, candidate)
    assert (dict(found.names), found.how) == ({"x1": "p1", "x2": "p2", "y": "q"}, "role")


@pytest.mark.parametrize(
    "candidate",
    [run(("p", "prefill"), ("q", "prefill")), run(("p", None), ("q", None)), run(("p", "prefill"))],
    ids=["other roles", "no roles", "fewer"],
)
def test_traces_that_nothing_tells_apart_are_not_matched(candidate: Analysis) -> None:
    found = match_traces(run(("a", "prefill"), ("b", "decode")), candidate)
    assert (dict(found.names), found.how) == ({}, "nothing")


def test_links_of_single_traces_match_by_their_devices_and_direction() -> None:
    base = links_of(run(("one", None), links=[link("one:gpu0", "one:gpu1"), link("one:gpu1", "one:gpu0")]), {"one": ""})
    other = links_of(run(("two", None), links=[link("two:gpu1", "two:gpu0")]), {"two": ""})
    found = match_links(base, other)
    assert list(found.pairs) == [Ends("gpu1", "gpu0", "nccl")]
    assert list(found.only_base) == [Ends("gpu0", "gpu1", "nccl")]
    assert (dict(found.only_candidate), found.moved) == ({}, ())


def test_a_trace_whose_name_begins_like_another_keeps_its_links() -> None:
    """Ids may contain a colon: the longest that fits is the trace."""
    every = run(("a", None), ("a:gpu0", None), links=[link("a:gpu0:gpu1", "a:gpu1")])
    assert list(links_of(every, {"a": "A", "a:gpu0": "B"})) == [Ends("B:gpu1", "A:gpu1", "nccl")]


def test_the_one_communicator_of_a_run_has_no_name_of_its_own() -> None:
    base = links_of(run(("t", None), links=[link("t:gpu0", "9185731236401847271:3")]), {"t": ""})
    other = links_of(run(("t", None), links=[link("t:gpu0", "5:3")]), {"t": ""})
    assert list(match_links(base, other).pairs) == [Ends("gpu0", "communicator:3", "nccl")]
    two = links_of(run(("t", None), links=[link("t:gpu0", "5:3"), link("t:gpu0", "6:3")]), {"t": ""})
    assert {ends.dst for ends in two} == {"5:3", "6:3"}


def test_another_transport_or_other_devices_match_where_there_is_only_one() -> None:
    before = {Ends("gpu0", "gpu1", "nccl"): link("gpu0", "gpu1")}
    for after, what in (
        (Ends("gpu0", "gpu1", "nixl"), "another transport"),
        (Ends("gpu2", "gpu3", "nccl"), "other devices"),
    ):
        found = match_links(before, {after: link(after.src, after.dst, after.transport)})
        assert list(found.pairs) == [after]
        assert [each[2] for each in found.moved] == [what]
    several = {Ends("gpu2", f"gpu{n}", "nccl"): link("gpu2", f"gpu{n}") for n in (3, 4)}
    found = match_links(before, several)
    assert (dict(found.pairs), len(found.only_base), len(found.only_candidate)) == ({}, 1, 2)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("unknown", "unknown"), ("gpu0", "gpu1")),
        (("gpu0", "unknown"), ("unknown", "gpu0")),
        (("gpu0", "host"), ("host", "gpu0")),
        (("gpu0", "host"), ("gpu0", "gpu1")),
    ],
)
def test_what_is_no_device_is_not_a_renumbered_one(before: tuple[str, str], after: tuple[str, str]) -> None:
    ours, theirs = (Ends(*pair, "nccl") for pair in (before, after))
    found = match_links({ours: link(*before)}, {theirs: link(*after)})
    assert (dict(found.pairs), list(found.only_base), list(found.only_candidate)) == ({}, [ours], [theirs])
    renumbered = Ends("gpu4", "unknown", "nccl")
    found = match_links(
        {Ends("gpu0", "unknown", "nccl"): link("gpu0", "unknown")}, {renumbered: link("gpu4", "unknown")}
    )
    assert list(found.pairs) == [renumbered]


def asked(tokens: dict[str, int | None], *, has_classes: bool = True) -> Analysis:
    requests = tuple(factories.request(name, prompt_tokens=count) for name, count in tokens.items())
    return replace(factories.unknown(), requests=requests, prompts=factories.rich().prompts if has_classes else None)


def test_requests_match_by_id_where_most_ids_are_in_both() -> None:
    found = match_requests([asked({"a": 1, "b": 2, "c": 3})], asked({"a": 1, "b": 2, "d": 9}))
    assert (found.by, found.ids) == ("id", ("a", "b"))


def test_ids_that_mean_other_prompts_are_no_ids() -> None:
    found = match_requests([asked({"a": 1, "b": 2})], asked({"a": 1, "b": 3}))
    assert (found.by, found.ids) == ("prompt-length", ())
    assert found.note.startswith("the same ids have other prompts")


def test_a_prompt_that_one_run_does_not_know_contradicts_nothing() -> None:
    assert match_requests([asked({"a": None, "b": 2})], asked({"a": 1, "b": 2})).by == "id"


def test_every_base_run_must_know_the_ids() -> None:
    known, other = asked({"a": 1, "b": 2}), asked({"x": 1, "y": 2})
    assert match_requests([known, other], known).by == "prompt-length"


def test_without_ids_and_lengths_nothing_is_matched() -> None:
    found = match_requests([asked({"a": 1}, has_classes=False)], asked({"b": 1}))
    assert found.by == "none"
    assert match_requests([asked({})], asked({})).note == "no run has requests"
