"""What compares answers must tell when they differ: else a figure would be of two different things."""

import large_trace
import nsys_answers
import polars as pl
import pytest
import reading

HEAD = "Processing [t.sqlite] with [nvtx.py]...\n"
PROJECTED = (
    "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,PID,TID,NumGPUOps,Lvl\n"
)
SUMMED = "NVTX Range,Style,PID,TID,NVTX Inst,Kern Inst,Total Time (ns),Kernel Name\n"


@pytest.fixture
def ranges(tmp_path):
    path = tmp_path / "ranges.parquet"
    pl.DataFrame(
        {
            "domain": [None, None, "NCCL"],
            "name": ["step", "step", "ncclSend"],
            "pid": [7, 7, 7],
            "tid": [8, 8, 8],
            "start_ns": [100, 500, 120],
            "projected_start_ns": [1000, None, 1010],
            "projected_end_ns": [1100, None, 1050],
            "gpu_op_count": [3, 0, 1],
        },
        schema_overrides={"gpu_op_count": pl.UInt32},
    ).write_parquet(path)
    return path


def compare(tmp_path, report, text, ranges):
    table = tmp_path / "nsys.csv"
    table.write_text(HEAD + text, encoding="utf-8")
    return nsys_answers.main(report, str(table), str(ranges))


@pytest.mark.parametrize(("ops", "code"), [(3, 0), (2, 1)])
def test_a_projection_is_compared_range_by_range(tmp_path, ranges, capsys, ops, code):
    rows = f"step,1000,100,100,60,PushPop,7,8,{ops},0\nNCCL:ncclSend,1010,40,120,20,PushPop,7,8,1,1\n,1,1,1,1,,,,1,0\n"
    assert compare(tmp_path, "nvtxgpuproj", PROJECTED + rows, ranges) == code
    said = capsys.readouterr()
    assert said.out == ("equal on all 2 ranges that nsys lists\n" if code == 0 else "")
    assert said.err == ("" if code == 0 else "1 of 2 ranges differ from nsys's\n")


@pytest.mark.parametrize(("kernels", "code"), [(2, 0), (3, 1)])
def test_a_summary_is_compared_by_name_and_thread(tmp_path, ranges, kernels, code):
    rows = f"None,None,None,None,0,5,9,k\nstep,PushPop,7,8,1,1,9,k\nstep,PushPop,7,8,1,{kernels},9,l\n"
    assert compare(tmp_path, "nvtxkernsum", SUMMED + rows, ranges) == code


def test_an_empty_answer_is_not_equal(tmp_path, ranges):
    assert compare(tmp_path, "nvtxgpuproj", PROJECTED, ranges) == 1


def test_reading_equals_sqlite_and_sqlalchemy_on_a_made_up_trace(tmp_path, monkeypatch):
    path = large_trace.trace(tmp_path, "2000")
    reading.verify(path, rows=True)
    monkeypatch.setattr(reading, "sums_of", lambda frame: (frame.height, 1))
    with pytest.raises(AssertionError, match="sums differ"):
        reading.verify(path, rows=False)
