"""`pd-two-hosts`: one run recorded as two exports, one per host, each on its own clock.

Ten requests are complete; one began before the capture, one is not decoded before its end. Half of them send each layer
while prefill goes on, the others the whole cache after it; two prompts are prefilled in chunks, two in one step, one
request's KV is sent twice. The host launches a step ahead of its GPU, so ranges end before the work in them does.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nsysparse.testing import Process, Thread, TraceBuilder
from recipes.clocks import Clock
from recipes.plan import Answers
from recipes.twofiles_answers import DECODE, PIDS, PREFILL, RANKS, Clocks, answers
from recipes.twofiles_asked import ASKED, EARLY, LAYERS
from recipes.twofiles_plan import CHANNELS, Message, Run, Span, Step, simulate

OFFSET_NS = 3_200_000  # how far the decode host's UTC is ahead
DRIFT_PPM = 18.0  # how much faster its clock runs
_APART_NS = -7_300_000  # when its capture began, after the other
_UTC_NS, _SYSTEM_NS = 1_780_000_000_000_000_000, {PREFILL: 5_000_000_000_000, DECODE: 8_123_456_789_000}
_COMMUNICATOR = 0xA11CE0FD15A66E28  # above 2^63, as hashes often are
_SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"
_COMPUTE_STREAM, _STREAMS = 7, {"send": 21, "recv": 23}
_SHAPES: Mapping[str, dict[str, Any]] = {
    PREFILL: {"schema": "3.25", "payload": "json", "phase": "prefill", "host": "prefill-0"},
    DECODE: {"schema": "3.27", "payload": "blob", "phase": "decode", "host": "decode-0"},
}


class _Host(NamedTuple):
    """One file: its process, its threads and its clock."""

    name: str
    clock: Clock
    trace: TraceBuilder
    process: Process
    main: Thread
    connector: Thread
    acknowledger: Thread
    device: int

    def at(self, span: Span) -> tuple[int, int]:
        """A span of true time on its clock."""
        return self.clock.at(span.start), self.clock.at(span.end)


def build(
    folder: Path,
    seed: int,
    *,
    offset_ns: int = OFFSET_NS,
    drift_ppm: float = DRIFT_PPM,
    jitter_ns: int = 4_000,
    two_way: bool = True,
    same_host: bool = False,
    anchored: bool = True,
) -> Answers:
    """Write both files and say what is true of the run.

    Args:
        folder: Where to.
        seed: Of the few µs that are left to chance.
        offset_ns: How far the decode host's UTC is ahead of the prefill host's when its capture begins.
        drift_ppm: How much faster its clock runs, parts in a million.
        jitter_ns: How long after its send a receive may end.
        two_way: Whether decode acknowledges each request by a small message on the same communicator.
        same_host: Both captures are of one host, so of one clock: offset and drift are none.
        anchored: Whether the exports tell the UTC of their start.
    """
    run = simulate(seed, jitter_ns=jitter_ns, two_way=two_way)
    clocks = _clocks(offset_ns, drift_ppm, same_host=same_host, anchored=anchored)
    hosts = [_host(name, clocks[name], run.end, same_host=same_host) for name in RANKS]
    for rank, host in enumerate(hosts):
        _start_up(host, rank)
        _steps(host, run.prefill if host.name == PREFILL else run.decode)
        _requests(host, run)
    prefill, decode = hosts
    for message in run.messages:
        _call(prefill, "send", message)
        _call(decode, "recv", message)
    for message in run.acknowledgements:
        _call(decode, "send", message)
        _call(prefill, "recv", message)
    for host in hosts:
        host.trace.shuffle(seed)
        host.trace.write(folder / f"{host.name}.sqlite")
    return answers(run, clocks)


def _clocks(offset_ns: int, drift_ppm: float, *, same_host: bool, anchored: bool) -> Clocks:
    ahead, drift = (0, 0.0) if same_host else (offset_ns, drift_ppm)
    system = _SYSTEM_NS[PREFILL] + _APART_NS if same_host else _SYSTEM_NS[DECODE]
    utc = {PREFILL: _UTC_NS, DECODE: _UTC_NS + _APART_NS + ahead} if anchored else {PREFILL: None, DECODE: None}
    return {
        PREFILL: Clock(0, utc[PREFILL], _SYSTEM_NS[PREFILL]),
        DECODE: Clock(_APART_NS, utc[DECODE], system, drift),
    }


def _host(name: str, clock: Clock, end: int, *, same_host: bool) -> _Host:
    shape = _SHAPES[name]
    device = RANKS.index(name) if same_host else 0
    trace = TraceBuilder(
        schema=shape["schema"],
        gpus=dict.fromkeys(range(2 if same_host else 1), "NVIDIA H100 80GB HBM3"),
        notice="synthetic: one run seen by two hosts, invented by sample_traces/generate.py, not measured",
        host="node-0" if same_host else shape["host"],
        duration=clock.at(end),
        utc_epoch_ns=clock.utc_ns,
        system_clock_ns=clock.system_ns,
    )
    process = trace.process(PIDS[name])
    pid = PIDS[name]
    threads = process.thread(), process.thread(pid + 2, "kv-connector"), process.thread(pid + 4, "kv-ack")
    return _Host(name, clock, trace, process, *threads, device)


def _start_up(host: _Host, rank: int) -> None:
    """The role, and the communicator, which is made for the first transfer."""
    phase = _SHAPES[host.name]["phase"]
    text = f"kv_role role={phase} rank={rank} tp=1 pp=1 layers={LAYERS}"
    host.main.mark(text, host.clock.at(100_000 + 20_000 * rank), domain="kvx")
    host.connector.nccl(
        "ncclCommInitRank", *host.at(Span(7_900_000 + 40_000 * rank, 8_900_000)),
        communicator=_COMMUNICATOR, nranks=2, rank=rank, device=host.device, payload=_SHAPES[host.name]["payload"],
    )  # fmt: skip


def _steps(host: _Host, steps: list[Step]) -> None:
    """Each step's range, those of its layers, and its kernels."""
    phase = _SHAPES[host.name]["phase"]
    for number, step in enumerate(steps):
        tokens = sum(step.requests.values())
        text = f"kv_step step={number} phase={phase} requests={','.join(step.requests)} tokens={tokens}"
        host.main.push_pop(text, *host.at(step.host), domain="kvx")
        for layer in range(LAYERS):
            work = [each for each in step.work if each.layer == layer]
            if host.name == PREFILL:
                around = Span(work[0].call.start - 500, work[-1].call.end + 500)
                host.main.push_pop(f"kv_layer layer={layer} phase={phase}", *host.at(around), domain="kvx")
            for each in work:
                launch = host.main.launch(*host.at(each.call))
                host.process.kernel(
                    each.name, *host.at(each.gpu), device=host.device, stream=_COMPUTE_STREAM, launch=launch, gridX=132
                )


