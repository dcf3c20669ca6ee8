"""What would help: each idea against an answer worked out by hand, and what none of them may ever say."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.analysis import Link, WhatIf
from nsysparse.api import Options, analyse
from nsysparse.catalog.loader import find_model
from nsysparse.ideas import title
from nsysparse.metrics.cases import Case
from nsysparse.metrics.crowding import Crowding
from nsysparse.metrics.prefill_compute import LastPrefill
from nsysparse.metrics.whatif import whatif
from nsysparse.theory.dtypes import cache_type
from nsysparse.theory.shipment import Shipment
from tests import factories

DOCS = Path(__file__).resolve().parents[2] / "docs"
MS = 1_000_000
H100 = "NVIDIA H100 80GB HBM3"
NO_LINE = {"fixed_cost_ns": None, "fitted_gb_s": None}


def case(name: str = "r0", link: Link | None = None, **changes: object) -> Case:
    """20 ms of gap: 8 on the wire at 25 GB/s, 3 waiting, 2 of pauses, 1 of hand-off, 6 until decode starts."""
    plain = Case(name, 20 * MS, 8 * MS, 3 * MS, 2 * MS, 1 * MS, 6 * MS, link=link, wire_bytes=200 * MS)
    return replace(plain, **changes)  # type: ignore[arg-type]


def link(**changes: object) -> Link:
    """At least 2 GB/s of 50, a practical ceiling of 40, without a fitted line."""
    rates = {"peak_gb_s": 50.0, "practical_gb_s": 40.0, "headline_gb_s": 2.0, "headline_is_bound": True}
    return factories.link(**{**rates, **NO_LINE, **changes})


def test_every_idea_has_a_title() -> None:
    said = re.search(r"whatif +null or \[\] id \(([^)]*)\)", (DOCS / "reference" / "report-json.md").read_text("utf-8"))
    assert said
    names = re.split(r",\s+", said[1])
    assert "smaller-batch" in names
    assert not [name for name in names if title(name.replace("ID", "ib-ndr")) == name]


def ideas(*known: Case, model: Shipment | None = None, gpus: tuple[str | None, ...] = ()) -> dict[str, WhatIf]:
    found = whatif(known, model, gpus)
    assert found is not None
    assert [row.id for row in found] == sorted(row.id for row in found)
    return {row.id: row for row in found}


def test_nothing_is_known_without_a_gap() -> None:
    assert whatif((), None, ()) is None
    assert ideas(replace(case(), wire_ns=0, wait_ns=0, pause_ns=0, handoff_ns=14 * MS)) == {}


def test_eight_bits_on_the_wire() -> None:
    row = ideas(case())["wire-int8"]
    assert row.saves_ns == 8 * MS * 126 // 256  # 128 values and a scale of 2 bytes, of 256 bytes
    assert row.predicted_kv_gap_ns == 20 * MS - 3_937_500
    assert row.costs_ns is None
    assert row.request_count == 1
    assert "0.508" in row.basis
    assert "3.94 ms" in row.assumption  # what compressing and restoring must stay below
    assert "accuracy" in row.assumption
    assert "--model" in row.assumption


def test_packing_kernels_tell_what_compressing_may_cost() -> None:
    row = ideas(case(pack_ns=5 * MS))["wire-fp8"]
    assert (row.saves_ns, row.costs_ns) == (3_937_500, 5 * MS)
    assert row.predicted_kv_gap_ns == 20 * MS - 3_937_500 + 5 * MS  # it does not pay
    assert ideas(case(pack_ns=5 * MS), case("r1"))["wire-fp8"].costs_ns is None


def test_the_fixed_cost_of_messages_does_not_shrink_with_the_bytes() -> None:
    fitted = link(fixed_cost_ns=100_000, fitted_gb_s=30.0)
    row = ideas(case(link=fitted, message_count=40))["wire-int8"]
    assert row.saves_ns == 4 * MS * 126 // 256
    assert "4.00 ms of messages' fixed cost" in row.basis


@pytest.mark.parametrize("served", [{"kv_dtype": cache_type("fp8")}, {"wire_dtype": cache_type("int8")}])
def test_a_cache_of_eight_bits_gets_no_eight_bits(served: dict[str, object]) -> None:
    model = Shipment(find_model("llama-3-70b"))
    assert {"wire-fp8", "wire-int8"} <= set(ideas(case(), model=model))
    assert not {"wire-fp8", "wire-int8"} & set(ideas(case(), model=replace(model, **served)))  # type: ignore[arg-type]


def test_states_of_recurrent_layers_keep_their_type() -> None:
    hybrid = Shipment(find_model("qwen3-next-80b"))
    assert "wire-int8" not in ideas(case(), model=hybrid)  # without the prompt their share is not known
    row = ideas(case(prompt_tokens=1000), model=hybrid)["wire-int8"]
    kept, narrow = hybrid.kept(1000), replace(hybrid, kv_dtype=cache_type("int8")).kept(1000)
    assert row.saves_ns == int(8 * MS * (1 - narrow / kept))
    assert (row.saves_ns or 0) < 8 * MS * 0.2


def test_sending_layers_as_they_are_computed() -> None:
    # 10 layers of 1 ms on the wire and between messages, each computed in 0.9 ms: 10 - 9 * 0.9 remain.
    step = LastPrefill(9 * MS, frozenset({"r0"}))
    row = ideas(case(layer_count=10, prefill=step))["sender-pipelining"]
    assert row.saves_ns == round(8.1 * MS)
    assert row.predicted_kv_gap_ns == 20 * MS - round(8.1 * MS)
    # Computed in 2 ms each: all but one layer's transfer is hidden, however many there are.
    slow = LastPrefill(20 * MS, frozenset({"r0"}))
    assert ideas(case(layer_count=10, prefill=slow))["sender-pipelining"].saves_ns == 9 * MS


@pytest.mark.parametrize(
    "changes",
    [
        {"layer_count": None},
        {"prefill": None},
        {"overlap_ns": 2 * MS},  # it sends early already
        {"attempt_count": 2},
        {"prefill": LastPrefill(9 * MS, frozenset({"r0", "of which nothing is known"}))},
    ],
)
def test_sending_early_needs_its_measurements(changes: dict[str, object]) -> None:
    known = {"layer_count": 10, "prefill": LastPrefill(9 * MS, frozenset({"r0"})), **changes}
    assert "sender-pipelining" not in ideas(case(**known))


def test_requests_of_one_step_share_its_compute() -> None:
    # Two of them send 2 ms a layer; computed in 1.5 ms: 20 - 9 * 1.5 = 6.5 ms remain of either's 10.
    step = LastPrefill(15 * MS, frozenset({"r0", "r1"}))
    both = [case(name, layer_count=10, prefill=step) for name in ("r0", "r1")]
    row = ideas(*both)["sender-pipelining"]
    assert (row.saves_ns, row.request_count) == (3_500_000, 2)


def test_decoding_layers_as_they_arrive() -> None:
    row = ideas(case(first_decode_ns=5 * MS, spread_ns=9 * MS))["receiver-pipelining"]
    assert row.saves_ns == 5 * MS  # never more than one decode step
    assert ideas(case(first_decode_ns=50 * MS, spread_ns=9 * MS))["receiver-pipelining"].saves_ns == 9 * MS
    assert "receiver-pipelining" not in ideas(case(first_decode_ns=5 * MS))


def test_another_link() -> None:
    hdr = link(peak_gb_s=25.0, practical_gb_s=24.0, link_name="InfiniBand HDR 4x")
    found = ideas(case(link=hdr), gpus=(H100, H100))
    assert {name for name in found if name.startswith("link:")} == {
        "link:ib-ndr",
        "link:eth-400g",
        "link:nvlink4-h100",
    }
    assert found["link:ib-ndr"].saves_ns == int(8 * MS * (1 - 24 / 49))  # 0.98 of 50 GB/s
    assert found["link:nvlink4-h100"].saves_ns == int(8 * MS * (1 - 24 / 396))  # 0.88 of 450 GB/s
    assert "their counts can no longer be chosen freely" in found["link:nvlink4-h100"].assumption
    assert "adapters" in found["link:ib-ndr"].assumption
    assert not any("nvlink" in name for name in ideas(case(link=hdr)))  # no GPU's name implies it
    fastest = link(peak_gb_s=450.0, practical_gb_s=396.0)
    assert not any(name.startswith("link:") for name in ideas(case(link=fastest), gpus=(H100,)))
    assert not any(name.startswith("link:") for name in ideas(case()))


def test_another_link_than_one_without_a_name() -> None:
    """What a request reached there is its own bytes over its own time on the wire, never a link's lower bound."""
    nameless = link(peak_gb_s=None, practical_gb_s=None, headline_is_bound=False)
    slow = case(link=nameless, wire_bytes=80 * MS)
    row = ideas(slow, case("unsized", nameless, wire_bytes=None))["link:eth-100g"]
    assert (row.saves_ns, row.request_count) == (int(8 * MS - 80 * MS / 12.25), 1)  # 10 GB/s now
    assert "10.0 GB/s (bytes over time on the wire in the median, as the link is not named)" in row.basis
    bound = replace(nameless, headline_is_bound=True)  # it may be faster than any
    for unknown in (case(link=nameless, wire_bytes=None), case(link=bound, wire_bytes=80 * MS)):
        assert not any(name.startswith("link:") for name in ideas(unknown, gpus=(H100,)))


