"""The run of `pd-two-hosts` in true time, before any clock has seen it: what both hosts and both GPUs did.

A decode kernel is slower if a receive runs when it begins. Nothing but a few µs is left to chance.
"""

import heapq
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from recipes.twofiles_asked import ASKED, BYTES_PER_TOKEN, LATE, LAYERS, STEPS

ACK_BYTES = 4096
CHANNELS = 2  # blocks of a SendRecv kernel: up to 2 x 4 MiB of a message may be buffered
STAGING_BYTES = CHANNELS * 2**22
SLOWDOWN = (5, 4)  # a decode kernel takes 5/4 of its time while a receive runs
PREFILL_KERNELS = {
    "nvjet_tst_128x256_64x4_2x1_v_bz_TNT": 50,  # % of a layer
    "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>, true>(flash::Flash_fwd_params)": 20,
    "nvjet_tst_256x128_64x4_1x2_h_bz_coopA_TNT": 30,
}
DECODE_KERNELS = {
    "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>(flash::Flash_fwd_params)": 112_000,
    "nvjet_tst_64x8_64x16_4x1_v_bz_TNT": 168_000,  # ns
}
_WIRE_BYTES_PER_US = 20_000
_FIXED_NS = 12_000  # of a message, whatever its size


class Span(NamedTuple):
    """A half-open interval of true time, ns."""

    start: int
    end: int


@dataclass(frozen=True)
class Work:
    """One compute kernel: its name, its call and its time on the GPU."""

    name: str
    call: Span
    gpu: Span
    layer: int


@dataclass(frozen=True)
class Step:
    """One iteration of an engine: its range on the host, and the kernels launched inside."""

    requests: Mapping[str, int]
    host: Span
    work: tuple[Work, ...]

    @property
    def gpu(self) -> Span:
        """From its first to its last kernel."""
        return Span(self.work[0].gpu.start, self.work[-1].gpu.end)


@dataclass(frozen=True)
class Message:
    """What both sides say and do about one message; an acknowledgement has no layer and goes back to prefill."""

    request: str
    layer: int | None
    nbytes: int
    send_call: int
    recv_call: int
    send: Span
    recv: Span
    chunk: tuple[int, int] | None = None
    attempt: int = 1


@dataclass
class Run:
    """Everything that happened."""

    jitter_ns: int
    rng: random.Random
    prefill: list[Step] = field(default_factory=list)
    decode: list[Step] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    acknowledgements: list[Message] = field(default_factory=list)
    layer_done: dict[tuple[int, int], int] = field(default_factory=dict)  # step and layer to the end of its compute
    end: int = 0

    def between(self, low: int, high: int) -> int:
        """A random number of ns; `random()` is the one method whose sequence Python promises to keep."""
        return low + int(self.rng.random() * (high - low))

    def held(self, request: str, phase: str) -> list[int]:
        """Numbers of the steps that hold a request."""
        return [number for number, step in enumerate(getattr(self, phase)) if request in step.requests]

    def of(self, request: str) -> list[Message]:
        """Its messages to decode."""
        return [message for message in self.messages if message.request == request]

    def arrived(self, request: str) -> int:
        """When the last of its KV had come."""
        return max(message.recv.end for message in self.of(request))


def simulate(seed: int, *, jitter_ns: int, two_way: bool) -> Run:
    """What happens, always the same for the same seed.

    Args:
        seed: Of the few µs that are left to chance.
        jitter_ns: How long after its send a receive may end.
        two_way: Whether decode acknowledges each request.
    """
    run = Run(jitter_ns, random.Random(seed))  # noqa: S311 (a reproducible trace needs a seeded generator)
    _prefill(run)
    _transfer(run)
    if two_way:
        run.acknowledgements = [_acknowledge(run, request) for request in ASKED]
    _decode(run)
    run.end = max(message.recv.end for message in run.messages) + 800_000
    return run


def _prefill(run: Run) -> None:
    """Step by step, layer by layer; the host launches a whole step ahead of the GPU."""
    free = 3_000_000
    for number, tokens in enumerate(STEPS):
        begin = max(free + 45_000, *((ASKED[request].arrival or 0) + 60_000 for request in tokens))
        now, work = begin + 8_000, []
        for layer in range(LAYERS):
            for index, (name, share) in enumerate(PREFILL_KERNELS.items()):
                call = Span(now, now + 3_000)
                gap = run.between(20_000, 42_000) if index == 0 and layer else 900
                start = max(free + gap, call.end + 5_000)
                free = start + sum(tokens.values()) * 9 * share
                work.append(Work(name, call, Span(start, free), layer))
                now += 5_000
            run.layer_done[number, layer] = free
            now += 3_000
        run.prefill.append(Step(tokens, Span(begin, now + 4_000), tuple(work)))


