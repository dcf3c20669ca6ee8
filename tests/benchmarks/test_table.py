import pytest
import table
from demands import DEMANDS, Figure
from nsys_peer import Peer
from record import Record, read


def test_the_page_has_the_recorded_figures():
    text = table.PAGE.read_text(encoding="utf-8")
    assert text == table.page(text, read()), "run `make docs-write`"


def test_every_demand_has_a_row_of_each_of_its_sizes():
    rows = [line for line in table.lines(Record()) if "not measured yet" in line]
    assert len(rows) == sum(len(demand.limits) for demand in DEMANDS.values())


def test_a_missed_demand_a_met_one_and_a_reason():
    figures = [
        Figure("reading/scan", "S", 1.31),
        Figure("reading/sqlalchemy", "S", 20.04),
        Figure("projection/nvtxkernsum", "M", None, why="nsys is not installed"),
    ]
    peers = {"S": Peer("nvtxgpuproj", "2022.4.2.1", 298.0, 9012.3, 1, is_cut_off=True, answers="cut off at 300 s")}
    said = "\n".join(table.lines(Record({each.name: each for each in figures}, peers))).replace(table.TIMES, "x")
    assert "| S | ≤ 1.3 x | 1.31 x | **not yet** |" in said
    assert "| S | ≥ 15 x | 20 x | met |" in said
    assert "| M | ≥ 40 x | not measured: nsys is not installed |  |" in said
    assert "on S took more than 298 s of CPU, 9,012 times the three scans of S; answers: cut off at 300 s." in said


def test_a_page_without_markers_is_refused():
    with pytest.raises(ValueError, match="markers"):
        table.page("# Performance\n", Record())