def test_more_streams_fill_the_link() -> None:
    row = ideas(case(link=link()))["more-streams"]
    assert row.saves_ns == 3 * MS  # 25 of 40 GB/s, whatever bound the link has
    assert "25.0 GB/s on " in row.basis
    assert "2 such streams would fill it" in row.basis
    assert "at least" not in row.basis
    fitted = link(fitted_gb_s=10.0, fixed_cost_ns=1 * MS)
    half = ideas(case(link=fitted, message_count=4, wire_bytes=40 * MS))["more-streams"]
    assert half.saves_ns == 3 * MS  # three quarters of the 4 ms that are bytes
    crowded = ideas(case(link=link(), crowding=Crowding(2 * MS, 0), wire_bytes=120 * MS))["more-streams"]
    assert crowded.saves_ns == 3 * MS  # 20 GB/s in the 6 ms that no other request's streams took


@pytest.mark.parametrize(
    ("changes", "nbytes"),
    [
        ({}, 290 * MS),  # over nine tenths of it
        ({}, 900 * MS),  # more than it can carry: what was buffered crossed before
        ({}, None),
        ({"peak_gb_s": None, "practical_gb_s": None}, 200 * MS),
    ],
)
def test_a_link_that_is_full_or_unknown_needs_no_streams(changes: dict[str, object], nbytes: int | None) -> None:
    assert "more-streams" not in ideas(case(link=link(**changes), wire_bytes=nbytes))


