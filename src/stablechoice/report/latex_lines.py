"""How wide a text will be when LaTeX has set it, and how it is broken into lines.

LaTeX cannot scale a table that runs over pages, so its width must be known before. It is estimated here from the
characters, by the widths of Computer Modern, LaTeX's own font (Times is narrower; a broad sans serif needs more). A
text is estimated within 8 % of what LaTeX measures; a table, whose widest cells are added up, 0 to 10 % above.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from stablechoice.report.formats import one_line

# Computer Modern Roman at 10 pt, widths in em, each rounded up to its class.
_CLASSES = {
    0.28: "ijl.,:;'![]|`·‘’",
    0.34: " f-\u00a0",
    0.40: "rst()I_",
    0.45: "cez?",
    0.50: "ago0123456789/$*\\{}^~–“”†",
    0.56: 'bdhknpquvxyJS"',
    0.68: "ELZFP",
    0.74: "BCRTw",
    0.79: "ADGHKNOQUVXY+=<>&@−×±≤≥",
    0.84: "m%#Δ…",
    1.03: "MW—→",
}
_WIDTHS = {character: width for width, characters in _CLASSES.items() for character in characters}

_CODE_POINT = 6 * 0.53
"""`U+65E5` in typewriter letters: what a character prints as that has no ASCII spelling."""


@lru_cache(maxsize=4096)
def estimated_width(content: str) -> float:
    """Width of a text in one line, in em."""
    return sum(_character(character) for character in unicodedata.normalize("NFC", one_line(content)))


def _character(character: str) -> float:
    """A letter is as wide with an accent as without."""
    base = unicodedata.normalize("NFD", character)[0]
    return _WIDTHS.get(character) or _WIDTHS.get(base, _CODE_POINT)


def broken(content: str, limit: float) -> tuple[str, ...]:
    """The text in lines of at most `limit` em; a word that is wider has a line of its own.

    Lines end at spaces (not before a slash or a minus sign between words), after an en dash, and after an underscore
    (the names of reasons).
    """
    first, *others = _pieces(content)
    lines = [first]
    for piece in others:
        if estimated_width((lines[-1] + piece).rstrip()) <= limit:
            lines[-1] += piece
        else:
            lines.append(piece)
    return tuple(line.rstrip() for line in lines)


def _pieces(content: str) -> list[str]:
    """What no line may end within, each with the space that follows it."""
    return re.split(r"(?<= )(?![/−] )|(?<=[–_])(?=\w)", one_line(content))


@lru_cache(maxsize=4096)
def narrowest(content: str, lines: int) -> float:
    """The smallest limit, in em, at which a text needs no more than so many lines and no word is wider."""
    pieces = _pieces(content)
    spans = {
        estimated_width("".join(pieces[start:end]).rstrip())
        for start in range(len(pieces))
        for end in range(start + 1, len(pieces) + 1)
    }
    widest = max(estimated_width(piece.rstrip()) for piece in pieces)
    return next(limit for limit in sorted(spans) if limit >= widest and len(broken(content, limit)) <= lines)
