"""perftest: units, sums of both directions, peaks of zero, JSON old and new, and what proves nothing."""

import re

import pytest

from nsysparse.measured.perftest import parse, recognises
from nsysparse.measured.text import RefusedError

RULE = "-" * 87


def printed(
    *rows: str,
    title: str | None = "RDMA_Write BW Test",
    unit: str = "Gb/sec",
    qps: int | None = 4,
    before: str = "",
    lids: tuple[str, str] = ("0x01", "0x02"),
) -> str:
    return "\n".join(
        [
            before,
            RULE,
            *([f"                    {title}"] if title else []),
            " Dual-port       : OFF\t\tDevice         : mlx5_0",
            *([f" Number of qps   : {qps}\t\tTransport type : IB"] if qps else []),
            " Mtu             : 4096[B]",
            RULE,
            f" local address: LID {lids[0]} QPN 0x0049 PSN 0x8b53ba",
            f" remote address: LID {lids[1]} QPN 0x0048 PSN 0xee081e",
            RULE,
            f" #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]",
            *rows,
            RULE,
        ]
    )


def test_gigabits_are_an_eighth_of_a_billion_bytes():
    found = parse(printed(" 65536      5000             392.40             392.30 \t\t     0.748253"))

    assert found.bytes_per_s == pytest.approx(49.0375e9)  # 392.30e9 / 8
    assert (found.test, found.direction, found.queue_pairs, found.size_bytes) == ("ib_write_bw", "write", 4, 65_536)
    assert [(rate.size_bytes, rate.bytes_per_s) for rate in found.curve] == [(65_536, pytest.approx(49.0375e9))]


@pytest.mark.parametrize("unit", ["MB/sec", "MiB/sec"])
def test_megabytes_are_binary_under_both_labels(unit: str):
    row = " 65536      1000             46567.34            46557.03\t\t     0.744912"

    found = parse(printed(row, title="Send BW Test", unit=unit))

    assert found.bytes_per_s == pytest.approx(46_557.03 * 1_048_576)
    assert found.bytes_per_s == pytest.approx(65_536 * 0.744912e6, rel=1e-5)
    assert (found.test, found.direction) == ("ib_send_bw", "send")
    assert "2^20" in found.note


def test_a_wrong_label_is_overruled_by_size_times_message_rate():
    found = parse(printed(" 65536      1000             46567.34            46557.03     0.744912", unit="Gb/sec"))

    assert found.bytes_per_s == pytest.approx(48.82e9, rel=1e-3)
    assert "Labelled Gb/sec, but size times message rate says MiB/s." in found.note


def test_an_average_that_no_unit_explains_is_refused():
    with pytest.raises(RefusedError, match="not size times message rate"):
        parse(printed(" 65536      1000             100.00            100.00     0.744912"))


def test_a_message_rate_too_small_to_print_leaves_the_label():
    found = parse(printed(" 8388608      10             0.00             400.00     0.000000"))

    assert found.bytes_per_s == pytest.approx(50e9)
    assert "no message rate confirms it" in found.note


def test_the_average_counts_not_the_peak_which_is_zero_for_a_duration():
    found = parse(printed(" 1048576    224958           0.00               376.00 \t\t     0.044823"))

    assert found.bytes_per_s == pytest.approx(47e9)


def test_of_all_sizes_the_largest_average_from_64_kib_on_counts():
    rows = [
        " 2          5000           0.147331            0.146472            9.154486",
        " 32768      5000             399.00             396.00                 1.510620",
        " 65536      5000             388.00             387.00                 0.738144",
        " 131072     5000             392.00             391.00                 0.372887",
        " 262144     5000             390.00             389.00                 0.185490",
    ]

    found = parse(printed(*rows))

    assert (found.size_bytes, found.bytes_per_s) == (131_072, pytest.approx(48.875e9))
    assert [rate.size_bytes for rate in found.curve] == [2, 32_768, 65_536, 131_072, 262_144]
    assert found.at(32_768) == pytest.approx(49.5e9)


