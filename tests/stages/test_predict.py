"""Predicted times, steps and lengths: the well-known table, published results, and search against brute force."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.catalog.entries import FullAttention, LayerGroup, Mamba1, Model, WindowedAttention
from nsysparse.catalog.loader import find_model, models
from nsysparse.errors import UsageError
from nsysparse.prediction import Question, Row, Steps
from nsysparse.theory.critical import critical_length, fixed_cost_length
from nsysparse.theory.dtypes import cache_type
from nsysparse.theory.layout import Layout
from nsysparse.theory.links import Peak, resolve
from nsysparse.theory.pipeline import exposed_ns
from nsysparse.theory.predict import line_rate_ns, predict
from nsysparse.theory.shipment import Shipment
from nsysparse.units import human_share

LLAMA_70B = find_model("llama-3-70b")
BAND = Steps(20_000_000, 50_000_000)
MS = 1_000_000


def peak(link: str | None = None, gb_s: float | None = None) -> Peak:
    found = resolve(link, gb_s)
    assert found is not None
    return found


def row(model: str, tokens: int, link: Peak, layout: Layout | None = None, nics: int | None = None) -> Row:
    shipment = Shipment(find_model(model), layout or Layout(), nics=nics)
    return predict(shipment, [link], Question([tokens], [1], BAND)).rows[0]


# --- the table --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "one", "thirty_two"),
    [
        ("ib-ndr", "6.71", "214.7"),
        ("ib-hdr", "13.4", "429.5"),
        ("eth-100g", "26.8", "859.0"),
        ("nvlink4-h100@bidirectional", "0.37", "11.9"),
        ("nvlink4-h100", "0.75", "23.9"),
    ],
)
def test_the_well_known_table_comes_out_to_its_last_digit(link: str, one: str, thirty_two: str):
    single, batch = predict(Shipment(LLAMA_70B), [peak(link)], Question([1024], [1, 32], BAND)).rows
    assert (single.bytes, batch.bytes) == (335_544_320, 10_737_418_240)
    for shown, computed in ((one, single), (thirty_two, batch)):
        decimals = len(shown.partition(".")[2])
        assert f"{computed.line_rate_ns / MS:.{decimals}f}" == shown


def test_a_token_of_the_table_has_327680_bytes():
    prediction = predict(Shipment(LLAMA_70B), [peak("ib-ndr")], Question([1024], [1], BAND))
    assert prediction.kv_bytes_per_token == prediction.late_kv_bytes_per_token == 327_680
    assert prediction.state_bytes == 0


def test_steps_run_from_the_longest_step_to_the_shortest():
    found = row("llama-3-70b", 1024, peak("eth-100g")).steps
    assert found.low == pytest.approx(26.84 / 50, rel=1e-3)
    assert found.high == pytest.approx(26.84 / 20, rel=1e-3)


# --- critical length --------------------------------------------------------------------------------------------------


def test_the_critical_length_at_30_ms_on_100_gigabit_is_1144():
    assert critical_length(Shipment(LLAMA_70B), 12.5e9, 30 * MS).tokens == 1144
    assert line_rate_ns(1144 * 327_680, peak("eth-100g")) <= 30 * MS < line_rate_ns(1145 * 327_680, peak("eth-100g"))


def test_the_critical_length_is_a_band_where_the_step_is_one():
    found = row("llama-3-70b", 1024, peak("eth-100g"))
    assert (found.critical_tokens.low, found.critical_tokens.high) == (762, 1907)
    assert found.practical_critical_tokens.high == 1869


def test_a_state_that_alone_takes_longer_leaves_no_critical_length():
    shipment = Shipment(find_model("kimi-k3"))
    prediction = predict(shipment, [peak("eth-100g")], Question([1024], [1], BAND))
    assert shipment.fixed_bytes > 20e-3 * 12.5e9
    assert (prediction.rows[0].critical_tokens.low, prediction.rows[0].critical_tokens.high) == (None, 6352)
    why = {reason.path: reason.code for reason in prediction.reasons}
    assert why["/rows/0/critical_tokens/low"] == "state-exceeds"
    assert "/rows/0/critical_tokens/high" not in why


def test_a_cache_of_windows_never_reaches_what_they_cannot_hold():
    mistral = Shipment(find_model("mistral-7b-v0.1"))
    whole = mistral.on_link(10**9)
    assert whole == 4096 * 131_072
    assert critical_length(mistral, whole * 1000, MS).why == "never-reached"
    assert critical_length(mistral, (whole - 1) * 1000, MS).tokens == 4095


def test_one_token_may_be_too_much_already():
    found = critical_length(Shipment(LLAMA_70B), 1e6, MS)
    assert (found.tokens, found.why) == (None, "token-exceeds")


def test_of_chunks_the_last_full_one_decides():
    """36 of 48 layers forget at 8,193 tokens, so a longer sequence can be smaller; what was reached stays reached."""
    scout = Shipment(find_model("llama-4-scout"))
    assert scout.on_link(8193) < scout.on_link(8192)
    assert critical_length(scout, (scout.on_link(8192) - 1) * 1000, MS).tokens == 8191


GROUPS = st.one_of(
    st.builds(FullAttention, st.just("full"), st.integers(1, 3), st.integers(1, 4), st.just(2)),
    st.builds(WindowedAttention, st.just("sliding"), st.integers(1, 3), st.just(2), st.just(2), st.integers(1, 40)),
    st.builds(WindowedAttention, st.just("chunked"), st.integers(1, 3), st.just(2), st.just(2), st.just(13)),
    st.builds(Mamba1, st.just("mamba1"), st.integers(1, 3), st.integers(1, 9), st.just(2), st.just(4), st.just(2)),
)  # fmt: skip


def made_of(groups: list[LayerGroup]) -> Model:
    return replace(LLAMA_70B, groups=tuple(groups), layers=sum(group.layers for group in groups))


@given(st.lists(GROUPS, min_size=1, max_size=4), st.integers(0, 4000), st.sampled_from([1, 4]), st.integers(1, 3))
def test_the_search_finds_what_trying_all_lengths_finds(groups: list[LayerGroup], budget: int, block: int, tp: int):
    shipment = Shipment(made_of(groups), Layout(tp=tp, block=block), nics=1)
    tried = range(1, 400)
    first = next((tokens for tokens in tried if shipment.on_link(tokens) > budget), None)

    found = critical_length(shipment, float(budget * 1000), MS)

    if found.why == "never-reached":
        assert first is None
    elif found.tokens is None:
        assert first == 1
    elif first is not None:
        assert found.tokens == first - 1
    else:
        assert found.tokens >= tried[-1]
    cost = fixed_cost_length(shipment, float(budget * 1000), MS)
    reached = next((tokens for tokens in tried if shipment.on_link(tokens) >= budget), None)
    assert cost.tokens == reached or reached is None


@pytest.mark.parametrize("model", list(models().values()), ids=lambda model: model.id)
def test_every_model_of_the_catalogue_has_a_length_or_a_reason(model: Model):
    found = critical_length(Shipment(model), 50e9, 30 * MS)
    assert (found.tokens is None) == bool(found.why)
    if found.tokens is not None:
        assert Shipment(model).on_link(found.tokens) <= 1_500_000_000 < Shipment(model).on_link(found.tokens + 1)


def test_below_the_fixed_cost_length_the_cost_takes_longer_than_the_bytes():
    link = peak("ib-ndr")
    tokens = fixed_cost_length(Shipment(LLAMA_70B), link.bytes_per_s, 1_000_000).tokens
    assert tokens == 153
    assert line_rate_ns(152 * 327_680, link) < 1_000_000 <= line_rate_ns(153 * 327_680, link)
    assert fixed_cost_length(Shipment(find_model("kimi-k3")), 12.5e9, 1).tokens == 1


# --- links side by side -----------------------------------------------------------------------------------------------


def test_each_rank_sends_its_shard_over_a_link_of_its_own():
    alone, beside = row("llama-3-70b", 1024, peak("ib-ndr")), row("llama-3-70b", 1024, peak("ib-ndr"), Layout(tp=8))
    assert (beside.bytes, beside.link_count) == (alone.bytes, 8)
    assert beside.rank_bytes == beside.link_bytes == alone.bytes // 8
    assert beside.line_rate_ns == pytest.approx(alone.line_rate_ns / 8, abs=1)


@pytest.mark.parametrize(
    ("tp", "nics", "links_worth"),
    [(8, 1, 8), (8, 4, 2), (8, 3, 3), (8, 8, 1), (1, 4, Fraction(1, 4)), (2, 5, Fraction(1, 2))],
)  # fmt: skip
def test_ranks_share_links_or_spread_over_several(tp: int, nics: int, links_worth: Fraction):
    found = row("llama-3-70b", 1024, peak("ib-ndr"), Layout(tp=tp), nics)
    assert found.link_bytes == found.rank_bytes * links_worth


def test_a_latent_that_one_rank_sends_crosses_one_link():
    found = row("deepseek-v3", 1024, peak("ib-ndr"), Layout(tp=8), 4)
    assert found.link_bytes == found.rank_bytes == found.bytes


# --- types ------------------------------------------------------------------------------------------------------------


def test_compression_saves_bytes_and_lengthens_the_critical_length():
    shipment = Shipment(LLAMA_70B, wire_dtype=cache_type("int8"))
    found = predict(shipment, [peak("eth-100g")], Question([1024], [1], Steps(30 * MS, 30 * MS)))
    assert found.rows[0].bytes == 335_544_320 * 65 // 128
    assert found.rows[0].saved_bytes == 335_544_320 * 63 // 128
    assert found.rows[0].critical_tokens.low == 2253
    assert found.kv_bytes_per_token == 327_680


@pytest.mark.parametrize("kind", ["fp8", "int8", "int4"])
def test_a_cache_of_8_bits_is_offered_no_narrower_type(kind: str):
    narrow = predict(Shipment(LLAMA_70B, kv_dtype=cache_type(kind)), [peak("ib-ndr")], Question([1024], [1], BAND))
    assert narrow.packings == []
    assert [reason.fix for reason in narrow.reasons if reason.path == "/wire_dtype"] == [""]
    wide = predict(Shipment(LLAMA_70B), [peak("ib-ndr")], Question([1024], [1], BAND))
    assert {each.dtype: round(each.share, 3) for each in wide.packings} == {
        "fp8": 0.5, "fp8-g128": 0.508, "fp8-g128-fp32": 0.516, "int8": 0.508, "int4": 0.266, "int4-g32": 0.312,
    }  # fmt: skip


def test_a_packed_type_is_offered_to_latents_only():
    latent = predict(Shipment(find_model("deepseek-v3")), [peak("ib-ndr")], Question([1], [1], BAND)).packings
    assert round(next(each.share for each in latent if each.dtype == "fp8-mla"), 3) == 0.569


# --- published results ------------------------------------------------------------------------------------------------


def test_mooncakes_vllm_rows_are_gibibytes():
    """https://github.com/kvcache-ai/Mooncake/blob/main/docs/source/performance/vllm/vllm-v1-pd-performance.md."""
    for tokens, gib_s, published_ms in ((1024, 95.2, 1.50), (8192, 127.6, 8.84), (32_768, 142.3, 31.65)):
        found = row("qwen3-8b", tokens, peak(gb_s=round(gib_s * 2**30 / 1e9, 6)))
        assert found.line_rate_ns / MS == pytest.approx(published_ms, rel=0.02 if tokens < 8192 else 0.003)
    assert found.bytes == 4_831_838_208


