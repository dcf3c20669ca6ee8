"""The table of a review: where the time goes in at most ten rows, each from what is known."""

from dataclasses import replace

import factories
import pytest

from nsysparse.analysis import Analysis, Distribution, Finding
from nsysparse.document import Block, Document, Heading, Paragraph, Table
from nsysparse.sections import build, build_review, review

MS = 1_000_000
PART = "\u2013 "


def at(p50: float) -> Distribution:
    return Distribution(3, p50, p50, p50, p50, p50, p50)


def way(**changes: object) -> Analysis:
    """A run of which all segments are known, to two different doubts."""
    whole = factories.rich(requests=3, layers=2)
    summary = {
        "kv_gap_ms": at(20.0),
        "handoff_ms": at(0.5),
        "transfer_span_ms": at(15.0),
        "ready_to_decode_ms": at(4.5),
        "queue_ms": at(0.0),
        "prefill_ms": at(40.0),
        "first_decode_ms": at(8.0),
        "path_ms": at(68.5),
    }
    return replace(whole, summary=summary, **changes)


def table(blocks: list[Block]) -> Table:
    (found,) = [block for block in blocks if isinstance(block, Table)]
    return found


def rows(analysis: Analysis) -> dict[str, tuple[str, float | None, str]]:
    """Label → value, length of its bar, remark."""
    read = {}
    for label, value, drawn in table(review.build(analysis)).rows:
        length = None if drawn.meter is None else (drawn.meter.value or 0) / drawn.meter.end
        read[label.text] = (value.text, length, drawn.text)
    return read


def test_segments_share_an_axis_and_are_no_finer_than_clocks() -> None:
    found = rows(way())
    # The KV gap rests on two clocks (2.1 ms in the factory), prefill on one.
    assert found["KV gap"] == ("20 ± 2 ms", 0.5, "")
    assert found[f"{PART}hand-off"] == ("0.500 ms", 0.0125, "")
    assert found[f"{PART}transfer"] == ("15.0 ms", 0.375, "")
    assert found["Prefill"] == ("40.0 ms", 1.0, "")
    assert found["Queue"] == ("0 ms", 0.0, "")
    parts = [f"{PART}{part}" for part in ("hand-off", "transfer", "ready, not started")]
    assert list(found)[:7] == ["KV gap", *parts, "Queue", "Prefill", "First decode step"]


def test_a_transfer_is_split_only_where_that_is_known_of_every_request() -> None:
    whole = way()
    split = {**whole.summary, "span_wire_ms": at(9.0), "span_peer_wait_ms": at(5.0)}
    found = rows(replace(whole, summary=split))
    assert found[f"{PART}transfer: on the wire"] == ("9.00 ms", 0.225, "")
    assert found[f"{PART}transfer: waiting for the peer"] == ("5.00 ms", 0.125, "")
    assert len(found) == 10
    assert not {f"{PART}transfer", "Transfers: on the wire"} & set(found)
    fewer = {**split, "span_wire_ms": replace(at(9.0), count=2)}
    assert list(rows(replace(whole, summary=fewer))) == list(rows(whole))


def test_a_full_table_has_ten_rows() -> None:
    assert len(rows(way())) == review.MOST_ROWS == 10


def test_the_rate_is_of_the_link_with_most_bytes_against_both_references() -> None:
    links = (factories.link(0, bytes=100, headline_gb_s=10.0), factories.link(1, bytes=200, headline_gb_s=25.0))
    found = rows(way(links=links))
    # Line rate 50, ceiling 47.4.
    assert found["Wire rate of the link with most bytes"] == (
        "25.0 GB/s", 0.5, "of 50 GB/s line rate, ceiling 47.4",
    )  # fmt: skip


def test_a_lower_bound_without_reference_has_a_sign_and_no_bar() -> None:
    found = rows(way(links=(factories.bound_link(),)))
    assert found["Rate over whole kernels"] == ("≥ 18.8 GB/s", None, "no line rate to compare with")