def _sendable(run: Run) -> Iterator[tuple[int, str, int, int, tuple[int, int] | None]]:
    """When what can leave: request, layer, bytes, chunk."""
    for request, asked in ASKED.items():
        steps = run.held(request, "prefill")
        if asked.hand_over is not None:
            ready = run.layer_done[steps[-1], LAYERS - 1] + asked.hand_over
            yield from (
                (ready + layer, request, layer, asked.prompt * BYTES_PER_TOKEN, None) for layer in range(LAYERS)
            )
            continue
        for index, step in enumerate(steps):
            chunk = (index, len(steps)) if len(steps) > 1 else None
            for layer in range(LAYERS):
                ready = run.layer_done[step, layer] + 15_000
                yield ready, request, layer, STEPS[step][request] * BYTES_PER_TOKEN, chunk


def _transfer(run: Run) -> None:
    """One message after the other, in the order in which they could leave."""
    waiting = list(_sendable(run))
    heapq.heapify(waiting)
    attempts = dict.fromkeys(ASKED, 1)
    send_call = recv_call = send_free = recv_free = 0
    while waiting:
        ready, request, layer, nbytes, chunk = heapq.heappop(waiting)
        asked = ASKED[request]
        wire = _FIXED_NS + nbytes * 1000 // _WIRE_BYTES_PER_US
        send_call = max(ready, send_call + 14_000)
        start = max(send_call + 11_000, send_free + 1_500)
        wanted = ready - 180_000 if asked.late is None else start + asked.late
        recv_call = max(wanted, recv_call + 14_000)
        taken = max(recv_call + 11_000, recv_free + 1_500)
        # What fits the buffers leaves though nobody takes it yet.
        send_free = (start if nbytes <= STAGING_BYTES else max(start, taken)) + wire
        recv_free = max(max(start, taken) + wire, send_free) + run.between(0, run.jitter_ns)
        spans = Span(start, send_free), Span(taken, recv_free)
        run.messages.append(
            Message(request, layer, nbytes, send_call, recv_call, *spans, chunk=chunk, attempt=attempts[request])
        )
        if asked.again is not None and attempts[request] == 1 and layer == LAYERS - 1:
            attempts[request] = 2
            for each in range(LAYERS):
                heapq.heappush(waiting, (recv_free + asked.again + each, request, each, nbytes, None))


def _acknowledge(run: Run, request: str) -> Message:
    """Decode tells prefill that it has a request's KV, so that its blocks can be freed."""
    awaited = max(message.send.end for message in run.of(request)) + 8_000
    call = run.arrived(request) + 20_000
    recv, send = awaited + 11_000, call + 9_000
    end = max(recv, send) + 9_000
    return Message(
        request, None, ACK_BYTES, call, awaited, Span(send, end), Span(recv, end + run.between(0, run.jitter_ns))
    )


def _decode(run: Run) -> None:
    """Steps over all requests whose KV the scheduler has seen, until each has its tokens."""
    receives = sorted(message.recv for message in run.messages)
    seen = {request: run.arrived(request) + asked.admitted for request, asked in ASKED.items() if request != LATE}
    left = {request: asked.output for request, asked in ASKED.items() if request != LATE}
    now = 0
    while left:
        now = max(now, min(seen[request] for request in left))
        active = [request for request in left if seen[request] <= now]
        call, free, work = now + 8_000, now + 18_000, []
        for layer in range(LAYERS):
            for name, length in DECODE_KERNELS.items():
                beside = any(recv.start <= free < recv.end for recv in receives)
                gpu = Span(free, free + (length * SLOWDOWN[0] // SLOWDOWN[1] if beside else length))
                work.append(Work(name, Span(call, call + 2_500), gpu, layer))
                call, free = call + 4_000, gpu.end + 1_200
        run.decode.append(Step(dict.fromkeys(active, 1), Span(now, call + 4_000), tuple(work)))
        now = free + run.between(90_000, 160_000)
        for request in active:
            left[request] -= 1
            if not left[request]:
                del left[request]
