"""`pd-transports`: one pair of processes for each transport, one after the other, all on the same two GPUs.

Each pair hands over in the way of an engine that uses it: NIXL reads that the decode side posts, tagged UCX messages,
batched peer copies, LMCache's offload and load, TensorRT-LLM's bounce writes (one of them also posted through NIXL),
RDMA that only annotations show, and NCCL groups replayed from CUDA graphs.
"""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from nsysparse.testing import Process, TraceBuilder
from recipes.plan import Answers

LAYERS = 4
PREFILL, DECODE = 0, 1  # their GPUs
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"
PACK = "void lmc::load_and_reshape_multi_layer_kernel<long, true>(long *, long **)"
COMPUTE = "nvjet_tst_128x256_64x4_2x1_v_bz_TNT"
BOUNCE = "trtllm.disagg.bounce"
COMMUNICATOR = 0x5EED_0FCA_FEF0_0D02
BLOCK = 64 * 1024


class Moved(NamedTuple):
    """One movement as it was planned; `None` where the trace does not tell."""

    transport: str
    nbytes: int
    time_ns: int
    layer: int | None = None
    request: str | None = None


@dataclass
class Run:
    """The trace, its dice, and what has moved so far; `now` is when the next pair begins, ns."""

    rng: random.Random
    trace: TraceBuilder
    moved: list[Moved] = field(default_factory=list)
    paired: int = 0
    pid: int = 100
    now: int = 1_000_000

    def between(self, low: int, high: int) -> int:
        """A random number; `random()` is the one method whose sequence Python promises to keep."""
        return low + int(self.rng.random() * (high - low))

    def blocks(self) -> int:
        """A size of whole cache blocks, bytes."""
        return BLOCK * self.between(8, 200)

    def pair(self) -> tuple[Process, Process]:
        """A prefill and a decode process, and time between this pair and the one before."""
        self.pid += 100
        self.now += 2_000_000
        return self.trace.process(pid=self.pid), self.trace.process(pid=self.pid + 1)


def build(path: Path, seed: int) -> Answers:
    """Write the trace and return what is true of it."""
    trace = TraceBuilder(
        schema="3.27",
        gpus={PREFILL: "NVIDIA H100 80GB HBM3", DECODE: "NVIDIA H100 80GB HBM3"},
        notice="synthetic: seven transports of KV, invented by sample_traces/generate.py, not measured",
    )
    run = Run(random.Random(seed), trace)  # noqa: S311 (a reproducible trace needs a seeded generator)
    steps: tuple[Callable[[Run], None], ...] = (_nixl, _ucx, _copies, _offload, _bounce, _annotated, _nccl)
    for step in steps:
        step(run)
    trace.shuffle(seed)
    trace.write(path)
    return _answers(run)


def _nixl(run: Run) -> None:
    """Two agents of the decode process read requests; each uses its two handles again and again."""
    _, decode = run.pair()
    poller = decode.thread(run.pid + 50)
    for rank in (0, 1):
        thread, at = decode.thread(run.pid + 10 + rank), run.now + 40_000 * rank
        for number in range(6):
            request, nbytes = f"nixl-{number}", run.blocks()
            handle = 0x7F00_0000_0000 + 0x1_0000 * rank + 0x40 * (number % 2)
            done = at + 60_000 + run.between(0, 300_000)
            thread.push_pop(f"kv_transfer op=get request={request} bytes={nbytes}", at - 2_000, at + 9_000)
            thread.nixl_post(
                "read", at, at + 7_000, agent=f"decode-{rank}", handle=handle, nbytes=nbytes, remote=f"prefill-{rank}"
            )
            poller.nixl_complete(done, agent=f"decode-{rank}", handle=handle)
            run.moved.append(Moved("nixl", nbytes, done - at, request=request))
            at += 400_000  # after `done`: a handle is free again before its next use
    run.now += 6 * 400_000


def _ucx(run: Run) -> None:
    """Tagged messages that both sides recorded, and a control message beside them."""
    prefill, decode = run.pair()
    sender, receiver = prefill.thread(), decode.thread()
    sender.ucp_worker(run.pid)
    receiver.ucp_worker(run.pid + 1)
    sender.ucx("ucp_am_send_nbx", run.now, run.now + 500, done=run.now + 2_000, nbytes=96, peer=run.pid + 1)
    at = run.now + 10_000
    for number in range(8):
        nbytes, tag, buffer = run.blocks(), 0xCAFE_0000 + number, 0x7F10_0000_0000 + number * 2**28
        posted, sent = at, at + run.between(5_000, 60_000)
        done = sent + 30_000 + run.between(0, 200_000)
        receiver.ucx(
            "ucp_tag_recv_nbx", posted, posted + 900, done=done, nbytes=nbytes, tag=tag, peer=run.pid, address=buffer
        )
        sender.ucx(
            "ucp_tag_send_nbx", sent, sent + 800, done=done - 3_000, nbytes=nbytes, tag=tag, peer=run.pid + 1,
            address=buffer + 2**36,
        )  # fmt: skip
        run.moved.append(Moved("ucx", nbytes, done - posted))
        run.paired += 1
        at = done + 20_000
    run.now = at


