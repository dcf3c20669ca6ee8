"""Recordings whose programs counted what they moved: the analysis finds exactly that, and who said it."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from recorded_answers import assert_finds

from nsysparse.api import analyse, check_preset

RECORDED = "real/nsys22-annotated.sqlite"
HOOKS = "real/nsys22-hooks.sqlite"


def test_the_recording_is_found_as_its_program_counted(sample: Callable[[str], Path], manifest: dict[str, Any]) -> None:
    assert_finds(sample(RECORDED), manifest[RECORDED]["answers"])


def test_its_ranges_are_plain_text_in_a_domain_of_their_own(sample: Callable[[str], Path]) -> None:
    with closing(sqlite3.connect(f"{sample(RECORDED).as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        rows = connection.execute("SELECT text, textId, domainId, eventType, endGlobalTid, globalTid FROM NVTX_EVENTS")
        texts = rows.fetchall()
    domains = [row for row in texts if row[3] == 75]
    assert {row[0] for row in domains} == {"kvx"}
    ranges = [row for row in texts if row[3] != 75]
    assert len(ranges) > 28
    assert all(text is not None and text_id is None for text, text_id, *_ in ranges)
    assert {domain for _, _, domain, *_ in ranges} == {row[2] for row in domains}
    # Requests, and transfers posted whole, end on another thread than they began on.
    assert len([row for row in ranges if row[3] == 60 and row[4] not in (None, row[5])]) >= 4


def test_modules_tell_the_layer_of_what_their_thread_sends(
    sample: Callable[[str], Path], manifest: dict[str, Any]
) -> None:
    answers = manifest[HOOKS]["answers"]
    analysis = analyse([sample(HOOKS)])
    totals = analysis.totals
    assert {"movements": totals.movement_count, "bytes": totals.bytes} == answers["total"]
    assert [layer.bytes for layer in analysis.layers] == answers["layers"]["bytes"]
    assert {how for layer in analysis.layers for how in layer.provenance} == {"nested"}
    assert {row.request_id: {"bytes": row.bytes} for row in analysis.requests} == answers["requests"]
    assert analysis.settings["presets"].value == ["own", "vllm", "sglang", "generic"]
    assert analysis.warnings == ()


def test_modules_tell_nothing_of_what_a_worker_sends(sample: Callable[[str], Path], manifest: dict[str, Any]) -> None:
    (whole,) = (rest for field, rest in analyse([sample(HOOKS)]).unattributed.items() if field == "layer")
    assert whole.movement_count == manifest[HOOKS]["answers"]["layer_unattributed"]


def test_every_text_of_the_modules_is_known_once(sample: Callable[[str], Path]) -> None:
    """A forward pass runs 20 modules, 18 of them in layers; the first engine makes two and tells each module twice."""
    standing: Counter[str] = Counter()
    for preset in ("vllm", "sglang"):
        (looked,) = check_preset(preset, [sample(HOOKS)]).traces
        assert looked.unknown == ()
        standing |= Counter({use.rule: use.range_count - sum(use.overruled_by.values()) for use in looked.rules})
    assert standing == {
        "vllm/step-prefill": 2, "vllm/hooks-outputs": 40, "vllm/hooks-layer": 36, "vllm/hooks-module": 4,
        "sglang/scheduler": 2, "sglang/hooks-layer": 36, "sglang/hooks-module": 4,
    }  # fmt: skip


@pytest.mark.parametrize("path", [RECORDED, HOOKS])
def test_a_recording_tells_nothing_of_its_machine(path: str, sample: Callable[[str], Path]) -> None:
    content = sample(path).read_bytes()
    for word in (b"/root", b"/home", b"/work", b"/tmp/tmp", b"PATH=", b"LANG=", b"HOME=", b"TOKEN", b"SECRET"):
        assert word not in content
