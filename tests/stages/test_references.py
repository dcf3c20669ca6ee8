"""Which link is held against which peak: as the user names it, as a machine has it, or as GPUs' names imply it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nsysparse.api import Options, analyse
from nsysparse.catalog.loader import find_box, find_link, link_of_gpu
from nsysparse.errors import InputError, UsageError
from nsysparse.measured.loader import read_measured
from nsysparse.testing import TraceBuilder
from nsysparse.theory.practical import with_measured
from nsysparse.theory.references import References, references

SEND_RECV = "ncclDevKernel_SendRecv(args)"
H100, H800 = "NVIDIA H100 80GB HBM3", "NVIDIA H800"
# Of ib_write_bw: size, iterations, peak, average and message rate.
PERFTEST = """
                    RDMA_Write BW Test
 Number of qps   : 4            Transport type : IB
 Link type       : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    5000             0.00               {rate}             {messages}
---------------------------------------------------------------------------------------
"""


def trace(folder: Path, name: str, gpu: str, sides: tuple[str, ...]) -> Path:
    """Processes of one machine, each with a device of its own, that send or receive once over one communicator."""
    builder = TraceBuilder(schema="3.25", gpus=dict.fromkeys(range(4), gpu), duration=10**9)
    for number, side in enumerate(sides):
        rank = 0 if side == "ncclSend" else 1
        process = builder.process(pid=10 + rank)
        thread = process.thread(tid=20 + rank)
        thread.nccl("ncclCommInitRank", 10, 90, communicator=9, nranks=2, rank=rank, device=rank)
        thread.nccl(side, 1_000, 1_010, communicator=9, nbytes=200_000_000, peer=1 - rank)
        launch = thread.launch(1_002, 1_004)
        process.kernel(SEND_RECV, 2_000 + number, 10_002_000, device=rank, launch=launch, stream=20)
    return builder.write(folder / f"{name}.sqlite")


def one_machine(folder: Path, gpu: str = H100) -> list[Path]:
    return [trace(folder, "both", gpu, ("ncclSend", "ncclRecv"))]


def two_machines(folder: Path) -> list[Path]:
    return [trace(folder, "p", H100, ("ncclSend",)), trace(folder, "d", H100, ("ncclRecv",))]


@pytest.mark.parametrize(
    ("name", "link"),
    [
        (H100, "nvlink4-h100"), (H800, "nvlink4-h800"), ("NVIDIA H200", "nvlink4-h100"),
        ("NVIDIA B200", "nvlink5-b200"),
        ("NVIDIA A100-SXM4-80GB", "nvlink3-a100"), ("NVIDIA A800-SXM4-80GB", "nvlink3-a800"),
        ("Tesla V100-SXM2-32GB", "nvlink2-v100"), ("NVIDIA H100 PCIe", None), ("NVIDIA H100 NVL", None),
        ("NVIDIA H200 NVL", None), ("NVIDIA A100 80GB PCIe", None), ("NVIDIA L40S", None), ("", None),
        ("synthetic GPU", None),
    ],
)  # fmt: skip
def test_a_product_name_implies_its_link_where_it_leaves_no_doubt(name: str, link: str | None) -> None:
    found = link_of_gpu(name)
    assert (found and found.id) == link


def test_gpus_of_one_trace_have_the_link_of_their_name_and_the_report_says_so(tmp_path: Path) -> None:
    analysis = analyse(one_machine(tmp_path))
    (link,) = analysis.links
    assert link.peak_gb_s == 450
    assert link.peak_source is not None
    assert link.peak_source.startswith(f"assumed of GPUs named {H100}; catalogue: nvlink4-h100")
    setting = analysis.settings["link"]
    assert setting.value == "nvlink4-h100"
    assert "--link unknown assumes nothing" in setting.source


def test_an_export_model_is_not_its_chip(tmp_path: Path) -> None:
    (link,) = analyse(one_machine(tmp_path, H800)).links
    assert link.peak_gb_s == 200


def test_between_traces_nothing_is_assumed(tmp_path: Path) -> None:
    (link,) = analyse(two_machines(tmp_path)).links
    assert link.peak_gb_s is None


def test_unknown_assumes_nothing(tmp_path: Path) -> None:
    analysis = analyse(one_machine(tmp_path), Options(link="unknown"))
    assert [link.peak_gb_s for link in analysis.links] == [None]


def test_gpus_of_several_kinds_imply_nothing() -> None:
    assert references(None, None, None, [H100, H800], ["t"]) == References(trace_ids=("t",))
    assert references(None, None, None, [H100, None], ["t"]) == References(trace_ids=("t",))
    assert references(None, None, None, [], ["t"]) == References(trace_ids=("t",))


def test_a_machine_has_a_link_inside_and_adapters_to_others(tmp_path: Path) -> None:
    box = find_box("dgx-h100")
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (within,) = analyse(one_machine(inside), Options(box="dgx-h100")).links
    assert within.peak_gb_s == box.pair_intra_one_way_peak_bytes_per_s / 1e9 == 450
    (across,) = analyse(two_machines(outside), Options(box="dgx-h100")).links
    assert box.nic_one_way_peak_per_gpu_bytes_per_s is not None
    assert across.peak_gb_s == box.nic_one_way_peak_per_gpu_bytes_per_s / 1e9 == 50


def test_an_end_that_is_no_device_is_neither_within_nor_across() -> None:
    known = references(None, None, "dgx-h100", [], ["p", "p:1"])
    assert known.between("p:gpu0", "p:gpu1") == known.within
    assert known.between("p:gpu0", "p:1:gpu0") == known.across
    assert known.between("p:gpu0", "9:1") is None
    assert known.everywhere() is None


@pytest.mark.parametrize(
    ("link", "peak", "box"), [("ib-ndr", None, "dgx-h100"), (None, 5.0, "dgx-h100"), ("unknown", 5.0, None)]
)
def test_two_options_do_not_name_one_link(link: str | None, peak: float | None, box: str | None) -> None:
    with pytest.raises(UsageError, match="names"):
        references(link, peak, box, [], [])


def test_a_measured_ceiling_takes_the_place_of_what_is_typical(tmp_path: Path) -> None:
    file = tmp_path / "ib.txt"
    file.write_text(PERFTEST.format(rate="392.30", messages="0.005846"))
    analysis = analyse(two_machines(tmp_path), Options(link="ib-ndr", measured=file))
    (link,) = analysis.links
    assert link.peak_gb_s == 50
    assert link.practical_gb_s == pytest.approx(49.0375)
    assert link.practical_source is not None
    assert link.practical_source.startswith("measured: ib_write_bw at 8.39 MB, 4 queue pairs (ib.txt).")
    assert analysis.settings["measured"].value == "ib.txt"


def test_more_than_the_link_can_carry_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "ib.txt"
    file.write_text(PERFTEST.format(rate="792.30", messages="0.011806"))
    with pytest.raises(InputError, match="more than the link's"):
        analyse(two_machines(tmp_path), Options(link="ib-ndr", measured=file))


def test_a_measurement_needs_the_link_that_was_measured(tmp_path: Path) -> None:
    file = tmp_path / "ib.txt"
    file.write_text(PERFTEST.format(rate="392.30", messages="0.005846"))
    with pytest.raises(UsageError, match="of a link between machines, and none is known"):
        analyse(two_machines(tmp_path), Options(measured=file))  # the name of its GPUs implies their NVLink only
    with pytest.raises(UsageError, match="needs the link"):
        with_measured(references(None, None, None, [], []), read_measured(file), file)


NVBANDWIDTH = """
memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)
           0
 0     55.64

