"""What built-in presets say of texts: every rule's examples are its tests, alone and beside all other rules."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsysparse.attribution import annotate
from nsysparse.presets.loader import BUILTIN, FIELDS, KINDS, Preset, Rule, active, builtin, builtin_rules, match
from nsysparse.presets.matching import matches
from nsysparse.presets.verify import verify
from nsysparse.purpose import with_purpose
from nsysparse.scopes import find_scopes, wants_local_copies
from nsysparse.source.extract import read_trace
from nsysparse.testing import TraceBuilder
from nsysparse.transports.nixl import find

UUID = "0123456789abcdef0123456789abcdef"
HOOKED = (
    "{'Module': 'LlamaForCausalLM.model.layers.12.self_attn.qkv_proj', 'TrainableParams': {'weight': [6144, 4096]},"
    " 'Inputs': [[17, 4096]]}"
)
P2P = f"cmpl-___prefill_addr_10.0.1.2:21001___decode_addr_10.0.1.3:22001_{UUID}-0"
RULES = {rule.cite: rule for rule in builtin_rules()}


def labels(*texts: str, domain: str | None = None, default: bool | None = None) -> pl.DataFrame:
    is_default = domain is None if default is None else default
    return pl.DataFrame(
        {"label_id": range(len(texts)), "domain": domain, "name": texts, "is_default_domain": is_default},
        schema={"label_id": pl.UInt32, "domain": pl.String, "name": pl.String, "is_default_domain": pl.Boolean},
    )


def said(
    text: str, rules: tuple[Rule, ...] | list[Rule], *, default_domain: bool | None = None, domain: str | None = None
) -> dict[str, str] | None:
    found = match(labels(text, domain=domain, default=default_domain), rules)
    return found.row(0, named=True) if found.height else None


def fields(row: Mapping[str, str | None] | None) -> dict[str, str] | None:
    return None if row is None else {name: row[name] for name in FIELDS if row[name] is not None}


def strongest(text: str, domain: str | None = None) -> str | None:
    rules = list(RULES.values())
    return next((rules[place].cite for place, _ in matches(labels(text, domain=domain), rules)), None)


def names(*texts: str, domain: str | None = None) -> list[str]:
    return [preset.name for preset in active(builtin(), labels(*texts, domain=domain))]


# --- each rule --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", builtin(), ids=lambda preset: preset.name)
def test_built_in_presets_are_as_a_users_must_be(preset: Preset) -> None:
    assert verify(preset, preset.name) == []
    assert preset.about
    assert all(rule.preset == preset.name == BUILTIN[builtin().index(preset)] for rule in preset.rules)
    assert {rule.kind for rule in preset.rules} <= set(KINDS)


@pytest.mark.parametrize("rule", builtin_rules(), ids=lambda rule: rule.cite)
def test_examples_give_their_fields(rule: Rule) -> None:
    assert rule.examples
    for example in rule.examples:
        found = said(example.text, [rule], domain=rule.domain)
        if rule.drop:
            assert found is None
            assert list(matches(labels(example.text, domain=rule.domain), [rule]))
            continue
        assert fields(found) == {**example.fields, **rule.says}, example.text
        assert found is not None
        assert (found["kind"], found["purpose"]) == (rule.kind, rule.purpose)
        assert found["purpose_rule"] == (rule.cite if rule.purpose else None)


@pytest.mark.parametrize("rule", builtin_rules(), ids=lambda rule: rule.cite)
def test_beside_all_other_rules_each_example_is_its_own_rules(rule: Rule) -> None:
    """But for the posts of NIXL, of which vLLM's preset, where it speaks, knows more."""
    for example in rule.examples:
        expected = {"nixl::postXferReq.read": "vllm-nixl/read", "nixl::postXferReq.write": "vllm-nixl/write"}
        owner = RULES[expected.get(example.text, rule.cite)]
        assert strongest(example.text, rule.domain) == owner.cite
        found = fields(said(example.text, builtin_rules(), domain=rule.domain))
        assert found == (None if rule.drop else {**example.fields, **owner.says})


@pytest.mark.parametrize("name", [name for name in BUILTIN if name != "distserve"])
def test_a_probe_knows_the_examples_of_its_rules_together(name: str) -> None:
    (preset,) = (each for each in builtin() if each.name == name)
    parts = [labels(*(each.text for each in rule.examples), domain=rule.domain) for rule in preset.rules]
    beside = labels("execute_context_0(0)_generation_1(1)") if name == "vllm-nixl" else labels()
    whole = pl.concat([*parts, beside])
    assert preset in active([preset], whole)


