"""What an examination says of one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["good", "note", "lack"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        subject: what, in a word or two.
        state: `good`; `note` where something is not possible that the pocket study does not need; `lack` where the
            pocket study cannot run.
        what: what was found.
        remedy: what to do about it; empty where nothing needs to be done.
    """

    subject: str
    state: State
    what: str
    remedy: str = ""


def refusal(subject: str, state: State, error: Exception) -> Finding:
    """A finding from an error of this project, whose message says what happened and then what to do."""
    what, _, remedy = str(error).partition("; ")
    return Finding(subject, state, what, remedy)
