"""The committed sample traces are what their generator and their origins say."""

import hashlib
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

LIMIT_BYTES = 1_000_000


@pytest.fixture(scope="module")
def regenerated(sample, tmp_path_factory) -> Path:
    target = tmp_path_factory.mktemp("samples")
    command = [sys.executable, str(sample("generate.py")), str(target)]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("seed ")
    return target


def dump(path: Path) -> list[str]:
    """All tables and rows in the order in which they are stored."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        return list(connection.iterdump())


def traces(path: Path) -> dict:
    return {trace["path"]: trace for trace in tomllib.loads(path.read_text(encoding="utf-8"))["trace"]}


def test_regenerating_gives_the_committed_traces(regenerated, sample, manifest):
    paths = [path for path, trace in manifest.items() if trace["synthetic"]]
    assert len(paths) >= 3
    for path in paths:
        assert dump(regenerated / path) == dump(sample(path))


def test_regenerating_gives_the_committed_manifest(regenerated, manifest):
    again = traces(regenerated / "manifest.toml")
    assert list(again) == list(manifest)
    # Another SQLite may lay out the same rows in other bytes, so the digests of regenerated files are not compared.
    for path, trace in manifest.items():
        assert again[path] | {"sha256": None} == trace | {"sha256": None}


def test_digests_are_those_of_the_committed_files(sample, manifest):
    listed = {name: digest for trace in manifest.values() for name, digest in trace["sha256"].items()}
    for name, digest in listed.items():
        assert hashlib.sha256(sample(name).read_bytes()).hexdigest() == digest, name
    folders = (sample("real"), sample("synthetic"))
    assert {f"{folder.name}/{path.name}" for folder in folders for path in folder.iterdir()} == set(listed)


def test_no_sample_is_large(sample, manifest):
    assert max(sample(path).stat().st_size for path in manifest) < LIMIT_BYTES


@pytest.mark.real
def test_real_samples_are_copies_but_for_the_label(shared, sample, manifest):
    names = [Path(path).name for path, trace in manifest.items() if not trace["synthetic"] and "answers" not in trace]
    assert len(names) >= 5
    for name in names:
        ours, theirs = dump(sample(f"real/{name}")), dump(shared(f"lab_traces/{name}"))
        added = [line for line in ours if line not in set(theirs)]
        assert [line for line in ours if line not in added] == theirs
        # GPU rows that nobody recorded must say so inside the file.
        assert len(added) == (1 if name.startswith("hybrid-") else 0)
        assert all("NSYSPARSE_SYNTHETIC" in line for line in added)


def test_answers_are_consistent_with_themselves(manifest):
    for path, trace in manifest.items():
        if not trace["synthetic"]:
            continue
        answers = trace["answers"]
        for measure in answers["total"]:
            total = answers["total"][measure]
            by_layer = sum(answers["layers"][measure]) + answers["layer_unattributed"][measure]
            by_request = sum(request[measure] for request in answers["requests"].values())
            assert by_layer == by_request + answers["request_unattributed"][measure] == total, (path, measure)
        if "transports" in answers:
            for measure, total in answers["total"].items():
                assert sum(transport[measure] for transport in answers["transports"].values()) == total
            continue
        assert (
            answers["send_transfers"] + answers["recv_transfers"] - answers["paired"] == answers["total"]["movements"]
        )


def test_answers_are_consistent_with_the_files(sample, manifest):
    """The few answers that plain SQL can check."""
    for path, trace in manifest.items():
        if "sendrecv_kernels" not in trace.get("answers", {}):
            continue
        answers = trace["answers"]
        with closing(sqlite3.connect(f"{sample(path).as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
            count = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName WHERE value = ?"
            assert connection.execute(count, ("ncclDevKernel_SendRecv",)).fetchone() == (answers["sendrecv_kernels"],)
            for side, call in (("send", "ncclSend"), ("recv", "ncclRecv")):
                count = "SELECT count(*) FROM NVTX_EVENTS JOIN StringIds ON id = textId WHERE value = ?"
                expected = answers[f"{side}_transfers"] + answers["excluded"][f"{side}_transfers"]
                assert connection.execute(count, (call,)).fetchone() == (expected,)
