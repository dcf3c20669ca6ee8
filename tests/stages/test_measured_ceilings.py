"""The curve of a ceiling: which size speaks for which, and what lies between two."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.measured.ceilings import Ceiling, Rate
from nsysparse.measured.text import curve_of, excerpt, number, rate_of, whole


def ceiling(*curve: tuple[int | None, float]) -> Ceiling:
    rates = tuple(Rate(size, rate) for size, rate in curve)
    return Ceiling("tool", "test", 1.0, None, None, None, None, "A note.", rates)


@pytest.mark.parametrize(
    ("size", "rate"),
    [
        (1_000, 10.0),
        (4_000, 30.0),
        (2_000, 20.0),
        (500, 10.0),
        (499, None),
        (8_000, 30.0),
        (8_001, None),
        (0, None),
        (-5, None),
    ],
)
def test_between_two_sizes_the_rate_is_a_line_over_the_logarithm_and_outside_the_nearest_counts(
    size: int, rate: float | None
):
    assert ceiling((1_000, 10.0), (4_000, 30.0)).at(size) == (rate if rate is None else pytest.approx(rate))


def test_a_size_that_no_measured_one_is_near_has_no_rate():
    wide = ceiling((1_000, 10.0), (1_000_000, 30.0))

    assert wide.at(30_000) is None
    assert wide.at(2_001) is None
    assert wide.at(2_000) == pytest.approx(10 + 20 * 0.1003, rel=1e-3)  # log(2) / log(1000)


def test_a_rate_without_size_speaks_for_none():
    assert ceiling((None, 10.0)).at(1_000) is None
    assert ceiling().at(1_000) is None


@given(st.lists(st.tuples(st.integers(1, 2**40), st.floats(1, 1e12)), min_size=1, max_size=8), st.integers(1, 2**41))
def test_a_rate_lies_between_those_of_its_neighbours(points: list[tuple[int, float]], size: int):
    curve = curve_of((Rate(*point) for point in points), max)
    found = ceiling(*((rate.size_bytes, rate.bytes_per_s) for rate in curve)).at(size)

    near = [rate for rate in curve if rate.size_bytes and 0.5 <= size / rate.size_bytes <= 2]
    assert (found is not None) == bool(near)
    if found is not None:
        low, high = min(rate.bytes_per_s for rate in curve), max(rate.bytes_per_s for rate in curve)
        assert low * (1 - 1e-9) <= found <= high * (1 + 1e-9)


def test_a_curve_has_one_rate_per_size_in_order():
    rates = [Rate(8, 1.0), Rate(4, 2.0), Rate(8, 5.0)]

    assert curve_of(rates, max) == (Rate(4, 2.0), Rate(8, 5.0))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12.0),
        ("1.5e+06", 1.5e6),
        ("0e+00", 0.0),
        (7, 7.0),
        ("N/A", None),
        ("nan", None),
        ("inf", None),
        ("-1", None),
        ("1e999", None),
        ("1e15", None),
        ("9" * 4_000, None),
        ("\uff11\uff12", None),
        (10**400, None),
        (True, None),
        (None, None),
        (float("nan"), None),
    ],
)
def test_only_finite_numbers_in_bounds_are_numbers(text: object, value: float | None):
    assert number(text) == value


def test_sizes_are_whole_and_rates_above_zero():
    assert (whole("8"), whole("8.5"), whole("x")) == (8, None, None)
    assert (rate_of(8, 1.0), rate_of(0, 1.0), rate_of(8, 0.0), rate_of(8, 1e15)) == (Rate(8, 1.0), None, None, None)


@given(st.text())
def test_an_excerpt_is_short_and_harmless(text: str):
    shown = excerpt(text)

    assert len(shown) <= 63
    assert all(each == "…" or (each.isascii() and each.isprintable()) for each in shown)