def test_mooncakes_sglang_rows_send_heads_twice():
    """https://github.com/kvcache-ai/Mooncake/blob/main/docs/source/performance/sglang/sglang-benchmark-results-v1.md."""
    for tokens, published_gb, published_ms in ((1024, 0.394, 3.96), (8192, 3.15, 20.31), (32_768, 12.62, 76.78)):
        found = row("qwen3-235b-a22b", tokens, peak("ib-ndr"), Layout(tp=8), nics=4)
        assert found.bytes / 1e9 == pytest.approx(published_gb, rel=0.002)
        assert found.line_rate_ns / MS < published_ms  # no link is faster than its line rate


def test_flowkvs_reduction_is_94_percent():
    """https://arxiv.org/abs/2504.03775 took 0.944 s to 0.053 s; its text says 96 %."""
    before, after = (line_rate_ns(nbytes, peak(gb_s=1)) for nbytes in (944_000_000, 53_000_000))
    assert human_share((before - after) / before) == "94.4 %"


# --- layers on their way while others are computed --------------------------------------------------------------------


def simulated(layers: int, transfer: int, compute: int) -> int:
    """What one wire has left to do when the last layer is computed, layer by layer."""
    free = computed = 0
    for _ in range(layers):
        computed += compute
        free = max(free, computed) + transfer
    return free - computed


