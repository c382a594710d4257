"""Linear layers with float8 weights: by the card's kernels, emulated, or multiplied out.

Weight and activation are both rounded to float8_e4m3fn by a scale, the largest magnitude of an output channel or of a
token over 448: y = (x̂ Ŵᵀ) sₓ s_w + b, where float8 values are exact in every wider format. transformers has such a
layer too, but falls back silently where there is no card; here the arithmetic is what the request's key says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch

FLOAT8 = torch.float8_e4m3fn
LARGEST = torch.finfo(FLOAT8).max
"""448."""


def rounded_rows(x: Any) -> tuple[Any, Any]:
    """Each row rounded to float8 by a scale of its own.

    Args:
        x: shape [rows, inputs].

    Returns:
        float8 values [rows, inputs], scales [rows, 1] in float32; a row of zeros has scale 1 / 448.
    """
    wide = x.float()
    largest = wide.abs().amax(dim=-1, keepdim=True)
    scale = torch.where(largest > 0, largest, 1.0) / LARGEST
    return (wide / scale).clamp(-LARGEST, LARGEST).to(FLOAT8), scale


class KernelLinear(torch.nn.Module):  # type: ignore[misc]  # torch is not followed by the type checker
    """Products of float8 by float8, in the card's own units (on a CPU by PyTorch's stand-in for them).

    Args:
        linear: its weight holds float8 values exactly, in a wider dtype.
        scale: of each output channel, float32, shape [outputs, 1].
    """

    arithmetic = "kernel"

    def __init__(self, linear: Any, scale: Any) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.register_buffer("weight", linear.weight.detach().to(FLOAT8))
        self.register_buffer("scale", scale.to(linear.weight.device).reshape(1, -1).contiguous())
        self.register_buffer("bias", None if linear.bias is None else linear.bias.detach())

    def forward(self, x: Any) -> Any:
        rows, scale = rounded_rows(x.reshape(-1, self.in_features))
        by_row = torch.nn.functional.ScalingType.RowWise
        # CUDA's kernel for scales by row writes bfloat16 alone.
        wide = x.dtype if x.device.type == "cpu" else torch.bfloat16
        y = torch.nn.functional.scaled_mm(
            rows, self.weight.t(), scale, by_row, self.scale, by_row, output_dtype=wide
        ).to(x.dtype)
        y = y if self.bias is None else y + self.bias
        return y.reshape(*x.shape[:-1], self.out_features)


class EmulatedLinear(torch.nn.Module):  # type: ignore[misc]  # torch is not followed by the type checker
    """The same products in the model's own dtype, scales applied to the sums in float32.

    Args:
        linear, scale: as for `KernelLinear`.
    """

    arithmetic = "emulated"

    def __init__(self, linear: Any, scale: Any) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        # A plain linear layer, so that it is packed for the processor as any other.
        self.products = torch.nn.Linear(self.in_features, self.out_features, bias=False, device="meta")
        self.products.weight = torch.nn.Parameter(linear.weight.detach(), requires_grad=False)
        self.register_buffer("scale", scale.to(linear.weight.device).reshape(1, -1).contiguous())
        self.register_buffer("bias", None if linear.bias is None else linear.bias.detach())

    def forward(self, x: Any) -> Any:
        rows, scale = rounded_rows(x.reshape(-1, self.in_features))
        y = (self.products(rows.to(x.dtype)).float() * scale * self.scale).to(x.dtype)
        y = y if self.bias is None else y + self.bias
        return y.reshape(*x.shape[:-1], self.out_features)


def multiplied_out(linear: Any, scale: Any) -> Any:
    """A plain linear layer: weight and scale multiplied in float32, rounded to the weight's dtype."""
    weight = linear.weight.detach()
    linear.arithmetic = "dequantised"
    linear.weight = torch.nn.Parameter((weight.float() * scale.to(weight.device)).to(weight.dtype), requires_grad=False)
    return linear


_MADE = {"kernel": KernelLinear, "emulated": EmulatedLinear, "dequantised": multiplied_out}


def apply(model: Any, scales: Mapping[str, Any], arithmetic: str) -> None:
    """Replace a model's quantised layers in place.

    Args:
        scales: by layer; the layers' weights hold float8 values exactly.
        arithmetic: a key of `quantization.ARITHMETIC`.
    """
    for name, scale in scales.items():
        model.set_submodule(name, _MADE[arithmetic](model.get_submodule(name), scale))


def rounded_by_quanto(model: Any) -> dict[str, Any]:
    """Round the weights of all linear layers but the output layer to float8 by optimum-quanto.

    Returns:
        their scales by layer, float32, shape [outputs, 1]; the layers stay plain and hold the float8 values.
    """
    from optimum.quanto import QLinear, freeze, qfloat8_e4m3fn, quantize

    biases = {name: module.bias for name, module in model.named_modules() if type(module) is torch.nn.Linear}
    quantize(model, weights=qfloat8_e4m3fn, exclude="lm_head")
    freeze(model)
    scales: dict[str, Any] = {}
    for name, module in list(model.named_modules()):
        if isinstance(module, QLinear):
            weight = module.weight
            plain = torch.nn.Linear(module.in_features, module.out_features, bias=False, device="meta")
            plain.weight = torch.nn.Parameter(weight._data.to(weight.dtype), requires_grad=False)
            plain.bias = biases[name]
            scales[name] = weight._scale.float().reshape(-1, 1)
            model.set_submodule(name, plain)
    return scales


def paths_taken(model: Any) -> dict[str, int]:
    """How many layers compute in which way: read off the model itself, for provenance."""
    return dict(Counter(module.arithmetic for module in model.modules() if hasattr(module, "arithmetic")))
