"""nccl-tests: five headers, prefixes, columns without a value, JSON, the plateau, and tests that are no sendrecv."""

import json

import pytest

from nsysparse.measured.nccl_tests import parse, recognises
from nsysparse.measured.text import RefusedError

RANKS = """#  Rank  0 Group  0 Pid 1478709 on      alpha device  0 [0x31] NVIDIA A40
#  Rank  1 Group  0 Pid 1171742 on       beta device  0 [0000:1d:00] NVIDIA A40"""
SIDE = "time   algbw   busbw #wrong"
PLAIN = f"#       size         count      type   redop    root     {SIDE}     {SIDE}"
UNITS = "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)"


def printed(*rows: str, header: str = PLAIN, first: str = f"# nThread 1 nGpus 1\n{RANKS}") -> str:
    return "\n".join(
        [first, "#", header, UNITS, *rows, "# Out of bounds values : 0 OK", "# Avg bus bandwidth    : 9.9"]
    )


def row(size: int, bus: float, wrong: str = "0", in_place: str = "N/A") -> str:
    numbers = f"{size / bus / 1e3:9.2f} {bus:6.2f} {bus:6.2f}"
    return f"{size:12} {size // 4:12}     float     sum      -1 {numbers} {wrong:>6} {numbers} {in_place:>6}"


MIB = 2**20
SWEEP = (row(MIB, 20.0), row(64 * MIB, 46.0), row(128 * MIB, 48.0), row(256 * MIB, 47.0), row(512 * MIB, 47.6))


def test_the_plateau_is_the_median_of_large_messages_and_the_curve_stays():
    found = parse(printed(*SWEEP))

    assert found.bytes_per_s == pytest.approx(47.3e9)  # between 47.0 and 47.6
    assert found.size_bytes == 128 * MIB
    assert [rate.bytes_per_s / 1e9 for rate in found.curve] == pytest.approx([20, 46, 48, 47, 47.6])
    assert (found.test, found.direction, found.memory, found.queue_pairs) == ("sendrecv_perf", "sendrecv", "gpu", None)
    assert "4 sizes" in found.note
    assert "2 ranks on 2 hosts" in found.note
    assert "alpha" not in found.note


def test_without_large_messages_the_largest_counts_and_the_note_says_so():
    found = parse(printed(row(1_024, 0.03), row(4_096, 0.13)))

    assert (found.bytes_per_s, found.size_bytes) == (pytest.approx(0.13e9), 4_096)
    assert "none reaches 64 MiB" in found.note


OLD = "#       size         count      type     time   algbw   busbw  error     time   algbw   busbw  error"
NO_ROOT = "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error"
PER_ITERATION = (
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max    i_p99"
    "    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%"
)
STAMPED = f"{PLAIN}           timestamp"
NEW = f"""# nccl-tests version 2.20.0 nccl-headers=23102 nccl-library=23102
# Collective test starting: sendrecv_perf
# nThread 1 nGpus 1 minBytes 8 step: 2(factor) validation: 1 graph: 0 unalign: 0
{RANKS}"""


@pytest.mark.parametrize(
    ("header", "line", "first"),
    [
        (OLD, "134217728 134217728 uint8 2796 48.00 48.00  0e+00 2800 47.90 47.90  3e+02", RANKS),
        (NO_ROOT, "134217728 33554432 float sum 2796 48.00 48.00  0e+00 2800 47.90 47.90  N/A", RANKS),
        (PLAIN, row(128 * MIB, 48.0), RANKS),
        (PLAIN, row(128 * MIB, 48.0, in_place="0"), NEW),
        (
            PER_ITERATION,
            "134217728 33554432 float sum -1 2796 48.00 48.00 0 1.1 2.2 2.1 0.5 2800 47.90 47.90 N/A 1.1 2.2 2.1 0.5",
            NEW,
        ),
        (STAMPED, row(128 * MIB, 48.0) + "  2026-01-02 03:04:05", NEW),
        (PLAIN.replace(" time ", " cputime "), row(128 * MIB, 48.0), NEW),
    ],
    ids=["no redop", "no root", "redop and root", "2.20", "per iteration", "timestamps", "cpu time"],
)
def test_every_header_is_read_by_its_names(header: str, line: str, first: str):
    text = printed(line, header=header, first=first)

    assert recognises(text)
    assert parse(text).bytes_per_s == pytest.approx(48e9)


@pytest.mark.parametrize("prefix", ["0: ", "[1,0]<stdout>:", "2026-01-02T03:04:05 worker-0 | "])
def test_a_launcher_s_prefix_is_taken_off(prefix: str):
    text = "\n".join(prefix + line for line in printed(*SWEEP).split("\n"))

    assert parse(text).bytes_per_s == pytest.approx(47.3e9)


def test_log_lines_sizes_of_zero_and_odd_sizes_do_not_matter():
    noise = "alpha:3442:3442 [0] NCCL INFO Launch mode Parallel"
    zero = "0 0 float sum -1 15.51 0.00 0.00 0 15.52 0.00 0.00 N/A"

    found = parse(printed(zero, noise, row(37_748_744, 30.0), noise, row(100_000_000, 40.0)))

    assert [rate.size_bytes for rate in found.curve] == [37_748_744, 100_000_000]
    assert found.bytes_per_s == pytest.approx(40e9)


