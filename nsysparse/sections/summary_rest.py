"""Figures that need one line each, what is unknown and why, and warnings."""

import re

from nsysparse.analysis import Analysis, Reason, WhatIf
from nsysparse.document import Block, Cell, Column, Fact, Heading, Table
from nsysparse.ideas import title
from nsysparse.sections.path import BLAMES
from nsysparse.units import UNKNOWN, counted, human_ns, human_share, share_within

MOST_UNKNOWN = 5
MOST_WARNINGS = 4
_LONGEST_FIX = 60
"""A longer one is a command, which the verdict or the page names."""
_UNKNOWN = (
    ("/totals/bytes", "Sizes"),
    ("/totals/time_ns", "Transfer time"),
    ("/totals/wire_ns", "Wire, waiting"),
    ("/totals/overlapped_ns", "Behind compute"),
    ("/links/*/headline_gb_s", "Rates"),
    ("/links/*/peak_gb_s", "Line rates"),
    ("/settings/ttft/value", "First token"),
    ("/summary/queue_ms", "Queue"),
    ("/decode", "Decode idle"),
)
"""What a reader of the summary would miss, as a JSON Pointer and in words."""
_FIRST_CLAUSE = re.compile(r"[:;] ")


def facts(analysis: Analysis) -> list[Fact]:
    """One line each: decode idle, what has no request or layer, what is no KV, what would help most, clocks."""
    found = [tell(analysis) for tell in (_idle, _unattributed, _not_kv, _help, _worst, _clocks)]
    return [fact for fact in found if fact is not None]


def _idle(analysis: Analysis) -> Fact | None:
    every = analysis.decode or ()
    active = sum(device.active_ns for device in every)
    if not active:
        return None
    where = every[0].gpu if len(every) == 1 else counted(len(every), "decode device")
    flight = sum(device.by_reason.get("transfer", 0) for device in every) / active
    doubt = sum(device.uncertainty_ns or 0 for device in every) / active
    share = human_share(sum(device.idle_ns for device in every) / active)
    return Fact("Decode idle", share, f"of the time of {where}; {share_within(flight, doubt)} while KV is in flight")


def _unattributed(analysis: Analysis) -> Fact | None:
    whole = analysis.totals.time_ns
    parts = {name: each.time_ns for name, each in analysis.unattributed.items() if each.time_ns is not None}
    if not whole or "request" not in parts:
        return None
    layer = f"; {human_share(parts['layer'] / whole)} has no layer" if "layer" in parts else ""
    return Fact("Unattributed", human_share(parts["request"] / whole), f"of transfer time has no request{layer}")


def _not_kv(analysis: Analysis) -> Fact | None:
    left = [row for row in analysis.excluded if row.purpose == "other"]
    unproven = analysis.totals.by_purpose.get("unknown")
    notes = []
    if left:
        notes.append(f"transfers left out ({', '.join(sorted({row.rule for row in left}))})")
    if unproven is not None and unproven.movement_count:
        of = counted(analysis.totals.movement_count, "movement")
        notes.append(f"{unproven.movement_count:,} of {of} counted, though nothing proves them KV")
    if not notes:
        return None
    return Fact("Not KV", f"{sum(row.transfer_count for row in left):,}" if left else "0", "; ".join(notes))


def _help(analysis: Analysis) -> Fact | None:
    """What saves most of all requests together, as the findings choose, too."""
    ideas = [idea for idea in analysis.whatif or () if idea.saves_ns]

    def gain(idea: WhatIf) -> tuple[int, str]:
        return ((idea.saves_ns or 0) - (idea.costs_ns or 0)) * idea.request_count, idea.id

    best = max(ideas, key=gain, default=None)
    if best is None:
        return None
    net = (best.saves_ns or 0) - (best.costs_ns or 0)
    unpaid = ", before what it costs" if best.costs_ns is None else ""
    return Fact(
        "Would help",
        human_ns(net),
        f"median of {best.request_count:,}: {title(best.id)}{unpaid}",
    )


def _worst(analysis: Analysis) -> Fact | None:
    worst = next((each for each in analysis.requests if analysis.worst[:1] == (each.request_id,)), None)
    if worst is None or worst.kv_gap_share is None:
        return None
    low, high = worst.kv_gap_share_low, worst.kv_gap_share_high
    doubt = 0.0 if low is None or high is None else max(high - worst.kv_gap_share, worst.kv_gap_share - low)
    share = share_within(worst.kv_gap_share, doubt)
    blame = f", mostly {BLAMES[worst.blame]}" if worst.blame in BLAMES else ""
    return Fact("Worst request", share, f"{worst.request_id}{blame}")


def _clocks(analysis: Analysis) -> Fact | None:
    clocks = analysis.clocks
    if not clocks:
        return None
    refused = sum(clock.offset_ns is None for clock in clocks)
    if refused:
        pairs = counted(len(clocks), "pair of files", "pairs of files")
        return Fact("Clocks", UNKNOWN, f"{refused:,} of {pairs} not aligned", "doubt")
    return Fact("Clocks", f"± {human_ns(max(clock.uncertainty_ns or 0 for clock in clocks))}", "between files, at most")


def unknown(analysis: Analysis) -> list[Block]:
    """What the reader would miss, with why and the option that would change it; each cause once."""
    told: dict[Reason, list[str]] = {}
    for path, name in _UNKNOWN:
        for why in analysis.reasons:
            if why.path == path:
                cause = Reason("", why.code, why.message, why.fix)
                told.setdefault(cause, []).append(name)
    if not told or not analysis.totals.movement_count:
        return []
    rows = [
        [Cell(", ".join(names).capitalize(), tone="doubt"), Cell(_briefly(why))]
        for why, names in list(told.items())[:MOST_UNKNOWN]
    ]
    more = len(told) - len(rows)
    dropped = f"{counted(more, 'more cause')}." if more > 0 else ""
    return [
        Heading("Unknown", "unknown"),
        Table("Unknown", [Column(""), Column("")], rows, "summary-unknown", dropped),
    ]


def _briefly(why: Reason) -> str:
    first = _FIRST_CLAUSE.split(why.message)[0]
    if first.count("(") > first.count(")"):  # cut within an aside: half of it would look like a fault
        first = first.rpartition(" (")[0]
    return f"{first}: {why.fix}" if why.fix and len(why.fix) <= _LONGEST_FIX else first


def warned(analysis: Analysis) -> list[Block]:
    """The warnings, each with how often; nothing where there are none."""
    if not analysis.warnings:
        return []
    shown = analysis.warnings[:MOST_WARNINGS]
    rows = [[Cell(f"{each.count:,}"), Cell(each.message)] for each in shown]
    more = len(analysis.warnings) - len(shown)
    dropped = f"{counted(more, 'more warning')}." if more else ""
    return [
        Heading("Warnings", "warned"),
        Table("Warnings", [Column("", "right"), Column("")], rows, "summary-warnings", dropped),
    ]
