"""What `--fail-on` and `--fail-over-threshold` end with: nothing, a failed gate, or a gate that has no answer."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nsysparse.analysis import ADVICE
from nsysparse.errors import GateFailed, GateUnanswered
from nsysparse.units import share_within, within

if TYPE_CHECKING:
    from nsysparse.analysis import Analysis, Verdict
    from nsysparse.comparison import Gate

_OTHERWISE = (
    "A threshold further from it would have an answer, or clocks known better: --utc-error, or traces of one host"
    " (docs/explanation/clocks.md)."
)


def hold(gates: Sequence["Gate"]) -> None:
    """Say nothing where all gates of a comparison passed; a failure outweighs what could not be told.

    Raises:
        GateFailed: Any did.
        GateUnanswered: None failed, and any has no answer.
    """
    from nsysparse.compare.wording import failed_and_open

    failed, unanswered = failed_and_open(gates)
    if failed:
        raise GateFailed(f"{failed}.")
    if unanswered:
        raise GateUnanswered(
            f"{unanswered}.", "The report of either run says what would change that, and `nsysparse inspect TRACE`."
        )


def fail_over_threshold(analysis: "Analysis") -> None:
    """Say nothing where the KV gap is within its threshold.

    Raises:
        GateFailed: It is over.
        GateUnanswered: That is unknown, or clocks are not known well enough to tell.
    """
    verdict = analysis.verdict
    if verdict.state == "ok":
        return
    limit = f"the threshold of {(verdict.threshold or 0) * 100:.4g} %"
    if verdict.state == "over":
        raise GateFailed(f"{_measured(verdict)}: over {limit} by {_excess(verdict)}.")
    if verdict.value is not None:
        raise GateUnanswered(f"{_measured(verdict)}: too close to call against {limit}.", _OTHERWISE)
    raise GateUnanswered(f"--fail-over-threshold has no answer: {_why(analysis)}", _fix(analysis))


def _measured(verdict: "Verdict") -> str:
    return f"KV gap {share_within(verdict.value or 0, verdict.uncertainty or 0)}"


def _excess(verdict: "Verdict") -> str:
    """How far over in points, no finer than the clocks allow."""
    points = ((verdict.value or 0) - (verdict.threshold or 0)) * 100
    # The doubt of a median may be larger to the other side; over is over, so it is never “at most”.
    figure, _, _ = within(points, min((verdict.uncertainty or 0) * 100, points)).partition(" ± ")
    return f"{figure} points"


def _why(analysis: "Analysis") -> str:
    """The verdict's own sentence, without what it advises."""
    return analysis.verdict.text.partition(ADVICE)[0]


def _fix(analysis: "Analysis") -> str:
    """What would make the share known, as the report says: its reason, or where nothing moved the verdict's advice."""
    advice = analysis.verdict.text.partition(ADVICE)[2]
    if advice and not analysis.totals.movement_count:
        return advice  # without transfers nothing else has to be known of requests
    found = analysis.reason("/verdict/value")
    return advice if found is None or not found.fix else found.fix
