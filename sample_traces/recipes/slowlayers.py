"""`pd-slow-layers`: `pd-oneprofile` again, but layers 10 to 20 move at four fifths of the wire's rate.

The candidate of a comparison of which is known what got worse, and by how much.
"""

from pathlib import Path

from recipes import oneprofile
from recipes.oneprofile import LAYERS, PROMPTS
from recipes.plan import Plan

__all__ = ["LAYERS", "PROMPTS", "build"]

SLOWED = dict.fromkeys(range(10, 21), 0.8)


def build(path: Path, seed: int) -> Plan:
    """Write the trace and return what happened in it."""
    return oneprofile.build(path, seed, SLOWED)
