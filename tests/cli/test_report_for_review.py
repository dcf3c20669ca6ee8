"""`nsysparse report` for a comment: its size, its pictures and their links."""

import re
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from nsysparse.cli.pictures import check_base_url
from nsysparse.cli.place import check
from nsysparse.errors import OutputError, UsageError
from nsysparse.render.browser import NAMES, TAG, tagged
from tests.commands import call, run

SAMPLE = "synthetic/pd-oneprofile.sqlite"
FIGURES = {"heatmap-chart", "layers-chart", "links-chart"}
"""Some of those that the sample's report has."""


def test_a_budget_is_kept_and_what_is_missing_is_said(sample: Callable[[str], Path], tmp_path: Path) -> None:
    done = call("report", sample(SAMPLE), "-f", "markdown", "-o", "-", "--max-bytes", "4000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.encode()) <= 4000
    assert "Left out to stay within <code>--max-bytes</code>: Definitions · " in done.stdout


def test_a_budget_too_small_is_refused_and_nothing_written(sample: Callable[[str], Path], tmp_path: Path) -> None:
    done = call("report", sample(SAMPLE), "-o", "x.md", "--max-bytes", "200", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(r"--max-bytes 200: the verdict alone takes [\d,]+ bytes", done.stderr)
    least = re.search(r"at least --max-bytes (\d+)", done.stderr)
    assert least is not None
    assert list(tmp_path.iterdir()) == []
    assert call("report", sample(SAMPLE), "-o", "x.md", "--max-bytes", least[1], cwd=tmp_path).returncode == 0
    assert (tmp_path / "x.md").stat().st_size == int(least[1])


@pytest.mark.parametrize(
    "options", [["--max-bytes", "9000"], ["--image", "svg"], ["--image", "svg", "--image-base-url", "a"]]
)
@pytest.mark.parametrize("chosen", ["html", "json", "text"])
def test_options_of_markdown_are_refused_elsewhere(chosen: str, options: list[str], tmp_path: Path) -> None:
    done = call("report", "missing.sqlite", "-f", chosen, *options, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{options[0]} is for Markdown, not for {chosen}." in done.stderr
    assert "-f markdown" in done.stderr


def test_pictures_need_a_place_and_links_need_pictures(tmp_path: Path) -> None:
    lost = call("report", "missing.sqlite", "-f", "markdown", "-o", "-", "--image", "svg", cwd=tmp_path)
    assert (lost.returncode, lost.stdout) == (2, "")
    assert "Name a file with -o" in lost.stderr
    unlinked = call("report", "missing.sqlite", "-o", "x.md", "--image-base-url", "https://h.example", cwd=tmp_path)
    assert unlinked.returncode == 2
    assert "Add --image svg" in unlinked.stderr


def test_svg_lies_beside_the_report_and_is_linked(sample: Callable[[str], Path], tmp_path: Path) -> None:
    done = call("report", sample(SAMPLE), "-o", "out/a (1).md", "--image", "svg", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (tmp_path / "out").glob("*.svg"))
    assert {f"a (1)-{figure}.svg" for figure in FIGURES} <= set(names)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted([*names, "a (1).md"])
    assert [f"Wrote out/{name}" in done.stderr for name in names] == [True] * len(names)
    links = re.findall(r"^!\[[^]]*\]\((\S+)\)$", (tmp_path / "out/a (1).md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(links) == [name.replace("a (1)", "a%20%281%29") for name in names]


def test_links_lead_where_the_pictures_will_be(sample: Callable[[str], Path], tmp_path: Path) -> None:
    base = "https://host.example/runs/7"
    done = call("report", sample(SAMPLE), "-o", "a.md", "--image", "svg", "--image-base-url", base, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"![Throughput per link]({base}/a-links-chart.svg)" in (tmp_path / "a.md").read_text(encoding="utf-8")


def test_the_same_input_gives_the_same_pictures(sample: Callable[[str], Path], tmp_path: Path) -> None:
    written = []
    for folder, seed in (("a", "1"), ("b", "2")):
        target = tmp_path / folder / "r.md"
        run("report", sample(SAMPLE), "-o", target, "--image", "svg", cwd=tmp_path, PYTHONHASHSEED=seed)
        written.append({path.name: path.read_bytes() for path in target.parent.iterdir()})
    assert {f"r-{figure}.svg" for figure in FIGURES} < set(written[0])
    assert written[0] == written[1]


def test_somebody_elses_picture_stays_and_then_nothing_is_written(
    sample: Callable[[str], Path], tmp_path: Path
) -> None:
    taken = tmp_path / "a-links-chart.svg"
    taken.write_text("<svg/>", encoding="utf-8")
    command = ["report", sample(SAMPLE), "-o", "a.md", "--image", "svg"]
    refused = call(*command, cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "a-links-chart.svg: exists, and is no report of nsysparse" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a-links-chart.svg"]
    assert call(*command, "--force", cwd=tmp_path).returncode == 0
    assert taken.read_text(encoding="utf-8") != "<svg/>"
    assert call(*command, cwd=tmp_path).returncode == 0  # now it is ours


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("https://h.example", "https://h.example/"),
        ("http://h.example:8080/a_b/c-d/", "http://h.example:8080/a_b/c-d/"),
        ("https://cdn.example/gh/org/repo@1.2/x", "https://cdn.example/gh/org/repo@1.2/x/"),
        ("img", "img/"),
        ("../img/run%207", "../img/run%207/"),
        ("/docs/img", "/docs/img/"),
    ],
)
def test_addresses_that_pictures_may_have(given: str, base: str) -> None:
    assert check_base_url(given) == base


@pytest.mark.parametrize(
    "given",
    [
        "", "javascript:alert(1)", "data:image/png", "file:///etc", "//evil.example", "https://", "https:///x",
        "https://user:pass@h.example", "https://h.example/?a=b", "https://h.example/#x", "https://h.example/a b",
        "https://h.example/a)b", "https://h.example/a\nb", "a](b", "<x>", "a&copy;b", "a|b", "C:\\x", "ftp://h.example",
        "https://h.example/é",
    ],
)  # fmt: skip
def test_addresses_that_are_refused(given: str) -> None:
    with pytest.raises(UsageError, match="--image-base-url"):
        check_base_url(given)


def test_without_a_browser_png_is_refused_before_anything_is_written(
    sample: Callable[[str], Path], tmp_path: Path
) -> None:
    done = run("report", sample(SAMPLE), "-o", "a.md", "--image", "png", cwd=tmp_path, PATH="/nonexistent")
    assert (done.returncode, done.stdout) == (1, "")
    assert "headless Chromium" in done.stderr
    assert "--image svg" in done.stderr
    assert list(tmp_path.iterdir()) == []


def browser_that(script: str, folder: Path) -> dict[str, str]:
    """A stand-in for Chromium, alone on PATH."""
    program = folder / "chromium"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return {"PATH": f"{folder}:/bin:/usr/bin"}


NO_PNG = 'for a; do case $a in --screenshot=*) echo no >"${a#*=}";; esac; done'


@pytest.mark.parametrize("script", ["exit 3", "exit 0", NO_PNG])
def test_a_browser_that_fails_leaves_nothing(script: str, sample: Callable[[str], Path], tmp_path: Path) -> None:
    tools, work = tmp_path / "bin", tmp_path / "work"
    tools.mkdir()
    work.mkdir()
    done = run("report", sample(SAMPLE), "-o", "a.md", "--image", "png", cwd=work, **browser_that(script, tools))
    assert (done.returncode, done.stdout) == (1, "")
    assert "could not draw the picture" in done.stderr
    assert list(work.iterdir()) == []


def chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """The chunks of a PNG, each with its checksum held against its bytes."""
    at, found = 8, []
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length]) == (zlib.crc32(kind + body),)
        found.append((kind, body))
        at += 12 + length
    return found


def test_a_png_says_who_wrote_it_and_stays_a_png(tmp_path: Path) -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    plain = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    plain += chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
    kinds = chunks(tagged(plain))
    assert [kind for kind, _ in kinds] == [b"IHDR", b"tEXt", b"IDAT", b"IEND"]
    assert kinds[1][1] == TAG
    target = tmp_path / "a.png"
    target.write_bytes(plain)
    with pytest.raises(OutputError, match="is no report of nsysparse"):
        check(target, force=False)
    target.write_bytes(tagged(plain))
    check(target, force=False)


@pytest.mark.skipif(not any(map(shutil.which, NAMES)), reason=f"no browser on PATH (looked for {', '.join(NAMES)})")
def test_png_by_a_real_browser(sample: Callable[[str], Path], tmp_path: Path) -> None:
    done = call("report", sample(SAMPLE), "-o", "a.md", "--image", "png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "(a-links-chart.png)" in (tmp_path / "a.md").read_text(encoding="utf-8")
    for figure in FIGURES:
        check(tmp_path / f"a-{figure}.png", force=False, inputs=[])  # the next run may write over its own
        kinds = chunks((tmp_path / f"a-{figure}.png").read_bytes())
        width, height = struct.unpack(">II", kinds[0][1][:8])
        assert width == 1920
        assert height > 300
        pixels = zlib.decompress(b"".join(body for kind, body in kinds if kind == b"IDAT"))
        assert len(set(pixels)) > 10  # more than one colour
