"""A model as a user says that it is served: what a request of so many tokens must move, over all ranks."""

from nsysparse.catalog.entries import Model
from nsysparse.errors import UsageError
from nsysparse.theory.dtypes import cache_type, default_type
from nsysparse.theory.layout import layout
from nsysparse.theory.shipment import Shipment


def served(model: Model | None, tp: int | None, kv_dtype: str | None, wire_dtype: str | None) -> Shipment | None:
    """What crosses of a model with what a user says of how it is served; None without a model.

    Args:
        model: The model, if it is named.
        tp: Tensor-parallel ranks of the side that sends; 1 unless given.
        kv_dtype: Id of the type of cached values; 16-bit unless given.
        wire_dtype: Id of their type while they cross; that of the cache unless given.

    Raises:
        UsageError: A type does not exist, does not fit the model or saves nothing, or there is no model that it is of.
    """
    asked = {"--tp": tp, "--kv-dtype": kv_dtype, "--wire-dtype": wire_dtype}
    if model is None:
        if named := [option for option, value in asked.items() if value is not None]:
            raise UsageError(f"{named[0]} says how a model is served, and no model is named.", "Add --model ID|FILE.")
        return None
    found = Shipment(
        model,
        layout(tp or 1),
        default_type() if kv_dtype is None else cache_type(kv_dtype),
        None if wire_dtype is None else cache_type(wire_dtype),
    )
    found.sent(1)  # refuses what does not fit
    return found
