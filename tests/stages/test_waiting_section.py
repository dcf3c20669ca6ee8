"""Totals as the report tells them: wire against waiting, exposed against hidden, kernels that met."""

from dataclasses import replace

import factories

from nsysparse.analysis import Analysis, Reason
from nsysparse.document import Fact, Facts, Paragraph
from nsysparse.sections import SECTIONS
from nsysparse.sections.transports import unseen_waiting, wire_interval
from nsysparse.transports import TRANSPORTS


def split(**changes: object) -> Analysis:
    """Of 400 us 300 are wire and 100 waiting; `changes` are of the totals."""
    whole = factories.small()
    return replace(whole, totals=replace(whole.totals, **changes))


def facts(analysis: Analysis) -> dict[str, Fact]:
    (found,) = [block for block in SECTIONS["totals"](analysis) if isinstance(block, Facts)]
    return {fact.label: fact for fact in found.items}


def said(analysis: Analysis) -> str:
    return " ".join(block.text for block in SECTIONS["totals"](analysis) if isinstance(block, Paragraph))


def test_wire_and_waiting_are_shares_of_the_transfer_time() -> None:
    told = facts(split())
    assert (told["Wire"].value, told["Wire"].note) == ("300.0 µs", "75.0 % of transfer time")
    assert (told["Peer wait"].value, told["Peer wait"].note) == ("100.0 µs", "25.0 % of transfer time")
    assert said(split()) == ""


def test_what_the_split_leaves_out_is_said() -> None:
    partly = split(wire_ns=150_000, peer_wait_ns=50_000, wire_known_share=0.5)
    assert facts(partly)["Wire"].note == "37.5 % of transfer time"
    assert said(partly) == (
        "“Wire” and “Peer wait” leave out 50.0 % of the transfer time: nothing tells them apart there."
    )


def test_exposed_and_hidden_add_up_or_what_they_leave_out_is_said() -> None:
    whole = split(exposed_wire_ns=60_000, exposed_wait_ns=40_000, exposed_ns=100_000, overlapped_ns=300_000)
    assert facts(whole)["Exposed"].value == "100.0 µs"
    assert facts(whole)["Exposed"].note == "25.0 % of transfer time; 60.0 µs on the wire, 40.0 µs waiting"
    assert facts(whole)["Behind compute"].note == "75.0 % of transfer time"
    assert said(whole) == ""
    partly = split(exposed_wire_ns=60_000, exposed_wait_ns=30_000, exposed_ns=100_000, overlapped_ns=200_000,
                   exposure_known_share=0.75)  # fmt: skip
    assert facts(partly)["Exposed"].note.endswith("; 60.0 µs on the wire, 30.0 µs waiting, 10.0 µs not told apart")
    assert "“Behind compute” leave out 25.0 % of the transfer time" in said(partly)


def test_exposure_that_is_unknown_says_why() -> None:
    why = (Reason("/totals/overlapped_ns", "not-recorded", "no kernels of this device", ""),)
    unknown = facts(replace(split(), reasons=why))["Exposed"]
    assert (unknown.value, unknown.note, unknown.tone) == ("unknown", "no kernels of this device", "muted")
    assert "Behind compute" not in facts(replace(split(), reasons=why))
    hidden = facts(replace(split(overlapped_ns=80_000), reasons=()))
    assert (hidden["Exposed"].value, hidden["Behind compute"].value) == ("unknown", "80.0 µs")


def test_kernels_that_met_say_how_long_one_of_them_was_alone() -> None:
    met = split(exchange_count=3, longer_kernel_ns=1_000_000, shorter_kernel_ns=300_000, both_present_ns=250_000)
    assert said(met) == (
        "3 pairs of kernels met: the longer ones ran 1.00 ms, the shorter ones 300.0 µs, both at once 250.0 µs. For"
        " 75.0 % of the longer kernels' time (750.0 µs) the other side was not there: that is waiting for it, or"
        " buffering, of both sides' kernels, where “Peer wait” counts one side of each movement."
    )
    assert "kernels met" not in said(split(exchange_count=0, longer_kernel_ns=0, shorter_kernel_ns=0))
    assert "kernels met" not in said(split(exchange_count=None, longer_kernel_ns=None))


def test_transports_whose_intervals_do_not_show_waiting_are_named() -> None:
    mixed = replace(split(), links=tuple(factories.link(transport=name) for name in ("nccl", "ucx", "memcpy", "nixl")))
    assert unseen_waiting(mixed.links) == ["nixl", "ucx"]
    assert "Time of nixl and ucx counts whole as wire" in said(mixed)
    assert facts(mixed)["Peer wait"].note.endswith("as far as it can be seen")
    timeless = replace(split(), links=(factories.link(transport="nixl", busy_ns=None),))
    assert "counts whole as wire" not in said(timeless)
    some = replace(mixed, totals=replace(mixed.totals, wire_known_share=1.0, wait_known_share=0.25))
    assert "Time of nixl and ucx (75.0 % of the transfer time) counts whole as wire" in said(some)


def test_movements_without_kernels_are_not_said_to_be_in_some() -> None:
    assert facts(split(kernel_count=0))["Movements"].note == "2 transfers"


def test_the_words_know_every_transport() -> None:
    assert {each.NAME: wire_interval(each.NAME) for each in TRANSPORTS} == {
        "nccl": "while both sides were there",
        "memcpy": "the copies themselves",
        "host-staged": "the copies of each range, from the first to the last",
        "annotated": "the annotated ranges, waiting unseen",
        "nixl": "from post to completion, waiting unseen",
        "ucx": "from post to completion, waiting unseen",
        "trtllm-bounce": "from post to completion, waiting unseen",
    }