SUM device_to_host_memcpy_ce 55.64
"""
SENDRECV = """# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809
# Collective test starting: sendrecv_perf
#  Rank  0 Group  0 Pid  11 on      one device  0 [0000:04:00] NVIDIA H100
#  Rank  1 Group  0 Pid  12 on {other:>8} device  1 [0000:05:00] NVIDIA H100
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     {size:>8}      16777216     float     sum      -1   {time:>7}  {rate:>6}  {rate:>6}      0   {time:>7}  {rate:>6}  {rate:>6}    N/A
"""  # noqa: E501
BIG = {"size": 2**26, "time": 1864.1, "rate": 36.0}


def written(folder: Path, text: str) -> Path:
    file = folder / "measured.txt"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("text", "link", "why"),
    [
        (NVBANDWIDTH, "nvlink4-h100", "to or from the host"),
        (NVBANDWIDTH, "ib-ndr", "copies inside one host"),
        (PERFTEST.format(rate="392.30", messages="0.005846"), "nvlink4-h100", "crosses network adapters"),
        (PERFTEST.replace("RDMA_Write BW Test", "").format(rate="392.30", messages="0.005846"), "ib-ndr", "title"),
        (SENDRECV.format(other="one", **BIG), "ib-ndr", "in one host"),
        (SENDRECV.format(other="two", size=16_384, time=0.455, rate=36.0), "ib-ndr", "16.4 kB a message"),
    ],
)
def test_a_benchmark_of_something_else_is_no_ceiling(tmp_path: Path, text: str, link: str, why: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(InputError, match=why):
        with_measured(references(link, None, None, [], []), read_measured(file), file)


def test_a_benchmark_holds_for_the_side_of_a_machine_that_it_ran_on(tmp_path: Path) -> None:
    box = references(None, None, "dgx-h100", [], [])
    inside = written(tmp_path, SENDRECV.format(other="one", **BIG | {"rate": 361.8, "time": 185.5}))
    found = with_measured(box, read_measured(inside), inside)
    assert found.within is not None
    assert found.within.practical_gb_s == pytest.approx(361.8)
    assert found.across == box.across
    outside = written(tmp_path, SENDRECV.format(other="two", **BIG))
    found = with_measured(box, read_measured(outside), outside)
    assert found.across is not None
    assert found.across.practical_gb_s == pytest.approx(36)
    assert found.within == box.within


def test_one_adapter_is_measured_and_all_of_a_gpu_are_counted(tmp_path: Path) -> None:
    file = written(tmp_path, PERFTEST.format(rate="784.60", messages="0.011692"))
    found = with_measured(references(None, None, "vr-nvl72", [], []), read_measured(file), file)
    assert found.across is not None
    assert found.across.gb_s == 200
    assert found.across.practical_gb_s == pytest.approx(2 * 98.075)
    assert "times 2 adapters" in str(found.across.practical_source)
    faster = written(tmp_path, PERFTEST.format(rate="1584.60", messages="0.023612"))
    with pytest.raises(InputError, match=r"more than the link's 100\.0 GB/s"):
        with_measured(references(None, None, "vr-nvl72", [], []), read_measured(faster), faster)


@pytest.mark.parametrize(
    ("box", "count", "whole"), [("aws-p5", 4, 48.3), ("aws-p5en", 2, 24.15), ("aws-p4d", 0.5, 6.0375)]
)
def test_adapters_of_machines_are_counted_where_their_link_is_all_of_them(
    tmp_path: Path, box: str, count: float, whole: float
) -> None:
    file = written(tmp_path, PERFTEST.format(rate="96.60", messages="0.0014395"))
    found = with_measured(references(None, None, box, [], []), read_measured(file), file)
    assert found.adapters == count
    assert found.across is not None
    assert found.across.practical_gb_s == pytest.approx(whole)


def test_a_test_over_ethernet_is_no_ceiling_of_infiniband(tmp_path: Path) -> None:
    file = written(tmp_path, PERFTEST.replace(": IB\n", ": Ethernet\n").format(rate="392.30", messages="0.005846"))
    with pytest.raises(InputError, match="ran over Ethernet"):
        with_measured(references("ib-ndr", None, None, [], []), read_measured(file), file)
    assert with_measured(references("eth-400g", None, None, [], []), read_measured(file), file).across is not None
    with pytest.raises(UsageError, match="headers of packets"):
        with_measured(references("eth-400g@roce-mtu1024", None, None, [], []), read_measured(file), file)


def test_a_total_of_both_directions_has_no_measured_ceiling(tmp_path: Path) -> None:
    file = written(tmp_path, SENDRECV.format(other="one", **BIG))
    with pytest.raises(UsageError, match="adds both directions up"):
        with_measured(references("nvlink4-h100@bidirectional", None, None, [], []), read_measured(file), file)


def test_a_measurement_of_a_link_that_carried_nothing_is_told(tmp_path: Path) -> None:
    file = written(tmp_path, PERFTEST.format(rate="392.30", messages="0.005846"))
    unused = analyse(one_machine(tmp_path), Options(box="dgx-h100", measured=file))
    assert [each.count for each in unused.warnings if each.code == "measured-ceiling-unused"] == [1]
    used = analyse(two_machines(tmp_path), Options(box="dgx-h100", measured=file))
    assert "measured-ceiling-unused" not in {each.code for each in used.warnings}


@pytest.mark.parametrize(("traces", "command"), [(one_machine, "nvbandwidth"), (two_machines, "ib_write_bw")])
def test_the_command_measures_the_link_that_carried_most(
    tmp_path: Path, traces: Callable[[Path], list[Path]], command: str
) -> None:
    analysis = analyse(traces(tmp_path), Options(box="dgx-h100"))
    (reason,) = [each for each in analysis.reasons if each.path == "/settings/measured/value"]
    assert reason.fix.startswith(command)


def test_without_a_measurement_the_report_has_the_command_for_one(tmp_path: Path) -> None:
    analysis = analyse(two_machines(tmp_path), Options(link="ib-ndr"))
    (fix,) = (reason.fix for reason in analysis.reasons if reason.path == "/settings/measured/value")
    assert fix.startswith("ib_write_bw -s 200000000 -q 4 --use_cuda=0")
    assert fix.endswith("# then --measured FILE")
    assert find_link("ib-ndr").kind == "infiniband"


def test_a_model_and_a_link_have_a_critical_length(tmp_path: Path) -> None:
    """30 ms at 12.5 GB/s are 375 MB: 1,144 tokens of 327,680 bytes."""
    asked = Options(link="eth-100g", model="llama-3-70b", step_ns=(30_000_000, 60_000_000))
    analysis = analyse(two_machines(tmp_path), asked)
    assert [each.critical_tokens for each in analysis.theory.by_link] == [{"low": 1144, "high": 2288}]
    assert analysis.settings["step_ms"].value == [30, 60]
    (unnamed,) = analyse(two_machines(tmp_path), Options(link="eth-100g")).theory.by_link
    assert unnamed.critical_tokens is None
