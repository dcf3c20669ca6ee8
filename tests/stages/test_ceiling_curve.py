"""What a benchmark showed of each message size, from its output to the figure."""

import re
from dataclasses import replace
from pathlib import Path

import factories
import pytest

from nsysparse.api import Options, analyse
from nsysparse.document import RateBySize
from nsysparse.render.figures import curve
from nsysparse.sections import SECTIONS
from tests.conftest import ROOT

WRITE_BW = """---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Number of qps   : 1\t\tTransport type : IB
 Connection type : RC\t\tUsing SRQ      : OFF
 Link type       : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      5000             19073.5            19073.5\t\t   0.305176
 1048576    5000             38147.0            38147.0\t\t   0.038147
 8388608    5000             45776.4            45776.4\t\t   0.005722
---------------------------------------------------------------------------------------
"""


def test_the_curve_of_a_benchmark_is_of_the_link_that_it_measured(tmp_path: Path) -> None:
    output = tmp_path / "ib_write_bw.txt"
    output.write_text(WRITE_BW)
    found = analyse([ROOT / "sample_traces/synthetic/pd-oneprofile.sqlite"], Options(link="ib-ndr", measured=output))
    (link,) = found.links
    # MB/sec of perftest are 2^20 bytes.
    expected = {65536: 20.0, 1048576: 40.0, 8388608: 48.0}
    assert {each.bytes: each.gb_s for each in link.practical_curve} == pytest.approx(expected, rel=1e-4)
    assert link.practical_gb_s == pytest.approx(48.0, rel=1e-4)


def test_without_a_benchmark_there_is_no_curve() -> None:
    found = analyse([ROOT / "sample_traces/synthetic/pd-oneprofile.sqlite"], Options(link="ib-ndr"))
    assert [link.practical_curve for link in found.links] == [()]


def test_the_figure_draws_it_between_the_sizes_that_were_seen() -> None:
    (chart,) = [block for block in SECTIONS["sizes"](factories.rich()) if isinstance(block, RateBySize)]
    drawn = re.search(r'<path d="M([^"]+)" class="fit ceiling">', curve(chart))
    assert drawn is not None
    places = [tuple(map(float, place.split())) for place in drawn[1].split("L")]
    sizes = [point.size for series in chart.series for point in series.points]
    inside = [size for size, _ in chart.ceiling if min(sizes) / 1.25 <= size <= max(sizes) * 1.25]
    assert len(places) == len(inside)
    assert places == sorted(places)  # across with the size
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)  # and up with the rate
    assert 'class="fit ceiling"' not in curve(replace(chart, ceiling=()))
