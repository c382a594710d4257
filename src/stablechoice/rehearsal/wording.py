"""Planned answers in the words of models: lone letters, sentences, reasoning, free texts, refusals, cut responses."""

from __future__ import annotations

from dataclasses import dataclass

from stablechoice.prompts import display
from stablechoice.questions.question import LABELS, Question
from stablechoice.reading.normalise import normalise
from stablechoice.rehearsal.draw import draw
from stablechoice.request import Response

REFUSAL = "I'm sorry, but I can't help with that."
_UNREADABLE = ("The answer is A or B.", "None of the options fits what was asked.")
_VAGUE = (
    "It depends.",
    "That differs from case to case.",
    "Whatever applies there.",
    "The well-known one.",
    "As usual, more or less.",
)
_SHORTEST = 4  # characters that the cascade needs to find one text within another
_REASONS = (
    "The question asks about {0}, and what matters there is how {1} relates to {2}",
    "What is said of {0} narrows it down, since {1} does not go together with {2}",
    "Taking {0} and {1} together, most of what could be answered falls away, and {2} remains to be explained",
    "That leaves what fits {0} best, and nothing in {1} or {2} speaks against it",
)


@dataclass(frozen=True, slots=True)
class Speaker:
    """One model as it speaks: the same words for the same place, for ever.

    Attributes:
        name: what sets its draws apart from another model's.
    """

    name: str

    def letter(self, question: Question, rotation: int, choice: int | None, *more: object) -> Response:
        """An answer to a template that wants a letter alone."""
        at = self.drawn(question, "letter", rotation, *more)
        if choice is None:
            return self._no_letter(at)
        label, text = self._labelled(question, rotation, choice)
        forms = ((0.72, label), (0.82, f"{label}."), (0.9, f"{label}. {text}"), (0.96, f"The answer is {label}."))
        return _ok(next((form for bound, form in forms if at < bound), f"**{label}. {text}**"))

    def reasoned_letter(self, question: Question, rotation: int, choice: int | None, *more: object) -> Response:
        """Reasoning that ends in a final answer; cut at the token cap where it cannot be read."""
        reasons = self._reasons(question, "letter", rotation, *more)
        if choice is None:
            return _cut(reasons)
        label, text = self._labelled(question, rotation, choice)
        at = self.drawn(question, "final", rotation, *more)
        last = f"Final answer: {label}" if at < 0.9 else f"**Final answer: {label}. {text}**"
        return _ok(f"{reasons}\n\n{last}")

    def short_text(self, question: Question, choice: int | None, *more: object) -> Response:
        """An answer without options. It ends its line, which an extracted text never does."""
        if choice is None:
            return _ok(self._vague(question, "hidden", *more) + "\n")
        at, text = self.drawn(question, "short", *more), display(question.options[choice])
        said = f"It is most likely {text}." if at < 0.3 and _only(f"it is most likely {text}.", question) else text
        if 0.3 <= at < 0.5:
            said = self._varied(question, text)
        return _ok(said + "\n")

    def reasoned_text(self, question: Question, choice: int | None, *more: object) -> Response:
        """Reasoning that ends in an answer line."""
        said = self._vague(question, "reasoned") if choice is None else display(question.options[choice])
        return _ok(f"{self._reasons(question, 'text', *more)}\n\nAnswer: {said}")

    def extracted(self, question: Question, rotation: int, choice: int | None) -> Response:
        """An option's text, copied as models copy; one option in ten is spelt otherwise, the same way every time."""
        if choice is None:
            return _ok(self._vague(question, "visible", rotation))
        text = display(question.options[choice])
        if self.drawn(question, "spelt", choice) < 0.1:
            return _ok(self._varied(question, text))
        dotted = self.drawn(question, "extracted", rotation) < 0.15 and _only(f"{text}.", question)
        return _ok(f"{text}." if dotted else text)

    def scored(self, question: Question, option: int, score: int | None) -> Response:
        """An analysis of one hypothesis and its score; cut where there is none."""
        reasons = self._reasons(question, "score", option)
        return _cut(reasons) if score is None else _ok(f"{reasons}\n\n<score>{score}</score>")

    def drawn(self, question: Question, *parts: object) -> float:
        """A number in [0, 1) for a place of a question."""
        return draw(self.name, question.question_id, *parts)

    def _labelled(self, question: Question, rotation: int, choice: int) -> tuple[str, str]:
        return LABELS[question.slot(choice, rotation)], display(question.options[choice])

    def _no_letter(self, at: float) -> Response:
        if at < 0.3:
            return Response("", "content_filter", "other", detail="the scripted filter stops this prompt")
        return _ok(REFUSAL if at < 0.6 else _UNREADABLE[int((at - 0.6) / 0.4 * len(_UNREADABLE))])

    def _vague(self, question: Question, *parts: object) -> str:
        return _VAGUE[int(self.drawn(question, "vague", *parts) * len(_VAGUE))]

    def _varied(self, question: Question, text: str) -> str:
        """A text spelt with hyphens, which only the embedder matches; as it stands where another text is that near."""
        words = text.split()
        spelt = "-".join(words)
        many = sum(normalise(option).startswith(normalise(words[0])) for option in question.options)
        return spelt if len(words) > 1 and many == 1 else text

    def _reasons(self, question: Question, *parts: object) -> str:
        """Some 110 words over the question's own words: as long as the brief reasoning of real answers."""
        words = [word for word in question.question.split() if word.isalpha() and len(word) > 3] or ["this"]
        start = int(self.drawn(question, "reasons", *parts) * len(words))
        lines = []
        for number in range(6):
            picked = [words[(start + number * 3 + step * 2) % len(words)].lower() for step in range(3)]
            lines.append(f"{number + 1}. {_REASONS[number % len(_REASONS)].format(*picked)}.")
        return "Let's go through it step by step.\n" + "\n".join(lines)


def _only(said: str, question: Question) -> bool:
    """Whether the cascade finds exactly one option in a text."""
    whole, options = normalise(said), [normalise(option) for option in question.options]
    return sum(_within(option, whole) or _within(whole, option) for option in options) == 1


def _within(part: str, whole: str) -> bool:
    return len(part) >= _SHORTEST and part in whole


def _ok(text: str) -> Response:
    return Response(text, completion_tokens=len(text) // 4 + 1)


def _cut(text: str) -> Response:
    """The first half of a text, as the token cap cuts it."""
    half = text[: len(text) // 2]
    return Response(half, finish="length", completion_tokens=len(half) // 4 + 1)
