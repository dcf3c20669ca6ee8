"""`pd-grouped`: NCCL groups fused into one kernel, payloads as blobs, names only from the ranges around the calls.

The prefill rank sends each layer to two decode ranks, keys and values apart: four Sends in one group, one kernel.
One of the decode ranks is in the report, the other ran elsewhere, so half of the sends have no receive. Values are
quantised to 8 bits, so the operations of a kernel differ in size. Beside them: an all-to-all that is no KV
transfer, a kernel whose call is not in the file, a call whose kernel is not.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path

from nsysparse.testing import Process, Thread, TraceBuilder
from recipes.plan import Kernel, Operation, Plan

LAYERS = 32
PROMPTS = {f"req-{n}": tokens for n, tokens in enumerate((333, 517, 129, 801, 450), start=1)}
KEY_BYTES, VALUE_BYTES = 1024, 512  # per token, layer and decode rank: 4 of 8 heads of 128, 2 bytes and 1 byte

KV_COMMUNICATOR = 0x5EED0FCAFEF00D00
WORLD_COMMUNICATOR = 0xFEEDFACECAFEBEEF
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"
COMPUTE = "nvjet_tst_128x256_64x4_2x1_v_bz_TNT"
WIRE_GB_S = 40
FIXED_NS = 14_000
COMPUTE_STREAM, NCCL_STREAM = 7, 20
PREFILL_RANK, DECODE_RANK, OTHER_DECODE_RANK = 0, 1, 2


@dataclass
class Run:
    """The two processes and what has been planned so far; all times ns."""

    rng: random.Random
    prefill: Process
    decode: Process
    forward: Thread
    receiver: Thread
    plan: Plan = field(default_factory=Plan)
    taken_free: int = 0  # when the decode rank's NCCL stream falls idle
    taken_host: int = 0  # when its thread has made its last call

    def between(self, low: int, high: int) -> int:
        """A random number of ns; `random()` is the one method whose sequence Python promises to keep."""
        return low + int(self.rng.random() * (high - low))


@dataclass(frozen=True)
class Move:
    """One Send or Recv of a group."""

    call: str
    peer: int
    nbytes: int
    movement: str


def build(path: Path, seed: int) -> Plan:
    """Write the trace and return what happened in it."""
    trace = TraceBuilder(
        schema="3.27",
        gpus={0: "NVIDIA H100 80GB HBM3", 1: "NVIDIA H100 80GB HBM3"},
        notice="synthetic: grouped KV sends to two decode ranks, invented by sample_traces/generate.py, not measured",
    )
    prefill, decode = trace.process(pid=111, domains={"NCCL": 3}), trace.process(pid=222)
    rng = random.Random(seed)  # noqa: S311 (a reproducible trace needs a seeded generator)
    run = Run(rng, prefill, decode, prefill.thread(), decode.thread())
    for rank, (thread, late) in enumerate(((run.forward, 0), (run.receiver, 20_000))):
        for communicator, nranks, start in ((KV_COMMUNICATOR, 3, 300_000), (WORLD_COMMUNICATOR, 2, 800_000)):
            thread.nccl(
                "ncclCommInitRank",
                start + late,
                start + 450_000,
                communicator=communicator,
                nranks=nranks,
                rank=rank,
                device=rank,
                payload="blob",
            )
    # Launched before the capture began, so its call is not in the file.
    orphan = Kernel(decode.pid, 150_000, 233_000)
    decode.kernel(SEND_RECV, orphan.start, orphan.end, device=1, stream=NCCL_STREAM, correlation=900_001)
    run.plan.kernels_without_call.append(orphan)

    now = 1_500_000
    for request, tokens in PROMPTS.items():
        now = _serve(run, request, tokens, now) + 180_000
    _all_to_all(run, max(now, run.taken_free) + 500_000)
    trace.shuffle(seed)
    trace.write(path)
    return run.plan


def _serve(run: Run, request: str, tokens: int, start: int) -> int:
    """Prefill one request layer by layer, sending each layer as soon as it is there; returns when the GPU is done."""
    host, gpu_free, sent_free = start + 5_000, start, start
    take = max(run.taken_host + 20_000, start + run.between(50_000, 250_000))
    taken_start = take
    sizes = {"k": tokens * KEY_BYTES, "v": tokens * VALUE_BYTES}
    for layer in range(LAYERS):
        layer_start = host
        launch = run.forward.launch(host + 1_000, host + 4_000)
        compute_start = max(gpu_free + 900, host + 7_000)
        gpu_free = compute_start + 30_000 + 400 * tokens + run.between(0, 900)
        run.prefill.kernel(COMPUTE, compute_start, gpu_free, stream=COMPUTE_STREAM, launch=launch, gridX=132)

        names = {
            (kind, peer): f"{request}/{layer}/{kind}/{peer}"
            for peer in (DECODE_RANK, OTHER_DECODE_RANK)
            for kind in sizes
        }
        sends = [Move("ncclSend", peer, sizes[kind], name) for (kind, peer), name in names.items()]
        takes = [Move("ncclRecv", PREFILL_RANK, sizes[k], names[k, DECODE_RANK]) for k in sizes]
        send_start = max(gpu_free, sent_free, host + 25_000) + 2_000
        take_start = max(run.taken_free, take + 20_000) + 2_000
        wire = FIXED_NS + int(sum(sizes.values()) / WIRE_GB_S)
        both = max(send_start, take_start) + wire
        # The send kernel also waits for the other decode rank, which may take longer.
        send = Kernel(run.prefill.pid, send_start, both + run.between(0, 20_000))
        taken = Kernel(run.decode.pid, take_start, both + run.between(500, 4_000))
        host = _group(run, (run.prefill, run.forward), sends, host + 6_000, send, layer=layer, request=request)
        if (request, layer) == (max(PROMPTS), LAYERS - 1):
            host = _cut_off(run, host + 1_000, layer, request)
        run.forward.push_pop(f"model.layers.{layer}", layer_start, host)

        end = _group(run, (run.decode, run.receiver), takes, take + 2_000, taken, layer=layer, request=request)
        run.receiver.push_pop(f"model.layers.{layer}", take, end + 1_000)
        host, take = host + 1_500, end + 2_500
        sent_free, run.taken_free = send.end, taken.end
    run.forward.push_pop(f"request:{request}", start, host)
    run.receiver.push_pop(f"request:{request}", taken_start - 5_000, take)
    run.taken_host = take
    return max(gpu_free, sent_free, host)


def _group(
    run: Run,
    who: tuple[Process, Thread],
    moves: list[Move],
    start: int,
    kernel: Kernel,
    *,
    communicator: int = KV_COMMUNICATOR,
    **known: object,
) -> int:
    """GroupStart, the calls, GroupEnd with the launch inside it; returns when the host is through."""
    process, thread = who
    rank = PREFILL_RANK if process is run.prefill else DECODE_RANK
    thread.nccl("ncclGroupStart", start, start + 400)
    now = start + 600
    for move in moves:
        thread.nccl(
            move.call,
            now,
            now + 900,
            communicator=communicator,
            nbytes=move.nbytes,
            peer=move.peer,
            payload="blob",
        )
        side = "send" if move.call == "ncclSend" else "recv"
        issue = len(run.plan.operations)
        run.plan.add(Operation(side, move.peer, move.nbytes, issue, move.movement, kernel, **known))  # type: ignore[arg-type]
        now += 1_100
    launch = thread.launch(now + 2_000, now + 6_500, "cuLaunchKernelEx", eventClass=1)
    thread.nccl("ncclGroupEnd", now, now + 8_000)
    process.kernel(
        SEND_RECV, kernel.start, kernel.end, device=rank, stream=NCCL_STREAM, launch=launch, gridX=16, blockX=640
    )
    return now + 8_000


def _cut_off(run: Run, start: int, layer: int, request: str) -> int:
    """A Send whose kernel the capture no longer saw."""
    run.forward.nccl(
        "ncclSend",
        start,
        start + 9_000,
        communicator=KV_COMMUNICATOR,
        nbytes=4_096,
        peer=OTHER_DECODE_RANK,
        payload="blob",
    )
    run.forward.launch(start + 3_000, start + 7_000)
    issue = len(run.plan.operations)
    run.plan.add(Operation("send", OTHER_DECODE_RANK, 4_096, issue, "cut off", None, layer, request))
    return start + 9_500


def _all_to_all(run: Run, start: int) -> None:
    """What torch's all-to-all leaves: each rank sends to all, itself included, in one group under torch's range."""
    ends = (start + 260_000, start + 262_000)
    for rank, (process, thread) in enumerate(((run.prefill, run.forward), (run.decode, run.receiver))):
        kernel = Kernel(process.pid, start + 60_000 + 70_000 * rank, ends[rank])
        moves = []
        for peer in (0, 1):
            moves.append(Move("ncclSend", peer, 65_536, f"a2a/{rank}/{peer}"))
            moves.append(Move("ncclRecv", peer, 65_536, f"a2a/{peer}/{rank}"))
        called = start + 40_000 * rank
        end = _group(
            run, (process, thread), moves, called + 8_000, kernel, communicator=WORLD_COMMUNICATOR, is_kv=False
        )
        thread.push_pop(f"nccl:all_to_all, op_id = {4_711 + rank}", called, end + 5_000)
