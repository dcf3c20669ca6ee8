"""nvbandwidth and p2pBandwidthLatencyTest: which of their tables counts, without the diagonal."""

import json

import pytest

from nsysparse.measured import nvbandwidth, p2p_bandwidth
from nsysparse.measured.text import RefusedError

WRITE = """Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1         2
 0       N/A    276.00    275.00
 1    277.00       N/A    276.50
 2    274.00    276.20       N/A

SUM device_to_device_memcpy_write_ce 1654.70
"""
READ = WRITE.replace("write", "read").replace("<-", "->").replace("27", "26")
TWO_WAYS = """Running device_to_device_bidirectional_memcpy_write_ce.
memcpy CE GPU(row) <-> GPU(column) Write1 bandwidth (GB/s)
           0         1
 0       N/A    380.00
 1    380.00       N/A

SUM device_to_device_bidirectional_memcpy_write_ce_write1 760.00

memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)
           0         1
 0       N/A    760.00
 1    760.00       N/A
"""
HOST = """Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0     55.40     55.60

SUM host_to_device_memcpy_ce 111.00

Running device_to_host_memcpy_ce.
memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0     55.00     55.20

SUM device_to_host_memcpy_ce 110.20
"""


def test_the_median_of_all_pairs_counts_and_never_the_sum():
    found = nvbandwidth.parse("nvbandwidth Version: v0.8\n\n" + WRITE)

    assert found.bytes_per_s == pytest.approx(276.1e9)  # between 276.00 and 276.20
    assert (found.test, found.direction, found.memory) == ("device_to_device_memcpy_write_ce", "write", "gpu")
    assert (found.size_bytes, found.at(1)) == (None, None)
    assert "Median of 6 pairs, from 274.0 to 277.0 GB/s." in found.note


def test_the_diagonal_of_old_versions_is_zero_and_is_no_pair():
    assert nvbandwidth.parse(WRITE.replace("  N/A", " 0.00")).bytes_per_s == pytest.approx(276.1e9)


def test_of_all_tests_the_write_by_copy_engines_in_one_direction_counts():
    found = nvbandwidth.parse(HOST + TWO_WAYS + READ + WRITE + WRITE.replace("_ce", "_sm").replace("CE", "SM"))

    assert found.test == "device_to_device_memcpy_write_ce"
    assert "device_to_device_memcpy_read_ce 266.1" in found.note
    assert nvbandwidth.parse(HOST + TWO_WAYS + READ).direction == "read"


@pytest.mark.parametrize("cut", ["Running device_to_device_memcpy_write_ce.\n", "SUM device"])
def test_a_table_that_lost_its_name_is_known_by_what_is_left(cut: str):
    before, after = WRITE.split(cut)

    assert nvbandwidth.parse(before + ("" if cut.startswith("SUM") else after)).direction == "write"


def test_a_heading_alone_tells_the_arrow():
    bare = READ.split("\n", 1)[1].split("SUM", maxsplit=1)[0]

    assert nvbandwidth.parse(bare).test == "device_to_device_memcpy_read_ce"


def test_copies_to_the_host_count_where_nothing_else_is_there():
    found = nvbandwidth.parse("Waived: \n" + HOST)

    assert found.bytes_per_s == pytest.approx(55.5e9)
    assert (found.test, found.memory, found.direction) == ("host_to_device_memcpy_ce", "host", "copy")
    assert "device_to_host_memcpy_ce 55.1" in found.note
    assert "cannot reach each other" in found.note


def test_links_of_several_kinds_are_told():
    found = nvbandwidth.parse(WRITE.replace("274.00", " 22.00"))

    assert "links of several kinds" in found.note
    assert "links of several kinds" not in nvbandwidth.parse(WRITE).note


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (TWO_WAYS, "No test of one direction"),
        (TWO_WAYS.split("\n", 1)[1], "No test of one direction"),
        (WRITE + WRITE, "Several runs"),
        ("nvbandwidth Version: v0.8\nRunning device_to_device_memcpy_read_ce.\nWaived: \n", "waived"),
        ("nvbandwidth Version: v0.8\n", "no table"),
    ],
)
def test_nvbandwidth_without_one_such_test_is_refused(text: str, why: str):
    assert nvbandwidth.recognises(text)
    with pytest.raises(RefusedError, match=why):
        nvbandwidth.parse(text)


