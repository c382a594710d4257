"""Linear layers whose weights are packed once for the processor at hand.

On a CPU PyTorch multiplies float32 matrices with MKL, which packs the weights anew at every call and stays below what
oneDNN reaches with weights packed beforehand: measured 1.2 times for hundreds of rows, 1.5 to 2 times for a handful,
and for the wide output layer; in bfloat16, which oneDNN multiplies either way, 1.05 and 1.5 to 2 times. This is what
`torch.compile` does when it freezes a model, without its minutes of compiling.
"""

from __future__ import annotations

from typing import Any

import torch


class PackedLinear(torch.nn.Module):  # type: ignore[misc]  # torch is not followed by the type checker
    """`torch.nn.Linear` for inference: y = x Wᵀ + b."""

    def __init__(self, linear: Any) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self._packed = torch.ops.mkldnn._reorder_linear_weight(linear.weight.detach())
        self._bias = None if linear.bias is None else linear.bias.detach()

    def forward(self, x: Any) -> Any:
        return torch.ops.mkldnn._linear_pointwise(x, self._packed, self._bias, "none", [], "")


def available(dtype: Any = torch.float32) -> bool:
    """Whether this build of PyTorch has oneDNN and the operators, and the processor the dtype."""
    operators = ("_reorder_linear_weight", "_linear_pointwise")
    if not torch.backends.mkldnn.is_available() or not all(hasattr(torch.ops.mkldnn, name) for name in operators):
        return False
    if dtype == torch.bfloat16:
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    return bool(dtype == torch.float32)


def pack_linears(model: Any) -> int:
    """Replace the plain linear layers of a CPU model in place, where its dtype can be packed (`available`).

    Returns:
        How many were replaced.
    """
    count = 0
    for module in list(model.modules()):
        for name, child in module.named_children():
            plain = type(child) is torch.nn.Linear and available(child.weight.dtype)
            if plain and child.weight.device.type == "cpu":
                setattr(module, name, PackedLinear(child))
                count += 1
    return count
