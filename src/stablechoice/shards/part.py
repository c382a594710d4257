"""Which questions a shard asks: a split that depends on the questions alone."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace

from stablechoice.cell_plan import CellPlan
from stablechoice.errors import ConfigError
from stablechoice.questions.question import Question

_RULE = "stablechoice-shard-v1"


@dataclass(frozen=True, slots=True)
class Part:
    """Shard `number` of `of`, counted from 1.

    The split goes by the question's stem and not by its id: where options are hidden, two questions of one stem are
    asked the same prompt, which is one request with one answer and must not be asked by two shards. Adding a model,
    strategy, benchmark or question moves no question that was there; another number of shards moves most of them.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """From `3/8`.

        Raises:
            ConfigError: it is no such thing.
        """
        found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise ConfigError(f"part={text}: must be NUMBER/SHARDS with 1 <= NUMBER <= SHARDS, for example part=3/8")
        return cls(int(found[1]), int(found[2]))

    @classmethod
    def all(cls, of: int) -> list[Part]:
        return [cls(number, of) for number in range(1, of + 1)]

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def words(self) -> str:
        return f"shard {self.number} of {self.of}"

    def holds(self, question: Question) -> bool:
        """Whether the question is this shard's: the first 64 bits of a sha256 over its stem, modulo the shards."""
        content = f"{_RULE}|{question.question}".encode("utf-8", "surrogatepass")
        return int(hashlib.sha256(content).hexdigest()[:16], 16) % self.of == self.number - 1

    def of_cell(self, cell: CellPlan) -> CellPlan:
        """The cell with this shard's questions alone, in their order."""
        return replace(cell, questions=[question for question in cell.questions if self.holds(question)])
