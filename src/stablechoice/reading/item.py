"""Places where a plain text names an option the way a list of options does: by label and whole text, or by either."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, cast

from stablechoice.prompts import display
from stablechoice.questions.question import LABELS, Question
from stablechoice.reading.mention import CLOSERS, OPENERS
from stablechoice.reading.normalise import key, plain
from stablechoice.reading.passage import Passage
from stablechoice.reading.selection import Selection

Form = Literal["whole", "text", "label"]

_DIVIDER = rf"(?:{CLOSERS}|[ ]?(?:[.:,|=→]|[–—-](?![0-9.]))|[ ]?[(\[{{]|[ ]?\n){{1,4}}[ ]?{OPENERS}{{0,3}}"
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
    found: list[Item] = []
    for match in _pattern(passage.question, passage.rotation).finditer(passage.text):
        form, option = str(match.lastgroup).split("_")
        found.append(Item(match.start(), match.end(), int(option), cast(Form, form)))
    starts = [item.start for item in found]
    lone: list[Item] = []
    for line in _LONE_LINE.finditer(passage.text):
        option_there = passage.canonical(line["label"])
        start, end = line.span("label")
        index = bisect_left(starts, end)
        if option_there is not None and (index == 0 or found[index - 1].end <= start):
            lone.append(Item(start, end, option_there, "label"))
    return sorted([*found, *lone], key=lambda item: item.start)


@lru_cache(maxsize=1024)
def _pattern(question: Question, rotation: int) -> re.Pattern[str]:
    """Finds whole items before texts alone; its groups are named by form and canonical option."""
    texts = [_text_pattern(option, question.options) for option in question.options]
    whole = [
        rf"(?P<whole_{option}>(?:{label}{_DIVIDER}|{_before_a_blank(label)})(?:{texts[option]}))"
        for label, option in ((label, question.canonical(LABELS.index(label), rotation)) for label in question.labels)
        if texts[option]
    ]
    alone = [rf"(?P<text_{option}>{text})" for option, text in enumerate(texts) if text]
    return re.compile(rf"(?<!\w)(?<!\w')(?:{'|'.join([*whole, *alone])})", re.IGNORECASE)


def _before_a_blank(label: str) -> str:
    """A label that only a blank divides from its text; "A dog" begins a line, lest it be an article."""
    return rf"(?<![^\n])(?-i:{label})[ ]" if label in "AI" else rf"(?-i:{label})[ ]"


def _text_pattern(option: str, options: tuple[str, ...]) -> str:
    """An option's text in any case, unless it is only the beginning of a longer option's; empty for a blank option."""
    every = {said for other in options for said in _said(other)}
    patterns = []
    for said in sorted(_said(option), key=lambda text: (-len(text), text)):
        longer = sorted(text[len(said) :] for text in every if text.startswith(said) and text != said)
        unless = "".join(rf"(?!{_escaped(rest)}(?!\w))" for rest in longer)
        patterns.append(_escaped(said) + unless + r"(?!\w)")
    return "|".join(patterns)


def _said(option: str) -> set[str]:
    """The ways in which a plain text gives an option whole, without case."""
    return {said for said in (key(option), display(plain(option)).casefold()) if said}


def _escaped(text: str) -> str:
    return re.escape(text).replace(r"\ ", r"\s")
