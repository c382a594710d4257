"""The reference answer: a stage-1 response whose text is matched to the options, by sentence similarity or by a model.

The reference answer is the response as the model wrote it, byte for byte: [P1] App. A passes the raw completion on
verbatim, and PROTOCOL 3 makes the whole response the reference answer, also where the model reasoned first. A text cut
at the token cap is passed on as it stands; that it was cut stays a fact of the response.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from stablechoice.observation import Reading, Reason
from stablechoice.questions.question import Question
from stablechoice.reading.cascade import comparable, match, needs_similarity
from stablechoice.reading.status import unanswered
from stablechoice.reading.tiebreak import break_text_tie_by_draw
from stablechoice.request import Response
from stablechoice.strategies.strategy import Reader


def no_reference(response: Response) -> Reason | None:
    """Why a stage-1 response gives nothing to match; None when it gives a reference answer."""
    reason = unanswered(response)
    if reason is not None:
        return reason
    return None if response.text.strip() else "empty"


def match_reference(
    response: Response, question: Question, rotation: int, reader: Reader, *, tie_method: str, threshold: float
) -> Reading:
    """The option that the semantic cascade matches to a reference answer (PROTOCOL 4, [P2] G.3).

    Args:
        tie_method: method word of the canonical tie-break.
        threshold: least cosine that counts, in [-1, 1].
    """
    reason = no_reference(response)
    if reason is not None:
        return Reading(rotation, None, reason)
    return match(
        response.text,
        question,
        rotation,
        similarity=reader.similarity,
        benchmark=reader.benchmark,
        seed=reader.seed,
        method=tie_method,
        threshold=threshold,
    )


def drawn(reading: Reading, question: Question, reader: Reader) -> Reading:
    """The same match with its tie, if it has one, broken by [P1]'s draw over texts instead of the canonical hash."""
    if not reading.tied:
        return reading
    return replace(reading, choice=break_text_tie_by_draw(reader.seed, question, reading.tied))


def similarity_texts(responses: Iterable[Response], question: Question) -> list[str]:
    """Strings that `match_reference` will embed: none where there is no reference or an earlier rule decides."""
    texts: list[str] = []
    for response in responses:
        if no_reference(response) is None and needs_similarity(response.text, question):
            texts += comparable(response.text, question)
    return texts
