"""Models of one habit: they copy what demonstrations show, know nothing, or know everything ([N]'s claims as doubles).

They see what a model sees, the prompt, and nothing else.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stablechoice.engines.fingerprint import file_sha256
from stablechoice.engines.scripted import written
from stablechoice.errors import ConfigError, EngineError, ModelError
from stablechoice.prompts import display
from stablechoice.questions.loading import read_questions
from stablechoice.request import Decoding, Request, Response

PROTOCOL = 1
"""Raised when the same parameters begin to answer otherwise, so that journals do not mix."""

HABITS = ("label", "position", "nothing", "everything")

_KEYS = ("habit", "knowledge", "seed")
_BLOCK = re.compile(
    r"^Question: (?P<stem>(?:(?!^Question: ).)*?)\n\nOptions:\n"
    r"(?P<options>(?:(?:[A-Za-z]\.|[0-9]{1,2}\.|-) [^\n]*\n?)+)"
    r"(?:\n(?:Answer: |The answer is )(?P<answer>[^\n]*))?",
    re.MULTILINE | re.DOTALL,
)
_LINE = re.compile(r"(?:(?P<label>[A-Za-z]|[0-9]{1,2})\.|-) (?P<text>.*)")


@dataclass(frozen=True, slots=True)
class Block:
    """One question as a prompt shows it.

    Attributes:
        labels: by slot; empty for dashes.
        options: texts as displayed, by slot.
        gold: slot of the answer that stands behind it; None behind the asked question, which has none.
    """

    stem: str
    labels: tuple[str, ...]
    options: tuple[str, ...]
    gold: int | None


def blocks(prompt: str) -> list[Block]:
    """Every question of a prompt, demonstrations first and the asked one last."""
    found = []
    for match in _BLOCK.finditer(prompt):
        lines = [line for line in map(_LINE.fullmatch, match["options"].rstrip("\n").split("\n")) if line]
        labels = tuple(line["label"] for line in lines if line["label"])
        options = tuple(line["text"] for line in lines)
        answer = match["answer"]
        shown = labels or options
        gold = shown.index(answer) if answer is not None and answer in shown else None
        found.append(Block(match["stem"], labels, options, gold))
    return found


class CopyingEngine:
    """Answers by its habit alone; where the habit says nothing, it guesses: a hash of seed and prompt picks the slot.

    * `label`: the label that most demonstrations' golds bear (the one seen first, of several). With dashes there is
      none to copy.
    * `position`: the slot in which most demonstrations' golds stand.
    * `nothing`: guesses always.
    * `everything`: the gold of every question in its knowledge files.

    Args:
        model: the `conf/model` file: `habit`, `knowledge` (prepared question files below the model's `root`, with
            their sha256) and `seed`.

    Raises:
        ConfigError: a key is missing or unknown, or has an impossible value.
    """

    def __init__(self, *, model: Mapping[str, Any]) -> None:
        self._key = str(model.get("key", "copying"))
        where = f"conf/model/{self._key}.yaml"
        given = {key: value for key, value in model.items() if key not in ("key", "root")}
        if given.keys() != set(_KEYS):
            odd = ", ".join(sorted(given.keys() ^ set(_KEYS)))
            raise ConfigError(
                f"{where}: a model of one habit has the keys {', '.join(_KEYS)}; missing or unknown: {odd}"
            )
        self._habit, self._seed, knowledge = given["habit"], given["seed"], given["knowledge"]
        if self._habit not in HABITS:
            raise ConfigError(f"{where}: key 'habit' is {self._habit!r}; allowed: {', '.join(HABITS)}")
        if type(self._seed) is not int:
            raise ConfigError(f"{where}: key 'seed' must be a whole number, not {self._seed!r}")
        if not isinstance(knowledge, Mapping) or not all(
            isinstance(part, str) for part in (*knowledge, *knowledge.values())
        ):
            raise ConfigError(f"{where}: key 'knowledge' must map files to their sha256, not be {knowledge!r}")
        self._root = Path(str(model.get("root", ".")))
        self._knowledge = dict(sorted(knowledge.items()))
        self._golds: dict[tuple[str, tuple[str, ...]], str] | None = None

    def identity(self) -> Mapping[str, Any]:
        """Habit, seed and the hashes of what it knows; the files need not be there yet."""
        return {
            "engine": "copying",
            "protocol": PROTOCOL,
            "model": self._key,
            "habit": self._habit,
            "seed": self._seed,
            "knowledge": sorted(self._knowledge.values()),
        }

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        """Answer each request in turn.

        Raises:
            EngineError: a prompt shows no options, or a question that it should know and does not.
            ModelError: a knowledge file is missing or has changed.
        """
        for index, request in enumerate(requests):
            shown = blocks(request.prompt)
            if not shown:
                raise EngineError(
                    f"{self._key}: the prompt of step {request.address.step} shows no options; a model of one habit "
                    "answers strategies that show them"
                )
            asked = shown[-1]
            slot = self._slot(shown[:-1], asked, request)
            text = asked.labels[slot] if asked.labels else f"The answer is {asked.options[slot]}"
            yield index, written(text, request, decoding)

    def facts(self) -> Mapping[str, Any]:
        return {"simulated": True, "knowledge": [Path(name).name for name in self._knowledge]}

    def close(self) -> None:
        """Nothing is held open."""

    def _slot(self, solved: Sequence[Block], asked: Block, request: Request) -> int:
        if self._habit == "everything":
            return asked.options.index(self._gold(asked, request))
        golds = [(block, block.gold) for block in solved if block.gold is not None]
        if self._habit == "label":
            seen = Counter(block.labels[gold] for block, gold in golds if block.labels)
            copied = [label for label, _ in seen.most_common() if label in asked.labels]
            return asked.labels.index(copied[0]) if copied else self._guess(asked, request)
        if self._habit == "position":
            slots = [slot for slot, _ in Counter(gold for _, gold in golds).most_common() if slot < len(asked.options)]
            return slots[0] if slots else self._guess(asked, request)
        return self._guess(asked, request)

    def _guess(self, asked: Block, request: Request) -> int:
        content = f"{self._seed}|{request.prompt}".encode("utf-8", "surrogatepass")
        return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big") % len(asked.options)

    def _gold(self, asked: Block, request: Request) -> str:
        gold = self._known().get((asked.stem, tuple(sorted(asked.options))))
        if gold is None:
            # A file is missed only where it is needed: one benchmark is often answered before another is prepared.
            for path in (self._root / name for name in self._knowledge):
                if not path.is_file():
                    raise ModelError(
                        f"{path}: what {self._key} knows is missing; prepare the benchmark (`stablechoice prepare`)"
                    )
            raise EngineError(
                f"{self._key}: question {request.question_id} is in none of its files; add its prepared file to key "
                f"'knowledge' of conf/model/{self._key}.yaml"
            )
        return gold

    def _known(self) -> dict[tuple[str, tuple[str, ...]], str]:
        if self._golds is None:
            self._golds = {}
            for path, pinned in ((self._root / name, sha256) for name, sha256 in self._knowledge.items()):
                if not path.is_file():
                    continue
                if (found := file_sha256(path)) != pinned:
                    raise ModelError(
                        f"{path}: sha256 is {found}, but conf/model/{self._key}.yaml pins {pinned}: what it knows has "
                        "changed; put the new hash there, and its answers are made anew"
                    )
                for question in read_questions(path):
                    options = tuple(sorted(map(display, question.options)))
                    self._golds[question.question, options] = display(question.options[question.gold])
        return self._golds
