"""One run seen by two hosts: what its plan says that the two devices did."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nsysparse.analysis import Analysis
from nsysparse.api import analyse

DRIFT_PPM = 18  # of the decode side's clock
APART_NS = 40_000  # how far the clocks of the two files may be apart, and a little


@pytest.fixture(scope="module")
def found(sample: Callable[[str], Path]) -> Analysis:
    return analyse([sample(f"synthetic/pd-two-hosts-{role}.sqlite") for role in ("prefill", "decode")])


@pytest.fixture(scope="module")
def truth(runs: dict[str, dict[str, Any]]) -> dict[str, Any]:
    answers: dict[str, Any] = runs["pd-two-hosts"]["answers"]
    return answers


def test_idle_time_by_reason(found: Analysis, truth: dict[str, Any]) -> None:
    assert found.decode is not None
    (device,), told = found.decode, truth["decode"]
    assert (device.basis, device.step_count) == ("steps", told["step_count"])
    for name in ("active_ns", "idle_ns"):
        assert getattr(device, name) == pytest.approx(told[name], rel=1.2 * DRIFT_PPM / 1e6)
    assert sum(device.by_reason.values()) == device.idle_ns
    # Every request has one boundary of each kind, and each may be off by as much.
    assert device.uncertainty_ns is not None
    for name, length in told["by_reason"].items():
        assert abs(device.by_reason[name] - length) <= APART_NS < device.uncertainty_ns, name
    assert device.uncertainty_ns < told["idle_ns"] / 10


def test_steps_that_waited(found: Analysis, truth: dict[str, Any]) -> None:
    """As many as planned; the plan's waits also hold the time before the prefill of what was waited for had ended."""
    assert found.decode is not None
    (device,), told = found.decode, truth["decode"]
    assert device.delayed_step_count == told["delayed_step_count"]
    assert device.delayed_ns is not None
    assert 0 < device.delayed_ns < told["awaited_ns"]


def test_kernels_are_as_much_slower_as_planned(found: Analysis, truth: dict[str, Any]) -> None:
    assert found.decode is not None
    assert found.decode[0].slowdown_ratio == pytest.approx(truth["decode"]["slowdown_ratio"], rel=1e-3)


def test_stalls_of_prefill_are_exact(found: Analysis, truth: dict[str, Any]) -> None:
    assert found.prefill is not None
    (device,) = found.prefill
    assert {name: getattr(device, name) for name in truth["prefill"]} == truth["prefill"]
