"""The run's one answer, and what the reader must know before any number."""

from nsysparse.analysis import ADVICE, Analysis, Verdict
from nsysparse.document import Abstention, Block, Callout, Paragraph, Tone
from nsysparse.units import FINEST_PERCENT, UNKNOWN, capitalised, counted, human_share, within

_STATES: dict[str, tuple[str, Tone]] = {
    "over": ("over the threshold", "bad"),
    "ok": ("within the threshold", "good"),
    "unresolved": ("too close to call", "doubt"),
    UNKNOWN: ("not known", "muted"),
}


def headline(verdict: Verdict) -> str:
    """The verdict in the few words of a window title."""
    state, _ = _STATES[verdict.state]
    return f"KV gap {state}" if verdict.value is None else f"KV gap {human_share(verdict.value)}, {state}"


def _figure(verdict: Verdict) -> tuple[str, str]:
    """The share as one big number and the doubt about it, neither finer than the clocks it rests on."""
    if verdict.value is None:
        return "", ""
    doubt = (verdict.uncertainty or 0) * 100
    if doubt < FINEST_PERCENT:
        return human_share(verdict.value), ""
    figure, _, rest = within(verdict.value * 100, doubt).partition(" \u00b1 ")
    return f"{figure} %", f"± {rest} points" if rest else ""


def _basis(verdict: Verdict) -> str:
    """What the verdict rests on: how many requests, and the threshold."""
    parts = []
    if verdict.request_count:
        known = "" if verdict.known_count is None else f"{verdict.known_count:,} of "
        parts.append(f"{known}{counted(verdict.request_count, 'request')} with a known share" if known else known)
    if verdict.over_count is not None and verdict.known_count:
        parts.append(f"{verdict.over_count:,} over")
    if verdict.threshold is not None and verdict.value is not None:
        parts.append(f"threshold {verdict.threshold * 100:.4g} %")
    return " · ".join(part for part in parts if part)


def build(analysis: Analysis) -> list[Block]:
    """Verdict first, then what its numbers are not of; when nothing is known, why, and what would change it."""
    verdict = analysis.verdict
    title, tone = _STATES[verdict.state]
    text, _, advice = verdict.text.partition(ADVICE)
    blocks: list[Block] = [Callout("verdict", title, text, tone, *_figure(verdict), _basis(verdict), advice)]
    if verdict.detail:
        blocks.append(Paragraph(verdict.detail, "muted"))
    if analysis.notice is not None:
        message = analysis.notice.message
        blocks.append(Callout("notice", analysis.notice.code, capitalised(message), "doubt"))
    blocks += [Callout("notice", "partial", capitalised(warning.message), "doubt") for warning in analysis.of_a_part]
    if verdict.value is None:
        why = analysis.reason("/verdict/value")
        if why is not None:
            blocks.append(Abstention("The verdict", f"No KV gap is told: {why.message}.", why.fix))
    return blocks
