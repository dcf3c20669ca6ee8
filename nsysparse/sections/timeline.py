"""What happened when, on each device."""

from nsysparse.analysis import Analysis
from nsysparse.document import Block


def build(analysis: Analysis) -> list[Block]:
    """Lanes of steps and transfers."""
    del analysis
    return []
