"""The answer string in a response that reasons and then gives an option's whole text ([N]'s extraction).

Four rules, each taking its last occurrence, in this order: "the answer is …"; "answer: …"; the rightmost literal text
of an option; the last sentence. The first rule that finds something decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from stablechoice.questions.question import Question
from stablechoice.reading.letter import own_part
from stablechoice.reading.normalise import BOLD_CLOSE, BOLD_OPEN, CLOSED, plain
from stablechoice.reading.option_text import option_texts

Rule = Literal["answer_is", "answer_colon", "option_text", "last_sentence"]

_IS = re.compile(
    r"\banswer(?: choice| option| to (?:the|this) question)?(?:'s| is| would be| must be| should be)\b(?! not\b)"
    r"(?: that\b)?",
    re.IGNORECASE,
)
_COLON = re.compile(r"\banswer\s?:", re.IGNORECASE)
_GAP = re.compile(rf"[\s:{BOLD_OPEN}{BOLD_CLOSE}]*(?:[-•–—]\s)?[\s\"'(\[{{]*(?:the (?:following )?option\s?:?\s)?")
_SENTENCE_END = re.compile(rf"[.!?。！？][\"')\]]{{0,2}}(?=\s|{CLOSED}|$)|{CLOSED}|\n")
_ABBREVIATED = re.compile(r"\b(?:[A-Z]|st|mt|dr|mr|mrs|ms|vs|etc|approx|fig|jr|sr|ca|e\.g|i\.e)\.$", re.IGNORECASE)
_EDGES = " \t\n\"'“”()[]{}.,;:!" + BOLD_OPEN + BOLD_CLOSE + CLOSED
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Extract:
    """What a response answers with.

    Attributes:
        text: the answer string, never blank.
        rule: how it was found.
        options: canonical options whose whole text it is; several where options read alike, none where it is a text
            of its own.
        complete: whether something stands behind it that ends it (a full stop, a line end, a closed box), so that a
            cut right there could not have changed it.
    """

    text: str
    rule: Rule
    options: tuple[int, ...]
    complete: bool


def extract(text: str, question: Question) -> Extract | None:
    """The answer string of a response; None where there is none (nothing but white space and marks).

    Args:
        text: as the model wrote it; markup, thought and what answers a further question are left out.
    """
    said = own_part(plain(text), question)
    return (
        _announced(said, question, _IS, "answer_is")
        or _announced(said, question, _COLON, "answer_colon")
        or _rightmost_option(said, question)
        or _last_sentence(said, question)
    )


def _announced(said: str, question: Question, cue: re.Pattern[str], rule: Rule) -> Extract | None:
    """What follows the last cue that something follows: an option's whole text, or else the rest of the sentence."""
    for found in reversed(list(cue.finditer(said))):
        gap = _GAP.match(said, found.end())
        start = gap.end() if gap else found.end()
        literal = option_texts(question.options).at(said, start)
        if literal is not None and _is_whole(said, literal[1]):
            return Extract(said[start : literal[1]], rule, literal[0], _ends(said, literal[1]))
        end = _sentence_end(said, start)
        answer = said[start:end].strip(_EDGES)
        if _WORD.search(answer):
            return Extract(answer, rule, option_texts(question.options).saying(answer), _ends(said, end))
    return None


def _rightmost_option(said: str, question: Question) -> Extract | None:
    """The option whose whole text ends furthest right; of texts that end together the longest."""
    best: tuple[int, int, tuple[int, ...]] | None = None
    for start, end, options in _literals(said, question):
        if best is None or (end, -start) > (best[1], -best[0]):
            best = (start, end, options)
    return None if best is None else Extract(said[best[0] : best[1]], "option_text", best[2], _ends(said, best[1]))


def _literals(said: str, question: Question) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Every place where an option's whole text stands as words of its own."""
    texts = option_texts(question.options)
    for text, options in texts.keyed.items():
        # A single letter is a word of its own in every text ("a", "I"): as an option it must be written as it stands.
        letter = len(text) == 1 and text.isalpha()
        written = [other for other in texts.plain if other.casefold() == text] if letter else [text]
        for one in written:
            if one in ("a", "A", "I"):
                continue
            words = re.escape(one).replace(r"\ ", r"\s+")
            pattern = rf"(?<![\w.,])(?<!\w[-'’]){words}(?!\w|[-'’]\w|[.,]\d)"
            for match in re.finditer(pattern, said, re.NOFLAG if letter else re.IGNORECASE):
                yield match.start(), match.end(), options


def _last_sentence(said: str, question: Question) -> Extract | None:
    start, last = 0, None
    while start < len(said):
        end = _sentence_end(said, start)
        sentence = said[start:end].strip(_EDGES)
        if _WORD.search(sentence):
            options = option_texts(question.options).saying(sentence)
            last = Extract(sentence, "last_sentence", options, _ends(said, end))
        start = end + 1
    return last


def _sentence_end(said: str, start: int) -> int:
    """Where the sentence that goes through a place ends; abbreviations and numbers do not end one."""
    for end in _SENTENCE_END.finditer(said, start):
        mark = said[end.start()]
        if mark == "." and _ABBREVIATED.search(said, max(start, end.start() - 8), end.start() + 1):
            rest = said[end.end() :].lstrip(" ")
            if rest and not rest.startswith("\n"):
                continue
        return end.start()
    return len(said)


def _is_whole(said: str, end: int) -> bool:
    """Whether an option's text that begins an answer is all of it: "Paris" is not, in "Paris is not it, Rome is"."""
    return not re.match(r"\s(?:is|are|was|were)\s(?:not|wrong|incorrect|never)\b", said[end : end + 40], re.IGNORECASE)


def _ends(said: str, end: int) -> bool:
    return re.match(rf"[\"')\]{BOLD_CLOSE}]{{0,3}}(?:[.!?。！？\n]|{CLOSED})", said[end : end + 5]) is not None
