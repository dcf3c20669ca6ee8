"""`nsysparse report` as people run it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nsysparse.testing import TraceBuilder
from tests.commands import call, run

SAMPLE = "synthetic/pd-oneprofile.sqlite"


def test_the_main_job(sample: Callable[[str], Path], tmp_path: Path) -> None:
    done = call("report", sample(SAMPLE), "--link", "ib-ndr", "--model", "llama-3-8b", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = tmp_path / "reports" / "pd-oneprofile.html"
    assert done.stderr.splitlines() == ["Wrote reports/pd-oneprofile.html"]
    first = done.stdout.splitlines()[0]
    assert first == (
        "KV gap is 5.1 % of the way to the first decoded token, within the 20 % threshold; wire rate at least 23.0 of"
        " 50 GB/s on IB NDR; 6.03 ms per request is KV ready before decode starts."
    )
    html = page.read_text(encoding="utf-8")
    assert "ynthetic" in html
    assert str(tmp_path) not in html
    assert [path.name for path in (tmp_path / "reports").iterdir()] == ["pd-oneprofile.html"]


def test_our_own_report_is_replaced_and_another_file_is_not(sample: Callable[[str], Path], tmp_path: Path) -> None:
    for name in ("out.html", "out.md", "out.json"):
        target = tmp_path / name
        assert call("report", sample(SAMPLE), "-o", target, cwd=tmp_path).returncode == 0
        assert call("report", sample(SAMPLE), "-o", target, cwd=tmp_path).returncode == 0
        target.write_text("mine", encoding="utf-8")
        refused = call("report", sample(SAMPLE), "-o", target, cwd=tmp_path)
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "is no report of nsysparse" in refused.stderr
        assert target.read_text(encoding="utf-8") == "mine"
        assert call("report", sample(SAMPLE), "-o", target, "--force", cwd=tmp_path).returncode == 0
        assert target.read_text(encoding="utf-8") != "mine"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_plain_file_is_neither_read_nor_replaced(sample: Callable[[str], Path], tmp_path: Path) -> None:
    """Looking into a pipe would wait for ever; a rename onto a device would replace it."""
    pipe = tmp_path / "out.html"
    os.mkfifo(pipe)
    for force in ((), ("--force",)):
        refused = call("report", sample(SAMPLE), "-o", pipe, *force, cwd=tmp_path)
        assert refused.returncode == 1
        assert "is no plain file" in refused.stderr
        assert pipe.is_fifo()


def test_a_report_is_written_though_stdout_is_closed(sample: Callable[[str], Path], tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -m nsysparse report "$1" -o out.html >&-', sys.executable, sample(SAMPLE)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.html").exists()


def test_what_was_read_is_never_replaced(sample: Callable[[str], Path], tmp_path: Path) -> None:
    trace = tmp_path / "t.sqlite"
    trace.write_bytes(sample(SAMPLE).read_bytes())
    before = trace.read_bytes()
    (tmp_path / "link.json").symlink_to(trace)
    for command in (["report"], ["inspect"], ["export", "--frame", "transfers"]):
        form = "csv" if command[0] == "export" else "json"
        for target in ("t.sqlite", "link.json"):
            refused = call(*command, trace, "-f", form, "-o", target, "--force", cwd=tmp_path)
            assert (refused.returncode, refused.stdout) == (1, ""), command
            assert "is the trace that was read" in refused.stderr
    assert trace.read_bytes() == before


def test_a_folder_is_no_place_for_a_report(sample: Callable[[str], Path], tmp_path: Path) -> None:
    refused = call("report", sample(SAMPLE), "-o", tmp_path, cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "is a folder" in refused.stderr


def test_one_recording_under_two_names_is_refused(sample: Callable[[str], Path], tmp_path: Path) -> None:
    for name in ("a.sqlite", "b.sqlite"):
        (tmp_path / name).write_bytes(sample(SAMPLE).read_bytes())
    refused = call("report", "a.sqlite", "b.sqlite", cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "b.sqlite and a.sqlite hold the same recording" in refused.stderr


def test_json_on_stdout_is_one_object_and_nothing_else(sample: Callable[[str], Path], tmp_path: Path) -> None:
    done = call("report", sample(SAMPLE), "-f", "json", "-o", "-", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert done.stderr == ""
    assert report["format_version"] == 1
    assert report["totals"]["bytes"] == 872_415_232
    assert report["traces"][0]["file"] == "pd-oneprofile.sqlite"
    assert list(tmp_path.iterdir()) == []


def test_the_same_input_gives_the_same_bytes(sample: Callable[[str], Path], tmp_path: Path) -> None:
    for chosen in ("html", "json", "markdown", "text"):
        outputs = set()
        for folder, seed in (("a", "1"), ("b", "2")):
            place = tmp_path / folder
            place.mkdir(exist_ok=True)
            copy = shutil.copy(sample(SAMPLE), place / "pd.sqlite")
            outputs.add(run("report", copy, "-f", chosen, "-o", "-", cwd=place, PYTHONHASHSEED=seed).stdout)
        assert len(outputs) == 1, chosen


def test_the_suffix_names_the_format(sample: Callable[[str], Path], tmp_path: Path) -> None:
    call("report", sample(SAMPLE), "-o", "x.md", cwd=tmp_path)
    assert (tmp_path / "x.md").read_text(encoding="utf-8").startswith("<!-- nsysparse:")
    wrong = call("report", sample(SAMPLE), "-o", "x.pdf", cwd=tmp_path)
    assert wrong.returncode == 2
    assert ".pdf" in wrong.stderr


def test_several_traces_get_one_report(sample: Callable[[str], Path], tmp_path: Path) -> None:
    done = call("report", sample(SAMPLE), sample("synthetic/pd-grouped.sqlite"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reports" / "pd-oneprofile-and-1-more.html").exists()


def test_folders_and_patterns_name_their_traces(sample: Callable[[str], Path], tmp_path: Path) -> None:
    whole = call("report", sample("synthetic"), "-f", "json", "-o", "-", cwd=tmp_path)
    pattern = call("report", str(sample("synthetic")) + "/*.sqlite", "-f", "json", "-o", "-", cwd=tmp_path)
    assert len(json.loads(whole.stdout)["traces"]) == len(list(sample("synthetic").glob("*.sqlite"))) == 6
    assert whole.stdout == pattern.stdout


def test_unknown_names_suggest_the_nearest(sample: Callable[[str], Path], tmp_path: Path) -> None:
    for option, given, nearest in (("--link", "ib-ndrr", "ib-ndr"), ("--model", "llama-3-70", "llama-3-70b")):
        done = call("report", sample(SAMPLE), option, given, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert nearest in done.stderr
        assert not (tmp_path / "reports").exists()


def test_a_marketing_total_only_by_its_name(sample: Callable[[str], Path], tmp_path: Path) -> None:
    def peak(link: str) -> float:
        done = call("report", sample(SAMPLE), "--link", link, "-f", "json", "-o", "-", cwd=tmp_path)
        return float(json.loads(done.stdout)["links"][0]["peak_gb_s"])

    assert peak("nvlink4-h100") == 450
    assert peak("nvlink4-h100@bidirectional") == 900


def bad_inputs(folder: Path, sample: Callable[[str], Path]) -> dict[str, Path]:
    whole = sample(SAMPLE).read_bytes()
    contents = {
        "empty.sqlite": b"",
        "pointer.sqlite": b"version https://git-lfs.github.com/spec/v1\n",
        "text.sqlite": b"hello",
        "cut.sqlite": whole[:100_000],
        "report.nsys-rep": b"\x00nsys",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    thread = builder.process(pid=1).thread(tid=1)
    thread.push_pop("r", 1, 2)
    builder.omit("NVTX_EVENTS", "globalTid")
    builder.write(folder / "renamed.sqlite")
    return {name: folder / name for name in (*contents, "renamed.sqlite", "missing.sqlite")}


@pytest.mark.parametrize("command", [["report"], ["inspect"], ["export", "--frame", "transfers"]])
def test_bad_input_is_one_clear_refusal(
    command: list[str], sample: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, work = tmp_path / "in", tmp_path / "work"
    folder.mkdir()
    work.mkdir()
    monkeypatch.setenv("PATH", "/nonexistent")  # no nsys
    for name, path in bad_inputs(folder, sample).items():
        before = sorted(folder.iterdir())
        done = call(*command, path, cwd=work)
        assert done.returncode == 1, (name, done.stderr)
        assert done.stdout == "", name
        assert 1 <= len(done.stderr.splitlines()) <= 3, (name, done.stderr)
        assert name.split(".")[0] in done.stderr
        assert "Traceback" not in done.stderr
        assert list(work.iterdir()) == []
        assert sorted(folder.iterdir()) == before
    assert "NVTX_EVENTS has no column globalTid" in call(*command, folder / "renamed.sqlite", cwd=work).stderr
    hint = call(*command, folder / "report.nsys-rep", cwd=work).stderr.splitlines()[1]
    assert hint.startswith("  Where nsys is installed, run: nsys export --type sqlite ")


def test_standard_input_is_refused_as_usage(tmp_path: Path) -> None:
    done = call("report", "-", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input" in done.stderr


def test_a_closed_pipe_is_no_error(sample: Callable[[str], Path], tmp_path: Path) -> None:
    command = f"'{sys.executable}' -m nsysparse export '{sample(SAMPLE)}' --frame nvtx_ranges | head -1"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("trace_id,")
    assert done.stderr == ""


def test_a_report_of_nsys_is_exported_when_nsys_is_there(sample: Callable[[str], Path], tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    fake = tools / "nsys"
    # Stands in for `nsys export`: checks how it is called and copies a trace to the place after -o.
    fake.write_text(
        f'#!/bin/sh\n[ "$1" = export ] || exit 9\nwhile [ "$1" != -o ]; do shift; done\ncp \'{sample(SAMPLE)}\' "$2"\n',
        encoding="utf-8",
    )
    fake.chmod(0o755)
    (tmp_path / "run.nsys-rep").write_bytes(b"\x00nsys")
    done = run("report", "run.nsys-rep", cwd=tmp_path, PATH=f"{tools}:{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reports" / "run.html").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "reports", "run.nsys-rep"]


def test_a_traceback_is_shown_only_when_asked(tmp_path: Path) -> None:
    (tmp_path / "bad.sqlite").write_bytes(b"x")
    assert "Traceback" not in call("report", "bad.sqlite", "-v", cwd=tmp_path).stderr
    assert "Traceback" in run("report", "bad.sqlite", "-vv", cwd=tmp_path).stderr


def test_quiet_says_nothing_but_errors(sample: Callable[[str], Path], tmp_path: Path) -> None:
    done = call("report", sample(SAMPLE), "-q", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    assert "no such file" in call("report", "missing.sqlite", "-q", cwd=tmp_path).stderr


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """One send of KV (1000 bytes), one that nothing explains (200), one of a load balancer (30)."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    process = builder.process(pid=1)
    thread = process.thread(tid=1)
    for index, (text, nbytes) in enumerate([("kv_transfer request=r", 1000), ("step", 200), ("eplb: move", 30)]):
        at = 1000 * (index + 1)
        thread.push_pop(text, at - 10, at + 50)
        thread.nccl("ncclSend", at, at + 10, communicator=7, nbytes=nbytes, peer=1)
        launch = thread.launch(at + 2, at + 4)
        process.kernel("ncclDevKernel_SendRecv(args)", at + 100, at + 100 + nbytes, launch=launch, stream=20)
    return builder.write(tmp_path / "mixed.sqlite")


