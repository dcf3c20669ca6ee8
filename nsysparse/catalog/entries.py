"""The entries of the catalogues, field by field as in the TOML files (whose headers define each of them).

Rates are bytes per second (1 GB = 1e9 bytes) in ONE direction unless a name says otherwise; sizes are bytes. None
means that the catalogue does not say.
"""

from dataclasses import dataclass
from typing import Literal

LinkScope = Literal["gpu", "gpu_pair", "port", "channel", "device"]
Basis = Literal["measured", "framing", "rated"]


@dataclass(frozen=True, slots=True)
class Measured:
    """A result somebody published; `what` names the tool, the conditions and the unit of `value`."""

    what: str
    value: float
    source: str


@dataclass(frozen=True, slots=True)
class Link:
    """A kind of link: its peak in one direction, and what is known about reaching it.

    `gpus` are words of the product names of GPUs that have it between them, all of one entry in the name.
    `typical_fraction` is the (low, high) share of the peak that large transfers reach, and `typical_basis` says how
    that is known. `details` are further stated figures: signalling rates, and what headers of packets leave.
    """

    id: str
    name: str
    kind: str
    scope: LinkScope
    one_way_peak_bytes_per_s: int
    source: str
    marketing_bidirectional_bytes_per_s: int | None = None
    gpus: tuple[str, ...] = ()
    links: int | None = None
    per_link: int | None = None
    typical_fraction: tuple[float, float] | None = None
    typical_basis: Basis | None = None
    note: str | None = None
    measured: tuple[Measured, ...] = ()
    details: tuple[tuple[str, str | float], ...] = ()


@dataclass(frozen=True, slots=True)
class Box:
    """A machine: which link joins two of its GPUs, and what leaves it per GPU. `*_link` are ids of links."""

    id: str
    name: str
    gpus_per_node: int
    intra_link: str
    pair_intra_one_way_peak_bytes_per_s: int
    source: str
    nics_per_node: int | None = None
    nic_link: str | None = None
    nic_one_way_peak_per_gpu_bytes_per_s: int | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class FullAttention:
    """Layers that keep keys and values of every token. `v_head_dim` None: values are as wide as keys."""

    kind: Literal["full"]
    layers: int
    kv_heads: int
    head_dim: int
    v_head_dim: int | None = None


@dataclass(frozen=True, slots=True)
class WindowedAttention:
    """Layers that keep the last `window` tokens (sliding) or those of the current chunk of that size (chunked)."""

    kind: Literal["sliding", "chunked"]
    layers: int
    kv_heads: int
    head_dim: int
    window: int
    v_head_dim: int | None = None


@dataclass(frozen=True, slots=True)
class Latent:
    """Layers that keep one compressed vector per token for keys and values together (MLA)."""

    kind: Literal["mla"]
    layers: int
    kv_lora_rank: int
    qk_rope_head_dim: int


@dataclass(frozen=True, slots=True)
class IndexedLatent:
    """MLA with a sparse-attention indexer, whose own FP8 key cache moves along."""

    kind: Literal["mla_dsa"]
    layers: int
    kv_lora_rank: int
    qk_rope_head_dim: int
    index_head_dim: int
    index_bytes_per_token: int


@dataclass(frozen=True, slots=True)
class GatedDeltaNet:
    """Layers with a fixed recurrent state (Qwen3-Next family); `state_bytes` is the size of one of its values."""

    kind: Literal["gated_delta_net"]
    layers: int
    k_heads: int
    k_dim: int
    v_heads: int
    v_dim: int
    conv_kernel: int
    state_bytes: int


@dataclass(frozen=True, slots=True)
class Kda:
    """Kimi delta attention: a fixed recurrent state, square in the head width."""

    kind: Literal["kda"]
    layers: int
    heads: int
    head_dim: int
    conv_kernel: int
    state_bytes: int


@dataclass(frozen=True, slots=True)
class Mamba1:
    """State-space layers of the first generation."""

    kind: Literal["mamba1"]
    layers: int
    d_inner: int
    d_state: int
    conv_kernel: int
    state_bytes: int


@dataclass(frozen=True, slots=True)
class Mamba2:
    """State-space layers of the second generation: heads, and state projections shared by groups of them."""

    kind: Literal["mamba2"]
    layers: int
    heads: int
    head_dim: int
    d_state: int
    n_groups: int
    conv_kernel: int
    state_bytes: int


Attention = FullAttention | WindowedAttention | Latent | IndexedLatent
Recurrent = GatedDeltaNet | Kda | Mamba1 | Mamba2
LayerGroup = Attention | Recurrent


@dataclass(frozen=True, slots=True)
class Model:
    """A model's cache geometry and, for 16-bit values, what it comes to.

    `layers` counts all layers of the model; `groups` only those that keep something for a sequence, in no order of
    depth. `query_heads` says how large the model is; no cache size depends on it.
    """

    id: str
    name: str
    attention: str
    layers: int
    query_heads: int
    short_bytes_per_token: int
    long_bytes_per_token: int
    verified: bool
    source: str
    groups: tuple[LayerGroup, ...]
    window_cap_bytes: int | None = None
    state_bytes: int | None = None
    note: str | None = None
