"""8 bits on the wire: half the bytes and their scales, at the cost of compressing and restoring."""

from nsysparse.errors import UsageError
from nsysparse.metrics.cases import Case
from nsysparse.metrics.whatif.idea import Idea, Saving, Scene, at_most, saving, shown
from nsysparse.theory.dtypes import NARROW_BITS, CacheType, cache_type, default_type, value_bytes
from nsysparse.theory.shipment import Shipment

_COMMON_HEAD = 128
# Both with scales for every 128 values: what one scale for a whole tensor saves more is 0.8 % of the bytes.
_TYPES = (("wire-fp8", "fp8-g128"), ("wire-int8", "int8"))


def narrow_wire(scene: Scene) -> list[Idea]:
    """FP8 and INT8 on the wire; neither for a cache that is 8-bit already, in memory or on the wire."""
    model = scene.model
    if model is not None and (model.wire_dtype is not None or model.kv_dtype.bits <= NARROW_BITS):
        return []
    return [idea for name, kind in _TYPES if (idea := _idea(name, cache_type(kind), scene)) is not None]


def _idea(name: str, kind: CacheType, scene: Scene) -> Idea | None:
    shares = {case.request_id: _share(case, scene.model, kind) for case in scene.cases}
    found: list[Saving] = []
    for case in scene.cases:
        share, payload = shares[case.request_id], case.wire_ns - case.fixed_ns
        each = None if share is None else saving(case, payload * (1 - share), payload, case.pack_ns)
        if each is not None:
            found.append(each)
    if not found:
        return None
    factors = [share for each in found if (share := shares[each.case.request_id]) is not None]
    if min(factors) >= 1:
        return None
    return Idea(name, tuple(found), _basis(found, factors, kind, scene.model), _assumption(found, kind, scene.model))


def _share(case: Case, model: Shipment | None, kind: CacheType) -> float | None:
    """The bytes that remain, as a share; None where the model's states would have to be told apart by the prompt."""
    if model is None:
        return value_bytes(_COMMON_HEAD, kind) / value_bytes(_COMMON_HEAD, default_type())
    tokens = case.prompt_tokens or (None if model.fixed_bytes else 1)
    if not tokens:
        return None
    narrow = Shipment(model.model, model.layout, kind)
    try:
        return narrow.kept(tokens) / model.kept(tokens)
    except UsageError:  # a type with a layout of its own, which this model does not have
        return None


def _basis(found: list[Saving], factors: list[float], kind: CacheType, model: Shipment | None) -> str:
    low, high = min(factors), max(factors)
    factor = f"{low:.3f}" if high - low < 0.0005 else f"{low:.3f} to {high:.3f}"  # noqa: PLR2004 (as shown)
    whose = f"a head of {_COMMON_HEAD} values, as no model is named" if model is None else model.model.name
    wire = shown([each.case.wire_ns - each.case.fixed_ns for each in found])
    fixed = [each.case.fixed_ns for each in found]
    beside = f", beside {shown(fixed)} of messages' fixed cost, which remains" if any(fixed) else ""
    return f"bytes x {factor} ({kind.name}, for {whose}); {wire} on the wire{beside}"


def _assumption(found: list[Saving], kind: CacheType, model: Shipment | None) -> str:
    limit = shown([each.saves_ns for each in found])
    if all(each.costs_ns is not None for each in found):
        cost = (
            f"Compressing and restoring take as long as this run's kernels that pack and unpack KV, one after the other"
            f" with the transfer; it pays while that stays below {limit} per request."
        )
    else:
        cost = (
            "Compressing and restoring take time that no kernel of this trace shows, so no cost is counted: it pays"
            f" while both together stay below {limit} per request."
        )
    kept = " The cache is taken to be kept in 16 bits (--model and --kv-dtype tell)." if model is None else ""
    return (
        f"{cost} Values lose accuracy ({kind.bits} bits): hold the model's answers against those of a run without."
        f"{kept}{at_most(found)}"
    )
