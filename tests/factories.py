"""Analyses to render: a small one, a rich one, one without sizes, one without transfers, one with hostile names.

The numbers are made up but hold together: shares add up to totals, wire and wait to time. Nothing is random.
"""

from collections.abc import Sequence
from dataclasses import replace

from nsysparse.analysis import (
    Analysis,
    AnalysisWarning,
    Band,
    Capability,
    Cell,
    Clock,
    CounterCheck,
    Coverage,
    DecodeDevice,
    Distribution,
    Excluded,
    Finding,
    Gpu,
    Lane,
    Layer,
    Lengths,
    Link,
    LinkTheory,
    MessageSize,
    Notice,
    Port,
    PrefillDevice,
    PrefillLayer,
    PromptBucket,
    PurposeTotals,
    Reason,
    Request,
    Setting,
    SizeCeiling,
    Theory,
    Timeline,
    TimelineLevel,
    Totals,
    TraceFacts,
    Unattributed,
    Undrawn,
    Verdict,
    WhatIf,
)
from nsysparse.lengths import histogram

LINE_RATE, CEILING = 50.0, 47.4
MS = 1_000_000
_SEND, _RECV = "prefill:gpu{}", "decode:gpu{}"


def trace(trace_id: str = "prefill", role: str | None = "prefill", **changes: object) -> TraceFacts:
    facts = TraceFacts(
        trace_id=trace_id,
        file=f"{trace_id}-node0.sqlite",
        nsys_version="2025.3.1",
        schema_version="3.21.2",
        role=role,
        role_source="detected" if role else None,
        duration_ns=3_674_751_925,
        gpus=(Gpu(0, "NVIDIA B200"), Gpu(1, "NVIDIA B200")),
        capabilities={
            "gpu_kernels": Capability("present"),
            "nvtx_ranges": Capability("present"),
            "decode_steps": Capability(
                "partial", "CUDA graphs: one row per replay", "nsys profile --cuda-graph-trace=node …"
            ),
            "nic_metrics": Capability("absent", "not sampled", "nsys profile --nic-metrics=true …"),
        },
    )
    return replace(facts, **changes)


def link(index: int = 0, **changes: object) -> Link:
    """A measured link with both references; `changes` take facts away or replace them."""
    moved, wire = 12_400_000_000 + index * 1_000_000, 310_000_000 + index * 9_000_000
    rate = moved / wire
    whole = Link(
        link_key=f"{_SEND.format(index)}->{_RECV.format(index)}",
        link_name="IB NDR",
        transport="nccl",
        src=_SEND.format(index),
        dst=_RECV.format(index),
        communicator="9185731236401847271",
        pairing="exact",
        movement_count=768,
        bytes=moved,
        busy_ns=460_000_000,
        link_gb_s=26.9,
        wire_gb_s=Distribution(768, 17.0, rate * 0.98, 44.1, 45.0, 11.2, 45.2),
        kernel_gb_s=Distribution(768, 8.0, 22.0, 31.0, 33.0, 3.2, 34.0),
        delivered_gb_s=31.5,
        headline_gb_s=rate,
        headline_basis="wire",
        headline_is_bound=False,
        headline_bytes_share=1.0,
        peak_gb_s=LINE_RATE,
        peak_source="catalogue: ib-ndr",
        practical_gb_s=CEILING,
        practical_source="ib_write_bw, 8 MiB messages",
        practical_curve=tuple(
            SizeCeiling(2**power, CEILING * 2**power / (2**power + 900_000)) for power in range(16, 26)
        ),
        efficiency=rate / LINE_RATE,
        theoretical_ns=round(moved / LINE_RATE),
        practical_ns=round(moved / CEILING),
        observed_ns=wire,
        fixed_cost_ns=38_000,
        fitted_gb_s=43.9,
        inconsistent_count=0,
    )
    return replace(whole, **changes)


