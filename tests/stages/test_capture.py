"""Commands that record an engine: only options that this nsys knows, only data with a source, refused when odd."""

import re
import shlex

import pytest

from nsysparse.capture.entries import Engine
from nsysparse.capture.lines import Capture, Command, compose, newest
from nsysparse.capture.loader import engines, find_engine, options, parse_engines, parse_options
from nsysparse.capture.versions import parse, within
from nsysparse.errors import InputError, UsageError
from nsysparse.source.open import NSYS_EXPORT

ALWAYS = ("0", "9999")
# When nsys knows what (first, last): the known answers that the file of options is held against.
KNOWN = {
    "--cuda-graph-trace=node": ALWAYS,
    "--trace-fork-before-exec=true": ALWAYS,
    "-s": ALWAYS,
    "--cpuctxsw=none": ALWAYS,
    "-c": ALWAYS,
    "--capture-range-end=stop": ALWAYS,
    "-t": ALWAYS,
    "-o": ALWAYS,
    "--type": ALWAYS,
    "--force-overwrite=true": ALWAYS,
    "--discard-environment=true": ("2026.1", "9999"),
    "--nic-metrics=true": ("0", "2026.1.99"),
    "--nic-metrics=lf": ("2026.2", "9999"),
    "--gpu-metrics-device=all": ("0", "2024.6.99"),
    "--gpu-metrics-devices=all": ("2024.7", "9999"),
    "--nccl-trace=api,group,gpu,kernel-launch": ("2025.6.1", "9999"),
    "--include-blobs=true": ("2024.5", "9999"),
    "--include-json=true": ("2025.6.1", "9999"),
}
VERSIONS = (
    "2022.4", "2022.4.2", "2023.1", "2023.4.4", "2024.1", "2024.4.2", "2024.5.1", "2024.6.2", "2024.7", "2025.1.1",
    "2025.5.2", "2025.6", "2025.6.1", "2025.6.3", "2026.1.1", "2026.2.1", "2026.3.1", "2026.4", "2026.4.1", "2027.1",
)  # fmt: skip


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def captured(engine: str, version: str = "2026.4", role: str | None = None) -> Capture:
    return compose(find_engine(engine), parse(version), role, options())


def all_commands(capture: Capture) -> list[Command]:
    return [
        command
        for each in capture.recordings
        for command in (each.profile, *(other.profile for other in each.alternatives), each.export)
    ]


def nsys_words(command: Command, engine: Engine) -> list[str]:
    """The words of a command up to the program that it starts."""
    line = command.line
    for launch in engine.launches:
        line = line.removesuffix(" ".join(launch.command))
    return shlex.split(line)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("engine", engines().values(), ids=lambda engine: engine.id)
def test_no_option_is_printed_for_a_version_that_lacks_it(engine: Engine, version: str):
    capture = captured(engine.id, version)
    words = [word for command in all_commands(capture) for word in nsys_words(command, engine)]
    flags = [word for word in words if word.startswith("-")] + [option for option, _ in capture.extras]
    for flag in flags:
        first, last = KNOWN[flag]
        assert numbers(first) <= numbers(version) <= numbers(last), flag
    traced = {value for word in words if re.fullmatch(r"[a-z,]*cuda[a-z,]*", word) for value in word.split(",")}
    assert traced <= {"cuda", "nvtx", "ucx", "nccl"}
    assert "nccl" not in traced or numbers(version) >= (2025, 6, 1)


@pytest.mark.parametrize("engine", engines().values(), ids=lambda engine: engine.id)
def test_every_option_is_printed_once_it_is_known(engine: Engine):
    words = {word for command in all_commands(captured(engine.id)) for word in nsys_words(command, engine)}
    assert {"--discard-environment=true", "--include-blobs=true", "--include-json=true"} <= words


def test_what_a_version_lacks_is_said():
    said = " ".join(captured("nccl", "2022.4.2").lacking)
    for part in ("--discard-environment", "-t nccl", "drops the payloads", "nsys 2024.5 or newer"):
        assert part in said
    assert captured("nccl", "2026.4").lacking == ()


