"""What is true of the run of `pd-two-hosts`, worked out from its plan in true time by plain arithmetic."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from recipes.clocks import Clock, apart, apart_by_utc
from recipes.plan import Answers, Kernel, Operation, Plan, known_answers
from recipes.twofiles_asked import ASKED, EARLY, LATE, LAYERS
from recipes.twofiles_plan import SLOWDOWN, Message, Run, Span

THRESHOLD = 0.20
PREFILL, DECODE = "pd-two-hosts-prefill", "pd-two-hosts-decode"
RANKS = (PREFILL, DECODE)
PIDS = {PREFILL: 111, DECODE: 222}
_EVER = 1 << 62

Clocks = dict[str, Clock]


def operations(run: Run, clocks: Clocks, names: Sequence[str]) -> Plan:
    """The calls in some of the files, each on the clock of its own.

    Args:
        run: The plan.
        clocks: By file.
        names: The files.
    """
    plan = Plan()

    def one(name: str, side: str, message: Message, kernel: Span, which: str) -> None:
        clock, peer = clocks[name], 1 - RANKS.index(name)
        where = Kernel(PIDS[name], clock.at(kernel.start), clock.at(kernel.end))
        order = len(plan.operations)
        plan.add(Operation(side, peer, message.nbytes, order, which, where, message.layer, message.request))

    for number, message in enumerate([*run.messages, *run.acknowledgements]):
        way = RANKS if message.layer is not None else RANKS[::-1]
        for name, side, kernel in zip(way, ("send", "recv"), (message.send, message.recv), strict=True):
            if name in names:
                one(name, side, message, kernel, str(number))
    return plan


def answers(run: Run, clocks: Clocks) -> Answers:
    """All that is known, with what is true of each file alone under `files`."""
    told = known_answers(operations(run, clocks, RANKS), LAYERS, ASKED)
    told["clock"] = _clock(run, clocks)
    told["paths"] = {request: _path(run, request) for request in ASKED}
    told["decode"] = _decode(run)
    told["prefill"] = {
        "step_count": len(run.prefill),
        "step_ns": sum(step.gpu.end - step.gpu.start for step in run.prefill),
        "stall_ns": _stall(run),
    }
    told["files"] = {name: known_answers(operations(run, clocks, [name]), LAYERS, ASKED) for name in RANKS}
    return told


def _clock(run: Run, clocks: Clocks) -> Answers:
    middle = run.end // 2
    by_utc = apart_by_utc(clocks[PREFILL], clocks[DECODE], middle)
    told: Answers = {
        "base": PREFILL,
        "other": DECODE,
        "middle_ns": middle,
        "session_offset_ns": apart(clocks[PREFILL], clocks[DECODE], middle),
        "drift_ppm": clocks[DECODE].drift_ppm,
    }
    return told if by_utc is None else told | {"offset_ns": by_utc}


def _events(run: Run, request: str) -> dict[str, int | None]:
    """When a request came where; None where it did so outside the capture."""
    prefill = [run.prefill[number].gpu for number in run.held(request, "prefill")]
    decode = [run.decode[number].gpu for number in run.held(request, "decode")]
    return {
        "arrival": ASKED[request].arrival,
        "prefill_start": None if request == EARLY else prefill[0].start,
        "prefill_end": prefill[-1].end,
        "first_send": min(message.send.start for message in run.of(request)),
        "last_recv": run.arrived(request),
        "decode_start": decode[0].start if decode else None,
        "decode_end": decode[0].end if decode else None,
        "last_token": decode[-1].end if decode else None,
    }


def _path(run: Run, request: str) -> Answers:
    """The segments of one request's path, and its verdict."""
    at = _events(run, request)
    assert at["prefill_end"] is not None  # noqa: S101 (every request is prefilled)
    assert at["first_send"] is not None  # noqa: S101 (and sent)
    sent = max(at["first_send"], at["prefill_end"])
    ends = {
        "queue_ns": (at["arrival"], at["prefill_start"]),
        "prefill_ns": (at["prefill_start"], at["prefill_end"]),
        "handoff_ns": (at["prefill_end"], sent),
        "overlap_ns": (min(at["first_send"], at["prefill_end"]), at["prefill_end"]),
        "transfer_span_ns": (sent, at["last_recv"]),
        "ready_to_decode_ns": (at["last_recv"], at["decode_start"]),
        "first_decode_ns": (at["decode_start"], at["decode_end"]),
        "kv_gap_ns": (at["prefill_end"], at["decode_start"]),
        "path_ns": (at["arrival"], at["decode_end"]),
    }
    told: Answers = {name: end - begin for name, (begin, end) in ends.items() if begin is not None and end is not None}
    gap, path = told.get("kv_gap_ns"), told.get("path_ns")
    known = isinstance(gap, int) and isinstance(path, int)
    over = known and gap / path > THRESHOLD  # type: ignore[operator]
    return told | {
        "prefill_steps": len(run.held(request, "prefill")),
        "decode_steps": len(run.held(request, "decode")),
        "attempts": max(message.attempt for message in run.of(request)),
        "verdict": "unknown" if not known else "over" if over else "ok",
        "cut": {EARLY: "start", LATE: "end"}.get(request, "no"),
    }


