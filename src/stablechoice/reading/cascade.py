"""The semantic cascade: which option a free text means."""

from __future__ import annotations

import math
from collections.abc import Iterable

from stablechoice.errors import ModelError
from stablechoice.observation import Reading
from stablechoice.questions.question import Question
from stablechoice.reading.normalise import normalise
from stablechoice.reading.similarity import Similarity
from stablechoice.reading.tiebreak import break_tie

SHORTEST_CONTAINED = 4
"""Characters that a contained string needs, so that `a` or `is` inside a sentence proves nothing."""


def match(
    text: str,
    question: Question,
    rotation: int,
    *,
    similarity: Similarity,
    benchmark: str,
    seed: int,
    method: str,
    threshold: float = 0.30,
) -> Reading:
    """Match a free text to an option by exact text, containment, then cosine ([P2] G.3; PROTOCOL 4).

    Options are compared in canonical order, so the same text is matched alike under every rotation.

    Args:
        text: the model's free text, raw.
        rotation: order under which the text was asked for; recorded, never an input of the match.
        similarity: cosine of sentence embeddings, in [-1, 1].
        benchmark, seed, method: inputs of the canonical tie-break.
        threshold: least cosine that counts.

    Returns:
        A reading whose `how` is `exact`, `containment` or `cosine`; unscored as `empty` or `below_threshold`.
        `similarity` is the best cosine wherever the cascade reached the third step.

    Raises:
        ModelError: a cosine is not a finite number.
    """

    def chosen(how: str, tied: tuple[int, ...], best: float | None = None) -> Reading:
        choice = break_tie(seed, benchmark, question.question_id, method, tied)
        return Reading(rotation, choice, how=how, similarity=best, tied=tied if len(tied) > 1 else ())

    said = normalise(text)
    if not said:
        return Reading(rotation, None, "empty")
    options = [normalise(option) for option in question.options]
    exact = _exact(said, options)
    if exact:
        return chosen("exact", exact)
    contained = _contained(said, options)
    if contained is not None:
        return chosen("containment", (contained,))
    best, closest = _closest(said, options, similarity)
    if best < threshold:
        return Reading(rotation, None, "below_threshold", similarity=best)
    return chosen("cosine", closest, best)


def needs_similarity(text: str, question: Question) -> bool:
    """Whether neither exact match nor containment decides, so that `match` will ask for cosines."""
    said = normalise(text)
    options = [normalise(option) for option in question.options]
    return bool(said) and not _exact(said, options) and _contained(said, options) is None


def comparable(text: str, question: Question) -> list[str]:
    """The distinct normalised strings that `match` compares by cosine, for `Similarity.warm`."""
    return _distinct([normalise(text), *map(normalise, question.options)])


def _exact(said: str, options: list[str]) -> tuple[int, ...]:
    """(i) Every option that reads the same; two options that normalise alike tie here."""
    return tuple(index for index, option in enumerate(options) if option == said)


def _contained(said: str, options: list[str]) -> int | None:
    """(ii) The one option that contains the text or is contained in it; None where no or several options do."""
    found = [index for index, option in enumerate(options) if _contains(said, option) or _contains(option, said)]
    return found[0] if len(found) == 1 else None


def _contains(whole: str, part: str) -> bool:
    return len(part) >= SHORTEST_CONTAINED and part in whole


def _closest(said: str, options: list[str], similarity: Similarity) -> tuple[float, tuple[int, ...]]:
    """(iii) The best cosine and every option that has it. Equal strings are compared once, hence tie exactly."""
    distinct = _distinct(options)
    cosines = dict(zip(distinct, similarity.cosines(said, distinct), strict=True))
    if not all(map(math.isfinite, cosines.values())):
        raise ModelError("the sentence embedder returned a cosine that is not a number: check its weights' hash")
    best = max(cosines.values())
    return best, tuple(index for index, option in enumerate(options) if cosines[option] == best)


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
