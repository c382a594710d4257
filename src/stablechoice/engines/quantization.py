"""Which eight-bit weights a model has and what computes with them: stated in `conf/`, so that request keys can tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stablechoice.errors import ConfigError, ModelError

WEIGHTS = {
    "fp8-dynamic": "compressed-tensors float-quantized, float8_e4m3fn, a scale for each output channel",
    "quanto-float8": "optimum-quanto qfloat8_e4m3fn on loading, a scale for each output channel",
}
"""What key `quantization` may name, and what it means: a checkpoint that is quantised already, and any other one."""

ARITHMETIC = {
    "kernel": "activations to float8 for each token, products of float8 by torch.nn.functional.scaled_mm",
    "emulated": "activations to float8 for each token, the same products in the model's dtype, then the scales",
    "dequantised": "weights multiplied out on loading, activations in the model's dtype",
}
"""What key `arithmetic` may name, and what it means."""

_KERNELS_FROM = (8, 9)
"""CUDA capability from which cards multiply float8: Ada 8.9, Hopper 9.0."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """Eight-bit weights and the arithmetic on them; neither is chosen by what a machine can do, both are stated.

    Attributes:
        weights: a key of `WEIGHTS`.
        arithmetic: a key of `ARITHMETIC`.
    """

    weights: str
    arithmetic: str

    @classmethod
    def of(cls, quantization: str | None, arithmetic: str | None, dtype: str) -> Quantization | None:
        """From three keys of `conf/engine`; None where weights are as the dtype says.

        Raises:
            ConfigError: a word that is not allowed, or one key without the other.
        """
        if quantization is None and arithmetic is None:
            return None
        for name, word, allowed in (("quantization", quantization, WEIGHTS), ("arithmetic", arithmetic, ARITHMETIC)):
            if word not in allowed:
                raise ConfigError(
                    f"conf/engine: {name} is {word!r}; allowed: {', '.join(allowed)}, or null for both keys "
                    "quantization and arithmetic"
                )
        if dtype == "float16" and arithmetic == "emulated":
            raise ConfigError(
                "conf/engine: dtype float16 cannot hold sums of float8 values; set bfloat16 or float32, or another "
                "arithmetic"
            )
        return cls(str(quantization), str(arithmetic))

    @property
    def exact(self) -> bool:
        """Whether float32 stays float32: rounding activations to eight bits makes a step out of a last digit."""
        return self.arithmetic == "dequantised"

    def identity(self) -> dict[str, Any]:
        """What a request's key says of it."""
        return {"weights": self.weights, "arithmetic": self.arithmetic}

    def check_device(self, device: str) -> None:
        """Refuse a card without float8 kernels where they are asked for.

        Raises:
            ModelError: names the card and the key to change.
        """
        if self.arithmetic != "kernel" or device == "cpu":
            return
        import torch

        capability = torch.cuda.get_device_capability(device)
        if capability < _KERNELS_FROM:
            raise ModelError(
                f"{torch.cuda.get_device_name(device)} (SM {capability[0]}.{capability[1]}) has no float8 kernels "
                "(from SM 8.9 on); set arithmetic: dequantised (or emulated) in the model's key 'engine': answers are "
                "then recorded as of that arithmetic"
            )
