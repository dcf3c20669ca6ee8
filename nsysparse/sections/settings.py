"""What the numbers were computed with, and where each setting came from."""

from nsysparse.analysis import Analysis
from nsysparse.document import Abstention, Block, Heading
from nsysparse.sections.cells import names, table, texts


def build(analysis: Analysis) -> list[Block]:
    """Each setting with its value and its source."""
    heading = Heading("Settings", "settings", 3)
    if not analysis.settings:
        return [heading, Abstention("Settings", "None were recorded with this analysis.")]
    items = sorted(analysis.settings.items())
    columns = [
        texts("Setting", [name.replace("_", " ") for name, _ in items]),
        names("Value", [_shown(setting.value) for _, setting in items]),
        texts("From", [setting.source for _, setting in items]),
    ]
    return [heading, table("Settings", columns, "settings-table")]


def _shown(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, (list, tuple)):
        return ", ".join(str(each) for each in value) or "not set"
    return str(value)
