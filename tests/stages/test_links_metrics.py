"""Rates of links are bounds whatever the sides stand on."""

from pathlib import Path

import pytest

from nsysparse.api import Options, analyse
from nsysparse.testing import TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"


def two_pairs(folder: Path) -> Path:
    """One pair has only its receive kernel, the next only its send kernel; 1 kB in 1 us each."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for pid, name in ((1, "ncclSend"), (2, "ncclRecv")):
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        # A kernel of another communicator tells on which device each process is.
        thread.nccl("ncclSend", 10, 12, communicator=6, nbytes=1, peer=5)
        process.kernel(SEND_RECV, 50, 60, device=pid - 1, launch=thread.launch(11, 12))
        for index, at in enumerate((100, 200)):
            thread.nccl(name, at, at + 10, communicator=5, nbytes=1000, peer=2 - pid)
            if (index == 0) == (name == "ncclRecv"):
                begin = 1000 + 1000 * index
                process.kernel(SEND_RECV, begin, begin + 1000, device=pid - 1, launch=thread.launch(at + 2, at + 4))
    return builder.write(folder / "t.sqlite")


def test_a_headline_covers_the_intervals_of_both_sides(tmp_path: Path) -> None:
    analysis = analyse([two_pairs(tmp_path)], Options(peak_gb_s=1.5))
    (link,) = [link for link in analysis.links if link.bytes == 2000]
    assert link.headline_gb_s == pytest.approx(1.0)
    assert link.link_gb_s == pytest.approx(1.0)
    assert link.inconsistent_count == 0


@pytest.mark.parametrize("peak", ["1e300", "1e-320", "0", "-1", "nan", "inf"])
def test_a_peak_that_no_link_has_is_a_usage_error(peak: str, tmp_path: Path) -> None:
    from nsysparse.errors import UsageError

    with pytest.raises(UsageError):
        analyse([two_pairs(tmp_path)], Options(peak_gb_s=float(peak)))
