"""OpenMetrics text, read back by Prometheus' own parsers: right types and units, honest gaps, names that only speak."""

import math
import re
from collections.abc import Callable
from dataclasses import replace

import factories
import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as older_families

from nsysparse.analysis import Analysis, DecodeDevice, PrefillDevice
from nsysparse.render.exposition import Family
from nsysparse.render.to_openmetrics import BUCKETS_NS, FAMILIES, render

ANALYSES: dict[str, Callable[[], Analysis]] = {
    "rich": factories.rich,
    "small": factories.small,
    "sizeless": factories.sizeless,
    "unknown": factories.unknown,
}
GAP = "llm_kv_transfer_gap_seconds"
UNKNOWN = "llm_kv_transfer_gap_unknown_requests"
PER_REQUEST = "llm_kv_transfer_request_gap_seconds"
EXPOSED = "llm_kv_transfer_exposed_seconds"


def read(text: str) -> dict[str, Metric]:
    return {each.name: each for each in text_string_to_metric_families(text)}


def values(metric: Metric) -> dict[tuple[str, ...], float]:
    return {(sample.name.removeprefix(metric.name), *sample.labels.values()): sample.value for sample in metric.samples}


def gapped(*gaps: int | None, **changes: object) -> Analysis:
    """A run of requests with these gaps in nanoseconds."""
    requests = [factories.request(f"r{place:02d}", kv_gap_ns=gap) for place, gap in enumerate(gaps)]
    return replace(factories.small(), requests=tuple(requests), **changes)


def paired(exposed_ns: int | None = 1_500_000_000, movements: int = 2, pairs: int | None = 2) -> Analysis:
    whole = factories.small()
    totals = replace(
        whole.totals,
        movement_count=movements,
        paired_count=pairs,
        exposed_ns=exposed_ns,
        exposure_known_share=0.75,
    )
    return replace(whole, totals=totals)


def prefill(exposed_ns: int, device_id: int = 0) -> PrefillDevice:
    return PrefillDevice("prefill", device_id, f"gpu{device_id}", 4, 10, 0, 0.0, 9, exposed_ns, (), None)


def decode(gpu: str = "gpu0", **changes: object) -> DecodeDevice:
    reasons = {"transfer": 2_000_000_000, "no_request": 0, "unknown": 1}
    plain = DecodeDevice(
        "decode",
        0,
        gpu,
        "steps",
        3,
        5_000_000_000,
        2_000_000_001,
        0.4,
        reasons,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        0,
    )
    return replace(plain, **changes)


# --- the format -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ANALYSES)
def test_families_have_the_types_and_units_that_they_are_given(name: str) -> None:
    for each in read(render(replace(ANALYSES[name](), prefill=(prefill(1),)), per_request=True)).values():
        about = FAMILIES[each.name]
        assert (each.type, each.unit, each.documentation) == (about.type, about.unit, about.help)
        assert each.samples


@pytest.mark.parametrize("about", FAMILIES.values(), ids=lambda about: about.name)
def test_names_end_in_their_unit_and_helps_need_no_escape(about: Family) -> None:
    assert about.name.endswith(about.unit)
    assert not re.search(r'["\\\n]', about.help)


def test_the_older_parser_reads_the_same_samples() -> None:
    text = render(replace(factories.rich(), decode=(decode(),), prefill=(prefill(1),)), per_request=True)

    def samples(families: object) -> list[tuple[str, dict[str, str], float]]:
        return [(each.name, each.labels, each.value) for family in families for each in family.samples]

    assert samples(older_families(text)) == samples(text_string_to_metric_families(text))


def test_the_same_analysis_gives_the_same_bytes_and_order_of_lists_does_not_show() -> None:
    whole = replace(factories.rich(), decode=(decode("gpu0"), decode("gpu1", device_id=1)))
    turned = replace(whole, links=whole.links[::-1], decode=whole.decode[::-1])
    assert render(whole, per_request=True) == render(whole, per_request=True) == render(turned, per_request=True)
    assert render(whole).endswith("\n# EOF\n")


