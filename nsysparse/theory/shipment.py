"""What crosses when a cache is handed over, and how much of it the busiest of several links carries."""

from dataclasses import dataclass, replace

from nsysparse.catalog.entries import Attention, Model, WindowedAttention
from nsysparse.theory.dtypes import CacheType, default_type
from nsysparse.theory.kv_cache import layer_count, rank_bytes, sequence_bytes, wire_bytes
from nsysparse.theory.layout import WHOLE, Layout, parts


@dataclass(frozen=True, slots=True)
class Shipment:
    """A model's cache on its way: ranks and blocks, the type it is kept in, the type it crosses in, links side by side.

    `wire_dtype` None: it crosses as it is kept. `nics` None: every rank has a link of its own.
    """

    model: Model
    layout: Layout = WHOLE
    kv_dtype: CacheType = default_type()  # noqa: RUF009 (frozen, so one for all)
    wire_dtype: CacheType | None = None
    nics: int | None = None

    @property
    def ranks(self) -> int:
        """Ranks that hold a part of the cache."""
        return self.layout.tp * self.layout.pp

    @property
    def link_count(self) -> int:
        """Links that carry it side by side."""
        return self.nics or self.ranks

    @property
    def layers(self) -> int:
        """Layers that one stage sends: those that keep anything, of the fullest stage."""
        return parts(layer_count(self.model), self.layout.pp)

    @property
    def token_bytes(self) -> int:
        """Bytes that one token adds to one copy of the cache while it fits every window."""
        return sequence_bytes(self._only(windows=True), 1, kv_dtype=self.kv_dtype)

    @property
    def late_token_bytes(self) -> int:
        """Bytes that one token adds past all windows."""
        return sequence_bytes(self._only(windows=False), 1, kv_dtype=self.kv_dtype)

    @property
    def fixed_bytes(self) -> int:
        """Bytes of recurrent states in one copy, however long the sequence."""
        return sequence_bytes(self.stateful().model, 1, kv_dtype=self.kv_dtype)

    def stateful(self) -> "Shipment":
        """The same without attention: recurrent states alone."""
        groups = tuple(group for group in self.model.groups if not isinstance(group, Attention))
        return replace(self, model=replace(self.model, groups=groups))

    def kept(self, tokens: int, batch: int = 1) -> int:
        """Bytes that all ranks together keep to hand over, before compression."""
        return sequence_bytes(self.model, tokens, batch=batch, layout=self.layout, kv_dtype=self.kv_dtype)

    def sent(self, tokens: int, batch: int = 1) -> int:
        """Bytes that cross, over all links together."""
        return wire_bytes(
            self.model,
            tokens,
            batch=batch,
            layout=self.layout,
            kv_dtype=self.kv_dtype,
            wire_dtype=self.wire_dtype,
        )

    def on_rank(self, tokens: int, batch: int = 1) -> int:
        """Bytes that the rank sends that sends most."""
        kind = self.wire_dtype or self.kv_dtype
        return rank_bytes(self.model, tokens, batch=batch, layout=self.layout, kv_dtype=kind)

    def on_link(self, tokens: int, batch: int = 1) -> int:
        """Bytes that the busiest link carries: those of its ranks, each taken for the one that sends most.

        Where there are more links than ranks, a rank spreads its part evenly over as many as it gets.
        """
        rank = self.on_rank(tokens, batch)
        if self.link_count >= self.ranks:
            return parts(rank, self.link_count // self.ranks)
        return min(self.sent(tokens, batch), parts(self.ranks, self.link_count) * rank)

    def _only(self, *, windows: bool) -> Model:
        kinds = tuple(
            group
            for group in self.model.groups
            if isinstance(group, Attention) and (windows or not isinstance(group, WindowedAttention))
        )
        return replace(self.model, groups=kinds)
