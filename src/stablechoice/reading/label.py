"""Which option a response chooses by the label that its slot bore, whatever the label design ([N]; PROTOCOL 4).

Every design is read by the rules for letters: the options are listed in the order of their labels, so that the letter A
means the first of them, and what the response writes in another alphabet is written in letters first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from stablechoice.observation import Reading
from stablechoice.prompts import display
from stablechoice.questions.question import LABELS, Question
from stablechoice.reading.letter import read_letter
from stablechoice.reading.mention import mentions
from stablechoice.request import Response

_MARKS = r"[*_`\"'(\[{$]{0,3}"
_NOUN = r"(?:option|choice|answer|label|number)"
_NUMBER = r"(?P<number>[1-9][0-9]?)(?![0-9]|[.,:/][0-9]|%|°)"
_LONE_NUMBER = re.compile(rf"[\s*_`\"'(\[{{<$]*(?:{_NOUN}\s*)?{_NUMBER}[\s*_`\"')\]}}>$.,:;!]*", re.IGNORECASE)
_ANNOUNCED_NUMBER = re.compile(
    rf"(?P<before>\b{_NOUN}(?:\s(?:is|was|be)\b)?\s?[:=]?\s*(?:the\s)?(?:{_NOUN}\s)?{_MARKS}){_NUMBER}"
    r"(?=[*_`\"')\]}$]{0,3}(?:\s*$|[.,;:!)\n]|\s(?:because|since|as|is|and|or)\b))",
    re.IGNORECASE | re.MULTILINE,
)
_JOINED_NUMBER = re.compile(
    rf"(?P<before>(?<!\w)[A-Z][*_`\"')\]}}]{{0,3}}\s?(?:,|/|\bor\b|\band\b)\s?(?:{_NOUN}\s)?{_MARKS}){_NUMBER}\b"
)
_BOXED_NUMBER = re.compile(rf"(?P<before>\\f?boxed\{{\s*){_NUMBER}(?=\s*\}})")
_HEADING_NUMBER = re.compile(rf"^(?P<before>[ \t]*{_MARKS}){_NUMBER}(?=[*_`\"']{{0,3}}[.):\]](?:\s|$))", re.MULTILINE)


def read_label(response: Response, question: Question, rotation: int, labels: Sequence[str]) -> Reading:
    """Read the chosen option, mapped back to its canonical index.

    Args:
        labels: of the slots, by slot: letters in any order, letters in lower case, or the digits from 1.
        rotation: the order in which the options were shown.

    Returns:
        As `letter.read_letter`. A number that is both a label and the whole text of another option is `ambiguous`.
    """
    shown = question.rotated(rotation)
    spelt = response
    order = sorted(range(len(labels)), key=lambda slot: labels[slot])
    if labels[0].isdigit():
        order = list(range(len(labels)))
        if _reads_two_ways(response, shown):
            return Reading(rotation, None, "ambiguous")
        spelt = replace(response, text=_letters_for_numbers(response.text, shown))
    elif labels[0].islower():
        spelt = replace(response, text=_capitals(response.text, len(labels)))
    listed = replace(question, options=tuple(shown[slot] for slot in order), gold=0)
    found = read_letter(spelt, listed, 0)
    choice = None if found.choice is None else question.canonical(order[found.choice], rotation)
    return replace(found, rotation=rotation, choice=choice)


def _reads_two_ways(response: Response, shown: Sequence[str]) -> bool:
    """A number, bare or announced, that is a label, and the whole text of an option under another label."""
    lone = _LONE_NUMBER.fullmatch(response.text)
    said = [lone["number"]] if lone else []
    for pattern in (_BOXED_NUMBER, _ANNOUNCED_NUMBER):
        said += [match["number"] for match in list(pattern.finditer(response.text))[-1:]]
    texts = [display(option) for option in shown]
    return any(int(one) <= len(texts) and one in texts and texts[int(one) - 1] != one for one in said)


def _letters_for_numbers(text: str, shown: Sequence[str]) -> str:
    """The text with numbers as letters where they stand as labels: alone, announced, boxed, or heading a line.

    Numbers that are an option's whole text and no label stay numbers, and so do those in running text.
    """
    options = {display(option) for option in shown}

    def letter(number: str) -> str:
        slot = int(number) - 1
        beyond = slot >= len(shown)
        return number if slot >= len(LABELS) or (beyond and number in options) else LABELS[slot]

    def spelt(match: re.Match[str]) -> str:
        return f"{match['before']}{letter(match['number'])}"

    lone = _LONE_NUMBER.fullmatch(text)
    if lone is not None:
        return letter(lone["number"])
    for pattern in (_BOXED_NUMBER, _HEADING_NUMBER, _ANNOUNCED_NUMBER, _JOINED_NUMBER):
        text = pattern.sub(spelt, text)
    return text


def _capitals(text: str, count: int) -> str:
    """The text with its lower-case labels as capitals; the article "a" and letters inside words stay."""
    letters = list(text)
    valid = LABELS[:count].lower()
    for mention in mentions(text):
        for at in range(mention.start, mention.end):
            alone = not (text[at - 1 : at].isalnum() or text[at + 1 : at + 2].isalnum())
            if not mention.capital and text[at] in valid and alone:
                letters[at] = text[at].upper()
    return "".join(letters)
