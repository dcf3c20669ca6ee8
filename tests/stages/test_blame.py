"""Findings about the gap and what else costs time: who is to blame, how much it is, what is told first."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.analysis import Clock, DecodeDevice, Finding, PrefillDevice, Reason, Request, Totals, WhatIf
from nsysparse.api import analyse
from nsysparse.frames import Shares, Transfers
from nsysparse.metrics.cases import Case
from nsysparse.metrics.findings import Grounds, findings
from nsysparse.metrics.findings.ranking import MOST, worst_first
from nsysparse.metrics.gap_reasons import with_gap_reason
from nsysparse.metrics.measured import select
from nsysparse.metrics.whatif import whatif
from tests import factories

MS = 1_000_000
NOTHING = select(Transfers.create_empty(), Shares.create_empty())


def told(
    *cases: Case,
    requests: tuple[Request, ...] = (),
    ideas: tuple[WhatIf, ...] = (),
    totals: Totals | None = None,
    decode: tuple[DecodeDevice, ...] | None = None,
    prefill: tuple[PrefillDevice, ...] | None = None,
    clocks: tuple[Clock, ...] = (),
) -> dict[str, Finding]:
    sums = totals or factories.unknown().totals
    found = findings(Grounds(requests, cases, ideas, NOTHING, sums, None, None, clocks), decode, prefill)
    return {each.id: each for each in found}


def case(name: str, wire: int = 0, wait: int = 0, pause: int = 0, handoff: int = 0, ready: int = 0) -> Case:
    """A request whose way takes a second; parts in ms."""
    parts = [part * MS for part in (wire, wait, pause, handoff, ready)]
    return Case(name, sum(parts), *parts, path_ns=1_000 * MS)


def test_nothing_is_wrong() -> None:
    assert told() == {}
    assert told(case("a", wire=9, ready=9), case("b", ready=8)) == {}  # less than a hundredth of the way
    fast = replace(factories.unknown().totals, time_ns=100 * MS, first_use_ns=MS // 2, first_use_count=1)
    calm = decode_device(idle_while_pending_ns=5 * MS, slowdown_ratio=1.05)
    assert told(totals=fast, decode=(calm,), prefill=(prefill_device(9 * MS),)) == {}


@pytest.mark.parametrize(
    ("part", "blamed", "kind"),
    [
        ("wire", "link", "wire"),
        ("wait", "wait", "wait"),
        ("pause", "fragmentation", "wire"),
        ("handoff", "handoff", "handoff"),
        ("ready", "scheduler", "ready"),
    ],
)
def test_each_part_has_its_finding(part: str, blamed: str, kind: str) -> None:
    found = told(case("a", **{part: 300}), case("b", **{part: 100}))
    (finding,) = found.values()
    assert (finding.id, finding.kind, finding.severity) == (f"gap-{blamed}", kind, "high")
    assert finding.cost_ns == 400 * MS
    assert "200.0 ms in the median of 2 requests, 100 % of all gaps" in finding.title
    assert "20.0 % of the way" in finding.evidence
    assert "the largest part of 2 of these gaps; worst: a, b" in finding.evidence
    assert finding.refs == ("a", "b")


def test_what_cannot_be_told_apart_is_blamed_on_both() -> None:
    """Receives ran, and nothing says whether KV crossed meanwhile: still the scheduler is not to blame."""
    unsplit = replace(case("a", ready=100, pause=50), gap_ns=450 * MS, moving_ns=300 * MS)
    assert unsplit.blame == "transfer"
    assert sum(unsplit.parts.values()) == unsplit.gap_ns
    assert set(told(unsplit)) == {"gap-transfer", "gap-scheduler", "gap-fragmentation"}
    assert replace(unsplit, ready_ns=350 * MS, gap_ns=700 * MS).blame == "scheduler"
    assert whatif([unsplit], None, []) is None


def test_worst_first_and_as_severe_as_the_share_of_the_way() -> None:
    found = told(case("a", wire=60, wait=210, ready=12, pause=9))
    assert [(each.id, each.severity) for each in found.values()] == [
        ("gap-wait", "high"),
        ("gap-link", "medium"),
        ("gap-scheduler", "low"),
    ]


def test_a_way_that_is_not_known_has_no_share() -> None:
    (finding,) = told(replace(case("a", wire=60), path_ns=None)).values()
    assert finding.severity == "medium"
    assert "of the way" not in finding.evidence


def test_the_fixed_cost_of_messages_is_fragmentation() -> None:
    fitted = factories.link(fixed_cost_ns=MS, fitted_gb_s=40.0)
    small = replace(case("a", wire=100, pause=10), link=fitted, message_count=80)
    assert small.parts["link"] == 20 * MS
    assert small.blame == "fragmentation"
    assert told(small)["gap-fragmentation"].cost_ns == 90 * MS
    assert replace(small, message_count=800).parts["link"] == 0  # never more than the time on the wire
    assert replace(small, link=None).blame == "link"


def test_advice_names_the_idea_that_saves_most() -> None:
    ideas = (
        WhatIf("wire-int8", 40 * MS, 0, 9 * MS, 8 * MS, 10, "", ""),
        WhatIf("link:ib-ndr", 40 * MS, 0, 3 * MS, None, 10, "", ""),
        WhatIf("sender-pipelining", 40 * MS, 0, 20 * MS, None, 1, "", ""),
        WhatIf("larger-messages", 40 * MS, 0, 30 * MS, None, 10, "", ""),
    )
    found = told(case("a", wire=100, ready=100), ideas=ideas)
    assert (
        '"Link: InfiniBand NDR 4x" saves most in all: 3.00 ms in the median of 10 requests, before what it costs.'
        in found["gap-link"].advice
    )
    assert "saves most" not in found["gap-scheduler"].advice
    assert "saves most" not in told(case("a", wire=100))["gap-link"].advice


@given(st.lists(st.tuples(*[st.integers(0, 400)] * 5), max_size=6))
def test_costs_are_the_sums_of_the_parts(parts: list[tuple[int, ...]]) -> None:
    known = [case(f"r{at}", *each) for at, each in enumerate(parts)]
    found = told(*known)
    for name, each in found.items():
        assert each.cost_ns == sum(one.parts[name.removeprefix("gap-")] for one in known)
    costs = [each.cost_ns or 0 for each in found.values()]
    assert costs == sorted(costs, reverse=True)
    assert len(found) <= MOST


def test_at_most_seven_and_what_leaves_numbers_in_doubt_keeps_its_place() -> None:
    cut, apart = factories.request("cut", missing="cut"), factories.request("apart", missing="clocks")
    sums = replace(factories.unknown().totals, time_ns=100 * MS, first_use_ns=9 * MS, first_use_count=2)
    costly = [
        "gap-scheduler", "gap-handoff", "gap-fragmentation", "gap-wait", "gap-link", "prefill-stalls", "first-uses",
    ]  # fmt: skip
    everything = case("a", 40, 50, 60, 70, 80)
    stalls = (prefill_device(30 * MS),)
    assert list(told(everything, totals=sums, prefill=stalls)) == costly
    found = told(everything, requests=(cut, apart), totals=sums, prefill=stalls)
    assert list(found) == ["clocks-apart", *costly[:5], "requests-cut"]  # a half of all: high
    fewer = told(case("a", 40), requests=(cut, apart, *(factories.request(str(at)) for at in range(3))))
    assert list(fewer) == ["gap-link", "clocks-apart", "requests-cut"]
    assert fewer["clocks-apart"].severity == "medium"


def test_what_costs_nothing_is_no_finding() -> None:
    free = Finding("sent-again", "wire", "medium", "", "", 0, "")
    unknown = replace(free, cost_ns=None)
    assert worst_first([free, unknown]) == (unknown,)


def test_requests_of_which_something_cannot_be_told() -> None:
    rows = (
        factories.request("a", missing="cut"),
        factories.request("b", missing="cut"),
        factories.request("c", missing="clocks"),
        factories.request("d", missing="", verdict="unresolved", clock="utc-unverified", uncertainty_ns=2 * MS),
        factories.request("e", missing="no-prefill-step"),
    )
    found = told(requests=rows)
    assert found["requests-cut"].title == "The capture's beginning or end cuts 2 requests of 5"
    assert found["requests-cut"].refs == ("a", "b")
    assert found["clocks-apart"].kind == "clock"
    assert found["clocks-apart"].title.startswith("The KV gap of 1 request is not known and the verdict of 1 request")
    assert found["clocks-apart"].evidence.endswith("an error of up to 2.00 ms")
    assert all(each.cost_ns is None for each in found.values())


UNRESOLVED = {"missing": "", "verdict": "unresolved"}


@pytest.mark.parametrize(
    ("row", "advice"),
    [
        ({**UNRESOLVED, "clock": "utc-unverified"}, "Say --utc-error MS, where PTP or NTP tells"),
        ({**UNRESOLVED, "clock": "estimated"}, "More messages larger than NCCL buffers, in both directions"),
        ({**UNRESOLVED, "clock": "one-file"}, "No option narrows what clocks of devices of one host leave open"),
        ({"missing": "clocks"}, "The note of the clock."),
        ({"missing": "contradiction"}, "Check ids of requests and roles of files: --role"),
    ],
)
def test_advice_on_clocks_is_what_would_change_this_run(row: dict[str, object], advice: str) -> None:
    """What `auto` took already, or what no file has, is never proposed."""
    clocks = (factories.clock(method="refused", offset_ns=None, note="the note of the clock"),)
    found = told(requests=(factories.request("a", **row),), clocks=clocks)["clocks-apart"]
    assert found.advice.startswith(advice)
    assert "--clock" not in found.advice
    told_of = [each for each in ("note of the clock", "--utc-error", "--role", "directions") if each in found.advice]
    assert len(told_of) == (0 if row.get("clock") == "one-file" else 1)


@pytest.mark.parametrize("missing", ["clocks", "contradiction"])
def test_why_no_gap_is_known_proposes_no_clock_that_auto_would_have_taken(missing: str) -> None:
    clocks = (factories.clock(method="refused", offset_ns=None, note="neither file records UTC"),)
    blank = [Reason(f"/verdict/{name}", "not-recorded", "", "x") for name in ("value", "uncertainty", "basis")]
    for each in with_gap_reason(blank, (factories.request("a", missing=missing),), clocks):
        assert "--clock" not in each.fix
        assert (each.fix == "") == each.message.endswith(": neither file records UTC") == (missing == "clocks")


def test_sent_again() -> None:
    """Two layers, sent twice: the second time begins when the first of them goes again, 1 ms after the first send."""
    starts = {0: (0, MS), 1: (MS // 4, MS + MS // 4)}
    moves = [(layer, at) for layer, times in starts.items() for at in times]
    number = pl.Series(range(len(moves)), dtype=pl.UInt32)
    base = pl.DataFrame({"transfer_id": number, "start_ns": [at for _, at in moves]})
    blank = [
        pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in Transfers.create_empty().schema.items()
        if name not in base.columns
    ]
    transfers = base.with_columns(blank).with_columns(
        trace_id=pl.lit("t"), purpose=pl.lit("kv"), is_movement=pl.lit(value=True), gpu=pl.lit("gpu1")
    )
    shares = pl.DataFrame({"transfer_id": number, "layer": [layer for layer, _ in moves]}).with_columns(
        request_id=pl.lit("r")
    )
    again = factories.request("r", attempt_count=2, path_ns=10 * MS)
    sums = factories.unknown().totals
    (finding,) = findings(Grounds((again,), (), None, select(transfers, shares), sums, None, None))
    assert finding.id == "sent-again"
    assert finding.cost_ns == MS
    assert finding.severity == "medium"
    assert told(requests=(factories.request("r", attempt_count=1),)) == {}
    judged = factories.request("others", path_ns=50 * MS)  # the way of all requests, as for other findings
    (rarer,) = findings(Grounds((again, judged), (), None, select(transfers, shares), sums, None, None))
    assert rarer.severity == "low"
    rare = replace(judged, path_ns=100 * MS)
    assert findings(Grounds((again, rare), (), None, select(transfers, shares), sums, None, None)) == ()


def decode_device(**changes: object) -> DecodeDevice:
    plain = DecodeDevice(
        "t", 1, "t:gpu1", "steps", 9, 900 * MS, 100 * MS, 0.1, {}, 60 * MS, None, None, None, None, None, 1.3, 40
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def prefill_device(stall_ns: int) -> PrefillDevice:
    return PrefillDevice("t", 0, "t:gpu0", 9, 1_000 * MS, stall_ns, None, 0, 0, (), None)


def test_devices() -> None:
    found = told(decode=(decode_device(), decode_device(gpu="t:gpu2", idle_while_pending_ns=None)))
    assert found["decode-idle"].cost_ns == 60 * MS
    assert found["decode-idle"].severity == "medium"
    assert found["decode-slower"].cost_ns is None
    assert found["decode-slower"].severity == "high"
    assert "1.30 times slower" in found["decode-slower"].title
    stalls = told(prefill=(prefill_device(30 * MS), prefill_device(10 * MS)))["prefill-stalls"]
    assert (stalls.cost_ns, stalls.severity) == (40 * MS, "low")


def test_of_a_sample(sample: Callable[[str], Path]) -> None:
    analysis = analyse([sample("synthetic/pd-oneprofile.sqlite")])
    found = {each.id: each for each in analysis.findings}
    assert found["gap-scheduler"].cost_ns == sum(each.ready_to_decode_ns or 0 for each in analysis.requests)
    assert found["gap-link"].cost_ns == sum((each.span or {})["wire_ns"] or 0 for each in analysis.requests)
    assert {each.blame for each in analysis.requests} == {"link", "scheduler"}