def test_no_label_is_without_bound_unless_asked_for() -> None:
    labels = {
        name for each in read(render(factories.rich())).values() for sample in each.samples for name in sample.labels
    }
    assert "request" not in labels
    assert labels <= {
        "version",
        "notice",
        "role",
        "link",
        "le",
        "reason",
        "src",
        "dst",
        "src_role",
        "dst_role",
        "transport",
        "basis",
        "trace",
        "gpu",
    }
    assert len(render(factories.rich(requests=200)).splitlines()) == len(render(factories.rich()).splitlines())


# --- gaps -------------------------------------------------------------------------------------------------------------


def test_buckets_are_cumulative_and_count_what_is_within() -> None:
    gaps = [*BUCKETS_NS, *(bound + 1 for bound in BUCKETS_NS), 0, 700_000, 33_333_333, 3_600_000_000_000]
    metric = read(render(gapped(*gaps, None)))[GAP]
    bounds = [*(bound / 1e9 for bound in BUCKETS_NS), math.inf]
    buckets = [(float(each.labels["le"]), each.value) for each in metric.samples if each.name == f"{GAP}_bucket"]

    assert buckets == [(bound, len([gap for gap in gaps if gap / 1e9 <= bound])) for bound in bounds]
    assert values(metric)["_count", "decode", "IB NDR"] == len(gaps)
    assert values(metric)["_sum", "decode", "IB NDR"] == sum(gaps) / 1e9


def test_gaps_that_are_not_known_are_no_histogram_and_are_counted_by_what_each_request_lacks() -> None:
    lacking = ("cut", "no-decode-step", "clocks", "contradiction", "no-prefill-step", "cut")
    unknown = [factories.request(f"r{at}", missing=missing) for at, missing in enumerate(lacking)]
    found = read(render(replace(factories.small(), requests=tuple(unknown))))
    assert GAP not in found
    assert values(found[UNKNOWN]) == {("_total", name): 1 + (name == "cut") for name in lacking}
    half = factories.request("half", kv_gap_ns=5, missing="cut")  # of which only the way to the token is cut
    assert UNKNOWN not in read(render(replace(factories.small(), requests=(half,))))


def test_the_link_is_named_where_all_have_one_name() -> None:
    several = gapped(5, links=(factories.bound_link(), factories.link()))
    assert {tuple(sample.labels) for sample in read(render(several))[GAP].samples} == {("role", "le"), ("role",)}


def test_the_error_is_the_largest_of_what_is_in_the_histogram() -> None:
    requests = (
        factories.request("a", kv_gap_ns=5, uncertainty_ns=2_000),
        factories.request("b", kv_gap_ns=5),
        factories.request("c", uncertainty_ns=9_000),
    )
    name = "llm_kv_transfer_gap_uncertainty_seconds"
    assert values(read(render(replace(factories.small(), requests=requests)))[name]) == {("",): 2e-6}
    assert name not in read(render(gapped(5)))


def test_the_share_is_that_of_the_verdict() -> None:
    verdict, found = factories.rich().verdict, read(render(factories.rich()))
    for part, value in (("", verdict.value), ("uncertainty_", verdict.uncertainty), ("threshold_", verdict.threshold)):
        assert values(found[f"llm_kv_transfer_gap_share_{part}ratio"]) == {("",): value}


# --- links, exposure, idling ------------------------------------------------------------------------------------------


def test_links_have_bytes_and_rate_in_base_units() -> None:
    bound, sure = factories.bound_link(), factories.link()
    found = read(render(replace(factories.small(), links=(bound, sure))))
    of_sure = (sure.src, sure.dst, "prefill", "IB NDR", "nccl")
    of_bound = (bound.src, bound.dst, "nccl")

    assert values(found["llm_kv_transfer_bytes"]) == {
        ("_total", *of_sure): 12_400_000_000, ("_total", *of_bound): 940_000_000,
    }  # fmt: skip
    assert values(found["llm_kv_transfer_wire_bytes_per_second"]) == {
        ("", *of_sure, "wire"): 40e9, ("", *of_bound, "kernel"): 18.8e9,
    }  # fmt: skip
    assert values(found["llm_kv_transfer_wire_is_lower_bound"]) == {("", *of_sure): 0, ("", *of_bound): 1}


