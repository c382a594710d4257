"""Lists of options that a response writes out: what is announced as the head of one has not been chosen.

"The answer is:\\nA. Rome\\nB. Paris\\nC. Berlin" echoes the options. Read as a choice of A it would show a preference
for a position that the model never had (PROTOCOL 4: nothing is guessed).
"""

from __future__ import annotations

import re
from collections import Counter

from stablechoice.reading.item import Item, items
from stablechoice.reading.mention import CLOSERS, OPENERS, turned_down, turned_down_after
from stablechoice.reading.normalise import CLOSED, key
from stablechoice.reading.passage import Passage
from stablechoice.reading.selection import Selection

# -- What stands between two items of one list -----------------------------------------------------------------------
_MARKS = rf"[\s.,;:/|&•·–—-]|{OPENERS}|{CLOSERS}|\d{{1,2}}[.)](?=\s)"
_GAP = re.compile(rf"(?:{_MARKS}|\b(?:and|or|option|choice)\b)*", re.IGNORECASE)
_REMARK = re.compile(
    rf"(?:{CLOSERS}{{0,3}}[ ]?\([^()\n]*\)|(?:[^\n]*[^:\n])?\n(?:[^\n]*[^:\n]\n)?)(?:{_MARKS}|\b(?:option|choice)\b)*",
    re.IGNORECASE,
)
_WIDEST_GAP = 600  # characters
_NEW_SENTENCE = re.compile(r"[.;!?]\s|\n")
_LINE_HEAD = re.compile(rf"(?:^|\n)(?:[ •·–|-]|{OPENERS}|\d{{1,2}}[.)] |option |choice )*$", re.IGNORECASE)
_LIST_HEAD = re.compile(rf"(?:[:=–—-]|\b(?:is|are|be))\s(?:[ •·–|-]|{OPENERS})*$", re.IGNORECASE)
_SENTENCE_HEAD = re.compile(rf"(?:^|\n|[.!?;]{CLOSERS}{{0,3}}\s)[^\w\n]*$")
_HEAD_WIDTH = 24  # characters before an item within which its line or sentence begins

# -- What follows an item ----------------------------------------------------------------------------------------------
_ENDS = re.compile(rf"{CLOSERS}{{0,3}}\s?(?:$|\n|[.;!]{CLOSERS}{{0,3}}(?:\s|$))")
_ANNOTATED = re.compile(rf"{CLOSERS}{{0,3}}(?:[ ]?[:(|→–—-]|,)")
_VERDICT = re.compile(
    rf"{CLOSERS}{{0,3}}(?:[.!]?\s(?=(?:this|that|it|incorrect|wrong|not|no|false)\b)|[:;,(–—-])?[^.!?\n]{{0,160}}?"
    r"(?:\b(?:wrong|incorrect|false|eliminated|excluded|ruled out|invalid|irrelevant|unlikely|no|never"
    r"|not(?! (?:sure|certain|clear|enough)\b))\b|n't\b|[✗❌])",
    re.IGNORECASE,
)


def is_listed(passage: Passage, selection: Selection, found: list[Selection]) -> bool:
    """Whether a selection only names one of several options that stand in one list.

    An option is chosen within a list only if it is named more often there than every other one, as where "B. Paris"
    follows all of them once more. Options that the list turns down ("A. Rome is wrong") do not count.

    Args:
        passage: the response.
        selection: the one in doubt, which chooses an option.
        found: every selection of the response.
    """
    chain = _chain_around(passage, selection, found)
    own = next(item for item in chain if item.selected and _covers(item, selection))
    spoken = _speaks(passage.text, own, next((item for item in chain if item.start > own.start), None))
    if selection.kind == "remark" and spoken:  # "B. Paris is correct", within a list or not
        return False
    named = Counter(item.option for item in _standing(passage, chain, spoken and selection.kind == "announced"))
    return any(count >= named[own.option] for option, count in named.items() if option != own.option)