def _decode(run: Run) -> Answers:
    """What the decode GPU did between its first and its last kernel."""
    busy = [work.gpu for step in run.decode for work in step.work]
    gaps = [Span(one.end, other.start) for one, other in pairwise(sorted(busy)) if one.end < other.start]
    states = _states(run)
    by_reason = dict.fromkeys((*states, "unknown"), 0)
    for gap in gaps:
        inside = {edge for spans in states.values() for span in spans for edge in span if gap.start < edge < gap.end}
        for begin, end in pairwise(sorted({*gap, *inside})):
            holding = (name for name, spans in states.items() if any(s.start <= begin < s.end for s in spans))
            by_reason[next(holding, "unknown")] += end - begin
    waits = list(_waits(run))
    return {
        "step_count": len(run.decode),
        "active_ns": max(busy).end - min(busy).start,
        "idle_ns": sum(gap.end - gap.start for gap in gaps),
        "by_reason": by_reason,
        "delayed_step_count": len(waits),
        "delayed_ns": sum(start - free for free, _, start in waits),
        "awaited_ns": sum(arrived - free for free, arrived, _ in waits),
        "slowdown_ratio": SLOWDOWN[0] / SLOWDOWN[1],
    }


def _states(run: Run) -> dict[str, list[Span]]:
    """When any request was in a state that explains an idle GPU, the strongest explanation first."""
    states: dict[str, list[Span]] = {
        name: [] for name in ("kv_ready", "transfer", "prefill_running", "between_steps", "no_request")
    }
    alive = []
    for request in ASKED:
        at = _events(run, request)
        begun, done = at["prefill_start"], at["last_token"]
        sent, arrived = at["first_send"] or 0, at["last_recv"] or 0
        started = _EVER if at["decode_start"] is None else at["decode_start"]
        states["kv_ready"].append(Span(arrived, started))
        states["transfer"].append(Span(sent, arrived))
        states["prefill_running"].append(Span(-_EVER if begun is None else begun, max(sent, at["prefill_end"] or 0)))
        states["between_steps"].append(Span(started, _EVER if done is None else done))
        alive.append(Span(-_EVER if at["arrival"] is None else at["arrival"], _EVER if done is None else done))
    states["no_request"] = _complement(alive)
    return states


def _complement(spans: Iterable[Span]) -> list[Span]:
    free, left = -_EVER, []
    for span in sorted(spans):
        if span.start > free:
            left.append(Span(free, span.start))
        free = max(free, span.end)
    return [*left, Span(free, _EVER)]


def _waits(run: Run) -> Iterable[tuple[int, int, int]]:
    """Steps that found their new requests' KV not yet there when the step before ended: its end, arrival, start."""
    for number, (one, other) in enumerate(pairwise(run.decode)):
        new = [request for request in other.requests if run.held(request, "decode")[0] == number + 1]
        arrived = max((run.arrived(request) for request in new), default=0)
        if arrived > one.gpu.end:
            yield one.gpu.end, arrived, other.gpu.start


def _stall(run: Run) -> int:
    """Time within prefill steps in which a send ran and no compute did."""
    sends = [message.send for message in run.messages]
    total = 0  # sends of one stream never overlap
    for step in run.prefill:
        for one, other in pairwise(step.work):
            total += sum(max(0, min(s.end, other.gpu.start) - max(s.start, one.gpu.end)) for s in sends)
    return total
