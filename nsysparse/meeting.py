"""Which transfers may be two sides of one movement, though neither their order nor a name of their own paired them.

Three kinds of transfers can meet: those of one transport whose both sides leave rows; an annotation and what another
source recorded on the other side; and annotations of both sides. No fact that both know may differ, and on one clock
their times must allow it. Those that share most facts meet first, of equal ones in the order of their begin. Where an
annotation tells of the sum of what the other side recorded in parts, the parts meet it together (`wholes`).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from nsysparse.alignment import CLOCK_SLACK_NS
from nsysparse.kinds import ANNOTATED, TWO_SIDED
from nsysparse.naming import XFER
from nsysparse.sides import acts_as
from nsysparse.wholes import BY_OWNER, BY_REQUEST, BY_XFER, contained, units

FACTS = ("communicator", "bytes", "source", "target", "src_end", "dst_end", "xfer", "tag")
TOLD_FACTS = ("bytes", "source", "target", "xfer", "request", "layer")
"""What an annotation can know; requests and layers where annotations of both sides name them."""
LATE_NS = 100_000_000
"""How long after a transfer's end the range that tells of its arrival may begin: an engine may be in a step."""
MOST_STEPS = 4_000_000
"""Comparisons that are made; hostile traces could ask for billions."""
_NEVER = 2**63
_PLACE = ("trace_id", "process")
_EXACT = "exact"


@dataclass(frozen=True, slots=True)
class Met:
    """What met: transfers by their ids.

    Attributes:
        pairs: `send`, `recv` of annotations and what they tell of, where nothing else may be meant.
        silent: `transfer_id` of what is therefore not counted, `standing` (what counts in its place).
    """

    pairs: pl.DataFrame
    silent: pl.DataFrame


@dataclass(slots=True)
class _Found:
    """Ids that met so far, and how many comparisons are left."""

    pairs: list[tuple[int, int]] = field(default_factory=list)
    silent: list[tuple[int, int]] = field(default_factory=list)
    gone: set[int] = field(default_factory=set)
    steps: int = 0


@dataclass(frozen=True, slots=True)
class _Rule:
    """Which transfers are compared.

    Attributes:
        facts: What must not differ.
        lane: What tells classes of transfers apart beyond these.
        told: Whether annotations speak, and only they.
        at_once: Only what happened in the same time of one clock; else also what may have, and across clocks.
    """

    facts: tuple[str, ...]
    lane: tuple[str, ...]
    told: bool = False
    at_once: bool = False


_ALIKE = _Rule(FACTS, ("transport", *_PLACE, "gpu", "several", "decided"))
_TOLD = _Rule(TOLD_FACTS, (*_PLACE, "gpu", "several", "is_told", "is_open", "is_copy"), told=True)
_Queue = list[tuple[int, int, int]]
"""Begin, end and id of transfers, in the order in which they began."""
_QUEUED = ("begin", "end", "transfer_id")


def meetings(transfers: pl.DataFrame, anomalies: Counter[str]) -> Met:
    """Which transfers may be the same movements as others, so that only one side of them counts.

    Args:
        transfers: Unpaired sends, receives, copies and annotations of unknown side: `transfer_id`, `transport`, `side`,
            `purpose`, `communicator`, `bytes`, `rank`, `peer`, `src_end`, `dst_end`, `match_key`, `is_one_sided`,
            `trace_id`, `process`, `gpu`, `device_count`, `call_start_ns`, `call_end_ns`, `start_ns`, `end_ns`,
            `interval_kind`, `told_id`, `evidence`, `layer_text`, `request_text` and how these are known.
        anomalies: Counts transfers that are not compared, as there are too many that agree in too little.

    Returns:
        Pairs, where an annotation meets the one thing that it can tell of; else which transfers do not count: of two
        the one whose size is not known, else the annotation, else the one whose purpose is not known, else those of
        the side with fewer, else the send: decode waits for the receive.
    """
    rows = _rows(transfers)
    found = _Found()
    _in_parts(rows.filter(pl.col("xfer").is_not_null()), BY_XFER, found, anomalies)
    _meet(_left(rows.filter(~pl.col("is_told") & ~pl.col("is_one_sided")), found), _ALIKE, found, anomalies)
    if not rows["is_told"].any():
        return _met(found)
    tellable = rows.filter(pl.col("is_told") | (pl.col("purpose") != "other"))
    for at_once in (True, False):
        _meet(_left(tellable, found), replace(_TOLD, at_once=at_once), found, anomalies)
    for key in (BY_OWNER, BY_REQUEST):
        _in_parts(_left(tellable, found), key, found, anomalies)
    for told, parts in contained(_left(tellable, found)):
        _let_stand(found, [told], parts)
    return _met(found)


