"""Which rate a link is held against, and the published transfer times that follow from it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.catalog.loader import find_model, links
from nsysparse.errors import UsageError
from nsysparse.theory.kv_cache import kv_bytes
from nsysparse.theory.links import Peak, resolve
from nsysparse.theory.predict import line_rate_ns, practical_ns


def peak_of(link: str | None, peak_gb_s: float | None = None) -> Peak:
    peak = resolve(link, peak_gb_s)
    assert peak is not None
    return peak


@pytest.mark.parametrize(
    ("link", "one_ms", "batch_32_ms"),
    [
        ("ib-ndr", 6.711, 214.75),
        ("ib-hdr", 13.42, 429.5),
        ("eth-100g", 26.84, 859.0),
        ("nvlink4-h100", 0.7457, 23.86),
        ("nvlink4-h100@bidirectional", 0.3728, 11.93),
    ],
)
def test_llama_3_70b_at_1024_tokens(link: str, one_ms: float, batch_32_ms: float):
    model, peak = find_model("llama-3-70b"), peak_of(link)
    assert line_rate_ns(kv_bytes(model, 1_024), peak) / 1e6 == pytest.approx(one_ms, rel=5e-4)
    assert line_rate_ns(kv_bytes(model, 1_024, 32), peak) / 1e6 == pytest.approx(batch_32_ms, rel=5e-4)


@pytest.mark.parametrize(
    ("model_id", "tokens", "link", "ms"),
    [
        ("opt-175b", 512, "nvlink3-a100", 8.053),
        ("opt-175b", 512, "eth-25g", 773.1),
        ("llama-3-70b", 128, "ib-ndr", 0.839),
    ],
)
def test_other_published_times(model_id: str, tokens: int, link: str, ms: float):
    nanoseconds = line_rate_ns(kv_bytes(find_model(model_id), tokens), peak_of(link))
    assert nanoseconds / 1e6 == pytest.approx(ms, rel=5e-4)


def test_a_measured_rate_given_as_peak_reproduces_mooncake_s_table():
    rate = peak_of(None, 142.25 * 2**30 / 1e9)
    assert line_rate_ns(kv_bytes(find_model("qwen3-8b"), 32_768), rate) / 1e6 == pytest.approx(31.63, abs=0.01)


def test_a_time_is_exact_to_the_nanosecond():
    assert line_rate_ns(335_544_320, peak_of("ib-ndr")) == 6_710_886
    assert practical_ns(335_544_320, peak_of("ib-ndr")) == round(335_544_320 / 49)
    assert line_rate_ns(0, peak_of("ib-ndr")) == 0


def test_a_link_means_one_direction_and_names_both_its_reference_lines():
    peak = peak_of("nvlink4-h100")
    assert (peak.link_id, peak.gb_s, peak.practical_gb_s) == ("nvlink4-h100", 450.0, 396.0)
    assert "one direction" in peak.source
    assert "https://" in peak.source
    assert peak.practical_source is not None
    assert "75% to 88%" in peak.practical_source
    assert "measured" in peak.practical_source


def test_the_vendor_s_total_is_used_only_under_its_own_name():
    peak = peak_of("nvlink4-h100@bidirectional")
    assert (peak.link_id, peak.gb_s) == ("nvlink4-h100@bidirectional", 900.0)
    assert "both directions" in peak.name
    assert "total of both directions" in peak.source
    assert (peak.practical_bytes_per_s, peak.practical_gb_s, peak.practical_source) == (None, None, None)
    assert practical_ns(1, peak) is None


@pytest.mark.parametrize("link_id", links())
def test_every_link_resolves_to_one_direction_with_its_practical_ceiling_below(link_id: str):
    link, peak = links()[link_id], peak_of(link_id)
    assert peak.bytes_per_s == link.one_way_peak_bytes_per_s
    assert (peak.practical_gb_s is None) == (link.typical_fraction is None) == (peak.practical_source is None)
    assert peak.practical_gb_s is None or 0 < peak.practical_gb_s <= peak.gb_s


def test_framing_arithmetic_is_not_passed_off_as_a_measurement():
    source = peak_of("eth-200g").practical_source
    assert source is not None
    assert "not measured" in source


def test_the_users_figure_wins_and_says_so():
    assert peak_of(None, 46.5) == Peak(None, "a link without a name", 46_500_000_000.0, "option --peak", None, None)
    named = peak_of("ib-ndr", 46.5)
    assert (named.link_id, named.name, named.source) == (
        "ib-ndr",
        links()["ib-ndr"].name + ", peak as given",
        "option --peak",
    )
    assert (named.gb_s, named.practical_gb_s) == (46.5, None)


def test_nothing_asked_for_is_nothing_found():
    assert resolve(None, None) is None


@pytest.mark.parametrize("figure", [0.0, -1.0, float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("link", [None, "ib-ndr"])
def test_a_peak_that_is_no_rate_is_refused(link: str | None, figure: float):
    with pytest.raises(UsageError, match="no rate"):
        resolve(link, figure)


@pytest.mark.parametrize(
    ("link", "peak_gb_s", "named"),
    [
        ("ib-ndr@bidirectional", None, "no total of both directions for ib-ndr"),
        ("ib-ndr@twoway", None, "'twoway' is no variant of ib-ndr"),
        ("ib-ndr@", None, "'' is no variant of ib-ndr"),
        ("ib-ndr@roce-mtu1024", None, "'roce-mtu1024' is no variant of ib-ndr"),
        ("eth-100g@roce-mtu1024", 10.0, "another one"),
        ("nvlink4-h100@bidirectional", 800.0, "another one"),
        ("ib-nrd", None, "Did you mean ib-ndr"),
        ("", None, "no link called ''"),
    ],
)
def test_what_the_catalogue_cannot_answer_is_a_usage_error_with_advice(link: str, peak_gb_s: float | None, named: str):
    with pytest.raises(UsageError, match=named) as caught:
        resolve(link, peak_gb_s)
    assert caught.value.hint


@given(st.decimals(min_value="0.001", max_value="100000", places=3))
def test_a_typed_decimal_is_taken_as_typed(figure):
    assert peak_of(None, float(figure)).bytes_per_s == int(figure * 10**9)


@pytest.mark.parametrize(
    ("link", "payload", "whole"),
    [
        # 82 bytes a packet: preamble, gap, Ethernet, IP, UDP, BTH and ICRC.
        ("eth-100g@roce-mtu1024", 1024, 1024 + 82),
        ("eth-100g@roce-mtu4096", 4096, 4096 + 82),
        # Of TCP 40 bytes of headers and 12 of options are within the MTU, and 38 around it.
        ("eth-400g@tcp-mtu1500", 1500 - 52, 1500 + 38),
        ("pcie5-x16@mps256", 256, 256 + 24),
    ],
)
def test_headers_of_packets_leave_what_arithmetic_says(link: str, payload: int, whole: int):
    found = peak_of(link)
    assert found.practical_bytes_per_s == pytest.approx(found.bytes_per_s * payload / whole, rel=1e-3)
    assert found.bytes_per_s == peak_of(link.partition("@")[0]).bytes_per_s
    assert found.practical_source is not None
    assert "not measured" in found.practical_source
