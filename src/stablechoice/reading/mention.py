"""Where option letters stand in a plain text, and whether the words around them turn them down."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from stablechoice.reading.normalise import BOLD_CLOSE, BOLD_OPEN, CLOSED

OPENERS = rf"[\"'(\[{{<{BOLD_OPEN}]"
CLOSERS = rf"[\"')\]}}>{BOLD_CLOSE}{CLOSED}]"
_NOUN = r"(?:options?|choices?|answers?|letters?)"

# A letter that is no part of a word, a number, an abbreviation (U.S., A.M.), a name (B-cell, C++) or a formula.
_LETTER = re.compile(
    r"(?<![\w°\\~@#+!\-])(?<!\w['.])([A-Za-z])(?![\w°^~@#+]|'\w|-\w|/[0-9]|\.\w\b|[ ]?[=≈≤≥×÷^]|[ ][<>+*]|[ ]?->)"
)
# What may follow a label but never an article or a pronoun: "A because", "A is"; not "A good", "I think", "I was".
_AFTER_LABEL = {
    "A": re.compile(
        r"[ ](?:because|since|as|is|isn't|was|wasn't|and|or|but|which|not|rather than|instead|over|in|if|although|would"
        r"|should|must|seems|appears|makes|fits|best (?:fits|describes|matches|explains|represents|answers))\b"
    ),
    "I": re.compile(r"[ ](?:because|since|is|isn't)\b"),
}
_WORD_NEXT = re.compile(r"[ ][\"']?[0-9A-Za-zÀ-ɏ]")

_NAMED = re.compile(rf"\b(?:option|choice) ?{OPENERS}{{0,3}}$", re.IGNORECASE)
_JOINER = re.compile(
    rf"{CLOSERS}{{0,3}}\.?\s?(?:,\s?(?:and|or)?|and/or|and|or|/|&|\||;|nor|versus|vs\.?)"
    rf"\s{{0,2}}(?:either |also |maybe |possibly |perhaps )?(?:the )?(?:{_NOUN}:? ?)?{OPENERS}{{0,3}}",
    re.IGNORECASE,
)
_LONGEST_JOINER = 40
_LIST_GOES_ON = re.compile(rf"{CLOSERS}{{0,3}}\s*(?:$|[.;\n])")

_TURNED_DOWN_BEFORE = re.compile(
    r"(?:\b(?:not|never|neither|nor|cannot|except|except for|rather than|instead of|unlike|other than)|n't"
    r"|\b(?:exclud\w+|eliminat\w+|rul\w+ out|discard\w*|reject\w*|dismiss\w*):?"
    rf"|\b(?:wrong|incorrect|false)(?:(?: {_NOUN})?:| {_NOUN}(?: is| are)?))"
    rf"(?:[ ]be)?(?:[ ]the)?(?:[ ]{_NOUN})?(?:[ ](?:is|are))?(?:[ ]|{OPENERS}){{0,4}}$",
    re.IGNORECASE,
)
_TURNING_WORDS = (
    "not", "n't", "never", "neither", "nor", "cannot", "except", "rather", "instead", "unlike", "other", "exclud",
    "eliminat", "rul", "discard", "reject", "dismiss", "wrong", "incorrect", "false",
)  # fmt: skip
_BEFORE = 60  # characters before a mention within which it is turned down

_VERDICTS = (
    r"(?:incorrect|wrong|false|ruled out|eliminated|invalid|impossible|implausible|unlikely|irrelevant|"
    r"(?:not|never) (?:be )?(?:a |an |the |really |quite |entirely )?(?:best |right |most )?"
    r"(?:correct|right|accurate|true|valid|possible|plausible|likely|answer|option|choice|it)\b)"
)
_TURNED_DOWN_AFTER = re.compile(
    rf"{CLOSERS}{{0,3}}[.:]?{CLOSERS}{{0,2}}(?:"
    rf" (?:\([^()\n]{{0,80}}\) )?(?:is|are|was|were|seems?|appears?|looks?|can be|could be|would be|must be|has to be)"
    rf"(?: also| all| both| clearly| therefore| thus| obviously| definitely| the| an?){{0,2}} {_VERDICTS}"
    rf"|[ ]?(?:[-–—:(]|->) ?(?:the )?(?:incorrect|wrong|false|✗|❌)"
    r"| (?:isn't|aren't|wasn't|can't be|cannot be|couldn't be)"
    r" (?:the )?(?:best |right )?(?:correct|right|true|accurate|valid|possible|likely|answer|option|choice|it)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """One letter, or several that are joined ("A or B"), as they stand in a plain text.

    Attributes:
        letters: distinct letters, upper-cased, in order of appearance.
        start, end: from the first letter to behind the last one.
        capital: whether they are written as capitals.
    """

    letters: str
    start: int
    end: int
    capital: bool

    def joined(self, other: Mention) -> Mention:
        """Both as one mention; a letter that is said twice counts once."""
        letters = "".join(dict.fromkeys(self.letters + other.letters))
        return Mention(letters, self.start, other.end, self.capital)


def mentions(text: str) -> list[Mention]:
    """Every mention of letters in a plain text, in order. Articles ("a"), pronouns ("I") and formulas are none."""
    found: list[Mention] = []
    for match in _LETTER.finditer(text):
        letter = match[1]
        if letter in "aAiI" and _is_word(text, match):
            continue
        mention = Mention(letter.upper(), match.start(), match.end(), letter.isupper())
        if found and _are_joined(text, found[-1], mention):
            mention = found.pop().joined(mention)
        found.append(mention)
    return found


def turned_down(text: str, mention: Mention) -> bool:
    """Whether the text rejects what it mentions: "not A", "eliminate B and C", "D is wrong"."""
    start = max(0, mention.start - _BEFORE)
    before = may_hold(text, start, mention.start, _TURNING_WORDS) and _TURNED_DOWN_BEFORE.search(
        text, start, mention.start
    )
    return bool(before) or turned_down_after(text, mention.end)


def may_hold(text: str, start: int, end: int, words: Iterable[str]) -> bool:
    """Whether a stretch may hold one of some words, in any case: told quickly, before a pattern looks for it."""
    stretch = text[start:end]
    lowered = stretch.lower()
    return not stretch.isascii() or any(word in lowered for word in words)


def turned_down_after(text: str, end: int) -> bool:
    """Whether what follows is a rejection of what ended there."""
    return _TURNED_DOWN_AFTER.match(text, end) is not None


def _is_word(text: str, letter: re.Match[str]) -> bool:
    """Whether an A or I goes on into a phrase, as an article or a pronoun does; never behind "option"."""
    if not _WORD_NEXT.match(text, letter.end()):
        return False
    if letter[1].isupper() and _NAMED.search(text, max(0, letter.start() - 10), letter.start()):
        return False
    return not _AFTER_LABEL[letter[1].upper()].match(text, letter.end())


def _are_joined(text: str, first: Mention, second: Mention) -> bool:
    if first.capital != second.capital or second.start - first.end > _LONGEST_JOINER:
        return False
    if len(first.letters) > 1 and second.letters in first.letters:  # "between B and D, B is better": a new start
        return False
    if not _JOINER.fullmatch(text, first.end, second.start):
        return False
    # "A; C" joins, "the answer is B; A is wrong" begins a new clause.
    return ";" not in text[first.end : second.start] or _LIST_GOES_ON.match(text, second.end) is not None
