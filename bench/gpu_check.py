"""What the local engine does on a card: kernels, speed, memory, agreement with the CPU (see gpu_check.sh).

Two parts. The shipped model answers pocket questions in every arithmetic, on the card and, in float32, on the CPU. A
model of 7B shape with random weights measures speed in bfloat16 and with float8 kernels, beside `generate` on padded
batches. A part that fails is recorded with its error, and the others run; the exit code then is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from asked import ROOT, by_generate, folder_keys, model_folder, model_keys, requests
from fp8_checkpoint import write_fp8_dynamic

from stablechoice.engines import float8
from stablechoice.engines.batching import Prompt, Wave
from stablechoice.engines.greedy import Greedy
from stablechoice.engines.local import LocalEngine
from stablechoice.engines.quantization import Quantization
from stablechoice.errors import StablechoiceError
from stablechoice.request import Decoding

SECONDS = 420
"""After so long no further part begins."""
SHAPES = {
    # Qwen2.5-7B's own numbers.
    "7B": {
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "vocab_size": 152064,
    },
    "tiny": {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 512,
    },
}
WAYS: dict[str, dict[str, Any]] = {
    "float32": {"dtype": "float32"},
    "bfloat16": {"dtype": "bfloat16"},
    "fp8 kernel": {"dtype": "bfloat16", "quantization": "fp8-dynamic", "arithmetic": "kernel"},
    "fp8 emulated": {"dtype": "bfloat16", "quantization": "fp8-dynamic", "arithmetic": "emulated"},
    "fp8 dequantised": {"dtype": "bfloat16", "quantization": "fp8-dynamic", "arithmetic": "dequantised"},
    "quanto kernel": {"dtype": "bfloat16", "quantization": "quanto-float8", "arithmetic": "kernel"},
}


class Check:
    """One run: where, how much, and what was found."""

    def __init__(self, *, rehearse: bool) -> None:
        self.rehearse = rehearse
        self.device = "cpu" if rehearse else "cuda"
        self.questions, self.cap = (2, 6) if rehearse else (12, 48)
        self.start = time.monotonic()
        self.found: dict[str, Any] = {"machine": self._machine(), "rehearsal": rehearse}
        self.failed = 0

    def _machine(self) -> dict[str, Any]:
        card = None
        if self.device == "cuda":
            seen = torch.cuda.get_device_properties(0)
            card = {
                "name": seen.name,
                "capability": f"{seen.major}.{seen.minor}",
                "gib": round(seen.total_memory / 2**30),
            }
        return {
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "card": card,
            "threads": torch.get_num_threads(),
        }

    def part(self, name: str, run: Callable[[], Any]) -> Any:
        """Run a part, record what it found or why it did not run, and say so."""
        left = SECONDS - (time.monotonic() - self.start)
        if left < 0 and not self.rehearse:
            self.found[name] = {"skipped": f"{SECONDS} seconds had passed"}
            self.failed += 1
        else:
            try:
                self.found[name] = run()
            except (StablechoiceError, RuntimeError, OSError, ValueError, ImportError) as error:
                self.found[name] = {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"}
                self.failed += 1
            if self.device == "cuda":
                torch.cuda.empty_cache()
        print(
            f"[{time.monotonic() - self.start:5.0f} s] {name}: {json.dumps(self.found[name], ensure_ascii=False)}",
            flush=True,
        )
        return self.found[name]


@contextmanager
def measured(device: str) -> Iterator[dict[str, Any]]:
    """Seconds and, on a card, the peak of memory."""
    found: dict[str, Any] = {}
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    yield found
    if device == "cuda":
        torch.cuda.synchronize()
        found["peak_gib"] = round(torch.cuda.max_memory_allocated() / 2**30, 2)
    found["seconds"] = round(time.perf_counter() - start, 3)


def kernels(model: Any, device: str) -> list[str]:
    """Names of what multiplies matrices in one forward pass, the longest-running first."""
    from torch.profiler import ProfilerActivity, profile

    kinds = [ProfilerActivity.CUDA] if device == "cuda" else [ProfilerActivity.CPU]
    ids = torch.arange(64, device=device)[None] + 5
    with torch.inference_mode():
        model(ids, logits_to_keep=1)
        with profile(activities=kinds) as seen:
            model(ids, logits_to_keep=1)
    rows = sorted(seen.key_averages(), key=lambda row: (-row.count, row.key))
    words = ("gemm", "cutlass", "nvjet", "xmma", "scaled_mm", "aten::mm", "aten::addmm", "mkldnn", "gemv", "cublas")
    return [row.key[:160] for row in rows if any(word in row.key.lower() for word in words)][:8]


def agreement(one: list[str], other: list[str]) -> dict[str, float]:
    """Shares of equal texts and of equal first characters."""
    pairs = list(zip(one, other, strict=True))
    return {
        "equal_texts": round(sum(a == b for a, b in pairs) / len(pairs), 3),
        "equal_first_letters": round(sum(a.strip()[:1] == b.strip()[:1] for a, b in pairs) / len(pairs), 3),
    }


def shipped_model(check: Check, folder: Path) -> None:
    """The shipped model in every arithmetic, against float32 on the CPU."""
    asked = requests("mixed", check.questions)
    eight = folder / "eight"
    texts: dict[str, list[str]] = {}

    def answered(name: str, keys: dict[str, Any], device: str, way: dict[str, Any]) -> dict[str, Any]:
        engine = LocalEngine(model=keys, device=device, **way)
        with measured(device) as found:
            list(engine.answer(asked[:1], Decoding(0.0, 2)))
        found["loading"] = found.pop("seconds")
        before = dict(engine.facts())
        with measured(device) as speed:
            answers = dict(engine.answer(asked, Decoding(0.0, check.cap)))
        texts[name] = [answers[n].text for n in range(len(asked))]
        facts = engine.facts()
        tokens = facts["computed_prompt_tokens"] + facts["written_tokens"] - before["computed_prompt_tokens"]
        found |= speed | {
            "tokens_per_second": round((tokens - before["written_tokens"]) / speed["seconds"], 1),
            "layers": (facts["quantization"] or {}).get("layers"),
            "events": facts["events"],
        }
        if engine._checkpoint is not None and device == check.device:
            found["kernels"] = kernels(engine._checkpoint.model, device)
        if name != "cpu float32":
            found |= agreement(texts["cpu float32"], texts[name])
        engine.close()
        return found

    source = model_folder()
    write_fp8_dynamic(source, eight)
    check.part("cpu float32", lambda: answered("cpu float32", model_keys(), "cpu", WAYS["float32"]))
    if not check.rehearse:  # there the device is the CPU itself
        emulated = WAYS["fp8 emulated"]
        check.part("cpu fp8 emulated", lambda: answered("cpu fp8 emulated", folder_keys(eight), "cpu", emulated))
    for name, way in WAYS.items():
        keys = folder_keys(eight) if way.get("quantization") == "fp8-dynamic" else model_keys()
        check.part(name, lambda name=name, keys=keys, way=way: answered(name, keys, check.device, way))

    def naive() -> dict[str, Any]:
        with measured(check.device) as found:
            made = by_generate(source, asked, check.cap, dtype="bfloat16", device=check.device, batch=32)
        found |= {"seconds": round(made["seconds"], 3)}
        found["tokens_per_second"] = round((made["read"] + made["written"]) / made["seconds"], 1)
        return found | agreement(texts["cpu float32"], made["texts"])

    check.part("generate, padded 32, bfloat16", naive)
    for other in ("bfloat16", "fp8 emulated", "cpu fp8 emulated"):
        if other in texts and "fp8 kernel" in texts:
            check.part(f"fp8 kernel against {other}", partial(agreement, texts[other], texts["fp8 kernel"]))


def random_model(check: Check) -> Any:
    """A model of 7B shape with random weights, made on the card itself."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(**SHAPES["tiny" if check.rehearse else "7B"], max_position_embeddings=4096)
    before = torch.get_default_dtype()
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(check.device):
            return Qwen2ForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(before)


