"""Times the local engine against `generate` one by one and in padded batches, on the same prompts in the same run.

Each way runs in a process of its own, so that peak memory is its own. Needs `make prepare`. On a shared machine read
the ratios. Run: PYTHONPATH=src python bench/bench_local.py [--questions 10] [--cap 64] [--threads 2] [--ways …]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KEY = "smollm2-135m"
PADDED = 32


def requests(count: int) -> list[Any]:
    """What the study asks first about some pocket questions: every template that needs no earlier answer."""
    from stablechoice.prompts import Prompts
    from stablechoice.questions.loading import read_questions
    from stablechoice.request import Address, Request

    path = ROOT / "data" / "benchmarks" / "pocket_qa.jsonl"
    if not path.is_file():
        sys.exit(f"{path}: is missing; run `make prepare` first")
    prompts = Prompts.load(ROOT / "conf" / "prompt" / "paper")
    asked = []
    for question in read_questions(path)[:count]:
        one = question.question_id
        for rotation in question.rotations:
            for name in ("direct_mcq", "reasoning/direct_mcq", "text_extraction"):
                asked.append(Request(one, Address(name, rotation), prompts.render(name, question, rotation)))
        for name in ("free_text", "reasoning/free_text"):
            asked.append(Request(one, Address(name), prompts.render(name, question)))
        for option, text in enumerate(question.options):
            prompt = prompts.render("independent_hypothesis", question, option_text=text)
            asked.append(Request(one, Address("independent_hypothesis", 0, option), prompt))
    return asked


def model_keys() -> dict[str, Any]:
    from stablechoice.configuration import Configuration

    values = Configuration(root=ROOT).group("model", KEY)
    kept = {name: value for name, value in values.items() if name not in ("title", "simulated", "engine")}
    return {"key": KEY, "root": str(ROOT), **kept}


def by_engine(prompts: Sequence[Any], cap: int, **arguments: Any) -> dict[str, Any]:
    from stablechoice.engines.local import LocalEngine
    from stablechoice.request import Decoding

    engine = LocalEngine(model=model_keys(), **arguments)
    decoding = Decoding(0.0, cap)
    list(engine.answer(prompts[:1], decoding))  # loads the model
    before = dict(engine.facts())
    start = time.perf_counter()
    found = dict(engine.answer(prompts, decoding))
    seconds = time.perf_counter() - start
    facts = engine.facts()
    return {
        "seconds": seconds,
        "texts": [found[n].text for n in range(len(prompts))],
        "read": facts["prompt_tokens"] - before["prompt_tokens"],
        "written": facts["written_tokens"] - before["written_tokens"],
        "computed": facts["computed_prompt_tokens"] - before["computed_prompt_tokens"],
        "near_ties": facts["near_ties"] - before["near_ties"],
    }


def by_generate(prompts: Sequence[Any], cap: int, batch: int) -> dict[str, Any]:
    """transformers' own way, in the order asked, padded on the left."""
    from stablechoice.engines.checkpoint import load
    from stablechoice.engines.weights import Weights

    checkpoint = load(Weights.from_mapping(model_keys()).locate(), "float32", "cpu")
    tokenizer, model = checkpoint.tokenizer, checkpoint.model
    tokenizer.padding_side = "left"

    def answer(some: Sequence[Any]) -> tuple[list[str], int, int]:
        chats = [checkpoint.chat(request.prompt) for request in some]
        inputs = tokenizer(chats, add_special_tokens=False, return_tensors="pt", padding=True)
        whole = model.generate(**inputs, do_sample=False, max_new_tokens=cap)
        new = whole[:, inputs["input_ids"].shape[1] :]
        counts = [next((n + 1 for n, t in enumerate(row) if t in checkpoint.ends), cap) for row in new.tolist()]
        texts = [checkpoint.text(tuple(row[:count])) for row, count in zip(new.tolist(), counts, strict=True)]
        return [text if text.strip() else "" for text in texts], int(inputs["attention_mask"].sum()), sum(counts)

    answer(prompts[:1])
    texts: list[str] = []
    read = written = 0
    start = time.perf_counter()
    for first in range(0, len(prompts), batch):
        some, tokens, new = answer(prompts[first : first + batch])
        texts, read, written = texts + some, read + tokens, written + new
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "texts": texts, "read": read, "written": written, "computed": read, "near_ties": 0}


WAYS: dict[str, Callable[[Sequence[Any], int], dict[str, Any]]] = {
    "generate, one by one": lambda prompts, cap: by_generate(prompts, cap, 1),
    f"generate, padded {PADDED}": lambda prompts, cap: by_generate(prompts, cap, PADDED),
    "engine, no shared prefix": lambda prompts, cap: by_engine(prompts, cap, share_prefixes=False),
    "engine": by_engine,
}


def measure(way: str, count: int, cap: int, threads: int) -> None:
    """One way, in this process; prints JSON."""
    from stablechoice.engines.threads import wait_patiently

    wait_patiently()
    import torch

    torch.set_num_threads(threads)
    measured = WAYS[way](requests(count), cap)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**measured, "peak_mib": peak}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=10)
    parser.add_argument("--cap", type=int, default=64)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--measure", choices=list(WAYS), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(chosen.measure, chosen.questions, chosen.cap, chosen.threads)
        return
    results = {}
    for way in chosen.ways:
        arguments = ["--questions", str(chosen.questions), "--cap", str(chosen.cap), "--threads", str(chosen.threads)]
        command = [sys.executable, __file__, "--measure", way, *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        results[way] = json.loads(done.stdout.splitlines()[-1])
    report(results, chosen.questions, chosen.cap, chosen.threads)


def report(results: dict[str, dict[str, Any]], questions: int, cap: int, threads: int) -> None:
    first = next(iter(results.values()))
    count = len(first["texts"])
    print(
        f"{questions} questions, {count} requests, cap {cap}, float32, {threads} threads; × compares with the first way"
    )
    head = (
        "way",
        "seconds",
        "×",
        "questions/s",
        "requests/s",
        "read tok/s",
        "written tok/s",
        "computed",
        "equal",
        "MiB",
    )
    print("{:26}{:>9}{:>7}{:>13}{:>12}{:>12}{:>15}{:>10}{:>10}{:>7}".format(*head))
    for way, one in results.items():
        seconds = one["seconds"]
        equal = sum(text == other for text, other in zip(one["texts"], first["texts"], strict=True))
        print(
            f"{way:26}{seconds:9.1f}{first['seconds'] / seconds:7.2f}{questions / seconds:13.2f}{count / seconds:12.2f}"
            f"{one['read'] / seconds:12.0f}{one['written'] / seconds:15.0f}{one['computed']:10}"
            f"{f'{equal}/{count}':>10}{one['peak_mib']:7.0f}"
        )


if __name__ == "__main__":
    main()
