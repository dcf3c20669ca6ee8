"""`pd-oneprofile`: prefill and decode on two GPUs in one report, one ungrouped Send and Recv a layer, fully annotated.

Shaped like a serving engine whose NCCL connector has a thread of its own: the forward thread computes, a sender
thread passes each layer on, a receiver thread of the decode process takes it. Half of the requests send each layer
as soon as it is computed, the other half send all layers after prefill. Some calls carry no annotation.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from nsysparse.testing import Process, Thread, TraceBuilder
from recipes.plan import Kernel, Operation, Plan

LAYERS = 32
PROMPTS = {f"req-{n}": tokens for n, tokens in enumerate((512, 1024, 256, 2048, 768, 128, 1536, 384))}
BYTES_PER_TOKEN = 4096  # and layer: K and V, 8 heads of 128, 2 bytes each
OUTPUT_TOKENS = 16
AFTER_PREFILL = {"req-1", "req-3", "req-4", "req-6"}  # these send nothing before their prefill has ended
RECEIVER_FIRST = {"req-2", "req-5"}  # the receiver is there before the sender; for the others the sender waits
UNANNOTATED = {("req-6", 5), ("req-6", 17), ("req-6", 29)}

KV_COMMUNICATOR = 0xC0FFEE11D15A66E2  # above 2^63, as hashes often are
WORLD_COMMUNICATOR = 0x11D15A66E2C0FFEE
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_u64_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"
COMPUTE = {
    "nvjet_tst_128x256_64x4_2x1_v_bz_TNT": 0.5,
    "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4>, true>(flash::Flash_fwd_params)": 0.2,
    "nvjet_tst_256x128_64x4_1x2_h_bz_coopA_TNT": 0.3,
}
WIRE_GB_S = 40
FIXED_NS = 12_000  # set-up of one transfer, whatever its size
COMPUTE_STREAM, SEND_STREAM, RECV_STREAM = 7, 21, 23


@dataclass
class Run:
    """The two processes and what has been planned so far; all times ns."""

    rng: random.Random
    prefill: Process
    decode: Process
    forward: Thread
    sender: Thread
    engine: Thread
    receiver: Thread
    plan: Plan = field(default_factory=Plan)
    arrived: dict[str, int] = field(default_factory=dict)
    layer_done: dict[tuple[str, int], int] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    pulled: dict[str, tuple[int, int]] = field(default_factory=dict)  # first receive posted, last one done

    def between(self, low: int, high: int) -> int:
        """A random number of ns; `random()` is the one method whose sequence Python promises to keep."""
        return low + int(self.rng.random() * (high - low))


def build(path: Path, seed: int, slowed: Mapping[int, float] = MappingProxyType({})) -> Plan:
    """Write the trace and return what happened in it; `slowed` layers have only this share of the wire's rate."""
    trace = TraceBuilder(
        schema="3.25",
        gpus={0: "NVIDIA H100 80GB HBM3", 1: "NVIDIA H100 80GB HBM3"},
        notice="synthetic: prefill and decode of Llama-3-8B shape, invented by sample_traces/generate.py, not measured",
    )
    prefill, decode = trace.process(pid=111), trace.process(pid=222, domains={"NCCL": 1, "kvx": 2})
    run = Run(
        random.Random(seed),  # noqa: S311 (a reproducible trace needs a seeded generator)
        prefill,
        decode,
        prefill.thread(),
        prefill.thread(113, "kv-send"),
        decode.thread(),
        decode.thread(224, "kv-recv"),
    )
    _start_up(run)
    _prefill(run)
    _transfer(run, slowed)
    _decode(run)
    trace.shuffle(seed)
    trace.write(path)
    return run.plan


def _start_up(run: Run) -> None:
    """Roles, communicators, and one all-reduce a process that is no KV transfer."""
    run.forward.mark("kv_role role=prefill rank=0 tp=1 pp=1 model=llama-3-8b", 100_000, domain="kvx")
    run.engine.mark("kv_role role=decode rank=1 tp=1 pp=1 model=llama-3-8b", 120_000, domain="kvx")
    sides = ((run.prefill, run.forward, run.sender), (run.decode, run.engine, run.receiver))
    for rank, (process, main, connector) in enumerate(sides):
        late = 15_000 * rank
        connector.nccl(
            "ncclCommInitRank",
            400_000 + late,
            1_300_000,
            communicator=KV_COMMUNICATOR,
            nranks=2,
            rank=rank,
            device=rank,
        )
        main.nccl(
            "ncclCommInitRank",
            410_000 + late,
            1_350_000,
            communicator=WORLD_COMMUNICATOR,
            nranks=2,
            rank=rank,
            device=rank,
        )
        main.nccl("ncclAllReduce", 1_400_000 + late, 1_440_000, communicator=WORLD_COMMUNICATOR, nbytes=8)
        launch = main.launch(1_420_000 + late, 1_426_000 + late)
        process.kernel(ALL_REDUCE, 1_450_000 + late, 1_490_000, device=rank, stream=25, launch=launch)
        run.plan.collective_kernels += 1


