"""Every command with every format of output, as command lines: for what must hold of all of them."""

from pathlib import Path

from nsysparse.cli import COMMANDS
from nsysparse.cli.export import FORMATS as FRAME_FORMATS
from nsysparse.cli.export import FRAMES
from nsysparse.render import FORMATS

SALT = b"0123456789abcdef"


def every_command(trace: Path, folder: Path) -> list[list[str]]:
    """Command lines that succeed on a trace that holds a transfer.

    Args:
        trace: The trace.
        folder: Where outputs go; a salt is written there.
    """
    salt = folder / "salt"
    salt.write_bytes(SALT)
    saved = folder / "report.json"
    lines = [
        ["report", trace, "-f", each, "-o", folder / f"report{known.extension}"] for each, known in FORMATS.items()
    ]
    lines += [["report", trace, "-f", "markdown", "-o", folder / "drawn.md", "--image", "svg"]]
    lines += [
        ["report", saved, "-f", "html", "-o", folder / "again.html"],
        ["report", trace, "-f", "text", "-o", "-", "-vv"],
    ]
    lines += [
        ["diff", saved, saved, "-f", each, "-o", folder / f"diff{known.extension}"] for each, known in FORMATS.items()
    ]
    lines += [
        ["export", trace, "--frame", frame, "-f", form, "-o", folder / f"{frame}{suffix}"]
        for frame in FRAMES
        for form, suffix in FRAME_FORMATS.items()
    ]
    lines += [["export", trace, "--metrics", "--per-request", "-o", folder / "run.prom"]]
    lines += [["inspect", trace, "-f", each, "-o", folder / f"inspect.{each}"] for each in ("text", "json")]
    lines += [["redact", trace, "-o", folder / "kept.sqlite", "-vv"]]
    hashed = ["redact", trace, "-o", folder / "hashed.sqlite", "--names", "hash", "--salt", salt, "--rebase-times"]
    lines += [hashed, ["redact", trace, "-o", folder / "part.sqlite", "--time-range", "0ns..", "--salt", salt]]
    lines += [["presets", "check", "own"], ["presets", "list"], ["capture", "vllm"], ["convention"], ["links", "list"]]
    lines += [["models", "list"], ["kv", "llama-3-70b", "--link", "ib-ndr", "--tokens", "4096"]]
    assert {line[0] for line in lines} == set(COMMANDS)
    return [[str(word) for word in line] for line in lines]
