"""Several journals read as one, which refuses where they disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stablechoice.journal import Journal
from stablechoice.request import Response
from stablechoice.shards.failure import DisagreementError


@dataclass(frozen=True, slots=True)
class Source:
    """One journal and what messages call it."""

    name: str
    journal: Journal


def agree(one: Response, other: Response) -> bool:
    """Whether two responses to one request say the same.

    Token counts, the served model's name and the provider's words may differ between two tries of one request without
    the answer being another one; text, where it ended and log-probabilities may not.
    """
    return (one.text, one.status, one.finish, one.letter_logprobs) == (
        other.text,
        other.status,
        other.finish,
        other.letter_logprobs,
    )


def settled(key: str, one: tuple[str, Response], other: tuple[str, Response]) -> tuple[str, Response]:
    """Which of two responses to one request stands, each with the name of its journal.

    Equal ones: the first. An answer beats a response that is none, as within a journal. Two that are no answer: the
    first, since neither is read as anything.

    Raises:
        DisagreementError: they are different answers.
    """
    if one[1].status != "ok" or other[1].status != "ok":
        return other if one[1].status != "ok" and other[1].status == "ok" else one
    if agree(one[1], other[1]):
        return one
    raise DisagreementError(key, one[1].text, other[1].text, one[0], other[0])


class Union:
    """Lookup over journals in a given order.

    Args:
        sources: the earlier one's response stands where several are equal.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = tuple(sources)

    def found(self, keys: Sequence[str]) -> dict[str, tuple[str, Response]]:
        """Recorded responses by key, each with the name of its journal.

        Raises:
            DisagreementError: two journals hold different answers to one key.
        """
        merged: dict[str, tuple[str, Response]] = {}
        for source in self._sources:
            for key, response in source.journal.lookup(keys).items():
                mine = (source.name, response)
                merged[key] = settled(key, merged[key], mine) if key in merged else mine
        return merged

    def lookup(self, keys: Sequence[str]) -> dict[str, Response]:
        """Recorded responses by key.

        Raises:
            DisagreementError: as for `found`.
        """
        return {key: response for key, (_, response) in self.found(keys).items()}
