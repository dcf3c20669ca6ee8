"""Whether a file asks its engine for a cache of fewer bits, which the sizes do not count."""

from collections.abc import Iterator, Mapping

# compressed-tensors, ModelOpt and Quark, in this order.
_KEYS = ("kv_cache_scheme", "kv_cache_quant_algo", "kv_cache_quant_config")


def quantised_cache(*objects: Mapping[str, object]) -> Iterator[str]:
    """The keys that ask for it, each once.

    Args:
        objects: The whole file and what it says of the language model: multimodal files may have it in either.
    """
    places = [place for each in objects for place in _places(each)]
    for key in _KEYS:
        if any(_asks(place.get(key)) for place in places):
            yield key


def _places(values: Mapping[str, object], deeper: int = 1) -> Iterator[Mapping[str, object]]:
    # ModelOpt's older files keep all of it one level deeper, under `quantization`.
    for key in ("quantization_config", "quantization"):
        inner = values.get(key)
        if isinstance(inner, dict):
            yield inner
            if deeper:  # no further: a stranger's file may nest as deep as it likes
                yield from _places(inner, deeper - 1)


def _asks(value: object) -> bool:
    return bool(value) and not (isinstance(value, str) and value.lower() == "none")
