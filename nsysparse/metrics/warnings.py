"""Oddities that were seen and survived, in words. Every code a stage counts must be here (a test checks)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from nsysparse.analysis import AnalysisWarning

MOST_NAMED = 16
"""Unreadable files that a warning names."""
MESSAGES = {
    "annotated-bytes-differ": "annotations whose bytes differ from NCCL's own payload; the payload was used",
    "annotations-around-both-sides": "annotations around sends and receives alike, whose bytes fit neither",
    "annotations-beside-transfers": "annotations that stand as movements of their own beside transfers that other"
    " sources recorded: if they tell of the same data it counts twice",
    "bytes-differ-from-model": "requests that moved over 5 % more or less than the model says: another model, an 8-bit"
    " cache, several ranks, reused prefixes, or transfers outside the capture",
    "calls-without-time-or-thread": "CUDA calls without start, end or thread; what they launched has no launch",
    "clock-was-stepped": "hosts whose wall clock was set between two of the recordings; their monotonic clock aligns"
    " them",
    "clocks-contradict": "pairs of traces whose transfers contradict each other, or what is recorded of their clocks:"
    " their clocks are not aligned",
    "copies-beside-posts": "copies that ran while another process's NIXL transfer did: if they carried it out, as the"
    " receiver may, its data counts twice",
    "copies-short-of-a-transfer": "copies inside a transfer that together are less than it: taken for what carried it,"
    " though they may be other traffic, which is then not counted",
    "counters-impossible": "counter values below zero or far above what a link can carry, left out",
    "counters-in-unknown-units": "samples of network adapters in a unit that is not known, left out",
    "counters-with-impossible-times": "counter samples that end before they start or last for days, left out",
    "gpu-work-without-device": "GPU operations without a device, left out",
    "weights-do-not-fit": "annotations whose layer_bytes or request_bytes are not one number for each; divided by"
    " tokens or evenly",
    "attributions-too-many": "movements that name too many layers times requests, whose requests were left out, or that"
    " would make more than two million shares in all, which stay unattributed",
    "gpu-work-with-impossible-times": "GPU operations that never end, end before they start or run for days, left out",
    "gpu-work-without-launch": "GPU operations without a recorded launch; no range can own them",
    "lanes-realigned": "sequences of sends and receives of which the capture cut off a part on one side; what is left"
    " was paired, the rest counts as seen from one side",
    "graph-nodes-with-impossible-times": "nodes of CUDA graphs that end before they start, left out: what was captured"
    " there is not traced to its call",
    "graph-nodes-without-thread": "nodes of CUDA graphs without a thread, left out: what was captured there is not"
    " traced to its call",
    "lanes-that-do-not-pair": "sequences of sends and receives that both sides recorded but whose counts, sizes"
    " or times do not agree; the side with more was counted",
    "launches-repeated": "surplus CUDA calls of the same process and correlation id; the latest before the work won",
    "layers-need-their-number": "transfers that carry all layers of a model whose number of layers is not known: name"
    " it with --layers N or --model ID",
    "layers-unreadable": "transfers in a range whose layer is neither a number, a span nor `all`",
    "measured-ceiling-unused": "benchmark given with --measured that is of another link than what carried transfers"
    " here (inside a machine, or between machines): their ceilings are not the measured one",
    "meetings-too-many": "kinds of sends or receives that might be each other's side but agree in too little to compare"
    " them all; both sides were counted",
    "movements-counted-by-side": "transfers that may be the other side of a counted one: rank or peer is unknown, so"
    " only the side with more transfers was counted, which may be too few or too many",
    "names-of-unproven-pairs": "movements whose layer or request only the other side names, in a pair that nothing"
    " proves: they stay unattributed, since a capture that begins between a send and its receive shifts all pairs;"
    " record both sides from before NCCL's communicators are made",
    "named-sizes-differ": "transfers that carry one name on both sides but differ in size: up to 5 % they are one"
    " movement of the standing side's size, beyond that both sides were counted",
    "nixl-completions-without-post": "completions of NIXL requests whose post was not recorded, or that follow another"
    " completion of the same post; no transfer was made of them",
    "nixl-never-completed": "NIXL transfers whose completion was not recorded, or days later: their time is unknown",
    "payloads-not-decodable": "payloads of NCCL or NIXL ranges that fit no schema of the file",
    "nccl-trace-rows-experimental": "files with rows of `nsys -t nccl`, whose JSON is not documented: reading them is"
    " experimental, so compare with a capture that traces NVTX",
    "nccl-trace-rows-unusable": "Send and Recv rows of `nsys -t nccl` that do not say which call they belong to, left"
    " out: export with --include-json=true",
    "perhaps-copies-to-itself": "sends and receives of a group that name one peer, whose own rank is unknown: it may be"
    " the peer, and then they moved nothing to another device, but are counted",
    "ranges-crossing": "push/pop ranges that overlap another of their thread and domain: a push or pop was lost, so"
    " they attribute nothing",
    "request-ids-collide": "request ids that --normalize-request makes of several ids of one process, as if they were"
    " one",
    "request-ids-differ-by-suffix": "requests whose ids differ between the traces only by a suffix of eight hex digits;"
    " --normalize-request '^(.*)-[0-9a-f]{8}$' makes them one",
    "normaliser-changes-nothing": "traces of which --normalize-request changes no request id: the pattern does not"
    " match them",
    "part-of-the-time": "traces of which only a part of the time was read (--time-range): totals are of what overlaps"
    " it, and what began before it may be missing",
    "presets-find-nothing": "preset files, or the pattern of --request-pattern, that know no range of any trace:"
    " `nsysparse presets check FILE TRACE` shows what they find",
    "order-and-request-differ": "sends whose request is one by their order and another by the only one in flight: they"
    " are given to neither",
    "order-needs-layers": "sends whose layer may follow from their order: name the number of layers with --layers N or"
    " --model ID",
    "sends-without-proven-order": "sends without a layer though steps and the number of layers are known: one too many"
    " or too few, several threads, requests of one size in an engine whose order is not known, or a capture that"
    " begins within a step; they stay unattributed",
    "ranges-never-closed": "NVTX ranges that nobody closed; they end with the recording",
    "ranges-with-impossible-times": "NVTX ranges that end before they start or last for days, left out",
    "ranges-without-thread": "NVTX ranges without a thread, left out",
    "ranks-inferred": "transfers whose own rank follows only from whom the nodes of their communicator name: right"
    " where all its ranks are in the files; else flows of several ranks may be taken for one",
    "rows-beside-a-transfer": "copies or messages that ran while a transfer of their process did but carried more than"
    " it; counted beside it",
    "rates-above-peak": "movements faster than the link's peak: bytes, pairing or link are wrong",
    "groups-on-several-devices": "transfers of groups whose kernels ran on several devices: which ran where is unknown",
    "told-by-time-alone": "movements whose layer or request --overlap-attribution took from what ran meanwhile: where"
    " sends lag behind the compute, that is the next layer",
    "traces-unreadable": "files of this run that could not be read, so that no number here counts what is in them",
    "ucx-rows-with-impossible-times": "UCX operations that end before they start or last for days, left out",
    "ucx-rows-without-thread": "UCX operations without a thread, left out",
    "utc-contradicted": "pairs of traces whose transfers prove that UTC is further off than --utc-error says, though"
    " --clock utc was asked for: without it they are aligned by their transfers",
    "steps-of-unknown-phase": "steps that do not say whether they prefill or decode, or do both, of a process whose"
    " role is mixed or not known: no request's way is taken from them; --role FILE=prefill|decode says what they are",
    "steps-without-work": "steps that name requests though nothing ran on a GPU in them, while other steps of their"
    " process compute: they are no steps of these requests",
    "sides-disagree-on-purpose": "pairs of which one side says KV and the other says not; taken for KV",
    "sizes-impossible": "sizes above 2^48 bytes in payloads, annotations or copies, taken for unknown",
    "sides-disagree-on-layer": "pairs whose two sides name different layers; the receive side's was kept",
    "sides-disagree-on-request": "pairs whose two sides name different requests; the receive side's was kept",
}


def warnings(anomalies: Counter[str]) -> tuple[AnalysisWarning, ...]:
    """What was counted, by code."""
    return tuple(
        AnalysisWarning(code, MESSAGES[code], anomalies[code]) for code in sorted(anomalies) if anomalies[code]
    )


def unreadable(files: Sequence[str]) -> AnalysisWarning:
    """That files are missing from all numbers.

    Args:
        files: Of each its name and why it could not be read, at least one.
    """
    anomalies = Counter[str]()
    anomalies["traces-unreadable"] = len(files)
    (warning,) = warnings(anomalies)
    more = [f"and {len(files) - MOST_NAMED:,} more"] if len(files) > MOST_NAMED else []
    return replace(warning, message=f"{warning.message}: {'; '.join([*files[:MOST_NAMED], *more])}")