@pytest.mark.parametrize(
    ("role", "seen", "roles"),
    [
        (None, {}, {}),
        (None, {"prefill": ("gpu0",), "decode": ("gpu1",)}, {"src_role": "prefill", "dst_role": "decode"}),
        (None, {"prefill": ("gpu0", "gpu1"), "decode": ("gpu1",)}, {"src_role": "prefill"}),  # the other does both
        ("decode", {}, {"src_role": "decode", "dst_role": "decode"}),
        ("mixed", {}, {}),
    ],
)
def test_ends_of_links_have_the_roles_that_their_files_or_devices_have(
    role: str | None, seen: dict[str, tuple[str, ...]], roles: dict[str, str]
) -> None:
    whole = replace(
        factories.small(),
        traces=(factories.trace("run", role),),
        links=(factories.link(src="run:gpu0", dst="run:gpu1"),),
        prefill=tuple(replace(prefill(1), trace_id="run", gpu=gpu) for gpu in seen.get("prefill", ())),
        decode=tuple(decode(gpu, trace_id="run") for gpu in seen.get("decode", ())),
    )
    (sample,) = read(render(whole))["llm_kv_transfer_bytes"].samples
    assert {name: value for name, value in sample.labels.items() if name.endswith("_role")} == roles


def test_the_decode_side_has_the_total_where_it_is_the_receivers() -> None:
    known = "llm_kv_transfer_exposed_known_ratio"
    found = read(render(paired()))
    assert values(found[EXPOSED]) == {("_total", "decode"): 1.5}
    assert values(found[known]) == {("", "decode"): 0.75}
    for mixed in (paired(pairs=1), paired(pairs=None), paired(exposed_ns=None)):
        assert not {EXPOSED, known} & set(read(render(mixed)))
    alone = replace(paired(pairs=None), traces=(factories.trace("decode", "decode"),))
    assert values(read(render(alone))[EXPOSED]) == {("_total", "decode"): 1.5}


def test_the_prefill_side_is_the_sum_over_its_devices() -> None:
    devices = (prefill(250_000_000), prefill(500_000_000, 1))
    found = read(render(replace(paired(), prefill=devices)))
    assert values(found[EXPOSED]) == {("_total", "decode"): 1.5, ("_total", "prefill"): 0.75}
    assert values(read(render(replace(paired(), prefill=())))[EXPOSED]) == {("_total", "decode"): 1.5}


def test_idle_time_is_divided_by_reason() -> None:
    found = read(render(replace(factories.small(), decode=(decode(),))))
    assert values(found["llm_kv_decode_idle_seconds"]) == {
        ("_total", "decode", "decode", "gpu0", "no_request"): 0,
        ("_total", "decode", "decode", "gpu0", "transfer"): 2,
        ("_total", "decode", "decode", "gpu0", "unknown"): 1e-9,
    }
    assert values(found["llm_kv_decode_idle_ratio"]) == {("", "decode", "decode", "gpu0"): 0.4}
    assert "llm_kv_decode_idle_ratio" not in read(render(replace(factories.small(), decode=(decode(idle_share=None),))))


def test_what_is_unknown_has_no_sample() -> None:
    assert set(read(render(factories.unknown()))) == {
        "nsysparse_build_info",
        "llm_kv_transfer_gap_share_threshold_ratio",
    }
    sizeless = set(read(render(factories.sizeless())))
    assert "llm_kv_transfer_bytes_known_ratio" in sizeless
    assert not [name for name in sizeless if "wire" in name or name == "llm_kv_transfer_bytes"]


def test_a_notice_goes_along() -> None:
    (sample,) = read(render(factories.rich()))["nsysparse_build_info"].samples
    assert sample.labels == {"version": "0.1.0", "notice": "synthetic"}