@given(st.integers(1, 200), st.integers(1, 10_000), st.integers(0, 10_000), st.integers(0, 1000))
def test_the_remainder_is_what_a_simulation_of_wire_and_layers_leaves(layers: int, each: int, compute: int, cost: int):
    assert exposed_ns(layers * each, 1e9, layers, compute, cost) == simulated(layers, each + cost, compute)


def test_the_remainder_is_the_same_for_any_number_of_layers_while_computing_is_slower():
    """As https://arxiv.org/abs/2311.18677 observed of transfers layer by layer."""
    assert {exposed_ns(layers * 100_000, 25e9, layers, 4_000) for layers in (1, 2, 32, 80, 126)} == {4_000}
    assert exposed_ns(80 * 100_000, 25e9, 80, 3_999) == 4_000 + 79


def test_a_cost_per_layer_can_make_layers_slower_than_all_at_once():
    """Why short prompts are better sent whole: 80 layers pay 80 fixed costs."""
    whole = exposed_ns(80 * 1000, 50e9, 1, 0, 100_000)
    assert exposed_ns(80 * 1000, 50e9, 80, 10_000, 100_000) > whole


def test_nothing_to_send_leaves_nothing_and_no_layer_is_refused():
    assert exposed_ns(0, 1e9, 80, 5, 100) == 0
    with pytest.raises(UsageError, match="0 layers"):
        exposed_ns(1, 1e9, 0, 1)


