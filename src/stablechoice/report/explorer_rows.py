"""How the explorer's data is written down; names are short, a paper's grid holds a quarter of a million responses.

Questions: `{"rows": [[question_id, subject, question, [option, …], gold, relational, [shown, …]], …]}`; `shown` holds
the options as displayed and is left out where they are displayed as they are.

Answers: `{"words", "literals", "strategies", "rows"}`. Words (steps, reasons, rules, statuses) are given by their
index in `words`. A row belongs to the question at the same place and is `[responses, observations]`, or
`[responses, observations, repeats]` where something was asked again in the same order:

* response: `[step, rotation, option, prompt, text, status, finish, detail]`; see `prompt_parts` for the prompt;
* observation, one a strategy in the order of `strategies`, 0 where the strategy was not run:
  `[choice, reason, how, flags, tied, scores, readings, responses]`, with choice -1 for unscored and responses by
  their index in the row;
* reading: `[rotation, choice, reason, how, tied, similarity]`;
* repeat: `[strategy, repetition, step, text, status, finish, detail]`, with the strategy by its place in `strategies`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stablechoice.generations import Generation
from stablechoice.observation import Observation, Reading
from stablechoice.prompts import Prompts, display
from stablechoice.questions.question import Question
from stablechoice.questions.relational import is_relational
from stablechoice.report.extras import BASELINE
from stablechoice.report.prompt_parts import prompt_parts
from stablechoice.request import Address

CORRECT, FLIPPED, TIED, TIE_DEPENDENT, BROKEN, FIXED = 1, 2, 4, 8, 16, 32
"""Flags of an observation, added up; a page's filters read them."""

UNSCORED = -1


@dataclass(frozen=True, slots=True)
class Answered:
    """One cell by question id.

    Attributes:
        again: responses of repetitions beyond the main run.
        rotated: its readings were taken in several orders, so that they may flip.
    """

    observations: Mapping[str, Observation]
    responses: Mapping[str, Sequence[Generation]]
    again: Mapping[str, Sequence[Generation]]
    rotated: bool


@dataclass(slots=True)
class _Numbered:
    """Texts by number, each once, in the order in which they first come."""

    listed: list[str] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    def __call__(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.listed)
            self.listed.append(text)
        return self._numbers[text]


def question_rows(questions: Sequence[Question]) -> dict[str, Any]:
    """The questions of a benchmark."""
    return {"rows": [_question(question) for question in questions]}


def answer_rows(
    questions: Sequence[Question], strategies: Sequence[str], cells: Mapping[str, Answered], prompts: Prompts
) -> dict[str, Any]:
    """The answers of one model to a benchmark's questions, by strategy; responses that are shared stand once."""
    words, literals = _Numbered(), _Numbered()
    rows: list[Any] = []
    for question in questions:
        asked = {key: cell.responses.get(question.question_id, ()) for key, cell in cells.items()}
        shared = {_content(row): row for listed in asked.values() for row in listed}
        responses = list(shared.values())
        places = {place: number for number, place in enumerate(shared)}
        # Of equal texts a prompt quotes the first: which one does not change what it says.
        texts = {row.response.text: number for number, row in reversed(list(enumerate(responses)))}
        listed = [
            _response(row, words, prompt_parts(row.request, question, prompts, texts, literals)) for row in responses
        ]
        observed: list[Any] = []
        for key in strategies:
            used = [places[_content(row)] for row in asked.get(key, ())]
            observed.append(_observation(key, question, cells, used, words))
        again = _repeats(question, strategies, cells, words)
        rows.append([listed, observed, again] if again else [listed, observed])
    return {"words": words.listed, "literals": literals.listed, "strategies": list(strategies), "rows": rows}


def flags(observation: Observation, baseline: Observation | None, *, rotated: bool) -> int:
    """What a filter may ask of an observation (PROTOCOL 5): right, flipped, tied, tie-dependent, broken, fixed.

    Args:
        baseline: Direct's observation of the same question; None where Direct was not run, and for Direct itself.
        rotated: readings were taken in several orders.
    """
    correct = observation.choice == observation.gold
    parsed = {reading.choice for reading in observation.readings if reading.choice is not None}
    tied = len(observation.tied) > 1
    found = CORRECT * correct + FLIPPED * (rotated and len(parsed) > 1)
    found += TIED * tied + TIE_DEPENDENT * (tied and observation.gold in observation.tied)
    if baseline is not None:
        before = baseline.choice == baseline.gold
        found += BROKEN * (before and not correct) + FIXED * (correct and not before)
    return found


def _content(row: Generation) -> tuple[Address, str, str]:
    """What makes a response one; why it was asked does not (Direct's rotations are Cyclic's)."""
    return row.request.address, row.request.prompt, _said(row)


def _question(question: Question) -> list[Any]:
    row: list[Any] = [question.question_id, question.subject, question.question, list(question.options), question.gold]
    row.append(int(is_relational(question)))
    shown = [display(option) for option in question.options]
    return row if shown == list(question.options) else [*row, shown]


def _response(row: Generation, words: _Numbered, prompt: Sequence[int | str]) -> list[Any]:
    step, rotation, option, _ = row.request.address
    status, finish = words(row.response.status), words(row.response.finish)
    place = [words(step), rotation, option, list(prompt), _said(row), status, finish]
    return [*place, row.response.detail] if row.response.detail else place


def _said(row: Generation) -> str:
    """The text, or the log-probabilities that were asked for instead."""
    logprobs = row.response.letter_logprobs
    if not row.request.wants_probabilities or logprobs is None:
        return row.response.text
    begun = f"{row.request.prefill}… " if row.request.prefill else ""
    return begun + ", ".join(f"{text.strip()}: {value:.4f}" for text, value in logprobs.items())


def _repeats(
    question: Question, strategies: Sequence[str], cells: Mapping[str, Answered], words: _Numbered
) -> list[list[Any]]:
    made: list[list[Any]] = []
    for place, key in enumerate(strategies):
        rows = cells[key].again.get(question.question_id, ()) if key in cells else ()
        for row in sorted(rows, key=lambda one: one.request.address.repetition):
            step, response = words(row.request.address.step), row.response
            made.append([place, row.request.address.repetition, step, response.text, words(response.status)])
            made[-1] += [words(response.finish), *([response.detail] if response.detail else [])]
    return made


def _observation(
    key: str, question: Question, cells: Mapping[str, Answered], used: list[int], words: _Numbered
) -> list[Any] | int:
    found = _observed(key, question, cells)
    if found is None:
        return 0
    baseline = None if key == BASELINE else _observed(BASELINE, question, cells)
    marks = flags(found, baseline, rotated=cells[key].rotated)
    read = [_choice(found.choice), words(found.reason or ""), words(found.how), marks]
    return [*read, list(found.tied), list(found.scores), [_reading(row, words) for row in found.readings], used]


def _observed(key: str, question: Question, cells: Mapping[str, Answered]) -> Observation | None:
    return cells[key].observations.get(question.question_id) if key in cells else None


def _reading(reading: Reading, words: _Numbered) -> list[Any]:
    row = [reading.rotation, _choice(reading.choice), words(reading.reason or ""), words(reading.how)]
    if reading.similarity is not None:
        return [*row, list(reading.tied), round(reading.similarity, 4)]
    return [*row, list(reading.tied)] if reading.tied else row


def _choice(choice: int | None) -> int:
    return UNSCORED if choice is None else choice
