"""What decode and prefill devices did meanwhile: idle time and its reasons, sends that stalled or were hidden."""

from collections.abc import Sequence

from nsysparse.analysis import Analysis, DecodeDevice, Distribution, PrefillDevice
from nsysparse.document import Block, Heading, Paragraph, Table
from nsysparse.sections.cells import Filled, names, numbers, shares, table, texts, times
from nsysparse.units import time_scale

_REASONS = {
    "kv_ready": "KV was ready, its decode had not begun",
    "transfer": "KV was in flight",
    "prefill_running": "prefill ran",
    "between_steps": "requests decoded: between their steps",
    "no_request": "there was no request",
    "unknown": "not known",
}
MOST_ROWS = 200


def build(analysis: Analysis) -> list[Block]:
    """Decode devices, then prefill devices; each stays away where none is known."""
    blocks: list[Block] = []
    if analysis.decode:
        blocks += [
            Heading("Decode devices", "decode"),
            Paragraph("Idle: no compute runs on the device, whether a receive spins or not; the reasons are states at"
                      " that time, not causes.", "muted"),
            *_decode(analysis.decode),
        ]  # fmt: skip
    if analysis.prefill:
        blocks += [Heading("Prefill devices", "prefill-devices"), _prefill(analysis.prefill)]
        if layered := [device for device in analysis.prefill if device.layers]:
            blocks.append(_layers(layered))
    return blocks


def _decode(devices: Sequence[DecodeDevice]) -> list[Block]:
    scale = time_scale([device.active_ns for device in devices])
    columns = [
        _names(devices),
        numbers("Steps", [device.step_count for device in devices], term="decode-idle"),
        times("Active", [device.active_ns for device in devices], scale, term="decode-idle"),
        times("Idle", [device.idle_ns for device in devices], scale, term="decode-idle"),
        shares("Idle share", [device.idle_share for device in devices], term="decode-idle"),
        times("Idle, KV pending", [device.idle_while_pending_ns for device in devices], scale, term="decode-idle"),
        texts("Seen by", [device.basis for device in devices], minor=True),
    ]
    return [table("Decode devices", columns, "decode-table"), _reasons(devices), _effects(devices)]


def _names(devices: Sequence[DecodeDevice | PrefillDevice]) -> Filled:
    return names("Device", [f"{device.trace_id}:{device.gpu}" for device in devices])


def _reasons(devices: Sequence[DecodeDevice]) -> Table:
    """A row for each device and reason: of many devices those in which most was idle."""
    rows = [(device, name) for device in devices for name in _REASONS if device.by_reason.get(name)]
    rows.sort(key=lambda row: -row[0].by_reason[row[1]])
    shown = rows[:MOST_ROWS]
    idle = [device.by_reason[name] for device, name in shown]
    columns = [
        _names([device for device, _ in shown]),
        texts("Idle while", [_REASONS[name] for _, name in shown], term="decode-idle"),
        times("Time", idle, time_scale(idle), term="decode-idle"),
        shares("Of its idle time", [value / device.idle_ns for value, (device, _) in zip(idle, shown, strict=True)]),
    ]
    dropped = f"The {len(shown)} longest of {len(rows):,}; the JSON report has all." if len(shown) < len(rows) else ""
    return table("What was going on while decode idled", columns, "decode-idle-table", dropped=dropped)


def _effects(devices: Sequence[DecodeDevice]) -> Table:
    delays = [device.delayed_ns for device in devices]
    columns = [
        _names(devices),
        numbers("Delayed steps", [device.delayed_step_count for device in devices], term="delayed-steps"),
        times("Delay", delays, time_scale(delays), term="delayed-steps"),
        numbers("Token p50, KV arriving", _medians([device.token_ms_with_transfer for device in devices]), unit="ms",
                term="token-time"),
        numbers("Token p50, no KV", _medians([device.token_ms_without_transfer for device in devices]), unit="ms",
                term="token-time"),
        numbers("Slowdown", [device.slowdown_ratio for device in devices], unit="times", term="slowdown"),
        numbers("Kernels compared", [device.slowdown_kernel_count for device in devices], term="slowdown", minor=True),
    ]  # fmt: skip
    return table("What arriving KV does to decode", columns, "decode-effects-table")


def _medians(spreads: Sequence[Distribution | None]) -> list[float | None]:
    return [None if spread is None else spread.p50 for spread in spreads]


def _prefill(devices: Sequence[PrefillDevice]) -> Table:
    scale = time_scale([device.step_ns for device in devices])
    columns = [
        _names(devices),
        numbers("Steps", [device.step_count for device in devices], term="send-stall"),
        times("In steps", [device.step_ns for device in devices], scale, term="send-stall"),
        times("Stalled by sends", [device.stall_ns for device in devices], scale, term="send-stall"),
        shares("Stall share", [device.stall_share for device in devices], term="send-stall"),
        times("Sending", [device.send_ns for device in devices], scale, term="send-stall"),
        times("Exposed", [device.exposed_ns for device in devices], scale, term="exposed"),
        numbers("Tail p50", _medians([device.tail_ms for device in devices]), unit="ms", term="send-tail"),
        numbers("Tail p99", [None if device.tail_ms is None else device.tail_ms.p99 for device in devices], unit="ms",
                term="send-tail", minor=True),
    ]  # fmt: skip
    return table("Prefill devices", columns, "prefill-table")


def _layers(devices: Sequence[PrefillDevice]) -> Table:
    rows = [(device, layer) for device in devices for layer in device.layers]
    shown = rows[:MOST_ROWS]
    scale = time_scale([layer.time_ns for _, layer in shown])
    columns = [
        _names([device for device, _ in shown]),
        numbers("Layer", [layer.layer for _, layer in shown]),
        times("Sending", [layer.time_ns for _, layer in shown], scale, term="send-stall"),
        times("Exposed", [layer.exposed_ns for _, layer in shown], scale, term="exposed"),
        times("Behind compute", [layer.overlapped_ns for _, layer in shown], scale, term="exposed"),
        shares("Exposed share", [layer.exposed_share for _, layer in shown], term="exposed"),
    ]
    dropped = f"The first {len(shown)} of {len(rows):,}; the JSON report has all." if len(shown) < len(rows) else ""
    return table("How well sends of each layer hide", columns, "prefill-layers-table", dropped=dropped, folded=True)
