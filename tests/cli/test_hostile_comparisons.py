"""Reports, gates and config files that were made to hurt: refused in a sentence, or bounded; never a crash."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import factories
import pytest

from nsysparse.render import to_json
from tests.commands import call

LONG = "<w> " * 500_000
"""Two megabytes of words, none of them long."""
HTML_BYTES = 2_500_000
SECONDS = 20
Change = Callable[[dict[str, Any]], object]


def changed(folder: Path, change: Change) -> None:
    """`base.json`, a report as it is, and `odd.json`, after a change to its JSON."""
    text = to_json.render(factories.rich())
    (folder / "base.json").write_text(text, encoding="utf-8")
    report = json.loads(text)
    change(report)
    (folder / "odd.json").write_text(json.dumps(report), encoding="utf-8")


def everything(folder: Path, *options: str) -> dict[str, str]:
    """Both orders in every format, by format; nothing may fail, but for a gate."""
    found = {}
    for form in ("text", "markdown", "html", "json"):
        for pair in (("base.json", "odd.json"), ("odd.json", "base.json")):
            done = call("diff", *pair, "-f", form, *options, cwd=folder)
            assert done.returncode in (0, 3, 4), done.stderr[:500]
            assert len(done.stderr) < 3000
            found[form] = max(found.get(form, ""), done.stdout, key=len)
    return found


def no_movements(report: dict[str, Any]) -> None:
    """Layers whose times add up, of no movement at all."""
    zeros = ("time_ns", "busy_ns", "wire_ns", "peer_wait_ns", "exposed_wire_ns", "exposed_wait_ns", "overlapped_ns")
    for layer in report["layers"]:
        layer.update(dict.fromkeys(zeros, 0), movement_count=0)


def share_of_nothing(report: dict[str, Any]) -> None:
    for link in report["links"]:
        link.update(efficiency=0.5, headline_gb_s=10.0, peak_gb_s=None)


def below_zero(report: dict[str, Any]) -> None:
    for place, layer in enumerate(report["layers"]):
        layer["wire_gb_s"] = {"p10": -9, "p50": -5 - place, "p90": 2, "p99": 1, "min": 7, "max": -3, "count": 100}


def largest(report: dict[str, Any]) -> None:
    for value in report["summary"].values():
        if value:
            value.update(p50=9.2e18, p10=-9.2e18, min=1e-40, count=2**63 - 1)


@pytest.mark.parametrize("change", [no_movements, share_of_nothing, below_zero, largest])
def test_numbers_that_no_run_has_are_compared_all_the_same(change: Change, tmp_path: Path) -> None:
    changed(tmp_path, change)
    gates = ("layer.peer_wait_ms.mean>1", "link.efficiency<0.1", "wire_gb_s.p50<-5%")
    found = everything(tmp_path, *(part for gate in gates for part in ("--fail-on", gate)))
    json.loads(found["json"])


def long_verdict(report: dict[str, Any]) -> None:
    report["verdict"]["text"] = report["verdict"]["detail"] = LONG


def long_notice(report: dict[str, Any]) -> None:
    report["notice"] = {"code": "synthetic", "message": LONG}


def long_link(report: dict[str, Any]) -> None:
    for link in report["links"]:
        link["transport"] = link["headline_basis"] = LONG


def long_warning(report: dict[str, Any]) -> None:
    report["warnings"] = [{"code": "odd", "message": LONG, "count": 1}]


def long_reason(report: dict[str, Any]) -> None:
    report["summary"]["wire_gb_s"] = None
    report["reasons"].append({"path": "/summary/wire_gb_s", "code": "x", "message": LONG, "fix": LONG})


def many_warnings(report: dict[str, Any]) -> None:
    report["warnings"] = [{"code": f"c{place}", "message": "odd", "count": 1} for place in range(20_000)]


@pytest.mark.parametrize(
    "change", [long_verdict, long_notice, long_link, long_warning, long_reason, many_warnings]
)  # fmt: skip
def test_no_text_of_a_report_fills_a_page(change: Change, tmp_path: Path) -> None:
    changed(tmp_path, change)
    found = everything(tmp_path, "--fail-on", "wire_gb_s.p50<-5%", "--fail-on", "regressed")
    assert len(found["html"].encode()) < HTML_BYTES
    assert len(found["text"].encode()) < 30_000
    assert len(found["markdown"].encode()) <= 60_000


@pytest.mark.parametrize(
    "gate",
    ["wire_gb_s.p50<-5" + " " * 100_000 + "!", "wire_gb_s.p50<" + "9" * 400, "wire_gb_s.p50<-\u0665%", "x" * 100_000],
    ids=["blanks", "infinite", "digits of another script", "a name"],
)
def test_a_gate_that_is_none_is_refused_at_once(gate: str, tmp_path: Path) -> None:
    changed(tmp_path, lambda _: None)
    begun = time.perf_counter()
    done = call("diff", "base.json", "odd.json", "--fail-on", gate, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr) < 700
    assert time.perf_counter() - begun < SECONDS


def test_ten_thousand_gates_are_answered(tmp_path: Path) -> None:
    changed(tmp_path, lambda _: None)
    gates = [f"wire_gb_s.p50<{place}" for place in range(5_000)] + ["layer.wire_gb_s.p50<-5%"] * 5_000
    (tmp_path / "nsysparse.toml").write_text(f"[diff]\nfail_on = {json.dumps(gates)}\n", encoding="utf-8")
    begun = time.perf_counter()
    done = call("diff", "base.json", "odd.json", "-f", "json", cwd=tmp_path)
    assert done.returncode == 3
    assert len(json.loads(done.stdout)["gates"]) == len(gates)
    assert time.perf_counter() - begun < SECONDS


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("k" * 500_000 + " = 1", "there is no such key"),
        ("tp = " + "9" * 5000, "it has a number of thousands of digits."),
    ],
    ids=["a long key", "a long number"],
)
def test_what_a_config_file_says_is_quoted_in_part(text: str, said: str, tmp_path: Path) -> None:
    changed(tmp_path, lambda _: None)
    (tmp_path / "nsysparse.toml").write_text(text, encoding="utf-8")
    done = call("diff", "base.json", "odd.json", cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr) < 700


@pytest.mark.parametrize("target", ["nowhere.toml", "nsysparse.toml"])
def test_a_config_file_that_leads_nowhere_is_no_reason_to_pass(target: str, tmp_path: Path) -> None:
    """Its gates would be left out, and the job would be green."""
    changed(tmp_path, lambda _: None)
    (tmp_path / "nsysparse.toml").symlink_to(target)
    done = call("diff", "base.json", "odd.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "nsysparse.toml: " in done.stderr
    assert call("diff", "base.json", "odd.json", "--no-config", cwd=tmp_path).returncode == 0


def test_an_output_without_a_name_is_refused(tmp_path: Path) -> None:
    changed(tmp_path, lambda _: None)
    done = call("diff", "base.json", "odd.json", "-o", "", cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "nsysparse: -o names no file.")
