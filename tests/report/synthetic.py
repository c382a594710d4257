"""A whole study made up from a seed: real strategies and readers over invented questions and invented answers.

Two models (one simulated), two benchmarks, the ten strategies, forty questions each; some texts are hostile.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stablechoice.cell_name import CellName
from stablechoice.generations import Generation
from stablechoice.measures.analysis import analyse
from stablechoice.measures.cell import Cell
from stablechoice.measures.result import Analysis
from stablechoice.observation import Observation
from stablechoice.prompts import Prompts
from stablechoice.questions.question import LABELS, Question, question_id
from stablechoice.questions.relational import is_relational
from stablechoice.report.catalogue import main_table, tables
from stablechoice.report.explorer import Explorer
from stablechoice.report.extras import Extras, extras_of
from stablechoice.report.figures import Figure, draw_figures
from stablechoice.report.page import Contents
from stablechoice.report.study import Entry, Study, whole_grid
from stablechoice.request import Decoding, Request, Response, request_key
from stablechoice.strategies.cyclic import Cyclic
from stablechoice.strategies.direct import Direct
from stablechoice.strategies.extraction import VisibleLLM, VisibleSemantic
from stablechoice.strategies.hypothesis import IndependentHypothesis
from stablechoice.strategies.sharing import asked
from stablechoice.strategies.strategy import Reader, Strategy
from stablechoice.strategies.two_stage import HiddenSemantic, TwoStage

ROOT = Path(__file__).resolve().parents[2]
SEED = 42
QUESTIONS = 40

HOSTILE = (
    "</script><script>window.hacked=1</script>",
    '<img src=x onerror="window.hacked=2">',
    "{{ 7*7 }} {% raw %} ${7*7} `x`",
    "line\u2028separator\u2029and <!-- comment --> & &amp; \\u003c ]]>",
    "'\"><svg onload=window.hacked=3>",
)
"""Texts that must do nothing in a page, wherever they stand."""

MODELS = (Entry("tiny-1", "Tiny-1 & Co"), Entry("oracle", "Stated behaviour", simulated=True))
BENCHMARKS = (Entry("made_up", "Made up"), Entry("invented", "Invented"))

STRATEGIES: dict[str, Strategy] = {
    "direct": Direct("Direct", "direct_mcq", "cyclic"),
    "reasoning_direct": Direct("Reasoning Direct", "reasoning/direct_mcq", "reasoning_cyclic"),
    "cyclic": Cyclic("Cyclic", "direct_mcq", "cyclic_permutation"),
    "reasoning_cyclic": Cyclic("Reasoning Cyclic", "reasoning/direct_mcq", "reasoning_cyclic"),
    "two_stage": TwoStage("Two-stage", "free_text", "option_matching"),
    "reasoning_two_stage": TwoStage("Reasoning Two-stage", "reasoning/free_text", "option_matching"),
    "hidden_semantic": HiddenSemantic("Hidden+Semantic", "free_text", "semantic_matching_v1", 0.3, "two_stage"),
    "visible_semantic": VisibleSemantic("Visible+Semantic", "text_extraction", "text_extraction", 0.3),
    "visible_llm": VisibleLLM("Visible+LLM", "text_extraction", "option_matching", "visible_semantic"),
    "hypothesis": IndependentHypothesis("IHS", "independent_hypothesis", "independent_hypothesis"),
}
ENTRIES = tuple(Entry(key, strategy.title) for key, strategy in STRATEGIES.items())


def chance(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone."""
    digest = hashlib.sha256("|".join(map(str, parts)).encode("utf-8")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


@cache
def questions(benchmark: str, count: int = QUESTIONS) -> tuple[Question, ...]:
    """Invented questions; mostly four options, some three or five, some relational, some hostile."""
    made: list[Question] = []
    for number in range(count):
        size = {7: 3, 13: 5}.get(number % 20, 4)
        options = [f"{word} {number}" for word in ("amber", "birch", "cobalt", "dune", "ember")[:size]]
        if number % 11 == 5:
            options[-1] = "All of the above"
        stem = f"Which invented word of {benchmark} goes with number {number}?"
        if number < len(HOSTILE):
            stem, options[1] = f"{stem} {HOSTILE[number]}", HOSTILE[number]
        if number == 8:
            stem, options[0] = f"A stem over\n  several lines\tand {{options}}:\n{stem}", "white   space \n inside"
        identity = question_id(benchmark, stem, options)
        made.append(Question(identity, benchmark, stem, tuple(options), number % size))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Answerer:
    """Answers by chance: `skill` is how often it is right, `pull` how often a letter answer is B wherever B leads."""

    model: str
    skill: float
    pull: float
    obeys: float

    def __call__(self, request: Request, question: Question) -> Response:
        step, rotation, option, _ = request.address
        draw = chance(self.model, question.question_id, step, rotation, option, request.prompt)
        text = self._text(step, rotation, option, question, draw)
        number = questions(question.subject).index(question)
        if number < len(HOSTILE) and "free_text" in step:
            text = f"{HOSTILE[number]} {text}"
        cut = len(text) > 40 and draw > 0.97
        tokens = len(request.prompt.split()), len(text.split())
        return Response(text[:40] if cut else text, "ok", "length" if cut else "stop", *tokens)

    def _choice(self, question: Question, draw: float) -> int:
        knows = chance(self.model, question.question_id, "knows") < self.skill
        if knows and draw < 0.85:
            return question.gold
        return int(draw * 997) % len(question.options)

    def _text(self, step: str, rotation: int, option: int, question: Question, draw: float) -> str:
        choice = self._choice(question, draw)
        letter = LABELS[question.slot(choice, rotation)]
        if chance(self.model, question.question_id, step, rotation, "pull") < self.pull:
            letter = "B"
        obeys = chance(self.model, question.question_id, step, rotation, option, "obeys") < self.obeys
        reasons = "First, the number is looked at. Then the words are compared, one after the other. "
        if step == "independent_hypothesis":
            score = 90 - 5 * int(draw * 5) if option == choice else 5 * int(draw * 12)
            return f"{reasons}<score>{score}</score>" if obeys else f"{reasons}It seems likely."
        if step in ("free_text", "text_extraction"):
            return question.options[choice] if obeys else "I am not able to say."
        if step == "reasoning/free_text":
            return f"{reasons}\nAnswer: {question.options[choice]}" if obeys else reasons
        if step == "reasoning/direct_mcq":
            return f"{reasons}\nFinal answer: {letter}" if obeys else f"{reasons}Both A and B could be meant."
        return letter if obeys else "Either A or C."


ANSWERERS = {"tiny-1": Answerer("tiny-1", 0.45, 0.35, 0.82), "oracle": Answerer("oracle", 0.8, 0.05, 0.98)}


class WordOverlap:
    """Cosine of word counts: a similarity that needs no model."""

    def warm(self, texts: Iterable[str]) -> None:
        """Nothing to prepare."""

    def cosines(self, text: str, options: Sequence[str]) -> list[float]:
        """In [0, 1]."""
        mine = set(re.findall(r"\w+", text.lower()))
        theirs = [set(re.findall(r"\w+", option.lower())) for option in options]
        return [len(mine & other) / max(1.0, (len(mine) * len(other)) ** 0.5) for other in theirs]


@dataclass(frozen=True, slots=True)
class Made:
    """The study with everything that a report is made from."""

    study: Study
    prompts: Prompts
    questions: dict[str, tuple[Question, ...]]
    observations: dict[CellName, tuple[Observation, ...]]
    answers: dict[CellName, tuple[Generation, ...]]
    cells: dict[CellName, Cell]
    analysis: Analysis
    extras: Extras

    @property
    def explorer(self) -> Explorer:
        """The explorer over all of it."""
        orders = {key: strategy.order for key, strategy in STRATEGIES.items()}
        return Explorer(self.study, self.questions, self.observations, self.answers.__getitem__, self.prompts, orders)


@cache
def made(count: int = QUESTIONS, without: CellName | None = None, resamples: int = 400) -> Made:
    """The study; `without` leaves a cell unrun."""
    prompts = Prompts.load(ROOT / "conf" / "prompt" / "paper")
    study = whole_grid("Synthetic study", MODELS, BENCHMARKS, ENTRIES)
    listed = {benchmark.key: questions(benchmark.key, count) for benchmark in BENCHMARKS}
    observations: dict[CellName, tuple[Observation, ...]] = {}
    answers: dict[CellName, tuple[Generation, ...]] = {}
    for name in sorted(study.expected - {without}):
        cell = [_asked(name, question, prompts) for question in listed[name.benchmark]]
        observations[name] = tuple(observation for observation, _ in cell)
        answers[name] = tuple(row for _, rows in cell for row in rows)
    cells = {
        name: Cell.of(name, rows, order=STRATEGIES[name.strategy].order, title=STRATEGIES[name.strategy].title)
        for name, rows in observations.items()
    }
    analysis = analyse(cells, resamples=resamples, seed=SEED, grid=study.expected)
    return Made(study, prompts, listed, observations, answers, cells, analysis, extras_of(cells.values()))


def _asked(name: CellName, question: Question, prompts: Prompts) -> tuple[Observation, list[Generation]]:
    strategy, answerer = STRATEGIES[name.strategy], ANSWERERS[name.model]
    requests = asked(strategy, question, prompts, lambda request: answerer(request, question))
    rows = [
        Generation(request_key({"model": name.model}, Decoding(0.0, 64), request), request, answerer(request, question))
        for request in requests
    ]
    answers = {row.request.address: row.response for row in rows}
    outcome = strategy.read(question, answers, Reader(name.benchmark, SEED, WordOverlap()))
    needed = [row for row in rows if row.request.purpose == "answer"]
    observation = Observation(
        question_id=question.question_id,
        subject=question.subject,
        gold=question.gold,
        option_count=len(question.options),
        relational=is_relational(question),
        choice=outcome.choice,
        reason=outcome.reason,
        how=outcome.how,
        readings=outcome.readings,
        scores=outcome.scores,
        tied=outcome.tied,
        requests=len(needed),
        order_requests=len(rows) - len(needed),
        marginal_requests=len(rows),
        prompt_tokens=sum(row.response.prompt_tokens or 0 for row in needed),
        completion_tokens=sum(row.response.completion_tokens or 0 for row in needed),
    )
    return observation, rows


@cache
def figures() -> tuple[Figure, ...]:
    """The study's figures, drawn once for all tests."""
    whole = made()
    return draw_figures(whole.study, whole.analysis, whole.cells)


def contents(whole: Made | None = None) -> Contents:
    """What the study's report shows; a study other than the whole one goes without figures."""
    found = whole or made()
    return Contents(
        study=found.study,
        analysis=found.analysis,
        tables=[
            main_table(found.analysis, found.study, found.extras),
            *tables(found.analysis, found.study, found.extras),
        ],
        figures=figures() if whole is None else (),
        explorer=found.explorer,
        extras=found.extras,
        provenance={name: provenance(name) for name in sorted(found.observations)},
    )


def provenance(name: CellName) -> dict[str, Any]:
    """Facts that are shared by all, by a model, by a benchmark, by a strategy, and by none."""
    return {
        "configuration": {
            "decoding": {"max_new_tokens": 64, "temperature": 0.0},
            "model": {"key": name.model, "revision": None},
            "strategy": {"title": STRATEGIES[name.strategy].title},
        },
        "questions_sha256": hashlib.sha256(name.benchmark.encode("utf-8")).hexdigest(),
        "configuration_sha256": hashlib.sha256("|".join(name).encode("utf-8")).hexdigest(),
    }
