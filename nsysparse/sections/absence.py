"""Why a section has nothing to show."""

from nsysparse.analysis import Analysis
from nsysparse.document import Abstention


def abstention(analysis: Analysis, subject: str, path: str, otherwise: Abstention) -> Abstention:
    """The analysis' own reason for `path` (a JSON Pointer into the report), else what the section says itself.

    Without any transfer there is nothing more to explain, and no option of ours would change it.
    """
    if not analysis.totals.movement_count:
        return Abstention(subject, "Nothing to show: no KV transfer was found.")
    why = next((reason for reason in analysis.reasons if reason.path.startswith(path)), None)
    return otherwise if why is None else Abstention(subject, why.message, why.fix)
