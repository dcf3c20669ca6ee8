"""Why a decode device was idle, with answers worked out by hand, by brute force, and from the file itself."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from engine_scenes import APART, Aligned, Scene, known
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.analysis import DecodeDevice
from nsysparse.clocks import Clocks
from nsysparse.instants import Instants
from nsysparse.metrics.decode import decode_devices
from nsysparse.metrics.idle import idle
from nsysparse.metrics.journeys import Journeys
from nsysparse.metrics.lives import Lives
from nsysparse.metrics.measured import Measured
from nsysparse.metrics.pace import slowdown, token_times

REASONS = ("kv_ready", "transfer", "prefill_running", "between_steps", "no_request", "unknown")


def hand_over(scene: Scene, *, named: bool = True, steps: bool = True) -> Scene:
    """Three requests: `a` and `b` share a step, `c` comes when both have ended.

    Decode computes [10000, 12000), [13000, 15000), [15500, 17000), [20000, 22000), [30000, 33000), [34000, 36000): it
    is idle for 13500 of 26000 ns.
    """
    prefill, decode = scene.prefill, scene.decode
    for request, compute in (("a", (1_000, 3_000)), ("b", (14_000, 17_500)), ("c", (22_500, 24_000))):
        prefill.step(request, compute)
    for request, kernel in (("a", (3_000, 5_000)), ("b", (17_800, 18_500)), ("c", (24_500, 26_000))):
        prefill.transfer(request, kernel)
    for request, kernel in (("a", (2_500, 6_000)), ("b", (16_000, 18_600)), ("c", (24_400, 26_200))):
        decode.transfer(request, kernel)
    for requests, *kernels in (
        ("a", (10_000, 12_000)),
        ("a", (13_000, 15_000), (15_500, 17_000)),
        ("a,b", (20_000, 22_000)),
        ("c", (30_000, 33_000)),
        ("c", (34_000, 36_000)),
    ):
        if steps:
            decode.step(requests if named else "", *kernels)
        else:
            for start, end in kernels:
                decode.process.kernel("gemm", start + decode.shift, end + decode.shift, device=1)
    return scene


def device(scene: Scene, folder: Path, clocks: Clocks = APART) -> DecodeDevice:
    found = decode_devices(*scene.known(folder, clocks))
    assert found is not None
    assert len(found) == 1
    assert sum(found[0].by_reason.values()) == found[0].idle_ns
    return found[0]


def of_clocks(study: tuple[Measured, Journeys], clocks: Clocks) -> DecodeDevice:
    """The same files, aligned otherwise."""
    measured, journeys = study
    found = decode_devices(measured, replace(journeys, clocks=clocks))
    assert found is not None
    return found[0]


def reasons(found: DecodeDevice) -> tuple[int, ...]:
    return tuple(found.by_reason[name] for name in REASONS)


def test_one_clock(tmp_path: Path) -> None:
    """Each idle interval, for the first reason that holds.

    [12000, 13000): `a` decodes. [15000, 15500): `b` is prefilled, until it is sent at 17800. [17000, 20000): 800 more
    of that, 800 until its KV is there at 18600, 1400 until it decodes. [22000, 30000): 500 nobody, `c` 2000 until it
    is sent, 1700 on its way, 3800 ready. [33000, 34000): `c` decodes.
    """
    found = device(hand_over(Scene()), tmp_path)
    assert (found.trace_id, found.device_id, found.gpu, found.basis) == ("one", 1, "gpu1", "steps")
    assert (found.step_count, found.active_ns, found.idle_ns) == (5, 26_000, 13_500)
    assert found.idle_share == 13_500 / 26_000
    assert reasons(found) == (1_400 + 3_800, 800 + 1_700, 500 + 800 + 2_000, 1_000 + 1_000, 500, 0)
    assert found.idle_while_pending_ns == 5_200 + 2_500


def test_steps_wait_for_the_kv_of_those_that_they_are_the_first_to_decode(tmp_path: Path) -> None:
    """`b` from the end of its prefill, 17500, to 18600; `c` from 24000 to 26200. `a` waited before the window."""
    found = device(hand_over(Scene()), tmp_path)
    assert (found.delayed_step_count, found.delayed_ns) == (2, 1_100 + 2_200)


def test_tokens_while_kv_arrived(tmp_path: Path) -> None:
    """From 12000 to 17000 and on to 22000 something of `b` arrives; from 33000 to 36000 nothing does.

    Between the last step of `a` and the first of `c` is no token of anybody.
    """
    found = device(hand_over(Scene()), tmp_path)
    arriving, free = found.token_ms_with_transfer, found.token_ms_without_transfer
    assert arriving is not None
    assert free is not None
    assert (arriving.count, arriving.min, arriving.max) == (2, 0.005, 0.005)
    assert (free.count, free.p50) == (1, 0.003)


def test_clocks_that_are_not_aligned_leave_what_came_before_unknown(tmp_path: Path) -> None:
    """KV is then on its way from its first receive on: `b` from 16000, `c` from 24400."""
    found = device(hand_over(Scene(files=2, shift=5_000_000)), tmp_path)
    assert reasons(found) == (5_200, 1_600 + 1_800, 0, 1_000 + 500 + 1_000, 0, 2_400)
    assert (found.delayed_step_count, found.delayed_ns) == (2, 1_600 + 1_800)


def test_aligned_clocks_tell_what_one_clock_tells(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    apart = device(hand_over(Scene(files=2, shift=5_000_000)), tmp_path, Aligned({"p": 0, "d": 5_000_000}))
    together = device(hand_over(Scene()), tmp_path / "x")
    assert (apart.uncertainty_ns, together.uncertainty_ns) == (0, None)
    assert replace(apart, trace_id="one", uncertainty_ns=None) == together


@pytest.mark.parametrize("doubt", [300, 700, 1_500, 3_500, 4_000])
def test_however_the_clocks_are_off_no_reason_is_off_by_more_than_is_said(doubt: int, tmp_path: Path) -> None:
    """But for what is not known at all, which may be any reason."""
    study = known(hand_over(Scene(files=2, shift=5_000_000)).write(tmp_path))
    told = of_clocks(study, Aligned({"p": 0, "d": 5_000_000}, doubt))
    assert told.uncertainty_ns is not None
    assert 0 < told.uncertainty_ns < told.idle_ns
    assert told.delayed_ns is not None
    nearest = 18_600 - 17_800  # sent, and there: where that is not told apart, it is left out
    assert (told.by_reason["unknown"] > 0) == (doubt == 4_000)
    for off in (-doubt, -doubt // 2, -1, 0, 1, doubt // 3, doubt):
        true = of_clocks(study, Aligned({"p": 0, "d": 5_000_000 + off}))
        for name in REASONS[:-1]:
            apart = abs(true.by_reason[name] - told.by_reason[name])
            assert apart <= told.uncertainty_ns + told.by_reason["unknown"], (name, off)
            assert doubt > nearest or apart <= 3 * doubt
        assert true.delayed_ns is not None
        assert abs(true.delayed_ns - told.delayed_ns) <= told.uncertainty_ns


def test_the_doubt_is_idle_time_near_an_event_of_another_clock(tmp_path: Path) -> None:
    """Idle within 300 of: `b` prefilled at 17500, sent at 17800; `c` at 22500, 24000 and 24500. `a` came before."""
    scene = hand_over(Scene(files=2, shift=5_000_000))
    found = device(scene, tmp_path, Aligned({"p": 0, "d": 5_000_000}, doubt=300))
    assert found.uncertainty_ns == (18_100 - 17_200) + (22_800 - 22_200) + (24_800 - 23_700)


def test_what_the_clocks_do_not_tell_apart_is_not_told(tmp_path: Path) -> None:
    """Prefill began 5000, 4600 and 3700 before all KV had arrived; it ended, and sends began, within 3000 of that.

    With 3500 ns of doubt only the starts of prefill are known, and it runs until something is received: from 15000 to
    15500, and from 22500 to 24400. With 4000 ns that of `c` is not known either.
    """
    ahead = {"p": 0, "d": 5_000_000}
    near = device(hand_over(Scene(files=2, shift=5_000_000)), tmp_path, Aligned(ahead, doubt=3_500))
    assert reasons(near) == (5_200, 3_400, 500 + 1_900, 1_000 + 1_000, 500, 0)
    (tmp_path / "x").mkdir()
    far = device(hand_over(Scene(files=2, shift=5_000_000)), tmp_path / "x", Aligned(ahead, doubt=4_000))
    assert reasons(far) == (5_200, 3_400, 500, 1_000 + 1_000, 0, 2_400)


def test_a_clock_that_begins_elsewhere_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    assert device(hand_over(Scene(shift=123_456_789)), tmp_path) == device(hand_over(Scene()), tmp_path / "x")


def test_steps_that_name_nobody(tmp_path: Path) -> None:
    """Who decodes, or is ready to, is not known: only prefill and transfers can be told, and nothing is free of them.

    Steps follow on each other where no longer pause than the first of them lies between.
    """
    found = device(hand_over(Scene(), named=False), tmp_path)
    assert reasons(found) == (0, 2_500, 3_300, 0, 0, 7_700)
    assert (found.delayed_step_count, found.delayed_ns) == (None, None)
    assert found.idle_while_pending_ns == 2_500
    arriving, free = found.token_ms_with_transfer, found.token_ms_without_transfer
    assert arriving is not None
    assert free is not None
    assert (arriving.count, free.count) == (2, 1)


def test_a_receive_that_names_nobody_may_be_of_anybody(tmp_path: Path) -> None:
    """Outside what is on its way for others it leaves open whether there was a request; inside it counts as theirs."""
    for folder, kernel, unknown in (("in", (24_600, 26_100), 0), ("out", (22_100, 22_200), 500)):
        scene = hand_over(Scene())
        scene.prefill.transfer("", kernel)
        scene.decode.transfer("", kernel)
        (tmp_path / folder).mkdir()
        found = device(scene, tmp_path / folder)
        assert (found.by_reason["no_request"], found.by_reason["unknown"]) == (500 - unknown, unknown)


def test_a_request_that_never_decodes_leaves_the_rest_unknown(tmp_path: Path) -> None:
    """`z` arrives in [22100, 22300): what became of it is not known. Prefilled [21000, 22000), sent then."""
    scene = hand_over(Scene())
    scene.prefill.step("z", (21_000, 22_000))
    scene.prefill.transfer("z", (22_100, 22_250))
    scene.decode.transfer("z", (22_050, 22_300))
    found = device(scene, tmp_path)
    # [22000, 22100) it is not sent yet, then on its way for 200, then nothing is known of it until `c` begins.
    assert reasons(found) == (5_200, 2_700, 3_400, 2_000, 0, 200)


def test_without_steps_all_kernels_of_a_device_that_decode_receives_on_count(tmp_path: Path) -> None:
    found = device(hand_over(Scene(files=2), steps=False), tmp_path)
    assert (found.gpu, found.basis, found.step_count) == ("gpu1", "kernels", 0)
    assert (found.active_ns, found.idle_ns) == (26_000, 13_500)
    assert found.by_reason["unknown"] == 13_500 - found.by_reason["transfer"]
    assert (found.token_ms_with_transfer, found.slowdown_ratio, found.delayed_ns) == (None, None, None)


def test_ordinals_that_nothing_maps_stay_apart(tmp_path: Path) -> None:
    """Two processes use ordinal 1 and nothing says whether that is one device: steps of both give two rows."""
    scene = hand_over(Scene(mapped=False))
    other = scene.builders[0].process(pid=99)
    thread = other.thread()
    other.kernel("gemm", 50_000, 51_000, device=1, launch=thread.launch(610, 612))
    thread.push_pop("kv_step step=9 phase=decode requests=q", 600, 620)
    found = decode_devices(*scene.known(tmp_path))
    assert found is not None
    assert [each.gpu for each in found] == ["gpu1", "gpu1/pid99"]
    assert [each.active_ns for each in found] == [26_000, 1_000]


def test_a_step_on_several_devices_is_a_step_of_each(tmp_path: Path) -> None:
    scene = hand_over(Scene())
    decode, begin = scene.decode, 5_000
    for index, (gpu, kernel) in enumerate(((0, (40_000, 41_000)), (1, (40_500, 42_000)))):
        launch = decode.engine.launch(begin + 10 * index + 1, begin + 10 * index + 3)
        decode.process.kernel("gemm", *kernel, device=gpu, launch=launch)
    decode.engine.push_pop("kv_step step=7 phase=decode requests=c", begin, begin + 50)
    found = decode_devices(*scene.known(tmp_path))
    assert found is not None
    assert [(each.gpu, each.step_count, each.active_ns) for each in found] == [("gpu0", 1, 1_000), ("gpu1", 6, 32_000)]


def test_no_decode_device(tmp_path: Path) -> None:
    scene = Scene()
    scene.prefill.step("a", (1_000, 2_000))
    scene.prefill.transfer("a", (2_000, 3_000))
    assert decode_devices(*scene.known(tmp_path)) is None


def test_kernels_are_compared_with_those_of_their_shape() -> None:
    """Shape 1 takes 12 beside a receive and 10 alone, shape 2 takes 40 and 20; shape 3 ran too seldom beside one.

    (9 · 12 + 8 · 40) / (9 · 10 + 8 · 20); kernels that a receive covers by less than half do not count.
    """
    rows: list[tuple[int, int, int]] = []
    covered, at = [], 0
    for shape, count, length, inside in (
        (1, 9, 12, 1.0), (1, 8, 10, 0.0), (2, 8, 40, 0.5), (2, 11, 20, 0.0), (3, 7, 9, 1.0), (3, 9, 9, 0.0),
        (1, 5, 90, 0.4),
    ):  # fmt: skip
        for _ in range(count):
            rows.append((shape, at, at + length))
            covered.append((at, at + round(length * inside)))
            at += 100
    work = pl.DataFrame(rows, schema={"shape": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64}, orient="row")
    beside = [span for span in covered if span[1] > span[0]]
    receives = Instants.of(np.array([start for start, _ in beside]), np.array([end for _, end in beside]))
    steps = pl.DataFrame({"start_ns": [0], "end_ns": [at]})
    ratio, count = slowdown(work.with_columns(is_compute=True), steps, receives)
    assert count == 17
    assert ratio == pytest.approx((9 * 12 + 8 * 40) / (9 * 10 + 8 * 20))
    assert slowdown(work.with_columns(is_compute=False), steps, receives) == (None, 0)
    assert slowdown(work.with_columns(is_compute=True), steps.with_columns(end_ns=100), receives) == (None, 0)


def test_steps_of_two_processes_on_one_device_do_not_follow_on_each_other() -> None:
    steps = pl.DataFrame(
        {"step_id": [0, 1, 2], "process": [1, 2, 1], "start_ns": [0, 5, 20], "end_ns": [10, 15, 30]},
        schema_overrides={"step_id": pl.UInt32},
    )
    held = pl.DataFrame({"step_id": [0, 1, 2], "request_id": ["a"] * 3}, schema_overrides={"step_id": pl.UInt32})
    arriving, free = token_times(steps, held, Instants.span(12, 14))
    assert free is None
    assert arriving is not None
    assert (arriving.count, arriving.p50) == (1, pytest.approx(20 / 1e6))


EVENTS = ("arrival", "prefill_start", "prefill_end", "sent", "ready", "begins", "ends")
_at = st.none() | st.integers(-5, 45)
_request = st.fixed_dictionaries(dict.fromkeys(EVENTS, _at))
_spans = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 6)).map(lambda each: (each[0], sum(each))), max_size=8)


def _lives(requests: list[dict[str, int | None]], others: list[tuple[int | None, int | None]], by: int) -> Lives:
    def moved(at: int | None) -> int | None:
        return None if at is None else at + by

    rows = [(f"r{index}", *(moved(each[name]) for name in EVENTS)) for index, each in enumerate(requests)]
    schema = {"request_id": pl.String, **dict.fromkeys(EVENTS, pl.Int64)}
    elsewhere = [(moved(begin), moved(end)) for begin, end in others]
    return Lives(
        pl.DataFrame(rows, schema=schema, orient="row"),
        pl.DataFrame(elsewhere, schema={"begins": pl.Int64, "ends": pl.Int64}, orient="row"),
        complete=True,
    )


def _state(at: int, requests: list[dict[str, int | None]], others: list[tuple[int | None, int | None]]) -> str:
    """Why nothing ran at an instant, one request after the other."""

    def within(begin: int | None, end: int | None, decode: int | None) -> bool:
        return begin is not None and end is not None and begin <= at < end and (decode is None or at < decode)

    def any_of(begin: str, end: str, *, waits: bool = True) -> bool:
        return any(within(each[begin], each[end], each["begins"] if waits else None) for each in requests)

    if any_of("ready", "begins"):
        return "kv_ready"
    if any_of("sent", "ready"):
        return "transfer"
    for each in requests:
        until = each["prefill_end"] if each["sent"] is None else each["sent"]
        if within(each["prefill_start"], until, each["begins"]):
            return "prefill_running"
    if any_of("begins", "ends", waits=False):
        return "between_steps"
    came = [[each[name] for name in ("arrival", "prefill_start") if each[name] is not None] for each in requests]
    lives = [(min(begin, default=None), each["ends"]) for begin, each in zip(came, requests, strict=True)] + others
    perhaps = any((begin is None or begin <= at) and (end is None or at < end) for begin, end in lives)
    return "unknown" if perhaps else "no_request"


@given(
    st.lists(_request, max_size=4), st.lists(st.tuples(_at, _at), max_size=1), _spans, st.integers(-(10**15), 10**15)
)
def test_every_idle_nanosecond_has_its_reason(
    requests: list[dict[str, int | None]],
    others: list[tuple[int | None, int | None]],
    busy: list[tuple[int, int]],
    shift: int,
) -> None:
    window = range(2, 40)
    ran = {at for start, end in busy for at in range(start, end)}
    both = np.array(busy, dtype=np.int64).reshape(-1, 2) + shift
    found = idle(
        Instants.span(window.start + shift, window.stop + shift),
        Instants.of(both[:, 0], both[:, 1]),
        _lives(requests, others, shift),
    )
    told = [_state(at, requests, others) for at in window if at not in ran]
    assert found.by_reason == {name: told.count(name) for name in REASONS}
    assert found.idle_ns == sum(found.by_reason.values()) == found.active_ns - len(ran & set(window))


@given(st.lists(_request, max_size=4), _spans)
def test_waiting_for_kv_is_counted_once(requests: list[dict[str, int | None]], busy: list[tuple[int, int]]) -> None:
    """Per request and nanosecond: idle since the last compute before its first step, prefilled and not yet there."""
    ran = {at for start, end in busy for at in range(start, end)}
    both = np.array(busy, dtype=np.int64).reshape(-1, 2)
    found = idle(Instants.span(2, 40), Instants.of(both[:, 0], both[:, 1]), _lives(requests, [], 0))
    waited, steps, known_any = set(), set(), False
    for each in requests:
        begins, ready = each["begins"], each["ready"]
        if begins is None or ready is None:
            continue
        known_any = True
        pending = next(each[name] for name in ("prefill_end", "sent", "ready") if each[name] is not None)
        at = begins - 1
        while at >= 2 and at not in ran:
            if pending <= at < ready:
                waited.add(at)
                steps.add(begins)
            at -= 1
    assert (found.delayed_step_count, found.delayed_ns) == ((len(steps), len(waited)) if known_any else (None, None))


def test_the_sample_counted_nanosecond_by_boundary(sample: Callable[[str], Path]) -> None:
    """`pd-oneprofile` from its own rows: all instants between two neighbouring boundaries are alike."""
    path = sample("synthetic/pd-oneprofile.sqlite")
    found = decode_devices(*known([path]))
    assert found is not None
    assert len(found) == 1
    assert found[0].step_count == 49  # the last of which ends with the recording
    idle_ns, told = _from_rows(path)
    assert found[0].idle_ns == idle_ns
    assert dict(found[0].by_reason) == told


def _from_rows(path: Path) -> tuple[int, dict[str, int]]:
    with closing(sqlite3.connect(path)) as file:
        names = dict(file.execute("SELECT id, value FROM StringIds"))
        calls = {
            (thread // 2**24, correlation): at
            for at, thread, correlation in file.execute(
                "SELECT start, globalTid, correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME"
            )
        }
        kernels = [
            (device, start, end, names[name], calls[pid // 2**24, correlation], pid // 2**24)
            for device, start, end, name, correlation, pid in file.execute(
                "SELECT deviceId, start, end, demangledName, correlationId, globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL"
            )
        ]
        ranges = [
            (text, start, end, thread // 2**24)
            for text, start, end, thread in file.execute(
                "SELECT text, start, end, globalTid FROM NVTX_EVENTS WHERE eventType = 59"
            )
            if text and text.startswith("kv_")
        ]
    compute = [each for each in kernels if "nccl" not in each[3]]
    seen: dict[str, dict[str, list[int]]] = {}
    first = last = None
    for text, start, end, process in ranges:
        said = dict(word.split("=", 1) for word in text.split()[1:])
        inside = [each for each in kernels if start <= each[4] < end and each[5] == process]
        if text.startswith("kv_step"):
            ran = [each for each in inside if "nccl" not in each[3]]
            begin, stop = min(each[1] for each in ran), max(each[2] for each in ran)
            if said["phase"] == "decode":
                first, last = min(begin, first or begin), max(stop, last or stop)
            for request in said["requests"].split(","):
                seen.setdefault(request, {}).setdefault(said["phase"], []).extend((begin, stop))
        elif text.startswith("kv_transfer"):
            (kernel,) = [each for each in inside if "SendRecv" in each[3]]
            seen.setdefault(said["request"], {}).setdefault(said["op"], []).extend(kernel[1:3])
    assert first is not None
    assert last is not None
    spans = {name: [] for name in REASONS[:4]}
    for each in seen.values():
        begins, ends, sent, ready = min(each["decode"]), max(each["decode"]), min(each["send"]), max(each["recv"])
        spans["kv_ready"].append((ready, begins))
        spans["transfer"].append((sent, ready))
        spans["prefill_running"].append((min(each["prefill"]), sent))
        spans["between_steps"].append((begins, ends))
    busy = [(each[1], each[2]) for each in compute if each[0] == 1]
    edges = sorted({edge for group in (busy, *spans.values()) for span in group for edge in span} | {first, last})
    told, idle_ns = dict.fromkeys(REASONS, 0), 0
    for low, high in pairwise(edges):
        if low < first or high > last or any(start <= low < end for start, end in busy):
            continue
        idle_ns += high - low
        holding = [name for name in REASONS[:4] if any(start <= low < end for start, end in spans[name])]
        told[holding[0] if holding else "no_request"] += high - low
    return idle_ns, told