# --- the catalogue of texts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rule", "expected"),
    [
        (f"{P2P}#model.layers.3.self_attn.attn", "vllm-p2p-nccl/tensor", {"request": P2P, "layer": "3"}),
        (P2P, "vllm-p2p-nccl/request", {"request": P2P}),
        (f"chatcmpl-{UUID}", "vllm/request", {"request": f"chatcmpl-{UUID}"}),
        (f"chatcmpl-{UUID}-1a2b3c4d", "vllm/request", {"request": f"chatcmpl-{UUID}-1a2b3c4d"}),
        ("execute_context_1(512)_generation_0(0)", "vllm/step-prefill",
         {"phase": "prefill", "tokens": "512", "ctx_reqs": "1", "gen_reqs": "0", "order": "layer-major"}),
        ("execute_context_3(3)_generation_0(0)", "vllm/step-prefill",
         {"phase": "prefill", "tokens": "3", "ctx_reqs": "3", "gen_reqs": "0", "order": "layer-major"}),
        ("execute_context_0(0)_generation_32(32)", "vllm/step-decode",
         {"phase": "decode", "tokens": "32", "ctx_reqs": "0", "gen_reqs": "32"}),
        ("execute_context_2(2048)_generation_14(14)", "vllm/step-mixed",
         {"phase": "mixed", "ctx_reqs": "2", "gen_reqs": "14", "order": "layer-major"}),
        ("execute_context_1(1)_generation_14(14)", "vllm/step-one-token",
         {"ctx_reqs": "1", "gen_reqs": "14", "order": "layer-major"}),
        ("execute_520_context_1(sq512sk512sqsq262144sqsk262144)_generation_8(sq8sk4096sqsq8sqsk4096)",
         "vllm/detail-mixed",
         {"phase": "mixed", "tokens": "520", "ctx_reqs": "1", "gen_reqs": "8", "order": "layer-major"}),
        ("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk16384sqsq32sqsk16384)", "vllm/detail-decode",
         {"phase": "decode", "tokens": "32", "ctx_reqs": "0", "gen_reqs": "32"}),
        ("execute_new_1_cached_0", "vllm/step-old", {}),
        ("gpu_model_runner: forward", "vllm/scope", {}),
        ("gpu_model_runner: eplb", "weights/eplb", {}),
        (HOOKED, "vllm/hooks-layer", {"layer": "12"}),
        ("{'Module': 'Mixtral.layers.2.experts.layers.5', 'Inputs': [[1]]}", "vllm/hooks-layer", {"layer": "2"}),
        ("{'Module': 'LlamaForCausalLM.lm_head', 'Inputs': [[4, 4096]]}", "vllm/hooks-module", {}),
        ("{'Module': 'model.model.layers.0.self_attn.attn', 'Inputs': [[8, 4096], [8, 1024], [8, 1024]]}",
         "sglang/hooks-layer", {"layer": "0"}),
        ("scheduler.run_batch", "sglang/scheduler", {}),
        ("step[EXTEND bs=4 toks=2048]", "sglang/step-prefill", {"phase": "prefill", "tokens": "2048", "ctx_reqs": "4"}),
        ("step[DECODE bs=32]", "sglang/step-decode", {"phase": "decode", "gen_reqs": "32"}),
        ("step[DRAFT_LOOP raw_bs=3 bs=4 topk=1]", "sglang/step-other", {}),
        ("[Executor] _forward_step 100: 4 ctx reqs, 0 gen reqs", "trtllm/step-prefill",
         {"phase": "prefill", "step": "100", "ctx_reqs": "4", "gen_reqs": "0"}),
        ("[Executor] _forward_step 101: 0 ctx reqs, 0 ctx tokens, 32 gen reqs", "trtllm/step-decode",
         {"phase": "decode", "step": "101", "ctx_reqs": "0", "gen_reqs": "32"}),
        ("[Executor] _forward_step 9: 1 ctx reqs, 128 ctx tokens, 7 gen reqs", "trtllm/step-mixed",
         {"phase": "mixed", "step": "9", "ctx_reqs": "1", "gen_reqs": "7"}),
        ("CacheFormatter_format", "trtllm/format", {"role": "prefill"}),
        ("MLACacheFormatter_unformat", "trtllm/unformat", {"role": "decode"}),
        ("sendBufferFun", "trtllm/send-buffer", {"role": "prefill"}),
        ("KvCacheTransceiverV2.respond_and_send_async", "trtllm/respond", {"role": "prefill"}),
        ("KvCacheTransceiverV2.request_and_receive_sync", "trtllm/request", {"role": "decode"}),
        ("_recv_disagg_gen_cache", "trtllm/receive", {"role": "decode"}),
        ("_check_disagg_gen_transfer_status", "trtllm/loop", {}),
        ("nixl::postXferReq.write", "vllm-nixl/write", {"layer": "all", "role": "prefill"}),
        ("nixl::xfer.complete", "nixl/call", {}),
        ("aten::mm, seq = 12, op_id = 340, sizes = [[16, 4096], [4096, 4096]]", "torch/emit-nvtx", {}),
        ("nccl:send 0->1, op_id = 77, sizes = [[2, 16, 128]]", "torch/p2p", {"op": "send", "rank": "0", "peer": "1"}),
        ("nccl:recv 1<-0", "torch/p2p", {"op": "recv", "rank": "1", "peer": "0"}),
        ("megatron.core.pipeline_parallel.p2p_communication.send_forward", "megatron-pp/p2p-communication", {}),
        ("model.layers.31.self_attn.attn", "generic/layer-path", {"layer": "31"}),
        ("push kv layer#7", "generic/layer-word", {"layer": "7"}),
        ("kv_transfer request=42 layer=0-31 bytes=134217728", "own/kv_transfer",
         {"request": "42", "layer": "0-31", "bytes": "134217728"}),
    ],
)  # fmt: skip
def test_the_catalogue(text: str, rule: str, expected: dict[str, str]) -> None:
    assert strongest(text) == rule
    assert fields(said(text, builtin_rules())) == expected


