"""A route's key: read from the one variable that the route names, and kept out of everything that is written."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from urllib.parse import quote

from stablechoice.errors import EngineError

_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*")
_HIDDEN = "[key]"
_SHORTEST = 8
"""Characters of a key from which on it is taken out of answers too, and of the least part of one that is taken out of
errors, where a provider's words are cut off. Local servers are given keys like `x`, which are words of answers."""
# Providers echo keys with their middle starred out; the rest of such an echo is no one's business either.
_MASKED = re.compile(r"\b(?:sk|gsk|tgp|AIza|key)[-_][\w\-]*\*[\w\-*]*")


class Secret:
    """A key that can be sent and redacted, and in no other way be seen: its `repr` and `str` name the variable only."""

    __slots__ = ("_echoes", "_value", "variable")

    def __init__(self, variable: str, value: str) -> None:
        self.variable = variable
        self._value = value
        raw = value.encode("utf-8")
        forms = {value, json.dumps(value)[1:-1], quote(value, safe=""), base64.b64encode(raw).decode("ascii")}
        self._echoes = sorted((form for form in forms if form), key=lambda form: (-len(form), form))

    @classmethod
    def read(cls, variable: str | None, root: Path, where: str) -> Secret:
        """The value of a variable of the environment or, where it is not set there, of `.env` at the root.

        Args:
            variable: its name; None for a route that asks for no key.
            where: the configuration file that names the variable.

        Raises:
            EngineError: the variable is not set, or its value cannot be a key.
        """
        if variable is None:
            return cls("", "")
        value = (os.environ.get(variable) or _from_file(root / ".env", variable)).strip()
        if not value:
            raise EngineError(
                f"{variable} is not set: put the key into the environment or into .env at the repository root "
                f"(.env.example shows how); key 'key_variable' of {where} names this variable"
            )
        if not value.isascii() or not value.isprintable() or " " in value or {value[0], value[-1]} & {"'", '"'}:
            raise EngineError(
                f"{variable} holds characters that no key has (a space, a line break, a quote, a sign outside ASCII): "
                f"copy the key again; key 'key_variable' of {where} names this variable"
            )
        return cls(variable, value)

    def reveal(self) -> str:
        """The key itself, for the header of a request and for nothing else."""
        return self._value

    def redact(self, text: str) -> str:
        """A text without the key, in whatever form it was echoed. The text of an answer passes through it too."""
        return self._without(text) if len(self._value) >= _SHORTEST else text

    def redact_error(self, text: str) -> str:
        """As `redact`, for a provider's own words: echoes that are cut off or half masked go as well."""
        return self._without_beginnings(_MASKED.sub(_HIDDEN, self._without(text)))

    def _without(self, text: str) -> str:
        for echo in self._echoes:
            text = text.replace(echo, _HIDDEN)
        return text

    def _without_beginnings(self, text: str) -> str:
        """A text without what is left of the key where the text was cut off inside it."""
        begins = self._value[:_SHORTEST]
        at = text.find(begins) if len(begins) == _SHORTEST else -1
        while at >= 0:
            end = at + _SHORTEST
            while end - at < len(self._value) and text[end : end + 1] == self._value[end - at]:
                end += 1
            text = text[:at] + _HIDDEN + text[end:]
            at = text.find(begins, at + len(_HIDDEN))
        return text

    def __repr__(self) -> str:
        return f"Secret({self.variable})"

    def __reduce__(self) -> str:
        raise TypeError("a key is never pickled")


def _from_file(path: Path, variable: str) -> str:
    """The variable's value in a file of `NAME=value` lines; empty where the file or the line is missing."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise EngineError(f"{path}: cannot be read ({type(error).__name__}); mend it or set {variable}") from None
    value = ""
    for line in lines:
        found = _LINE.fullmatch(line)
        if found and found[1] == variable:
            value = found[2]
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value