def bound_link() -> Link:
    """A link of which only whole kernels are known: a lower bound, and no peak to hold it against."""
    return link(
        link_key="decode:gpu0->9185731236401847271:3",
        link_name=None,
        src="decode:gpu0",
        dst="9185731236401847271:3",
        communicator=None,
        pairing=None,
        movement_count=40,
        bytes=940_000_000,
        wire_gb_s=None,
        kernel_gb_s=Distribution(40, 12.0, 18.8, 20.0, 20.4, 11.0, 20.5),
        delivered_gb_s=None,
        headline_gb_s=18.8,
        headline_basis="kernel",
        headline_is_bound=True,
        headline_bytes_share=1.0,
        peak_gb_s=None,
        peak_source=None,
        practical_gb_s=None,
        practical_source=None,
        practical_curve=(),
        efficiency=None,
        theoretical_ns=None,
        practical_ns=None,
        observed_ns=50_000_000,
        fixed_cost_ns=None,
        fitted_gb_s=None,
    )


def request(request_id: str = "req-0", **changes: object) -> Request:
    """A request with transfers but nothing known about its way to the first token."""
    plain = Request(
        request_id=request_id,
        start_ns=0,
        span=None,
        movement_count=2,
        bytes=8_388_608,
        expected_bytes=None,
        time_ns=400_000,
        busy_ns=400_000,
        wire_ns=300_000,
        peer_wait_ns=100_000,
        gap_ns=None,
        exposed_to_request_ns=None,
        provenance={"exact": 2},
        prompt_tokens=None,
        queue_ns=None,
        prefill_ns=None,
        handoff_ns=None,
        overlap_ns=None,
        transfer_span_ns=None,
        ready_to_decode_ns=None,
        first_decode_ns=None,
        path_ns=None,
        kv_gap_ns=None,
        kv_gap_share=None,
        ttft_ns=None,
        ttft_convention=None,
        tpot_impact_ns=None,
        verdict="unknown",
        uncertainty_ns=None,
        clock=None,
        path_basis=None,
        tpot_ns=None,
        tpot_without_gap_ns=None,
        prefill_step_count=0,
        decode_step_count=0,
        attempt_count=None,
        blame=None,
        missing="no-prefill-step",
        kv_gap_share_low=None,
        kv_gap_share_high=None,
        uncertainties={},
    )
    return replace(plain, **changes)


def clock(base: str = "prefill", other: str = "decode", **changes: object) -> Clock:
    """An estimated clock; `changes` replace facts."""
    return replace(Clock(base, other, "estimated", 3_202_072, 41_000, 18.2, False, 132, "by 132 pairs"), **changes)


def decode_device(**changes: object) -> DecodeDevice:
    """A decode device of which everything is known."""
    whole = DecodeDevice(
        trace_id="decode",
        device_id=0,
        gpu="gpu0",
        basis="steps",
        step_count=56,
        active_ns=190 * MS,
        idle_ns=60 * MS,
        idle_share=60 / 190,
        by_reason={
            "kv_ready": 6 * MS,
            "transfer": 20 * MS,
            "prefill_running": 18 * MS,
            "between_steps": 3 * MS,
            "no_request": 12 * MS,
            "unknown": MS,
        },
        idle_while_pending_ns=26 * MS,
        delayed_step_count=4,
        delayed_ns=18 * MS,
        uncertainty_ns=MS,
        token_ms_with_transfer=Distribution(20, 2.4, 2.6, 2.9, 3.0, 2.3, 3.1),
        token_ms_without_transfer=Distribution(30, 2.2, 2.4, 2.6, 2.7, 2.1, 2.8),
        slowdown_ratio=1.25,
        slowdown_kernel_count=310,
    )
    return replace(whole, **changes)


def prefill_device(**changes: object) -> PrefillDevice:
    """A prefill device with two layers."""
    whole = PrefillDevice(
        trace_id="prefill",
        device_id=0,
        gpu="gpu0",
        step_count=14,
        step_ns=130 * MS,
        stall_ns=6 * MS,
        stall_share=6 / 130,
        send_ns=36 * MS,
        exposed_ns=9 * MS,
        layers=(PrefillLayer(0, 18 * MS, 3 * MS, 15 * MS, 1 / 6), PrefillLayer(1, 18 * MS, 6 * MS, 12 * MS, 1 / 3)),
        tail_ms=Distribution(12, 0.2, 0.9, 2.0, 2.4, 0.0, 2.5),
    )
    return replace(whole, **changes)


