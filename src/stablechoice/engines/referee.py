"""Who decides when two tokens score almost alike: the same weights in double precision, one sequence at a time.

A sum in float32 ends in other last digits when a batch has another shape, a prefix is shared or another processor does
it, and among a hundred thousand greedy choices some are closer than that. Such a choice would depend on its neighbours
in the batch. Here it is a function of its own sequence: the referee reads prompt and answer so far from the beginning,
alone, in float64, where rounding is a billion times finer. One choice in some thousands needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stablechoice.engines.quantization import Quantization

NEAR_TIE = 5e-4
"""Scores (logits) closer than this are decided by the referee; the spread seen between batch shapes is 6e-5."""


class Referee:
    """The second opinion; its weights are loaded when they are first needed."""

    def __init__(self, folder: Path, device: str, quantization: Quantization | None = None) -> None:
        self._folder = folder
        self._device = device
        self._quantization = quantization
        self._model: Any = None

    @property
    def model(self) -> Any:
        """The weights in double precision."""
        import torch

        if self._model is None:
            from stablechoice.engines.checkpoint import load_model

            self._model = load_model(self._folder, torch.float64, self._device, self._quantization)
        return self._model

    def decide(self, tokens: Sequence[int]) -> int:
        """The token that follows a sequence."""
        import torch

        with torch.inference_mode():
            ids = torch.tensor([list(tokens)], device=self._device)
            scores = self.model(input_ids=ids, use_cache=False, logits_to_keep=1).logits[0, -1]
        return int(scores.argmax())
