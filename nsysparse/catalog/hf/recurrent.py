"""The state that a recurrent layer keeps: its kind follows from which fields the file has."""

from nsysparse.catalog.entries import GatedDeltaNet, Kda, Mamba1, Mamba2, Recurrent
from nsysparse.catalog.hf.fields import Fields, quoted

_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


def recurrent_of(fields: Fields, family: str, notes: list[str]) -> Recurrent:
    """One recurrent layer of the model.

    Raises:
        InputError: The file has no fields of a state that is known here.
    """
    if fields.given("linear_num_value_heads"):
        return GatedDeltaNet(
            kind="gated_delta_net",
            layers=1,
            k_heads=fields.need("linear_num_key_heads"),
            k_dim=fields.need("linear_key_head_dim"),
            v_heads=fields.need("linear_num_value_heads"),
            v_dim=fields.need("linear_value_head_dim"),
            conv_kernel=fields.need("linear_conv_kernel_dim"),
            state_bytes=_state_bytes(fields, notes),
        )
    if (inner := fields.inner("linear_attn_config")) is not None:
        # vLLM and SGLang keep this state in float32.
        notes.append("type of the recurrent state assumed: float32")
        return Kda(
            kind="kda",
            layers=1,
            heads=inner.need("num_heads"),
            head_dim=inner.need("head_dim"),
            conv_kernel=inner.need("short_conv_kernel_size"),
            state_bytes=4,
        )
    state = fields.integer("mamba_d_state", "ssm_state_size", "state_size")
    if state is None:
        fields.refuse(
            "it has recurrent layers whose state is not known here.",
            "Known: Gated DeltaNet (linear_num_value_heads), KDA (linear_attn_config), Mamba (mamba_d_state or "
            "ssm_state_size).",
        )
    kernel = fields.need("mamba_d_conv", "conv_kernel")
    if (heads := fields.integer("mamba_n_heads", "mamba_num_heads")) is None and family == "mamba2":
        heads = fields.need("num_heads")
    if heads is None:
        return Mamba1(
            kind="mamba1",
            layers=1,
            d_inner=_inner(fields, family),
            d_state=state,
            conv_kernel=kernel,
            state_bytes=_state_bytes(fields, notes),
        )
    return Mamba2(
        kind="mamba2",
        layers=1,
        heads=heads,
        head_dim=_head_dim(fields, heads, family),
        d_state=state,
        n_groups=fields.need("mamba_n_groups", "n_groups"),
        conv_kernel=kernel,
        state_bytes=_state_bytes(fields, notes),
    )


def _inner(fields: Fields, family: str) -> int:
    """Width inside a state-space layer."""
    if (told := fields.integer("mamba_d_ssm")) is not None:  # Falcon-H1
        fields.seen(["mamba_expand"])
        return told
    if family == "falcon_mamba" and (told := fields.integer("intermediate_size")) is not None:
        # What its class reads; published files have `expand` 16 beside a width of twice the model's.
        fields.seen(["expand"])
        return told
    _agree(fields)
    return fields.need("hidden_size", "d_model") * fields.need("mamba_expand", "expand")


def _agree(fields: Fields) -> None:
    """Refuse two widths. Beside `mamba_expand`, `intermediate_size` is that of an MLP and may be any."""
    told, expand = fields.integer("intermediate_size"), fields.integer("expand")
    hidden = fields.integer("hidden_size", "d_model")
    if told is None or expand is None or hidden is None or fields.given("mamba_expand"):
        return
    if told != hidden * expand:
        fields.refuse(
            f"intermediate_size is {told}, but hidden_size {hidden} times expand {expand} is {hidden * expand}.",
            "Keep the one that the model's code reads.",
        )


def _head_dim(fields: Fields, heads: int, family: str) -> int:
    fields.seen(["mamba_expand", "mamba_d_ssm"])
    if (
        fields.raw("mamba_d_head") == "auto"
        or (told := fields.integer("mamba_d_head", "mamba_head_dim", *(["head_dim"] if family == "mamba2" else [])))
        is None
    ):
        inner = _inner(fields, family)
        if inner % heads:
            fields.refuse(f"{heads} state-space heads do not divide a width of {inner}.")
        return inner // heads
    if family == "mamba2":  # others have an MLP of that width
        _agree(fields)
    return told


def _state_bytes(fields: Fields, notes: list[str]) -> int:
    """Bytes of one value of the state: as the file says, else the 16 bits that engines take by default."""
    for key in ("mamba_ssm_cache_dtype", "mamba_ssm_dtype"):
        if (name := fields.word(key)) is not None:
            if name not in _BYTES:
                fields.refuse(f"{key} is {quoted(name)}.", f"Known: {', '.join(_BYTES)}.")
            return _BYTES[name]
    notes.append("type of the recurrent state assumed: 16-bit (an option of the engine)")
    return 2