def test_the_variant_with_exact_times_needs_a_patch_of_a_release():
    assert not captured("nccl", "2025.6").recordings[0].alternatives
    (other,) = captured("nccl", "2025.6.1").recordings[0].alternatives
    assert "-t cuda,nvtx,nccl" in other.profile.line
    assert "NVTX ranges off" in other.about


def test_the_export_is_the_one_that_is_advised_everywhere():
    assert captured("nccl").recordings[0].export.line.startswith(NSYS_EXPORT)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_export_is_whole_and_on_its_own_clock(version: str):
    for engine in engines():
        line = captured(engine, version).recordings[0].export.line
        assert not re.search(r"--(?:tables|times|ts-normalize|ts-shift|lazy)", line)


@pytest.mark.parametrize(
    ("version", "basis"),
    [
        ("2022.4.2", "tried"),
        ("2023.4", "tried"),
        ("2024.5", "documented"),
        ("2026.4.9", "documented"),
        ("2026.5", "newer"),
    ],
)
def test_how_the_options_are_known(version: str, basis: str):
    assert captured("nccl", version).basis == basis


def test_a_version_older_than_all_that_is_known_is_refused():
    with pytest.raises(UsageError, match=r"nsys 2022\.3.*2022\.4"):
        captured("nccl", "2022.3.9")


def test_a_role_names_the_report_and_leaves_out_the_other():
    both = captured("sglang").recordings
    assert [each.sqlite for each in both] == ["prefill.sqlite", "decode.sqlite"]
    (one,) = captured("sglang", role="decode").recordings
    assert "--disaggregation-mode decode" in one.profile.line
    assert " -o decode " in one.profile.line
    (whichever,) = captured("nixl", role="prefill").recordings
    assert (whichever.role, whichever.sqlite) == ("prefill", "prefill.sqlite")


@pytest.mark.parametrize("engine", engines().values(), ids=lambda engine: engine.id)
def test_an_engine_says_where_everything_comes_from(engine: Engine):
    assert "https://" in engine.source
    assert all((engine.leaves, engine.layer, engine.request, engine.bytes, engine.todo))
    assert "docs/reference/convention.md" in " ".join(engine.todo) or engine.id == "megatron"
    assert not re.search(r"(?<!\w)(?:/|~)\w+/", " ".join(piece for each in engine.launches for piece in each.command))


def test_every_spelling_has_a_source():
    spellings = [each for option in options().options.values() for each in option.spellings]
    assert all(
        "https://" in each.source or "tried with" in each.source or "--help" in each.source for each in spellings
    )
    assert [release.version for release in options().releases] == ["2022.4", "2023.4", "2026.4"]
    assert newest(options()) == (2026, 4)


def test_every_option_and_variant_is_of_use():
    known = options()
    used = {name for each in engines().values() for name in (*each.trace, *each.options, *each.extras)}
    used |= {name for each in known.variants.values() for name in (*each.trace, *each.options)}
    assert {option.id for option in known.options.values() if not option.shared} == used
    assert set(known.variants) == {name for each in engines().values() for name in each.variants}


@pytest.mark.parametrize(
    ("text", "parts"),
    [("2022.4", (2022, 4)), ("2022.4.2.1-df9881f", (2022, 4, 2)), ("2025.6.1.190-256137654321v0", (2025, 6, 1))],
)
def test_versions_are_read_as_nsys_writes_them(text: str, parts: tuple[int, ...]):
    assert parse(text) == parts


@pytest.mark.parametrize("text", ["", "2022", "2022.4; true", "22.4", "2022.4.", "٢٠٢٢.4", "newest"])
def test_what_is_no_version_is_refused(text: str):
    with pytest.raises(UsageError):
        parse(text)


