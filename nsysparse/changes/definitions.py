"""What a comparison's words mean, in a line each; docs/metrics.md has the whole story."""

from nsysparse.comparison import Comparison
from nsysparse.document import Block, Definition, Definitions, Heading


def build(comparison: Comparison) -> list[Block]:
    """The rules by which this comparison judged."""
    items = [
        Definition(
            "Change",
            f"What differs by more than {comparison.noise * 100:.4g} % of the larger of the two values and by more than"
            " a floor: what a recording of this metric does not tell apart, the spread of several base runs, or what"
            " clocks leave open, whichever is most.",
            "diff-change",
        ),
        Definition(
            "Not comparable",
            f"Unknown in one run, of another kind in each, or from fewer than {comparison.min_samples:,} observations.",
            "diff-not-comparable",
        ),
        Definition(
            "Verdict",
            "Rests on the transfer: rates of the run, its links and its layers, peer wait, receives within the KV gap,"
            " the KV gap and its share, and decode idle for KV. Other metrics are shown and do not decide; nor do times"
            " of requests whose prompts differ, other than by length of prompt, nor rates where messages differ in size"
            " by more than a quarter or no link is in both. Where no rate is known, the shorter kernel of an exchange"
            " decides.",
            "diff-verdict",
        ),
        Definition(
            "Receives within the KV gap",
            "How long KV was still arriving between the end of a request's prefill and its first decode step: what of"
            " its transfer nothing of its own hides.",
            "diff-receives",
        ),
        Definition(
            "Mark",
            "+ better, \u2212 worse, ~ changed where neither direction is better, ? cannot be compared.",
            "diff-mark",
        ),
    ]
    return [Heading("How it was judged", "diff-definitions"), Definitions(items)]
