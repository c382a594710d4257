"""One response as the letter reader sees it: plain text, its mentions of letters, and the question it answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from stablechoice.observation import Reason
from stablechoice.questions.question import LABELS, Question
from stablechoice.reading.mention import CLOSERS, OPENERS, Mention, may_hold, mentions, turned_down, turned_down_after
from stablechoice.reading.option_text import Options, OptionTexts, option_texts

_LABEL_END = re.compile(rf"{CLOSERS}{{0,3}}[ ]?(?:[.):,]|[-–—](?![0-9.]))?{CLOSERS}{{0,2}}\s?[(\[\"']?")
# A negation or a condition in the same clause, or an answer that is not the model's own, before a place.
_DOUBTED = re.compile(
    r"(?:\b(?:not|never|cannot|if|whether|unless|(?<!no )(?<!without )(?<!without a )doubt|might|could|may|suppose"
    r"|assum\w+|let's say|let us say)\b|n't\b)[^.,;:!?\n]*$"
    r"|\b(?:wrong|incorrect|possible|another|tempting|reference|alternative|previous|eliminated)[ ]"
    rf"(?:(?:option|choice|answer|letter)s?(?: is|:)?(?:[ ]|{OPENERS}){{0,4}})?$",
    re.IGNORECASE,
)
_DOUBTING_WORDS = (
    "not", "n't", "never", "if", "whether", "unless", "doubt", "might", "could", "may", "suppose", "assum", "let",
    "wrong", "incorrect", "possible", "another", "tempting", "reference", "alternative", "previous", "eliminated",
)  # fmt: skip
_BEFORE = 60  # characters before a place within which it is put in doubt
_LABEL_BEHIND = re.compile(
    rf"{CLOSERS}{{0,3}}[ ]?(?:[(\[,–—-]|which is )[ ]?(?:(?:option|choice|answer|letter) )?{OPENERS}{{0,2}}",
    re.IGNORECASE,
)
_TEXT_END = re.compile(rf"{CLOSERS}{{0,3}}\s?(?:$|[.!\n)])")
_ASKED = re.compile(rf"{CLOSERS}{{0,3}}[ ]?\?")


@dataclass(frozen=True)
class Passage:
    """A plain text with what it can say.

    Attributes:
        raw: the whole response as written.
        text: the response, or its part that answers the question, made plain.
        question: whose labels and option texts are valid.
        rotation: the order in which the options were shown.
    """

    raw: str
    text: str
    question: Question
    rotation: int

    @cached_property
    def mentions(self) -> list[Mention]:
        return mentions(self.text)

    @cached_property
    def by_start(self) -> dict[int, Mention]:
        return {mention.start: mention for mention in self.mentions}

    @cached_property
    def texts(self) -> OptionTexts:
        return option_texts(self.question.options)

    def canonical(self, letter: str) -> int | None:
        """Canonical index of the option that stands beside a label; None for a letter that is no label here."""
        slot = LABELS.index(letter)
        return self.question.canonical(slot, self.rotation) if slot < len(self.question.options) else None

    def chosen(self, mention: Mention) -> tuple[int | None, Reason | None]:
        """What a selected mention chooses, or why it chooses nothing.

        Two letters are ambiguous, and so is a letter beside the whole text of another option ("C. Paris" where Paris
        is B): which of the two was meant cannot be known.
        """
        if len(mention.letters) > 1:
            return None, "ambiguous"
        option = self.canonical(mention.letters)
        if option is None:
            return None, "out_of_range"
        said = self._text_beside(mention)
        return (option, None) if not said or option in said else (None, "ambiguous")

    def _text_beside(self, mention: Mention) -> Options:
        """Options whose whole text stands behind a label, up to the end of its sentence or line."""
        begin = self._label_end(mention)
        found = self.texts.at(self.text, begin)
        if found and _TEXT_END.match(self.text, found[1]):
            return found[0]
        rest = self.text[begin : begin + self.texts.widest].partition("\n")[0]
        return self.texts.saying(rest) or self.texts.saying(rest.rstrip(" .)]"))

    def label_behind(self, end: int) -> Mention | None:
        """The label that a text is given behind it: "Paris (B)", "Paris, option B"."""
        match = _LABEL_BEHIND.match(self.text, end)
        return self.by_start.get(match.end()) if match else None

    def extent(self, mention: Mention) -> int:
        """Where a mention ends: behind its own option's text if that follows ("C. Rome"), else behind its letters."""
        option = self.canonical(mention.letters) if len(mention.letters) == 1 else None
        if option is None:
            return mention.end
        found = self.texts.at(self.text, self._label_end(mention))
        return found[1] if found and option in found[0] else mention.end

    def rejected(self, mention: Mention) -> bool:
        """Whether the text turns the mention down, or only asks about it ("Is it B?")."""
        return turned_down(self.text, mention) or self.rejected_at(self.extent(mention))

    def rejected_at(self, end: int) -> bool:
        """Whether what ends here is turned down or asked about by what follows."""
        return turned_down_after(self.text, end) or self.asked_at(end)

    def asked_at(self, end: int) -> bool:
        """Whether a question ends here."""
        return _ASKED.match(self.text, end) is not None

    def doubted(self, start: int) -> bool:
        """Whether the clause before a place denies or supposes what begins there."""
        begin = max(0, start - _BEFORE)
        if not may_hold(self.text, begin, start, _DOUBTING_WORDS):
            return False
        return _DOUBTED.search(self.text, begin, start) is not None

    def _label_end(self, mention: Mention) -> int:
        match = _LABEL_END.match(self.text, mention.end)
        return match.end() if match else mention.end