def _copies(run: Run) -> None:
    """As in DistServe: the decode side copies keys and values of each layer from the other GPU, blocks in a batch."""
    _, decode = run.pair()
    thread, free = decode.thread(), run.now
    for number in range(3):
        request = f"copy-{number}"
        for layer in range(LAYERS):
            host = free + 3_000
            thread.push_pop(f"kv_transfer op=get layer={layer} request={request}", host - 1_000, host + 20_000)
            for part in (0, 1):
                nbytes = run.blocks()
                start = max(free, host + 10_000 * part + 4_000) + 500
                free = start + 5_000 + nbytes // 200
                decode.copy(
                    "PtoP", nbytes, start, free, device=DECODE, stream=13, src_device=PREFILL, dst_device=DECODE,
                    copyCount=nbytes // BLOCK, launch=thread.launch(host + 10_000 * part, host + 10_000 * part + 3_000),
                )  # fmt: skip
                run.moved.append(Moved("memcpy", nbytes, free - start, layer, request))
    run.now = free


def _offload(run: Run) -> None:
    """LMCache stores a request chunk by chunk, and the other engine loads it: copies, and kernels that pack."""
    prefill, decode = run.pair()
    at = run.now
    for process, device, engine, connector, kind in (
        (prefill, PREFILL, "store", "from_gpu", "DtoH"), (decode, DECODE, "retrieve", "to_gpu", "HtoD")
    ):  # fmt: skip
        thread = process.thread()
        for _ in range(3):
            sizes = [run.blocks() for _ in range(3)]
            inner = at + 5_000
            launch = thread.launch(inner + 1_000, inner + 3_000)
            process.kernel(PACK, inner + 6_000, inner + 19_000, device=device, stream=15, launch=launch)
            time, start = 0, inner + 20_000
            for index, nbytes in enumerate(sizes):
                call = inner + 4_000 + 3_000 * index
                length = 8_000 + nbytes // 50
                process.copy(
                    kind, nbytes, start, start + length, device=device, stream=15,  # type: ignore[arg-type]
                    launch=thread.launch(call, call + 2_000),
                )  # fmt: skip
                time, start = time + length, start + length + 700
            domain = {"domain": "lmcache", "registered": True}
            thread.push_pop(f"VLLMPagedMemGPUConnectorV2.{connector}", inner, inner + 15_000, **domain)  # type: ignore[arg-type]
            thread.push_pop(f"LMCacheEngine.{engine}", at, inner + 18_000, **domain)  # type: ignore[arg-type]
            run.moved.append(Moved("host-staged", sum(sizes), time))
            at = start + 50_000
    run.now = at


def _bounce(run: Run) -> None:
    """TensorRT-LLM writes chunks; the last chunk of all was recorded by NIXL too, which then stands for it."""
    prefill, _ = run.pair()
    sender, other = prefill.thread(), prefill.thread(run.pid + 60)
    at, last = run.now, (2, 2)
    for rid in range(3):
        sizes = [run.blocks() for _ in range(3)]
        begun = at
        for chunk, nbytes in enumerate(sizes):
            done = at + 40_000 + run.between(0, 150_000)
            also_nixl = (rid, chunk) == last
            time = done - at
            if also_nixl:
                sender.nixl_post(
                    "write", at + 1_000, at + 6_000, agent="ctx-0", handle=0x7F20_0000_0040, nbytes=nbytes,
                    remote="gen-0",
                )  # fmt: skip
                other.nixl_complete(done - 2_000, agent="ctx-0", handle=0x7F20_0000_0040)
                time -= 3_000
            sender.start_end(
                f"nixlWrite rid={700 + rid} chunk={chunk} bytes={nbytes}", at, done, end_thread=other, domain=BOUNCE
            )
            run.moved.append(Moved("nixl" if also_nixl else "trtllm-bounce", nbytes, time, request=str(700 + rid)))
            at = done + 15_000
        sender.start_end(
            f"req rid={700 + rid} chunks={len(sizes)} bytes={sum(sizes)}", begun - 3_000, at, end_thread=other,
            domain=BOUNCE,
        )  # fmt: skip
    run.now = at


