"""Who asks for what in the run of `pd-two-hosts`, and in which steps prefill works on it."""

from collections.abc import Mapping
from dataclasses import dataclass

LAYERS = 8
BYTES_PER_TOKEN = 4096  # and layer: K and V, 8 heads of 128, 2 bytes each
_MS = 1_000_000


@dataclass(frozen=True)
class Asked:
    """One request.

    Args:
        prompt: Prompt tokens.
        output: Tokens that it gets.
        arrival: When it arrived, ns; None: before the capture began.
        hand_over: None: each layer leaves as soon as it is computed; else all leave this long after prefill, ns.
        late: None: the receives wait for the sends; else they are posted this long after the sends began, ns.
        admitted: What the decode scheduler takes to see that its KV is there, ns.
        again: The whole KV is sent once more this long after it had arrived, ns; None: it is not.
    """

    prompt: int
    output: int
    arrival: int | None
    hand_over: int | None = None
    late: int | None = None
    admitted: int = 150_000
    again: int | None = None


EARLY, LATE = "req-00", "req-11"  # the one began before the capture, the other is not decoded before its end
ASKED: Mapping[str, Asked] = {
    EARLY: Asked(1900, 6, None, hand_over=300_000),
    "req-01": Asked(1200, 8, 5 * _MS),
    "req-02": Asked(2600, 6, 9 * _MS, hand_over=5 * _MS),
    "req-03": Asked(3000, 5, 24 * _MS, late=35_000),
    "req-04": Asked(700, 7, 26 * _MS, hand_over=200_000, late=420_000),
    "req-05": Asked(500, 6, 52 * _MS),
    "req-06": Asked(800, 9, 54 * _MS),
    "req-07": Asked(2200, 6, 112 * _MS, hand_over=250_000, again=2_500_000),
    "req-08": Asked(2400, 7, 119 * _MS, late=60_000),
    "req-09": Asked(2304, 5, 126 * _MS, hand_over=150_000),
    "req-10": Asked(400, 8, 177 * _MS, admitted=5 * _MS),
    LATE: Asked(600, 4, 209 * _MS, hand_over=100_000),
}
STEPS: tuple[Mapping[str, int], ...] = (
    {EARLY: 900},  # its last chunk: the first was computed before the capture
    {"req-01": 1200},
    {"req-02": 2600},
    {"req-03": 1024},
    {"req-04": 700},
    {"req-03": 1024},
    {"req-03": 952},
    {"req-05": 500, "req-06": 800},
    {"req-07": 2200},
    {"req-08": 2400},
    {"req-09": 1280},
    {"req-09": 1024},
    {"req-10": 400},
    {LATE: 600},
)
"""Prefill steps: tokens of each request in them."""
