"""What a prompt presents, found in its text alone as a model sees it: stem, options, reference, hypothesis, task."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from stablechoice.prompts import display
from stablechoice.questions.question import LABELS

Task = Literal["letter", "reasoned_letter", "text", "dashed", "short", "reasoned_text", "score", "verdict"]
"""What is to be written: a letter, reasoning and a letter, an option's text, reasoning and an option's text (options
without letters), a short answer without options, reasoning and such an answer, a score, yes or no."""

_QUESTION = "Question: "
_REFERENCE = "\n\nReference answer: "
_HYPOTHESIS = "The correct answer is "
_OPTIONS = "\n\nOptions:\n"
_PROPOSED = re.compile(r"\n\nProposed answer: (.*)\n\nIs the proposed answer", re.DOTALL)
_GRADED = re.compile(r"\n\nCorrect answer: (.*?)\n\nResponse: (.*)\n\nDoes the response", re.DOTALL)
_LINE = re.compile(r"(?:([A-Z])\. |- )(.*)")


@dataclass(frozen=True, slots=True)
class Presented:
    """One prompt, taken apart.

    Attributes:
        stem: the question's text.
        options: texts as displayed, by slot; empty where they are hidden.
        reference: the answer to be matched; None where there is none.
        hypothesis: text after "The correct answer is ", with its full stop, or the answer on which a verdict is wanted;
            None where there is none.
    """

    task: Task
    stem: str
    options: tuple[str, ...]
    reference: str | None
    hypothesis: str | None


def presented(prompt: str, known: Collection[str] = ()) -> Presented:
    """Take a prompt apart.

    Args:
        known: stems that are recognised whole, also where they hold blank lines or a template's own words.
    """
    stem, rest = _stem(prompt, known)
    if "only Yes or No" in rest and (judged := _PROPOSED.match(rest) or _GRADED.match(rest)):
        return Presented("verdict", stem, (), judged[2] if judged.re is _GRADED else None, judged[1])
    reference: str | None = None
    if rest.startswith(_REFERENCE):
        # A reference may hold anything, displayed options hold no line break: the last block is the options.
        end = rest.rfind(_OPTIONS) if _OPTIONS in rest else len(rest)
        reference, rest = rest[len(_REFERENCE) : end], rest[end:]
    options, tail = _options(rest)
    hypothesis: str | None = None
    if not options and (found := tail.find(_HYPOTHESIS)) >= 0 and "<score>" in tail:
        hypothesis = tail[found + len(_HYPOTHESIS) :]
    return Presented(_task(tail, bool(options)), stem, options, reference, hypothesis)


def cloze(prompt: str) -> Presented:
    """A prompt that ends where an option's text is to follow: `Question: …`, then `Answer:` on a line of its own."""
    text = prompt.removeprefix(_QUESTION).rstrip()
    return Presented("short", text.removesuffix("Answer:").removesuffix("\n"), (), None, None)


def option_lines(prompt: str) -> list[str]:
    """The displayed lines of the last block of options, labels included; empty where there is none."""
    return _lines(prompt.rpartition(_OPTIONS)[2]) if _OPTIONS in prompt else []


def names(text: str, option: str) -> bool:
    """Whether a hypothesis' text names an option: it begins with the option as displayed and a full stop."""
    return display(text).startswith(f"{display(option)}.")


def _stem(prompt: str, known: Collection[str]) -> tuple[str, str]:
    """The question's text and what follows it: the longest known stem, or else the text up to a blank line."""
    text = prompt[prompt.find(_QUESTION) + len(_QUESTION) :] if _QUESTION in prompt else prompt
    ends = [match.start() for match in re.finditer(r"\n|\Z", text)]
    for end in reversed(ends):
        if text[:end] in known:
            return text[:end], text[end:]
    stem, gap, rest = text.partition("\n\n")
    return stem, gap + rest


def _options(rest: str) -> tuple[tuple[str, ...], str]:
    """Displayed texts by slot, and what follows them."""
    if not rest.startswith(_OPTIONS):
        return (), rest
    block = rest.removeprefix(_OPTIONS)
    lines = _lines(block)
    return tuple(line.partition(" ")[2] for line in lines), block[sum(len(line) + 1 for line in lines) :]


def _lines(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.split("\n"):
        match = _LINE.fullmatch(line)
        if match is None or match[1] not in (None, LABELS[len(lines) : len(lines) + 1]):
            break
        lines.append(line)
    return lines


def _task(tail: str, options: bool) -> Task:
    """What the instructions after question and options ask for."""
    if "<score>" in tail:
        return "score"
    if "Final answer: X" in tail:
        return "reasoned_letter"
    if "answer text only" in tail:
        return "text"
    if options and "the answer is" in tail.lower():
        return "dashed"
    if options:
        return "letter"
    return "reasoned_text" if "Answer: <your answer>" in tail else "short"
