"""A simulated model: no language model, but a stated behaviour, so that every table is also seen full.

It sees what a model sees, the prompt, and nothing else. Where it recognises a question of its knowledge files it may
know the answer; every other number it needs is a hash of its seed and the prompt, so it answers the same for ever.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stablechoice.engines.behaviour import Behaviour
from stablechoice.engines.fingerprint import file_sha256
from stablechoice.engines.presented import Presented, cloze, names, presented
from stablechoice.engines.scripted import written
from stablechoice.errors import ConfigError, ModelError
from stablechoice.prompts import display
from stablechoice.questions.loading import read_source
from stablechoice.questions.question import LABELS, Question
from stablechoice.questions.relational import is_relational_option
from stablechoice.request import Decoding, Request, Response

PROTOCOL = 1
"""Raised when the same parameters begin to answer otherwise, so that journals do not mix."""

_VAGUE = (
    "That differs from case to case.",
    "It follows from the usual rule.",
    "The well-known one.",
    "Whatever applies in that situation.",
)
_REFUSAL = "I'm sorry, but I can't help with that."


class SimulatedEngine:
    """Answers as `Behaviour` states.

    Args:
        model: the `conf/model` file: `knowledge`, a list of source files (below the model's `root` unless
            absolute), and the keys of `Behaviour`.
    """

    def __init__(self, *, model: Mapping[str, Any]) -> None:
        self.behaviour = Behaviour.of(model)
        self._key = str(model.get("key", "simulated"))
        knowledge = model.get("knowledge", {})
        if not isinstance(knowledge, Mapping) or not all(
            isinstance(part, str) for part in (*knowledge, *knowledge.values())
        ):
            raise ConfigError(
                f"conf/model/{self._key}.yaml: key 'knowledge' must map files to their sha256, not be {knowledge!r}"
            )
        self._root = Path(str(model.get("root", ".")))
        self._knowledge = dict(sorted(knowledge.items()))
        self._known: dict[str, list[Question]] | None = None

    def identity(self) -> Mapping[str, Any]:
        """The stated behaviour and the hashes of what it knows; the files need not be there yet."""
        knowledge = sorted(self._knowledge.values())
        return {"engine": "simulated", "protocol": PROTOCOL, "model": self._key, "knowledge": knowledge} | asdict(
            self.behaviour
        )

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        """Answer each request in turn.

        Raises:
            ModelError: a knowledge file is missing.
        """
        known = self._recollect()
        for index, request in enumerate(requests):
            shown = cloze(request.prompt) if request.continuation else presented(request.prompt, known)
            yield index, _Mind(self.behaviour, request, shown, _recognised(shown, known)).respond(decoding)

    def facts(self) -> Mapping[str, Any]:
        return {"simulated": True, "knowledge": [Path(name).name for name in self._knowledge]}

    def close(self) -> None:
        """Nothing is held open."""

    def _recollect(self) -> dict[str, list[Question]]:
        if self._known is None:
            known: dict[str, list[Question]] = {}
            for path, pinned in ((self._root / name, sha256) for name, sha256 in self._knowledge.items()):
                if not path.is_file():
                    raise ModelError(
                        f"{path}: the simulated model's knowledge is missing; "
                        "key 'knowledge' of its conf/model file names source files, as data/sources holds them"
                    )
                if (found := file_sha256(path)) != pinned:
                    raise ModelError(
                        f"{path}: sha256 is {found}, but conf/model/{self._key}.yaml pins {pinned}: what the "
                        "simulated model knows has changed; put the new hash there, and its answers are made anew"
                    )
                for question in read_source(path):
                    known.setdefault(question.question, []).append(question)
            self._known = known
        return self._known


def _recognised(shown: Presented, known: Mapping[str, Sequence[Question]]) -> Question | None:
    """The known question of that stem whose options are the displayed ones; any of that stem where they are hidden."""
    for question in known.get(shown.stem, ()):
        if not shown.options or sorted(map(display, question.options)) == sorted(shown.options):
            return question
    return None


@dataclass(frozen=True, slots=True)
class _Mind:
    """The simulated model before one prompt."""

    behaviour: Behaviour
    request: Request
    shown: Presented
    question: Question | None

    def respond(self, decoding: Decoding) -> Response:
        if self.request.continuation:
            count = len((self.request.prompt + self.request.continuation).split())
            likelihood = {self.request.continuation: self._likelihood()}
            return Response("", letter_logprobs=likelihood, prompt_tokens=count, completion_tokens=0)
        if self.request.letters:
            return Response("", letter_logprobs=self._logprobs(), prompt_tokens=len(self.request.prompt.split()))
        if self._draw("empty", self.request.prompt) < self.behaviour.empty:
            return Response("", "empty", prompt_tokens=len(self.request.prompt.split()), completion_tokens=0)
        text = self._text()
        if self.shown.task in ("reasoned_letter", "reasoned_text", "score", "dashed") and self._is("truncations"):
            words = text.split(" ")
            half = " ".join(words[: len(words) // 2])
            return Response(half, "ok", "length", len(self.request.prompt.split()), len(words) // 2)
        return written(text, self.request, decoding)

    def _draw(self, *parts: str) -> float:
        """A number in [0, 1) that depends on seed and parts alone."""
        content = "|".join([str(self.behaviour.seed), *parts]).encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(content, digest_size=7).digest(), "big") / 2**56

    def _is(self, share: str) -> bool:
        """Whether this prompt is one of the share of that name."""
        return self._draw(share, self.request.prompt) < float(getattr(self.behaviour, share))

    def _moment(self, *parts: str) -> float:
        """As `_draw`, but another one for each prompt, and for each repetition of an unsteady prompt."""
        repetition = self.request.address.repetition if self._is("unsteady") else 0
        return self._draw("moment", self.request.prompt, str(repetition), *parts)

    def _knows(self, skill: float) -> bool:
        """Whether the question is among those it knows; one ranking of questions serves all tasks."""
        reasons = self.shown.task in ("reasoned_letter", "reasoned_text", "dashed")
        gain = self.behaviour.reasoning_gain if reasons else 0.0
        return self.question is not None and self._draw("known", self.shown.stem) < skill + gain

    def _gold(self) -> str:
        return display(self.question.options[self.question.gold]) if self.question else ""

    def _pulls(self) -> list[float]:
        """How much each slot draws it: belief in the option, the slot's letter, the moment, the reference answer."""
        shown, behaviour = self.shown, self.behaviour
        last = max(1, len(shown.options) - 1)
        reference = display(shown.reference or "").lower()
        pulls = []
        for slot, option in enumerate(shown.options):
            pull = self._draw("liking", shown.stem, option)
            if self._knows(behaviour.skill) and option == self._gold():
                pull += 0.4 + self._draw("certainty", shown.stem)
            if reference and option.lower() in reference:
                pull += behaviour.trust
            bias = 0.0 if shown.task == "dashed" else behaviour.letter_bias * (1 - slot / last)
            pulls.append(pull + bias + behaviour.noise * (self._moment("slot", str(slot)) - 0.5))
        return pulls

    def _logprobs(self) -> dict[str, float]:
        """Log-probabilities of the labels, rounded so that no machine's last bit shows."""
        pulls = self._pulls() or [0.0] * len(self.request.letters)
        weights = dict(zip(self.request.letters, (math.exp(4 * pull) for pull in pulls), strict=False))
        total = sum(weights.values())
        return {letter: round(math.log(weight / total), 6) for letter, weight in weights.items()}

    def _likelihood(self) -> float:
        """Log-probability of an option's text after the question alone: longer ones, and those it likes less, fall."""
        option = display(self.request.continuation)
        pull = self._draw("liking", self.shown.stem, option)
        if self._knows(self.behaviour.hypothesis_skill) and option == self._gold():
            pull += 0.4 + self._draw("certainty", self.shown.stem)
        return round(-1.5 * len(option.split()) - 4 * (2.4 - pull), 6)

    def _text(self) -> str:
        if self._is("refusals"):
            return _REFUSAL
        match self.shown.task:
            case "letter":
                return "It could be A or B." if self._is("unreadable") else self._letter()
            case "reasoned_letter":
                last = "none of them for certain" if self._is("unreadable") else self._letter()
                return f"{self._reasoning()}\nFinal answer: {last}"
            case "dashed":
                return f"{self._reasoning()} So the answer is {self._favourite()}"
            case "text":
                return "One of the first two." if self._is("unreadable") else self._phrased(self._favourite())
            case "score":
                score = "high" if self._is("unreadable") else self._score()
                return f"The statement was checked against what is known about it.\n<score>{score}</score>"
            case "verdict":
                return "It depends." if self._is("unreadable") else "Yes" if self._agrees() else "No"
            case "reasoned_text":
                return f"{self._reasoning()}\nAnswer: {self._unaided()}"
            case "short":
                return self._phrased(self._unaided())

    def _reasoning(self) -> str:
        count = len(self.shown.stem.split())
        return f"The question has {count} words, and what matters in them is the last part."

    def _slot(self) -> int:
        pulls = self._pulls()
        return pulls.index(max(pulls))

    def _letter(self) -> str:
        """The letter of its choice, bare or dressed as models dress it."""
        if not self.shown.options:
            return LABELS[0]
        letter = LABELS[self._slot()]
        dress = self._draw("dress", self.request.prompt)
        return f"{letter}." if dress < 0.2 else f"**{letter}**" if dress < 0.25 else letter

    def _favourite(self) -> str:
        return self.shown.options[self._slot()] if self.shown.options else self._unaided()

    def _unaided(self) -> str:
        """An answer without options: the right one, a wrong one of the question's, or nothing in particular."""
        stem, gold = self.shown.stem, self._gold()
        if self._knows(self.behaviour.hidden_skill) and not is_relational_option(gold):
            return gold
        vague = _VAGUE[int(self._draw("vague", stem) * len(_VAGUE))]
        if self.question is None:
            return self._echo()
        if self._draw("guess", stem) >= self.behaviour.wrong_guess:
            return vague
        wrong = [option for option in map(display, self.question.options) if option != gold]
        named = [option for option in wrong if not is_relational_option(option)] or [vague]
        return max(named, key=lambda option: self._draw("liking", stem, option))

    def _echo(self) -> str:
        """Two neighbouring words of a question that it does not recognise."""
        words = self.shown.stem.strip(" ?.").split() or ["nothing"]
        start = int(self._draw("echo", self.shown.stem) * max(1, len(words) - 1))
        return " ".join(words[start : start + 2])

    def _phrased(self, answer: str) -> str:
        """An answer's text in one of the ways in which models write one."""
        if answer.endswith(".") or len(answer) < 4:
            return answer
        way = self._draw("phrase", self.request.prompt)
        if way < 0.5:
            return answer
        if way < 0.7:
            return f"{answer[:1].upper()}{answer[1:]}."
        return f"It is {answer}." if way < 0.9 else f"{answer}, most likely"

    def _agrees(self) -> bool:
        """Whether it holds an answer to be right: as a grader by the words, else by what it knows or likes."""
        held = display(self.shown.hypothesis or "")
        if self.shown.reference is not None:
            return held.lower() in display(self.shown.reference).lower()
        if self._knows(self.behaviour.hypothesis_skill):
            return held == self._gold()
        return self._draw("liking", self.shown.stem, held) > 0.6

    def _score(self) -> str:
        """Confidence in the hypothesis, mostly a multiple of five."""
        text = self.shown.hypothesis or ""
        draw = self._moment("score")
        if not self._knows(self.behaviour.hypothesis_skill):
            score = 65 + 30 * draw
        elif self._names_gold(text):
            score = 80 + 16 * draw
        else:
            score = 5 + 90 * draw * draw
        way = self._draw("round", self.request.prompt)
        if way < self.behaviour.rounding:
            return str(5 * round(score / 5))
        return f"{score:.1f}" if way > 1 - (1 - self.behaviour.rounding) / 4 else str(round(score))

    def _names_gold(self, text: str) -> bool:
        """Whether a hypothesis is about the gold: of the options that its text names, the longest is meant."""
        options = self.question.options if self.question else ()
        named = [option for option in options if names(text, option)]
        return bool(named) and display(max(named, key=len)) == self._gold()
