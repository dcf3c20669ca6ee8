"""`links` and `models` on the command line: data on stdout, one direction said aloud, nothing heavy loaded."""

import json
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner, Result

from nsysparse.catalog import loader
from nsysparse.cli.links import command as links
from nsysparse.cli.models import command as models
from nsysparse.errors import UsageError


def run(group: click.Group, *arguments: str) -> Result:
    result = CliRunner().invoke(group, arguments)
    assert result.exit_code == 0, result.output
    return result


def test_links_are_listed_with_their_rate_in_one_direction():
    lines = run(links, "list").stdout.splitlines()
    assert "one direction GB/s" in lines[0]
    assert len(lines) == 1 + len(loader.links())
    h100 = next(line for line in lines if line.startswith("nvlink4-h100 "))
    assert h100.split()[1:4] == ["450", "900", "0.75-0.88"]


def test_columns_are_aligned():
    lines = run(links, "list").stdout.splitlines()
    end = lines[0].index("one direction GB/s") + len("one direction GB/s")
    assert all(line[end - 1].isdigit() and line[end : end + 2] == "  " for line in lines[1:])


@pytest.mark.parametrize(
    ("group", "word", "expected"),
    [
        (links, "SLING", ["slingshot-11"]),
        (links, "xgmi", ["xgmi-mi300x-pair", "xgmi-mi355x-pair"]),
        (models, "OPT", ["opt-66b", "opt-175b"]),
        (models, "kda", ["kimi-k3", "kimi-linear-48b"]),
    ],
)
def test_a_word_filters_by_id_name_and_kind(group: click.Group, word: str, expected: list[str]):
    assert [line.split()[0] for line in run(group, "list", word).stdout.splitlines()[1:]] == expected
    assert [entry["id"] for entry in json.loads(run(group, "list", word, "-f", "json").stdout)] == expected


@pytest.mark.parametrize(
    ("group", "options"), [(links, ()), (links, ("--boxes",)), (models, ())], ids=["links", "boxes", "models"]
)
def test_a_word_that_nothing_has_says_so_beside_empty_data(group: click.Group, options: tuple[str, ...]):
    text = run(group, "list", "no-such-thing", *options)
    assert (text.stdout, "'no-such-thing'" in text.stderr) == ("", True)
    assert json.loads(run(group, "list", "no-such-thing", "-f", "json", *options).stdout) == []


def test_a_link_is_shown_with_both_reference_lines_and_their_sources():
    text = run(links, "show", "nvlink4-h100").stdout
    for part in (
        "one direction",
        "450 GB/s",
        "nvlink4-h100@bidirectional",
        "396 GB/s",
        "75% to 88%",
        "18 links",
        "https://",
    ):
        assert part in text
    assert "376.6" in text.partition("Measured by others:")[2]


def test_a_link_without_measurements_says_unknown_and_promises_no_total():
    text = run(links, "show", "ib-xdr").stdout
    assert "practical ceiling:" in text
    assert "unknown" in text
    assert "@bidirectional" not in text
    assert "Measured by others" not in text


def test_a_box_is_listed_and_shown_by_its_own_option():
    listed = run(links, "list", "--boxes", "dgx-h100").stdout.splitlines()
    assert listed[1].split()[:6] == ["dgx-h100", "8", "nvlink4-h100", "450", "ib-ndr", "50"]
    shown = run(links, "show", "--box", "gcp-a3-high").stdout
    assert "12.5 GB/s per GPU, one direction" in shown
    assert "site-specific" in run(links, "show", "--box", "rtx-consumer").stdout


def test_a_model_is_shown_with_its_layers_and_what_they_come_to():
    text = run(models, "show", "llama-3-70b").stdout
    assert "327,680 (16-bit)" in text
    assert "335,544,320 bytes = 335.5 MB" in text
    assert "80 x full: kv_heads 8, head_dim 128" in text
    windowed = run(models, "show", "gpt-oss-20b").stdout
    assert "24,576 per token" in windowed
    assert "at most 3.15 MB" in windowed
    pruned = run(models, "show", "nemotron-super-49b").stdout
    assert "80, 49 of which keep anything" in pruned
    assert "449.4 MB per sequence" in run(models, "show", "kimi-k3").stdout


@pytest.mark.parametrize(
    ("group", "arguments", "expected"),
    [
        (links, ("show", "pcie5-x16"), {"one_way_peak_bytes_per_s": 63_015_384_615}),
        (links, ("show", "--box", "dgx-h100"), {"nic_link": "ib-ndr", "note": None}),
        (models, ("show", "mimo-v2-flash"), {"short_bytes_per_token": 222_720, "verified": True}),
    ],
)
def test_json_holds_every_field_and_is_the_same_each_time(
    group: click.Group, arguments: tuple[str, ...], expected: dict
):
    first, second = (run(group, *arguments, "-f", "json").stdout for _ in range(2))
    assert first == second
    assert json.loads(first).items() >= expected.items()


def test_json_of_a_link_names_its_details():
    shown = json.loads(run(links, "show", "ib-fdr", "-f", "json").stdout)
    assert shown["details"]["encoding"] == "64b/66b"
    listed = json.loads(run(links, "list", "-f", "json").stdout)
    assert [entry["id"] for entry in listed] == list(loader.links())
    assert next(entry for entry in listed if entry["id"] == "ib-fdr") == shown


@pytest.mark.parametrize(
    ("group", "arguments", "nearest"),
    [
        (links, ("show", "ib-nrd"), "ib-ndr"),
        (links, ("show", "--box", "dgx-h10"), "dgx-h100"),
        (models, ("show", "lama-3-70b"), "llama-3-70b"),
    ],
)
def test_an_unknown_id_names_the_nearest(group: click.Group, arguments: tuple[str, ...], nearest: str):
    result = CliRunner().invoke(group, arguments)
    assert isinstance(result.exception, UsageError)
    assert nearest in result.exception.message
    assert result.stdout == ""


@pytest.mark.parametrize("group", [links, models])
def test_every_help_teaches_with_an_example(group: click.Group):
    for arguments in (("--help",), *((name, "--help") for name in group.commands)):
        assert f"nsysparse {group.name} " in run(group, *arguments).stdout


def test_help_loads_nothing_heavy():
    program = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from nsysparse.cli.links import command as links\n"
        "from nsysparse.cli.models import command as models\n"
        "for group in (links, models):\n"
        "    assert CliRunner().invoke(group, ['show', '--help']).exit_code == 0\n"
        "heavy = ('polars', 'numpy', 'sqlalchemy', 'plotly', 'rich', 'dataframely', 'nsysparse.catalog')\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
