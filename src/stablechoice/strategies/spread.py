"""How the golds of demonstrations are spread over labels and positions: what a model could copy ([N])."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from stablechoice.errors import ConfigError
from stablechoice.questions.question import LABELS
from stablechoice.strategies.labels import DESIGNS

Kind = Literal["none", "balanced", "label", "position", "apart", "own"]

_NUMBERED = re.compile(r"(label|position|apart) ([1-9][0-9]?)")


class Cue(NamedTuple):
    """Slots of the asked question that its demonstrations point at.

    Attributes:
        label: slot beside the label that stands at every demonstration's gold; None where labels vary or are dashes.
        position: slot at which every demonstration's gold stands; None where positions vary.
    """

    label: int | None
    position: int | None


class Place(NamedTuple):
    """Where one demonstration's gold is put.

    Attributes:
        slot: 0-based.
        label: the label beside it; None for dashes.
    """

    slot: int
    label: str | None


@dataclass(frozen=True, slots=True)
class Spread:
    """A distribution of demonstrations' golds, as a strategy's key `golds` names it.

    * `none`: there are no demonstrations.
    * `balanced`: every slot as often as any other, in a drawn order.
    * `label N`: all beside the N-th label (A, a or 1 is the first); positions balanced where labels are shuffled or
      dashes.
    * `position N`: all in the N-th slot; labels balanced where they are shuffled.
    * `apart N`: all beside the N-th label and all in one slot, which in the asked question is not that label's; only
      shuffled letters can do that.
    * `own`: all beside the label and in the slot of the asked question's own gold, under every rotation: the attack in
      which copying a demonstration is right.

    Attributes:
        kind: the first word.
        at: N, counted from 0.
    """

    kind: Kind
    at: int = 0

    @classmethod
    def parse(cls, title: str, golds: object, *, design: str, shots: object) -> Spread:
        """Read the key, with what must hold between it, the label design and the number of demonstrations.

        Raises:
            ConfigError: names the strategy, the key and what is allowed.
        """
        where = f"strategy {title!r} (conf/strategy)"
        if design not in DESIGNS:
            raise ConfigError(f"{where}: labels is {design!r}; allowed: {', '.join(DESIGNS)}")
        if type(shots) is not int or shots < 0:
            raise ConfigError(f"{where}: shots is {shots!r}; give a whole number, 0 for no demonstrations")
        plain: dict[object, Kind] = {"none": "none", "balanced": "balanced", "own": "own"}
        found = _NUMBERED.fullmatch(golds) if isinstance(golds, str) else None
        if golds not in plain and (found is None or int(found[2]) > len(LABELS)):
            raise ConfigError(
                f"{where}: golds is {golds!r}; allowed: none, balanced, own, label N, position N, apart N "
                f"(N from 1 to {len(LABELS)})"
            )
        spread = cls(plain[golds]) if found is None else cls(_kind(found[1]), int(found[2]) - 1)
        if (spread.kind == "none") != (shots == 0):
            raise ConfigError(f"{where}: golds is {golds!r} with {shots} shots; `none` goes with 0 shots and no other")
        if spread.kind == "apart" and design != "shuffled_letters":
            raise ConfigError(
                f"{where}: golds is {golds!r} with labels {design}; label and position disagree under "
                "shuffled_letters alone"
            )
        return spread

    def cue(self, labels: Sequence[str], question_id: str, count: int, gold_slot: int, *, shuffled: bool) -> Cue:
        """What the demonstrations of one request point at.

        Args:
            labels: of the asked question's slots; empty for dashes.
            gold_slot: slot of its gold under the rotation that is asked.
            shuffled: whether label and slot are independent.
        """
        if self.kind in ("none", "balanced") or (self.kind != "own" and self.at >= count):
            return Cue(None, None)
        if self.kind == "own":
            return Cue(gold_slot if labels else None, gold_slot)
        if not labels:
            return Cue(None, self.at if self.kind == "position" else None)
        if not shuffled:
            return Cue(self.at, self.at)
        labelled = labels.index(LABELS[self.at])
        if self.kind == "apart":
            return Cue(labelled, (labelled + 1 + _number(f"apart|{question_id}") % (count - 1)) % count)
        return Cue(labelled, None) if self.kind == "label" else Cue(None, self.at)


def places(cue: Cue, labels: Sequence[str], count: int, shots: int, seed: int, *, shuffled: bool) -> list[Place]:
    """Where each demonstration's gold is put, in the order in which demonstrations stand.

    Args:
        cue: of the same request.
        labels: of the asked question's slots; empty for dashes.
        shuffled: whether label and slot are independent.
    """
    slots = [cue.position] * shots if cue.position is not None else balanced(count, shots, f"{seed}|slots")
    if not labels:
        return [Place(slot, None) for slot in slots]
    if cue.label is not None:
        beside = [labels[cue.label]] * shots
    elif shuffled:
        beside = [LABELS[number] for number in balanced(count, shots, f"{seed}|labels")]
    else:
        beside = [labels[slot] for slot in slots]
    return [Place(slot, label) for slot, label in zip(slots, beside, strict=True)]


def _kind(word: str) -> Kind:
    kinds: dict[str, Kind] = {"label": "label", "position": "position", "apart": "apart"}
    return kinds[word]


def balanced(count: int, shots: int, name: str) -> list[int]:
    """`shots` numbers below `count`, each as often as any other up to a remainder, in a drawn order."""
    dealt = [number % count for number in range(shots)]
    order = sorted(range(shots), key=lambda number: (_number(f"{name}|{number}"), number))
    return [dealt[number] for number in order]


def _number(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"abcd-spread-v1|{name}".encode(), digest_size=8).digest(), "big")
