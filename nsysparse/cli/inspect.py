"""`nsysparse inspect`: what was recorded, what not and why, and what can be answered."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nsysparse.cli.options import preset_option
from nsysparse.cli.place import format_for, write
from nsysparse.cli.settings import Configured, config_files
from nsysparse.cli.talk import progress, say, verbosity_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsysparse.inspection import Answer, Inspection, TraceInspection, TransportCount

FORMATS = {"text": ".txt", "json": ".json"}
CAPTURE = "Whole command lines, by serving system and version of nsys: nsysparse capture ENGINE"
_MARKS = {"present": "yes", "partial": "partly", "absent": "no"}


@click.command("inspect", cls=Configured)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option("-f", "--format", "output_format", type=click.Choice(list(FORMATS)), help="Default: by -o, else text.")
@click.option("-o", "--output", metavar="PATH", help="Where to write; default and - are stdout.")
@click.option("--force", is_flag=True, help="Replace a file that nsysparse did not write.")
@preset_option
@verbosity_options
def command(
    traces: tuple[str, ...],
    output_format: str | None,
    output: str | None,
    force: bool,  # noqa: FBT001 (click passes flags by name)
    presets: tuple[str, ...],
) -> None:
    """Say what a trace holds, what it lacks and why, and the command that would record the rest.

    \b
        nsysparse inspect trace.sqlite
        nsysparse inspect trace.sqlite -f json | jq '.traces[].communicators'
    """
    chosen = format_for(output_format, output, FORMATS, "text")
    from nsysparse.api import inspect
    from nsysparse.render.to_json import render
    from nsysparse.source.inputs import find_inputs

    with ExitStack() as stack, progress() as tell:
        paths = find_inputs(traces, stack)
        found = inspect(paths, tell, presets)
    content = (
        render(found) if chosen == "json" else "\n".join([*map(_text, found.traces), _together(found), f"{CAPTURE}\n"])
    )
    target = None if output in (None, "-") else Path(str(output))
    write(content, target, force=force, inputs=[*paths, *map(Path, traces), *config_files()])
    if target is not None:
        say(f"Wrote {target}")


def _text(trace: "TraceInspection") -> str:
    from nsysparse.render.names import visible
    from nsysparse.units import counted, human_ns

    counts = trace.counts
    gpus = ", ".join(f"{gpu.device_id} {gpu.name or 'unnamed'}" for gpu in trace.gpus)
    nsys, schema = trace.nsys_version or "unknown", trace.schema_version or "unknown"
    lines = [f"{trace.file}: nsys {nsys}, schema {schema}, {human_ns(trace.duration_ns)} recorded"]
    if trace.synthetic:
        lines.append(f"  SYNTHETIC: {trace.synthetic.removeprefix('synthetic: ')}")
    events = {
        "NVTX ranges": counts.nvtx_range_count,
        "kernels": counts.kernel_count,
        "copies": counts.copy_count,
        "opaque graph launches": counts.graph_launch_count,
    }
    nccl = {
        "ncclSend": counts.send_call_count,
        "ncclRecv": counts.recv_call_count,
        "groups": counts.group_count,
        "SendRecv kernels": counts.send_recv_kernel_count,
    }
    lines.append(
        f"  {counted(counts.process_count, 'process', 'processes')},"
        f" {counted(counts.thread_count, 'thread with ranges', 'threads with ranges')}"
    )
    lines.append(f"  {counted(len(trace.gpus), 'GPU')}: {gpus}" if gpus else "  no GPU is named")
    lines += ["  " + ", ".join(f"{count:,} {what}" for what, count in group.items()) for group in (events, nccl)]
    lines.append(f"  presets that know its ranges: {', '.join(trace.presets)}")
    lines += [
        f"  communicator {found.id}: {found.rank_count or '?'} ranks, {found.send_count:,} sends,"
        f" {found.recv_count:,} receives, {found.collective_count:,} collectives"
        for found in trace.communicators
    ]
    lines += ["", "Transfers found"]
    for each in trace.transports:
        lines.append(f"  {each.transport:13} {_transfers(each)}")
    lines += ["", "Can be answered"]
    lines += _answers(trace.answers)
    lines += ["", "Recorded"]
    for name, fact in trace.capabilities.items():
        lines.append(f"  {_MARKS[fact.status]:7} {name}" + (f": {fact.reason}" if fact.reason else ""))
        if fact.fix and fact.status != "present":
            lines.append(f"          {fact.fix}")
    return "\n".join(visible(line) for line in lines) + "\n"


def _answers(answers: "Sequence[Answer]") -> list[str]:
    lines = []
    for answer in answers:
        lines.append(f"  {answer.answer:7} {answer.question} {answer.why}.")
        if answer.fix:
            lines.append(f"          {answer.fix}")
    return lines


def _together(found: "Inspection") -> str:
    from nsysparse.render.names import visible

    lines = ["Can be answered of the whole run", *_answers(found.answers)]
    return "\n".join(visible(line) for line in lines) + "\n"


def _transfers(found: "TransportCount") -> str:
    """How many, by side, and of how many of them the size is known; or why none."""
    from nsysparse.units import human_bytes, human_share

    if found.transfer_count is None:
        return f"not recorded: {found.why}"
    if not found.transfer_count:
        return f"none; {found.why}"
    counts = (
        (found.send_count, "sent"),
        (found.recv_count, "received"),
        (found.copy_count, "copied"),
        (found.unknown_side_count, "of unknown side"),
    )
    sides = ", ".join(f"{count:,} {side}" for count, side in counts if count)
    size = "no size known"
    if found.bytes is not None:
        size = f"{human_bytes(found.bytes)}, size known of {human_share(found.bytes_known_share)}"
    return f"{found.transfer_count:,} ({sides}), {size}"
