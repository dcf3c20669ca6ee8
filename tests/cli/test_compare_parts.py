"""What a comparison says of runs that are parts: of which time or files were left out."""

from pathlib import Path

import pytest
from commands import call
from rank_files import Run, write_run

GATE = ("--fail-on", "movement_count<-99%")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Reports of one run: whole, of a part of the time, and with a file that could not be read."""
    folder = tmp_path_factory.mktemp("saved")
    (folder / "run").mkdir()
    write_run(folder / "run", Run(ranks=1, requests=3))
    for name, asked in (("whole", ()), ("part", ("--time-range", "..25ms")), ("other", ("--time-range", "..45ms"))):
        assert call("report", "run", *asked, "-f", "json", "-o", f"{name}.json", cwd=folder).returncode == 0
    (folder / "run" / "bad.sqlite").write_text("no database")
    assert call("report", "run", "-f", "json", "-o", "less.json", cwd=folder).returncode == 1
    return folder


@pytest.mark.parametrize(
    ("base", "candidate", "said", "is_answered"),
    [
        ("whole", "whole", None, True),
        ("whole", "part", "The candidate: traces of which only a part of the time", False),
        ("part", "whole", "Base: traces of which only a part of the time", False),
        ("part", "other", "Both: traces of which only a part of the time", False),
        ("part", "part", "Both: traces of which only a part of the time", True),
        ("whole", "less", "The candidate: files of this run that could not be read", False),
        ("less", "less", "Both: files of this run that could not be read", False),
    ],
)
def test_a_part_is_said_first_and_leaves_gates_on_changes_open(
    base: str,
    candidate: str,
    said: str | None,
    is_answered: bool,  # noqa: FBT001
    saved: Path,
) -> None:
    done = call("diff", f"{base}.json", f"{candidate}.json", *GATE, "-f", "markdown", "-o", "-", cwd=saved)
    assert done.returncode == (0 if is_answered else 4)
    assert ("**Partial.**" in done.stdout) is (said is not None)
    if said is not None:
        assert f"> **Partial.** {said}" in done.stdout
        assert f"Before comparing: {said}" not in done.stdout  # said once above the tables
    value = call(
        "diff", f"{base}.json", f"{candidate}.json", "--fail-on", "movement_count>1", "-f", "json", "-o", "-", cwd=saved
    )
    assert value.returncode == 3  # the candidate's own value needs nothing of the base


def test_an_export_says_that_sums_are_of_a_part(saved: Path) -> None:
    (saved / "run" / "bad.sqlite").unlink(missing_ok=True)
    for asked in (("--metrics",), ("--frame", "nvtx_ranges")):
        whole, part = (
            call("export", "run", *asked, *more, "-o", "-", cwd=saved).stderr
            for more in ((), ("--time-range", "..25ms"))
        )
        assert "Only a part of the time was read" in part
        assert "Only a part" not in whole
