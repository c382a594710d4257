"""Float8 layers compute what they say, as the library that wrote the format computes it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.engines import compressed, float8
from stablechoice.engines.checkpoint import load, load_model
from stablechoice.engines.quantization import Quantization
from stablechoice.errors import ConfigError, ModelError
from tests.tiny_model import edit_json, save_tiny

ROOT = Path(__file__).resolve().parents[2]
IDS = torch.arange(60)[None]


def write_fp8_dynamic(source: Path, target: Path) -> int:
    """The writer that the GPU check uses too."""
    sys.path.insert(0, str(ROOT / "bench"))
    try:
        import fp8_checkpoint
    finally:
        sys.path.pop(0)
    return int(fp8_checkpoint.write_fp8_dynamic(source, target))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    save_tiny(folder)
    return folder


@pytest.fixture(scope="module")
def eight(plain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model as an FP8-dynamic checkpoint; two layers of seven projections each."""
    folder = tmp_path_factory.mktemp("eight")
    assert write_fp8_dynamic(plain, folder) == 14
    return folder


def logits(folder: Path, dtype: Any, weights: str | None = None, arithmetic: str = "dequantised") -> Any:
    model = load_model(folder, dtype, "cpu", Quantization(weights, arithmetic) if weights else None)
    with torch.inference_mode():
        return model(IDS).logits.double()


def of_transformers(folder: Path, dtype: Any, **choice: bool) -> Any:
    from transformers import AutoModelForCausalLM
    from transformers.utils.quantization_config import CompressedTensorsConfig

    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, quantization_config=CompressedTensorsConfig(**choice)
    ).eval()
    with torch.inference_mode():
        return model(IDS).logits.double()


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=4, max_size=4), st.floats(1e-3, 1e3))
@settings(deadline=None, max_examples=60)
def test_a_row_keeps_its_largest_magnitude_and_every_value_within_a_sixteenth(row: list[float], factor: float) -> None:
    x = torch.tensor([row], dtype=torch.float32) * factor
    values, scale = float8.rounded_rows(x)
    back = values.float() * scale
    largest = float(x.abs().max())
    assert float(back.abs().max()) == pytest.approx(largest, rel=1e-6)
    # Three bits of mantissa: half a step is a sixteenth of the value; below 2^-6 of a unit, half of 2^-9 units.
    bound = torch.maximum(x.abs() / 16, scale * 2.0**-10) * (1 + 1e-5)
    assert bool(((back - x).abs() <= bound).all())


def test_a_row_of_zeros_stays_zero() -> None:
    values, scale = float8.rounded_rows(torch.zeros(2, 8))
    assert bool((values.float() == 0).all())
    assert bool(torch.isfinite(scale).all())


def test_golden_product() -> None:
    # Row (1, 3): scale 3/448; 1 becomes 149.33, of which 144 and 160 are the float8 neighbours: 144; 3 becomes 448.
    # Weight (2, -1) with scale 2/448 likewise: 448 and -224. Sum (144*448 - 448*224) * 3/448 * 2/448 = -1.0714286.
    linear = torch.nn.Linear(2, 1, bias=False)
    linear.weight = torch.nn.Parameter(torch.tensor([[448.0, -224.0]]), requires_grad=False)
    made = float8.EmulatedLinear(linear, torch.tensor([[2 / 448]]))
    assert float(made(torch.tensor([[1.0, 3.0]]))) == pytest.approx((144 * 448 - 448 * 224) * 3 / 448 * 2 / 448)
    out = float8.multiplied_out(linear, torch.tensor([[2 / 448]]))
    assert float(out(torch.tensor([[1.0, 3.0]]))) == pytest.approx(2.0 - 3.0)


def test_the_kernel_and_the_emulation_agree_on_a_processor(eight: Path) -> None:
    kernel, emulated = (logits(eight, torch.float32, "fp8-dynamic", way) for way in ("kernel", "emulated"))
    assert float((kernel - emulated).abs().max()) < 1e-3
    assert not torch.equal(logits(eight, torch.float32, "fp8-dynamic", "dequantised"), emulated)


def test_a_checkpoint_computes_as_transformers_own_way_does(eight: Path) -> None:
    ours = logits(eight, torch.float32, "fp8-dynamic", "emulated")
    assert float((ours - of_transformers(eight, torch.float32)).abs().max()) < 1e-3
    ours = logits(eight, torch.bfloat16, "fp8-dynamic", "dequantised")
    assert torch.equal(ours, of_transformers(eight, torch.bfloat16, dequantize=True))


def test_eight_bits_stay_near_the_model_that_they_come_from(plain: Path, eight: Path) -> None:
    exact = logits(plain, torch.float32)
    for folder, weights in ((eight, "fp8-dynamic"), (plain, "quanto-float8")):
        found = logits(folder, torch.float32, weights, "dequantised")
        # Rounded, so different; but nearer than the spread of its own scores (standard deviation 2.3).
        assert 0 < float((found - exact).abs().mean()) < float(exact.std()) / 2


