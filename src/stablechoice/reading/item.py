"""Places where a plain text names an option the way a list of options does: by label and whole text, or by either."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from stablechoice.prompts import display
from stablechoice.questions.question import LABELS
from stablechoice.reading.mention import CLOSERS, OPENERS
from stablechoice.reading.normalise import key, plain
from stablechoice.reading.passage import Passage
from stablechoice.reading.selection import Selection

Form = Literal["whole", "text", "label"]
_Ways = tuple[tuple[str, tuple[str, ...]], ...]

_DIVIDER = re.compile(rf"(?:{CLOSERS}|[ ]?(?:[.:,|=→]|[–—-](?![0-9.]))|[ ]?[(\[{{]|[ ]?\n){{1,4}}[ ]?{OPENERS}{{0,3}}")
_WIDEST_DIVIDER = 12  # characters
_NEGATIVE = re.compile(r"[–—-][0-9.]")
_WITHIN_WORD = re.compile(r"\w'?\Z")
_LONE_LINE = re.compile(
    rf"^(?:[ •·–-]|{OPENERS})*(?:(?:[Oo]ption|[Cc]hoice) )?{OPENERS}{{0,3}}(?P<label>[A-Z])(?:[ .:,;]|{CLOSERS})*$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Item:
    """An option that is named.

    Attributes:
        start, end: from its label, or else its text, to behind its text.
        option: canonical index.
        form: `whole` is a label and its own option's whole text; `text` that text alone; `label` a label alone, which
            counts only where its line holds nothing else or where a selection says it.
        selected: whether a selection is made here.
    """

    start: int
    end: int
    option: int
    form: Form
    selected: bool = False


def items(passage: Passage, selections: list[Selection]) -> list[Item]:
    """Every item of a passage and every selection that chooses, in order of position; no two overlap."""
    found = _written(passage)
    starts = [item.start for item in found]
    new: list[Item] = []
    for selection in selections:
        if selection.choice is None:
            continue
        index = bisect_left(starts, selection.start)
        if index and found[index - 1].end > selection.start:
            index -= 1
        if index < len(found) and found[index].start < selection.end:
            found[index] = replace(found[index], option=selection.choice, selected=True)
        else:
            form: Form = "text" if selection.how == "option_text" else "label"
            new.append(Item(selection.start, selection.end, selection.choice, form, selected=True))
    return sorted([*found, *new], key=lambda item: item.start)


def _written(passage: Passage) -> list[Item]:
    found = _named(passage)
    starts = [item.start for item in found]
    lone: list[Item] = []
    for line in _LONE_LINE.finditer(passage.text):
        option_there = passage.canonical(line["label"])
        start, end = line.span("label")
        index = bisect_left(starts, end)
        if option_there is not None and (index == 0 or found[index - 1].end <= start):
            lone.append(Item(start, end, option_there, "label"))
    return sorted([*found, *lone], key=lambda item: item.start)


def _named(passage: Passage) -> list[Item]:
    """Items with text, from left to right; where several begin at one place, a whole one, and no two overlap."""
    text, question = passage.text, passage.question
    found: list[tuple[int, bool, int, int, Item]] = []
    for option, spans in enumerate(_spans(text, question.options)):
        slot = question.slot(option, passage.rotation)
        for start, end in spans:
            found += [
                (place, False, slot, -start, Item(place, end, option, "whole"))
                for place in _labels_before(text, LABELS[slot], start)
            ]
            if _begins_word(text, start):
                found.append((start, True, option, 0, Item(start, end, option, "text")))
    kept: list[Item] = []
    for *_, item in sorted(found, key=lambda one: one[:4]):
        if not kept or item.start >= kept[-1].end:
            kept.append(item)
    return kept


def _labels_before(text: str, label: str, start: int) -> list[int]:
    """Where a label, in any case, stands divided as in a list from what starts here, or a capital one by a blank.

    Before a blank, "A dog" must begin a line, lest it be an article.
    """
    found: list[int] = []
    for place in range(max(0, start - _WIDEST_DIVIDER - 1), start):
        if text[place].upper() != label or not _begins_word(text, place):
            continue
        blank = text[place:start] == f"{label} " and (label not in "AI" or place == 0 or text[place - 1] == "\n")
        # A dash that begins a number divides nothing; the pattern itself cannot see beyond its end.
        divided = _DIVIDER.fullmatch(text, place + 1, start) and not _NEGATIVE.match(text, start - 1)
        if blank or divided:
            found.append(place)
    return found


def _begins_word(text: str, start: int) -> bool:
    return _WITHIN_WORD.search(text, max(0, start - 2), start) is None


def _spans(text: str, options: tuple[str, ...]) -> list[list[tuple[int, int]]]:
    """For each option where its whole text stands in a plain text, overlapping or not.

    Most texts and options are ASCII, which is found by plain comparison: as `_text_pattern` finds it, but compiling a
    pattern for every question would take longer than reading its answers.
    """
    known = _ascii_texts(options) if text.isascii() else None
    if known is not None:
        lowered = text.lower().replace("\n", " ")
        return [_ascii_spans(lowered, ways) for ways in known]
    patterns = zip(_text_patterns(options), range(len(options)), strict=True)
    return [
        [match.span(1) for match in pattern.finditer(text)] if pattern and _may_say(text, options, option) else []
        for pattern, option in patterns
    ]


def _ascii_spans(lowered: str, ways: _Ways) -> list[tuple[int, int]]:
    found: dict[int, int] = {}
    for said, longer in ways:
        start = lowered.find(said)
        while start >= 0:
            end = start + len(said)
            if start not in found and not _word_at(lowered, end) and not _goes_on(lowered, end, longer):
                found[start] = end
            start = lowered.find(said, start + 1)
    return sorted(found.items())


def _goes_on(lowered: str, end: int, longer: tuple[str, ...]) -> bool:
    """Whether what ends here is only the beginning of a longer option's text."""
    return any(lowered.startswith(rest, end) and not _word_at(lowered, end + len(rest)) for rest in longer)


