"""Requests for letter probabilities, and what the recorded ones say of each slot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stablechoice.observation import Reading
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.reading.letter_probabilities import Distribution, letter_logprobs, likeliest, normalised
from stablechoice.reading.tiebreak import break_tie
from stablechoice.request import Address, Purpose, Request, Response
from stablechoice.strategies.permutation import Permutation, shown_in
from stablechoice.strategies.strategy import Reader


def ask_letters(
    prompts: Prompts, step: str, question: Question, number: int, order: Permutation, purpose: Purpose, prefill: str
) -> Request:
    """One request for the probabilities of the question's labels as the next token of the answer.

    Args:
        step: the template's name.
        number: of the order among the strategy's orders; below the option count it is the rotation.
        prefill: what the answer begins with.
    """
    prompt = prompts.render(step, shown_in(question, order))
    address = Address(step, number)
    return Request(question.question_id, address, prompt, purpose, prefill=prefill, letters=question.labels)


def read_distribution(response: Response, question: Question, rotation: int) -> tuple[Distribution | None, Reading]:
    """Probabilities by slot, and the unscored reading that a strategy fills in once it has decided."""
    logprobs, reason = letter_logprobs(response, question)
    if reason is not None:
        return None, Reading(rotation, None, reason)
    return normalised(logprobs), Reading(rotation, None, "no_answer", logprobs=logprobs)


def decided(reading: Reading, choice: int, how: str, tied: tuple[int, ...] = ()) -> Reading:
    """A reading with its answer."""
    return replace(reading, choice=choice, reason=None, how=how, tied=tied if len(tied) > 1 else ())


def likeliest_option(
    values: Distribution, order: Permutation, question: Question, reader: Reader, method: str
) -> tuple[int, tuple[int, ...]]:
    """The canonical option with the largest probability, and all that tie with it (sorted).

    Args:
        values: by slot.
        order: canonical option in each slot.
        method: word of the canonical tie-break.
    """
    tied = tuple(sorted(order[slot] for slot in likeliest(values)))
    return break_tie(reader.seed, reader.benchmark, question.question_id, method, tied), tied


def distributions(
    question: Question, responses: Mapping[int, Response]
) -> tuple[dict[int, Distribution], dict[int, Reading]]:
    """Probabilities by order where there are any, and readings by order."""
    read = {number: read_distribution(response, question, number) for number, response in responses.items()}
    found = {number: values for number, (values, _) in read.items() if values is not None}
    return found, {number: reading for number, (_, reading) in read.items()}
