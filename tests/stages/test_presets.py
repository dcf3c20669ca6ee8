"""Every rule's examples are its tests."""

import polars as pl
import pytest

from nsysparse.errors import InputError
from nsysparse.presets.loader import FIELDS, Rule, builtin_rules, match, parse


def said(
    text: str, rules: tuple[Rule, ...] | list[Rule], *, default_domain: bool = True, domain: str | None = None
) -> dict[str, str] | None:
    labels = pl.DataFrame(
        {"label_id": [0], "domain": [domain], "name": [text], "is_default_domain": [default_domain]},
        schema_overrides={"label_id": pl.UInt32, "domain": pl.String},
    )
    found = match(labels, rules)
    return found.row(0, named=True) if found.height else None


@pytest.mark.parametrize("rule", builtin_rules(), ids=lambda rule: f"{rule.preset}/{rule.id}")
def test_examples_give_their_fields(rule: Rule) -> None:
    for example in rule.examples:
        found = said(example.text, [rule], domain=rule.domain)
        assert found is not None, example.text
        assert {name: found[name] for name in FIELDS if found[name] is not None} == dict(example.fields)
        assert found["kind"] == rule.kind
        assert found["purpose"] == rule.purpose


@pytest.mark.parametrize(
    "text",
    [
        "aten::layer_norm, seq = 12, op_id = 340",
        "nccl:all_reduce, op_id = 3",
        "kv_transferred",
        "forward",
        "prefill",
        "torch.nn.modules.conv.Conv2d",
        "player 3",
        "layer 3d convolution",
        "requests=cmpl-1,cmpl-2",
        "",
    ],
)
def test_texts_that_say_nothing(text: str) -> None:
    assert said(text, builtin_rules()) is None


def test_a_field_comes_from_the_strongest_rule_that_has_it() -> None:
    found = said("kv_transfer layer=3 req=r9", builtin_rules(), default_domain=False)
    assert found is not None
    assert (found["kind"], found["purpose"], found["layer"], found["request"]) == ("transfer", "kv", "3", "r9")


@pytest.mark.parametrize("domain", [None, "trtllm.disagg", "TRTLLM.disagg.bounce", "trtllm.disagg.bounce.x"])
def test_a_rule_of_a_domain_says_nothing_in_others(domain: str | None) -> None:
    text = "nixlWrite rid=42 chunk=3 bytes=64"
    found = said(text, builtin_rules(), default_domain=False, domain="trtllm.disagg.bounce")
    assert found is not None
    assert (found["purpose_rule"], found["request"], found["bytes"]) == ("trtllm-bounce/nixlWrite", "42", "64")
    assert said(text, builtin_rules(), default_domain=domain is None, domain=domain) is None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("name = 'x'\n[[rule]]\nid='a'\nkind='k'\npattern='p'\nexamples=[]", "no example"),
        (
            "name='x'\n[[rule]]\nid='a'\nkind='k'\npattern='p'\nfields={layr='(a)'}\nexamples=[{text='p',fields={}}]",
            "layr",
        ),
        ("name = 'x'\n[[rule]]\nid='a'\nkind='k'\npatern='p'\n[[rule.examples]]\ntext='p'\nfields={}", "patern"),
        ("[[rule]]", "name"),
        ("= nonsense", "Preset mine"),
    ],
)
def test_a_preset_that_is_wrong_says_where(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        parse(text, "mine")


def test_a_rule_with_a_domain_matches_in_no_other() -> None:
    for domain, kind in (("lmcache", "offload"), ("LMCache", None), (None, None)):
        found = said("LMCacheEngine.store", builtin_rules(), default_domain=False, domain=domain)
        assert (found and found["kind"]) == kind
