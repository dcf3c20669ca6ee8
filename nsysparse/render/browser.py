"""PNG of an SVG by a headless Chromium that is installed, which is given no network.

The bytes depend on its version and on the machine's fonts.
"""

import os
import shutil
import struct
import subprocess
import tempfile
import zlib
from pathlib import Path

from nsysparse.errors import OutputError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge", "microsoft-edge")
"""Looked for on PATH, in this order."""
TAG = b"Software\x00nsysparse figure"
"""In the file's text, by which its writer knows it again."""
_SECONDS = 120
_SCALE = 2
"""Pixels of the picture for one of the SVG, so that text is sharp on dense screens."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER_END = 33
"""After the signature and the first chunk, IHDR."""
_OFFLINE = (
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--no-first-run", "--disable-quic", "--disable-extensions", "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=127.0.0.1:9",
)  # fmt: skip


def find_browser() -> str:
    """The path of a Chromium.

    Raises:
        OutputError: There is none on PATH.
    """
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise OutputError(
            f"PNG needs a headless Chromium, and there is none on PATH (looked for {', '.join(NAMES)}).",
            "Install one, or take --image svg, which needs none.",
        )
    return found


def png(browser: str, svg: str, width: int, height: int) -> bytes:
    """The picture, light, at twice the size of the SVG in pixels, tagged as ours.

    Raises:
        OutputError: The browser failed, or wrote no PNG.
    """
    with tempfile.TemporaryDirectory(prefix="nsysparse-") as name:
        folder = Path(name)
        source, target = folder / "figure.svg", folder / "figure.png"
        source.write_text(svg, encoding="utf-8")
        command = [
            browser, "--headless", "--disable-gpu", "--hide-scrollbars", *_OFFLINE,
            *(["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []),  # as root it refuses to have one
            f"--user-data-dir={folder / 'profile'}", f"--force-device-scale-factor={_SCALE}",
            f"--window-size={width},{height}", f"--screenshot={target}", source.as_uri(),
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603 (no shell)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _failed(browser, str(error)) from error
        data = target.read_bytes() if target.exists() else b""
    if done.returncode or not data.startswith(_SIGNATURE):
        raise _failed(browser, f"exit {done.returncode}, no picture")
    return tagged(data)


def tagged(data: bytes) -> bytes:
    """The PNG with a text that says who wrote it, after its header."""
    chunk = b"tEXt" + TAG
    text = struct.pack(">I", len(TAG)) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return data[:_HEADER_END] + text + data[_HEADER_END:]


def _failed(browser: str, why: str) -> OutputError:
    return OutputError(f"{Path(browser).name}: could not draw the picture ({why}).", "Take --image svg instead.")
