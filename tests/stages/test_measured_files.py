"""From a file to a ceiling: no tool is taken for another, nothing above the line rate passes, real samples hold."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsysparse.errors import InputError, UsageError
from nsysparse.measured.commands import command_for
from nsysparse.measured.loader import MOST_BYTES, TOOLS, read_measured

SAMPLES = {
    "perftest": """                    RDMA_Write BW Test
 Number of qps   : 4            Transport type : IB
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 1048576    5000             392.40             392.00             0.046730
""",
    "perftest JSON": '{\n"test_info": {\n"test": "Send_BW_Test"\n},\n"results": {\n"MsgSize": 65536,\n'
    '"BW_average": 390.5,\n"MsgRate": 0.744820\n}\n}\n',
    "nccl-tests": """# Collective test starting: sendrecv_perf
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
   134217728      33554432     float     sum      -1   2739.1   49.00   49.00      0   2739.1   49.00   49.00    N/A
""",
    "nccl-tests JSON": '{"nccl_version": 1, "args": ["sendrecv_perf"], "env": ["A=memcpy CE GPU(row) -> GPU(column)"],'
    ' "results": [{"size": 134217728, "out_of_place": {"alg_bw": 49.0, "bus_bw": 49.0, "nwrong": 0}}]}',
    "nvbandwidth": """Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0       N/A     49.00
 1     49.00       N/A
""",
    "nvbandwidth JSON": '{"nvbandwidth": {"testcases": [{"name": "device_to_device_memcpy_read_ce",'
    ' "bandwidth_matrix": [["N/A", "49"], ["49", "N/A"]]}]}}',
    "p2pBandwidthLatencyTest": """Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 1600.00  49.00
     1  49.00 1600.00
""",
    "nixlbench": """Block Size (B)      Batch Size     B/W (GB/Sec)   Avg Lat. (us)
