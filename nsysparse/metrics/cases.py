"""Requests whose gap from prefill to decode is known with its parts: what there is to save, and who is to blame.

The parts add up to the gap. A fixed cost per message, where the link's line tells one, is no fault of the link's rate:
it counts as fragmentation, beside the pauses between messages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from nsysparse.analysis import Link, Request
from nsysparse.metrics.crowding import Crowding, crowding
from nsysparse.metrics.journeys import Journeys
from nsysparse.metrics.measured import Measured
from nsysparse.metrics.path import Event, events
from nsysparse.metrics.prefill_compute import LastPrefill, last_prefills
from nsysparse.metrics.spans import finishing, on_wire, senders, sending_to, window
from nsysparse.sides import other_side

LINK, WAIT, RECEIVER, TRANSFER = "link", "wait", "receiver", "transfer"
FRAGMENTATION, HANDOFF, SCHEDULER = "fragmentation", "handoff", "scheduler"
"""What a gap is made of, and so who is to blame: the wire, the sender that was late, the receiver that was; the wire or
a late sender where they cannot be told apart; pauses between transfers, the sender that began late, and the decode side
that did not start though it could."""
_MOST_DOUBT = 0.1
"""Of a gap: where its clocks may be off by more, pauses between transfers are not told from transfers."""
PARTS = (LINK, WAIT, RECEIVER, TRANSFER, FRAGMENTATION, HANDOFF, SCHEDULER)


@dataclass(frozen=True, slots=True)
class Case:
    """One request's gap and what is known of how it came about. Of transfers: those of the rank that finished last.

    Attributes:
        request_id: The request.
        gap_ns: From the end of its prefill to the start of its first decode step.
        wire_ns: Of the gap, the time on the wire; 0 where that cannot be told from waiting.
        wait_ns: Receives that waited for their sender; likewise. And pauses in which its link carried other requests.
        moving_ns: Time in which receives ran, where these two cannot be told apart; else 0.
        late_ns: Time in which no receive ran and a kernel that sends to it did: the receiver was late.
        pause_ns: Other pauses between its transfers; they count as moving where the clocks leave much of the gap open.
        handoff_ns: Until its first send.
        ready_ns: From its last receive to the decode step.
        doubt_ns: How far the clocks may be off that the gap rests on.
        overlap_ns: How far its first send came before the end of its prefill.
        path_ns: Its whole way to the first decoded token; None where its beginning lies outside the capture.
        first_decode_ns: Length of that decode step.
        prompt_tokens: Length of its prompt.
        attempt_count: How often its whole KV was sent, where that is known.
        message_count: Transfers that were over within the gap; those that share kernels are one.
        layer_count: Layers that its transfers name, None where any names none.
        spread_ns: From the arrival of its first layer to that of all, within the gap.
        prefill: The compute of its last prefill step.
        pack_ns: Kernels that gather, scatter or convert KV for its transfers, of all sides; None where there are none.
        crowding: What other requests took of its link.
        link: The link that carried most of its messages.
        wire_bytes: What crossed `link` within `wire_ns`, by all that shared its kernels; None where a size is not
            known, or where its kernels or it had other links too.
    """

    request_id: str
    gap_ns: int
    wire_ns: int
    wait_ns: int
    pause_ns: int
    handoff_ns: int
    ready_ns: int
    overlap_ns: int = 0
    path_ns: int | None = None
    moving_ns: int = 0
    late_ns: int = 0
    doubt_ns: int = 0
    first_decode_ns: int | None = None
    prompt_tokens: int | None = None
    attempt_count: int | None = None
    message_count: int = 0
    layer_count: int | None = None
    spread_ns: int | None = None
    prefill: LastPrefill | None = None
    pack_ns: int | None = None
    crowding: Crowding | None = None
    link: Link | None = None
    wire_bytes: int | None = None

    @property
    def is_sent_again(self) -> bool:
        """Whether its transfers are those of several attempts, of which nothing follows for one."""
        return (self.attempt_count or 1) > 1

    @property
    def fixed_ns(self) -> int:
        """What its messages cost beside their bytes, at most all time on the wire; 0 where no line tells that."""
        cost = None if self.link is None else self.link.fixed_cost_ns
        return min((cost or 0) * self.message_count, self.wire_ns)

    @property
    def parts(self) -> Mapping[str, int]:
        """The gap by who is to blame, adding up to it."""
        return {
            LINK: self.wire_ns - self.fixed_ns,
            WAIT: self.wait_ns,
            RECEIVER: self.late_ns,
            TRANSFER: self.moving_ns,
            FRAGMENTATION: self.pause_ns + self.fixed_ns,
            HANDOFF: self.handoff_ns,
            SCHEDULER: self.ready_ns,
        }

    @property
    def blame(self) -> str | None:
        """What most of the gap is made of; None where there is no gap, or the clocks may turn which part is largest."""
        most, second, *_ = sorted(self.parts.items(), key=lambda part: -part[1])
        sure = most[1] - second[1] > self.doubt_ns or not second[1]
        return most[0] if most[1] and sure else None


def cases(
    requests: Sequence[Request], links: Sequence[Link], ended: pl.DataFrame, measured: Measured, journeys: Journeys
) -> tuple[Case, ...]:
    """One for each request whose gap and parts are known, in the order of the requests.

    Args:
        requests: With their ways.
        links: All links.
        ended: Movements with `link_key`.
        measured: Movements and their shares.
        journeys: What is known of the ways.
    """
    known = [case for case in map(_case, requests) if case is not None]
    seen = {row["request_id"]: events(row) for row in journeys.paths.iter_rows(named=True)}
    placed = _placed(ended, measured, journeys)
    found = _arrivals(known, seen, placed, journeys)
    crowded = _crowded(found, placed)
    prefills = last_prefills(journeys, [case.request_id for case in known])
    by_key = {(link.link_key, link.transport): link for link in links}
    layers, packs = _layers(measured, list(found)), _packs(measured)
    return tuple(
        _with(case, found[case.request_id], by_key, layers, packs, crowded, prefills)
        if case.request_id in found
        else case
        for case in known
    )


@dataclass(frozen=True, slots=True)
class _Arrival:
    """What arrived of one request on the rank that finished last, and from when to when it was awaited there.

    `running` has the times of its receives and of the kernels that sent to them.
    """

    rows: pl.DataFrame
    units: pl.DataFrame
    running: pl.DataFrame
    trace: str
    span: tuple[int, int]
    link: tuple[str | None, str | None]


def _case(request: Request) -> Case | None:
    """What the request itself tells; None where its gap or a part of it is not known."""
    span = request.span
    if span is None:
        return None
    parts = (
        request.kv_gap_ns,
        request.transfer_span_ns,
        span["gap_ns"],
        span["sender_wait_ns"],
        request.handoff_ns,
        request.ready_to_decode_ns,
    )
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    gap, whole, pause, late, handoff, ready = known
    doubt = request.uncertainty_ns or 0
    if gap <= doubt:
        return None
    wire, wait = span["wire_ns"], span["peer_wait_ns"]
    # What the clocks are off looks like pauses.
    apart = wire is not None and wait is not None and doubt <= _MOST_DOUBT * gap
    if not apart:
        wire, wait = 0, 0
    if doubt > _MOST_DOUBT * gap:
        pause = late = 0
    return Case(
        request.request_id, gap, wire or 0, wait or 0, pause, handoff, ready,
        moving_ns=0 if apart else whole - pause - late,
        late_ns=late,
        doubt_ns=doubt,
        overlap_ns=request.overlap_ns or 0,
        path_ns=request.path_ns,
        first_decode_ns=request.first_decode_ns,
        prompt_tokens=request.prompt_tokens,
        attempt_count=request.attempt_count,
    )  # fmt: skip


def _placed(ended: pl.DataFrame, measured: Measured, journeys: Journeys) -> pl.DataFrame:
    """What shows arrivals, with the movement that each is a side of, and its link."""
    standing = ended.select("transfer_id", "link_key", "transport").with_columns(movement_id="transfer_id")
    far = other_side(measured.transfers, "transfer_id").join(
        standing, left_on="far_transfer_id", right_on="transfer_id"
    )
    sides = pl.concat([standing, far.select(standing.columns)]).unique("transfer_id", keep="first", maintain_order=True)
    placed = journeys.sides.filter("arrives").join(sides, on="transfer_id", how="left", maintain_order="left")
    return placed.join(_unit_bytes(ended), on=["trace_id", "unit"], how="left", maintain_order="left")


def _unit_bytes(ended: pl.DataFrame) -> pl.DataFrame:
    """`unit_bytes` of what shares kernels; null where a size is not known or the kernels were about other links too."""
    units = ended.with_columns(unit=pl.coalesce("group_key", -1 - pl.col("transfer_id").cast(pl.Int64)))
    sized = pl.col("bytes").null_count() == 0
    here_alone = (pl.len() == pl.col("kernel_ops").fill_null(1).max()) & (pl.col("link_key").n_unique() == 1)
    return units.group_by("trace_id", "unit").agg(unit_bytes=pl.when(sized & here_alone).then(pl.col("bytes").sum()))


def _wire_bytes(units: pl.DataFrame, begin: int, until: int) -> int | None:
    """Bytes on the wire between two times: of what was there only partly, as large a part."""
    unknown = units["unit_bytes"].null_count() + units["wire_ns"].null_count()
    if unknown or units.select("link_key", "transport").n_unique() != 1:
        return None
    start, end = pl.col("start_ns"), pl.col("end_ns")
    within = (pl.min_horizontal(end, pl.lit(until)) - pl.max_horizontal(start, pl.lit(begin))).clip(lower_bound=0)
    crossed = on_wire(units).filter(end > start).select(part=pl.col("unit_bytes") * (within / (end - start)))
    return int(crossed["part"].sum())


def _arrivals(
    known: Sequence[Case], seen: Mapping[str, Mapping[str, Event | None]], placed: pl.DataFrame, journeys: Journeys
) -> dict[str, _Arrival]:
    by_request, sending = placed.partition_by("request_id", as_dict=True), senders(journeys.sides)
    found: dict[str, _Arrival] = {}
    for case in known:
        rows, last = by_request.get((case.request_id,)), seen[case.request_id]["last_recv"]
        span = window(seen[case.request_id], journeys.clocks)
        if rows is None or last is None or span is None:
            continue
        own = finishing(rows, last)
        units = own.unique("unit", keep="first", maintain_order=True)
        most = units.group_by("link_key", "transport").len().sort("len", "link_key", descending=[True, False])
        running = units.select("start_ns", "end_ns")
        if case.request_id in sending:
            sends = sending_to(own, sending[case.request_id], last.trace, journeys.clocks)
            running = pl.concat([running, sends])
        link = most.select("link_key", "transport").row(0)
        found[case.request_id] = _Arrival(own, units, running, last.trace, span, link)
    return found


def _crowded(found: Mapping[str, _Arrival], placed: pl.DataFrame) -> dict[str, Crowding]:
    """What requests took of each other's links, each on the clock of its last receive; others in whatever they had."""
    columns = ["request_id", "start_ns", "end_ns"]
    others = on_wire(
        placed.filter(~pl.col("request_id").is_in(list(found)), pl.col("wire_ns").is_not_null()).unique(
            ["request_id", "trace_id", "unit"], keep="first", maintain_order=True
        )
    )
    crowded: dict[str, Crowding] = {}
    places = sorted({(*each.link, each.trace) for each in found.values() if each.link[0] is not None}, key=str)
    for *link, trace in places:
        here = {name: each for name, each in found.items() if each.link == tuple(link) and each.trace == trace}
        crossing = [
            on_wire(each.units.filter(pl.col("wire_ns").is_not_null())).select(columns) for each in here.values()
        ]
        beside = others.filter(link_key=link[0], transport=link[1], trace_id=trace).select(columns)
        crowded |= crowding(
            pl.concat([*crossing, beside]),
            {name: each.span for name, each in here.items()},
            {name: each.running for name, each in here.items()},
        )
    return crowded