def timeline(*traces: str, **changes: object) -> Timeline:
    """A prefill step that sends, a receive that first waits, two decode steps; at two levels of detail."""
    sender, taker = traces or ("prefill", "decode")
    lanes = (
        Lane(sender, "gpu0", "steps", 0),
        Lane(sender, "gpu0", "sends", 0),
        Lane(taker, "gpu0", "steps", 41_000),
        Lane(taker, "gpu0", "receives", 41_000),
    )
    fine = TimelineLevel(
        merged_below_ns=0,
        lane=(0, 1, 2, 2, 3, 3),
        kind=(0, 3, 1, 1, 4, 3),
        start_ns=(0, 9 * MS, 14 * MS, 17 * MS, 6 * MS, 9 * MS),
        end_ns=(10 * MS, 12 * MS, 16 * MS, 19 * MS, 9 * MS, 12 * MS),
        busy_ns=(10 * MS, 3 * MS, 2 * MS, 2 * MS, 3 * MS, 3 * MS),
        count=(1, 1, 1, 1, 1, 1),
        request=(0, 0, 0, None, 0, 0),
    )
    coarse = TimelineLevel(
        merged_below_ns=4**11,
        lane=(0, 1, 2, 3, 3),
        kind=(0, 3, 1, 4, 3),
        start_ns=(0, 9 * MS, 14 * MS, 6 * MS, 9 * MS),
        end_ns=(10 * MS, 12 * MS, 19 * MS, 9 * MS, 12 * MS),
        busy_ns=(10 * MS, 3 * MS, 4 * MS, 3 * MS, 3 * MS),
        count=(1, 1, 2, 1, 1),
        request=(0, 0, None, 0, 0),
    )
    whole = Timeline(
        base=sender,
        origin_ns=2_058_000,
        start_ns=0,
        end_ns=19 * MS,
        lanes=lanes,
        kinds=("prefill", "decode", "compute", "wire", "peer_wait", "transfer", "call"),
        levels=(coarse, fine),
        marks_dropped=3,
        undrawn=(Undrawn(taker, "no-time", 3),),
    )
    return replace(whole, **changes)


def _rates(count: int, middle: float) -> Distribution:
    return Distribution(count, middle * 0.8, middle, middle * 1.1, middle * 1.15, middle * 0.7, middle * 1.2)


def layer(index: int, cells: Sequence[Cell], **changes: object) -> Layer:
    time = sum(cell.time_ns for cell in cells)
    wire = sum(_wire(cell.bytes or 0) for cell in cells)
    plain = Layer(
        layer=index,
        movement_count=2 * len(cells),
        bytes=sum(cell.bytes or 0 for cell in cells),
        time_ns=time,
        busy_ns=time,
        wire_ns=wire,
        peer_wait_ns=time - wire,
        exposed_wire_ns=wire // 2,
        exposed_wait_ns=time - wire,
        overlapped_ns=wire - wire // 2,
        headline_gb_s=None,
        provenance={"exact": 2 * len(cells)},
        wire_gb_s=_rates(2 * len(cells), 40.0 - 0.2 * index),
        kernel_gb_s=_rates(2 * len(cells), 30.0 - 0.2 * index),
    )
    return replace(plain, **changes)


def _wire(nbytes: int) -> int:
    return 38_000 + round(nbytes / 44)


def _tokens(index: int) -> int:
    return 512 + (index * 7919) % 7680


def _cell(index: int, request_id: str, place: int) -> Cell:
    """The decode side is late for layer 0, and layers 20 to 23 wait a little."""
    nbytes = _tokens(place) * 4096
    wait = 900_000 + place * 60_000 if index == 0 else 9_000 + (place * 131 + index * 17) % 5000
    slow = 40_000 if 20 <= index < 24 else 0
    return Cell(index, request_id, nbytes, _wire(nbytes) + wait + slow)


