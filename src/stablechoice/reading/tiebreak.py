"""Which of several tied options counts: decided by the question alone, never by letters, rotation or order of work."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection

from stablechoice.errors import AnalysisError
from stablechoice.questions.question import LABELS, Question


def break_tie(seed: int, benchmark: str, question_id: str, method: str, tied: Collection[int]) -> int:
    """The canonical tie-break ([P2]; PROTOCOL 4).

    blake2b (8 bytes, big endian) of `choicebench-tiebreak-v1|seed|benchmark|id|method|indices`, modulo the number of
    tied options, indexes the sorted indices.

    Args:
        seed: the run seed (42 in the paper).
        benchmark: `mmlu`, `arc_challenge`, ...
        method: the paper's word for what tied, e.g. `cyclic_permutation` (PROTOCOL 4).
        tied: canonical option indices, 0-based; order and repetition do not matter.

    Returns:
        One of `tied`. A single candidate is returned unhashed.

    Raises:
        AnalysisError: nothing is tied.
    """
    ordered = _candidates(question_id, tied)
    if len(ordered) == 1:
        return ordered[0]
    joined = ",".join(str(index) for index in ordered)
    text = f"choicebench-tiebreak-v1|{seed}|{benchmark}|{question_id}|{method}|{joined}"
    digest = hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest()
    return ordered[int.from_bytes(digest, "big") % len(ordered)]


def break_score_tie_by_draw(seed: int, question_id: str, tied: Collection[int]) -> int:
    """[P1]'s rule for tied IHS scores: Python's seeded `choice` over the sorted letters (PROTOCOL 4).

    IHS stands in the canonical order, so an option's letter is its canonical index. A single candidate is not drawn.

    Raises:
        AnalysisError: nothing is tied.
    """
    ordered = _candidates(question_id, tied)
    if len(ordered) == 1:
        return ordered[0]
    letters = [LABELS[index] for index in ordered]
    return LABELS.index(random.Random(f"{seed}:{question_id}").choice(letters))


def break_text_tie_by_draw(seed: int, question: Question, tied: Collection[int]) -> int:
    """[P1]'s rule for options that the semantic cascade ties: a seeded draw over their texts (PROTOCOL 4).

    Drawn as the scores' ties are, from the sorted texts; of options with one text the first in canonical order stands
    for all. A single candidate is not drawn.

    Raises:
        AnalysisError: nothing is tied.
    """
    ordered = _candidates(question.question_id, tied)
    if len(ordered) == 1:
        return ordered[0]
    texts = sorted({question.options[index] for index in ordered})
    drawn = random.Random(f"{seed}:{question.question_id}").choice(texts)
    return next(index for index in ordered if question.options[index] == drawn)


def _candidates(question_id: str, tied: Collection[int]) -> list[int]:
    if not tied:
        raise AnalysisError(
            f"question {question_id}: a tie between no options cannot be broken; leave the question unscored instead"
        )
    return sorted(set(tied))
