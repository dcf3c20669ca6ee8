"""Numbers as users write them."""

import pytest

from nsysparse.cli.numbers import part_of_one
from nsysparse.errors import UsageError


@pytest.mark.parametrize(("text", "value"), [("0.2", 0.2), ("20%", 0.2), ("12.5 %", 0.125), ("0.5%", 0.005)])
def test_a_share_may_be_said_in_percent(text: str, value: float) -> None:
    assert part_of_one("--threshold", text, example="0.2") == value


@pytest.mark.parametrize(
    "text", ["20", "0", "1", "100%", "0%", "-0.2", "a", "", "%", "0.2%%", "2e-1", "nan", "0.2 0.3"]
)
def test_what_is_no_share_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as error:
        part_of_one("--threshold", text, example="0.2")
    assert "is no share between 0 and 1" in str(error.value)
