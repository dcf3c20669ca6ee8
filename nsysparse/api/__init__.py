"""The stages, wired: the only place that knows their order.

`options` is what can be asked; `reading` takes one trace through the first stages, `study` all of a run through the
next; `reports` computes its metrics, `exports` its frames, `comparing` holds two runs against each other, and `looking`
is for what needs no analysis. Names load on first use: who compares saved reports needs none of what reads traces.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nsysparse.api.comparing import analyse_run as analyse_run
    from nsysparse.api.comparing import compare_runs as compare_runs
    from nsysparse.api.exports import export_frame as export_frame
    from nsysparse.api.exports import export_pieces as export_pieces
    from nsysparse.api.looking import check_preset as check_preset
    from nsysparse.api.looking import inspect as inspect
    from nsysparse.api.looking import prompt_lengths as prompt_lengths
    from nsysparse.api.options import AFTER_READING as AFTER_READING
    from nsysparse.api.options import Options as Options
    from nsysparse.api.options import Progress as Progress
    from nsysparse.api.options import Stage as Stage
    from nsysparse.api.options import trace_ids as trace_ids
    from nsysparse.api.reports import analyse as analyse
    from nsysparse.api.study import Study as Study
    from nsysparse.api.study import study_traces as study_traces

_HOMES = {
    "AFTER_READING": "options",
    "Options": "options",
    "Progress": "options",
    "Stage": "options",
    "Study": "study",
    "analyse": "reports",
    "analyse_run": "comparing",
    "check_preset": "looking",
    "compare_runs": "comparing",
    "export_frame": "exports",
    "export_pieces": "exports",
    "inspect": "looking",
    "prompt_lengths": "looking",
    "study_traces": "study",
    "trace_ids": "options",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (the type of a lazily loaded name is not known here)
    """Load a name from its module on first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'nsysparse.api' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"nsysparse.api.{_HOMES[name]}"), name)
