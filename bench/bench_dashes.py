"""What dashes cost: seconds and tokens of matched-and-dashed beside letters, behind the same demonstrations ([N]).

The tables of the study hold the overhead in tokens, which is the same wherever it is counted; seconds belong to a
machine, so they are measured here. Processor time is printed as well: it bears other work on the same cores better.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BENCHMARK = "nonsense_qa_100"
PAIR = ("letters_balanced", "dashed_balanced")


@dataclass(frozen=True)
class Took:
    """One way of asking some questions in their canonical order."""

    wall: float
    processor: float
    tokens: int


def requests(configuration: Any, strategy: str, count: int) -> list[Any]:
    """What a strategy asks of the first sampled questions, in the canonical order."""
    from stablechoice.questions.manifest import read_manifest, select
    from stablechoice.questions.source import load
    from stablechoice.strategies.demonstrations import bound

    source = configuration.benchmark(BENCHMARK)
    every = load(source, ROOT)
    sampled = select(every, read_manifest(ROOT / source.manifest), source.manifest)
    shown = bound(configuration.strategy(strategy), every, sampled)
    return [one for q in sampled[:count] for one in next(shown.ask(q, configuration.prompts(), order=False))]


def timed(engine: Any, asked: list[Any], decoding: Any) -> Took:
    wall, processor = time.perf_counter(), time.process_time()
    answers = [response for _, response in engine.answer(asked, decoding)]
    tokens = sum((one.prompt_tokens or 0) + (one.completion_tokens or 0) for one in answers)
    return Took(time.perf_counter() - wall, time.process_time() - processor, tokens)


def main() -> None:
    from stablechoice.configuration import Configuration

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--runs", type=int, default=3, help="of each; the quickest counts")
    given = parser.parse_args()
    configuration = Configuration(("study=abcd",), ROOT)
    engine, decoding = configuration.model(given.model).engine, configuration.study.decoding
    asked = {key: requests(configuration, key, given.questions) for key in PAIR}
    list(engine.answer(asked[PAIR[0]][:1], decoding))  # loads the model
    # In turns, so that other work on the machine meets both alike.
    runs = [{key: timed(engine, asked[key], decoding) for key in PAIR} for _ in range(given.runs)]
    engine.close()
    best = {key: min((run[key] for run in runs), key=lambda took: took.processor) for key in PAIR}
    for key, took in best.items():
        each = f"{took.wall / given.questions:.3f} s, {took.processor / given.questions:.3f} s of processor time"
        print(f"{key}: {each} and {took.tokens / given.questions:.1f} tokens a question")
    letters, dashes = (best[key] for key in PAIR)
    over = {name: getattr(dashes, name) / getattr(letters, name) - 1 for name in ("wall", "processor", "tokens")}
    print("overhead of dashes: " + ", ".join(f"{name} {share:+.1%}" for name, share in over.items()))


if __name__ == "__main__":
    main()
