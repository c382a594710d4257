"""Words that announce a choice or conclude: where in a passage a selection may follow.

Their patterns are long; each is tried only where a word stands that it can begin with. What is found is what the
patterns find by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from stablechoice.reading.mention import OPENERS

NOUN = r"(?:option|choice|answer|letter)"
_MOST = (
    r"most (?:\w+ly )?(?:likely|accurate|appropriate|suitable|plausible|logical|reasonable|correct|fitting|relevant)"
)
RIGHT = rf"(?:correct|right|best|closest|{_MOST})"

# -- Words that announce a choice: what follows them is chosen ---------------------------------------------------
_ANNOUNCED = re.compile(
    rf"(?<![a-z])(?:answers?|ans|(?:{RIGHT}|final|chosen|selected|matching)[ _]"
    r"(?:options?|choices?|selection|letter|match|one|response|statement)|my (?:choice|pick|selection|guess|vote)"
    r"|conclusion|verdict)(?: (?:choice|option|letter|here|to (?:the|this) question))?[\"']?"
    r"(?:'s\b| (?:is|are|was|would be|should be|must be|will be|has to be|(?:seems|appears) to be)\b"
    r"|\s?[:=]|\s?[-–—]+>?|\s?→)",
    re.IGNORECASE,
)
_HEADED = re.compile(r"(?:^|[{,]\s*)[\"']?(?:option|choice|selection|letter)[\"']?\s?:", re.IGNORECASE | re.MULTILINE)
_SINGLED_OUT = re.compile(
    rf"\b(?:(?:option|choice|answer|one)s? (?:that|which)|{RIGHT} (?:option|choice|match|answer|fit|letter))\b"
    r"(?:(?!\bincorrect|\bwrong)[^.!?\n]){0,200}?(?:\b(?:is|be)\b|:)"
    rf"(?=:?\s*(?:(?:most |very )?likely |clearly )?(?:the )?(?:{NOUN} )?{OPENERS}{{0,3}}[A-Z](?![\w']))",
    re.IGNORECASE,
)
_CHOSEN = re.compile(
    r"\b(?:i|we)(?:'d|'ll|'m|'ve)?(?: (?!(?:not|never|cannot|can't|don't|didn't|wouldn't|won't)\b)[a-z']+){0,3}?"
    r" (?:choose|chose|choosing|pick|picked|select|selected|go with|going with|went with|opt for|go for|going for"
    r"|prefer|settle on|vote for|answer with)\b:?|^[ ]?(?:choose|pick|select)\b:?",
    re.IGNORECASE | re.MULTILINE,
)
# -- Words that conclude: what follows is chosen only where it ends its clause -------------------------------------
_CONCLUDED = re.compile(
    r"\b(?:i|we)(?:'d|'m| am)? (?:(?!not|never|hardly)\w+ )?"
    r"(?:think|believe|guess|say|lean towards?|confident|sure|convinced)(?: that)?"
    r"(?: (?:it's|it is|it must be|it would be))?"
    r"|\b(?:it|that|this)(?:'s| is| must be| has to be| should be| would be| will be)(?: \w+ly)?"
    r"|\b(?:so|thus|therefore|hence|leaving|leaves|leaves us with)\b(?:,? (?:it's|it is|it must be))?,?",
    re.IGNORECASE,
)

_ANSWERS = ("answer", "answers")
_NAMED = ("my", "conclusion", "verdict")
_RIGHT_WORDS = ("correct", "right", "best", "closest", "most")
_PATTERNS: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (_ANNOUNCED, (*_ANSWERS, *_RIGHT_WORDS, "ans", "final", "chosen", "selected", "matching", *_NAMED)),
    (_HEADED, ()),
    (_SINGLED_OUT, (*_ANSWERS, *_RIGHT_WORDS, "option", "options", "choice", "choices", "one", "ones")),
    (_CHOSEN, ("i", "we", "choose", "pick", "select")),
    (_CONCLUDED, ("i", "we", "it", "that", "this", "so", "thus", "therefore", "hence", "leaving", "leaves")),
)
"""Each with the words that its matches begin with; behind such a word something else than a letter follows."""

_BEGUN_BY: dict[str, tuple[int, ...]] = {
    word: tuple(place for place, (_, words) in enumerate(_PATTERNS) if word in words)
    for word in {word for _, words in _PATTERNS for word in words}
}
_HEADS = ("option", "choice", "selection", "letter")
_HEAD_END = re.compile(r"[\"']?\s?:")
_WORD = re.compile(r"[a-z]+")
_ALIKE = re.compile("[ıİſ]")  # what a pattern takes for an i or an s, and lower case does not


@dataclass(frozen=True, slots=True)
class Cue:
    """One place where such words stand, and whether they announce a choice or only conclude."""

    start: int
    end: int
    kind: Literal["announced", "remark"]


def cues(text: str) -> Iterator[Cue]:
    """Every cue of a plain text, kind of words by kind of words, from left to right."""
    found = _found(text) if text.isascii() or not _ALIKE.search(text) else _found_slowly(text)
    for pattern, matches in found:
        for match in matches:
            yield Cue(match.start(), match.end(), "remark" if pattern is _CONCLUDED else "announced")


_Found = Iterator[tuple[re.Pattern[str], Iterable[re.Match[str]]]]


def _found_slowly(text: str) -> _Found:
    return ((pattern, pattern.finditer(text)) for pattern, _ in _PATTERNS)


def _found(text: str) -> _Found:
    starts: tuple[list[int], ...] = tuple([] for _ in _PATTERNS)
    headed = False
    for word in _WORD.finditer(text.lower()):
        said = word[0]
        if said in _BEGUN_BY:
            for place in _BEGUN_BY[said]:
                starts[place].append(word.start())
        headed = headed or (said in _HEADS and _HEAD_END.match(text, word.end()) is not None)
    for (pattern, _), listed in zip(_PATTERNS, starts, strict=True):
        if pattern is _HEADED:
            yield pattern, pattern.finditer(text) if headed else ()
        elif listed:
            yield pattern, _matches(pattern, text, listed)


def _matches(pattern: re.Pattern[str], text: str, starts: list[int]) -> Iterator[re.Match[str]]:
    """What `finditer` finds, given every place where a match may begin."""
    end = 0
    for start in starts:
        # "^[ ]?choose" begins with the blank before its word.
        begin = start - 1 if pattern is _CHOSEN and text[max(0, start - 2) : start] in (" ", "\n ") else start
        match = pattern.match(text, begin) if begin >= end else None
        if match is None and begin < start and start >= end:
            match = pattern.match(text, start)
        if match is not None:
            yield match
            end = match.end()