def test_a_rate_above_the_link_is_not_shown_as_a_record() -> None:
    found = rows(way(links=(factories.link(headline_gb_s=100.0),)))
    value, length, remark = found["Wire rate"]
    assert (value, length) == ("100.0 GB/s", 2.0)
    assert "bytes, pairing or link are wrong" in remark


def test_links_whose_ends_are_not_known_have_no_rate_row() -> None:
    assert not [label for label in rows(way(links=(factories.link(dst="unknown"),))) if "rate" in label]


def test_decode_idle_is_of_all_devices_of_which_it_is_known() -> None:
    devices = (
        factories.decode_device(active_ns=100 * MS, idle_while_pending_ns=10 * MS, uncertainty_ns=None),
        factories.decode_device(active_ns=300 * MS, idle_while_pending_ns=50 * MS, uncertainty_ns=None),
        factories.decode_device(active_ns=900 * MS, idle_while_pending_ns=None),
    )
    assert rows(way(decode=devices))["Decode idle for KV"] == ("15.0 %", 0.15, "of decode GPU time")
    doubted = (replace(devices[0], uncertainty_ns=2 * MS),)
    assert rows(way(decode=doubted))["Decode idle for KV"][0] == "10 ± 2 %"
    assert "Decode idle for KV" not in rows(way(decode=devices[2:]))


def test_without_a_way_the_transfer_time_is_divided_and_unknown_parts_are_named() -> None:
    small = factories.small()
    # 400 µs in all, 300 on the wire, 100 waiting.
    assert rows(small) == {
        "Transfer time": ("400.0 µs", 1.0, "a sum: overlapping transfers count each"),
        f"{PART}on the wire": ("300.0 µs", 0.75, ""),
        f"{PART}waiting for the peer": ("100.0 µs", 0.25, ""),
        "Wire rate": ("40.0 GB/s", 0.8, "of 50 GB/s line rate, ceiling 47.4"),
    }
    half = replace(small, totals=replace(small.totals, wire_ns=100_000, wire_known_share=0.5))
    assert rows(half)[f"{PART}on the wire"] == ("100.0 µs", 0.25, "50.0 % not told apart")


@pytest.mark.parametrize("name", ["unknown"])
def test_where_nothing_is_known_there_is_no_empty_table(name: str) -> None:
    assert review.build(getattr(factories, name)()) == []


@pytest.mark.parametrize("name", ["rich", "small", "sizeless"])
def test_no_cell_of_a_row_is_empty_or_unknown(name: str) -> None:
    for label, value, *_ in table(review.build(getattr(factories, name)())).rows:
        assert label.text
        assert value.text
        assert "unknown" not in value.text


def test_two_findings_at_most_and_none_without_a_cost() -> None:
    def finding(title: str, cost: int | None) -> Finding:
        return Finding("x", "wire", "low", title, "e", cost, "a")

    found = (finding("A: 6.30 ms lost", 6_300_000), finding("B", None), finding("C", 2_000_000), finding("D", 1))
    said = [block.text for block in review.build(way(findings=found)) if isinstance(block, Paragraph)]
    assert said[-1] == "Worth most: A: 6.30 ms lost · C (2.00 ms)"
    assert not [text for text in (each.text for each in review.build(way(findings=(found[1],)))
                                  if isinstance(each, Paragraph)) if "Worth" in text]  # fmt: skip


def test_the_sections_below_are_those_of_the_report() -> None:
    whole = factories.rich(requests=3, layers=2)
    shown, all_of_it = build_review(whole), build(whole)

    def sections(document: Document) -> list[Block]:
        first = next(at for at, block in enumerate(document.blocks) if isinstance(block, Heading))
        return list(document.blocks[first:])

    assert sections(shown) == sections(all_of_it)
    assert (shown.title, shown.source, shown.generator) == (all_of_it.title, all_of_it.source, all_of_it.generator)