def test_double_precision_has_the_weights_of_single_precision(plain: Path, eight: Path) -> None:
    for folder, weights in ((eight, "fp8-dynamic"), (plain, "quanto-float8")):
        single, double = (logits(folder, dtype, weights) for dtype in (torch.float32, torch.float64))
        assert 0 < float((single - double).abs().max()) < 1e-3


def test_quanto_leaves_the_output_layer_and_biases_as_they_are(tmp_path: Path) -> None:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
    model = Qwen2ForCausalLM(config).eval()
    torch.nn.init.normal_(model.model.layers[0].self_attn.q_proj.bias)
    head, bias = model.lm_head.weight.clone(), model.model.layers[0].self_attn.q_proj.bias.clone()
    scales = float8.rounded_by_quanto(model)
    assert len(scales) == 7
    assert torch.equal(model.lm_head.weight, head)
    for arithmetic in ("kernel", "emulated"):
        again = Qwen2ForCausalLM(config).eval()
        again.load_state_dict(model.state_dict())
        float8.apply(again, scales, arithmetic)
        assert torch.equal(again.model.layers[0].self_attn.q_proj.bias, bias)
        with torch.inference_mode():
            assert bool(torch.isfinite(again(IDS[:, :20]).logits).all())
        assert float8.paths_taken(again) == {arithmetic: 7}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "pack-quantized"}, "format: 'pack-quantized'; quantization: fp8-dynamic reads 'float-quantized'"),
        ({"quant_method": "gptq"}, "quant_method: 'gptq'"),
        ({"kv_cache_scheme": {"num_bits": 8}}, "quantises keys and values"),
        ({"weights": {"strategy": "tensor"}}, r"config_groups\.group_0\.weights\.strategy: 'tensor'"),
        ({"input_activations": {"dynamic": False}}, r"input_activations\.dynamic: False"),
        ({"input_activations": {"strategy": "tensor"}}, r"input_activations\.strategy: 'tensor'"),
    ],
)
def test_another_layout_is_refused_by_what_differs(
    eight: Path, tmp_path: Path, change: Mapping[str, Any], words: str
) -> None:
    import json
    import shutil

    folder = tmp_path / "other"
    shutil.copytree(eight, folder)
    stated = json.loads((folder / "config.json").read_text(encoding="utf-8"))["quantization_config"]
    group = stated["config_groups"]["group_0"]
    for key, value in change.items():
        if key in group:
            group[key] |= value
        else:
            stated[key] = value
    edit_json(folder / "config.json", quantization_config=stated)
    with pytest.raises(ModelError, match=words):
        load(folder, "bfloat16", "cpu", Quantization("fp8-dynamic", "emulated"))


def test_a_quantised_checkpoint_is_never_read_as_a_plain_one_nor_the_reverse(plain: Path, eight: Path) -> None:
    with pytest.raises(ModelError, match=r"weights are quantised .* set quantization: fp8-dynamic"):
        load(eight, "bfloat16", "cpu")
    with pytest.raises(ModelError, match="weights are quantised"):
        load(eight, "bfloat16", "cpu", Quantization("quanto-float8", "emulated"))
    with pytest.raises(ModelError, match="weights are not quantised; set quantization: null"):
        load(plain, "bfloat16", "cpu", Quantization("fp8-dynamic", "emulated"))


def test_a_layer_without_its_scales_is_refused(eight: Path, tmp_path: Path) -> None:
    import shutil

    from safetensors.torch import load_file, save_file

    folder = tmp_path / "broken"
    shutil.copytree(eight, folder)
    tensors = load_file(folder / "model.safetensors")
    name = "model.layers.1.mlp.up_proj"
    save_file({k: v for k, v in tensors.items() if k != f"{name}.weight_scale"}, folder / "model.safetensors")
    with pytest.raises(ModelError, match=f"layer {name} has no float8 weight with a scale for each output"):
        load(folder, "bfloat16", "cpu", Quantization("fp8-dynamic", "emulated"))
    save_file({**tensors, f"{name}.input_scale": torch.ones(1)}, folder / "model.safetensors")
    with pytest.raises(ModelError, match=f"{name}.input_scale, which is not read here"):
        load(folder, "bfloat16", "cpu", Quantization("fp8-dynamic", "emulated"))
    assert compressed.stated(folder) is not None


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (("fp8", "kernel", "bfloat16"), "quantization is 'fp8'; allowed: fp8-dynamic, quanto-float8, or null"),
        (("fp8-dynamic", None, "bfloat16"), "arithmetic is None; allowed: kernel, emulated, dequantised"),
        ((None, "kernel", "bfloat16"), "quantization is None"),
        (("fp8-dynamic", "emulated", "float16"), "float16 cannot hold sums of float8 values"),
    ],
)
def test_a_word_that_is_not_allowed_is_named(keys: tuple[str | None, str | None, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Quantization.of(*keys)
    assert Quantization.of(None, None, "float32") is None
