"""Every model of the catalogue against figures typed from published tables: bytes per token, and fixed states."""

import pytest

from nsysparse.catalog.loader import find_model, models
from nsysparse.theory.kv_cache import bytes_per_token, kv_bytes

SAME = None
MB = 1_000_000
FAR = 1 << 21  # tokens; past every window, and a multiple of every chunk

# id: (bytes per token of all attention layers, of those without a window; SAME where alike), 16-bit values.
FIGURES = {
    "llama-2-7b": (524_288, SAME),
    "llama-2-13b": (819_200, SAME),
    "llama-2-70b": (327_680, SAME),
    "llama-3-8b": (131_072, SAME),
    "llama-3-70b": (327_680, SAME),
    "llama-3.1-405b": (516_096, SAME),
    "llama-3.2-1b": (32_768, SAME),
    "llama-3.2-3b": (114_688, SAME),
    "mistral-7b-v0.1": (131_072, 0),
    "mistral-7b-v0.3": (131_072, SAME),
    "mixtral-8x7b": (131_072, SAME),
    "mixtral-8x22b": (229_376, SAME),
    "mistral-large-2407": (360_448, SAME),
    "qwen2.5-7b": (57_344, SAME),
    "qwen2.5-32b": (262_144, SAME),
    "qwen2.5-72b": (327_680, SAME),
    "qwen3-0.6b": (114_688, SAME),
    "qwen3-8b": (147_456, SAME),
    "qwen3-14b": (163_840, SAME),
    "qwen3-32b": (262_144, SAME),
    "qwen3-30b-a3b": (98_304, SAME),
    "qwen3-235b-a22b": (192_512, SAME),
    "qwen3-coder-480b": (253_952, SAME),
    "minimax-m2.5": (253_952, SAME),
    "phi-4": (204_800, SAME),
    "falcon-7b": (8_192, SAME),
    "falcon-40b": (122_880, SAME),
    "falcon-180b": (163_840, SAME),
    "gemma-7b": (458_752, SAME),
    "opt-66b": (2_359_296, SAME),
    "opt-175b": (4_718_592, SAME),
    "nemotron-super-49b": (200_704, SAME),
    "gpt-oss-20b": (49_152, 24_576),
    "gpt-oss-120b": (73_728, 36_864),
    "gemma-2-9b": (344_064, 172_032),
    "gemma-2-27b": (376_832, 188_416),
    "gemma-3-1b": (26_624, 4_096),
    "gemma-3-4b": (139_264, 20_480),
    "gemma-3-12b": (393_216, 65_536),
    "gemma-3-27b": (507_904, 81_920),
    "gemma-4-26b-a4b": (225_280, 20_480),
    "llama-4-scout": (196_608, 49_152),
    "step-3.7-flash": (184_320, 49_152),
    "mimo-v2-flash": (222_720, 23_040),
    "laguna-s-2.1": (196_608, 49_152),
    "deepseek-v2-lite": (31_104, SAME),
    "deepseek-v2": (69_120, SAME),
    "deepseek-v3": (70_272, SAME),
    "kimi-k2": (70_272, SAME),
    "deepseek-v3.2": (78_324, SAME),
    "glm-5": (100_152, SAME),
    "glm-5.2": (92_628, SAME),
    "qwen3-next-80b": (24_576, SAME),
    "qwen3.5-27b": (65_536, SAME),
    "qwen3.5-35b-a3b": (20_480, SAME),
    "qwen3.5-122b-a10b": (24_576, SAME),
    "qwen3.5-397b-a17b": (30_720, SAME),
    "kimi-k3": (27_648, SAME),
    "kimi-linear-48b": (8_064, SAME),
    "jamba-v0.1": (16_384, SAME),
    "nemotron-h-56b": (40_960, SAME),
    "nemotron-3-nano-30b": (6_144, SAME),
    "nemotron-3-super-120b": (8_192, SAME),
}

# Fixed state per sequence in MB, to the digits that were published.
STATES = {
    "qwen3-next-80b": (39.5, 0.1),
    "qwen3.5-27b": (154, 1),
    "qwen3.5-35b-a3b": (64, 1),
    "qwen3.5-122b-a10b": (154, 1),
    "qwen3.5-397b-a17b": (192, 1),
    "kimi-k3": (449, 1),
    "kimi-linear-48b": (43.4, 0.1),
    "jamba-v0.1": (8.7, 0.1),
    "nemotron-h-56b": (460, 1),
    "nemotron-3-nano-30b": (49, 1),
    "nemotron-3-super-120b": (170, 1),
}


def test_there_are_sixty_models_and_each_has_its_figures():
    assert set(FIGURES) == set(models())
    assert len(FIGURES) >= 60
    assert set(STATES) == {model.id for model in models().values() if model.state_bytes is not None}
    assert all(model.verified for model in models().values())


@pytest.mark.parametrize(("model_id", "figures"), FIGURES.items(), ids=list(FIGURES))
def test_a_model_has_its_published_bytes_per_token(model_id: str, figures: tuple[int, int | None]):
    model = find_model(model_id)
    short, long = figures
    assert bytes_per_token(model) == model.short_bytes_per_token == short
    assert model.long_bytes_per_token == (short if long is SAME else long)
    assert kv_bytes(model, 2 * FAR) - kv_bytes(model, FAR) == FAR * model.long_bytes_per_token


@pytest.mark.parametrize(("model_id", "published"), STATES.items(), ids=list(STATES))
def test_a_hybrid_has_its_published_state(model_id: str, published: tuple[float, float]):
    model = find_model(model_id)
    megabytes, digit = published
    assert model.state_bytes == kv_bytes(model, 1) - model.short_bytes_per_token
    assert abs(model.state_bytes / MB - megabytes) <= digit / 2