@pytest.mark.parametrize("name", ["wire-fp8", "more-streams", "link:ib-ndr"])
def test_without_a_fixed_cost_savings_are_at_most(name: str) -> None:
    assert "At most: " in ideas(case(link=link()))[name].assumption
    free = link(fixed_cost_ns=0, fitted_gb_s=25.0)
    assert "At most" not in ideas(case(link=free))[name].assumption
    assert "At most" in ideas(case(link=free), case("r1", link()))[name].assumption


def test_one_message_for_all_layers() -> None:
    fitted = link(fixed_cost_ns=100_000, fitted_gb_s=30.0)
    row = ideas(case(link=fitted, message_count=20))["larger-messages"]
    assert row.saves_ns == 19 * 100_000 + 2 * MS
    pauses = ideas(case(message_count=20))["larger-messages"]
    assert pauses.saves_ns == 2 * MS
    assert "pauses alone" in pauses.basis
    assert "larger-messages" not in ideas(case(link=fitted, message_count=1))
    assert "larger-messages" not in ideas(case(link=fitted, message_count=20, overlap_ns=1))
    assert "larger-messages" not in ideas(case(link=fitted, message_count=20, attempt_count=2))


def test_the_link_alone() -> None:
    row = ideas(case(crowding=Crowding(4 * MS, 2 * MS)))["smaller-batch"]
    assert row.saves_ns == 6 * MS
    assert "Throughput falls" in row.assumption
    assert ideas(case(crowding=Crowding(0, 9 * MS)))["smaller-batch"].saves_ns == 5 * MS  # waiting and pauses
    assert "smaller-batch" not in ideas(case(crowding=Crowding(0, 0)))


def test_medians_are_of_the_requests_that_an_idea_applies_to() -> None:
    known = [case(f"r{at}", first_decode_ns=at * MS, spread_ns=9 * MS) for at in (1, 2, 6)]
    row = ideas(*known, case("early"))["receiver-pipelining"]
    assert (row.saves_ns, row.predicted_kv_gap_ns, row.request_count) == (2 * MS, 18 * MS, 3)
    assert "3 of 4 requests" in row.basis
    assert "not told" not in row.basis
    unsplit = [case(f"u{at}", wire_ns=0, wait_ns=0, moving_ns=11 * MS) for at in range(7)]
    told = ideas(*known, case("early"), *unsplit)["receiver-pipelining"].basis
    assert "3 of 11 requests with a known gap" in told
    assert "of 7 of the others the wire is not told from waiting" in told


_NS = st.integers(0, 10**9)


