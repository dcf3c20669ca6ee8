"""How long prompts are."""

from nsysparse.analysis import Analysis
from nsysparse.document import Block


def build(analysis: Analysis) -> list[Block]:
    """The histogram."""
    del analysis
    return []