@pytest.mark.parametrize(
    ("text", "domain", "rule", "expected"),
    [
        ("LMCacheEngine.retrieve_layer", "lmcache", "lmcache/retrieve", {}),
        ("LMCacheConnectorV1Impl.save_kv_layer", "lmcache", "lmcache/connector", {}),
        ("nixlWrite rid=42 chunk=3 bytes=16777216", "trtllm.disagg.bounce", "trtllm-bounce/nixlWrite",
         {"request": "42", "chunk": "3", "bytes": "16777216", "role": "prefill"}),
        ("req rid=42 chunks=8 bytes=134217728", "trtllm.disagg.bounce", "trtllm-bounce/whole", {"request": "42"}),
        ("Worker.execute_model", "vLLM", "vllm/functions", {}),
    ],
)  # fmt: skip
def test_the_catalogue_of_domains(text: str, domain: str, rule: str, expected: dict[str, str]) -> None:
    assert strongest(text, domain) == rule
    assert fields(said(text, builtin_rules(), domain=domain)) == expected
    assert strongest(text) != rule


@pytest.mark.parametrize(
    "text",
    [
        "kv_transferred",
        "forward",
        "prefill_queue",
        "torch.nn.modules.conv.Conv2d",
        "player 3",
        "layer 3d convolution",
        "requests=cmpl-1,cmpl-2",
        "execute_context_0(0)",
        "execute_new_1",
        "scheduler.run_batches",
        "step[decode bs=3]",
        "pool-1",
        "score_fn",
        "resp_handler",
        "nccl:broadcast",
        "nixl::unheard",
        "CacheFormatter_reformat",
        "{'Module'",
        "",
    ],
)
def test_texts_that_say_nothing(text: str) -> None:
    assert said(text, builtin_rules()) is None


@pytest.mark.parametrize("text", ["aten::layer_norm, seq = 12, op_id = 340", "nccl:all_reduce, op_id = 3"])
def test_operations_of_torch_are_known_and_say_nothing(text: str, tmp_path: Path) -> None:
    found = said(text, builtin_rules())
    assert found is not None
    assert (found["kind"], found["purpose"], fields(found)) == ("scope", None, {})
    builder = TraceBuilder()
    builder.process(pid=1).thread(tid=1).push_pop(text, 0, 10)
    trace = read_trace(builder.write(tmp_path / "t.sqlite"), "t", all_gpu_work=False)
    assert trace.ranges.height == 1
    assert find_scopes(trace).height == 0


# --- several rules, dropped texts, domains ----------------------------------------------------------------------------