def _requests(host: _Host, run: Run) -> None:
    """From arrival, at decode from the first receive, to the last token; the one that is not decoded stays open."""
    for request, asked in ASKED.items():
        if request == EARLY or asked.arrival is None:
            continue
        begun = asked.arrival if host.name == PREFILL else run.of(request)[0].recv_call - 5_000
        held = run.held(request, "decode")
        done = host.clock.at(run.decode[held[-1]].gpu.end + 30_000) if held else None
        text = f"kv_request request={request} prompt={asked.prompt} output={asked.output}"
        host.main.start_end(
            text, host.clock.at(begun), done, end_thread=host.acknowledger if held else None, domain="kvx"
        )


def _call(host: _Host, side: str, message: Message) -> None:
    """One Send or Recv with its kernel, and our annotation around it."""
    call, kernel = (message.send_call, message.send) if side == "send" else (message.recv_call, message.recv)
    rank = RANKS.index(host.name)
    if message.layer is None:
        thread, text, around = host.acknowledger, f"kv_wait request={message.request}", Span(call - 500, call + 10_500)
    else:
        said = f"layer={message.layer} bytes={message.nbytes} peer={1 - rank} role={_SHAPES[host.name]['phase']}"
        chunk = f" chunk={message.chunk[0]}/{message.chunk[1]}" if message.chunk else ""
        thread, text = host.connector, f"kv_transfer op={side} request={message.request} {said}{chunk}"
        around = Span(call, call + 12_000)
    thread.push_pop(text, *host.at(around), domain="kvx")
    thread.nccl(
        "ncclSend" if side == "send" else "ncclRecv", *host.at(Span(call + 1_000, call + 9_000)),
        communicator=_COMMUNICATOR, nbytes=message.nbytes, peer=1 - rank, payload=_SHAPES[host.name]["payload"],
    )  # fmt: skip
    launch = thread.launch(*host.at(Span(call + 3_000, call + 6_000)))
    host.process.kernel(
        _SEND_RECV, *host.at(kernel), device=host.device, stream=_STREAMS[side], launch=launch, gridX=CHANNELS
    )
