"""Requests by length of prompt, where splitting begins to pay and where a transfer outlasts a decode step."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path

import polars as pl
import pytest
from engine_scenes import Aligned
from hypothesis import given
from hypothesis import strategies as st
from serving import MS, US, Server, Serving, send

from nsysparse.analysis import Analysis, Band, Lengths
from nsysparse.api import Options, analyse
from nsysparse.frames import Paths, StepRequests, Steps, Transfers, Work
from nsysparse.instants import Instants
from nsysparse.metrics.cases import Case
from nsysparse.metrics.journeys import Journeys
from nsysparse.metrics.lengths import lengths
from nsysparse.metrics.prefill_compute import own_prefills
from nsysparse.theory.references import References, references
from tests import factories

FIXED, GB_S, PER_TOKEN = 50 * US, 40, 8_000
"""What each message costs beside its bytes, the link's rate, and bytes of a token in a layer."""
LAYERS = 4
NDR = {"link": "ib-ndr", "model": "llama-3-8b"}


def crossing(source: Server, target: Server, request: str, tokens: int, at: int) -> None:
    """Its layers, one a millisecond, and three decode steps of 1 ms."""
    nbytes = tokens * PER_TOKEN
    for layer in range(LAYERS):
        send(source, target, request, layer, at + layer * MS, nbytes, FIXED + nbytes // GB_S)
    target.decode(at + (LAYERS + 1) * MS, request)


def announced(server: Server, request: str, tokens: int | None, at: int) -> None:
    prompt = "" if tokens is None else f" prompt={tokens}"
    server.main.start_end(f"kv_request request={request}{prompt}", at - 200 * US, at + 30 * MS)


def alone(scene: Serving, *requests: tuple[str, int, int | None, int]) -> tuple[Server, Server]:
    """One after the other: each request's name, its tokens, those that are announced, and its prefill in ns."""
    prefill, decode = scene.server("prefill"), scene.server("decode")
    for turn, (name, tokens, told, compute) in enumerate(requests):
        at = (10 + 50 * turn) * MS
        announced(prefill, name, told, at)
        prefill.step(at, at + compute, name)
        crossing(prefill, decode, name, tokens, at + compute + MS)
    return prefill, decode


THREE = (("a", 256, 256, 2 * MS), ("b", 512, 512, 3 * MS), ("c", 1024, 1024, 5 * MS))


def found(analysis: Analysis) -> Lengths:
    assert analysis.lengths is not None
    return analysis.lengths


def why(analysis: Analysis, name: str) -> tuple[str, str]:
    (reason,) = [each for each in analysis.reasons if each.path == f"/lengths{name}"]
    return reason.message, reason.fix


def test_a_request_breaks_even_where_its_prefill_takes_as_long_as_its_messages_fixed_cost(tmp_path: Path) -> None:
    """Four messages of 50 us are 200 us; prefills of 2, 3 and 5 ms compute 128, 170 2/3 and 204.8 tokens a ms."""
    scene = Serving()
    alone(scene, *THREE)
    analysis = scene.analysis(tmp_path)
    (link,) = analysis.links
    assert (link.fixed_cost_ns, link.fitted_gb_s) == (FIXED, pytest.approx(GB_S))
    told = found(analysis)
    assert told.break_even_tokens == Band(26, 41)  # 25.6, 34.1, 40.96
    assert (told.break_even_count, told.below_break_even_share) == (3, 0.0)
    assert (told.unit, told.edges, told.counts) == ("prompt tokens", (256, 512, 1024, 2048), (1, 1, 1))
    assert (told.total, told.unknown_count) == (3, 0)


def test_short_prompts_are_below_and_those_without_a_length_in_no_share(tmp_path: Path) -> None:
    scene = Serving()
    alone(scene, *THREE, ("d", 16, 16, 2 * MS), ("e", 25, 25, 2 * MS), ("f", 512, None, 3 * MS))
    told = found(scene.analysis(tmp_path))
    # The pace of d: 16 tokens in 2 ms; that of e: 25.
    assert told.break_even_tokens == Band(ceil(Fraction(16 * 200, 2_000)), 41)
    assert (told.break_even_count, told.total, told.unknown_count) == (5, 5, 1)
    assert (told.edges, told.counts) == ((16, 32, 64, 128, 256, 512, 1024, 2048), (2, 0, 0, 0, 1, 1, 1))
    assert told.below_break_even_share == 0


def test_a_long_fixed_cost_leaves_short_prompts_below(tmp_path: Path) -> None:
    """All prefill 256 tokens a ms, so 200 us are 51.2 tokens: the two short ones lose."""
    scene = Serving()
    pace = [
        (name, tokens, tokens, tokens * MS // 256)
        for name, tokens in zip("abcde", (32, 51, 52, 512, 2048), strict=True)
    ]
    alone(scene, *pace)
    told = found(scene.analysis(tmp_path))
    assert told.break_even_tokens == Band(52, 52)
    assert told.below_break_even_share == 2 / 5


def test_requests_of_one_step_share_its_compute_by_their_prompts(tmp_path: Path) -> None:
    """300 and 700 tokens in a step of 5 ms, and 2,000 in two chunks of 4 and 3 ms."""
    scene = Serving()
    prefill, decode = scene.server("prefill"), scene.server("decode")
    for name, tokens in (("a", 300), ("b", 700), ("c", 2_000)):
        announced(prefill, name, tokens, 10 * MS)
    prefill.step(10 * MS, 15 * MS, "a", "b")
    crossing(prefill, decode, "a", 300, 16 * MS)
    crossing(prefill, decode, "b", 700, 40 * MS)
    prefill.step(60 * MS, 64 * MS, "c")
    prefill.step(70 * MS, 73 * MS, "c")
    crossing(prefill, decode, "c", 2_000, 74 * MS)
    # Last tokens are computed again where it decodes: not what splitting keeps from others.
    decode.step(90 * MS, 90 * MS + 10 * US, "c", phase="prefill")
    told = found(scene.analysis(tmp_path))
    assert told.break_even_count == 3
    both, chunked = ceil(Fraction(200 * 1_000, 5_000)), ceil(Fraction(200 * 2_000, 7_000))
    assert told.break_even_tokens == Band(both, chunked)


def test_a_step_with_an_unknown_prompt_or_a_chunk_in_company_tells_nothing(tmp_path: Path) -> None:
    scene = Serving()
    prefill, decode = alone(scene, *THREE)
    for name, tokens in (("d", 400), ("e", None), ("f", 400), ("g", 400)):
        announced(prefill, name, tokens, 200 * MS)
    prefill.step(200 * MS, 201 * MS, "d", "e")
    prefill.step(202 * MS, 203 * MS, "f")
    prefill.step(204 * MS, 205 * MS, "f", "g")
    for turn, name in enumerate("defg"):
        crossing(prefill, decode, name, 400, (210 + 20 * turn) * MS)
    told = found(scene.analysis(tmp_path))
    assert (told.break_even_count, told.total, told.unknown_count) == (3, 6, 1)
    assert told.break_even_tokens == Band(26, 41)


def test_messages_behind_the_prefill_cost_nothing(tmp_path: Path) -> None:
    """Of four messages of c the last alone is over within its gap."""
    scene = Serving()
    prefill, decode = alone(scene, *THREE[:2], ("d", 2048, 2048, 10 * MS))
    announced(prefill, "c", 1024, 300 * MS)
    prefill.step(300 * MS, 305 * MS, "c")
    crossing(prefill, decode, "c", 1024, 305 * MS + 10 * US - 3 * MS)
    told = found(scene.analysis(tmp_path))
    assert told.break_even_count == 4
    assert told.break_even_tokens == Band(ceil(Fraction(50 * 1024, 5_000)), ceil(Fraction(200 * 2048, 10_000)))


def test_without_a_line_there_is_no_break_even_and_the_report_says_what_would_tell(tmp_path: Path) -> None:
    scene = Serving()
    alone(scene, *THREE[:2])
    analysis = scene.analysis(tmp_path)
    told = found(analysis)
    assert (told.break_even_tokens, told.break_even_count, told.below_break_even_share) == (None, 0, None)
    message, fix = why(analysis, "/break_even_tokens")
    assert "fixed_cost_ns" in message
    assert "three sizes" in fix
    assert "needs a break-even length" in why(analysis, "/below_break_even_share")[0]


def test_without_lengths_there_is_no_histogram(tmp_path: Path) -> None:
    scene = Serving()
    alone(scene, ("a", 256, None, 2 * MS))
    analysis = scene.analysis(tmp_path)
    assert analysis.lengths is None
    assert "kv_request" in why(analysis, "")[0]


def test_without_a_known_gap_there_is_no_break_even(tmp_path: Path) -> None:
    scene = Serving()
    prefill, decode = scene.server("prefill"), scene.server("decode")
    announced(prefill, "a", 256, 10 * MS)
    send(prefill, decode, "a", 0, 10 * MS)
    analysis = scene.analysis(tmp_path)
    told = found(analysis)
    assert (told.counts, told.break_even_tokens, told.critical_tokens) == ((1,), None, None)
    assert (told.step_ns, told.step_basis, told.step_count) == (None, None, 0)
    assert "kv_step" in why(analysis, "/break_even_tokens")[1]
    assert why(analysis, "/step_ns") == ("no decode step was recorded, and none is told", "--step-ms A..B")
    assert "--model" in why(analysis, "/critical_tokens")[1]
    assert "--link" in why(analysis, "/critical_link")[1]


def test_critical_lengths_are_over_the_runs_own_decode_steps(tmp_path: Path) -> None:
    """Nine steps of 1 ms, one of 3: 10th and 90th percentile are 1 ms, at 50 GB/s 381 tokens of 131,072 bytes."""
    scene = Serving()
    _, decode = alone(scene, *THREE)
    decode.step(400 * MS, 403 * MS, "c")
    told = found(scene.analysis(tmp_path, **NDR))
    assert (told.step_ns, told.step_basis, told.step_count) == (Band(MS, MS), "measured", 10)
    assert told.critical_tokens == Band(381, 381)  # 381.5
    assert told.critical_link == "one:gpu0->one:gpu1"


def test_a_decode_step_that_is_told_counts(tmp_path: Path) -> None:
    scene = Serving()
    alone(scene, *THREE)
    analysis = scene.analysis(tmp_path, step_ns=(20 * MS, 50 * MS), **NDR)
    told = found(analysis)
    assert (told.step_ns, told.step_basis, told.step_count) == (Band(20 * MS, 50 * MS), "option", 0)
    assert told.critical_tokens == Band(7_629, 19_073)  # 0.02 and 0.05 s x 50e9 / 131,072
    assert analysis.theory.by_link[0].critical_tokens == {"low": 7_629, "high": 19_073}


@pytest.mark.parametrize(
    ("options", "fix"),
    [({"link": "ib-ndr"}, "--model"), ({"model": "llama-3-8b"}, "--link"),
     ({"link": "ib-ndr", "model": "llama-3-8b", "step_ns": (1, 1)}, "")],
)  # fmt: skip
def test_what_a_critical_length_lacks_is_said(options: dict[str, object], fix: str, tmp_path: Path) -> None:
    scene = Serving()
    alone(scene, *THREE)
    analysis = scene.analysis(tmp_path, **options)
    assert found(analysis).critical_tokens is None
    assert fix in why(analysis, "/critical_tokens")[1]


STEPS = """
    SELECT s.start, min(k.start), max(k.end)
    FROM NVTX_EVENTS s LEFT JOIN StringIds t ON t.id = s.textId
    JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.globalTid = s.globalTid AND r.start >= s.start AND r.end <= s.end
    JOIN CUPTI_ACTIVITY_KIND_KERNEL k ON k.correlationId = r.correlationId AND k.globalPid = (r.globalTid >> 24) << 24
    JOIN StringIds d ON d.id = k.demangledName
    WHERE coalesce(s.text, t.value) LIKE 'kv_step%phase=decode%' AND d.value NOT LIKE 'nccl%'
    GROUP BY s.rowid
"""


def test_a_sample_against_its_own_rows(sample: Callable[[str], Path]) -> None:
    path = sample("synthetic/pd-oneprofile.sqlite")
    with closing(sqlite3.connect(path)) as file:
        took = sorted(end - start for _, start, end in file.execute(STEPS))
        texts = [text for (text,) in file.execute(
            "SELECT coalesce(s.text, t.value) AS said FROM NVTX_EVENTS s LEFT JOIN StringIds t ON t.id = s.textId"
            " WHERE said LIKE 'kv_request %'"
        )]  # fmt: skip
    prompts = {int(text.split("prompt=")[1].split()[0]) for text in texts}
    told = found(analyse([path], Options(**NDR)))
    low, high = took[ceil(len(took) / 10) - 1], took[ceil(9 * len(took) / 10) - 1]
    assert (told.step_ns, told.step_count) == (Band(low, high), len(took))
    assert told.critical_tokens == Band(low * 50 // 131_072, high * 50 // 131_072)
    bins = zip(told.edges, told.edges[1:], told.counts, strict=False)
    assert all(count == sum(start <= each < end for each in prompts) for start, end, count in bins)
    assert told.total == len(prompts) == 8


@given(st.lists(st.none() | st.integers(0, 2**62), max_size=30))
def test_every_request_is_in_one_bin_or_has_no_length(prompts: list[int | None]) -> None:
    requests = [factories.request(f"r{at}", prompt_tokens=tokens) for at, tokens in enumerate(prompts)]
    told = lengths(requests, (), nothing(), (), NO_LINKS, None, None)
    known = [tokens for tokens in prompts if tokens is not None and tokens <= 10**9]
    if not known:
        assert told is None
        return
    assert told is not None
    assert (told.total, told.unknown_count) == (len(known), len(prompts) - len(known))
    assert sum(told.counts) == told.total
    assert told.edges[0] <= min(known) <= max(known) < told.edges[-1]
    for start, end, count in zip(told.edges, told.edges[1:], told.counts, strict=False):
        assert end == max(2 * start, 1)
        assert count == sum(start <= tokens < end for tokens in known)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(1, 10**9), st.integers(0, 10**8)), min_size=1, max_size=9))
