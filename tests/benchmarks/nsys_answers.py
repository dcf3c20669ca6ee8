"""Holds what nsys printed of ranges against the exported ones: every range that nsys lists, by name, thread and start.

nsys leaves out ranges without GPU work and those that another thread closed; these cannot be compared. Its name of a
range begins with its domain.

    python tests/benchmarks/nsys_answers.py nvtxgpuproj|nvtxkernsum NSYS_CSV RANGES_PARQUET
"""

import sys
from pathlib import Path

import polars as pl


def _ours(ranges: Path) -> pl.DataFrame:
    named = pl.concat_str(pl.col("domain") + ":", "name", ignore_nulls=True).alias("named")
    return pl.read_parquet(ranges).with_columns(named, pl.col("gpu_op_count").cast(pl.Int64))


def projection(theirs: pl.DataFrame, ours: pl.DataFrame) -> tuple[int, int]:
    """Ranges that nsys lists, and how many of them we do not have with the same projection and number of operations."""
    begin, lasts = pl.col("Projected Start (ns)"), pl.col("Projected Duration (ns)")
    listed = theirs.filter(pl.col("TID").is_not_null()).select(
        named="Name", pid=pl.col("PID").cast(pl.Int64), tid=pl.col("TID").cast(pl.Int64),
        start_ns=pl.col("Orig Start (ns)").cast(pl.Int64), projected_start_ns=begin, projected_end_ns=begin + lasts,
        gpu_op_count=pl.col("NumGPUOps").cast(pl.Int64),
    )  # fmt: skip
    mine = ours.select(pl.col(name).cast(dtype) for name, dtype in listed.schema.items())
    return listed.height, listed.join(mine, on=listed.columns, how="anti").height


def summary(theirs: pl.DataFrame, ours: pl.DataFrame) -> tuple[int, int]:
    """Names of ranges by thread, and of how many the number of kernels differs."""
    key = ["named", "pid", "tid"]
    in_ranges = theirs.filter(pl.col("TID") != "None")
    listed = in_ranges.group_by(
        named="NVTX Range", pid=pl.col("PID").cast(pl.Int64), tid=pl.col("TID").cast(pl.Int64)
    ).agg(gpu_op_count=pl.col("Kern Inst").cast(pl.Int64).sum())
    mine = ours.group_by("named", pl.col("pid").cast(pl.Int64), pl.col("tid").cast(pl.Int64)).agg(
        pl.col("gpu_op_count").sum()
    )
    return listed.height, listed.join(mine, on=[*key, "gpu_op_count"], how="anti").height


def main(report: str, table: str, ranges: str) -> int:
    """Print what was compared; 1 where it differs."""
    kept = {"PID": pl.String, "TID": pl.String} if report == "nvtxkernsum" else None
    theirs = pl.read_csv(table, skip_rows=1, infer_schema_length=None, schema_overrides=kept)
    count, differing = (summary if report == "nvtxkernsum" else projection)(theirs, _ours(Path(ranges)))
    what = "names of ranges by thread" if report == "nvtxkernsum" else "ranges"
    if differing or not count:
        sys.stderr.write(f"{differing} of {count} {what} differ from nsys's\n")
        return 1
    print(f"equal on all {count} {what} that nsys lists")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
