"""A model as it is served: what a request of so many tokens must move, over all ranks."""

from dataclasses import dataclass

from nsysparse.catalog.entries import Model
from nsysparse.errors import UsageError
from nsysparse.theory.dtypes import CacheType, cache_type, default_type
from nsysparse.theory.kv_cache import sequence_bytes, wire_bytes
from nsysparse.theory.layout import WHOLE, Layout, layout


@dataclass(frozen=True, slots=True)
class Served:
    """A model, its ranks, and the types that its cached values have in memory and while they cross."""

    model: Model
    layout: Layout = WHOLE
    kv_dtype: CacheType = default_type()  # noqa: RUF009 (immutable, and the same for all)
    wire_dtype: CacheType | None = None

    def request_bytes(self, tokens: int) -> int:
        """Bytes that all ranks together hand over for one request of that many tokens."""
        return wire_bytes(self.model, tokens, layout=self.layout, kv_dtype=self.kv_dtype, wire_dtype=self.wire_dtype)

    def token_bytes(self) -> int:
        """Bytes that one more token adds to one copy of the cache as it is stored, while it fits every window."""
        two, one = (sequence_bytes(self.model, tokens, kv_dtype=self.kv_dtype) for tokens in (2, 1))
        return two - one


def served(model: Model | None, tp: int | None, kv_dtype: str | None, wire_dtype: str | None) -> Served | None:
    """A model with what a user says of how it is served; None without a model.

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
    found = Served(
        model,
        layout(tp or 1),
        default_type() if kv_dtype is None else cache_type(kv_dtype),
        None if wire_dtype is None else cache_type(wire_dtype),
    )
    found.request_bytes(1)  # refuses what does not fit
    return found
