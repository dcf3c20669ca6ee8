"""What requests moved against what their model keeps as it is served: a difference is a finding, and says why."""

from pathlib import Path

import pytest

from nsysparse.analysis import Analysis
from nsysparse.api import Options, analyse
from nsysparse.catalog.loader import find_model
from nsysparse.errors import UsageError
from nsysparse.testing import TraceBuilder
from nsysparse.theory.dtypes import cache_type
from nsysparse.theory.kv_cache import sequence_bytes
from nsysparse.theory.layout import layout

LLAMA, QWEN, HYBRID = "llama-3-70b", "qwen3-235b-a22b", "qwen3-next-80b"
TOKENS = (128, 512)


def moved(folder: Path, sizes: tuple[int, ...], *, stray: int = 0, **options: object) -> Analysis:
    """Requests of these prompts, each annotated whole, and so many bytes beside them that name none."""
    builder = TraceBuilder(schema="3.25", gpus={0: "x"}, duration=10**9)
    thread = builder.process(pid=1).thread(tid=1)
    for number, (tokens, nbytes) in enumerate(zip(TOKENS, sizes, strict=True)):
        at = 10_000 * (number + 1)
        thread.start_end(f"kv_request request=r{number} prompt={tokens}", at, at + 9_000)
        thread.start_end(f"kv_transfer op=put request=r{number} layer=all bytes={nbytes}", at + 100, at + 5_000)
    if stray:
        thread.start_end(f"kv_transfer op=put layer=all bytes={stray}", 90_000, 95_000)
    return analyse([builder.write(folder / "t.sqlite")], Options(**{"model": LLAMA, **options}))  # type: ignore[arg-type]


def expected(model: str = LLAMA, *, kv_dtype: str = "16-bit", tp: int = 1) -> tuple[int, ...]:
    kind, ranks = cache_type(kv_dtype), layout(tp)
    return tuple(sequence_bytes(find_model(model), tokens, layout=ranks, kv_dtype=kind) for tokens in TOKENS)


def test_what_agrees_is_no_finding(tmp_path: Path) -> None:
    analysis = moved(tmp_path, expected())
    assert analysis.findings == ()
    assert tuple(request.expected_bytes for request in analysis.requests) == expected()
    assert analysis.theory.kv_bytes_per_token == 327_680


@pytest.mark.parametrize("kv_dtype", ["fp8", "int8", "int4", "int4-g32"])
def test_a_smaller_type_of_the_cache_explains_itself(kv_dtype: str, tmp_path: Path) -> None:
    sizes = expected(kv_dtype=kv_dtype)
    (finding,) = moved(tmp_path, sizes).findings
    assert finding.id == "bytes-against-model"
    assert "2 requests moved" in finding.title
    assert f"--kv-dtype {kv_dtype} " in finding.advice.partition("would explain it")[0]
    agreed = moved(tmp_path, sizes, kv_dtype=kv_dtype)
    assert agreed.findings == ()
    assert agreed.settings["kv_dtype"].value == kv_dtype


def test_duplicated_heads_explain_themselves(tmp_path: Path) -> None:
    sizes = expected(QWEN, tp=8)
    (finding,) = moved(tmp_path, sizes, model=QWEN).findings
    assert finding.advice.startswith("--tp 8 or --kv-dtype fp32 would explain it")
    assert "2 times" in finding.title
    assert moved(tmp_path, sizes, model=QWEN, tp=8).findings == ()


def test_nothing_was_compressed_after_all(tmp_path: Path) -> None:
    (finding,) = moved(tmp_path, expected(), wire_dtype="fp8").findings
    assert finding.advice.startswith("Leaving out --wire-dtype or --tp 16 would explain it")
    assert "--kv-dtype" not in finding.advice
    (finding,) = moved(tmp_path, expected(QWEN), model=QWEN, wire_dtype="fp8").findings
    assert finding.advice.startswith("Leaving out --wire-dtype or --tp 8 would explain it")
    (finding,) = moved(tmp_path, tuple(3 * size for size in expected()), wire_dtype="fp8").findings
    assert finding.advice.startswith("More ranks may have sent the same heads")
    (finding,) = moved(tmp_path, expected(), kv_dtype="fp8", wire_dtype="int4").findings
    assert "--kv-dtype 16-bit without --wire-dtype" in finding.advice
    (finding,) = moved(tmp_path, tuple(3 * size for size in expected())).findings
    assert "--wire-dtype" not in finding.advice


def test_compressed_to_another_type_than_was_said(tmp_path: Path) -> None:
    sizes = expected(kv_dtype="int4")
    (finding,) = moved(tmp_path, sizes, wire_dtype="fp8").findings
    assert finding.advice.startswith("--wire-dtype int4 (or --kv-dtype int4 without --wire-dtype) would")
    assert moved(tmp_path, sizes, wire_dtype="int4").findings == ()