def rich(requests: int = 24, layers: int = 32, ids: Sequence[str] = ()) -> Analysis:
    """A run with everything this version of the report can show; `ids` name the first requests."""
    names = [ids[at] if at < len(ids) else f"cmpl-{at * 7919 % 65536:04x}-{at:02d}" for at in range(requests)]
    cells = [_cell(index, name, place) for place, name in enumerate(names) for index in range(layers)]
    by_layer = [layer(index, cells[index::layers]) for index in range(layers)]
    by_request = [
        _rich_request(name, place, cells[place * layers : (place + 1) * layers]) for place, name in enumerate(names)
    ]
    time, moved = sum(cell.time_ns for cell in cells), sum(cell.bytes or 0 for cell in cells)
    lost = Unattributed(6, 25_165_824, 5_200_000)
    wire = sum(each.wire_ns or 0 for each in by_layer)
    movements = 2 * len(cells) + lost.movement_count
    totals = Totals(
        movement_count=movements,
        transfer_count=2 * movements,
        paired_count=movements,
        kernel_count=2 * movements,
        fused_kernel_count=12,
        bytes=moved + (lost.bytes or 0),
        bytes_known_share=1.0,
        time_ns=time + lost.time_ns,
        send_time_ns=time,
        busy_ns=time // 2,
        wire_ns=wire + 4_000_000,
        peer_wait_ns=time - wire + 1_200_000,
        exposed_wire_ns=4_000_000,
        exposed_wait_ns=time - wire + 1_200_000,
        overlapped_ns=wire,
        exposed_ns=time - wire + 5_200_000,
        wire_known_share=1.0,
        wait_known_share=1.0,
        exposure_known_share=1.0,
        exchange_count=movements,
        longer_kernel_ns=time,
        shorter_kernel_ns=wire,
        both_present_ns=wire,
        self_copy_bytes=0,
        first_use_count=2,
        first_use_ns=81_000_000,
        by_purpose={
            "kv": PurposeTotals(movements - 6, moved, time),
            "unknown": PurposeTotals(6, lost.bytes, lost.time_ns),
        },
    )
    return replace(
        unknown(),
        verdict=Verdict(
            "over",
            "KV transfer is 31 % of the time to first token, over the 20 % threshold; wire rate 40 of 50 GB/s.",
            value=0.3129,
            uncertainty=0.0447,
            threshold=0.2,
            basis="p50 of kv_gap_share",
            over_count=sum(each.verdict == "over" for each in by_request),
            known_count=sum(each.kv_gap_share is not None for each in by_request),
            request_count=requests,
        ),
        notice=Notice("synthetic", "Made by a generator: nothing in this trace was measured."),
        traces=(trace(), trace("decode", "decode")),
        totals=totals,
        summary={
            "wire_gb_s": Distribution(movements, 17.0, 39.5, 44.1, 45.0, 11.2, 45.2),
            "message_bytes": Distribution(movements, 2.1e6, 1.6e7, 3.1e7, 3.3e7, 2.0e6, 3.4e7),
            "kv_gap_ms": Distribution(requests, 12.2, 20.9, 28.0, 31.0, 9.0, 33.0),
            "ttft_ms": None,
        },
        links=(bound_link(), link(0), link(1)),
        counters=(
            CounterCheck(
                trace_id="prefill",
                source="gpu_metrics",
                device="gpu0",
                metric="NVLink TX Requests User Data [Throughput %]",
                direction="egress",
                covered_ns=460_000_000,
                counted_bytes=12_900_000_000,
                payload_bytes=12_400_000_000,
                ratio=12_900 / 12_400,
                note="host-wide: every process on the node is in it",
            ),
            CounterCheck("decode", "nic_metrics", None, "IB: Bytes received", "ingress", 5, None, None, None, "x"),
        ),
        ports=(
            Port("decode", 0, "gpu0", "ingress", 12_400_000_000, 460_000_000, LINE_RATE, None),
            Port(
                "prefill", 0, "gpu0", "egress", 12_400_000_000, 470_000_000, LINE_RATE, "may leave by another GPU (PXN)"
            ),
        ),
        layers=tuple(by_layer),
        requests=tuple(sorted(by_request, key=lambda each: each.request_id)),
        layer_request=tuple(sorted(cells, key=lambda cell: (cell.layer, cell.request_id))),
        message_sizes=tuple(
            MessageSize(
                link(0).link_key,
                "nccl",
                2_097_152 * 2**step,
                64,
                Distribution(64, 9.0 + step, 14.0 + 3 * step, 20.0 + 3 * step),
                Distribution(64, 2.0 + step, 6.0 + 2 * step, 11.0 + 2 * step),
            )
            for step in range(5)
        ),
        timeline=timeline(),
        unattributed={"layer": Unattributed(0, 0, 0), "request": lost},
        coverage=(
            Coverage("layer", "exact", movements - 6, moved, 0.9, time, 0.9),
            Coverage("layer", "estimated", 6, moved // 9, 0.1, time // 9, 0.1),
            Coverage("request", "none", 6, lost.bytes, 0.1, lost.time_ns, 0.1),
            Coverage("role", "process", movements, moved, 1.0, time, 1.0),
        ),
        excluded=(
            Excluded(
                "other", "all-to-all: every rank sends to every rank in one group", 2656, 1328, 332, None, 41_000_000
            ),
        ),
        theory=Theory(131_072, moved + (lost.bytes or 0), (LinkTheory(link(0).link_key, 248_000_000, 261_000_000),)),
        findings=(
            Finding(
                "decode-side-late",
                "wait",
                "high",
                "The decode side posts its receive late",
                "Layer 0 waits 6.3 ms per request, the others 0.01 ms.",
                6_300_000,
                "Post the receive when the request is admitted, not when its prefill reports done.",
            ),
        ),
        warnings=(AnalysisWarning("negative-duration", "ranges that end before they start were ignored", 3),),
        clocks=(clock(),),
        decode=(decode_device(),),
        prefill=(prefill_device(),),
        whatif=(
            WhatIf(
                "link:ib-xdr",
                20 * MS,
                12 * MS,
                8 * MS,
                None,
                requests,
                "wire time over twice the rate",
                "costs adapters",
            ),
            WhatIf(
                "wire-fp8",
                18 * MS,
                13 * MS,
                7 * MS,
                2 * MS,
                requests,
                "half the bytes",
                "accuracy is not measured here",
            ),
        ),
        lengths=_rich_lengths(by_request),
        prompts=(
            PromptBucket(
                512,
                1024,
                3,
                1,
                Distribution(3, 9.0, 10.0, 12.0, 12.0, 8.0, 12.0),
                Distribution(3, 0.1, 0.2, 0.3, 0.3, 0.1, 0.3),
                None,
            ),
        ),
        worst=tuple(each.request_id for each in sorted(by_request, key=lambda each: -(each.kv_gap_share or 0))[:10]),
        reasons=(
            Reason("/links/0/peak_gb_s", "no-link", "no link is named", "--link ID or --peak GB/S"),
            *(
                Reason(
                    f"/requests/{at}/ttft_ns", "no-arrival", "arrival times were not recorded", "nsysparse convention"
                )
                for at in range(requests)
            ),
        ),
    )


def _rich_lengths(requests: Sequence[Request]) -> Lengths:
    by_length = histogram("", (each.prompt_tokens for each in requests))
    edges, counts = by_length.bins()
    return Lengths(
        unit="prompt tokens",
        edges=edges,
        counts=counts,
        total=by_length.total,
        break_even_tokens=Band(180, 420),
        critical_tokens=Band(3_052, 7_629),
        below_break_even_share=by_length.share(lambda tokens: tokens < 180),
        unknown_count=by_length.unknown_count,
        break_even_count=len(requests),
        critical_link=link(0).link_key,
        step_ns=Band(20 * MS, 50 * MS),
        step_basis="measured",
        step_count=640,
    )


def _rich_request(name: str, place: int, cells: Sequence[Cell]) -> Request:
    time = sum(cell.time_ns for cell in cells)
    wire = sum(_wire(cell.bytes or 0) for cell in cells)
    moved = sum(cell.bytes or 0 for cell in cells)
    is_known = place % 11 != 7
    gap = time + 1_400_000
    share = round(gap / (gap + 20_000_000 + _tokens(place) * 9_000), 4)
    verdict = "over" if share > 0.22 else "unresolved" if share > 0.18 else "ok"
    return request(
        name,
        start_ns=place * 150_000_000,
        movement_count=2 * len(cells),
        bytes=moved,
        expected_bytes=moved,
        time_ns=time,
        busy_ns=time // 2,
        wire_ns=wire,
        peer_wait_ns=time - wire,
        provenance={"exact": 2 * len(cells)},
        prompt_tokens=_tokens(place),
        kv_gap_ns=gap if is_known else None,
        kv_gap_share=share if is_known else None,
        kv_gap_share_low=share - 0.03 if is_known else None,
        kv_gap_share_high=share + 0.03 if is_known else None,
        uncertainties={"kv_gap_ns": 2_100_000, "path_ns": 2_100_000} if is_known else {},
        path_ns=gap + 20 * MS if is_known else None,
        path_basis="arrival" if is_known else None,
        prefill_ns=18 * MS,
        handoff_ns=MS if is_known else None,
        first_decode_ns=2 * MS if is_known else None,
        span={"rank": 1, "wire_ns": wire, "peer_wait_ns": time - wire, "sender_wait_ns": 0, "gap_ns": 0}
        if is_known
        else None,
        transfer_span_ns=time if is_known else None,
        ready_to_decode_ns=400_000 if is_known else None,
        blame="link" if is_known else None,
        missing="" if is_known else "cut",
        verdict=verdict if is_known else "unknown",
        uncertainty_ns=2_100_000 if is_known else None,
    )


def small() -> Analysis:
    """One link, one layer, one request, and no way to the first token."""
    cell = Cell(0, "req-0", 8_388_608, 400_000)
    one = layer(0, [cell])
    return replace(
        unknown(),
        verdict=Verdict(
            "unknown",
            "KV gap unknown: no decode step was recorded.",
            threshold=0.2,
            basis="p50 of kv_gap_share",
            over_count=0,
            known_count=0,
            request_count=1,
        ),
        reasons=(Reason("/verdict/value", "no-decode-step", "no range marks a decode step", "nsysparse convention"),),
        totals=replace(
            unknown().totals,
            movement_count=2,
            transfer_count=2,
            kernel_count=2,
            bytes=8_388_608,
            bytes_known_share=1.0,
            time_ns=400_000,
            wire_ns=300_000,
            peer_wait_ns=100_000,
            wire_known_share=1.0,
            by_purpose={"kv": PurposeTotals(2, 8_388_608, 400_000), "unknown": PurposeTotals(0, 0, 0)},
        ),
        links=(link(),),
        layers=(one,),
        requests=(request(),),
        layer_request=(cell,),
        unattributed={"layer": Unattributed(0, 0, 0), "request": Unattributed(0, 0, 0)},
        coverage=(Coverage("layer", "exact", 2, 8_388_608, 1.0, 400_000, 1.0),),
    )


def sizeless() -> Analysis:
    """Transfers whose sizes were not recorded for a part: no rates, bytes are sums of the known."""
    whole = small()
    return replace(
        whole,
        totals=replace(
            whole.totals,
            bytes=4_194_304,
            bytes_known_share=0.5,
            wire_ns=None,
            peer_wait_ns=None,
            wire_known_share=0.0,
            wait_known_share=0.0,
        ),
        links=(
            link(
                bytes=None,
                wire_gb_s=None,
                kernel_gb_s=None,
                headline_gb_s=None,
                headline_basis=None,
                headline_is_bound=None,
                headline_bytes_share=None,
                efficiency=None,
                theoretical_ns=None,
                practical_ns=None,
            ),
        ),
        layers=(replace(whole.layers[0], bytes=None, wire_ns=None, peer_wait_ns=None, headline_gb_s=None),),
        requests=(request(bytes=None, wire_ns=None, peer_wait_ns=None),),
        layer_request=(Cell(0, "req-0", None, 400_000),),
    )


def unknown() -> Analysis:
    """A capture in which no KV transfer was found."""
    return Analysis(
        nsysparse="0.1.0",
        verdict=Verdict("unknown", "No KV transfer was found: this capture cannot say what it costs.", threshold=0.2),
        notice=None,
        traces=(trace(),),
        settings={
            "threshold": Setting(0.2, "default"),
            "link": Setting(None, "default"),
            "presets": Setting(("vllm", "nccl"), "detected"),
            "ttft": Setting(None, "not given"),
        },
        totals=Totals(
            movement_count=0,
            transfer_count=0,
            paired_count=None,
            kernel_count=0,
            fused_kernel_count=0,
            bytes=None,
            bytes_known_share=None,
            time_ns=None,
            send_time_ns=None,
            busy_ns=None,
            wire_ns=None,
            peer_wait_ns=None,
            exposed_wire_ns=None,
            exposed_wait_ns=None,
            overlapped_ns=None,
            exposed_ns=None,
            wire_known_share=None,
            wait_known_share=None,
            exposure_known_share=None,
            exchange_count=0,
            longer_kernel_ns=0,
            shorter_kernel_ns=0,
            both_present_ns=0,
            self_copy_bytes=None,
            first_use_count=None,
            first_use_ns=None,
            by_purpose={},
        ),
        summary={},
        links=(),
        ports=None,
        counters=(),
        layers=(),
        requests=(),
        layer_request=(),
        message_sizes=(),
        lengths=None,
        timeline=None,
        unattributed={},
        coverage=(),
        excluded=(),
        decode=None,
        clocks=None,
        theory=Theory(None, None, ()),
        whatif=None,
        findings=(),
        reasons=(
            Reason(
                "/verdict/value",
                "no-transfer",
                "no Send/Recv kernel and no peer copy was recorded",
                "nsys profile --trace=cuda,nvtx …",
            ),
        ),
        warnings=(),
    )


def hostile(name: str) -> Analysis:
    """A rich analysis in which every text that can come from a trace, a server or a benchmark is or holds `name`."""
    base = rich(requests=3, layers=4, ids=[name, f"{name} 1", f"{name} 2"])
    drawn = timeline(name, name)
    ends = {"link_key": name, "link_name": name, "src": name, "dst": name, "communicator": name}
    return replace(
        base,
        traces=(
            trace(
                trace_id=name,
                file=name,
                nsys_version=name,
                schema_version=name,
                gpus=(Gpu(0, name),),
                capabilities={"nvtx_ranges": Capability("partial", name, name)},
            ),
        ),
        verdict=replace(base.verdict, text=f"KV transfer of {name} is over the threshold.", detail=f"On {name}."),
        notice=Notice("partial", f"Read only {name}."),
        settings={"request_pattern": Setting(name, "option"), "ttft": Setting("decode-emits-first", name)},
        worst=(name,),
        summary={"kv_gap_ms": Distribution(1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)},
        clocks=(clock(name, name, note=name),),
        decode=(decode_device(trace_id=name, gpu=name),),
        prefill=(prefill_device(trace_id=name, gpu=name),),
        whatif=(WhatIf(name, 2, 1, 1, None, 1, name, name),),
        links=(link(**ends, peak_source=name, practical_source=name),),
        ports=(Port(name, 0, name, "egress", 1, 1, 1.0, name),),
        counters=(CounterCheck(name, "gpu_metrics", name, name, "egress", 1, 1, 1, 1.0, name),),
        lengths=None if base.lengths is None else replace(base.lengths, critical_link=name),
        timeline=replace(drawn, lanes=tuple(replace(lane, gpu=name) for lane in drawn.lanes)),
        message_sizes=(MessageSize(name, "nccl", 1024, 1, None, None),),
        excluded=(Excluded("other", name, 1, 1, 1, 1, 1),),
        theory=Theory(1, 1, (LinkTheory(name, 1, 1, {"low": 1, "high": 2}),)),
        findings=(Finding("x", "wire", "low", name, name, 1_000_000, name, (name,)),),
        reasons=(Reason(f"/requests/{name}", "x", name, name),),
        warnings=(AnalysisWarning("x", name, 1),),
    )
