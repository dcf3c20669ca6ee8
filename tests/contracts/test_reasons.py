"""Every null of a report has a reason, and every reason explains a null."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nsysparse.analysis import Analysis
from nsysparse.api import Options, analyse
from nsysparse.metrics.reasons import FREE, RULES, null_paths
from nsysparse.testing import TraceBuilder

EVERYTHING = Options(link="ib-ndr", model="llama-3-8b", layers=32)
SAMPLES = (
    "synthetic/pd-oneprofile.sqlite",
    "synthetic/pd-grouped.sqlite",
    "real/hybrid-nsys22-nccl2.18.3-threads.sqlite",
    "real/nsys22-nccl2.23.4-groups.sqlite",
    "real/nsys23-nccl2.27.5-domainclash.sqlite",
)


def check(analysis: Analysis) -> None:
    nulls = set(null_paths(replace(analysis, reasons=())))
    told = [reason.path for reason in analysis.reasons]
    assert nulls - set(told) - FREE == set()
    assert set(told) - nulls == set()
    assert len(told) == len(set(told))
    assert all(reason.message for reason in analysis.reasons)
    given = [name for name, setting in analysis.settings.items() if setting.value is not None]
    options = {"link": "--link", "peak_gb_s": "--peak", "model": "--model", "layers": "--layers"}
    for reason in analysis.reasons:
        assert not [name for name in given if name in options and options[name] in reason.fix], reason


@pytest.mark.parametrize("options", [None, EVERYTHING, Options(peak_gb_s=40.0)], ids=["bare", "everything", "peak"])
@pytest.mark.parametrize("path", SAMPLES)
def test_samples(path: str, options: Options | None, sample: Callable[[str], Path]) -> None:
    check(analyse([sample(path)], options))


@pytest.mark.parametrize("schema", ["2021", "3.0", "3.27"])
def test_an_empty_trace(schema: str, tmp_path: Path) -> None:
    builder = TraceBuilder(schema=schema, gpus={0: "x"}, lazy=False)
    builder.process(pid=1).thread(tid=1).push_pop("r", 1, 2)
    check(analyse([builder.write(tmp_path / "t.sqlite")]))


@pytest.mark.real
def test_real_traces(shared_traces: Callable[[str], list[Path]]) -> None:
    from nsysparse.errors import NotAnExport

    for path in shared_traces("real_traces"):
        try:
            check(analyse([path]))
        except NotAnExport:
            continue


def test_no_rule_stands_behind_one_that_always_applies() -> None:
    final: set[str] = set()
    for rule in RULES:
        assert rule.path not in final, rule
        if not rule.unless and not rule.beside and not rule.transport:
            final.add(rule.path)
