"""A grid of the paper's size in a folder: generated questions, and answers of the kinds that models give.

Four models × two benchmarks (1,140 and 1,172 questions of four options) × ten strategies with all rotations. Answers
come from the scripted engine by a rule of hashes, so that the folder's bytes are the same every time; they are lone
letters, letters in sentences, echoed option lines, reasoning that ends in an answer, hypotheses with scores, and some
that cannot be read.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from stablechoice import generations
from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.engines.scripted import ScriptedEngine
from stablechoice.generations import Generation
from stablechoice.questions.loading import write_questions
from stablechoice.questions.manifest import write_manifest
from stablechoice.questions.nonsense import generate
from stablechoice.questions.question import LABELS, Question, question_id
from stablechoice.request import Request, Response, request_key
from stablechoice.stages.cell import cell_plan, derived, study_questions
from stablechoice.strategies.sharing import asked

ROOT = Path(__file__).resolve().parents[1]
STUDY = "bench"
BENCHMARKS = {"bench_mmlu": 1140, "bench_arc": 1172}
MODELS = ("bench-1", "bench-2", "bench-3", "bench-4")
STRATEGIES = (
    "direct",
    "reasoning_direct",
    "cyclic",
    "reasoning_cyclic",
    "two_stage",
    "reasoning_two_stage",
    "hidden_semantic",
    "visible_semantic",
    "visible_llm",
    "hypothesis",
)
_STEMS = 4  # generated stems a question: about as long as MMLU's median

_STUDY_FILE = f"""\
defaults:
  - /decoding@decoding: paper
title: Grid of the paper's size
models: [{", ".join(MODELS)}]
benchmarks: [{", ".join(BENCHMARKS)}]
strategies: [{", ".join(STRATEGIES)}]
prompts: paper
embedder: minilm
resamples: 10000
"""
_MODEL_FILE = """\
defaults:
  - /engine@engine: scripted
title: {name}
simulated: true
"""


def share(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    digest = hashlib.blake2b("|".join(map(str, parts)).encode("utf-8"), digest_size=6).digest()
    return int.from_bytes(digest, "big") / 2**48


def configured(root: Path) -> Configuration:
    """`conf/`, questions and manifests of the grid in a folder; nothing is answered yet."""
    for part in ("conf", "data/published"):
        shutil.copytree(ROOT / part, root / part, dirs_exist_ok=True)
    (root / "conf/study" / f"{STUDY}.yaml").write_text(_STUDY_FILE, encoding="utf-8")
    for number, model in enumerate(MODELS, 1):
        text = _MODEL_FILE.format(name=f"Scripted {number}")
        (root / "conf/model" / f"{model}.yaml").write_text(text, encoding="utf-8")
    pattern = (ROOT / "conf/benchmark/nonsense_qa.yaml").read_text(encoding="utf-8")
    for key, count in BENCHMARKS.items():
        text = pattern.replace("nonsense_qa", key).replace("title: NonsenseQA", f"title: {key}")
        (root / "conf/benchmark" / f"{key}.yaml").write_text(text, encoding="utf-8")
        questions = list(_questions(key, count))
        write_questions(root / "data/benchmarks" / f"{key}.jsonl", questions)
        write_manifest(root / "data/manifests" / f"{key}.csv", questions)
    return Configuration((f"study={STUDY}",), root)


def _questions(benchmark: str, count: int) -> Iterator[Question]:
    """Nonsense questions with stems of the length of real ones; every twentieth has a relational option."""
    seed = list(BENCHMARKS).index(benchmark)
    words = ROOT / "data/sources/words.txt"
    made = generate(seed, count * _STEMS, words=words)
    for number in range(count):
        one, *more = made[number * _STEMS : (number + 1) * _STEMS]
        stem = " ".join([*(other.question for other in more), one.question])
        options = (*one.options[:3], "All of the above") if number % 20 == 0 else one.options
        identity = question_id(benchmark, stem, options)
        yield replace(one, question_id=identity, subject=benchmark, question=stem, options=options)


def answered(configuration: Configuration) -> int:
    """Write every cell's generations; returns how many responses they hold."""
    count = 0
    for cell in configuration.study.cells:
        if not derived(configuration, cell.strategy):
            count += _write(configuration, cell)
    return count


