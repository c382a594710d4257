"""What a folder must hold before the local engine decodes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablechoice.engines.checkpoint import load
from stablechoice.errors import ModelError
from tests.tiny_model import edit_json, save_tiny


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_tiny(tmp_path / "tiny")
    return tmp_path / "tiny"


def test_a_base_model_without_a_chat_template_is_refused(folder: Path) -> None:
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(ModelError, match="has no chat template, so it is no instruct model"):
        load(folder, "float32", "cpu")


def test_a_model_that_wants_code_of_its_own_is_refused(folder: Path) -> None:
    edit_json(
        folder / "config.json", model_type="mine", auto_map={"AutoConfig": "mine.C", "AutoModelForCausalLM": "mine.M"}
    )
    (folder / "mine.py").write_text("raise SystemExit('remote code ran')\n", encoding="utf-8")
    with pytest.raises(ModelError, match=r"cannot load its (tokenizer|weights) .*fetch the model again") as caught:
        load(folder, "float32", "cpu")
    assert "\n" not in str(caught.value)


def test_damaged_weights_are_one_sentence(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"\x08\x00\x00\x00\x00\x00\x00\x00{broken}")
    with pytest.raises(ModelError, match="cannot load its weights"):
        load(folder, "float32", "cpu")


def test_weights_that_lack_a_part_are_refused_and_not_filled_with_random_numbers(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"its weights lack model\.layers\.1\.mlp\.up_proj\.weight"):
        load(folder, "float32", "cpu")


def test_a_missing_tokenizer_is_one_sentence(folder: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    with pytest.raises(ModelError, match="cannot load its tokenizer"):
        load(folder, "float32", "cpu")


def test_a_model_whose_layers_are_no_attention_is_refused(folder: Path) -> None:
    edit_json(folder / "config.json", layer_types=["full_attention", "linear_attention"])
    with pytest.raises(ModelError, match=r"LlamaForCausalLM cannot be decoded by this engine \(linear_attention\)"):
        load(folder, "float32", "cpu")


def test_a_sliding_window_counts_as_the_context(folder: Path) -> None:
    assert load(folder, "float32", "cpu").context == 600
    edit_json(folder / "config.json", layer_types=["full_attention", "sliding_attention"], sliding_window=50)
    assert load(folder, "float32", "cpu").context == 50


def test_all_end_tokens_end_a_turn(folder: Path) -> None:
    edit_json(folder / "generation_config.json", eos_token_id=[7, 9])
    # 257 is the tokenizer's own.
    assert load(folder, "float32", "cpu").ends == {7, 9, 257}


def test_decoding_defaults_of_the_model_are_recorded_and_not_applied(folder: Path) -> None:
    edit_json(folder / "generation_config.json", repetition_penalty=1.1, temperature=0.7, do_sample=True)
    ignored = load(folder, "float32", "cpu").facts()["decoding_defaults_not_applied"]
    assert ignored == {"repetition_penalty": 1.1, "temperature": 0.7, "do_sample": True}