@pytest.mark.parametrize(
    ("purpose", "counted", "left_out"),
    [
        ("kv+unknown", {"kv": 1000, "unknown": 200}, [("other", "weights/eplb", 30)]),
        ("kv", {"kv": 1000}, [("unknown", "no rule matched", 200), ("other", "weights/eplb", 30)]),
        ("all", {"kv": 1000, "unknown": 200, "other": 30}, []),
    ],
)
def test_purposes_that_count_and_those_left_out(
    mixed: Path, tmp_path: Path, purpose: str, counted: dict[str, int], left_out: list[tuple[str, str, int]]
) -> None:
    report = json.loads(call("report", mixed, "-f", "json", "-o", "-", "--purpose", purpose, cwd=tmp_path).stdout)
    totals = report["totals"]
    assert {name: each["bytes"] for name, each in totals["by_purpose"].items()} == counted
    total = sum(counted.values())
    assert (totals["bytes"], totals["time_ns"], totals["kernel_count"]) == (total, total, len(counted))
    assert [(each["purpose"], each["rule"], each["bytes"]) for each in report["excluded"]] == left_out
    assert [each["kernel_count"] for each in report["excluded"]] == [1] * len(left_out)
    assert sum(link["bytes"] for link in report["links"]) == total
    assert sum(each["bytes"] for each in report["requests"]) + report["unattributed"]["request"]["bytes"] == total
    assert report["settings"]["purpose"] == {"value": purpose, "source": "option"}
    assert ("1 known to be other traffic" in report["verdict"]["detail"]) == (purpose == "all")


