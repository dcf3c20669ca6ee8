"""How long decode devices idled although KV was on its way or waited: one answer for all that repeats it."""

from dataclasses import dataclass

from nsysparse.analysis import Analysis
from nsysparse.units import share_within


@dataclass(frozen=True, slots=True)
class IdleForKv:
    """Time without compute while KV was on its way or waited, over the decode devices of which that is known.

    `doubt_ns` is idle time of which the clocks of other files decide the reason.
    """

    idle_ns: int
    active_ns: int
    doubt_ns: int
    device_count: int

    @property
    def share(self) -> float:
        """Idle time over active time."""
        return self.idle_ns / self.active_ns

    @property
    def text(self) -> str:
        """The share, no finer than its doubt."""
        return share_within(self.share, self.doubt_ns / self.active_ns)


def idle_for_kv(analysis: Analysis) -> IdleForKv | None:
    """Of all decode devices together; None where it is known of none."""
    known = [(each, each.idle_while_pending_ns) for each in analysis.decode or ()]
    told = [(each, idle) for each, idle in known if idle is not None]
    active = sum(each.active_ns for each, _ in told)
    if not active:
        return None
    doubt = sum(each.uncertainty_ns or 0 for each, _ in told)
    return IdleForKv(sum(idle for _, idle in told), active, doubt, len(told))