def may_head_a_list(passage: Passage, selection: Selection) -> bool:
    """Whether behind an option that is selected by its text a list may have gone on when the response was cut.

    So it may where nothing follows, where another label heads the next line, and where the text breaks off within
    what begins like another option.
    """
    text = passage.text
    own = next(item for item in items(passage, [selection]) if item.selected)
    if own.form == "label" or CLOSED in text[own.end : own.end + 4]:
        return False
    gap = _GAP.match(text, own.end)
    begin = gap.end() if gap else own.end
    mention = passage.by_start.get(begin)
    if mention and mention.capital and "\n" in text[own.end : begin]:
        same = len(mention.letters) == 1 and passage.canonical(mention.letters) == own.option
        return not same and not passage.rejected(mention)
    rest = key(text[begin : begin + passage.texts.widest])
    return any(said.startswith(rest) for said in passage.texts.keyed)


def _covers(item: Item, selection: Selection) -> bool:
    return item.start < selection.end and selection.start < item.end


def _chain_around(passage: Passage, selection: Selection, found: list[Selection]) -> list[Item]:
    """Consecutive items that only marks and remarks divide, among them the selected one."""
    chain: list[Item] = []
    for item in items(passage, found):
        if chain and not _linked(passage.text, chain[-1], item):
            if any(_covers(known, selection) for known in chain):
                break
            chain = []
        if chain or item.selected or _begins(passage.text, item):
            chain.append(item)
    return chain


def _begins(text: str, item: Item) -> bool:
    """Whether an item that is not selected may begin a list: as its line does, or behind words that lead up to one."""
    return _stands_at(_LINE_HEAD, text, item) or (item.form == "whole" and _stands_at(_LIST_HEAD, text, item))


def _linked(text: str, first: Item, second: Item) -> bool:
    if second.start - first.end > _WIDEST_GAP:
        return False
    if _GAP.fullmatch(text, first.end, second.start):
        # "B\nA. Lyon: on the Rhone" explains a letter that was chosen.
        return first.form != "label" or second.form == "label" or not _ANNOTATED.match(text, second.end)
    return first.form == second.form == "whole" and _REMARK.fullmatch(text, first.end, second.start) is not None


def _standing(passage: Passage, chain: list[Item], spoken: bool) -> list[Item]:
    """A chain's items without those that are turned down or, unless the selected one is too, spoken about."""
    text = passage.text
    kept: list[Item] = []
    all_down = False  # "A. Rome, C. Berlin and D. Oslo are wrong"
    behind: Item | None = None
    for item in reversed(chain):
        inline = behind is not None and not _NEW_SENTENCE.search(text, item.end, behind.start)
        all_down = (all_down and inline) or turned_down_after(text, item.end)
        into = behind if kept and kept[-1] is behind else None
        down = all_down or _is_turned_down(passage, item, behind)
        if item.selected or not (down or (_speaks(text, item, into) and not spoken)):
            kept.append(item)
        behind = item
    return kept


def _is_turned_down(passage: Passage, item: Item, behind: Item | None) -> bool:
    """Whether the words around an item, up to the next one, reject it."""
    end = behind.start if behind else len(passage.text)
    mention = passage.by_start.get(item.start)
    before = mention is not None and turned_down(passage.text, mention)
    return before or _VERDICT.match(passage.text, item.end, end) is not None


def _speaks(text: str, item: Item, into: Item | None) -> bool:
    """Whether an item is what a sentence is about ("A. Rome lies on the Tiber") instead of standing for itself.

    Args:
        text: the plain text.
        item: what may begin a sentence.
        into: the next item, if that stands for itself.
    """
    if (into and _GAP.fullmatch(text, item.end, into.start)) or _ENDS.match(text, item.end):
        return False
    if item.form == "text":
        return True
    return _stands_at(_SENTENCE_HEAD, text, item) and not _ANNOTATED.match(text, item.end)


def _stands_at(head: re.Pattern[str], text: str, item: Item) -> bool:
    return head.search(text[max(0, item.start - _HEAD_WIDTH) : item.start]) is not None
