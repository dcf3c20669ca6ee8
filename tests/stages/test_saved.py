"""A saved report comes back as it was, and what is none, or cannot be, is refused with its place."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import factories
import pytest

from nsysparse.analysis import (
    Analysis,
    Capability,
    Cell,
    Distribution,
    LinkTheory,
    Request,
    Setting,
    Theory,
    Timeline,
    Undrawn,
    Verdict,
)
from nsysparse.errors import InputError
from nsysparse.render import to_html, to_json, to_markdown, to_text
from nsysparse.saved import file, is_saved, read_saved
from nsysparse.saved.rules import WORDS
from nsysparse.sections import build, build_review, build_summary

REPORTS = sorted((Path(__file__).parents[2] / "reports").glob("[!d]*.json"))  # of one run: those of two are diff-*
WHOLE: dict[str, Callable[[], Analysis]] = {
    "rich": factories.rich,
    "small": factories.small,
    "sizeless": factories.sizeless,
    "unknown": factories.unknown,
    "hostile": lambda: factories.hostile("</script>\x1b[31m\u202e\x00 ~0/~1"),
    "half a character": lambda: factories.hostile("a\ud800b"),
}


def saved(folder: Path, analysis: Analysis) -> Path:
    path = folder / "saved.json"
    path.write_text(to_json.render(analysis), encoding="utf-8")
    return path


def changed(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A rich report after a change to its JSON."""
    report = json.loads(to_json.render(factories.rich(requests=4, layers=3)))
    change(report)
    path = folder / "changed.json"
    path.write_text(json.dumps(report))
    return path


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_saved(path)
    assert caught.value.message.startswith(f"{path.name}: ")
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < len(path.name) + 200
    assert caught.value.hint
    return caught.value.message.removeprefix(f"{path.name}: ")


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_every_report_comes_back_to_the_byte(path: Path) -> None:
    assert is_saved(path)
    assert to_json.render(read_saved(path)).encode() == path.read_bytes()


@pytest.mark.parametrize("name", WHOLE)
def test_every_analysis_comes_back_to_the_byte(name: str, tmp_path: Path) -> None:
    path = saved(tmp_path, WHOLE[name]())
    assert to_json.render(read_saved(path)).encode() == path.read_bytes()


def test_an_analysis_comes_back_as_the_same_tree(tmp_path: Path) -> None:
    whole = replace(factories.rich(), settings={"ttft": Setting(None, "trace"), "step_ms": Setting([5, 2.5], "option")})
    assert read_saved(saved(tmp_path, whole)) == whole


def test_every_other_format_is_the_same_from_a_saved_report(tmp_path: Path) -> None:
    whole = factories.rich()
    again = read_saved(saved(tmp_path, whole))
    assert to_html.render(build(again)) == to_html.render(build(whole))
    assert to_markdown.render(build_review(again), 0) == to_markdown.render(build_review(whole), 0)
    assert to_text.render(build_summary(again)) == to_text.render(build_summary(whole))


def test_keys_in_another_order_and_keys_of_a_later_version_change_nothing(tmp_path: Path) -> None:
    whole = factories.rich(requests=4, layers=3)

    def turned(value: object) -> object:
        if isinstance(value, dict):
            return {name: turned(each) for name, each in reversed(value.items())}
        return [turned(each) for each in value] if isinstance(value, list) else value

    report: dict[str, Any] = json.loads(to_json.render(whole))
    report["later"] = {"x": [1, {"y": None}]}
    report["links"][0]["later"] = 1
    path = tmp_path / "later.json"
    path.write_text(json.dumps(turned(report)))
    assert to_json.render(read_saved(path)) == to_json.render(whole)


def test_what_a_report_of_an_earlier_version_lacks_is_unknown_or_its_default(tmp_path: Path) -> None:
    def earlier(report: dict[str, Any]) -> None:
        del report["prefill"], report["ports"], report["worst"]
        del report["verdict"]["detail"], report["verdict"]["cut_count"], report["links"][0]["bytes"]

    again = read_saved(changed(tmp_path, earlier))
    assert (again.prefill, again.ports, again.worst) == (None, None, ())
    assert (again.verdict.detail, again.verdict.cut_count, again.links[0].bytes) == ("", None, None)


