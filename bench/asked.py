"""What the benchmarks of inference ask: prompts of the shipped questions, and the shipped model that answers them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KEY = "smollm2-135m"
WORKLOADS = {
    "cyclic": ("direct_mcq",),
    "reasoning": ("reasoning/direct_mcq",),
    "hypothesis": ("independent_hypothesis",),
    "mixed": ("direct_mcq", "reasoning/direct_mcq", "text_extraction", "free_text", "independent_hypothesis"),
}
"""Templates by workload: short answers, long ones, and all that a study asks before it needs an answer."""


def requests(workload: str, count: int) -> list[Any]:
    """Requests of a workload about the first pocket questions."""
    from stablechoice.configuration import Configuration
    from stablechoice.prompts import Prompts
    from stablechoice.questions.source import load
    from stablechoice.request import Address, Request

    prompts = Prompts.load(ROOT / "conf" / "prompt" / "paper")
    asked = []
    # From their source, not from what `make prepare` writes: a benchmark runs in a fresh clone too.
    for question in load(Configuration(root=ROOT).benchmark("pocket_qa"), ROOT)[:count]:
        for name in WORKLOADS[workload]:
            if name == "free_text":
                places = [(Address(name), prompts.render(name, question))]
            elif name == "independent_hypothesis":
                places = [
                    (Address(name, 0, n), prompts.render(name, question, option_text=text))
                    for n, text in enumerate(question.options)
                ]
            else:
                places = [(Address(name, r), prompts.render(name, question, r)) for r in question.rotations]
            asked += [Request(question.question_id, address, prompt) for address, prompt in places]
    return asked


def model_keys() -> dict[str, Any]:
    """The shipped model's `conf/model` file as an engine is given it."""
    from stablechoice.configuration import Configuration

    values = Configuration(root=ROOT).group("model", KEY)
    kept = {name: value for name, value in values.items() if name not in ("title", "simulated", "engine")}
    return {"key": KEY, "root": str(ROOT), **kept}


def model_folder() -> Path:
    """Its safetensors, converted from the package where that was not done yet."""
    from stablechoice.engines.weights import Weights

    return Weights.from_mapping(model_keys()).locate()


def folder_keys(folder: Path) -> dict[str, Any]:
    """A `conf/model` mapping that pins a folder as it is."""
    from transformers import AutoTokenizer

    from stablechoice.engines.checkpoint import template_sha256
    from stablechoice.engines.fingerprint import file_sha256
    from stablechoice.engines.weights import weight_files

    return {
        "key": folder.name,
        "folder": str(folder),
        "sha256": {name: file_sha256(folder / name) for name in weight_files(folder)},
        "chat_template_sha256": template_sha256(AutoTokenizer.from_pretrained(folder)),
    }


def by_generate(folder: Path, asked: list[Any], cap: int, *, dtype: str, device: str, batch: int) -> dict[str, Any]:
    """transformers' own `generate`, in the order asked, padded on the left; its texts and counts of tokens."""
    import time

    from stablechoice.engines.checkpoint import load

    checkpoint = load(folder, dtype, device)
    tokenizer, model = checkpoint.tokenizer, checkpoint.model
    tokenizer.padding_side = "left"

    def answer(some: list[Any]) -> tuple[list[str], int, int]:
        chats = [checkpoint.chat(request.prompt) for request in some]
        inputs = tokenizer(chats, add_special_tokens=False, return_tensors="pt", padding=True).to(device)
        whole = model.generate(**inputs, do_sample=False, max_new_tokens=cap)
        new = whole[:, inputs["input_ids"].shape[1] :].tolist()
        counts = [next((n + 1 for n, token in enumerate(row) if token in checkpoint.ends), len(row)) for row in new]
        texts = [checkpoint.text(tuple(row[:count])) for row, count in zip(new, counts, strict=True)]
        return [text if text.strip() else "" for text in texts], int(inputs["attention_mask"].sum()), sum(counts)

    answer(asked[:1])
    texts: list[str] = []
    read = written = 0
    start = time.perf_counter()
    for first in range(0, len(asked), batch):
        some, tokens, new = answer(asked[first : first + batch])
        texts, read, written = texts + some, read + tokens, written + new
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "texts": texts, "read": read, "written": written, "computed": read}