def _layers(measured: Measured, requests: Sequence[str]) -> dict[str, pl.DataFrame]:
    """By request, the layers of each movement that counts."""
    told = measured.shares.select("request_id", "layer", movement_id="transfer_id").unique()
    parts = told.partition_by("request_id", as_dict=True)
    return {request: parts.get((request,), told.clear()) for request in requests}


def _packs(measured: Measured) -> dict[int, int]:
    """By movement, the time of kernels that pack or unpack its KV on the sides that were recorded."""
    far = other_side(measured.transfers, "pack_ns")
    both = measured.movements.select("transfer_id", "pack_ns").join(far, on="transfer_id", how="left")
    summed = both.select("transfer_id", pack_ns=pl.sum_horizontal("pack_ns", "far_pack_ns"))
    return dict(summed.filter(pl.col("pack_ns") > 0).iter_rows())


def _with(
    case: Case,
    arrival: _Arrival,
    links: Mapping[tuple[str, str], Link],
    layers: Mapping[str, pl.DataFrame],
    packs: Mapping[int, int],
    crowded: Mapping[str, Crowding],
    prefills: Mapping[str, LastPrefill],
) -> Case:
    begin, until = arrival.span
    named = arrival.rows.join(layers[case.request_id], on="movement_id", how="left")
    told = not named.is_empty() and named["layer"].null_count() == 0
    first = named.filter(pl.col("layer") == pl.col("layer").min())["end_ns"].max() if told else None
    packed = [packs[each] for each in arrival.rows["movement_id"].unique().drop_nulls() if each in packs]
    key, crowd = arrival.link, crowded.get(case.request_id)
    behind = 0 if crowd is None else min(crowd.behind_ns, case.pause_ns)
    return replace(
        case,
        wait_ns=case.wait_ns + behind,
        pause_ns=case.pause_ns - behind,
        message_count=arrival.units.filter(pl.col("end_ns") > begin).height,
        layer_count=named["layer"].n_unique() if told else None,
        spread_ns=max(until - max(first, begin), 0) if isinstance(first, int) else None,
        prefill=prefills.get(case.request_id),
        pack_ns=sum(packed) or None,
        crowding=crowd,
        link=None if key[0] is None or key[1] is None else links.get((key[0], key[1])),
        wire_bytes=None if arrival.rows["from_host"].any() else _wire_bytes(arrival.units, begin, until),
    )