def test_a_rate_without_decimals_is_a_rate_all_the_same(tmp_path: Path) -> None:
    def whole_number(report: dict[str, Any]) -> None:
        report["links"][0]["peak_gb_s"] = 50
        report["totals"]["bytes_known_share"] = 1

    again = read_saved(changed(tmp_path, whole_number))
    assert repr(again.links[0].peak_gb_s) == "50.0"
    assert repr(again.totals.bytes_known_share) == "1.0"


REFUSED: dict[str, tuple[tuple[str | int, ...], object, str]] = {
    "text for number": (("totals", "movement_count"), "7", "is a text, where a whole number is needed"),
    "fraction": (("totals", "movement_count"), 7.0, "is a number, where a whole number is needed"),
    "truth": (("totals", "movement_count"), True, "is true or false, where a whole number is needed"),
    "truth as rate": (("links", 0, "peak_gb_s"), False, "is true or false, where a number is needed"),
    "number for truth": (("links", 0, "headline_is_bound"), 1, "is a whole number, where true or false is needed"),
    "number for text": (("nsysparse",), 1, "is a whole number, where a text is needed"),
    "null": (("layers", 1, "layer"), None, "is null, where a whole number is needed"),
    "object for list": (("links",), {}, "is an object, where a list is needed"),
    "list for object": (("requests", 2), [], "is a list, where an object is needed"),
    "list for map": (("requests", 2, "provenance"), [], "is a list, where an object is needed"),
    "in a map": (("requests", 2, "provenance", "exact"), "x", "is a text, where a whole number is needed"),
    "65 bits": (("layers", 0, "time_ns"), 2**63, "is no number of 64 bits"),
    "below 64 bits": (("layers", 0, "time_ns"), -(2**63) - 1, "is no number of 64 bits"),
    "65 bits as rate": (("links", 0, "fitted_gb_s"), 2**63, "is far, below 0"),
    "huge float": (("clocks", 0, "drift_ppm"), 1e300, "is no number of 64 bits"),
    "setting of 65 bits": (("settings", "threshold", "value"), 2**64, "is no number of 64 bits"),
    "negative count": (("layers", 0, "movement_count"), -1, "is -1, below 0"),
    "negative bytes": (("layers", 0, "bytes"), -5, "is -5, below 0"),
    "threshold": (("verdict", "threshold"), 20, "is 20, out of 0 to 1"),
    "share": (("requests", 0, "kv_gap_share"), -0.25, "is -0.25, out of 0 to 1"),
    "state": (("verdict", "state"), "fine", "is 'fine', not one of ok, over, unresolved, unknown"),
    "verdict": (("requests", 0, "verdict"), "", "is '', not one of ok, over, unresolved, unknown"),
    "kind of mark": (("timeline", "kinds", 0), "x" * 99, f"is '{'x' * 40}…', not one of"),
    "no mark": (("timeline", "levels", 0, "count", 0), 0, "is 0, out of 1 to 4.29497e+09"),
    "lane": (("timeline", "levels", 0, "lane", 0), 99, "is 99, but there are "),
    "negative index": (("timeline", "levels", 0, "kind", 0), -1, "is -1, but there are "),
    "request": (("timeline", "levels", 0, "request", 0), 4, "is 4, but there are 4 requests"),
    "edges": (("lengths", "edges", 0), 10**9, "do not rise from zero or more"),
    "place of a reason": (("reasons", 0, "path"), "/5", "is no place in a report"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused_with_its_place(what: str, tmp_path: Path) -> None:
    place, value, says = REFUSED[what]

    def put(report: Any) -> None:
        for step in place[:-1]:
            report = report[step]
        report[place[-1]] = value

    where = "".join(f"/{step}" for step in place)
    if what == "edges":
        where = where.rpartition("/")[0]
    assert refused(changed(tmp_path, put)).startswith(f"{where} {says}")


def test_what_must_not_be_missing_is_named(tmp_path: Path) -> None:
    assert refused(changed(tmp_path, lambda report: report.pop("totals"))) == "/totals is missing."
    assert refused(changed(tmp_path, lambda report: report["traces"][1].pop("file"))) == "/traces/1/file is missing."
    assert refused(changed(tmp_path, lambda report: report["settings"].pop("ttft"))) == "/settings/ttft is missing."


def test_columns_of_a_timeline_are_equally_long(tmp_path: Path) -> None:
    def cut(report: dict[str, Any]) -> None:
        report["timeline"]["levels"][0]["busy_ns"].pop()

    assert refused(changed(tmp_path, cut)) == "/timeline/levels/0 has columns of unequal length."


def test_settings_that_sections_take_apart_have_their_form(tmp_path: Path) -> None:
    for value in ([5], [5, "x"], [5, True], "5-20", 5, {"low": 5}):
        whole = replace(factories.small(), settings={"ttft": Setting(None, "x"), "step_ms": Setting(value, "option")})
        assert refused(saved(tmp_path, whole)) == "/settings/step_ms/value is neither null nor two numbers."
    theory = Theory(1, 1, (LinkTheory("a->b", 1, 1, {"low": 5}),))
    whole = replace(factories.small(), theory=theory)
    assert refused(saved(tmp_path, whole)) == "/theory/by_link/0/critical_tokens has no low, or no high."


def test_a_key_is_quoted_as_a_json_pointer_and_cut(tmp_path: Path) -> None:
    def named(report: dict[str, Any]) -> None:
        report["summary"] = {"a/b~\n\ud800" + "x" * 500: 1}

    told = refused(changed(tmp_path, named))
    assert told.startswith(f"/summary/a~1b~0\\n\\ud800{'x' * 34}… is a whole number, where an object is needed")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no JSON: Expecting value in line 1, column 1."),
        ("{", "no JSON: Expecting property name"),
        ("[]", "no report of nsysparse: the file holds no JSON object."),
        ("null", "no report of nsysparse: the file holds no JSON object."),
        ("{}", "no report of nsysparse: it names no format_version."),
        ('{"format_version": 2}', "this nsysparse reads reports of format_version 1; the file's is 2."),
        ('{"format_version": true}', "this nsysparse reads reports of format_version 1; the file's is none that"),
        ('{"format_version": 1}', "/nsysparse is missing."),
        ('{"format_version": 1, "base": [], "candidate": {}}', "this is a comparison of two runs"),
        ('{"a": 1, "a": 1}', "holds the key 'a' twice."),
        ('{"a": [0, {"c": 0, "b": 1, "b": 2}]}', "/a/1 holds the key 'b' twice."),
        ('{"later": {"x": {"b": 1, "b": 2}}, "format_version": 1}', "/later/x holds the key 'b' twice."),
        ('{"a": [0, NaN]}', "/a/1 is NaN, which is no number of JSON."),
        ('{"a": {"b": -Infinity}}', "/a/b is -Infinity, which is no number of JSON."),
        ('{"a": 1' + "0" * 5000 + "}", "no report of nsysparse: it holds a number of thousands of digits."),
        ("[" * 200_000, "no report of nsysparse: its lists and objects are nested too deep."),
        ('{"a":' * 200_000, "no report of nsysparse: its lists and objects are nested too deep."),
        ('{"a": "\0"}', "no JSON: Invalid control character"),
    ],
    ids=range(18),
)
def test_what_is_no_report_is_told_what_it_is(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    assert refused(path).startswith(says)


def test_a_place_that_is_far_down_is_told_as_far_as_a_message_goes(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"a": ' + "[" * 100 + "NaN" + "]" * 100 + "}")
    assert refused(path) == f"/a{'/0' * 7} is NaN, which is no number of JSON."


def test_infinity_written_as_a_number_is_refused_where_it_counts(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(to_json.render(factories.small()).replace('"duration_ns": ', '"x": ').replace("0.2", "1e999"))
    assert refused(path).startswith("/verdict/threshold is far, out of 0 to 1")


def test_a_setting_is_no_deep_tree(tmp_path: Path) -> None:
    def deep(report: dict[str, Any]) -> None:
        report["settings"]["threshold"]["value"] = json.loads("[" * 50 + "]" * 50)

    assert refused(changed(tmp_path, deep)) == "/settings/threshold/value is nested too deep."


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b'{"a": "\xff"}')
    assert refused(path) == "no JSON: byte 7 is not UTF-8."
    path.write_bytes(b"\xff\xfe{\0}\0")
    assert refused(path) == "no JSON: byte 0 is not UTF-8."


def test_a_mark_of_utf8_before_the_text_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(to_json.render(factories.small()), encoding="utf-8-sig")
    assert is_saved(path)
    assert read_saved(path) == read_saved(saved(tmp_path, factories.small()))


def test_files_that_are_none_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused(tmp_path / "none.json") == "no such file."
    assert refused(tmp_path) == "not a regular file."
    os.mkfifo(tmp_path / "pipe.json")
    assert refused(tmp_path / "pipe.json") == "not a regular file."
    assert refused(tmp_path / ("n" * 300)).startswith("cannot be read (")
    assert refused(Path("a\0b")).startswith(("cannot be read (", "no such file"))
    path = saved(tmp_path, factories.small())
    monkeypatch.setattr(file, "MAX_BYTES", 100)
    assert refused(path).startswith("larger than 0 MiB")


def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, factories.small())

    def denied(*_arguments: object) -> None:  # what root, who may run this, is never told
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    assert refused(path) == "cannot be read (Permission denied)."
    assert not is_saved(path)


def test_the_limit_is_kept_by_the_file_that_has_it_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, factories.small())
    monkeypatch.setattr(file, "MAX_BYTES", path.stat().st_size)
    assert read_saved(path).requests