def _write(configuration: Configuration, cell: CellName) -> int:
    questions = study_questions(configuration, cell.benchmark)
    plan = cell_plan(configuration, cell, questions)
    shares = configuration.strategy(cell.strategy).shares
    layout = configuration.layout()
    shared = generations.read(layout.generations(cell._replace(strategy=shares))) if shares else []
    known = {row.key: row.response for row in shared}
    rows: list[Generation] = []
    for question in questions:
        engine = ScriptedEngine(model={"key": cell.model}, rule=Rule(cell.model, question))

        def answer(request: Request, engine: ScriptedEngine = engine) -> Response:
            key = request_key(plan.identity, plan.decoding, request)
            if key in known:
                return known[key]
            ((_, response),) = engine.answer([request], plan.decoding)
            rows.append(Generation(key, request, response))
            return response

        asked(plan.strategy, question, plan.prompts, answer)
    generations.write(layout.generations(cell), rows)
    return len(rows)


class Rule:
    """Answers of one model to one question: it knows 40–85 % of them and is drawn to a letter otherwise."""

    def __init__(self, model: str, question: Question) -> None:
        self._model = model
        self._question = question
        self._knows = share(model, question.question_id, "knows") < 0.4 + 0.45 * share(model, "skill")
        self._pull = int(4 * share(model, "pull"))
        self.__qualname__ = f"Rule({model})"

    def __call__(self, request: Request) -> str:
        step, rotation, option, _ = request.address
        draw = share(self._model, self._question.question_id, step, rotation, option)
        right = self._knows and draw < 0.95
        choice = self._question.gold if right else self._question.canonical(self._pull, rotation)
        letter = LABELS[self._question.slot(choice, rotation)]
        text = self._question.options[choice]
        kind = share("kind", self._model, self._question.question_id, step, rotation, option)
        if step == "independent_hypothesis":
            return self._hypothesis(option == choice, draw, kind)
        if step.endswith("free_text") or step == "text_extraction":
            said = self._phrase(text, kind)
            return f"{self._reasons(draw)}\nAnswer: {said}" if step.startswith("reasoning/") else said
        if step.startswith("reasoning/"):
            last = f"Final answer: {letter}" if kind < 0.93 else f"**Final answer: {letter}. {text}**"
            why = self._each_option(rotation) if draw < 0.4 else self._reasons(draw)
            return f"{why}\n{last}" if kind < 0.97 else why
        return self._letter(letter, text, kind)

    def _letter(self, letter: str, text: str, kind: float) -> str:
        kinds = (
            (0.70, letter),
            (0.80, f"{letter}."),
            (0.88, f"{letter}. {text}"),
            (0.94, f"The answer is {letter}."),
            (0.97, f"Based on the reference answer, the closest option is **{letter}. {text}**."),
            (0.985, "None of the options fits the reference answer."),
        )
        return next((said for bound, said in kinds if kind < bound), "I cannot answer that.")

    def _phrase(self, text: str, kind: float) -> str:
        words = self._question.question.split()
        if kind < 0.55:
            return text
        if kind < 0.75:
            return f"It is most likely {text}."
        return " ".join(words[int(kind * 20) : int(kind * 20) + 3]).lower() if kind < 0.98 else ""

    def _reasons(self, draw: float) -> str:
        """Some 70 words of reasoning over the question's own words."""
        words = self._question.question.split()
        parts = [
            f"{number}. The phrase {words[(int(draw * 97) + number * 3) % len(words)]} suggests that the option must "
            f"fit {words[(int(draw * 89) + number * 5) % len(words)]}, so that a reading by elimination helps."
            for number in range(1, 5)
        ]
        return "Let's think step by step.\n" + "\n".join(parts)

    def _each_option(self, rotation: int) -> str:
        """Reasoning that goes through the options as they were shown."""
        shown = enumerate(self._question.rotated(rotation))
        lines = [f"{LABELS[slot]}. {option}: this may fit the question, but only in part." for slot, option in shown]
        return "Let's look at each option.\n" + "\n".join(lines)

    def _hypothesis(self, chosen: bool, draw: float, kind: float) -> str:
        score = 5 * round((60 + 40 * draw if chosen else 70 * draw) / 5)
        said = f"<score>{score}</score>" if kind < 0.97 else f"I would say {score} of 100."
        return f"{self._reasons(draw)}\nTherefore the hypothesis is {'plausible' if chosen else 'unlikely'}.\n{said}"
