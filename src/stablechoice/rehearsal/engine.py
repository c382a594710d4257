"""An engine that answers by published figures: who is right, flips, refuses or ties is planned for each question."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stablechoice.engines.fingerprint import file_sha256
from stablechoice.errors import ConfigError, EngineError, ModelError
from stablechoice.layout import Layout
from stablechoice.questions.loading import read_questions
from stablechoice.questions.manifest import read_manifest, select
from stablechoice.questions.question import Question
from stablechoice.rehearsal.choices import Choices, canonical_states, choices, wrong_option
from stablechoice.rehearsal.draw import ranked
from stablechoice.rehearsal.figures import CHOOSING, BenchmarkFigures, ChoiceFigures
from stablechoice.rehearsal.repetitions import repetitions
from stablechoice.rehearsal.scores import Scores, scores
from stablechoice.rehearsal.wording import Speaker
from stablechoice.request import Decoding, Request, Response, canonical_json

PROTOCOL = 1
"""Raised when the same figures begin to be answered otherwise, so that journals do not mix."""

_REFERENCE = "\n\nReference answer: "
_OPTIONS = "\n\nOptions:\n"
_ASKED = ("manifest", "repeats", "sha256", "figures")
_UNSCORED_OPTIONS = 0.004
"""Share of hypotheses that get no score, of those that stand lowest: no table moves by it."""


class RehearsedEngine:
    """Answers as `figures` states; it must know a study's questions beforehand, and looks a request's up by its id.

    Args:
        model: the `conf/model` file. `speaks_as`: the name that enters every draw. `benchmarks`: for each key of
            `conf/benchmark` the `manifest` (a path below the root) with its `sha256`, the list of `repeats` or null,
            and `figures`, see `figures.BenchmarkFigures`.

    Raises:
        ConfigError: a key is missing or a figure is no number.
    """

    def __init__(self, *, model: Mapping[str, Any]) -> None:
        self._key = str(model.get("key", "rehearsed"))
        self._root = Path(str(model.get("root", ".")))
        where = f"conf/model/{self._key}.yaml"
        listed = model.get("benchmarks")
        if not isinstance(listed, Mapping) or not all(set(one) == set(_ASKED) for one in listed.values()):
            raise ConfigError(f"{where}: key 'benchmarks' must give {', '.join(_ASKED)} for each benchmark")
        self._listed = {str(key): dict(one) for key, one in sorted(listed.items())}
        self._figures = {
            key: BenchmarkFigures.of(f"{where}, {key}", one["figures"]) for key, one in self._listed.items()
        }
        self._speaker = Speaker(str(model.get("speaks_as", self._key)))
        told = canonical_json({"benchmarks": self._listed, "speaks_as": self._speaker.name})
        self._sha256 = hashlib.sha256(told.encode("utf-8")).hexdigest()
        self._plans: dict[str, Plan] | None = None

    def identity(self) -> Mapping[str, Any]:
        """The hash of figures and of the lists of questions: another figure is another model."""
        return {"engine": "rehearsed", "protocol": PROTOCOL, "model": self._key, "figures_sha256": self._sha256}

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        """Answer each request in turn.

        Raises:
            ModelError: a list of questions is not the one that the figures were planned for.
            EngineError: a request is about an unknown question, or of a step without published figures.
        """
        plans = self._planned()
        for index, request in enumerate(requests):
            plan = plans.get(request.question_id)
            if plan is None:
                raise EngineError(
                    f"{self._key}: question {request.question_id} stands on no list of its conf/model file; rehearse "
                    "the study again"
                )
            response = plan.respond(request)
            completion = min(response.completion_tokens or 0, decoding.max_new_tokens)
            yield index, replace(response, prompt_tokens=len(request.prompt) // 4, completion_tokens=completion)

    def facts(self) -> Mapping[str, Any]:
        return {"simulated": True, "questions": len(self._plans or {})}

    def close(self) -> None:
        """Nothing is held open."""

    def _planned(self) -> dict[str, Plan]:
        """Plans by question id, made at the first answer."""
        if self._plans is None:
            self._plans = {}
            for key, one in self._listed.items():
                plan = Plan.of(self._speaker, key, *self._questions(key, one), self._figures[key])
                self._plans |= dict.fromkeys(plan.questions, plan)
        return self._plans

    def _questions(self, key: str, one: Mapping[str, Any]) -> tuple[list[Question], list[str]]:
        """The questions of a list, and the ids of those that are repeated."""
        path = self._root / str(one["manifest"])
        if not path.is_file() or file_sha256(path) != one["sha256"]:
            raise ModelError(
                f"{path}: is not the list that conf/model/{self._key}.yaml was written for; rehearse the study again"
            )
        known = read_questions(Layout(self._root, "").questions(key))
        repeated = [] if one["repeats"] is None else read_manifest(self._root / str(one["repeats"]))
        return select(known, read_manifest(path), path), repeated


@dataclass(frozen=True, slots=True)
class Plan:
    """One model's answers to one benchmark, before a word is said.

    Attributes:
        choices: by strategy; repeated: by strategy, the repetitions' choices in the canonical order.
        hidden: by question id, the option that the answer without options names.
    """

    speaker: Speaker
    questions: Mapping[str, Question]
    choices: Mapping[str, Choices]
    repeated: Mapping[str, Choices]
    hidden: Mapping[str, int | None]
    scores: Scores

    @classmethod
    def of(
        cls,
        speaker: Speaker,
        benchmark: str,
        questions: Sequence[Question],
        repeated: Sequence[str],
        figures: BenchmarkFigures,
    ) -> Plan:
        """Plan every strategy; a strategy's draws know nothing of another's."""
        name = f"{speaker.name}|{benchmark}"
        made = {key: choices(f"{name}|{key}", questions, repeated, figures.choices[key]) for key in CHOOSING}
        asked = set(repeated)
        subset = [q for q in questions if q.question_id in asked]
        again = {
            key: repetitions(f"{name}|{key}", subset, {q.question_id: made[key][q.question_id][0] for q in subset}, f)
            for key in CHOOSING
            if subset and (f := figures.choices[key].repeats) is not None
        }
        return cls(
            speaker,
            {q.question_id: q for q in questions},
            made,
            again,
            _hidden(f"{name}|hidden", questions, figures),
            scores(f"{name}|hypothesis", questions, figures.scores),
        )

    def respond(self, request: Request) -> Response:
        """The answer to one request, in words.

        Raises:
            EngineError: a template that no published figure speaks of, or a matching prompt that quotes no answer.
        """
        question, (step, rotation, option, repetition) = self.questions[request.question_id], request.address
        match step:
            case "direct_mcq":
                choice = self._choice("direct", question, rotation, repetition)
                return self.speaker.letter(question, rotation, choice, repetition)
            case "reasoning/direct_mcq":
                choice = self._choice("reasoning_direct", question, rotation, repetition)
                return self.speaker.reasoned_letter(question, rotation, choice, repetition)
            case "free_text":
                return self.speaker.short_text(question, self.hidden[question.question_id], repetition)
            case "reasoning/free_text":
                return self.speaker.reasoned_text(question, self.hidden[question.question_id], repetition)
            case "text_extraction":
                choice = self._choice("visible_semantic", question, rotation, repetition)
                return self.speaker.extracted(question, rotation, choice)
            case "option_matching":
                strategy = matched_by(request)
                choice = self._choice(strategy, question, rotation, repetition)
                return self.speaker.letter(question, rotation, choice, strategy, repetition)
            case "independent_hypothesis":
                return self.speaker.scored(question, option, self._score(question, option))
        raise EngineError(
            f"step {step}: no published figure says how it is answered; rehearse the strategies of the paper's own "
            "study (conf/study/paper.yaml)"
        )

    def _choice(self, strategy: str, question: Question, rotation: int, repetition: int) -> int | None:
        if repetition:
            return self.repeated[strategy][question.question_id][repetition]
        return self.choices[strategy][question.question_id][rotation]

    def _score(self, question: Question, option: int) -> int | None:
        planned = self.scores[question.question_id]
        lowest = min(planned) < sorted(planned)[-2] and planned.index(min(planned)) == option
        left_out = lowest and self.speaker.drawn(question, "no score") < _UNSCORED_OPTIONS
        return None if left_out else planned[option]


def matched_by(request: Request) -> str:
    """Whose reference answer a matching prompt quotes, by the form in which it was said (`wording.Speaker`).

    An answer line stands below reasoning; a short answer ends its line; an extracted text does neither.

    Raises:
        EngineError: the prompt has no reference answer above its options.
    """
    found, end = request.prompt.find(_REFERENCE), request.prompt.rfind(_OPTIONS)
    start = found + len(_REFERENCE)
    if found < 0 or end < start:
        raise EngineError(
            f"question {request.question_id}, step {request.address.step}: its prompt has no {_REFERENCE.strip()!r} "
            f"above {_OPTIONS.strip()!r}, so whose answer it quotes cannot be told; give the prompt template both "
            "lines again, or say in rehearsal/engine.py how they read now"
        )
    reference = request.prompt[start:end]
    if "\n\nAnswer: " in reference:
        return "reasoning_two_stage"
    return "two_stage" if reference.endswith("\n") else "visible_llm"


def _hidden(name: str, questions: Sequence[Question], figures: BenchmarkFigures) -> dict[str, int | None]:
    """Which option each stage-1 text names; None where it names none."""
    stated = ChoiceFigures(figures.hidden.accuracy, 0.0, 0.0, figures.hidden.unscored)
    states = canonical_states(name, ranked(questions, name), (), stated)
    return {
        q.question_id: None if states[q.question_id] is None
        else q.gold if states[q.question_id] else wrong_option(name, q)
        for q in questions
    }  # fmt: skip
