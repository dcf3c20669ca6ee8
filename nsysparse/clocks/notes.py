"""What a row about two clocks says in words: what it rests on, or why there is none and what would change that."""

from nsysparse.anchor import Anchor
from nsysparse.clocks.offset import ESTIMATED, SAME_HOST_MONOTONIC, SAME_HOST_UTC, Offset
from nsysparse.units import counted

NO_CLOCK = "not aligned, as --clock none asks"
RECORD = (
    "record both sides from before NCCL's communicators are made, so that pairs are proven, or synchronise the hosts by"
    " PTP"
)


def about(offset: Offset, ours: Anchor, theirs: Anchor) -> str:
    """What the offset rests on."""
    pairs = counted(offset.pair_count, "paired transfer")
    unanchored = ours.utc_epoch_ns is None or theirs.utc_epoch_ns is None
    zeros = "; counted from the zeros of both recordings, since UTC is not recorded in both" if unanchored else ""
    if offset.method == SAME_HOST_UTC:
        return "one host: by its UTC at the start of both recordings" + zeros
    if offset.method == SAME_HOST_MONOTONIC:
        return "one host, whose wall clock was set between the recordings: by its monotonic clock" + zeros
    if offset.method == ESTIMATED and offset.one_sided:
        return (
            f"from {pairs} in one direction, of whose large messages the least delayed are taken to end together on"
            f" both sides: transfers the other way too would prove it{zeros}"
        )
    if offset.method == ESTIMATED:
        return f"bracketed by {pairs} in both directions{zeros}"
    bounded = f", within what {pairs} allow" if offset.pair_count else ""
    return (
        f"UTC as recorded{bounded}: nothing verifies that the hosts' clocks agree so well (--utc-error MS says how well"
        f" they do); {RECORD}{zeros}"
    )


def why_not(mode: str, base: str, ours: Anchor, other: str, theirs: Anchor) -> str:
    """Why nothing ties two traces together."""
    if mode == "none":
        return NO_CLOCK
    if mode == "estimate":
        return (
            f"no proven pairs of transfers between {base} and {other} bound their clocks on both sides: {RECORD}, or"
            " take --clock auto, which uses UTC"
        )
    silent = [name for name, anchor in ((base, ours), (other, theirs)) if anchor.utc_epoch_ns is None]
    if not silent:  # both have UTC, so only a contradiction can have taken it away
        return (
            f"what is recorded of {base} or {other} contradicts itself: see the warnings; --clock utc takes UTC alone"
        )
    anchors = f"{' and '.join(silent)} does not record UTC at its start (TARGET_INFO_SESSION_START_TIME)"
    if mode == "utc":
        return f"{anchors}: export again from the .nsys-rep file, or take --clock estimate"
    return f"{anchors}, and no proven pairs of transfers bound the clocks on both sides: export again, or {RECORD}"


def of_contradicting_transfers(pair_count: int) -> str:
    """No offset fits the transfers."""
    return (
        f"{counted(pair_count, 'paired transfer')} contradict each other: no offset with a drift up to 100 ppm lets"
        " every receive end after its send; pairs are wrong, or a clock was set during the run. --clock utc takes UTC"
        " alone, --clock none aligns nothing"
    )


def of_contradicted_host(pair_count: int) -> str:
    """Two recordings seem to be of one host, and their transfers say otherwise."""
    return (
        f"both recordings name one host, but {counted(pair_count, 'paired transfer')} contradict its clock: two hosts"
        " of one name, or a clock that was set. --clock estimate goes by the transfers, --clock utc by UTC alone"
    )


def of_contradicted_utc(pair_count: int, utc_error_ns: int) -> str:
    """UTC of two hosts is further apart than allowed for."""
    return (
        f"UTC of the two hosts is more than {utc_error_ns / 1e6:g} ms apart, as"
        f" {counted(pair_count, 'paired transfer')} show: allow more with --utc-error MS, or synchronise the"
        " hosts by PTP"
    )