def test_a_narrow_cache_is_not_compressed_further(tmp_path: Path) -> None:
    (wide,) = moved(tmp_path, expected(kv_dtype="fp8")).findings
    assert wide.advice.startswith("--kv-dtype fp8 (or --wire-dtype fp8) would explain it")
    (narrow,) = moved(tmp_path, expected(kv_dtype="int4"), kv_dtype="fp8").findings
    assert narrow.advice.startswith("--kv-dtype int4 would explain it")


def test_a_type_is_tried_with_each_prompt(tmp_path: Path) -> None:
    sizes = expected(HYBRID, kv_dtype="fp8")  # its states keep their type, so no one factor explains both
    (finding,) = moved(tmp_path, sizes, model=HYBRID).findings
    assert "--kv-dtype fp8 " in finding.advice.partition("would explain it")[0]


def test_the_fewest_ranks_that_explain_it_are_enough(tmp_path: Path) -> None:
    (fewer,) = moved(tmp_path, expected(QWEN), model=QWEN, tp=16).findings  # 4 heads: 1, 2 and 4 ranks send the same
    assert fewer.advice.startswith("--tp 1 would explain it")
    (some,) = moved(tmp_path, expected(QWEN, tp=8), model=QWEN, tp=16).findings
    assert some.advice.startswith("--tp 8 or --kv-dtype fp8 ")


@pytest.mark.parametrize("model", ["deepseek-v3", "deepseek-v3.2"])
def test_each_rank_may_have_sent_its_latents(model: str, tmp_path: Path) -> None:
    one = expected(model)
    for count in (2, 3, 8):
        (finding,) = moved(tmp_path, tuple(count * size for size in one), model=model, tp=8).findings
        assert finding.advice.startswith(f"{count} ranks each sending their copy of the latents")
        assert "would explain it" in finding.advice
        assert "--tp" not in finding.advice
    (twice,) = moved(tmp_path, tuple(2 * size for size in one), model=model).findings
    assert ("--kv-dtype fp32 would explain it" in twice.advice) == (model == "deepseek-v3")
    (whole,) = moved(tmp_path, one, model=model, wire_dtype="fp8").findings
    assert whole.advice.startswith("Leaving out --wire-dtype ")
    (other,) = moved(tmp_path, tuple(size * 5 // 2 for size in one), model=model).findings
    assert "latents" in other.advice
    assert "--tp" not in other.advice


def test_a_whole_multiple_of_heads_is_not_of_latents(tmp_path: Path) -> None:
    (finding,) = moved(tmp_path, tuple(3 * size for size in expected())).findings
    assert "latent" not in finding.advice
    assert "--tp" in finding.advice


def test_what_no_factor_explains_names_the_usual_causes(tmp_path: Path) -> None:
    first, second = expected()
    (less,) = moved(tmp_path, (first // 3, second // 4)).findings
    assert "prefix-cache hits" in less.advice
    assert "0.25 to 0.333" in less.title
    (more,) = moved(tmp_path, (first * 3, second * 4)).findings
    assert "--tp" in more.advice


def test_what_has_no_request_may_be_the_rest(tmp_path: Path) -> None:
    half = tuple(size // 2 for size in expected())
    (finding,) = moved(tmp_path, half, stray=sum(half)).findings
    assert finding.advice.startswith("104.9 MB were attributed to no request (no annotation names one): they may be ")
    assert "--kv-dtype fp8 " in finding.advice
    (third,) = moved(tmp_path, tuple(size // 3 for size in expected()), stray=1_000).findings
    assert third.advice.startswith("1.00 kB were attributed to no request")
    assert "prefix-cache hits" in third.advice
    for sizes, stray in ((half, 0), (tuple(3 * size for size in expected()), 1_000)):
        (finding,) = moved(tmp_path, sizes, stray=stray).findings
        assert "no request" not in finding.advice


def test_compressed_only_for_the_crossing(tmp_path: Path) -> None:
    sizes = expected(kv_dtype="int8")
    analysis = moved(tmp_path, sizes, wire_dtype="int8")
    assert analysis.findings == ()
    assert analysis.theory.kv_bytes_per_token == 327_680
    with pytest.raises(UsageError, match="saves nothing"):
        moved(tmp_path, sizes, kv_dtype="fp8", wire_dtype="int8")


@pytest.mark.parametrize("option", [{"tp": 2}, {"kv_dtype": "fp8"}, {"wire_dtype": "fp8"}])
def test_how_a_model_is_served_needs_the_model(option: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no model is named"):
        moved(tmp_path, expected(), model=None, **option)