@st.composite
def _cases(draw: st.DrawFn) -> tuple[Case, ...]:
    names = [f"r{at}" for at in range(draw(st.integers(1, 5)))]
    crossed = draw(
        st.sampled_from([None, link(), link(fixed_cost_ns=draw(_NS), fitted_gb_s=3.0), link(peak_gb_s=None)])
    )
    found = []
    for name in names:
        parts = [draw(_NS) for _ in range(5)]
        found.append(
            Case(
                name, sum(parts), *parts,
                overlap_ns=draw(st.sampled_from([0, 5, 10**9])),
                first_decode_ns=draw(st.none() | _NS),
                message_count=draw(st.integers(0, 200)),
                layer_count=draw(st.none() | st.integers(1, 100)),
                spread_ns=draw(st.none() | _NS),
                prefill=draw(st.none() | st.builds(LastPrefill, _NS, st.just(frozenset(names)))),
                crowding=draw(st.none() | st.builds(Crowding, _NS, _NS)),
                link=crossed,
                wire_bytes=draw(st.none() | st.integers(0, 10**11)),
            )
        )  # fmt: skip
    return tuple(found)


@given(_cases())
def test_no_gap_is_predicted_below_zero_and_no_more_is_saved_than_there_is(known: tuple[Case, ...]) -> None:
    for one in known:
        assert sum(one.parts.values()) == one.gap_ns
        assert min(one.parts.values()) >= 0
        for row in ideas(one, gpus=(H100,)).values():
            assert 0 < (row.saves_ns or 0) <= one.gap_ns - one.handoff_ns - one.ready_ns
            assert row.predicted_kv_gap_ns == one.gap_ns - (row.saves_ns or 0)
    for row in ideas(*known, gpus=(H100,)).values():
        assert (row.predicted_kv_gap_ns or 0) >= 0
        assert 0 < row.request_count <= len(known)


_RANGES = """
    SELECT s.start, s.end, k.start, k.end, k.deviceId, coalesce(s.text, t.value), d.value
    FROM NVTX_EVENTS s LEFT JOIN StringIds t ON t.id = s.textId
    JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.globalTid = s.globalTid AND r.start >= s.start AND r.end <= s.end
    JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.correlationId = r.correlationId AND k.globalPid = (r.globalTid >> 24) << 24
    JOIN StringIds d ON d.id = k.demangledName
    WHERE coalesce(s.text, t.value) LIKE ?
"""


def test_two_ideas_against_an_own_calculation(sample: Callable[[str], Path]) -> None:
    """From the rows of the file: requests of one prefill step each, one kernel a layer and side, none at once."""
    path = sample("synthetic/pd-oneprofile.sqlite")
    pauses, savings = [], []
    with closing(sqlite3.connect(path)) as file:
        for request in ("req-1", "req-3", "req-4", "req-6"):  # these send after prefill
            sends, receives = (
                sorted(row[2:4] for row in file.execute(_RANGES, (f"kv_transfer op={op} request={request} %",)))
                for op in ("send", "recv")
            )
            compute = [row[2:4] for row in file.execute(_RANGES, (f"kv_step % phase=prefill requests={request} %",))]
            layers = len(receives)
            either = [(min(s[0], r[0]), max(s[1], r[1])) for s, r in zip(sends, receives, strict=True)]
            assert all(before[1] <= after[0] for before, after in pairwise(either))
            wire = sum(min(s[1], r[1]) - max(s[0], r[0]) for s, r in zip(sends, receives, strict=True))
            pause = receives[-1][1] - sends[0][0] - sum(end - start for start, end in either)  # no kernel at all
            each, layer = (wire + pause) / layers, sum(end - start for start, end in compute) / layers
            pauses.append(pause)
            savings.append(wire + pause - max(each, layers * each - (layers - 1) * layer))
    found = {row.id: row for row in analyse([path]).whatif or ()}
    assert found["larger-messages"].saves_ns == round(median(pauses))
    assert found["sender-pipelining"].saves_ns == pytest.approx(median(savings), abs=2)  # each rounded down
    assert found["sender-pipelining"].request_count == 4


def test_what_one_stream_reached_is_what_the_recipe_gave_it(sample: Callable[[str], Path]) -> None:
    """20 GB/s and a set-up a message, which no line of one size tells; the link proves a tenth of that at least."""
    files = [sample(f"synthetic/pd-two-hosts-{side}.sqlite") for side in ("prefill", "decode")]
    analysis = analyse(files, Options(link="ib-ndr"))
    assert min(link.headline_gb_s or 99 for link in analysis.links) < 3
    row = next(row for row in analysis.whatif or () if row.id == "more-streams")
    rate = re.match(r"([\d.]+) GB/s", row.basis)
    assert rate
    assert 16 < float(rate[1]) <= 20
    assert "3 such streams" in row.basis