@pytest.mark.parametrize(
    ("data", "is_one"),
    [
        (b'{"format_version": 1}', True),
        (b" \r\n\t{", True),
        (b"\xef\xbb\xbf{", True),
        (b"SQLite format 3\0{", False),
        (b"[{}]", False),
        (b"", False),
        (b" " * 5000 + b"{", False),
    ],
)
def test_a_saved_report_is_known_by_its_first_bytes(data: bytes, tmp_path: Path, *, is_one: bool) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    assert is_saved(path) is is_one


def test_only_files_can_be_saved_reports(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "loop").symlink_to("loop")
    names = ("pipe.json", "loop", "none", "n" * 300, "")
    assert not any(is_saved(tmp_path / name) for name in names)
    assert not is_saved(Path("a\0b"))


def test_cells_of_a_request_that_is_not_listed_are_kept_and_harm_nobody(tmp_path: Path) -> None:
    whole = factories.rich(requests=4, layers=3)
    whole = replace(whole, layer_request=(*whole.layer_request, Cell(99, "nobody", None, 5)), worst=("nobody",))
    again = read_saved(saved(tmp_path, whole))
    assert again.layer_request[-1] == Cell(99, "nobody", None, 5)
    to_html.render(build(again))


def test_words_are_those_that_the_contract_names() -> None:
    schema = json.loads((Path(to_json.__file__).parent / "assets" / "report.schema.json").read_text())
    for (kind, field), words in WORDS.items():
        shape = schema["$defs"][kind.__name__]["properties"][field]
        assert kind is Timeline or shape["enum"] == list(words)


