"""The times of transfers, one after the other: kernels that met, wire and waiting, what compute hides."""

import polars as pl

from nsysparse.exchanges import as_timed, exchanges
from nsysparse.exposure import with_exposure
from nsysparse.instants import Busy
from nsysparse.wire import windows, with_wire

TIMES = (
    "wire_ns", "wire_basis", "wire_reason", "wire_uncertainty_ns", "peer_wait_ns", "overlapped_ns", "exposed_wire_ns",
    "exposed_wait_ns",
)  # fmt: skip


def with_times(transfers: pl.DataFrame, compute: Busy) -> pl.DataFrame:
    """Add the columns `TIMES` to paired transfers with their shares of time.

    Args:
        transfers: Of all traces.
        compute: When compute ran, of all traces whose kernels were recorded.

    Returns:
        The same rows in the same order.
    """
    timed = as_timed(transfers)
    present = windows(exchanges(timed))
    found = with_exposure(with_wire(timed, present), present, compute)
    return transfers.join(found.select("transfer_id", *TIMES), on="transfer_id", how="left", maintain_order="left")