def test_a_stage_sends_only_its_own_layers():
    asked = Question([1024], [1], BAND, layer_ns=1)
    whole, stages = (predict(Shipment(LLAMA_70B, Layout(pp=pp)), [peak("ib-ndr")], asked) for pp in (1, 4))
    assert (whole.layer_count, stages.layer_count) == (80, 20)
    assert stages.rows[0].exposed_ns == pytest.approx(whole.rows[0].exposed_ns / 4, rel=1e-3)


# --- what is not known ------------------------------------------------------------------------------------------------


def test_a_link_without_measurements_has_no_practical_times():
    prediction = predict(Shipment(LLAMA_70B), [peak("ib-xdr")], Question([1024], [1], BAND))
    assert prediction.rows[0].practical_ns is None
    codes = {reason.path: reason.code for reason in prediction.reasons}
    assert codes["/rows/0/practical_ns"] == codes["/rows/0/practical_critical_tokens/high"] == "no-ceiling"


@pytest.mark.parametrize("missing", ["links", "tokens", "batch"])
def test_a_prediction_needs_a_link_a_length_and_a_batch(missing: str):
    asked = Question([] if missing == "tokens" else [1], [] if missing == "batch" else [1], BAND)
    with pytest.raises(UsageError, match="needs"):
        predict(Shipment(LLAMA_70B), [] if missing == "links" else [peak("ib-ndr")], asked)