@pytest.mark.parametrize(("kind", "field"), WORDS, ids=lambda each: each if isinstance(each, str) else each.__name__)
def test_every_word_that_is_let_in_can_be_drawn(kind: type, field: str) -> None:
    whole = factories.rich(requests=4, layers=3)
    told = factories.timeline()
    for word in WORDS[kind, field]:
        if kind is Verdict:
            shown = replace(whole, verdict=replace(whole.verdict, state=word))
        elif kind is Request:
            shown = replace(whole, requests=tuple(replace(each, verdict=word) for each in whole.requests))
        elif kind is Capability:
            shown = replace(whole, traces=(factories.trace(capabilities={"x": Capability(word)}),))
        elif kind is Timeline:
            shown = replace(whole, timeline=replace(told, kinds=(word,) * len(told.kinds)))
        else:
            shown = replace(whole, timeline=replace(told, undrawn=(Undrawn("x", word, 1),)))
        to_html.render(build(shown))


def test_a_distribution_without_figures_is_one(tmp_path: Path) -> None:
    whole = replace(factories.small(), summary={"kv_gap_ms": Distribution(0), "ttft_ms": None})
    assert read_saved(saved(tmp_path, whole)).summary == {"kv_gap_ms": Distribution(0), "ttft_ms": None}
