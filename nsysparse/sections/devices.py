"""What decode and prefill devices did meanwhile: idle time and its reasons, sends that stalled or were hidden."""

from collections.abc import Sequence
from dataclasses import replace

from nsysparse.analysis import Analysis, DecodeDevice, Distribution, PrefillDevice
from nsysparse.document import Block, Heading, Meaning, Paragraph, PartRow, Parts, Segment, Table
from nsysparse.sections.cells import Filled, doubtful, names, numbers, shares, table, texts, times
from nsysparse.units import Scale, counted, human_ns, human_share, human_within, time_scale, within

_REASONS = {
    "kv_ready": "KV was ready, its decode had not begun",
    "transfer": "KV was in flight",
    "prefill_running": "prefill ran",
    "between_steps": "requests decoded: between their steps",
    "no_request": "there was no request",
    "unknown": "not known",
}
_BUSY: tuple[Meaning, str] = ("compute", "computing")
_LOOKS: dict[str, tuple[Meaning, str]] = {
    "kv_ready": ("ready", "idle, KV ready"),
    "transfer": ("wire", "idle, KV in flight"),
    "prefill_running": ("queue", "idle, prefill running"),
    "between_steps": ("pause", "idle between steps"),
    "no_request": ("idle", "idle, no request"),
    "unknown": ("unknown", "idle, reason not known"),
}
MOST_BARS = 24
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
        _off("Idle, KV pending", [device.idle_while_pending_ns for device in devices], devices, scale, "decode-idle"),
        texts("Seen by", [device.basis for device in devices], minor=True),
    ]
    return [
        _shares(devices),
        table("Decode devices", columns, "decode-table", folded=True),
        _reasons(devices),
        _effects(devices),
        _tokens(devices),
    ]


def _shares(devices: Sequence[DecodeDevice]) -> Parts:
    """Each device's time as computing and idle by reason; the devices that idled longest."""
    shown = sorted(devices, key=lambda device: (-device.idle_ns, device.trace_id, device.device_id))[:MOST_BARS]
    rows = [_shared(device) for device in shown]
    used = {part.meaning for row in rows for part in row.parts}
    key = [(meaning, text) for meaning, text in (_BUSY, *_LOOKS.values()) if meaning in used]
    dropped = f"The {len(shown)} that idled longest of {len(devices):,}." if len(shown) < len(devices) else ""
    return Parts("What decode devices did", rows, key, "decode-chart", dropped)


def _shared(device: DecodeDevice) -> PartRow:
    meaning, label = _BUSY
    parts = [_part(device, label, meaning, device.active_ns - device.idle_ns, 0)]
    doubt = device.uncertainty_ns or 0
    parts += [
        _part(device, label, meaning, device.by_reason[name], doubt)
        for name, (meaning, label) in _LOOKS.items()
        if device.by_reason.get(name)
    ]
    detail = f"{human_ns(device.active_ns)} of decode, {counted(device.step_count, 'step')}"
    return PartRow(f"{device.trace_id}:{device.gpu}", detail, parts)


def _part(device: DecodeDevice, label: str, meaning: Meaning, time_ns: int, doubt_ns: int) -> Segment:
    share = time_ns / device.active_ns if device.active_ns else 0.0
    said = human_within(time_ns, doubt_ns) if doubt_ns else human_ns(time_ns)
    return Segment(label, meaning, share, f"{human_share(share)}, {said}")


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
        _off("Time", idle, [device for device, _ in shown], _scale(idle, devices), "decode-idle"),
        _off_share("Of its idle time", idle, [device for device, _ in shown]),
    ]
    dropped = f"The {len(shown)} longest of {len(rows):,}; the JSON report has all." if len(shown) < len(rows) else ""
    return table("What was going on while decode idled", columns, "decode-idle-table", dropped=dropped, folded=True)


def _effects(devices: Sequence[DecodeDevice]) -> Table:
    delays = [device.delayed_ns for device in devices]
    columns = [
        _names(devices),
        numbers("Delayed steps", [device.delayed_step_count for device in devices], term="delayed-steps"),
        _off("Delay", delays, devices, _scale(delays, devices), "delayed-steps"),
        numbers("Slowdown", [device.slowdown_ratio for device in devices], unit="times", term="slowdown"),
        numbers("Kernels compared", [device.slowdown_kernel_count for device in devices], term="slowdown", minor=True),
    ]  # fmt: skip
    return table("What arriving KV does to decode", columns, "decode-effects-table", folded=True)


def _tokens(devices: Sequence[DecodeDevice]) -> Table:
    """Median and slow times with and without KV side by side, with decimals in common."""
    arriving = [device.token_ms_with_transfer for device in devices]
    free = [device.token_ms_without_transfer for device in devices]
    found = [
        ("p50, KV arriving", _medians(arriving)),
        ("p50, no KV", _medians(free)),
        ("p99, KV arriving", _slowest(arriving)),
        ("p99, no KV", _slowest(free)),
    ]
    beside = [value for _, values in found for value in values]
    columns = [numbers(title, values, unit="ms", term="token-time", beside=beside) for title, values in found]
    return table("Time per token", [_names(devices), *columns], "decode-tokens-table", folded=True)


def _scale(values: Sequence[int | None], devices: Sequence[DecodeDevice]) -> Scale:
    """The unit that fits both times and what they may be off."""
    return time_scale([*values, *(device.uncertainty_ns for device in devices)])


def _off(title: str, values: Sequence[int | None], devices: Sequence[DecodeDevice], scale: Scale, term: str) -> Filled:
    """Times of devices that may be off by what the clocks of other files leave open, shown no finer."""
    doubts = [device.uncertainty_ns for device in devices]
    if any(doubts):
        return doubtful(title, values, doubts, scale, term=term)
    return times(title, values, scale, term=term)


def _off_share(title: str, values: Sequence[int], devices: Sequence[DecodeDevice]) -> Filled:
    """Parts of the devices' idle times, likewise."""
    parts = [value / device.idle_ns for value, device in zip(values, devices, strict=True)]
    plain = shares(title, parts)
    cells = [
        replace(cell, text=f"{within(100 * part, 100 * device.uncertainty_ns / device.idle_ns)} %")
        if device.uncertainty_ns
        else cell
        for cell, part, device in zip(plain.cells, parts, devices, strict=True)
    ]
    return replace(plain, cells=cells)


def _slowest(spreads: Sequence[Distribution | None]) -> list[float | None]:
    return [None if spread is None else spread.p99 for spread in spreads]


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
        numbers("Tail p99", _slowest([device.tail_ms for device in devices]), unit="ms", term="send-tail", minor=True),
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
