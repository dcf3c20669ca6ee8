"""Preset files: what is refused, with file, rule and remedy; which presets a choice of names and files means."""

from pathlib import Path

import polars as pl
import pytest

from nsysparse.errors import InputError, NsysparseError, UsageError
from nsysparse.presets.engine import complaint, literal_prefix
from nsysparse.presets.loader import BUILTIN, MOST_BYTES, Refusal, builtin_rules, examine, find, load, match, rules_of

GOOD = """
name = "mine"
about = "ranges of my server"

[probe]
pattern = '^srv:'

[[rule]]
id = "send"
kind = "transfer"
purpose = "kv"
pattern = '^srv:send req=(?P<request>\\S+) L(?P<layer>\\d+)$'
says = { role = "prefill" }
[[rule.examples]]
text = "srv:send req=a L3"
fields = { request = "a", layer = "3" }

[[rule]]
id = "step"
kind = "step"
pattern = '^srv:step'
[rule.fields]
step = '\\bn=(\\d+)'
[[rule.examples]]
text = "srv:step n=7"
fields = { step = "7" }

[[rule]]
id = "noise"
drop = true
pattern = '^srv:debug'
[[rule.examples]]
text = "srv:debug layer 3"
"""


def write(folder: Path, text: str | bytes, name: str = "mine.toml") -> str:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def refusals(folder: Path, text: str | bytes) -> list[Refusal]:
    preset, found = examine(write(folder, text))
    assert (preset is None) == bool(found)
    return found


def one_rule(**changes: str) -> str:
    """A preset of one rule `r`, with lines of it replaced, added or (empty) left out."""
    lines = {
        "id": "id = 'r'", "kind": "kind = 'layer'", "pattern": "pattern = 'L(?P<layer>[0-9]+)'", "more": "",
        "examples": "examples = [{ text = 'L3', fields = { layer = '3' } }]", "after": "",
    }  # fmt: skip
    lines |= changes
    return "name = 'mine'\nabout = 'x'\n[[rule]]\n" + "\n".join(line for line in lines.values() if line)


def test_a_good_file_is_read(tmp_path: Path) -> None:
    preset, found = examine(write(tmp_path, GOOD))
    assert found == []
    assert preset is not None
    assert preset.shown == "mine (mine.toml)"
    assert [(rule.cite, rule.kind, rule.drop) for rule in preset.rules] == [
        ("mine/send", "transfer", False), ("mine/step", "step", False), ("mine/noise", "nothing", True),
    ]  # fmt: skip
    assert preset.rules[0].captures == {"request": (preset.rules[0].pattern, 1), "layer": (preset.rules[0].pattern, 2)}


def test_a_byte_order_mark_is_no_reason_to_refuse(tmp_path: Path) -> None:
    assert refusals(tmp_path, b"\xef\xbb\xbf" + GOOD.encode()) == []


