"""The summary on a terminal: one screen, the verdict first, columns that line up, nothing unknown that looks like 0."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import factories
import pytest

from nsysparse.analysis import Analysis, AnalysisWarning, Distribution, Reason
from nsysparse.api import Options, analyse
from nsysparse.render import to_text
from nsysparse.render.names import visible
from nsysparse.render.text_table import width
from nsysparse.sections import build_summary

SCREEN = 55
ANALYSES: dict[str, Callable[[], Analysis]] = {
    "rich": factories.rich,
    "small": factories.small,
    "sizeless": factories.sizeless,
    "unknown": factories.unknown,
    "hostile": lambda: factories.hostile("\x1b]0;t\x07| [bold]x"),
}


def lines(analysis: Analysis, columns: int = 100) -> list[str]:
    return to_text.render(build_summary(analysis), width=columns).splitlines()


def under(shown: list[str], title: str) -> list[str]:
    """The lines from a heading to the next empty one."""
    start = next(place for place, line in enumerate(shown) if line.startswith(title))
    return shown[start : shown.index("", start) if "" in shown[start:] else None]


@pytest.mark.parametrize("columns", [80, 100])
@pytest.mark.parametrize("name", ANALYSES)
def test_the_verdict_comes_first_and_the_rest_fits_one_screen(name: str, columns: int) -> None:
    analysis = ANALYSES[name]()
    first, *rest = lines(analysis, columns)
    assert first == visible(analysis.verdict.text)
    assert [line for line in rest if width(line) > columns and "nsys profile" not in line] == []
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", "".join(rest))
    if columns == 100:
        assert len(rest) < SCREEN


def test_a_sample_run_on_one_screen(sample: Callable[[str], Path]) -> None:
    analysis = analyse([sample("synthetic/pd-oneprofile.sqlite")], Options(link="ib-ndr", model="llama-3-8b"))
    shown = lines(analysis)
    assert len(shown) <= 45
    assert shown[2].startswith("KV gap: 9.14 ms in the median of 8 requests, 0 over. 256 movements (3 not proven to be")
    path = under(shown, "PATH TO THE FIRST TOKEN")
    assert path[0].split()[-6:] == ["p10,", "ms", "p50,", "ms", "p90,", "ms"]
    # Against the requests themselves: the middle of 8 sorted gaps.
    gaps = sorted(request.kv_gap_ns or 0 for request in analysis.requests)
    (row,) = [line for line in path if line.startswith("  KV gap")]
    assert row.split()[-2] == f"{(gaps[3] + gaps[4]) / 2e6:.1f}"
    waits = sorted((request.span or {})["peer_wait_ns"] or 0 for request in analysis.requests)
    (row,) = [line for line in path if "sender late" in line]
    assert row.split()[-2] == f"{(waits[3] + waits[4]) / 2e6:.1f}"


def test_columns_of_the_path_line_up_and_bars_are_to_scale() -> None:
    known = {"queue_ms": 8.0, "prefill_ms": 40.0, "kv_gap_ms": 20.0, "path_ms": 80.0}
    spreads = {name: Distribution(3, value / 2, value, value * 2) for name, value in known.items()}
    path = under(lines(replace(factories.rich(), summary=spreads, requests=())), "PATH TO THE FIRST TOKEN")
    ends = [path[0].index(mark) + len(f"{mark}, ms") for mark in ("p10", "p50", "p90")]
    rows = {line.split("  ")[1].strip(): line for line in path[1:]}
    middles = {"Queue": 8, "Prefill": 40, "KV gap": 20, "Whole way": 80}
    for name, middle in middles.items():
        assert [rows[name][:end].split()[-1] for end in ends] == [f"{middle * part:.1f}" for part in (0.5, 1, 2)]
    assert (rows["Prefill"].count("█"), rows["KV gap"].count("█"), rows["Whole way"].count("█")) == (22, 11, 0)


def test_a_segment_that_is_not_known_is_no_zero_and_few_requests_are_counted() -> None:
    spreads = {"prefill_ms": Distribution(3, 1.0, 4.0, 9.0), "handoff_ms": Distribution(2, 0.0, 0.004, 0.01)}
    path = under(lines(replace(factories.rich(), summary=spreads, requests=())), "PATH TO THE FIRST TOKEN")
    rows = {line.split("  ")[1].strip(): line for line in path[1:]}
    assert rows["KV gap"].split()[2:] == ["?", "unknown", "unknown", "unknown"]
    assert rows["Hand-off"].split()[-4:] == ["0.0", "<0.1", "<0.1", "2"]
    assert rows["Prefill"].split()[-1] == "3"
    assert not [
        name for name in rows if name.endswith(" wire")
    ]  # why there is no transfer is why there is none of its parts


def test_times_that_clocks_leave_open_are_no_finer() -> None:
    spreads = {"kv_gap_ms": Distribution(1, 21.0, 21.0, 21.0)}
    apart = factories.request("r", uncertainties={"kv_gap_ns": 4_000_000})
    path = under(lines(replace(factories.rich(), summary=spreads, requests=(apart,))), "PATH TO THE FIRST TOKEN")
    assert any(line.endswith("21 ± 4   21 ± 4   21 ± 4") for line in path)


def test_findings_are_numbered_titles_with_the_advice_of_the_first() -> None:
    analysis = factories.rich()
    found = under(lines(analysis), "FINDINGS")
    titles = [line for line in found if re.match(r" +\d\. ", line)]
    assert [line.split()[0] for line in titles] == [f"{place}." for place in range(1, len(analysis.findings) + 1)]
    told = " ".join(line.strip() for line in found)
    assert f"For 1: {analysis.findings[0].advice}" in told
    assert all(each.advice not in told for each in analysis.findings[1:])


def test_what_is_unknown_has_its_reason_once_and_a_short_way_out() -> None:
    why = (
        Reason("/totals/bytes", "not-recorded", "no size: they were dropped", "nsys export " + "--x " * 40),
        Reason("/totals/wire_ns", "not-recorded", "no size: they were dropped", "nsys export " + "--x " * 40),
        Reason("/settings/ttft/value", "needs-option", "nobody says which", "--ttft decode-emits-first"),
        Reason("/ports/*/note", "not-applicable", "nothing is odd"),
    )
    assert under(lines(replace(factories.rich(), reasons=why)), "UNKNOWN") == [
        "UNKNOWN",
        "  Sizes, wire, waiting  no size",
        "  First token           nobody says which: --ttft decode-emits-first",
    ]


def test_warnings_beyond_the_first_are_counted() -> None:
    many = tuple(AnalysisWarning(f"code-{place}", f"oddity {place}", 10 * place) for place in range(1, 8))
    assert under(lines(replace(factories.rich(), warnings=many)), "WARNINGS") == [
        "WARNINGS", "  10  oddity 1", "  20  oddity 2", "  30  oddity 3", "  40  oddity 4", "  3 more warnings.",
    ]  # fmt: skip


def test_links_say_bounds_and_what_they_are_held_against() -> None:
    shown = under(lines(factories.rich()), "LINKS")
    # factories: 12.4 GB in 310 ms is 40 of 50 GB/s, 80 %; the bound has no peak.
    assert any(re.search(r"40\.0 +50\.0 +47\.4 +80\.0 %$", line) for line in shown)
    assert any(re.search(r"≥ 18\.8 +unknown +unknown +unknown$", line) for line in shown)


def test_devices_that_idle_take_one_line() -> None:
    devices = factories.rich().decode or ()
    idle, active = sum(each.idle_ns for each in devices), sum(each.active_ns for each in devices)
    flight = sum(each.by_reason.get("transfer", 0) for each in devices)
    (line,) = [line for line in lines(factories.rich()) if line.startswith("  Decode idle")]
    assert f"{100 * idle / active:.1f} %" in line
    assert f"{100 * flight / active:.1f}" in line


def test_colour_is_of_tone_and_says_nothing_more() -> None:
    document = build_summary(factories.rich())
    styled = to_text.render(document, colour=True)
    assert "\x1b[1;31m" in styled
    assert [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", styled).splitlines()] == to_text.render(
        document
    ).splitlines()
