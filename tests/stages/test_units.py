"""Numbers for readers: three digits with their trailing zeros, and one way to write a share, a count, a column."""

import pytest

from nsysparse.units import counted, decimals_for, human_bytes, human_ns, human_rate, human_share, share, significant


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.00 µs"),
        (9_996, "10.0 µs"),
        (56_300, "56.3 µs"),
        (151_300, "151.3 µs"),
        (999_960, "1.00 ms"),
        (14_963_210, "15.0 ms"),
        (2_100_000_000, "2.10 s"),
        (3_600_000_000_000, "3600.0 s"),
        (None, "unknown"),
    ],
)
def test_durations_keep_three_digits(ns: int | None, text: str) -> None:
    assert human_ns(ns) == text


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [(96, "96 B"), (1_000, "1.00 kB"), (8_388_608, "8.39 MB"), (335_544_320, "335.5 MB"), (10**16, "10000.0 TB")],
)
def test_bytes_keep_three_digits(nbytes: int, text: str) -> None:
    assert human_bytes(nbytes) == text


def test_rates_keep_three_digits_however_small() -> None:
    assert [human_rate(value) for value in (0.0123, 0.9996, 23.0, 47.04, 169.46)] == [
        "0.0123 GB/s", "1.00 GB/s", "23.0 GB/s", "47.0 GB/s", "169.5 GB/s",
    ]  # fmt: skip
    assert significant(0.0) == "0"
    assert significant(-9.996) == "-10.0"


def test_shares_have_one_decimal_and_never_round_to_nothing_or_all() -> None:
    assert [human_share(value) for value in (0, 0.0004, 0.379, 0.6, 0.9996, 1, None)] == [
        "0 %", "<0.1 %", "37.9 %", "60.0 %", ">99.9 %", "100 %", "unknown",
    ]  # fmt: skip
    assert human_share(0.31, decimals=0) == "31 %"
    assert [share(value, 1) for value in (0, 0.6, 1)] == ["0.0 %", "60.0 %", "100.0 %"]


def test_a_column_has_the_decimals_of_its_smallest_value() -> None:
    assert [decimals_for(values) for values in ([1.0, 20.0], [7.83, 45.0], [12.5], [0.0131, 3.0], [])] == [
        0,
        2,
        1,
        3,
        0,
    ]


def test_one_is_singular() -> None:
    assert [counted(count, "GPU") for count in (0, 1, 2_000)] == ["0 GPUs", "1 GPU", "2,000 GPUs"]
    assert counted(1, "copy", "copies") == "1 copy"
