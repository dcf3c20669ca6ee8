"""The stages, wired: the only place that knows their order.

`options` is what can be asked; `reading` takes one trace through the first stages, `study` all of a run through the
next; `reports` computes its metrics, `exports` its frames, `comparing` holds two runs against each other, and `looking`
is for what needs no analysis.
"""

from nsysparse.api.comparing import analyse_run, compare_runs
from nsysparse.api.exports import export_frame
from nsysparse.api.looking import check_preset, inspect, prompt_lengths
from nsysparse.api.options import AFTER_READING, Options, Progress, Stage, trace_ids
from nsysparse.api.reports import analyse
from nsysparse.api.study import Study, study_traces

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