def to_float8(model: Any, arithmetic: str) -> int:
    """Round a model's projections in place, as an FP8-dynamic checkpoint has them."""
    scales: dict[str, Any] = {}
    for name, module in model.named_modules():
        if name.endswith("_proj"):
            values, scale = float8.rounded_rows(module.weight.detach())
            module.weight.data = values.to(module.weight.dtype)
            scales[name] = scale
    float8.apply(model, scales, arithmetic)
    return len(scales)


def speed(check: Check) -> None:
    """Reading and writing rates of the 7B shape: this engine's way, and `generate` on a padded batch."""
    model = random_model(check)
    rows, length, shared, most = (8, 24, 8, 4) if check.rehearse else (128, 200, 120, 64)
    vocabulary = model.config.vocab_size
    torch.manual_seed(1)
    head = torch.randint(5, vocabulary, (shared,)).tolist()
    tails = torch.randint(5, vocabulary, (rows, length - shared)).tolist()
    prompts = tuple(Prompt(n, (*head, *tail), most, f"prompt {n}") for n, tail in enumerate(sorted(tails)))

    def engine(*, share: bool) -> dict[str, Any]:
        def once(cap: int) -> tuple[dict[str, Any], Greedy]:
            greedy = Greedy(model, frozenset(), referee=None, pack_tokens=4096, share=share)
            some = tuple(Prompt(one.index, one.tokens, cap, one.name) for one in prompts)
            with measured(check.device) as found:
                list(greedy.write(Wave(some, rows, length + cap)))
            return found, greedy

        once(2)
        reading, read = once(1)
        whole, greedy = once(most)
        steps = max(whole["seconds"] - reading["seconds"], 1e-6)
        return {
            "requests": rows,
            "prompt_tokens": rows * length,
            "computed_prompt_tokens": read.counts.computed_prompt_tokens,
            "read_per_second": round(read.counts.computed_prompt_tokens / reading["seconds"]),
            "written_per_second": round(rows * (most - 1) / steps),
            "requests_per_second": round(rows / whole["seconds"], 2),
            "events": greedy.counts.events,
            **whole,
        }

    def naive() -> dict[str, Any]:
        batch = 32 if not check.rehearse else 4
        settings = {"do_sample": False, "max_new_tokens": most, "min_new_tokens": most, "pad_token_id": 0}

        def some(first: int) -> None:
            ids = torch.tensor([one.tokens for one in prompts[first : first + batch]], device=check.device)
            with torch.inference_mode():
                model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **settings)

        some(0)
        with measured(check.device) as found:
            for first in range(0, rows, batch):
                some(first)
        return {"requests_per_second": round(rows / found["seconds"], 2), **found}

    check.part("7B bfloat16, kernels", lambda: kernels(model, check.device))
    check.part("7B bfloat16, engine", lambda: engine(share=True))
    check.part("7B bfloat16, engine without shared prefixes", lambda: engine(share=False))
    check.part("7B bfloat16, generate on padded batches", naive)

    def round_down() -> dict[str, Any]:
        Quantization("fp8-dynamic", "kernel").check_device(check.device)
        return {"layers": to_float8(model, "kernel"), "paths": float8.paths_taken(model)}

    if "error" in check.part("7B float8, rounding", round_down):
        return
    check.part("7B float8, kernels", lambda: kernels(model, check.device))
    check.part("7B float8, engine", lambda: engine(share=True))
    check.part("7B float8, generate on padded batches", naive)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rehearse", action="store_true", help="tiny shapes on the CPU")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "gpu_check.json")
    parser.add_argument("--only", choices=["shipped", "speed"], help="one of the two parts")
    chosen = parser.parse_args()
    if not chosen.rehearse and not torch.cuda.is_available():
        sys.exit("no card here that PyTorch can use; run it where one is, or with --rehearse")
    check = Check(rehearse=chosen.rehearse)
    if chosen.only != "shipped":
        speed(check)
    if chosen.only != "speed":
        with tempfile.TemporaryDirectory() as folder:
            try:
                shipped_model(check, Path(folder))
            except StablechoiceError as error:
                check.found["shipped model"] = {"error": str(error)}
                check.failed += 1
                print(f"shipped model: {error}", flush=True)
    check.found["seconds"] = round(time.monotonic() - check.start, 1)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(check.found, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    chosen.out.write_text(text, encoding="utf-8", newline="\n")
    print(f"{chosen.out}: written after {check.found['seconds']} s, {check.failed} parts failed")
    sys.exit(1 if check.failed else 0)


if __name__ == "__main__":
    main()
