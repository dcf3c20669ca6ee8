"""The worked example of docs/how-to/write-a-preset.md does what the page says."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from nsysparse.api import Options, study_traces
from nsysparse.cli import cli
from nsysparse.testing import TraceBuilder

PAGE = Path(__file__).resolve().parents[2] / "docs/how-to/write-a-preset.md"


def block(before: str) -> str:
    return re.split(r"^```$", PAGE.read_text(encoding="utf-8").partition(before)[2], maxsplit=1, flags=re.MULTILINE)[0]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The trace of the page, and its preset beside it."""
    builder = TraceBuilder(duration=1_000)
    thread = builder.process(pid=1).thread(tid=1)
    for place in range(4):
        start = place * 100
        if place % 2 == 0:
            thread.push_pop(f"engine: prefill batch of {2 + place}", start, start + 90)
        thread.push_pop(f"kvpush 8f2a L{12 + place} 4194304B", start + 10, start + 50)
        thread.nccl("ncclSend", start + 20, start + 30, communicator=7, nbytes=4194304, peer=1)
    path = builder.write(tmp_path / "trace.sqlite")
    (tmp_path / "myserver.toml").write_text(block("```toml\n"))
    monkeypatch.chdir(tmp_path)
    return Path(path)


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_outputs_are_those_shown(server: Path) -> None:
    assert server.name == "trace.sqlite"
    assert printed("presets", "check", "myserver.toml", "trace.sqlite") == block("<!-- output: check -->\n```text\n")
    shown = block("<!-- output: unknown -->\n```text\n")
    assert printed("presets", "check", "generic", "trace.sqlite").endswith(shown)


def test_the_preset_attributes_the_pushes(server: Path) -> None:
    transfers = study_traces([server], Options(presets=("myserver.toml",))).transfers
    assert transfers.select("layer", "request_id", "layer_provenance", "purpose", "role", "phase").rows() == [
        (12 + place, "8f2a", "exact", "kv", "prefill", None if place % 2 else "prefill") for place in range(4)
    ]
    plain = study_traces([server], Options(request_pattern="kvpush (?P<request>[0-9a-f]+) ")).transfers
    assert plain["request_id"].unique().to_list() == ["8f2a"]