def test_rows_with_wrong_values_are_left_out():
    found = parse(printed(row(64 * MIB, 46.0), row(128 * MIB, 99.0, wrong="12")))

    assert found.bytes_per_s == pytest.approx(46e9)
    assert "Left out 1 row with wrong values." in found.note


@pytest.mark.parametrize(
    "text",
    [
        printed(row(64 * MIB, 46.0, wrong="3")),
        printed(row(64 * MIB, 46.0)).replace("values : 0 OK", "values : 4 FAILED"),
    ],
)
def test_a_run_whose_values_are_wrong_proves_nothing(text: str):
    with pytest.raises(RefusedError, match="wrong"):
        parse(text)


def test_the_average_over_all_sizes_is_no_ceiling():
    with pytest.raises(RefusedError, match="average over all sizes"):
        parse(f"# Collective test starting: sendrecv_perf\n{RANKS}\n# Avg bus bandwidth    : 2.1")


COLLECTIVE = row(128 * MIB, 48.0, in_place="0").replace(" 48.00  48.00", " 48.00  84.00")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (printed(row(128 * MIB, 48.0), first=NEW.replace("sendrecv", "all_reduce")), "all_reduce_perf"),
        (printed(row(128 * MIB, 48.0), first=f"$ mpirun ./build/alltoall_perf -b 8\n{RANKS}"), "alltoall_perf"),
        (printed(COLLECTIVE), "Bus and algorithm bandwidth differ"),
        (printed(row(128 * MIB, 48.0, in_place="0")), "does not say which test"),
        (printed(row(128 * MIB, 48.0, wrong="N/A")), "does not say which test"),
        (printed(*SWEEP, first=f"$ ./sendrecv_perf; ./all_reduce_perf\n{RANKS}"), "Several tests"),
        (printed(*SWEEP) + "\n" + printed(*SWEEP), "Several runs"),
        (printed(*SWEEP, first=RANKS.split("\n", maxsplit=1)[0]), "One rank only"),
    ],
)
def test_what_is_no_single_sendrecv_is_refused(text: str, why: str):
    assert recognises(text)
    with pytest.raises(RefusedError, match=why):
        parse(text)


def test_a_command_line_above_the_output_says_which_test_it_was():
    assert parse("./sendrecv_perf -c 0\n" + printed(row(128 * MIB, 48.0, wrong="N/A"))).bytes_per_s == pytest.approx(
        48e9
    )


def test_among_three_ranks_only_sendrecv_has_no_root_and_equal_bandwidths():
    third = f"{RANKS}\n#  Rank  2 Group  0 Pid 99 on alpha device  1 [0x32] NVIDIA A40"

    assert parse(printed(row(128 * MIB, 48.0, in_place="0"), first=third)).bytes_per_s == pytest.approx(48e9)


def document(**changes: object) -> str:
    side = {"time": 2796.0, "alg_bw": 48.0, "bus_bw": 48.0, "nwrong": 0.0}
    entry = {"size": 128 * MIB, "count": 1, "type": "float", "redop": "sum", "root": "    -1", "out_of_place": side}
    content = {
        "version": 2,
        "args": ["./build/sendrecv_perf", "-J", "out.json"],
        "env": ["SECRET_TOKEN=hunter2", "BENCH=all_reduce_perf #bytes BW average[Gb/sec]"],
        "nccl_version": 23102,
        "config": {
            "nthreads": 1,
            "ngpus": 1,
            "devices": [{"rank": 0, "hostname": "alpha"}, {"rank": 1, "hostname": "beta"}],
        },
        "results": [{**entry, "in_place": {**side, "nwrong": None}}, {**entry, "size": 8, "out_of_place": None}],
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": 3.0, "okay": "unchecked"},
    }
    return json.dumps({**content, **changes}, indent=1)


def test_json_is_read_and_its_environment_is_not():
    text = document()
    found = parse(text)

    assert recognises(text)
    assert found.bytes_per_s == pytest.approx(48e9)
    assert len(found.curve) == 1
    assert "2 ranks on 2 hosts" in found.note
    assert not any(secret in repr(found) for secret in ("hunter2", "SECRET", "alpha"))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"args": ["all_gather_perf"]}, "all_gather_perf"),
        ({"results": []}, "average over all sizes"),
        ({"out_of_bounds": {"count": 2, "okay": "false"}}, "wrong"),
        ({"config": {"nthreads": 1, "ngpus": 1, "devices": [{"hostname": "alpha"}]}}, "One rank only"),
    ],
)
def test_json_that_proves_nothing_is_refused(changes: dict[str, object], why: str):
    with pytest.raises(RefusedError, match=why):
        parse(document(**changes))


def test_json_of_another_shape_is_not_taken():
    assert not recognises('{"results": [1, 2]}')
    assert not recognises("{" * 100_000)
    assert parse(document(args=None, env=None, config=[], out_of_bounds=1)).bytes_per_s == pytest.approx(48e9)


def test_rows_without_a_bandwidth_prove_nothing():
    zero = "8 2 float sum -1 15.51 0.00 0.00 0 15.52 0.00 0.00 N/A"
    none = "8 2 float sum -1 N/A N/A N/A 0 15.52 0.00 0.00 N/A"

    with pytest.raises(RefusedError, match="above zero"):
        parse(printed(zero, none, "0.5" + zero[1:]))