def test_small_messages_alone_prove_nothing():
    with pytest.raises(RefusedError, match="64 KiB") as refused:
        parse(printed(" 8          224958464        0.00               0.48     7.498617"))
    assert "-s 1048576" in refused.value.hint


def test_both_ways_are_halved_the_curve_too():
    row = " 1048576    20000            779.09             779.08                 0.092874"

    found = parse(printed(row, title="RDMA_Write Bidirectional BW Test"))

    assert found.bytes_per_s == pytest.approx(48.6925e9)
    assert found.at(1_048_576) == found.bytes_per_s
    assert "Halved" in found.note


def test_what_each_side_reports_below_the_sum_does_not_count():
    header = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
    one_way = " 1048576    20000            400.00             400.00                 0.047684"
    total = printed(
        " 1048576    20000            780.00             780.00                 0.092983",
        title="Send Bidirectional BW Test",
    )

    found = parse(f"{total}\n\n Local results: \n{RULE}\n{header}\n{one_way}\n Remote results: \n{header}\n{one_way}")

    assert found.bytes_per_s == pytest.approx(48.75e9)
    assert "each side" in found.note


def test_noise_between_header_and_row_and_extra_columns_do_not_matter():
    text = printed(" 65536      1000             328.64             328.61 \t\t     0.626777\t    3.50")
    header = "MsgRate[Mpps]    CPU_Util[%]\nConflicting CPU frequency values detected: 3295.2 != 5003.4."

    assert parse(text.replace("MsgRate[Mpps]", header)).bytes_per_s == pytest.approx(41.07625e9)


def test_a_column_before_the_average_moves_nothing():
    text = printed(" 65536    3      1000             328.64             328.61       0.626777")

    assert parse(text.replace("#bytes  ", "#bytes    #sl  ")).bytes_per_s == pytest.approx(41.07625e9)


def test_a_launcher_s_prefix_is_taken_off():
    text = printed(" 65536      1000             328.64             328.61      0.626777")
    prefixed = "\n".join(f"[1,0]<stdout>:{line}" for line in text.split("\n"))

    assert parse(prefixed).bytes_per_s == pytest.approx(41.07625e9)


def test_client_and_server_in_one_file_are_one_run():
    text = printed(" 65536      1000             328.64             328.61      0.626777")

    assert len(parse(text + "\n" + text).curve) == 1


@pytest.mark.parametrize(
    "other",
    [
        printed(" 65536      1000             328.64             328.61      0.626777", title="RDMA_Read BW Test"),
        printed(" 65536      1000             328.64             328.61      0.626777", qps=1),
        printed(" 65536      1000             200.00             200.00      0.381470"),
    ],
)
def test_different_runs_in_one_file_are_refused(other: str):
    with pytest.raises(RefusedError, match="Several perftest runs"):
        parse(printed(" 65536      1000             328.64             328.61      0.626777") + "\n" + other)


def test_reading_with_one_queue_pair_undershoots():
    row = " 65536      1000             328.64             328.61 \t\t     0.626777"

    one = parse(printed(row, title="RDMA_Read BW Test", qps=1))

    assert (one.direction, one.queue_pairs) == ("read", 1)
    assert "reads with one queue pair undershoot" in one.note
    assert "undershoot" not in parse(printed(row, title="RDMA_Read BW Test")).note


def test_memory_is_the_gpu_s_where_a_buffer_there_is_told():
    row = " 65536      1000             328.64             328.61      0.626777"

    assert parse(printed(row, before="allocated GPU buffer of 131072 address at 0x7f")).memory == "gpu"
    assert parse(printed(row, before=" Use ROCm memory : ON")).memory == "gpu"
    assert parse(printed(row)).memory is None


def test_a_loopback_is_refused():
    with pytest.raises(RefusedError, match="loopback"):
        parse(
            printed(" 8388608    20000     24056.74    24056.72     0.003007", unit="MB/sec", lids=("0xd06", "0xd06"))
        )