def test_the_page_says_what_counts_though_it_is_other(mixed: Path, tmp_path: Path) -> None:
    told = {
        purpose: call("report", mixed, "-f", "markdown", "-o", "-", "--purpose", purpose, cwd=tmp_path).stdout
        for purpose in ("kv+unknown", "kv", "all")
    }
    assert "is counted although it is known to be other traffic" in told["all"]
    assert "known to be other traffic." not in told["kv+unknown"]
    assert "Left out: not KV" in told["kv+unknown"]
    assert "Left out: not proven to be KV" in told["kv"]
    assert "Left out" not in told["all"]


def test_where_nothing_is_proven_kv_says_what_may_be(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    thread = builder.process(pid=1).thread(tid=1)
    for at, text in ((100, "step"), (200, "eplb: move"), (300, "step")):
        thread.push_pop(text, at - 10, at + 50)
        thread.nccl("ncclSend", at, at + 10, communicator=7, nbytes=8, peer=1)
    done = call("report", builder.write(tmp_path / "t.sqlite"), "-f", "text", "--purpose", "kv", cwd=tmp_path)
    assert done.stdout.startswith(
        "No proven KV transfer found: of 3 transfers, 2 may be KV, but nothing proves it, the"
        " others are other traffic (weights/eplb)."
    )


def test_a_purpose_that_does_not_exist_is_refused(mixed: Path, tmp_path: Path) -> None:
    done = call("report", mixed, "--purpose", "weights", cwd=tmp_path)
    assert done.returncode == 2
    assert "kv+unknown" in done.stderr


def test_whole_graphs_stand_in_the_verdict_with_what_would_show_them(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x"})
    process = builder.process(pid=1)
    thread = process.thread(tid=1)
    thread.nccl("ncclSend", 100, 110, communicator=7, nbytes=64, peer=1)
    process.kernel("gemm", 200, 300, launch=thread.launch(120, 130))
    process.graph(1000, 2000, launch=thread.launch(900, 910, "cudaGraphLaunch_v10000"))
    done = call("report", builder.write(tmp_path / "t.sqlite"), "-f", "text", cwd=tmp_path)
    first = done.stdout.splitlines()[0]
    assert "; rate unknown: no kernel of theirs was recorded: 1 CUDA graph launch was recorded whole" in first
    assert "--cuda-graph-trace=node" in first