def rule(ident: str, pattern: str, kind: str = "layer", **more: object) -> Rule:
    return Rule("x", ident, kind, pattern, (), **more)


def test_a_field_comes_from_the_strongest_rule_that_has_it() -> None:
    found = said("kv_transfer layer=3 req=r9", builtin_rules(), default_domain=False)
    assert found is not None
    assert (found["kind"], found["purpose"], found["layer"], found["request"]) == ("transfer", "kv", "3", "r9")


def test_kind_and_purpose_come_from_the_strongest_that_know_them() -> None:
    rules = [
        rule("a", "a", "scope", says={"phase": "prefill"}),
        rule("b", "b", "pack", purpose="kv", says={"phase": "decode", "role": "decode"}),
        rule("c", "c", "wait", purpose="other"),
    ]
    found = match(labels("abc", "ab", "ac", "bc", "a", "none"), rules)
    columns = ("label_id", "kind", "purpose", "purpose_rule", "phase", "role")
    assert found.select(columns).rows() == [
        (0, "pack", "kv", "x/b", "prefill", "decode"),
        (1, "pack", "kv", "x/b", "prefill", "decode"),
        (2, "wait", "other", "x/c", "prefill", None),
        (3, "pack", "kv", "x/b", "decode", "decode"),
        (4, "scope", None, None, "prefill", None),
    ]


def test_for_a_dropped_text_no_weaker_rule_speaks() -> None:
    strong, weak = rule("strong", "S", says={"layer": "1"}), rule("weak", "a", says={"layer": "2", "request": "r"})
    drop = rule("drop", "D", "nothing", drop=True)
    found = match(labels("a", "aD", "aDS", "D"), [strong, drop, weak])
    assert found.select("label_id", "layer", "request").rows() == [(0, "2", "r"), (2, "1", None)]


@pytest.mark.parametrize("prefix", ["LlamaForCausalLM.model", "model.model", "net"])
@pytest.mark.parametrize("domain", [None, "any"])
def test_the_empty_twin_of_a_module_says_nothing(prefix: str, domain: str | None) -> None:
    module = f"{{'Module': '{prefix}.layers.12.mlp'"
    twin = module + ", 'StaticParams': {'a': 'x.layers.1.y'}, 'Outputs': [[17, 4096]]}"
    assert said(twin, builtin_rules(), domain=domain) is None
    assert said(twin.replace("'Outputs'", "'Inputs'"), builtin_rules(), domain=domain)["layer"] == "12"  # type: ignore[index]
    assert said(module + "}", builtin_rules(), domain=domain)["layer"] == "12"  # type: ignore[index]


def test_what_a_group_finds_empty_is_not_said() -> None:
    found = match(labels("layer= x"), [rule("a", "layer=(?P<layer>[0-9]*)"), rule("b", "(?P<layer>x)")])
    assert found["layer"].to_list() == ["x"]


@pytest.mark.parametrize("domain", [None, "trtllm.disagg", "TRTLLM.disagg.bounce", "trtllm.disagg.bounce.x"])
def test_a_rule_of_a_domain_says_nothing_in_others(domain: str | None) -> None:
    text = "nixlWrite rid=42 chunk=3 bytes=64"
    found = said(text, builtin_rules(), default_domain=False, domain="trtllm.disagg.bounce")
    assert found is not None
    assert (found["purpose_rule"], found["request"], found["bytes"]) == ("trtllm-bounce/nixlWrite", "42", "64")
    assert said(text, builtin_rules(), domain=domain) is None


def test_a_rule_with_a_domain_matches_in_no_other() -> None:
    for domain, kind in (("lmcache", "offload"), ("LMCache", None), (None, None)):
        found = said("LMCacheEngine.store", builtin_rules(), default_domain=False, domain=domain)
        assert (found and found["kind"]) == kind


@given(st.lists(st.text(alphabet="kv_transfer=layer. 0123'{}\u00e4\n", max_size=24), unique=True, max_size=8))
def test_texts_are_matched_alike_one_by_one_and_together(texts: list[str]) -> None:
    mixed = [*texts, "kv_transfer layer=3 request=r", "model.layers.4.x"]
    together = match(labels(*mixed), builtin_rules()).rows(named=True)
    alone = [{**row, "label_id": place} for place, text in enumerate(mixed) if (row := said(text, builtin_rules()))]
    assert together == alone


