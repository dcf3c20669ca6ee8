"""The text summary: the verdict first, columns that line up within 100 characters, plain unless colour is asked for."""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import factories
import pytest

from nsysparse.analysis import Analysis
from nsysparse.document import (
    Abstention,
    Bar,
    BarChart,
    Cell,
    Column,
    ColumnChart,
    Document,
    Heading,
    Paragraph,
    Series,
    Table,
)
from nsysparse.render import to_text
from nsysparse.render.marks import MOST_LEVELS, bar, levels
from nsysparse.render.text_table import padded, width
from nsysparse.sections import build, build_summary

ANALYSES: dict[str, Callable[[], Analysis]] = {
    "rich": factories.rich,
    "small": factories.small,
    "sizeless": factories.sizeless,
    "unknown": factories.unknown,
}


def text_of(*blocks: object) -> str:
    return to_text.render(Document("t", "s", "g", list(blocks)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ANALYSES)
def test_first_line_is_the_verdict(name: str) -> None:
    whole = ANALYSES[name]()
    assert to_text.render(build(whole)).splitlines()[0] == whole.verdict.text


@pytest.mark.parametrize("name", ANALYSES)
def test_lines_fit_and_have_no_blanks_at_their_end(name: str) -> None:
    for line in to_text.render(build(ANALYSES[name]())).splitlines():
        assert width(line) <= 100, line
        assert line == line.rstrip()


def test_numbers_do_not_break_from_their_units_and_blanks_stay_plain() -> None:
    for more in range(30):
        text = text_of(Paragraph(f"{'x' * (60 + more)} y y y 87.9 % of it and 3.82 ms or ≥ 5 GB/s at most"))
        assert not re.search(r"(\d|≥)\n", text)
        assert "87.9 %" in text
        assert "≥ 5 GB/s" in text
        assert not re.search(r"[\u00a0\x00]", text)


def test_the_rows_left_out_are_counted_in_words() -> None:
    table = Table("t", [Column("c")], [[Cell("a")], [Cell("b")], [Cell("c")]], "a")
    document = Document("t", "s", "g", [table])
    assert "1 more row." in to_text.render(document, most_rows=2)
    assert "2 more rows." in to_text.render(document, most_rows=1)


def test_advice_in_words_wraps_and_a_command_does_not() -> None:
    text = text_of(Abstention("s", "Why.", "nsys profile " + "-a " * 60), Abstention("s", "Why.", "Record it. " * 20))
    assert max(map(len, text.splitlines())) > 150
    assert sum("Record it." in line for line in text.splitlines()) > 1


@pytest.mark.parametrize("columns", [80, 90])
@pytest.mark.parametrize("name", ANALYSES)
def test_lines_fit_a_narrow_terminal(name: str, columns: int) -> None:
    document = build(ANALYSES[name]())
    first, *rest = to_text.render(document, width=columns).splitlines()
    assert first == document.blocks[0].text  # type: ignore[union-attr]  # the verdict is one line however long
    assert [line for line in rest if width(line) > columns and "nsys profile" not in line] == []


def test_no_terminal_is_too_small_or_too_wide() -> None:
    document = build(factories.rich())
    assert to_text.render(document, width=5) == to_text.render(document, width=80)
    assert to_text.render(document, width=500) == to_text.render(document)


def test_titles_wrap_and_then_names_are_cut_where_numbers_would_not_fit() -> None:
    names = ["a" * 36, "b" * 36]
    numbers = [Column(f"Wide title {place}", "right", unit="ms") for place in range(7)]
    rows = [[Cell(name, kind="name"), *[Cell("1.234") for _ in numbers]] for name in names]
    lines = to_text.render(Document("t", "s", "g", [Table("t", [Column("Name"), *numbers], rows, "t")]), width=80)
    assert all(width(line) <= 80 for line in lines.splitlines())
    assert lines.count("1.234") == 14
    # A title takes a line per word, so only a part of each name has to go.
    assert re.search(r"^ +(Wide *){7}$", lines, re.MULTILINE)
    assert re.search(r"a{10,}…a+  +1.234", lines)


def test_verdicts_of_bars_go_below_where_there_is_no_room_beside() -> None:
    bar_ = Bar("a → b", 30.0, "≥ 30 GB/s", 50.0, verdict="≥ 60 % of line rate · 63 % of ceiling and more words")
    wide, narrow = (
        to_text.render(Document("t", "s", "g", [BarChart("c", "GB/s", [bar_], "a")]), width=at) for at in (100, 80)
    )
    assert len(wide.splitlines()) == 1
    assert narrow.splitlines()[1].strip() == bar_.verdict


def test_columns_line_up() -> None:
    lines = to_text.render(build(factories.rich())).splitlines()
    start = next(place for place, line in enumerate(lines) if "Tokens  KV gap" in line)
    rows = lines[start : start + 13]
    (end,) = {match.end() for match in re.finditer(r"Tokens", rows[0])}
    assert all(row[end - 1].isdigit() and row[end] == " " for row in rows[1:])


def test_long_tables_say_how_many_rows_are_not_shown() -> None:
    text = to_text.render(build(factories.rich()))
    assert "12 more rows" in text  # 24 requests
    assert "more rows" not in to_text.render(build(factories.rich()), most_rows=1000)


def test_what_the_summary_leaves_out_is_named() -> None:
    last = " ".join(to_text.render(build(factories.rich())).splitlines()[-4:])
    assert "Rates of each message size" in last
    assert "-f html" in last


def test_minor_columns_go_first_and_are_named() -> None:
    columns = [Column("a"), Column("b", minor=True), Column("c")]
    text = text_of(Table("t", columns, [[Cell("x" * 40), Cell("y" * 40), Cell("z" * 40)]], "t"))
    assert "y" * 40 not in text
    assert "No room for b." in text
    assert f"{'x' * 40}  {'z' * 40}" in text


def test_words_wrap_where_they_do_not_fit_and_nothing_is_lost() -> None:
    words = " ".join(f"w{place}" for place in range(60))
    text = text_of(Table("t", [Column("a"), Column("b")], [[Cell("k", kind="name"), Cell(words)]], "t"))
    assert all(width(line) <= 100 for line in text.splitlines())
    assert [word for word in text.split() if word.startswith("w")] == words.split()


def test_texts_stand_where_names_are_empty_or_leave_no_room() -> None:
    whole = factories.rich(requests=3, layers=2)
    links = tuple(replace(link, src="", dst="", link_key="", transport="") for link in whole.links)
    assert to_text.render(build_summary(replace(whole, links=links))).startswith("KV transfer is 31 %")
    rates = tuple(replace(link, headline_gb_s=1e-39) for link in whole.links)
    assert to_text.render(build(replace(whole, links=rates))).startswith("KV transfer is 31 %")


def test_commands_stay_whole_so_that_they_can_be_copied() -> None:
    fix = "nsys profile " + " ".join(f"--option-{place}=1" for place in range(12))
    assert fix in text_of(Heading("H", "h"), Abstention("s", "why", fix))


def test_headings_without_anything_below_are_not_shown() -> None:
    assert text_of(Heading("Empty", "e"), Paragraph("explains", "muted"), Heading("Full", "f"), Paragraph("said")) == (
        "\nFULL\n  said\n"
    )


def test_plain_text_has_no_escapes_and_colour_has() -> None:
    document = build(factories.rich())
    plain, styled = to_text.render(document), to_text.render(document, colour=True)
    assert "\x1b" not in plain
    assert "\x1b[1;31m" in styled
    bare = re.sub(r"\x1b\[[0-9;]*m", "", styled)
    assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()


def test_colour_does_not_let_names_style_the_terminal() -> None:
    styled = to_text.render(build(factories.hostile("[bold]x[/bold] \x1b]0;t\x07")), colour=True)
    assert "[bold]x[/bold] ⟨1B⟩]0;t⟨7⟩" in styled
    assert "\x1b]" not in styled


def test_the_summary_loads_no_heavy_module() -> None:
    code = "import sys; from nsysparse.render import FORMATS; FORMATS['text'].render; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "nsysparse.render.to_text" in loaded
    assert not {"plotly", "numpy", "jinja2", "rich", "polars", "nsysparse.sections"} & set(loaded)


def test_bars_are_to_scale() -> None:
    assert bar(50.0, 100.0, 10) == "█████     "
    assert bar(5.0, 100.0, 10) == "▌         "
    assert bar(0.0, 100.0, 10) == "▏         "
    assert bar(None, 100.0, 10).rstrip() == "?"
    text = text_of(BarChart("c", "GB/s", [Bar("a → b", 30.0, "30 GB/s", 50.0)], "a"))
    assert "█" * 11 + " " in text  # 30 of 60 on 22 characters


def test_levels_are_to_scale_and_merge_when_there_are_too_many() -> None:
    assert levels([0.0, 4.0, 8.0]) == "▁▅█"
    assert levels([]) == ""
    merged = levels([0.0] * 199 + [1.0])
    assert len(merged) <= MOST_LEVELS
    assert merged.endswith("█")
    chart = ColumnChart(
        "c", "layer", "ms", ["3", "4"], [Series("w", "wire", [1.0, 2.0]), Series("p", "wait", [0, 2.0])], "a"
    )
    assert "layer 3 to 4, highest 4.00 ms" in text_of(chart)


def test_wide_and_combining_characters_count_by_cells() -> None:
    assert width("漢字") == 4
    assert width("e\u0301") == 1
    assert padded("漢", 4) == "漢  "
    assert padded("漢", 4, "right") == "  漢"
