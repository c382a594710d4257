"""The layout of FP8-dynamic checkpoints (compressed-tensors): what a folder says of its weights, and their scales."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stablechoice.engines.weights import weight_files
from stablechoice.errors import ModelError

SCALE = ".weight_scale"
"""Ending of the tensors that hold a layer's scales, beside its `.weight`."""

_WEIGHTS = {"num_bits": 8, "type": "float", "strategy": "channel", "symmetric": True, "dynamic": False}
_ACTIVATIONS = {"num_bits": 8, "type": "float", "strategy": "token", "symmetric": True, "dynamic": True}


def stated(folder: Path) -> Mapping[str, Any] | None:
    """What a model's config.json says of its quantisation; None where it is not quantised.

    Raises:
        ModelError: the file cannot be read.
    """
    path = folder / "config.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read ({error}); fetch the model again") from error
    found = content.get("quantization_config") or content.get("compression_config")
    return found if isinstance(found, Mapping) else None


def check_plain(folder: Path) -> None:
    """Refuse a quantised checkpoint where none is expected.

    Raises:
        ModelError: says how it is quantised, and the keys that take it.
    """
    found = stated(folder)
    if found is not None:
        raise ModelError(
            f"{folder}: its weights are quantised ({found.get('quant_method')}, {found.get('format')}), and conf/ says "
            "nothing of it; where that is float-quantized, set quantization: fp8-dynamic and arithmetic in the model's "
            "key 'engine', else choose a checkpoint that is not quantised"
        )


def check_fp8_dynamic(folder: Path) -> None:
    """Compare what a checkpoint states with the one layout that is read here.

    Raises:
        ModelError: names the first thing that differs.
    """
    found = stated(folder)
    if found is None:
        raise ModelError(
            f"{folder}: its weights are not quantised; set quantization: null or quanto-float8 in the model's 'engine'"
        )
    _check(folder, found, {"quant_method": "compressed-tensors", "format": "float-quantized"}, "")
    if found.get("kv_cache_scheme"):
        raise ModelError(f"{folder}: it quantises keys and values of attention too, which is not read here")
    for name, group in dict(found.get("config_groups") or {}).items():
        where = f"config_groups.{name}."
        _check(folder, group.get("weights") or {}, _WEIGHTS, f"{where}weights.")
        _check(folder, group.get("input_activations") or {}, _ACTIVATIONS, f"{where}input_activations.")
        if group.get("output_activations"):
            raise ModelError(f"{folder}: it quantises what layers put out, which is not read here")


def check_scales(folder: Path, beside: Sequence[str]) -> None:
    """Refuse tensors beside the weights that would be left unread though they change what is computed.

    Args:
        beside: names of all tensors that are no weights of the model.

    Raises:
        ModelError: names the first.
    """
    for name in beside:
        if name.endswith(("_scale", "_zero_point", "_shape", "_packed")) and not name.endswith(SCALE):
            raise ModelError(f"{folder}: holds {name}, which is not read here; choose an FP8-dynamic checkpoint")


def scales(folder: Path) -> dict[str, Any]:
    """Scales by the layer that they belong to, float32, shape [outputs, 1].

    Raises:
        ModelError: a layer's weight is not float8 or has no scale for each output, or none is there at all.
    """
    import torch
    from safetensors import SafetensorError, safe_open

    found: dict[str, Any] = {}
    eight: dict[str, int] = {}
    for file in weight_files(folder):
        try:
            with safe_open(folder / file, framework="pt") as tensors:
                for name in sorted(tensors.keys()):
                    if name.endswith(SCALE):
                        found[name.removesuffix(SCALE)] = tensors.get_tensor(name).to(torch.float32).reshape(-1, 1)
                    elif name.endswith(".weight") and tensors.get_slice(name).get_dtype() == "F8_E4M3":
                        eight[name.removesuffix(".weight")] = tensors.get_slice(name).get_shape()[0]
        except (OSError, SafetensorError) as error:
            raise ModelError(f"{folder / file}: cannot be read ({error}); fetch the model again") from error
    if not eight:
        raise ModelError(f"{folder}: holds no float8 weights, though its config.json says so; fetch the model again")
    for layer in sorted({*found, *eight}):
        if layer not in found or layer not in eight or len(found[layer]) != eight[layer]:
            raise ModelError(
                f"{folder}: layer {layer} has no float8 weight with a scale for each output; fetch the model again"
            )
    return found


def _check(folder: Path, found: Mapping[str, Any], wanted: Mapping[str, Any], where: str) -> None:
    for key, value in wanted.items():
        if found.get(key) != value:
            raise ModelError(
                f"{folder}: config.json says {where}{key}: {found.get(key)!r}; quantization: fp8-dynamic reads "
                f"{value!r} (compressed-tensors with a scale for each output channel and each token)"
            )