# --- which presets speak ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "more"),
    [
        (["some range"], []),
        (["Forward"], []),  # any trainer has one
        (["Forward", "Bookkeep"], ["vllm"]),
        (["nixl::postXferReq.read"], ["nixl"]),
        (["nixl::postXferReq.read", "execute_context_0(0)_generation_1(1)"], ["vllm", "vllm-nixl", "nixl"]),
        (["nixl::getNotifs", "execute_context_0(0)_generation_1(1)"], ["vllm", "nixl"]),
        (["nixl::postXferReq.write", "scheduler.run_batch"], ["nixl", "sglang"]),
        ([P2P], ["vllm-p2p-nccl", "vllm"]),
        (["step[DECODE bs=1]"], ["sglang"]),
        (["[Executor] _forward_step 1: 1 ctx reqs, 0 gen reqs"], ["trtllm"]),
        (["aten::mm, op_id = 3"], ["torch"]),
        (["layer weight 3"], []),
        (["load_weights"], ["weights"]),
    ],
)
def test_a_preset_speaks_where_its_probe_matches(texts: list[str], more: list[str]) -> None:
    assert names(*texts) == ["own", *more, "generic"]


def test_a_probe_may_ask_for_a_domain() -> None:
    assert names("anything", domain="lmcache") == ["own", "lmcache", "generic"]
    assert names("anything", domain="LMCache") == ["own", "generic"]


def test_distserve_says_what_to_do_and_never_speaks() -> None:
    (preset,) = (each for each in builtin() if each.name == "distserve")
    assert preset.rules == ()
    assert "memcpy" in preset.about
    assert "distserve" not in names("migrate_blocks")


def test_ranges_of_nccl_are_never_matched(tmp_path: Path) -> None:
    builder = TraceBuilder()
    thread = builder.process(pid=1).thread(tid=1)
    thread.push_pop("layer 3", 0, 10, domain="NCCL")
    thread.push_pop("layer 4", 20, 30)
    trace = read_trace(builder.write(tmp_path / "t.sqlite"), "t", all_gpu_work=False)
    assert find_scopes(trace).filter()["layer"].to_list() == ["4"]


def test_rules_that_are_given_are_the_only_ones(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.process(pid=1).thread(tid=1).push_pop("stage:3 layer 4", 0, 10)
    trace = read_trace(builder.write(tmp_path / "t.sqlite"), "t", all_gpu_work=False)
    assert find_scopes(trace).filter()["layer"].to_list() == ["4"]
    assert find_scopes(trace, [rule("a", r"stage:(?P<layer>\d+)")]).filter()["layer"].to_list() == ["3"]
    assert find_scopes(trace, []).height == 0


def test_local_copies_matter_where_the_strongest_rule_says_so() -> None:
    load = rule("load", "copy", "load")
    assert wants_local_copies(labels("copy in"), [load])
    assert not wants_local_copies(labels("copy in"), [rule("not", "copy", "layer"), load])
    assert wants_local_copies(labels("copy in"), [rule("vague", "copy", "scope"), load])
    assert not wants_local_copies(labels("none"), [load])


# --- posts that carry all layers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("around", "step", "layer", "how"),
    [
        (None, "execute_context_0(0)_generation_1(1)", "all", "nested"),
        (None, "other engine", None, None),
        ("kv_transfer layer=3", "execute_context_0(0)_generation_1(1)", "3", "exact"),
        ("kv_layer layer=5", "execute_context_0(0)_generation_1(1)", "5", "nested"),
    ],
)
def test_a_range_that_names_layers_goes_before_that_all_are_carried(
    around: str | None, step: str, layer: str | None, how: str | None, tmp_path: Path
) -> None:
    builder = TraceBuilder()
    thread = builder.process(pid=1).thread(tid=1)
    thread.push_pop(step, 0, 50)
    if around:
        thread.push_pop(around, 90, 130)
    thread.nixl_post("read", 100, 110, agent="decode-0", handle=1, nbytes=64)
    thread.push_pop("later", 900, 999)
    trace = read_trace(builder.write(tmp_path / "t.sqlite"), "t", all_gpu_work=False)
    scopes = find_scopes(trace)
    found = find(trace, scopes).with_row_index("transfer_id").with_columns(pl.col("transfer_id").cast(pl.UInt32))
    (row,) = annotate(with_purpose(found, scopes), scopes, Counter()).rows(named=True)
    assert (row["layer_text"], row["layer_provenance"]) == (layer, how)
    assert row["role"] == (None if step == "other engine" else "decode")