def _annotated(run: Run) -> None:
    """RDMA that no tool records: both sides annotate it and give it the same name; several are under way at once."""
    prefill, decode = run.pair()
    sender, receiver = prefill.thread(), decode.thread()
    at = run.now
    for number in range(3):
        request = f"rdma-{number}"
        for layer in range(LAYERS):
            nbytes, name = run.blocks(), f"{request}/{layer}"
            waits, done = at - 10_000, at + 150_000 + run.between(0, 90_000)
            said = f"request={request} layer={layer} bytes={nbytes} xfer={name}"
            sender.start_end(f"kv_transfer op=put {said}", at, done - 4_000)
            receiver.start_end(f"kv_transfer op=recv {said}", waits, done)
            run.moved.append(Moved("annotated", nbytes, done - waits, layer, request))
            run.paired += 1
            at += 60_000
    run.now = at + 300_000


def _nccl(run: Run) -> None:
    """Each layer's keys and values leave as one group, captured once on both sides and replayed for each request."""
    processes = run.pair()
    threads = [process.thread() for process in processes]
    sizes = [run.blocks() for _ in range(LAYERS)]
    at = run.now
    for rank, (thread, call) in enumerate(zip(threads, ("ncclSend", "ncclRecv"), strict=True)):
        thread.nccl(
            "ncclCommInitRank", at, at + 300_000, communicator=COMMUNICATOR, nranks=2, rank=rank, device=rank,
            payload="blob",
        )  # fmt: skip
        for layer, nbytes in enumerate(sizes):
            start = at + 400_000 + 30_000 * layer
            thread.push_pop(f"model.layers.{layer}", start - 1_000, start + 20_000)
            thread.nccl("ncclGroupStart", start, start + 400)
            for part in (0, 1):
                begin = start + 600 + 1_100 * part
                said = {"communicator": COMMUNICATOR, "nbytes": nbytes, "peer": 1 - rank}
                thread.nccl(call, begin, begin + 900, payload="blob", **said)  # type: ignore[arg-type]
            thread.nccl("ncclGroupEnd", start + 3_000, start + 15_000)
            thread.graph_node(1 + layer, start + 6_000)
            thread.graph_node(101 + layer, at + 900_000, original=1 + layer)
    at += 1_000_000
    for number in range(3):
        request = f"graph-{number}"
        launches = [thread.launch(at, at + 9_000, "cudaGraphLaunch_v10000") for thread in threads]
        for thread in threads:
            thread.push_pop(f"request:{request}", at - 1_000, at + 10_000)
        start = at + 12_000
        for layer, nbytes in enumerate(sizes):
            late = (run.between(0, 20_000), run.between(0, 20_000))
            length = 2 * (7_000 + nbytes // 40)  # even: keys and values of one size share it half and half
            both = start + max(late)
            for rank, process in enumerate(processes):
                begun, done = start + late[rank] - late[rank] % 2, both + both % 2 + length
                done += (done - begun) % 2
                process.kernel(
                    SEND_RECV, begun, done, device=rank, stream=20, launch=launches[rank], graphNodeId=101 + layer,
                    gridX=16,
                )  # fmt: skip
                if rank == DECODE:
                    run.moved += [Moved("nccl", nbytes, (done - begun) // 2, layer, request)] * 2
                    run.paired += 2
            start = both + length + 5_000
            compute = start - 4_000
            processes[PREFILL].kernel(
                COMPUTE, compute, compute + 25_000, device=PREFILL, stream=7, launch=launches[PREFILL],
                graphNodeId=201 + layer,
            )  # fmt: skip
        at = start + 60_000
    run.now = at


def _sum(moved: Iterable[Moved]) -> dict[str, int]:
    found = list(moved)
    return {
        "movements": len(found),
        "bytes": sum(one.nbytes for one in found),
        "time_ns": sum(one.time_ns for one in found),
    }


def _answers(run: Run) -> Answers:
    """Sums over the plan, by the definitions in the manifest's head."""
    moved = run.moved
    layers = [_sum(one for one in moved if one.layer == layer) for layer in range(LAYERS)]
    requests = sorted({one.request for one in moved if one.request is not None})
    names = sorted({one.transport for one in moved})
    by_layer: dict[str, int | list[int] | Answers] = {key: [layer[key] for layer in layers] for key in layers[0]}
    return {
        "paired": run.paired,
        "total": {**_sum(moved)},
        "layer_unattributed": {**_sum(one for one in moved if one.layer is None)},
        "request_unattributed": {**_sum(one for one in moved if one.request is None)},
        "transports": {name: {**_sum(one for one in moved if one.transport == name)} for name in names},
        "layers": by_layer,
        "requests": {name: {**_sum(one for one in moved if one.request == name)} for name in requests},
    }