@pytest.mark.parametrize(
    ("text", "complaint", "fix"),
    [
        ("= nonsense", "is not valid TOML", "presets.md"),
        ("a = " + "[" * 5000, "is not valid TOML", ""),
        ("about = 'x'", "`name` must be", ""),
        ("name = 'a/b'\nabout = 'x'", "`name` must be", ""),
        ("name = 'mine'", "`about` is missing", ""),
        ("name = 'vllm'\nabout = 'x'", "the name 'vllm' is taken", "another name"),
        ("name = 'request-pattern'\nabout = 'x'", "is taken", ""),
        ("name = 'mine'\nabout = 'x'\nrules = []", "there is no key 'rules'", "Did you mean 'rule'?"),
        ("name = 'mine'\nabout = 'x'\nrule = 'x'", "`rule` must be tables", ""),
        ("name = 'mine'\nabout = 'x'\n[probe]", "needs a pattern, a domain or both", ""),
        ("name = 'mine'\nabout = 'x'\n[probe]\ntext = 'x'", "there is no key 'text'", "pattern, domain"),
        ("name = 'mine'\nabout = 'x'\n[probe]\npattern = '('", "probe: the pattern does not compile", "linear"),
        (one_rule(id=""), "rule 1: `id` must be", ""),
        (one_rule(id="id = 7"), "rule 1: `id` must be text, not 7", ""),
        (one_rule(kind=""), "rule r: `kind` is missing", "Kinds are step"),
        (one_rule(kind="kind = 'leyer'"), "there is no kind 'leyer'", "Did you mean 'layer'?"),
        (one_rule(kind="kind = 'nothing'"), "`drop = true` and the kind `nothing` need each other", ""),
        (one_rule(more="drop = true"), "need each other", ""),
        (one_rule(kind="", more="drop = true\npurpose = 'kv'", pattern="pattern = 'L3'"), "drops what it matches", ""),
        (one_rule(kind="", more="drop = true"), "has a group", ""),
        (one_rule(pattern=""), "`pattern` is missing", ""),
        (one_rule(pattern="patern = 'x'"), "there is no key 'patern'", "Did you mean 'pattern'?"),
        (one_rule(more="purpose = 'weights'"), "`purpose` is 'weights'", "kv, other"),
        (one_rule(more="domain = 'd'\ndefault_domain = true"), "`domain` names a domain", ""),
        (one_rule(more="default_domain = 'yes'"), "`default_domain` must be true or false", ""),
        (one_rule(more="says = { phase = 'warmup' }"), "`says.phase` is 'warmup'", "prefill, decode, mixed"),
        (one_rule(more="says = { role = 'ctx' }"), "`says.role` is 'ctx'", "prefill, decode"),
        (one_rule(more="says = { step = 3 }"), "`says.step` must be text, not 3", ""),
        (one_rule(more="says = { layr = '3' }"), "there is no field 'layr'", "Did you mean 'layer'?"),
        (one_rule(more="fields = { layr = 'x(.)' }"), "there is no field 'layr'", "Did you mean 'layer'?"),
        (one_rule(pattern="pattern = 'L(?P<layr>[0-9]+)'"), "the group 'layr' is no field", "(?:…)"),
        (one_rule(more="says = { layer = '3' }"), "the field 'layer' comes from two places", ""),
        (one_rule(more="fields = { layer = 'L(.)' }"), "the field 'layer' comes from two places", ""),
        (one_rule(pattern="pattern = '(?P<layer>L)(?P<layer>3)'"), "duplicate capture group name", ""),
        (one_rule(more="fields = { step = 'x' }"), "of the field 'step' must have one group", ""),
        (one_rule(more="fields = { step = '(x)(y)' }"), "of the field 'step' must have one group", ""),
        (one_rule(more="fields = { step = '(x' }"), "of the field 'step' does not compile", ""),
        (one_rule(pattern="pattern = 'L(?=3)(?P<layer>.)'"), "look-around", "linear"),
        (one_rule(pattern="pattern = '(?P<layer>L)\\1'"), "backreferences are not supported", "linear"),
        (one_rule(pattern="pattern = 'L('"), "does not compile: unclosed group", ""),
        (one_rule(pattern=r"pattern = '\w{2000}'"), r"write [0-9A-Za-z_] for \w", "linear"),
        (one_rule(pattern=r"pattern = '(?:\w{9}){9}'"), "is too large once compiled", ""),
        (one_rule(pattern=f"pattern = '{'x' * 5000}'"), "characters long", ""),
        (one_rule(pattern="pattern = 'L*'"), "matches the empty text", ""),
        (one_rule(examples=""), "rule r: has no example", "give a text it must match"),
        (one_rule(examples="examples = []"), "has no example", ""),
        (one_rule(examples="examples = ['L3']"), "an example has a `text`", ""),
        (one_rule(examples="examples = [{ text = 'L3', field = {} }]"), "there is no key 'field'", ""),
        (one_rule(examples="examples = [{ text = 'L3', fields = { layer = 3 } }]"), "with text values", ""),
        (one_rule(examples="examples = [{ text = 'L3', fields = { lair = '3' } }]"), "there is no field 'lair'", ""),
        (one_rule(examples="examples = [{ text = 'M3', fields = {} }]"), "does not match its example 'M3'", ""),
        (one_rule(examples="examples = [{ text = 'L3' }]"), "finds layer = '3' in its example", ""),
        (one_rule(examples="examples = [{ text = 'L3', fields = { layer = '4' } }]"), "finds layer = '3'", ""),
        (one_rule(after="[[rule]]\nid = 'r'\nkind = 'step'\npattern = 'S'\nexamples = [{ text = 'S' }]"),
         "rule r: the id occurs twice", ""),
        (one_rule(after="[[rule]]\nid = 's'\nkind = 'layer'\npattern = 'L3x(?P<layer>.)'\n"
                  "examples = [{ text = 'L3x4', fields = { layer = '4' } }]"),
         "rule s: the rule r is stronger, matches the example 'L3x4' too", "narrower"),
        (b"name = '\xff'", "is not UTF-8 at byte 8", "Save it as UTF-8"),
        (b"#" * (MOST_BYTES + 1), "is larger than 1 MB", ""),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place_and_what_to_do(
    text: str | bytes, complaint: str, fix: str, tmp_path: Path
) -> None:
    found = refusals(tmp_path, text)
    (first, *_) = [each for each in found if complaint in str(each)] or [None]
    assert first is not None, found
    assert str(first).startswith("mine.toml")
    assert fix in first.fix
    with pytest.raises(InputError, match=r"Preset mine\.toml") as caught:
        load([str(tmp_path / "mine.toml")])
    assert "nsysparse presets check" in caught.value.hint


def test_all_that_is_wrong_is_found_at_once(tmp_path: Path) -> None:
    text = one_rule(pattern="pattern = '('", after="[[rule]]\nid = 's'\nkind = 'step'\npattern = 'x*'\n"
                    "examples = [{ text = 'x' }]")  # fmt: skip
    found = refusals(tmp_path, text)
    assert [str(each).split(":")[0] for each in found] == ["mine.toml, rule r", "mine.toml, rule s"]
    with pytest.raises(InputError, match=r"\(1 more\)"):
        load([str(tmp_path / "mine.toml")])


def test_a_stronger_rule_may_match_an_example_if_it_says_the_same(tmp_path: Path) -> None:
    after = "[[rule]]\nid = 's'\nkind = 'layer'\npattern = 'L(?P<layer>[0-9])x'\n"
    assert refusals(tmp_path, one_rule(after=after + "examples = [{ text = 'L3x', fields = { layer = '3' } }]")) == []
    assert refusals(tmp_path, one_rule(after=after.replace("'L(", "'L+(") + "domain = 'd'\n"
                    "examples = [{ text = 'L3x', fields = { layer = '3' } }]")) == []  # fmt: skip


def test_a_stronger_rule_that_drops_an_example_is_refused(tmp_path: Path) -> None:
    weaker = "[[rule]]\nid = 's'\nkind = 'step'\npattern = 'Ls'\nexamples = [{ text = 'Ls' }]"
    text = one_rule(
        kind="", pattern="pattern = 'L'", more="drop = true", examples="examples = [{ text = 'L' }]", after=weaker
    )
    assert "rule r is stronger" in str(refusals(tmp_path, text)[0])


# --- which presets ----------------------------------------------------------------------------------------------------


def test_without_a_choice_all_that_is_built_in_is_loaded_in_order() -> None:
    assert [preset.name for preset in load()] == list(BUILTIN)
    assert rules_of(load()) == builtin_rules()


def test_files_are_stronger_than_what_is_built_in(tmp_path: Path) -> None:
    first, second = write(tmp_path, GOOD), write(tmp_path, GOOD.replace('"mine"', '"other"'), "b.toml")
    assert [preset.name for preset in load([second, first, second])] == ["other", "mine", *BUILTIN]


def test_names_leave_out_all_other_built_in_presets_and_need_no_probe(tmp_path: Path) -> None:
    chosen = load([write(tmp_path, GOOD), "vllm-nixl", "own"])
    assert [preset.name for preset in chosen] == ["mine", "own", "vllm-nixl"]
    assert [bool(preset.probes) for preset in chosen] == [True, False, False]
    assert find("vllm-nixl").probes


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="another file has the name 'mine'"):
        load([write(tmp_path, GOOD), write(tmp_path, GOOD, "copy.toml")])


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("vlm", UsageError, "There is no preset called 'vlm'. Did you mean vllm"),
        ("missing.toml", InputError, "missing.toml: cannot be read"),
        ("./vllm", InputError, "vllm: cannot be read"),
        (".", InputError, "is no regular file"),
    ],
)
def test_what_is_no_preset_is_refused(
    name: str, error: type[NsysparseError], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        load([name])


# --- the pattern of the option ----------------------------------------------------------------------------------------


def labelled(*texts: str) -> pl.DataFrame:
    return pl.DataFrame(
        {"label_id": range(len(texts)), "domain": None, "name": texts, "is_default_domain": True},
        schema={"label_id": pl.UInt32, "domain": pl.String, "name": pl.String, "is_default_domain": pl.Boolean},
    )


@pytest.mark.parametrize("pattern", [r"R<(\w+)>", r"R<(?P<request>\w+)>", r"(R)<(?P<request>\w+)>"])
def test_the_option_finds_requests_and_takes_no_kind_from_a_range(pattern: str) -> None:
    texts = ("work R<a>", "kv_transfer layer=3 request=b R<c>", "layer 4 R<d>", "R<>")
    found = match(labelled(*texts), rules_of(load((), pattern)))
    assert found.select("label_id", "kind", "request", "layer").rows() == [
        (0, "request", "a", None), (1, "transfer", "c", "3"), (2, "layer", "d", "4"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("(", "does not compile"),
        (r"R\d+", "has no group"),
        (r"(\d*)", "matches the empty text"),
        ("(?<=R)(x)", "look-around"),
        (r"(?P<request>a)(?P<layer>b)", "has a group 'layer'"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_a_mistake_on_the_command_line(pattern: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        load((), pattern)
    assert "(?P<request>" in caught.value.hint


# --- the engine -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "prefix"),
    [
        ("^abc", "abc"),
        (r"^a\.b\[c\]", "a.b[c]"),
        ("^abc?d", "ab"),
        ("^abc*", "ab"),
        ("^abc{0,2}", "ab"),
        ("^abc+d", "abc"),
        (r"^ab\?c", "ab?c"),
        (r"^ab\.?c", "ab"),
        (r"^ab\d", "ab"),
        ("^ab|cd", ""),
        ("^(?:ab|cd)", ""),
        ("^ab(?:c|d)", "ab"),
        ("^ab[(]c|d", ""),
        ("^ab[)](?:c|d)", "ab"),
        (r"^ab\(c|d", ""),
        (r"^ab[\](]c|d", ""),
        ("^ab[](]c|d", ""),
        ("^ab[a&&[b]]|c", ""),
        ("^ab(?x: c # (\n)|d", ""),
        ("(?i)^ab", ""),
        ("ab", ""),
        ("^^ab", ""),
        ("^?ab", ""),
    ],
)
def test_a_literal_prefix_is_one_that_every_match_has(pattern: str, prefix: str) -> None:
    assert literal_prefix(pattern) == prefix


def test_all_built_in_patterns_are_small() -> None:
    patterns = {pattern for rule in builtin_rules() for pattern in (rule.pattern, *rule.fields.values())}
    assert [each for each in patterns if complaint(each)] == []
