"""`nsysparse export --metrics` as people run it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from nsysparse.api import analyse
from nsysparse.cli import cli
from nsysparse.errors import OutputError, UsageError

ONE = "synthetic/pd-oneprofile.sqlite"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["export", *(str(each) for each in arguments)], catch_exceptions=False)


def asked(*arguments: object) -> None:
    """As `run`, with the error that the command line turns into a message and an exit code."""
    cli.main(["export", *(str(each) for each in arguments)], standalone_mode=False)


def read(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    return {
        each.name: [(sample.labels, sample.value) for sample in each.samples]
        for each in text_string_to_metric_families(text)
    }


def test_metrics_are_the_numbers_of_the_report(sample: Callable[[str], Path]) -> None:
    analysis = analyse([sample(ONE)])
    found = read(run(sample(ONE), "--metrics", "-q").stdout)

    assert [value for _, value in found["llm_kv_transfer_bytes"]] == [each.bytes for each in analysis.links]
    assert found["llm_kv_transfer_exposed_seconds"] == [
        ({"role": "decode"}, (analysis.totals.exposed_ns or 0) / 1e9),
        ({"role": "prefill"}, sum(each.exposed_ns for each in analysis.prefill or ()) / 1e9),
    ]
    assert found["nsysparse_build_info"][0][0]["notice"] == "synthetic"
    known = [each for each in analysis.requests if each.kv_gap_ns is not None]
    missing = sum(value for _, value in found.get("llm_kv_transfer_gap_unknown_requests", []))
    assert missing == len(analysis.requests) - len(known)
    assert not [labels for samples in found.values() for labels, _ in samples if "request" in labels]


def test_links_are_named_where_the_link_is(sample: Callable[[str], Path]) -> None:
    plain, named = (
        read(run(sample(ONE), "--metrics", *options).stdout)["llm_kv_transfer_bytes"]
        for options in (["--link", "unknown"], ["--link", "ib-ndr"])
    )
    assert {labels.get("link") for labels, _ in plain} == {None}
    assert {labels.get("link") for labels, _ in named} == {"InfiniBand NDR 4x"}


@pytest.mark.parametrize("purpose", [None, "kv+unknown", "all"])
def test_purposes_are_those_of_a_report_unless_told(purpose: str | None, sample: Callable[[str], Path]) -> None:
    told = [] if purpose is None else ["--purpose", purpose]
    trace = sample("synthetic/pd-grouped.sqlite")
    same = run(trace, "--metrics").stdout == run(trace, "--metrics", *told).stdout
    assert same == (purpose != "all")


def test_stdout_and_file_hold_the_same_and_our_file_is_replaced(sample: Callable[[str], Path], tmp_path: Path) -> None:
    target = tmp_path / "run.prom"
    shown = run(sample(ONE), "--metrics", "-o", "-").stdout
    for _ in range(2):
        result = run(sample(ONE), "--metrics", "-o", target)
        assert result.exit_code == 0
        assert result.stdout == ""
        assert target.read_text(encoding="utf-8") == shown
    assert [each.name for each in tmp_path.iterdir()] == ["run.prom"]


def test_somebody_elses_file_is_not_replaced_unasked(sample: Callable[[str], Path], tmp_path: Path) -> None:
    target = tmp_path / "other.prom"
    target.write_text("# HELP up x\nup 1\n", encoding="utf-8")
    with pytest.raises(OutputError, match="is no report of nsysparse"):
        asked(sample(ONE), "--metrics", "-o", target)
    assert run(sample(ONE), "--metrics", "-o", target, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (["--metrics", "--frame", "transfers"], "one export holds one of them", "Leave one out"),
        ([], "What is to be exported", "--metrics"),
        (["--metrics", "-f", "csv"], "one format", "Leave -f out"),
        (["--frame", "transfers", "--per-request"], "--per-request: no frame", "--metrics"),
        (["--frame", "transfers", "--link", "ib-ndr"], "--link: no frame", "--metrics"),
        (["--frame", "transfers", "--peak", "5"], "--peak: no frame", "--metrics"),
    ],
)
def test_what_does_not_go_together_is_said_with_what_to_do(
    options: list[str], message: str, hint: str, sample: Callable[[str], Path]
) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        asked(sample(ONE), *options)
    assert hint in raised.value.hint
    assert raised.value.exit_code == 2


def test_a_frame_may_know_the_model(sample: Callable[[str], Path]) -> None:
    assert run(sample(ONE), "--frame", "attributions", "--model", "llama-3-8b").exit_code == 0


def test_the_help_warns_of_labels_without_bound() -> None:
    said = " ".join(run("--help").stdout.split())
    assert "Each id makes a series of its own, without bound" in said
