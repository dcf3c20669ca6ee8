"""How much of a transfer remains to be waited for when each layer is sent as soon as it is computed.

A stage computes its layers one after the other, c each, and has one wire, on which each layer takes t. Layer i of L can
leave at i*c and must wait for the layer before it, so the last one is over at

    max over k of (k*c + (L - k + 1)*t)

with k from 1 to L: from layer k on the wire is never idle. The sum is linear in k, so the first or the last k has the
largest. Computing ends at L*c, and what remains after it is exposed:

    max(t, L*t - (L - 1)*c)

While a layer crosses faster than the next one is computed (t <= c) that is t, one layer's transfer, for any number of
layers; otherwise it is the whole transfer but for what the other layers' computing hides.
"""

from fractions import Fraction

from nsysparse.errors import UsageError
from nsysparse.units import NS_PER_S


def exposed_ns(nbytes: int, bytes_per_s: float, layers: int, layer_ns: int, cost_ns: int = 0) -> int:
    """Nanoseconds from the end of computing to the end of the transfer, to the nearest one.

    Args:
        nbytes: Bytes of all layers on one wire, taken to be spread evenly over the layers.
        bytes_per_s: The rate of the wire.
        layers: Layers that send something.
        layer_ns: Computing time of one layer.
        cost_ns: What each layer's transfer costs beside its bytes.

    Raises:
        UsageError: There is no layer.
    """
    if layers < 1:
        raise UsageError(f"A transfer of {layers} layers is asked for; at least 1 is needed.")
    if nbytes == 0:
        return 0
    each = Fraction(nbytes) * NS_PER_S / (layers * Fraction(bytes_per_s)) + cost_ns
    return round(after_computing(each, layers, Fraction(layer_ns)))


def after_computing(each: Fraction, layers: int, layer_ns: Fraction) -> Fraction:
    """Nanoseconds from the end of computing to the end of the transfer.

    Args:
        each: How long one layer is on the wire.
        layers: Layers that send something, at least 1.
        layer_ns: Computing time of one layer.
    """
    return max(each, layers * each - (layers - 1) * layer_ns)
