"""A recording whose program counted what it moved, on both sides: the analysis finds exactly that, and who said it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from recorded_answers import assert_finds

RECORDED = "real/nsys22-annotated.sqlite"


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


def test_the_recording_tells_nothing_of_its_machine(sample: Callable[[str], Path]) -> None:
    content = sample(RECORDED).read_bytes()
    for word in (b"/root", b"/home", b"/work", b"/tmp/tmp", b"PATH=", b"LANG=", b"HOME=", b"TOKEN", b"SECRET"):
        assert word not in content
