"""Why something cannot be shown, in the analysis' own words."""

from nsysparse.analysis import Analysis
from nsysparse.document import Abstention
from nsysparse.units import capitalised


def abstention(analysis: Analysis, subject: str, path: str, otherwise: Abstention) -> Abstention:
    """The analysis' own reason for `path`, else what the section says itself.

    Without any transfer there is nothing more to explain, and no option of ours would change it.
    """
    if not analysis.totals.movement_count:
        return Abstention(subject, "Nothing to show: no KV transfer was found.")
    why = analysis.reason(path)
    return otherwise if why is None else Abstention(subject, _as_sentence(why.message), why.fix)


def _as_sentence(message: str) -> str:
    return f"{capitalised(message).removesuffix('.')}."
