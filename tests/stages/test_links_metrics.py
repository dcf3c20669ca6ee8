"""Rates of links are bounds whatever the sides stand on."""

from pathlib import Path

import pytest

from nsysparse.api import Options, analyse
from nsysparse.testing import TraceBuilder

SEND_RECV = "ncclDevKernel_SendRecv(args)"
# Above what one channel can buffer, so that one side alone proves something.
MESSAGE = 12 * 2**20
BUFFERED = 4 * 2**20


def two_pairs(folder: Path) -> Path:
    """One pair has only its receive kernel, the next only its send kernel; 12 MiB in 1 ms each."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for pid, name in ((1, "ncclSend"), (2, "ncclRecv")):
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        # A kernel of another communicator tells on which device each process is.
        thread.nccl("ncclSend", 10, 12, communicator=6, nbytes=1, peer=5)
        process.kernel(SEND_RECV, 50, 60, device=pid - 1, launch=thread.launch(11, 12))
        for index, at in enumerate((100, 200)):
            thread.nccl(name, at, at + 10, communicator=5, nbytes=MESSAGE, peer=2 - pid)
            if (index == 0) == (name == "ncclRecv"):
                begin = 1_000_000 * (1 + index)
                process.kernel(
                    SEND_RECV, begin, begin + 1_000_000, device=pid - 1, gridX=1, launch=thread.launch(at + 2, at + 4)
                )
    return builder.write(folder / "t.sqlite")


def test_one_sided_kernels_prove_what_cannot_have_been_buffered(tmp_path: Path) -> None:
    analysis = analyse([two_pairs(tmp_path)], Options(peak_gb_s=15.0))
    (link,) = [link for link in analysis.links if link.bytes == 2 * MESSAGE]
    # Each side's run is one message of which 4 MiB may have crossed before or after.
    assert link.headline_gb_s == pytest.approx((MESSAGE - BUFFERED) / 1_000_000)
    assert link.headline_basis == "kernel"
    # Both intervals, whichever device they are on.
    assert link.link_gb_s == pytest.approx(2 * MESSAGE / 2_000_000)
    assert link.inconsistent_count == 0


def test_a_pair_proves_its_bytes_over_the_span_of_both_kernels(tmp_path: Path) -> None:
    """The send [0, 1 ms) had left when the receive [1, 1.01 ms) came: no 400 GB/s, but 4 MB in 1.01 ms."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for pid, name, begin, end in ((1, "ncclSend", 0, 1_000_000), (2, "ncclRecv", 1_000_000, 1_010_000)):
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        thread.nccl("ncclCommInitRank", 1, 5, communicator=5, nranks=2, rank=pid - 1, device=pid - 1)
        thread.nccl(name, 6, 8, communicator=5, nbytes=1, peer=2 - pid)  # the first use is in no rate
        thread.nccl(name, 10, 20, communicator=5, nbytes=4_000_000, peer=2 - pid)
        process.kernel(SEND_RECV, begin + 100, end + 100, device=pid - 1, gridX=1, launch=thread.launch(12, 14))
    analysis = analyse([builder.write(tmp_path / "t.sqlite")], Options(peak_gb_s=450.0))
    (link,) = analysis.links
    assert link.headline_gb_s == pytest.approx(4_000_000 / 1_010_000)
    assert link.wire_gb_s is None
    assert analysis.totals.wire_ns is None


def test_ordinals_of_two_processes_are_two_gpus_where_the_file_says_so(tmp_path: Path) -> None:
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for pid, gpu, name in ((1, 0, "ncclSend"), (2, 1, "ncclRecv")):
        process = builder.process(pid=pid, devices={0: gpu})
        thread = process.thread(tid=pid)
        thread.nccl(name, 10, 20, communicator=5, nbytes=4_000_000, peer=2 - pid)
        process.kernel(SEND_RECV, 100, 1000, device=0, launch=thread.launch(12, 14))
    (link,) = analyse([builder.write(tmp_path / "t.sqlite")]).links
    assert (link.src, link.dst) == ("t:gpu0", "t:gpu1")


@pytest.mark.parametrize("peak", ["1e300", "1e-320", "0", "-1", "nan", "inf"])
def test_a_peak_that_no_link_has_is_a_usage_error(peak: str, tmp_path: Path) -> None:
    from nsysparse.errors import UsageError

    with pytest.raises(UsageError):
        analyse([two_pairs(tmp_path)], Options(peak_gb_s=float(peak)))


def test_every_communicator_has_buffers_of_its_own(tmp_path: Path) -> None:
    """Receive kernels only, over two communicators: 4 MiB of each may have crossed before or after the run."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for pid, name in ((1, "ncclSend"), (2, "ncclRecv")):
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        # A kernel of another communicator tells on which device each process is.
        thread.nccl("ncclSend", 10, 12, communicator=6, nbytes=1, peer=5)
        process.kernel(SEND_RECV, 50, 60, device=pid - 1, launch=thread.launch(11, 12))
        for index in range(4):
            at, begin = 100 * (1 + index), 1_000_000 + 100_000 * index
            thread.nccl(name, at, at + 10, communicator=7 + index % 2, nbytes=MESSAGE, peer=2 - pid)
            if name == "ncclRecv":
                launch = thread.launch(at + 2, at + 4)
                process.kernel(SEND_RECV, begin, begin + 100_000, device=1, gridX=1, launch=launch)
    analysis = analyse([builder.write(tmp_path / "t.sqlite")])
    (link,) = [link for link in analysis.links if link.bytes == 4 * MESSAGE]
    assert link.headline_gb_s == pytest.approx((4 * MESSAGE - 2 * BUFFERED) / 400_000)


def test_pairs_by_position_prove_no_more_than_one_side(tmp_path: Path) -> None:
    """Payloads without communicator: which send met which receive is a guess."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    for pid, name in ((1, "ncclSend"), (2, "ncclRecv")):
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        thread.nccl(name, 10, 20, nbytes=1_000_000, peer=2 - pid)
        process.kernel(SEND_RECV, 100, 1_100, device=pid - 1, gridX=1, launch=thread.launch(12, 14))
    analysis = analyse([builder.write(tmp_path / "t.sqlite")])
    (link,) = analysis.links
    assert link.headline_gb_s is None
    assert link.link_gb_s == pytest.approx(1000)


def test_a_sequence_that_a_capture_may_have_shifted_proves_no_more_than_one_side(tmp_path: Path) -> None:
    """Cut after send 0 and before receive 5: send k + 1 seems to meet receive k, 10 us apart, on a link of 40 GB/s."""
    period, nbytes = 120_000, 4_000_000
    builder = TraceBuilder(schema="3.25", gpus={0: "x", 1: "y"})
    first = 1_000_000
    for pid, name, begins in (
        (1, "ncclSend", [first + period * k for k in range(1, 6)]),
        (2, "ncclRecv", [first + period * (k + 1) for k in range(5)]),
    ):
        process = builder.process(pid=pid)
        thread = process.thread(tid=pid)
        for at in begins:
            thread.nccl(name, at - 5000, at - 4000, communicator=5, nbytes=nbytes, peer=2 - pid)
            launch = thread.launch(at - 4900, at - 4800)
            process.kernel(SEND_RECV, at, at + 10_000, device=pid - 1, gridX=1, launch=launch)
    (link,) = analyse([builder.write(tmp_path / "t.sqlite")]).links
    assert link.headline_gb_s is not None
    assert link.headline_gb_s <= nbytes / 100_000
    assert link.kernel_gb_s is None or link.kernel_gb_s.max is None
