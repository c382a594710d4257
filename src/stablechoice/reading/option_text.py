"""Options found by their text instead of their letter."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from stablechoice.prompts import display
from stablechoice.reading.mention import CLOSERS
from stablechoice.reading.normalise import key, plain

Options = tuple[int, ...]
"""Canonical indices of the options that read alike; empty where no option does."""

# "3,000", "0.05", "5:30" and "X-ray" say no option "3", "0", "5" or "X".
_BOUNDARY = re.compile(
    rf"{CLOSERS}{{0,3}}\s*(?:$|[.,:](?!\d)|[;!?\n()]|because\b|since\b|as\b|(?:is|are)\b|[-–](?!\w)|—)"
)


@dataclass(frozen=True, slots=True)
class OptionTexts:
    """A question's option texts, prepared once.

    Attributes:
        displayed: options by their text as displayed, markup and all.
        plain: options by that text without markup, as it stands in a plain text.
        keyed: options by `normalise.key`, longest key first.
        widest: characters beyond which a text says no option, so that endless lines take linear time.
        firsts: with which a key begins; most places of a text begin none, and are told by one character.
    """

    displayed: Mapping[str, Options]
    plain: Mapping[str, Options]
    keyed: Mapping[str, Options]
    widest: int
    firsts: frozenset[str]

    def saying(self, text: str) -> Options:
        """Options that the whole of a plain text says: letter for letter, else without case and edge punctuation.

        The first comparison that finds any option decides, so "Tt" and "tt" are told apart where they are options.
        """
        if len(text) >= self.widest:
            return ()
        return self.plain.get(display(text), ()) or self.keyed.get(key(text), ())

    def at(self, text: str, start: int) -> tuple[Options, int] | None:
        """The longest whole option text that begins at a position of a plain text, and where it ends."""
        if text[start : start + 1].casefold()[:1] not in self.firsts:
            return None
        for said, options in self.keyed.items():
            end = start + len(said)
            if text[start:end].casefold() == said and (said.endswith("?") or _BOUNDARY.match(text, end)):
                return self.plain.get(text[start:end], options), end
        return None


@lru_cache(maxsize=4096)
def option_texts(options: tuple[str, ...]) -> OptionTexts:
    """Texts of a question's options in canonical order."""
    shown = [display(option) for option in options]
    keyed = _indices(key(option) for option in shown)
    for said, indices in list(keyed.items()):
        if len(said) > 1:  # an option that is a question may be named without its mark
            keyed.setdefault(said.removesuffix("?"), indices)
    return OptionTexts(
        displayed=_indices(shown),
        plain=_indices(display(plain(option)) for option in shown),
        keyed=dict(sorted(keyed.items(), key=lambda item: -len(item[0]))),
        widest=2 * max(map(len, shown)) + 100,
        firsts=frozenset(said[0] for said in keyed),
    )


def _indices(texts: Iterable[str]) -> dict[str, Options]:
    """Indices by text; a blank text is said by nothing."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for index, text in enumerate(texts):
        if text:
            found[text].append(index)
    return {text: tuple(indices) for text, indices in found.items()}