def _met(found: _Found) -> Met:
    return Met(
        pl.DataFrame(found.pairs, schema={"send": pl.UInt32, "recv": pl.UInt32}, orient="row"),
        pl.DataFrame(found.silent, schema={"transfer_id": pl.UInt32, "standing": pl.UInt32}, orient="row"),
    )


def _left(rows: pl.DataFrame, found: _Found) -> pl.DataFrame:
    return rows.filter(~pl.col("transfer_id").is_in(found.gone))


def _let_stand(found: _Found, silent: Sequence[int], standing: Sequence[int]) -> None:
    found.silent += [(ident, standing[min(k, len(standing) - 1)]) for k, ident in enumerate(silent)]
    # What stands for one that is silent is known to be the same; the first of these tells it what for.
    found.silent += [(silent[0], ident) for ident in standing[len(silent) :]]
    found.gone |= {*silent, *standing}


def _rows(transfers: pl.DataFrame) -> pl.DataFrame:
    """Transfers with what is compared, in the order in which they began.

    Requests and layers are those that ranges of the annotation convention name: an engine's own ids need not be the
    same on both sides.
    """
    # A tag and the id of an annotation are no two names of one kind: they do not contradict each other.
    is_xfer = pl.col("match_key").str.starts_with(XFER)
    is_told = pl.col("transport") == ANNOTATED
    named_by_us = is_told | pl.col("evidence").str.contains(ANNOTATED, literal=True).fill_null(value=False)
    by_us = named_by_us & ~pl.col("evidence").str.contains("trtllm-bounce", literal=True).fill_null(value=False)
    begun = pl.coalesce("start_ns", "call_start_ns")
    # A call need not last as long as what it started, so its end says nothing of the message's.
    ended = pl.when(pl.col("interval_kind").ne_missing("call")).then("end_ns")
    return transfers.with_columns(
        acts_as=acts_as(), is_told=is_told,
        is_open=pl.col("side").is_null(),
        is_copy=pl.col("side").eq_missing("copy"),
        is_one_sided=pl.col("is_one_sided").fill_null(value=False) | ~pl.col("transport").is_in(TWO_SIDED),
        xfer=pl.when(is_xfer).then("match_key"),
        tag=pl.when(~is_xfer).then("match_key"),
        request=pl.when(by_us & (pl.col("request_provenance") == _EXACT)).then("request_text"),
        layer=pl.when(
            by_us & (pl.col("layer_provenance") == _EXACT) & pl.col("layer_text").str.contains(r"^\d+$")
        ).then("layer_text"),
        decided=pl.col("purpose") != "unknown",
        several=(pl.col("device_count") > 1).fill_null(value=False),
        begin=begun.fill_null(-_NEVER + 1).cast(pl.Int64),
        end=ended.fill_null(_NEVER - 1).cast(pl.Int64),
    ).sort(begun, "transfer_id", nulls_last=True)  # fmt: skip


