"""nixlbench and Mooncake's benchmarks: columns in any order, units by flag, and one run per file."""

import pytest

from nsysparse.measured import mooncake, nixlbench
from nsysparse.measured.text import RefusedError

OLD = """Block Size (B)      Batch Size     Avg Lat. (us)  B/W (MiB/Sec)  B/W (GiB/Sec)  B/W (GB/Sec)
--------------------------------------------------------------------------------
65536               1              3.2768         19073.5        18.6265        20
1048576             1              22.3101        44822.7        43.7722        47
67108864            1              1400.0         4.57e+04       44.6428        47.9349
"""
NEW = """Block Size (B)      Batch Size     B/W (GB/Sec)   Avg Lat. (us)  Avg Prep (us)  P99 Prep (us)  Avg Tx (us)
----------------------------------------------------------------------------------------------------------------
[1757492049.543051] [alpha:627036:0]   | ucp_context_0 intra-node cfg#2 | active message from host memory |
65536               1              20.000000      3.3            13.0           13.0           3.2
[1757492049.543053] [alpha:627036:0]   |            8185..inf | multi-frag copy-in  | tcp/eth0 |
1048576             1              47.200000      22.2           9.0            9.0            22.0
1048576             8              47.500000      22.1           9.0            9.0            22.0
"""
OPTIONS = """Initiator seg type (--initiator_seg_type=[DRAM,VRAM])       : VRAM
Target seg type (--target_seg_type=[DRAM,VRAM])             : VRAM
Op type (--op_type=[READ,WRITE])                            : READ
Num initiator dev (--num_initiator_dev=N)                   : 1
"""


def test_both_orders_of_columns_are_read_by_their_names():
    old, new = nixlbench.parse(OLD), nixlbench.parse(NEW)

    assert (old.bytes_per_s, old.size_bytes) == (pytest.approx(47.9349e9), 67_108_864)
    assert (new.bytes_per_s, new.size_bytes) == (pytest.approx(47.5e9), 1_048_576)
    assert new.at(65_536) == old.at(65_536) == pytest.approx(20e9)
    assert "batch of 8" in new.note


def test_binary_units_are_binary_where_no_decimal_one_is_printed():
    kept = "\n".join(line[:65] for line in OLD.split("\n"))

    assert "GiB" not in kept
    assert nixlbench.parse(kept).bytes_per_s == pytest.approx(4.57e4 * 2**20)


def test_what_the_options_say_is_kept():
    found = nixlbench.parse(OPTIONS + NEW)

    assert (found.test, found.direction, found.memory) == ("nixlbench READ", "read", "gpu")
    assert nixlbench.parse(OPTIONS.replace(": VRAM", ": DRAM", 1) + NEW).memory == "host"
    assert nixlbench.parse(NEW).direction is None
    assert "4 devices" in nixlbench.parse(OPTIONS.replace(": 1", ": 4") + NEW).note


def test_of_several_pairs_the_share_of_one_counts_not_the_sum():
    wide = NEW.replace("B/W (GB/Sec)   ", "B/W (GB/Sec)   Aggregate B/W (GB/Sec)   Network Util (%)    ").replace(
        "47.500000 ", "47.500000 190.0 380.0 "
    )

    found = nixlbench.parse(wide)

    assert found.bytes_per_s == pytest.approx(47.5e9)
    assert "several ran at once" in found.note


def test_small_blocks_alone_are_told():
    assert "larger ones may be faster" in nixlbench.parse(NEW.split("1048576", maxsplit=1)[0]).note


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (OLD + NEW, "Several tables"),
        (OPTIONS + NEW + OPTIONS.replace("READ\n", "WRITE\n") + NEW, "different --op_type"),
        (NEW.split("----", maxsplit=1)[0], "no row"),
    ],
)
def test_nixlbench_without_one_run_is_refused(text: str, why: str):
    assert nixlbench.recognises(text)
    with pytest.raises(RefusedError, match=why):
        nixlbench.parse(text)


def completed(throughput: str) -> str:
    return (
        f"I1128 09:42:12.221588 229049 bench.cpp:296] Test completed: duration 10.01, batch count 12375, {throughput}"
    )


@pytest.mark.parametrize(
    ("shown", "rate"),
    [
        ("10.37 GB/s", 10.37e9),
        ("2.90 GiB/s", 2.90 * 2**30),
        ("6.22 Gb/s", 6.22e9 / 8),
        ("800 MB/s", 800e6),
        ("800 MiB/s", 800 * 2**20),
        ("800 Mb/s", 100e6),
        ("800 KB/s", 800e3),
        ("800 KiB/s", 800 * 2**10),
        ("800 Kb/s", 100e3),
        ("0.26", 0.26e9),
    ],
)
def test_the_unit_of_mooncake_is_that_of_its_flag(shown: str, rate: float):
    found = mooncake.parse(completed(f"throughput {shown}"))

    assert found.bytes_per_s == pytest.approx(rate)
    assert (found.size_bytes, found.direction, found.memory) == (None, None, None)
    assert ("No unit is printed" in found.note) == ("/s" not in shown)


def test_what_mooncake_s_command_line_and_log_say_is_kept():
    log = "$ ./transfer_engine_bench --operation=write --block_size 1048576\nVRAM is used\n"

    found = mooncake.parse(log + completed("throughput 47.10 GB/s"))

    assert (found.size_bytes, found.direction, found.memory) == (1_048_576, "write", "gpu")
    assert mooncake.parse(log.replace("VRAM", "DRAM") + completed("throughput 1 GB/s")).memory == "host"


TABLE = """BlkSize (B)   Batch   BW (GB/S)     Avg Lat (us)  Avg Tx (us)   P99 Tx (us)   P999 Tx (us)
------------------------------------------------------------------------------------------------
4096          1       0.312456      13.1          12.8          15.2          18.7
65536         1       5.000000      12.8          12.5          14.5          16.9
65536         128     23.500000     356.2         354.1         412.3         489.6
1048576       1       22.000000     47.0          46.3          52.1          61.8
"""


def test_the_table_of_tebench_is_a_curve():
    found = mooncake.parse("./tebench --op_type=read\n" + TABLE)

    assert (found.test, found.bytes_per_s, found.size_bytes) == ("tebench", pytest.approx(23.5e9), 65_536)
    assert [rate.bytes_per_s / 1e9 for rate in found.curve] == pytest.approx([0.312456, 23.5, 22.0])
    assert found.direction == "read"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (completed("throughput 1 GB/s") + "\n" + completed("throughput 2 GB/s"), "2 runs"),
        (completed("throughput 1 XB/s"), "'XB' is no unit"),
        (completed("throughput 0.00 GB/s"), "no rate"),
        (completed("throughput nan GB/s"), "No row"),
        (TABLE.replace("Batch   BW (GB/S)", "Batch   Total BW (GB/S)"), "adds up all nodes"),
        (TABLE.split("----", maxsplit=1)[0], "No row"),
    ],
)
def test_mooncake_without_one_run_is_refused(text: str, why: str):
    assert mooncake.recognises(text)
    with pytest.raises(RefusedError, match=why):
        mooncake.parse(text)


def test_a_bandwidth_that_is_no_number_is_left_out():
    assert nixlbench.parse(NEW.replace("47.500000", "nan      ")).bytes_per_s == pytest.approx(47.2e9)
