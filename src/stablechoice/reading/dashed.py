"""Matched and dashed: which option the whole-text answer of a response without labels means ([N]; PROTOCOL 3)."""

from __future__ import annotations

import math
from collections.abc import Iterable

from stablechoice.errors import ModelError
from stablechoice.observation import Reading
from stablechoice.questions.question import Question
from stablechoice.reading.extraction import Extract, extract
from stablechoice.reading.letter import refusal
from stablechoice.reading.normalise import normalise, plain
from stablechoice.reading.passage import Passage
from stablechoice.reading.similarity import EMBEDDED, Measure, Similarity, similarities
from stablechoice.reading.status import unanswered
from stablechoice.reading.tiebreak import break_tie
from stablechoice.request import Response

METHOD = "matched_and_dashed"
"""Method word of the canonical tie-break."""


def read_dashed(
    response: Response,
    question: Question,
    rotation: int,
    *,
    measure: Measure,
    embedder: Similarity,
    benchmark: str,
    seed: int,
) -> Reading:
    """Extract the answer string, then take the most similar option, without a threshold.

    An answer string that is an option's whole text, but for case, markup and edge punctuation, is that option.

    Where [N] leaves a case open, it is settled so, since nothing may be guessed:
        - An empty answer is unscored (`empty`), a refusal too (`refusal`), where nothing is announced and no option
          named.
        - A response cut at the token cap counts only if its answer string was complete before the cut (`truncated`),
          as letters do (PROTOCOL 4).
        - `exact` and `token_overlap` find no option where every one has similarity 0: `no_answer`. An embedding
          always has a closest option.
        - Options that are equally similar are a tie, which the canonical tie-break settles.

    Args:
        measure: how alike two strings are; they are compared in the cascade's normal form.
        embedder: of the embedded measures.
        benchmark, seed: inputs of the canonical tie-break.

    Returns:
        A reading whose `how` is the rule that found the answer string; `similarity` is the best similarity where
        strings were compared.

    Raises:
        ModelError: a similarity is not a finite number.
    """
    reason = unanswered(response)
    if reason is not None:
        return Reading(rotation, None, reason)
    found = extract(response.text, question)
    if found is None:
        return Reading(rotation, None, "empty")
    if response.finish == "length" and (not found.complete or found.rule in ("option_text", "last_sentence")):
        return Reading(rotation, None, "truncated")
    if found.rule == "last_sentence" and not found.options and _refuses(response, question, rotation):
        return Reading(rotation, None, "refusal")
    tied, best = (found.options, None) if found.options else _closest(found, question, measure, embedder)
    if not tied:
        return Reading(rotation, None, "no_answer", similarity=best)
    choice = break_tie(seed, benchmark, question.question_id, METHOD, tied)
    return Reading(rotation, choice, how=found.rule, similarity=best, tied=tied if len(tied) > 1 else ())


def compared(responses: Iterable[Response], question: Question) -> list[str]:
    """Strings that `read_dashed` will embed under an embedded measure: none where an option's text decides."""
    texts: list[str] = []
    for response in responses:
        found = extract(response.text, question) if unanswered(response) is None else None
        if found is not None and not found.options:
            texts += [normalise(found.text), *map(normalise, question.options)]
    return texts


def _refuses(response: Response, question: Question, rotation: int) -> bool:
    return refusal(Passage(response.text, plain(response.text), question, rotation)) is not None


def _closest(
    found: Extract, question: Question, measure: Measure, embedder: Similarity
) -> tuple[tuple[int, ...], float | None]:
    """Every option with the highest similarity, and that; equal strings are compared once, hence tie exactly."""
    options = [normalise(option) for option in question.options]
    distinct = list(dict.fromkeys(options))
    values = dict(zip(distinct, similarities(measure, normalise(found.text), distinct, embedder), strict=True))
    if not all(map(math.isfinite, values.values())):
        raise ModelError("the sentence embedder returned a similarity that is not a number: check its weights' hash")
    best = max(values.values())
    if measure not in EMBEDDED and best == 0:
        return (), best
    return tuple(index for index, option in enumerate(options) if values[option] == best), best