def _roles(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows that may be sends, and those that may be receives; where nothing says which, a row is among both."""
    sends, recvs = (rows.filter(pl.col("acts_as").is_null() | (pl.col("acts_as") == side)) for side in ("send", "recv"))
    return (
        sends.with_columns(source="rank", target="peer"),
        recvs.with_columns(source="peer", target="rank"),
    )


def _meet(rows: pl.DataFrame, rule: _Rule, found: _Found, anomalies: Counter[str]) -> None:
    """Let rows meet, those that share most facts first."""
    sends, recvs = (_by_what_is_known(side, rule.facts) for side in _roles(rows))
    combined = [
        (tuple(fact for fact, ours, theirs in zip(rule.facts, known, others, strict=True) if ours and theirs), s, r)
        for known, s in sends
        for others, r in recvs
    ]
    for both, s, r in sorted(combined, key=lambda each: -len(each[0])):
        _among(_left(s, found), _left(r, found), both, rule, found, anomalies)


def _by_what_is_known(rows: pl.DataFrame, facts: tuple[str, ...]) -> list[tuple[tuple[bool, ...], pl.DataFrame]]:
    """Rows of which the same facts are known, with which these are."""
    known = [f"{fact}_known" for fact in facts]
    marked = rows.with_columns(pl.col(fact).is_not_null().alias(name) for fact, name in zip(facts, known, strict=True))
    parts = marked.group_by(known, maintain_order=True)
    return sorted(((tuple(bool(value) for value in key), part) for key, part in parts), key=lambda each: each[0])


def _among(
    sends: pl.DataFrame, recvs: pl.DataFrame, both: tuple[str, ...], rule: _Rule, found: _Found, anomalies: Counter[str]
) -> None:
    """Let rows meet whose facts `both` are equal: class by class, k-th with k-th as far as their times allow it."""
    if sends.is_empty() or recvs.is_empty():
        return
    relayed = not rule.told and "communicator" in both and not {"source", "target"} & set(both)
    lane = [*(fact for fact in rule.lane if fact not in both), *(("source", "target") if relayed else ())]
    ours, theirs = (_classes(side, [*both, *lane]) for side in (sends, recvs))
    if found.steps + _pair_count(ours, theirs, both) > MOST_STEPS:
        anomalies["meetings-too-many"] += min(sends.height, recvs.height)
        return
    queues = {"send": _queues(ours), "recv": _queues(theirs)}
    for row in _allowed(ours, theirs, both, rule, relayed=relayed).iter_rows(named=True):
        found.steps += 1
        waiting = {side: _waiting(queue[row[f"{side}_class"]], found) for side, queue in queues.items()}
        met, left = _aligned(waiting["send"], waiting["recv"], row, rule)
        found.steps += len(met)
        for side, queue in queues.items():
            queue[row[f"{side}_class"]] = left[side]
        _settle(met, waiting, row, rule, found)


def _classes(rows: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Rows that are equal in `key`, as queues."""
    attributes = [*_PLACE, "gpu", "several", "decided", "is_told", "is_open", "is_copy", "transport"]
    sized = pl.col("bytes").is_not_null().all().alias("sized")
    facts = [pl.col(name).first() for name in attributes if name not in key]
    queue = [pl.col(name).alias(f"queued_{name}") for name in _QUEUED]
    return rows.group_by(key, maintain_order=True).agg(*facts, sized, *queue).with_row_index("number")


def _queues(classes: pl.DataFrame) -> list[_Queue]:
    rows = classes.select(f"queued_{name}" for name in _QUEUED).iter_rows()
    return [list(zip(*lists, strict=True)) for lists in rows]


def _waiting(queue: _Queue, found: _Found) -> _Queue:
    return [each for each in queue if each[2] not in found.gone]


def _pair_count(ours: pl.DataFrame, theirs: pl.DataFrame, both: tuple[str, ...]) -> int:
    """How many pairs of classes agree in the facts `both`."""
    if not both:
        return ours.height * theirs.height
    per_key = ours.group_by(both).len("ours").join(theirs.group_by(both).len("theirs"), on=both)
    return int((per_key["ours"].cast(pl.Int64) * per_key["theirs"].cast(pl.Int64)).sum())


def _allowed(
    ours: pl.DataFrame, theirs: pl.DataFrame, both: tuple[str, ...], rule: _Rule, *, relayed: bool
) -> pl.DataFrame:
    """Pairs of classes that may meet: `send_class`, `recv_class`, what is known of both, and whether `sole` there are.

    One device's sends and receives go to and come from elsewhere, so both count. A send to a rank and a receive from
    the same rank would be that rank's copy to itself.
    """
    ours, theirs = (side.drop(f"queued_{name}" for name in _QUEUED) for side in (ours, theirs))
    met = ours.join(theirs, on=both, maintain_order="left_right") if both else ours.join(theirs, how="cross")
    for name in both:
        if name in _PLACE:
            met = met.with_columns(pl.col(name).alias(f"{name}_right"))
    elsewhere = pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_right")) for name in _PLACE)
    devices = pl.col("gpu") != pl.col("gpu_right") if rule.told else pl.col("gpu").ne_missing(pl.col("gpu_right"))
    several = pl.col("several") | pl.col("several_right")
    may = elsewhere | devices.fill_null(value=False) | several
    if rule.told:
        told, told_right = pl.col("is_told"), pl.col("is_told_right")
        # A copy's row has both its ends: who made it has told of them.
        may &= elsewhere | ~(pl.col("is_copy") | pl.col("is_copy_right"))
        # Of two annotations without side nothing says that they are two sides.
        may &= (told | told_right) & ~(pl.col("is_open") & pl.col("is_open_right"))
    else:
        may &= pl.col("transport") == pl.col("transport_right")
        if relayed:
            may &= ~(pl.col("target") == pl.col("source_right")).fill_null(value=False) | several
    clock = pl.col("trace_id") == pl.col("trace_id_right")
    if rule.at_once:
        may &= clock
    places = [pl.struct(_PLACE), pl.struct(f"{name}_right" for name in _PLACE)]
    alone = [(place.n_unique().over(both) if both else place.n_unique()) == 1 for place in places]
    moved = {f"moved{end}": ~pl.col(f"is_told{end}") for end in ("", "_right")}
    allowed = met.filter(may).with_columns(one_clock=clock, **moved).with_columns(sole=alone[0] & alone[1])
    if rule.told:  # what moved the data before what only tells of it
        allowed = allowed.sort(pl.col("is_told") & pl.col("is_told_right"), maintain_order=True)
    return allowed.rename({"number": "send_class", "number_right": "recv_class"})


def _aligned(
    sends: _Queue, recvs: _Queue, known: dict[str, object], rule: _Rule
) -> tuple[list[tuple[int, int]], dict[str, _Queue]]:
    """Which send met which receive, and what is left of both.

    On one clock a receive cannot be over before its send begins. What is told and what tells of it happen together, but
    for the time in which an arrival waits to be looked for.
    """
    one_clock = bool(known["one_clock"])
    slack = 0 if rule.at_once else CLOCK_SLACK_NS
    lateness = LATE_NS if known["is_told_right"] and not rule.at_once else slack
    met: list[tuple[int, int]] = []
    left: dict[str, _Queue] = {"send": [], "recv": []}
    i = j = 0
    while i < len(sends) and j < len(recvs):
        send, recv = sends[i], recvs[j]
        if one_clock and recv[1] + slack < send[0]:
            left["recv"].append(recv)
            j += 1
        elif one_clock and rule.told and send[1] + lateness < recv[0]:
            left["send"].append(send)
            i += 1
        else:
            met.append((send[2], recv[2]))
            i, j = i + 1, j + 1
    left["send"] += sends[i:]
    left["recv"] += recvs[j:]
    return met, left


def _settle(
    met: list[tuple[int, int]], waiting: dict[str, _Queue], known: dict[str, object], rule: _Rule, found: _Found
) -> None:
    """Pair what met, where it is plain which belongs to which; else let one side of it stand."""
    equal = len(waiting["send"]) == len(waiting["recv"]) == len(met)
    if rule.told and known["sole"] and (rule.at_once or equal):
        found.pairs += met
        found.gone |= {ident for both in met for ident in both}
        return
    weight = {
        side: (*(bool(known[f"{name}{end}"]) for name in ("sized", "moved", "decided")), len(waiting[side]))
        for side, end in (("send", ""), ("recv", "_right"))
    }
    for send, recv in met:
        silent, standing = (recv, send) if weight["send"] > weight["recv"] else (send, recv)
        _let_stand(found, [silent], [standing])


def _in_parts(rows: pl.DataFrame, key: str, found: _Found, anomalies: Counter[str]) -> None:
    """Let several rows together meet what tells of their sum; the side that moved the data stands, in all its parts."""
    grouped, members = units(rows, key)
    if grouped.is_empty():
        return
    rule = replace(_TOLD, facts=tuple(fact for fact in _TOLD.facts if fact != "layer"))
    together = _Found(steps=found.steps)
    _meet(grouped, rule, together, anomalies)
    found.steps = together.steps
    moved = dict(grouped.select("transfer_id", ~pl.col("is_told")).iter_rows())
    for met in (*together.pairs, *together.silent):
        sides = sorted(met, key=lambda unit: (moved[unit], len(members[unit])))
        silent, standing = (members[unit] for unit in sides)
        if len(silent) + len(standing) > 2:  # noqa: PLR2004 (one with one was compared before)
            _let_stand(found, silent, standing)