def test_below_its_break_even_a_request_loses_to_its_fixed_cost(drawn: list[tuple[int, int, int]]) -> None:
    """Of each its tokens, the compute of its prefill, and what its one message costs beside its bytes."""
    requests, cases, steps = [], [], []
    for at, (tokens, compute, cost) in enumerate(drawn):
        name = f"r{at}"
        requests.append(factories.request(name, prompt_tokens=tokens, prefill_ns=compute))
        link = factories.link(fixed_cost_ns=cost)
        cases.append(Case(name, 10**9, 10**9, 0, 0, 0, 0, prompt_tokens=tokens, message_count=1, link=link))
        steps.append((at, name, 1, 2 * 10**9 * at, 2 * 10**9 * at + compute))
    told = lengths(requests, cases, stepping(steps), (), NO_LINKS, None, None)
    assert told is not None
    assert told.break_even_tokens is not None
    assert told.break_even_count == len(drawn)
    even = sorted(brute(*each) for each in drawn)
    low, high = even[ceil(len(even) / 10) - 1], even[ceil(9 * len(even) / 10) - 1]
    assert told.break_even_tokens == Band(low, high)
    assert told.below_break_even_share == sum(tokens < low for tokens, _, _ in drawn) / len(drawn)
    for tokens, compute, cost in drawn:
        assert (tokens < brute(tokens, compute, cost)) == (cost > compute)