def test_nvbandwidth_s_json_may_follow_lines_of_text():
    cases = [
        {"name": "host_to_device_memcpy_ce", "status": "Passed", "bandwidth_matrix": [["55.4", "55.6"]], "sum": 111.0},
        {
            "name": "device_to_device_memcpy_read_ce",
            "status": "Passed",
            "bandwidth_matrix": [["N/A", "26.3", "21.9"], ["26.5", "N/A", "22.1"], ["21.7", "22.3", "N/A"]],
            "sum": 140.8,
        },
        {"name": "device_to_device_memcpy_write_ce", "status": "Waived"},
        {"name": "\x1b[31m", "bandwidth_matrix": [["1"]]},
        "no table",
    ]
    text = 'ERROR {"x": 1}\n{"y": 2}\n' + json.dumps({"nvbandwidth": {"testcases": cases}}, indent=1)

    assert nvbandwidth.recognises(text)
    assert nvbandwidth.parse(text).bytes_per_s == pytest.approx(22.2e9)  # of 21.7, 21.9, 22.1, 22.3, 26.3, 26.5
    assert nvbandwidth.parse(text).direction == "read"


def table(heading: str, *rows: str) -> str:
    return "\n".join([heading, "   D\\D     0      1      2 ", *rows, ""])


def square(one: float, inside: float = 1_600.0) -> list[str]:
    return [
        f"     0 {inside:6.2f} {one:6.2f} {one + 1:6.2f} ",
        f"     1 {one - 1:6.2f} {inside:6.2f} {one:6.2f} ",
        f"     2 {one:6.2f} {one:6.2f} {inside:6.2f} ",
    ]


OFF = table("Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)", *square(26))
ON = table("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)", *square(256))
BOTH = table("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)", *square(510))
LATENCY = table("P2P=Enabled Latency (P2P Writes) Matrix (us)", *square(2))


def test_one_direction_with_peer_access_counts_without_the_diagonal():
    found = p2p_bandwidth.parse(OFF + ON + BOTH + LATENCY)

    assert found.bytes_per_s == pytest.approx(256e9)
    assert (found.direction, found.memory, found.test) == ("write", "gpu", "Unidirectional P2P=Enabled")
    assert "Median of 6 pairs, from 255.0 to 257.0 GB/s." in found.note


def test_the_reads_of_the_option_are_reads_and_old_versions_say_neither():
    assert p2p_bandwidth.parse(ON.replace("Writes", "Reads")).direction == "read"
    assert p2p_bandwidth.parse(ON.replace("(P2P Writes) ", "")).direction == "copy"


def test_both_directions_are_halved_where_nothing_better_is_there():
    found = p2p_bandwidth.parse(OFF + BOTH)

    assert found.bytes_per_s == pytest.approx(255e9)
    assert "Halved" in found.note


def test_pairs_without_peer_access_are_staged_even_where_the_table_says_enabled():
    mixed = table(
        "P2P Connectivity Matrix", "     0     1     1     0", "     1     1     1     0", "     2     0     0     1"
    )
    none = table(
        "P2P Connectivity Matrix", "     0     1     0     0", "     1     0     1     0", "     2     0     0     1"
    )

    some = p2p_bandwidth.parse(mixed + ON.replace("257.00", " 22.00"))
    assert some.bytes_per_s == pytest.approx(255.5e9)  # 0 to 1: 256, 1 to 0: 255
    assert "4 of 6 pairs have no peer access" in some.note
    with pytest.raises(RefusedError, match="staged through host memory"):
        p2p_bandwidth.parse(none + ON)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (ON + ON, "Several runs"),
        ("[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n" + LATENCY, "No table of bandwidths"),
        (table("Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)"), "No table of bandwidths"),
        (OFF, "staged through host memory"),
    ],
)
def test_p2p_without_one_such_table_is_refused(text: str, why: str):
    assert p2p_bandwidth.recognises(text)
    with pytest.raises(RefusedError, match=why):
        p2p_bandwidth.parse(text)


def test_tables_to_the_host_are_known_by_their_arrows_where_names_are_cut_off():
    bare = "\n".join(line for line in HOST.split("\n") if not line.startswith(("Running", "SUM")))

    found = nvbandwidth.parse(bare)

    assert found.test == "host_to_device_memcpy_ce"
    assert "device_to_host_memcpy_ce 55.1" in found.note


def test_a_table_that_is_cut_off_has_the_rows_that_are_whole():
    assert p2p_bandwidth.parse(ON.rsplit("2 256", maxsplit=1)[0]).bytes_per_s == pytest.approx(256e9)