1048576             1              49.000000      21.4
""",
    "mooncake": "Test completed: duration 10.01, batch count 12375, throughput 49.00 GB/s\n",
    "mooncake table": "BlkSize (B)   Batch   BW (GB/S)     Avg Lat (us)\n1048576       1       49.000000     21.4\n",
}


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "measured.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("name", SAMPLES)
def test_no_tool_is_taken_for_another(name: str, tmp_path: Path):
    known = [tool.NAME for tool in TOOLS if tool.recognises(SAMPLES[name])]

    assert known == [name.removesuffix(" JSON").removesuffix(" table")]
    found = read_measured(written(tmp_path, SAMPLES[name]))
    assert found.tool == known[0]
    assert found.bytes_per_s == pytest.approx(49e9, rel=0.005)
    assert found.note.endswith(".")


@pytest.mark.parametrize("name", SAMPLES)
def test_carriage_returns_a_byte_order_mark_and_colours_do_not_matter(name: str, tmp_path: Path):
    plain = read_measured(written(tmp_path, SAMPLES[name]))

    dressed = "\ufeff\x1b[1;32m" + SAMPLES[name].replace("\n", "\x1b[0m\r\n")
    assert read_measured(written(tmp_path, dressed)) == plain


@pytest.mark.parametrize("name", SAMPLES)
def test_more_than_the_link_carries_is_refused_with_both_figures(name: str, tmp_path: Path):
    path = written(tmp_path, SAMPLES[name])

    assert read_measured(path, 48.6e9).bytes_per_s  # less than one percent above
    with pytest.raises(InputError) as refused:
        read_measured(path, 25e9)
    assert "25.0 GB/s" in refused.value.message
    assert any(figure in refused.value.message for figure in ("49.0 GB/s", "48.8 GB/s"))
    assert "loopback" in refused.value.hint


def test_two_tools_in_one_file_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="the output of perftest and nixlbench"):
        read_measured(written(tmp_path, SAMPLES["perftest"] + SAMPLES["nixlbench"]))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "it is empty"),
        ("392.40\n", "a bare number"),
        ("iperf 3.1 \x1b[2J\x00 \u202e", r"begins 'iperf 3.1 \?\[2J\? \?'"),
        (b"\xff\xfe\x00", "no known benchmark"),
        ("{" * 50_000, "no known benchmark"),
        ("[" * 500_000, "no known benchmark"),
        ("{\n" * 50_000, "no known benchmark"),
    ],
)
def test_what_no_tool_wrote_is_refused_without_echoing_it(content: str | bytes, why: str, tmp_path: Path):
    with pytest.raises(InputError, match=why) as refused:
        read_measured(written(tmp_path, content))
    assert refused.value.message.isprintable()
    assert refused.value.hint


def test_a_refusal_names_file_and_line(tmp_path: Path):
    path = written(tmp_path, SAMPLES["mooncake"] * 2)

    with pytest.raises(InputError) as refused:
        read_measured(path)
    assert refused.value.message.startswith(f"{path}, line 2: ")


def test_what_cannot_be_read_or_is_too_large_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be read"):
        read_measured(tmp_path / "missing.txt")
    with pytest.raises(InputError, match="cannot be read"):
        read_measured(tmp_path)
    with pytest.raises(InputError, match="more than 10 MB"):
        read_measured(written(tmp_path, b" " * (MOST_BYTES + 1)))


NIXL = (
    "nixlbench --etcd_endpoints http://SERVER:2379 --backend UCX --op_type READ --initiator_seg_type VRAM"
    " --target_seg_type VRAM --start_block_size 1048576 --max_block_size 1048576"
)
MUTATED = st.tuples(st.sampled_from(sorted(SAMPLES)), st.integers(0, 400), st.integers(0, 12), st.text(max_size=6))


@settings(max_examples=200)
@given(MUTATED)
def test_a_damaged_file_gives_a_ceiling_in_bounds_or_a_refusal(
    tmp_path_factory: pytest.TempPathFactory, damage: tuple[str, int, int, str]
):
    name, at, cut, put = damage
    text = SAMPLES[name][:at] + put + SAMPLES[name][at + cut :]
    with suppress(InputError):
        found = read_measured(written(tmp_path_factory.getbasetemp(), text.encode("utf-8", "replace")), 50e9)
        assert 0 < found.bytes_per_s <= 50.5e9
        assert all(0 < rate.bytes_per_s < 1e15 for rate in found.curve)


@pytest.mark.parametrize(
    ("file", "test", "gb_s", "size"),
    [
        ("perftest_send_mib_ndr_cx7.txt", "ib_send_bw", 48.82, 65_536),
        ("perftest_read_gbits_ndr_cx7.txt", "ib_read_bw", 328.61 / 8, 65_536),
        ("perftest_write_gbits_all_bidir_400g_roce.txt", "ib_write_bw", 779.21 / 16, 8_388_608),
        ("perftest_write_json_valid.json", "ib_write_bw", 2.3376, 65_536),
        ("perftest_rows_misc.txt", "bandwidth test", 184.94 / 8, 65_536),
        ("nccl_sendrecv_2xA40_two_nodes_partial.txt", "sendrecv_perf", 0.13, 4_096),
        ("nccl_sendrecv_2xGTX1080_oldheader_partial.txt", "sendrecv_perf", 3.22, 37_748_744),
        ("nvbandwidth_readme_8xA100_d2d_zero_diagonal.txt", "device_to_device_memcpy_write_ce", 276.3, None),
        ("nvbandwidth_v08_6xA6000_d2d_read.txt", "device_to_device_memcpy_read_ce", 22.64, None),
        ("nvbandwidth_json_verboseFullOutput.json", "device_to_host_memcpy_ce", 13.2, None),
        ("p2pbw_2xH100_pcie_nvlink_bridge.txt", "Unidirectional P2P=Enabled", 256.8, None),
        ("nixlbench_new_tcpxo_a3mega_read.txt", "nixlbench", 0.105219, 16_384),
        ("nixlbench_legacy_fixture.txt", "nixlbench", 1_688.44, 67_108_864),
        ("nixlbench_newformat_ucx_noise.txt", "nixlbench", 1_636.801561, 67_108_864),
    ],
)
def test_real_output_gives_the_published_rates(
    shared: Callable[[str], Path], file: str, test: str, gb_s: float, size: int | None
):
    found = read_measured(shared(f"bench_outputs/{file}"))

    assert (found.test, found.size_bytes) == (test, size)
    assert found.bytes_per_s / 1e9 == pytest.approx(gb_s, rel=1e-3)


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("nccl_allreduce_2xK80_wrongNA.txt", "does not say which test"),
        ("p2pbw_8xH100_hgx_uni_disabled.txt", "staged through host memory"),
        ("nccl_allreduce_oldheader_8xA100.txt", "differ"),
        ("nccl_allreduce_p5_2node_mpi_prefix.txt", "differ"),
        ("nccl_allreduce_v2.20_header_unalign.txt", "all_reduce_perf"),
        ("mooncake_bench_lines.txt", "5 runs"),
        ("perftest_write_mib_hdr_loopback_8M_oldlabel.txt", "loopback"),
        ("SOURCES.txt", "no known benchmark"),
    ],
)
def test_real_output_that_proves_nothing_is_refused(shared: Callable[[str], Path], file: str, why: str):
    with pytest.raises(InputError, match=why):
        read_measured(shared(f"bench_outputs/{file}"))


def test_a_run_inside_one_host_is_refused_for_a_link_between_hosts(shared: Callable[[str], Path]):
    with pytest.raises(InputError, match=r"1636\.8 GB/s, more than the link's 50\.0 GB/s"):
        read_measured(shared("bench_outputs/nixlbench_newformat_ucx_noise.txt"), 50e9)


@pytest.mark.parametrize(
    ("kind", "size", "op", "memory", "command"),
    [
        (
            "infiniband",
            2**20,
            "write",
            "gpu",
            "ib_write_bw -s 1048576 -q 4 --use_cuda=0 --report_gbits -D 10 -F SERVER",
        ),
        ("ethernet", 2**20, "read", "host", "ib_read_bw -s 1048576 -q 4 --report_gbits -D 10 -F SERVER"),
        ("roce", 64, "copy", "host", "ib_write_bw -s 65536 -q 4 --report_gbits -D 10 -F SERVER"),
        ("nvlink", 2**26, "copy", "gpu", "nvbandwidth -t device_to_device_memcpy_write_ce -b 64"),
        ("nvlink", 2**26, "read", "gpu", "nvbandwidth -t device_to_device_memcpy_read_ce -b 64"),
        ("pcie", 100, "write", "host", "nvbandwidth -t device_to_host_memcpy_ce -b 1"),
        ("c2c", 2**40, "read", "host", "nvbandwidth -t host_to_device_memcpy_ce -b 1024"),
        ("nccl", 2**20, "copy", "gpu", "mpirun -np 2 -H HOST1,HOST2 sendrecv_perf -b 1048576 -e 1073741824 -f 2 -g 1"),
        (
            "nixl",
            2**20,
            "read",
            "gpu",
            NIXL,
        ),
    ],
)
def test_the_command_measures_what_is_asked(kind: str, size: int, op: str, memory: str, command: str):
    assert command_for(kind, size, op, memory) == command  # type: ignore[arg-type]


def test_a_kind_of_link_that_no_benchmark_measures_is_refused():
    with pytest.raises(UsageError, match="'dram'"):
        command_for("dram", 1, "read", "host")
