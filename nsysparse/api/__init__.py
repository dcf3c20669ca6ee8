"""The stages, wired: the only place that knows their order.

`options` is what can be asked; `reading` takes one trace through the first stages, `study` all of a run through the
next; `reports` computes its metrics, `exports` its frames, `comparing` holds two runs against each other, and `looking`
is for what needs no analysis.

The names load on first use: who compares saved reports needs nothing that reads traces.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nsysparse.api.comparing import analyse_run as analyse_run
    from nsysparse.api.comparing import compare_runs as compare_runs
    from nsysparse.api.exports import export_frame as export_frame
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

__all__ = [
    "AFTER_READING",
    "Options",
    "Progress",
    "Stage",
    "Study",
    "analyse",
    "analyse_run",
    "check_preset",
    "compare_runs",
    "export_frame",
    "inspect",
    "prompt_lengths",
    "study_traces",
    "trace_ids",
]

_HOMES = {
    "nsysparse.api.comparing": ("analyse_run", "compare_runs"),
    "nsysparse.api.exports": ("export_frame",),
    "nsysparse.api.looking": ("check_preset", "inspect", "prompt_lengths"),
    "nsysparse.api.options": ("AFTER_READING", "Options", "Progress", "Stage", "trace_ids"),
    "nsysparse.api.reports": ("analyse",),
    "nsysparse.api.study": ("Study", "study_traces"),
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 (the type of a lazily loaded name is not known here)
    """Load a name from its home on first use (PEP 562)."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'nsysparse.api' has no attribute {name!r}")
