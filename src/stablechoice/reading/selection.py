"""Explicit selections in a passage: where it says which option it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from stablechoice.observation import Reason
from stablechoice.reading.cues import NOUN, RIGHT, cues
from stablechoice.reading.mention import CLOSERS, OPENERS, Mention
from stablechoice.reading.normalise import BOLD_CLOSE, BOLD_OPEN
from stablechoice.reading.option_text import Options
from stablechoice.reading.passage import Passage

_CLAUSE_END = re.compile(rf"{CLOSERS}{{0,3}}\s*(?:$|[.,;:!\n。、]|because\b|since\b|as\b|[-–—(])")

_NAME_GOES_ON = re.compile(
    r"[ ](?!(?:because|since|as|and|or|but|is|was|are|which|that|due|not|for|in|on|at|by|from|to|of|with|based|given"
    r"|rather|when|while|if|so|although|though|however|here|the|a|an|it|they|we|you|this|these|there|where|depending|would|can|will|over|instead|only|too|also|then|now)\b)[a-z]"
)

# -- What stands between an announcement and its letter, or makes the announcement none -----------------------------
_FILLER = re.compile(
    rf"\s*(?:(?:indeed|most|likely|clearly|therefore|probably|simply|definitely|following|{NOUN}s?|the|either|both)"
    rf"\b[ ]?|:\s*|{OPENERS}[ ]?){{0,6}}",
    re.IGNORECASE,
)
_OPENING = re.compile(rf"\s*{OPENERS}{{0,3}}")
# -- What may follow a letter that the text chooses ------------------------------------------------------------------
_VERDICT = re.compile(
    rf"{CLOSERS}{{0,3}}[.:]?{CLOSERS}{{0,2}} (?:\([^()\n]{{0,80}}\) )?"
    r"(?:is|was|would be|must be|should be|has to be|seems|appears|(?:seems|appears) to be)"
    rf"(?: (?!not\b|never\b)(?:\w+ly|also|thus|indeed|the|my|our|only|final)){{0,3}} (?:{RIGHT}|better|true|answer)"
    r"(?: (?:answer|option|choice|match|response|fit|one|description|explanation|statement))?"
    rf"(?={CLOSERS}{{0,3}}\s*(?:$|[.,;:!\n)]|(?:because|since|as|here|for|in|to|based|given|among)\b))"
    rf"|{CLOSERS}{{0,3}} (?:is|was|seems) the only (?:correct |valid )?(?:one|option|choice|answer|match)\b",
    re.IGNORECASE,
)
_LABEL_END = re.compile(rf"{CLOSERS}{{0,3}}(?:[.):](?=\s|\w)|,? (?:because|since)\b|[ ]?[-–—][ ])")
_LABEL_ASIDE = re.compile(rf"{CLOSERS}{{0,3}}(?:,[ ]|[ ]\()")
HEAD = re.compile(rf"{CLOSERS}{{0,3}}(?:[.)][ ]?\w|[ ]?[:–—-] )")
"""What follows a letter that heads an item of a list: "B. Paris", "B) ...", "B: ..."."""
_BOLD_END = re.compile(rf"{BOLD_CLOSE}(?:[.!]?\s*(?:\n|$)|[.!]\s|,? (?:because|since|as|due)\b)")
_BOLD_BESIDE = re.compile(r"\b(?:with|than|to|of|from|like|unlike|versus|vs\.?)[ ]$", re.IGNORECASE)

_LINE = re.compile(r"[^\n]*\S[^\n]*")
_LINE_BEFORE = re.compile(
    rf"(?:[\s•·–-]|{OPENERS})*"
    rf"(?:(?:(?P<cue>(?:the )?(?:final )?(?:answer|choice))|option|letter)\s?[:-]?(?:[ ]|{OPENERS})*)?"
    rf"(?:option )?(?:[ ]|{OPENERS})*",
    re.IGNORECASE,
)
_LINE_AFTER = re.compile(rf"(?:[\s.,:;!。]|{CLOSERS})*")


Kind = Literal["announced", "line", "remark"]


@dataclass(frozen=True, slots=True)
class Selection:
    """One place that selects.

    Attributes:
        start, end: of the letter or the option text; a line ends where it ends.
        choice: canonical option; None where the selection chooses nothing, then `reason` says why.
        how: `selection`, `option_text`, `lone_letter` or `leading_label`.
        kind: `announced` ("The answer is X"); `line`, which says nothing else; or `remark`, made in passing ("X is
            correct"). A remark counts only in a response that came to its end.
    """

    start: int
    end: int
    choice: int | None
    reason: Reason | None
    how: str
    kind: Kind


def selections(passage: Passage) -> list[Selection]:
    """Every explicit selection, in order of position; where two rules find one place, the first one named here."""
    rules = (*_announcements(passage), *_verdicts(passage), *_bold(passage), *_lines(passage), *_label_first(passage))
    found: dict[int, Selection] = {}
    for selection in rules:
        known = found.setdefault(selection.start, selection)
        if known.kind == "remark" and selection.kind != "remark":
            found[selection.start] = selection
    return [found[start] for start in sorted(found)]


def _by_letter(
    passage: Passage, mention: Mention, kind: Kind, *, how: str = "selection", end: int | None = None
) -> Selection:
    choice, reason = passage.chosen(mention)
    return Selection(mention.start, mention.end if end is None else end, choice, reason, how, kind)


def _by_text(
    passage: Passage, options: Options, start: int, end: int, kind: Kind, *, label: Mention | None = None
) -> Selection:
    """A whole option text. Options that read alike cannot be told apart by it, except by a label beside it.

    A label that names another option leaves open which of the two is meant.
    """
    label = label or passage.label_behind(end)
    if label and len(label.letters) == 1 and not passage.rejected(label):
        labelled = passage.canonical(label.letters)
        options = (labelled,) if labelled in options else ()
    if len(options) == 1:
        return Selection(start, end, options[0], None, "option_text", kind)
    return Selection(start, end, None, "ambiguous", "option_text", kind)


def _announcements(passage: Passage) -> Iterator[Selection]:
    """ "The answer is X", "Final answer: X", "I choose X", "so X." — by letter or by the option's whole text."""
    for cue in cues(passage.text):
        # Doubt last: it is dear to look for, and most cues announce nothing.
        selection = _announced_at(passage, cue.end, cue.kind)
        if selection is not None and not passage.doubted(cue.start):
            yield selection


def _announced_at(passage: Passage, end: int, kind: Kind) -> Selection | None:
    text = passage.text
    opening = _end(_OPENING, text, end)
    start = _end(_FILLER, text, end)
    mention = passage.by_start.get(start) or passage.by_start.get(opening)
    said = (passage.texts.at(text, opening) or passage.texts.at(text, start)) if kind == "announced" else None
    if said and not (mention and _is_label(passage, mention, said[1])):
        return None if passage.rejected_at(said[1]) else _by_text(passage, said[0], opening, said[1], kind)
    if mention is None or passage.rejected(mention) or not _can_be_taken(passage, mention, kind):
        return None
    return _by_letter(passage, mention, kind)


def _can_be_taken(passage: Passage, mention: Mention, kind: Kind) -> bool:
    """Whether an announced letter is a label and no variable, name or pronoun ("thus x", "so I", "is B cells")."""
    known = len(mention.letters) > 1 or passage.canonical(mention.letters) is not None
    if kind == "remark" and (not known or not mention.capital or mention.letters == "I"):
        return False
    extent = passage.extent(mention)
    if kind == "remark" or not known or not mention.capital:
        return _CLAUSE_END.match(passage.text, extent) is not None
    return extent > mention.end or not _NAME_GOES_ON.match(passage.text, extent)


def _is_label(passage: Passage, mention: Mention, said_end: int) -> bool:
    """Whether letters govern over an option text at the same place: a label here, or letters that go on behind it."""
    if len(mention.letters) > 1:
        return mention.end > said_end
    return passage.canonical(mention.letters) is not None and mention.end >= said_end


def _verdicts(passage: Passage) -> Iterator[Selection]:
    """ "X is correct", "X is the best answer"; an option's text only where it begins the response."""
    for mention in passage.mentions:
        verdict = _VERDICT.match(passage.text, passage.extent(mention))
        if not verdict or passage.asked_at(verdict.end()) or not mention.capital:
            continue
        if not passage.rejected(mention) and not passage.doubted(mention.start):
            yield _by_letter(passage, mention, "remark")
    found = passage.texts.at(passage.text, _end(_LINE_BEFORE, passage.text, 0))
    if found and _VERDICT.match(passage.text, found[1]) and not passage.rejected_at(found[1]):
        yield _by_text(passage, found[0], 0, found[1], "remark")


def _bold(passage: Passage) -> Iterator[Selection]:
    """ "... it must be **X**." A bold letter that begins a line or a sentence is a heading or a subject instead."""
    text = passage.text
    for mention in passage.mentions:
        start = mention.start - 1
        if start < 1 or text[start] != BOLD_OPEN or text[start - 1] == "\n" or not _BOLD_END.match(text, mention.end):
            continue
        if not passage.rejected(mention) and not _BOLD_BESIDE.search(text, max(0, start - 10), start):
            yield _by_letter(passage, mention, "remark")


def _lines(passage: Passage) -> Iterator[Selection]:
    """A first or last line that holds a letter or an option and nothing else.

    Lines of a list, which names each option once, are none; a last line that repeats an item of the list is one.
    """
    found = line_selections(passage)
    if not found:
        return
    first, last = found[0], found[-1]
    if last is not None and (_agree(last, found[-2:-1]) or last.choice in {s.choice for s in found[:-2] if s}):
        yield last
    if first is not None and _agree(first, found[1:-1] + found[1:2]):
        yield first


def line_selections(passage: Passage) -> list[Selection | None]:
    """For each line that is not blank, the selection that it is as a whole, if it is one."""
    return [line_selection(passage, line.start(), line.end()) for line in _LINE.finditer(passage.text)]


def _agree(line: Selection, others: list[Selection | None]) -> bool:
    return all(other is None or other.choice == line.choice for other in others)


def line_selection(passage: Passage, start: int, end: int) -> Selection | None:
    """The selection that a line is as a whole, if it is one: "B", "B. Paris", "Paris", "Paris (B)"."""
    text = passage.text
    before = _LINE_BEFORE.match(text, start)
    begin = before.end() if before else start
    mention = passage.by_start.get(begin)
    if mention and mention.end <= end and _LINE_AFTER.fullmatch(text, mention.end, end):
        how = "selection" if before and before["cue"] else "lone_letter"
        return _by_letter(passage, mention, "line", how=how, end=end)
    if mention and passage.extent(mention) > mention.end and _LINE_AFTER.fullmatch(text, passage.extent(mention), end):
        return _by_letter(passage, mention, "line", how="option_text", end=end)
    said = passage.texts.saying(text[start:end])
    if said:
        return _by_text(passage, said, start, end, "line")
    found = passage.texts.at(text, begin)
    label = passage.label_behind(found[1]) if found else None
    if found and label and _LINE_AFTER.fullmatch(text, label.end, end):
        return _by_text(passage, found[0], start, end, "line", label=label)
    if text.startswith("A ", begin):  # a label without its full stop, or an article: decided where both say the same
        said = passage.texts.saying(text[begin + 2 : end])
        return _by_text(passage, said, start, end, "line", label=Mention("A", begin, begin + 1, True)) if said else None
    return None


def heads_line(text: str, mention: Mention) -> bool:
    """Whether a mention begins its line, as the label of a list's item does."""
    nearest = max(0, mention.start - 40)  # no label stands deeper in its line; bounded, for one endless line
    line = text.rfind("\n", nearest, mention.start) + 1
    return mention.capital and (line > 0 or nearest == 0) and _end(_LINE_BEFORE, text, line) == mention.start


def _label_first(passage: Passage) -> Iterator[Selection]:
    """A response that begins with a label ("B. Because ...") and labels nothing else."""
    text = passage.text
    mention = passage.by_start.get(_end(_LINE_BEFORE, text, 0))
    if mention is None or not mention.capital or len(mention.letters) > 1 or passage.rejected(mention):
        return
    others = [m for m in passage.mentions if m.capital and m.letters != mention.letters]
    if passage.extent(mention) > mention.end or _LABEL_END.match(text, mention.end):
        alone = not any(HEAD.match(text, other.end) for other in others)
    else:
        alone = _LABEL_ASIDE.match(text, mention.end) is not None and all(map(passage.rejected, others))
    if alone:
        yield _by_letter(passage, mention, "remark", how="leading_label")


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start
