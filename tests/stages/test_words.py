"""Words around numbers: nothing cut in half, nothing claimed that clocks leave open, one notation for all sizes."""

from dataclasses import replace
from pathlib import Path

import pytest

from nsysparse.analysis import Analysis, Reason
from nsysparse.api import Options, analyse
from nsysparse.document import HeatView, Table, Way
from nsysparse.render.heat import shade_limits
from nsysparse.sections import overview, summary_rest


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    return analyse([Path(__file__).parents[2] / "sample_traces/synthetic/pd-oneprofile.sqlite"], Options())


def middle(analysis: Analysis) -> str:
    return next(block.bracket_text for block in overview.build(analysis) if isinstance(block, Way))


@pytest.mark.parametrize(
    ("message", "told"),
    [("no sizes came (nsys drops them; NCCL writes them)", "no sizes came"), ("none (at all): why", "none (at all)")],
)
def test_a_cause_is_not_cut_within_an_aside(analysis: Analysis, message: str, told: str) -> None:
    why = Reason("/totals/bytes", "not-recorded", message, "")
    shown = summary_rest.unknown(replace(analysis, reasons=[why]))

    assert [row[1].text for block in shown if isinstance(block, Table) for row in block.rows] == [told]


def test_shades_are_not_told_in_powers_of_ten() -> None:
    assert shade_limits(HeatView("time", "us", [[0.0, 412.0]]))[-1] == "410"


def test_a_share_that_clocks_leave_open_is_no_bare_zero(analysis: Analysis) -> None:
    unsure = [
        replace(request, kv_gap_share=0.0, kv_gap_share_low=0.0, kv_gap_share_high=1.0) for request in analysis.requests
    ]

    assert " = " in middle(analysis)
    assert middle(replace(analysis, requests=unsure)).endswith(", ≤ 100 %")
