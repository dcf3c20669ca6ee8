"""How much of the traffic has a layer and a request, how it got them, and what was left out as not KV."""

from collections.abc import Iterable

from nsysparse.analysis import Analysis, Excluded
from nsysparse.document import Abstention, Block, Heading, Paragraph, Table
from nsysparse.sections.cells import numbers, shares, sizes, table, texts, times
from nsysparse.sections.provenance import rank
from nsysparse.units import counted, human_ns, human_share, time_scale

FIELDS = ("layer", "request", "phase", "role")


def build(analysis: Analysis) -> list[Block]:
    """Unattributed shares, provenance counts, purposes, and excluded traffic with the rule that excluded it."""
    blocks: list[Block] = [Heading("Coverage", "coverage", 3)]
    if analysis.totals.movement_count:
        blocks += [_unattributed(analysis), _provenance(analysis), *_purposes(analysis)]
    else:
        blocks.append(Abstention("Coverage", "There is no KV transfer to attribute."))
    if analysis.excluded:
        blocks.append(_excluded(analysis.excluded))
    return blocks


def _part(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else part / whole


def _unattributed(analysis: Analysis) -> Table:
    totals = analysis.totals
    scopes = [(scope, analysis.unattributed[scope]) for scope in ("layer", "request") if scope in analysis.unattributed]
    missing = [each for _, each in scopes]
    columns = [
        texts("Without a", [scope for scope, _ in scopes]),
        numbers("Movements", [each.movement_count for each in missing], term="movement"),
        shares("Of movements", [_part(each.movement_count, totals.movement_count) for each in missing]),
        sizes("Bytes", [each.bytes for each in missing]),
        shares("Of bytes", [_part(each.bytes, totals.bytes) for each in missing]),
        times("Time", [each.time_ns for each in missing], time_scale(each.time_ns for each in missing)),
        shares("Of time", [_part(each.time_ns, totals.time_ns) for each in missing], term="transfer-time"),
    ]
    return table("Not attributed", columns, "unattributed")


def _provenance(analysis: Analysis) -> Table:
    """Share of bytes and time by field and by how it is known; what is not known stands with `none`."""
    place = {field: number for number, field in enumerate(FIELDS)}
    rows = sorted(analysis.coverage, key=lambda each: (place.get(each.field, len(place)), rank(each.provenance)))
    columns = [
        texts("Field", [each.field for each in rows]),
        texts("Known by", [each.provenance for each in rows], term="provenance"),
        numbers("Movements", [each.movement_count for each in rows], term="movement"),
        sizes("Bytes", [each.bytes for each in rows], minor=True),
        shares("Of bytes", [each.bytes_share for each in rows]),
        times("Time", [each.time_ns for each in rows], time_scale(each.time_ns for each in rows), minor=True),
        shares("Of time", [each.time_share for each in rows], term="transfer-time"),
    ]
    note = "A movement that divides among several layers or requests counts once for each way in which they are known."
    return table("How each field is known, best first", columns, "provenance", dropped=note)


def _purposes(analysis: Analysis) -> list[Block]:
    notes = {
        "unknown": ("although nothing proves that it carries KV", "although nothing proves that they carry KV"),
        "other": ("although it is known to be other traffic", "although they are known to be other traffic"),
    }
    totals = analysis.totals
    found: list[Block] = []
    for purpose, (of_one, of_several) in notes.items():
        each = totals.by_purpose.get(purpose)
        if each is not None and each.movement_count:
            share = human_share(_part(each.time_ns, totals.time_ns))
            time = "" if each.time_ns is None else f" ({human_ns(each.time_ns)}, {share} of the time)"
            counts = f"{each.movement_count:,} of {counted(totals.movement_count, 'movement')}"
            note = f"is counted {of_one}" if each.movement_count == 1 else f"are counted {of_several}"
            found.append(Paragraph(f"{counts}{time} {note}.", "doubt"))
    return found


def _excluded(excluded: Iterable[Excluded]) -> Table:
    rows = list(excluded)
    columns = [
        texts("Purpose", [each.purpose for each in rows]),
        texts("Rule", [each.rule for each in rows]),
        numbers("Transfers", [each.transfer_count for each in rows], minor=True),
        numbers("Movements", [each.movement_count for each in rows], term="movement"),
        numbers("Kernels", [each.kernel_count for each in rows]),
        sizes("Bytes", [each.bytes for each in rows]),
        times("Time", [each.time_ns for each in rows], time_scale(each.time_ns for each in rows)),
    ]
    sure = all(each.purpose == "other" for each in rows)
    return table("Left out: not KV" if sure else "Left out: not proven to be KV", columns, "excluded")
