"""`nsysparse inspect` and `nsysparse export` as people run them."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from nsysparse import projection
from nsysparse.api import export_frame
from nsysparse.cli import cli
from nsysparse.errors import OutputError
from nsysparse.frames import NvtxRanges
from nsysparse.testing import TraceBuilder

GROUPED = "synthetic/pd-grouped.sqlite"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], catch_exceptions=False)


def test_inspect_json_names_communicators_as_exact_strings(sample: Callable[[str], Path]) -> None:
    looked = json.loads(run("inspect", sample(GROUPED), "-f", "json").stdout)
    assert looked["format_version"] == 1
    (trace,) = looked["traces"]
    assert [found["id"] for found in trace["communicators"]] == ["6840140773580606720", "18369614221190020847"]
    assert trace["counts"]["send_recv_kernel_count"] == 323
    assert {answer["answer"] for answer in trace["answers"]} <= {"yes", "partly", "no"}
    assert set(trace["capabilities"]["nccl_sizes"]) == {"status", "reason", "fix"}


def test_inspect_says_what_would_change_it(sample: Callable[[str], Path]) -> None:
    text = run("inspect", sample("real/nsys22-nccl2.23.4-groups.sqlite")).stdout
    assert "no      nccl_sizes: no payload came with the NCCL ranges" in text
    assert "nsys export --type sqlite --include-blobs=true --include-json=true" in text
    assert "13 ncclSend, 6 ncclRecv" in text
    assert text.splitlines()[-1].endswith("nsysparse capture ENGINE")


def test_inspect_points_to_the_whole_command_lines_once(sample: Callable[[str], Path]) -> None:
    both = run("inspect", sample(GROUPED), sample("real/nsys22-nccl2.23.4-groups.sqlite")).stdout
    assert both.count("nsysparse capture ENGINE") == 1


def test_inspect_never_obeys_a_name(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "H100\x1b[31m\u202e"})
    builder.process(pid=1).thread(tid=1).push_pop("r", 1, 2)
    text = run("inspect", builder.write(tmp_path / "t.sqlite")).stdout
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "⟨1B⟩" in text


@pytest.mark.parametrize("frame", ["nvtx_ranges", "scopes", "gpu_ops", "transfers", "attributions"])
def test_all_formats_hold_the_same_rows(frame: str, sample: Callable[[str], Path], tmp_path: Path) -> None:
    run("export", sample(GROUPED), "--frame", frame, "-o", tmp_path / "x.parquet")
    parquet = pl.read_parquet(tmp_path / "x.parquet")
    assert parquet.height > 300
    csv = run("export", sample(GROUPED), "--frame", frame, "-f", "csv").stdout
    assert pl.read_csv(io.StringIO(csv), schema=parquet.schema).equals(parquet)
    ndjson = run("export", sample(GROUPED), "--frame", frame, "-f", "ndjson").stdout
    assert pl.read_ndjson(io.StringIO(ndjson), schema=parquet.schema).equals(parquet)


@pytest.mark.parametrize("chosen", ["csv", "parquet", "ndjson"])
def test_several_files_are_one_after_the_other(
    chosen: str, sample: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With pieces of a few rows, so that none is a whole file."""
    monkeypatch.setattr(projection, "PIECE", 100)
    paths = [sample(GROUPED), sample("real/nsys22-nccl2.23.4-groups.sqlite")]
    done = run("export", *paths, "--frame", "nvtx_ranges", "-o", tmp_path / f"both.{chosen}")
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "ndjson": pl.read_ndjson}[chosen]
    schema = {} if chosen == "parquet" else {"schema": NvtxRanges.create_empty().schema}
    each = [export_frame([path], "nvtx_ranges") for path in paths]
    assert read(tmp_path / f"both.{chosen}", **schema).equals(pl.concat(each))
    assert f"Wrote {sum(frame.height for frame in each):,} rows" in done.stderr


