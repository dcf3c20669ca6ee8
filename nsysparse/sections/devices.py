"""What decode and prefill devices did meanwhile: idle time and its reasons, sends that stalled or were hidden."""

from collections.abc import Sequence

from nsysparse.analysis import Analysis, DecodeDevice, Distribution, PrefillDevice
from nsysparse.document import Block, Heading, Paragraph, Table
from nsysparse.sections.cells import names, numbers, shares, table, texts, times
from nsysparse.units import time_scale

_REASONS = {
    "kv_ready": "KV ready",
    "transfer": "KV in flight",
    "prefill_running": "prefill running",
    "between_steps": "between steps",
    "no_request": "no request",
    "unknown": "not known",
}
MOST_LAYERS = 200


def build(analysis: Analysis) -> list[Block]:
    """Decode devices, then prefill devices; each stays away where none is known."""
    blocks: list[Block] = []
    if analysis.decode:
        blocks += [
            Heading("Decode devices", "decode"),
            Paragraph("Idle: no compute runs on the device, whether a receive spins or not; the reasons are states at"
                      " that time, not causes.", "muted"),
            _decode(analysis.decode),
        ]  # fmt: skip
    if analysis.prefill:
        blocks += [Heading("Prefill devices", "prefill-devices"), _prefill(analysis.prefill)]
        if layered := [device for device in analysis.prefill if device.layers]:
            blocks.append(_layers(layered))
    return blocks


def _decode(devices: Sequence[DecodeDevice]) -> Table:
    scale = time_scale([device.active_ns for device in devices])
    columns = [
        names("Device", [f"{device.trace_id}:{device.gpu}" for device in devices]),
        numbers("Steps", [device.step_count for device in devices], term="decode-idle"),
        times("Active", [device.active_ns for device in devices], scale, term="decode-idle"),
        times("Idle", [device.idle_ns for device in devices], scale, term="decode-idle"),
        shares("Idle share", [device.idle_share for device in devices], term="decode-idle"),
        *(
            times(title, [device.by_reason.get(name) for device in devices], scale, term="decode-idle")
            for name, title in _REASONS.items()
        ),
        times("Idle while KV is pending", [device.idle_while_pending_ns for device in devices], scale,
              term="decode-idle", minor=True),
        numbers("Delayed steps", [device.delayed_step_count for device in devices], term="delayed-steps"),
        times("Delay", [device.delayed_ns for device in devices], scale, term="delayed-steps"),
        numbers("Token p50, KV arriving", _medians([device.token_ms_with_transfer for device in devices]), unit="ms",
                term="token-time"),
        numbers("Token p50, no KV", _medians([device.token_ms_without_transfer for device in devices]), unit="ms",
                term="token-time"),
        numbers("Slowdown", [device.slowdown_ratio for device in devices], unit="times", term="slowdown"),
        numbers("Kernels compared", [device.slowdown_kernel_count for device in devices], term="slowdown", minor=True),
        texts("Seen by", [device.basis for device in devices], minor=True),
    ]  # fmt: skip
    return table("Decode devices", columns, "decode-table")


def _medians(spreads: Sequence[Distribution | None]) -> list[float | None]:
    return [None if spread is None else spread.p50 for spread in spreads]


def _prefill(devices: Sequence[PrefillDevice]) -> Table:
    scale = time_scale([device.step_ns for device in devices])
    columns = [
        names("Device", [f"{device.trace_id}:{device.gpu}" for device in devices]),
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
    shown = rows[:MOST_LAYERS]
    scale = time_scale([layer.time_ns for _, layer in shown])
    columns = [
        names("Device", [f"{device.trace_id}:{device.gpu}" for device, _ in shown]),
        numbers("Layer", [layer.layer for _, layer in shown]),
        times("Sending", [layer.time_ns for _, layer in shown], scale, term="send-stall"),
        times("Exposed", [layer.exposed_ns for _, layer in shown], scale, term="exposed"),
        times("Behind compute", [layer.overlapped_ns for _, layer in shown], scale, term="exposed"),
        shares("Exposed share", [layer.exposed_share for _, layer in shown], term="exposed"),
    ]
    dropped = f"The first {len(shown)} of {len(rows):,}; the JSON report has all." if len(shown) < len(rows) else ""
    return table("How well sends of each layer hide", columns, "prefill-layers-table", dropped=dropped, folded=True)
