"""Whether both runs were asked for the like: times that grow with prompts say nothing of the transfer where not."""

from statistics import mean, median

from nsysparse.analysis import Analysis, PromptBucket

_MEASURES = (("on average", mean), ("in the median", median))
"""Few long prompts among short ones have the mean of prompts of middle length, and the middle request asks for less."""


def prompt_lengths_apart(
    base: Analysis, candidate: Analysis, noise: float, within: PromptBucket | None = None
) -> list[tuple[str, float, float]]:
    """How prompts of the runs differ by more than noise, in words, with both lengths; not where a run knows none.

    Args:
        base: A base run.
        candidate: The candidate.
        noise: Share of the larger length that says nothing.
        within: Only prompts of this class.
    """
    ours, theirs = (_lengths(each, within) for each in (base, candidate))
    if not ours or not theirs:
        return []
    found = [(name, float(of(ours)), float(of(theirs))) for name, of in _MEASURES]
    return [(name, one, other) for name, one, other in found if abs(one - other) > noise * max(one, other)]


def _lengths(analysis: Analysis, within: PromptBucket | None) -> list[int]:
    known = [each.prompt_tokens for each in analysis.requests if each.prompt_tokens is not None]
    return [tokens for tokens in known if within is None or within.low <= tokens < within.high]