def test_a_reader_that_wants_no_more_ends_it_quietly(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    thread = builder.process(pid=1).thread(tid=1)
    for number in range(5000):  # more than a pipe holds
        thread.push_pop(f"a range with number {number}", 10 * number, 10 * number + 5)
    path = str(builder.write(tmp_path / "t.sqlite"))
    command = [sys.executable, "-m", "nsysparse", "export", path, "--frame", "nvtx_ranges"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as export:
        assert export.stdout is not None
        assert export.stderr is not None
        assert export.stdout.readline().startswith(b"trace_id,")
        export.stdout.close()
        said = export.stderr.read()
    assert (export.returncode, said) == (0, b"")


def test_columns_are_those_of_the_contract(sample: Callable[[str], Path]) -> None:
    def columns(frame: str) -> list[str]:
        return run("export", sample(GROUPED), "--frame", frame, "-f", "csv").stdout.splitlines()[0].split(",")

    assert columns("nvtx_ranges") == NvtxRanges.column_names()
    assert columns("nvtx_ranges") == [
        "trace_id", "domain", "name", "style", "pid", "tid", "start_ns", "end_ns", "is_open", "depth",
        "projected_start_ns", "projected_end_ns", "gpu_op_count",
    ]  # fmt: skip
    assert columns("gpu_ops") == [
        "trace_id", "kind", "name", "device_id", "stream_id", "pid", "correlation_id", "launch_start_ns",
        "launch_end_ns", "start_ns", "end_ns", "bytes", "graph",
    ]  # fmt: skip
    contract = [
        "transfer_id", "trace_id", "transport", "side", "purpose", "purpose_rule", "interval_kind", "start_ns",
        "end_ns", "time_ns", "wire_ns", "wire_basis", "peer_wait_ns", "kernel_ops", "bytes", "bytes_source",
        "communicator", "rank", "peer", "pair_id", "pairing", "is_self", "is_first_use", "layer", "layer_provenance",
        "request_id", "request_provenance", "phase", "role",
    ]  # fmt: skip
    assert columns("transfers")[: len(contract)] == contract


def test_a_spreadsheet_runs_no_name(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    thread = builder.process(pid=1).thread(tid=1)
    for index, text in enumerate(("=1+1", "+cmd", "-2", "@sum", "plain")):
        thread.push_pop(text, 10 * index, 10 * index + 5)
    csv = run("export", builder.write(tmp_path / "t.sqlite"), "--frame", "nvtx_ranges", "-f", "csv").stdout
    names = pl.read_csv(io.StringIO(csv))["name"].to_list()
    assert names == ["'=1+1", "'+cmd", "'-2", "'@sum", "plain"]


def test_an_existing_file_is_not_replaced_unasked(sample: Callable[[str], Path], tmp_path: Path) -> None:
    target = tmp_path / "x.csv"
    target.write_text("mine", encoding="utf-8")
    result = CliRunner().invoke(cli, ["export", str(sample(GROUPED)), "--frame", "gpu_ops", "-o", str(target)])
    assert result.exit_code != 0
    assert target.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(("purpose", "purposes"), [("all", {"kv", "unknown"}), ("kv", {"kv"})])
def test_export_of_some_purposes(purpose: str, purposes: set[str], sample: Callable[[str], Path]) -> None:
    trace = sample("synthetic/pd-oneprofile.sqlite")

    def rows(frame: str, *options: str) -> pl.DataFrame:
        return pl.read_csv(io.StringIO(run("export", trace, "--frame", frame, *options).stdout))

    kept = rows("transfers", "--purpose", purpose)
    assert set(kept["purpose"]) == purposes
    everything = rows("transfers").filter(pl.col("purpose").is_in(purposes))
    assert kept.equals(everything)
    moving = kept.filter("is_movement")["transfer_id"]
    assert set(rows("attributions", "--purpose", purpose)["transfer_id"]) == set(moving)


@pytest.mark.parametrize("frame", ["nvtx_ranges", "scopes"])
def test_a_terminal_obeys_no_name(frame: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    builder.process(pid=1).thread(tid=1).push_pop("kv_layer layer=1 \x1b]0;x\x07\u202e", 1, 2)
    path = builder.write(tmp_path / "t.sqlite")

    class Terminal(io.BytesIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(shown, "utf-8", write_through=True))
    cli.main(["export", str(path), "--frame", frame], standalone_mode=False)
    text = shown.getvalue().decode()
    assert "⟨1B⟩" in text
    assert not set("\x1b\x07\u202e") & set(text)
    with pytest.raises(OutputError, match="no text for a terminal"):
        cli.main(["export", str(path), "--frame", frame, "-f", "parquet"], standalone_mode=False)


def test_inspect_says_whether_the_way_to_the_first_token_can_be_told(sample: Callable[[str], Path]) -> None:
    both = [sample(f"synthetic/pd-two-hosts-{side}.sqlite") for side in ("prefill", "decode")]
    (told,) = json.loads(run("inspect", *both, "-f", "json").stdout)["answers"]
    assert (told["answer"], told["fix"]) == ("yes", "")
    assert told["why"].startswith("prefill and decode steps name 11 of 12 requests")
    for path, here, there in ((both[0], "prefill", "decode"), (both[1], "decode", "prefill")):
        text = run("inspect", path).stdout
        assert re.search(rf"no +Where does the time to the first token go\? {here} steps name \d+ requests, and", text)
        assert f"Give the trace of the {there} side too, or annotate its steps" in text
    (told,) = json.loads(run("inspect", sample(GROUPED), "-f", "json").stdout)["answers"]
    assert (told["answer"], told["why"]) == ("no", "no step that says prefill or decode names a request")