def test_on_ethernet_both_ends_have_the_same_lid_and_only_the_gid_tells_a_loopback():
    row = " 65536      1000             328.64             328.61      0.626777"
    text = printed(row, lids=("0000", "0000")).replace("0xee081e", "0xee081e\n GID: 00:255:192:168:119:02")

    other = text.replace("0x8b53ba", "0x8b53ba\n GID: 00:255:192:168:119:01")
    assert parse(other).bytes_per_s == pytest.approx(41.07625e9)
    assert parse(text).bytes_per_s == pytest.approx(41.07625e9)
    with pytest.raises(RefusedError, match="loopback"):
        parse(other.replace("119:01", "119:02"))


def test_rows_without_a_title_are_taken_as_one_way_and_say_so():
    found = parse(printed(" 65536      1765470          185.37             184.94     0.352743", title=None, qps=None))

    assert (found.bytes_per_s, found.direction, found.queue_pairs) == (pytest.approx(23.1175e9), None, None)
    assert "title of the test is missing" in found.note


@pytest.mark.parametrize("title", ["RDMA_Write Latency Test", "Atomic FETCH_AND_ADD BW Test"])
def test_latency_and_atomics_are_no_rates(title: str):
    text = printed(title=title)

    assert recognises(text)
    with pytest.raises(RefusedError, match="no transfer rate"):
        parse(text)


def test_a_run_without_rows_is_refused():
    with pytest.raises(RefusedError, match="no row"):
        parse(printed())


VALID = """{
"test_info": {
"test": "RDMA_Read_Bidirectional_BW_Test",
"Dual_port": "OFF",
"Number_of_qps": 8,
"cuda_device": 0,
"Use_ROCm_memory": "OFF"
},
"results": {
"MsgSize": 1048576,
"n_iterations": 5000,
"BW_peak": 0.00,
"BW_average": 92000.00,
"MsgRate": 0.092000
}
}"""
INVALID = """{
test_info: {
test: Send_BW_Test,
Number_of_qps: 1,
},
results: {
MsgSize: 65536,
n_iterations: 1000,
BW_peak: 390.60,
BW_average: 390.50,
MsgRate: 0.744820,
},
}"""


def test_json_names_no_unit_so_size_times_message_rate_decides():
    found = parse(VALID)

    assert found.bytes_per_s == pytest.approx(92_000 * 2**20 / 2)
    assert (found.direction, found.queue_pairs, found.memory) == ("read", 8, "gpu")
    assert "says MiB/s" in found.note
    assert "With --report-both" in found.note


def test_json_of_old_versions_is_no_json_and_is_read_all_the_same():
    found = parse(INVALID)

    assert found.bytes_per_s == pytest.approx(390.50e9 / 8)
    assert (found.test, found.queue_pairs) == ("ib_send_bw", 1)
    assert "says Gb/s" in found.note


def test_json_on_one_line_is_the_same():
    assert parse(re.sub(r"\s*\n\s*", "", VALID)).bytes_per_s == parse(VALID).bytes_per_s


def test_json_without_a_message_rate_has_no_unit():
    with pytest.raises(RefusedError, match="does not say whether its average is in MiB/s or Gb/s"):
        parse(VALID.replace("0.092000", "0.000000"))


def test_two_units_in_one_file_are_two_runs():
    gigabits = printed(" 65536      1000             328.64             328.61      0.626777")

    with pytest.raises(RefusedError, match="several units") as refused:
        parse(gigabits + "\n" + gigabits.replace("Gb/sec", "MiB/sec"))
    assert refused.value.line == 25


def test_an_average_that_is_no_number_is_no_row():
    rows = [" 65536      1000             inf             inf      0.626777", " 65536  1000  1.00  320.00  0.610352"]

    assert parse(printed(*rows)).bytes_per_s == pytest.approx(40e9)