def _prefill(run: Run) -> None:
    """One step a request: the host runs ahead with the launches, the GPU follows layer by layer."""
    gpu_free = 2_000_000
    for step, (request, tokens) in enumerate(PROMPTS.items()):
        run.arrived[request] = 1_600_000 + 9_000_000 * step + run.between(0, 500_000)
        host = step_start = max(run.arrived[request], gpu_free) + 50_000
        layer_ns = 24_000 + 1_250 * tokens
        for layer in range(LAYERS):
            layer_start = host
            for name, part in COMPUTE.items():
                launch = run.forward.launch(host + 1_000, host + 4_000)
                start = max(gpu_free + 800, host + 8_000)
                gpu_free = start + int(layer_ns * part) + run.between(0, 900)
                run.prefill.kernel(name, start, gpu_free, stream=COMPUTE_STREAM, launch=launch, gridX=132)
                host += 5_000
            run.forward.push_pop(f"model.layers.{layer}", layer_start, host)
            run.layer_done[request, layer] = gpu_free
            host += 1_000
        text = f"kv_step step={step} phase=prefill requests={request} tokens={tokens}"
        run.forward.push_pop(text, step_start, gpu_free + 30_000, domain="kvx")


def _transfer(run: Run, slowed: Mapping[int, float]) -> None:
    """Send and receive every layer of every request, in order; pairs share their name and overlap on the wire."""
    send_free = recv_free = 0
    run.plan.wire_ns = 0
    for request, tokens in PROMPTS.items():
        nbytes = tokens * BYTES_PER_TOKEN
        for layer in range(LAYERS):
            ready = run.layer_done[request, LAYERS - 1 if request in AFTER_PREFILL else layer]
            post = max(ready + 15_000, send_free + 6_000)
            lead = -run.between(90_000, 300_000) if request in RECEIVER_FIRST else run.between(15_000, 60_000)
            take = max(post + lead, recv_free + 6_000)
            send_start, recv_start = post + 10_000 + run.between(0, 2_000), take + 10_000 + run.between(0, 2_000)
            rate = WIRE_GB_S * slowed.get(layer, 1)
            wire = FIXED_NS + int(nbytes / rate * (1 + 0.03 * run.rng.random()))
            send_end = max(send_start, recv_start) + wire
            recv_end = send_end + run.between(1_000, 6_000)
            run.plan.wire_ns += wire
            send = Kernel(run.prefill.pid, send_start, send_end)
            recv = Kernel(run.decode.pid, recv_start, recv_end)
            _one_side(run, "send", request, layer, nbytes, post, send)
            _one_side(run, "recv", request, layer, nbytes, take, recv)
            send_free, recv_free = send_end, recv_end
            run.pulled[request] = (run.pulled.get(request, (take, 0))[0], recv_end)
        run.sent[request] = send_free
        run.forward.start_end(
            f"kv_request request={request} prompt={tokens} output={OUTPUT_TOKENS}",
            run.arrived[request],
            send_free + 20_000,
            end_thread=run.sender,
            domain="kvx",
        )


def _one_side(run: Run, side: str, request: str, layer: int, nbytes: int, post: int, kernel: Kernel) -> None:
    """One call on its thread with its kernel, and our annotation around it unless it is to go without."""
    is_send = side == "send"
    process, thread = (run.prefill, run.sender) if is_send else (run.decode, run.receiver)
    rank, peer, role, stream = (0, 1, "prefill", SEND_STREAM) if is_send else (1, 0, "decode", RECV_STREAM)
    annotated = (request, layer) not in UNANNOTATED
    if annotated:
        text = f"kv_transfer op={side} request={request} layer={layer} bytes={nbytes} peer={peer} role={role}"
        thread.push_pop(text, post, kernel.end + 4_000, domain="kvx")
    thread.nccl(
        "ncclSend" if is_send else "ncclRecv",
        post + 1_000,
        post + 9_000,
        communicator=KV_COMMUNICATOR,
        nbytes=nbytes,
        peer=peer,
    )
    launch = thread.launch(post + 4_000, post + 7_000)
    process.kernel(SEND_RECV, kernel.start, kernel.end, device=rank, stream=stream, launch=launch)
    known = {"layer": layer, "request": request} if annotated else {}
    run.plan.add(
        Operation(side, peer, nbytes, len(run.plan.operations), f"{request}/{layer}", kernel, **known)  # type: ignore[arg-type]
    )


def _decode(run: Run) -> None:
    """Steps over all requests whose cache has arrived, until each has its tokens."""
    waiting = {request: done for request, (_, done) in run.pulled.items()}
    left = dict.fromkeys(PROMPTS, OUTPUT_TOKENS)
    now, step = 0, 0
    while left:
        now = max(now, min(waiting[request] for request in left) + 150_000)
        active = [request for request in left if waiting[request] <= now]
        end = now + 7_400_000 + 110_000 * len(active) + run.between(0, 60_000)
        piece = (end - now - 100_000) // 4
        for index in range(4):
            launch = run.engine.launch(now + 20_000 + 5_000 * index, now + 23_000 + 5_000 * index)
            start = now + 40_000 + piece * index
            name = list(COMPUTE)[index % 3]
            run.decode.kernel(
                name, start, start + piece - 1_500, device=1, stream=COMPUTE_STREAM, launch=launch, gridX=132
            )
        text = f"kv_step step={step} phase=decode requests={','.join(active)} tokens={len(active)}"
        run.engine.push_pop(text, now, end, domain="kvx")
        for request in active:
            left[request] -= 1
            if not left[request]:
                del left[request]
                _finish(run, request, end)
        now, step = end + 120_000, step + 1


def _finish(run: Run, request: str, end: int) -> None:
    """The decode process's own range of a request: first receive to last token."""
    run.receiver.start_end(
        f"kv_request request={request} prompt={PROMPTS[request]} output={OUTPUT_TOKENS}",
        run.pulled[request][0],
        end,
        end_thread=run.engine,
        domain="kvx",
    )