def _word_at(lowered: str, place: int) -> bool:
    sign = lowered[place : place + 1]
    return sign.isalnum() or sign == "_"


@lru_cache(maxsize=4096)
def _ascii_texts(options: tuple[str, ...]) -> tuple[_Ways, ...] | None:
    """For each option its texts, longest first, each with what longer options say beyond it; None beyond ASCII."""
    every = {said for option in options for said in _said(option)}
    if not all(said.isascii() for said in every):
        return None
    return tuple(
        tuple(
            (said, tuple(text[len(said) :] for text in every if text.startswith(said) and text != said))
            for said in sorted(_said(option), key=lambda text: (-len(text), text))
        )
        for option in options
    )


@lru_cache(maxsize=4096)
def _text_patterns(options: tuple[str, ...]) -> tuple[re.Pattern[str] | None, ...]:
    """For each option a pattern whose group 1 is its text wherever it stands; None for a blank option."""
    texts = [_text_pattern(option, options) for option in options]
    return tuple(re.compile(f"(?=({text}))", re.IGNORECASE) if text else None for text in texts)


def _may_say(text: str, options: tuple[str, ...], option: int) -> bool:
    """Whether it is worth searching; only plain ASCII can be compared quickly."""
    lowered = text.lower().replace("\n", " ")
    return not text.isascii() or any(not said.isascii() or said in lowered for said in _said(options[option]))


def _text_pattern(option: str, options: tuple[str, ...]) -> str:
    """An option's text in any case, unless it is only the beginning of a longer option's; empty for a blank option."""
    every = {said for other in options for said in _said(other)}
    patterns = []
    for said in sorted(_said(option), key=lambda text: (-len(text), text)):
        longer = sorted(text[len(said) :] for text in every if text.startswith(said) and text != said)
        unless = "".join(rf"(?!{_escaped(rest)}(?!\w))" for rest in longer)
        patterns.append(_escaped(said) + unless + r"(?!\w)")
    return "|".join(patterns)


@lru_cache(maxsize=4096)
def _said(option: str) -> frozenset[str]:
    """The ways in which a plain text gives an option whole, without case."""
    return frozenset(said for said in (key(option), display(plain(option)).casefold()) if said)


def _escaped(text: str) -> str:
    return re.escape(text).replace(r"\ ", r"\s")
