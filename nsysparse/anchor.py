"""What ties a trace's clock to those of others."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where the zero of a trace's clock lies; None where the file does not say.

    Attributes:
        utc_epoch_ns: UTC at zero, in ns since 1970.
        host: A digest of the host's name: equal for files of one host; the name itself is not kept.
        shift_ns: What the export had added to all times of events, and reading has taken off again.
        monotonic_ns: The host's monotonic clock at zero, which counts from its boot and is never set.
    """

    utc_epoch_ns: int | None = None
    host: str | None = None
    shift_ns: int = 0
    monotonic_ns: int | None = None