def brute(tokens: int, compute: int, cost: int) -> int:
    """The fewest tokens whose prefill, at this pace, takes no less than the cost."""
    low, high = -1, 10**15
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle * compute >= cost * tokens else (middle, high)
    return high


@pytest.mark.parametrize(
    ("case", "request_"),
    [
        ({"moving_ns": 5, "wire_ns": 0}, {}),  # wire and waiting are not told apart
        ({"wire_ns": 0}, {}),  # the message's time on the wire is not known
        ({"attempt_count": 2}, {}),
        ({"link": None}, {}),
        ({"link": factories.link(fixed_cost_ns=None)}, {}),
        ({}, {"prefill_ns": None}),  # it began before the capture
        ({}, {"prompt_tokens": None}),
        ({}, {"prompt_tokens": 0}),
    ],
)
def test_a_request_that_tells_no_break_even_is_left_out(case: dict[str, object], request_: dict[str, object]) -> None:
    plain = {"prompt_tokens": 100, "prefill_ns": MS}
    requests = [factories.request("a", **plain), factories.request("b", **plain | request_)]
    link = factories.link(fixed_cost_ns=MS // 2)
    whole = Case("a", MS, MS, 0, 0, 0, 0, prompt_tokens=100, message_count=1, link=link)
    cases = [whole, replace(whole, request_id="b", **case)]  # type: ignore[arg-type]
    steps = stepping([(0, "a", 1, 0, MS), (1, "b", 1, 2 * MS, 2 * MS + MS // 2)])
    told = lengths(requests, cases, steps, (), NO_LINKS, None, None)
    assert told is not None
    assert (told.break_even_count, told.break_even_tokens) == (1, Band(50, 50))


def test_of_several_ranks_the_one_that_computed_least_counts() -> None:
    steps = [(0, "a", 1, 0, 500), (1, "a", 2, 0, 300), (2, "a", 2, 600, 700), (3, "a", 3, 2_000, 2_001)]
    known = stepping(steps, until=1_000)
    assert own_prefills(known, {"a": 10}) == {"a": 400}
    lost = replace(known, compute={key: ran for key, ran in known.compute.items() if key != ("one", "gpu1")})
    assert own_prefills(lost, {"a": 10}) == {}  # what one of them computed is not known


def stepping(steps: list[tuple[int, str, int, int, int]], until: int = 10**12) -> Journeys:
    """Prefill steps of one request each: number, request, process and its device, start, end, all of it compute."""
    columns = ["step_id", "request_id", "process", "start_ns", "end_ns"]
    rows = pl.DataFrame(steps, columns, orient="row").with_columns(
        trace_id=pl.lit("one"), phase=pl.lit("prefill"), is_projected=pl.lit(value=True),
        device=pl.concat_str(pl.lit("gpu"), "process"),
    )  # fmt: skip
    ends = rows.select("request_id", prefill_end_trace="trace_id", prefill_end_ns=pl.lit(until)).unique()
    return replace(
        nothing(),
        steps=rows.drop("request_id"),
        held=rows.select("step_id", "request_id"),
        paths=ends,
        compute={("one", str(device)): Instants.covered(ran) for (device,), ran in rows.group_by("device")},
    )


NO_LINKS: References = references(None, None, None, [], ["one"])


def nothing() -> Journeys:
    empty = pl.DataFrame()
    return Journeys(
        empty, Paths.create_empty(), Transfers.create_empty(), Steps.create_empty(), StepRequests.create_empty(),
        Work.create_empty(), {}, Aligned({}), {}, None, 0.2,  # type: ignore[arg-type]
    )  # fmt: skip