@pytest.mark.parametrize(
    ("version", "since", "until", "inside"),
    [
        ("2025.6", "2025.6.1", None, False), ("2025.6.1", "2025.6.1", None, True),
        ("2026.1.3", "2026.1", "2026.1", True), ("2026.2", "2022.4", "2026.1", False),
        ("2022.4", "2022.4", None, True), ("2022.3.9", "2022.4", None, False),
        ("2025.6.2", "2022.4", "2025.6.1", False),
    ],
)  # fmt: skip
def test_both_ends_of_a_span_belong_to_it(version: str, since: str, until: str | None, inside: bool):  # noqa: FBT001
    assert within(parse(version), since, until) is inside


# --- what the files may not hold --------------------------------------------------------------------------------------

AN_OPTION = """
[[option]]
id = "cuda"
command = "trace"
about = "kernels"
  [[option.spelling]]
  text = "cuda"
  since = "2022.4"
  source = "tried with it"
"""
SOME_OPTIONS = f"""
schema = 1
[[nsys]]
version = "2022.4"
basis = "tried"
source = "its --help"
{AN_OPTION}
"""
AN_ENGINE = """
schema = 1
[[engine]]
id = "toy"
aliases = ["plaything"]
name = "A toy"
source = "https://example.org"
trace = ["cuda"]
leaves = "nothing"
layer = "none"
request = "none"
bytes = "none"
  [[engine.launch]]
  environment = ["A='1 2'"]
  command = ["serve MODEL", "--config '{}'"]
"""


def test_the_files_of_the_tests_are_read():
    known = parse_options(SOME_OPTIONS, "mine.toml")
    (toy,) = parse_engines(AN_ENGINE, "mine.toml", known).values()
    (recording,) = compose(toy, (2022, 4), None, known).recordings
    assert recording.profile.line == "A='1 2' nsys profile -t cuda -o toy serve MODEL --config '{}'"


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ('version = "2022.4"', 'version = "new"', "new"),
        ('since = "2022.4"', 'since = "2022.4"\n  until = "2021.1"', "before since"),
        ('since = "2022.4"', 'since = "soon"', "soon"),
        ('text = "cuda"', 'text = "it\'s"', "quoted"),
        ('command = "trace"', 'command = "stats"', "stats"),
        ('about = "kernels"', 'about = "kernels"\nabut = "x"', "abut"),
        (AN_OPTION, AN_OPTION * 2, "twice"),
        ("schema = 1", "schema = 2", "schema"),
        (AN_OPTION, AN_OPTION.partition("  [[option.spelling]]")[0], "spelling"),
        ('[[nsys]]\nversion = "2022.4"\nbasis = "tried"\nsource = "its --help"', "", "no nsys"),
        (AN_OPTION, f'{AN_OPTION}\n[[variant]]\nid = "v"\nabout = "x"\ntrace = ["osrt"]', "osrt"),
    ],
)
def test_an_odd_file_of_options_is_refused_by_name(old: str, new: str, part: str):
    with pytest.raises(InputError) as raised:
        parse_options(SOME_OPTIONS.replace(old, new, 1), "mine.toml")
    assert "mine.toml" in raised.value.message
    assert part in raised.value.message + raised.value.hint


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("A='1 2'", "A=1 2", "NAME=VALUE"),
        ("A='1 2'", "A", "NAME=VALUE"),
        ("A='1 2'", "A='1", "quoted"),
        ('trace = ["cuda"]', 'trace = ["mpi"]', "mpi"),
        ('trace = ["cuda"]', 'trace = "cuda"', "trace"),
        ('trace = ["cuda"]', 'trace = ["cuda"]\nvariants = ["x"]', "variant"),
        ('trace = ["cuda"]', 'trace = ["cuda"]\noptions = ["cuda"]', "profile option"),
        ("--config '{}'", "--config '{}", "quoted"),
        ('aliases = ["plaything"]', 'aliases = ["toy"]', "twice"),
        ('layer = "none"\n', "", "layer"),
    ],
)
def test_an_odd_file_of_engines_is_refused_by_name(old: str, new: str, part: str):
    known = parse_options(SOME_OPTIONS, "mine.toml")
    with pytest.raises(InputError) as raised:
        parse_engines(AN_ENGINE.replace(old, new, 1), "mine.toml", known)
    assert part in raised.value.message
