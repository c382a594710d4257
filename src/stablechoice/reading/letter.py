"""Which option a response chooses by its letter or by the option's whole text (PROTOCOL 4, "Letter").

The rules stand in `RULES`, in the order in which they are tried; the first one that finds something decides, and what
none of them finds is unscored. Nothing is guessed: a rule that could be wrong about an English sentence stays silent.

Where PROTOCOL leaves a case open, it is settled so:
    - A lone letter governs over an option whose text is that letter; a letter that is no label may be an option's text.
    - A letter beside the whole text of another option ("C. Paris" where Paris is B) is ambiguous.
    - A selection that is taken back ("Wait, ...") without a new one is ambiguous; so is selecting every option in turn.
    - A "Final answer:" that names no option leaves the response unread, whatever was selected before it.
    - Letters in a question ("B?"), under a condition or a denial select nothing.
    - What answers another question that the model wrote itself is not read.
    - The head of an echoed list of options is not chosen; an option said once more beside the list is (`listing`).
    - A cut response needs a decision whose line or box was closed before the cut, and no second opinion. An option's
      text needs something behind its line, too: else it might be the head of a list.
    - Only English announcements are known; in other languages lone letters, boxes, texts and "…: B" are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from stablechoice.observation import Reading, Reason
from stablechoice.prompts import display
from stablechoice.questions.question import LABELS, Question
from stablechoice.reading.listing import is_listed, may_head_a_list
from stablechoice.reading.mention import CLOSERS, OPENERS, Mention, mentions
from stablechoice.reading.normalise import CLOSED, fold, key, plain
from stablechoice.reading.option_text import option_texts
from stablechoice.reading.passage import Passage
from stablechoice.reading.selection import HEAD, Selection, heads_line, line_selection, line_selections, selections
from stablechoice.reading.status import unanswered
from stablechoice.request import Response


@dataclass(frozen=True, slots=True)
class Decision:
    """What a rule found: a canonical option and the rule's name, or the reason why the response chooses nothing."""

    choice: int | None
    reason: Reason | None = None
    how: str = ""


Rule = Callable[[Passage], Decision | None]

_LONE = re.compile(r"[\s*_`\"'(\[{<$]*([A-Za-z])[\s*_`\"')\]}>$.,:;!]*")
_QUESTION_HEAD = re.compile(
    r"^[ ]?(?:(?P<turn>human|user):|(?:(?:next |new )?question(?: \d+)?|q\d*|problem(?: \d+)?) ?[:.])\s*",
    re.IGNORECASE | re.MULTILINE,
)
_ECHOED = 40  # characters of the question that a restatement of it begins with
_FINAL = re.compile(r"(?<![a-z])final[ _]answer[\"']?\s?:[ ]*\n*[ ]*(?=[^\s])", re.IGNORECASE)
_FINAL_CUE = re.compile(r"(?<![a-z])final[ _]answer", re.IGNORECASE)
_TAKEN_BACK = re.compile(
    r"(?:^|[.!?\n…—–-])[\s\"'(]*(?:(?:oh|no|but|hmm),? )?(?:wait\b[,.!…-]|hold on\b|scratch that\b|correction:|"
    r"on second thou?ghts?\b|let me (?:re-?consider|re-?think|re-?evaluate|re-?calculate|re-?do|correct)\b|"
    r"i made (?:a|an) (?:mistake|error)\b)",
    re.IGNORECASE,
)
_TAKEN_BACK_AT_ONCE = re.compile(
    rf"{CLOSERS}{{0,3}}[.!,… \n–—-]{{0,5}}(?:no, |actually,? |but )?(?:that|this)(?:'s| is| was) "
    r"(?:wrong|incorrect|not (?:right|correct))\b",
    re.IGNORECASE,
)
_COMPLETE = re.compile(rf"[^\n]*\n|[ \"'.)\]]{{0,4}}{CLOSED}")
_REFUSED = re.compile(
    r"\b(?:i|we)(?:'m| am| are)? (?:(?:really|very|so|truly|afraid|sorry|but|that|i|we|simply|just|currently|am|'m)"
    r"[ ,]+){0,5}(?:can't|cannot|can not|couldn't|won't|will not|unable to|not able to|must decline|decline|refuse"
    r"|have to decline)\b[^.!?\n]{0,60}?\b(?:answer|assist|help|provide|choose|select|comply|respond|engage|fulfil\w*)"
    r"|\bi(?:'m| am) sorry,? but (?:i|this|that)\b"
    r"|\bas an ai\b[^.!?\n]{0,80}\b(?:can't|cannot|unable|not able|don't|do not|won't)\b",
    re.IGNORECASE,
)
_STANDS_BEFORE = re.compile(
    r"(?:^|[.:;,\n→–—-]|[=-]>|!\s|[.,;:] but|\b(?:option|choice|answer|letter|is|be|so|thus|hence|therefore|then|that"
    r"|with|say|think|believe|seems|probably|likely|perhaps|maybe|definitely|certainly|clearly|just|opinion|mean"
    rf"|either|both|between|guess))\s?{OPENERS}{{0,3}}$",
    re.IGNORECASE,
)
_STANDS_AFTER = re.compile(
    rf"{CLOSERS}{{0,3}}(?:\s*$|[ ]?[.,;:!\n–—-]| (?:because|since|as|would|should|must|seems|appears|best|makes|fits"
    r"|describes|matches|explains|represents|states|answers|correctly|here|it|looks|sounds|then|instead|too)\b)",
    re.IGNORECASE,
)
_NAMED = re.compile(rf"\b(?:option|choice)\s?{OPENERS}{{0,3}}$", re.IGNORECASE)


def read_letter(response: Response, question: Question, rotation: int) -> Reading:
    """Read the chosen option, mapped back to its canonical index.

    Args:
        response: the model's answer; a status other than `ok` is unscored with that status's reason.
        question: whose labels are valid; letters beyond them are `out_of_range`.
        rotation: the order in which the options were shown.

    Returns:
        A reading whose `how` is `lone_letter`, `selection`, `leading_label`, `option_text` or `weak_letter`; or an
        unscored one with reason `empty`, `refusal`, `ambiguous`, `out_of_range`, `no_answer`, `truncated` or
        `request_failed`.
    """
    reason = unanswered(response)
    if reason is not None:
        return Reading(rotation, None, reason)
    if not response.text.strip():
        return Reading(rotation, None, "empty")
    decision = _decide(response, question, rotation)
    return Reading(rotation, decision.choice, decision.reason, decision.how)


def _decide(response: Response, question: Question, rotation: int) -> Decision:
    if response.finish == "length":
        return _first_found(response, question, rotation, (decided_before_the_cut,)) or Decision(None, "truncated")
    return (
        _lone_letter(response.text, question, rotation)
        or _first_found(response, question, rotation, RULES)
        or Decision(None, "no_answer")
    )


def _lone_letter(raw: str, question: Question, rotation: int) -> Decision | None:
    """Nothing but a valid letter and marks around it, in any case: most answers, hence read before anything else."""
    lone = _LONE.fullmatch(raw)
    slot = LABELS.index(lone[1].upper()) if lone else len(LABELS)
    if slot >= len(question.options):
        return None
    option = question.canonical(slot, rotation)
    said = option_texts(question.options).displayed.get(raw.strip(), ())
    if said and option not in said and len(raw.strip()) > 1:  # an option reads "A." under another letter
        return Decision(None, "ambiguous")
    return Decision(option, how="lone_letter")


def _first_found(response: Response, question: Question, rotation: int, rules: tuple[Rule, ...]) -> Decision | None:
    passage = Passage(response.text, own_part(plain(response.text), question), question, rotation)
    for rule in rules:
        decision = rule(passage)
        if decision is not None:
            return decision
    return None


def own_part(text: str, question: Question) -> str:
    """A plain text up to where the model goes on to write and answer another question; a restatement is none."""
    for head in _QUESTION_HEAD.finditer(text):
        own = key(question.question)[:_ECHOED]
        if head["turn"] or not key(text[head.end() : head.end() + 2 * len(question.question)]).startswith(own):
            return text[: head.start()]
    return text


def whole_answer(passage: Passage) -> Decision | None:
    """The response is one letter, an option's whole text, or both, and nothing else.

    Of a text, case, markup and edge punctuation do not count. Options that display the same text cannot be told apart
    by it. Where an option's text is itself a selection of another ("Answer: A" as the text of D), it is unknown which
    of the two the model meant.
    """
    said = passage.texts.displayed.get(display(passage.raw))
    whole = line_selection(passage, 0, len(passage.text))
    if said is None:
        return _decided(whole) if whole else None
    if len(said) > 1 or any(s.choice not in (None, *said) for s in selections(passage)):
        return Decision(None, "ambiguous")
    return Decision(said[0], how="option_text")


def explicit_selection(passage: Passage) -> Decision | None:
    """The last explicit selection governs, unless it is taken back or a final answer behind it cannot be read."""
    found = selections(passage)
    last = found[-1] if found else None
    finals = [match.end() for match in _FINAL.finditer(passage.text)]
    if finals and (last is None or last.end < finals[-1]):
        return refusal(passage) or Decision(None, "no_answer")
    if last is None:
        return None
    if last.choice is not None and (
        _taken_back(passage.text, last.end) or _takes_each_in_turn(passage, found) or is_listed(passage, last, found)
    ):
        return Decision(None, "ambiguous")
    return _decided(last)


def refusal(passage: Passage) -> Decision | None:
    """The model says that it cannot or will not answer, and has selected nothing."""
    return Decision(None, "refusal") if _REFUSED.search(passage.text) else None


def weak_letter(passage: Passage) -> Decision | None:
    """A bare capital in running text, if it is the only one that stands as a label stands.

    It stands so beside punctuation or words that go with a label on either side. Never counted: a letter that the
    question uses as a word itself (point B, vitamin C), a letter that the text turns down, and a bare I.
    """
    used = _bare_letters(passage.question)
    standing: set[str] = set()
    named: set[str] = set()
    for mention in passage.mentions:
        stands, is_named = _stands(passage.text, mention), _is_named(passage, mention)
        if not mention.capital or not (stands or is_named):
            continue
        if passage.rejected(mention) or passage.doubted(mention.start):
            continue
        letters = {letter for letter in mention.letters if passage.canonical(letter) is not None}
        named |= letters if is_named else set()
        standing |= letters if stands and mention.letters not in used else set()
    options = {passage.canonical(letter) for letter in standing}
    lines = {line.choice for line in line_selections(passage) if line is not None}
    if len(standing | named) > 1 or len(options | lines) > 1:
        return Decision(None, "ambiguous")
    return Decision(options.pop(), how="weak_letter") if options else None


def decided_before_the_cut(passage: Passage) -> Decision | None:
    """A decision that was complete before the token cap cut the response, and that nothing in it puts in doubt.

    Decisions that differ show a model that is not done, and so does whatever selects another option behind the last.
    Complete is a decision behind which its line ended or its box was closed: what was cut on the line of "Final
    answer: B" might have gone on as "or C". The head of a list, perhaps cut itself, is no decision.
    """
    found = selections(passage)
    decided = [s for s in found if s.kind != "remark" and _is_complete(passage, s)]
    if not decided:
        return None
    last = decided[-1]
    if any(s.choice != last.choice for s in found if s in decided or s.start > last.start):
        return None
    if _taken_back(passage.text, last.end) or _FINAL_CUE.search(passage.text, last.end):
        return None
    if last.kind == "line" and _begins_a_list(passage, last):
        return None
    if last.choice is not None and (may_head_a_list(passage, last) or is_listed(passage, last, found)):
        return None
    return _decided(last)


RULES: tuple[Rule, ...] = (whole_answer, explicit_selection, refusal, weak_letter)


def _decided(selection: Selection) -> Decision:
    return Decision(selection.choice, selection.reason, selection.how if selection.choice is not None else "")


def _is_complete(passage: Passage, selection: Selection) -> bool:
    """Whether a selection's line ended, or the box closed that it stands in, alone or with its option's text."""
    mention = passage.by_start.get(selection.start)
    ends = {selection.end, passage.extent(mention) if mention else selection.end}
    return any(_COMPLETE.match(passage.text, end) for end in ends)


def _taken_back(text: str, end: int) -> bool:
    """Whether the text takes back what it has selected ("Wait, ..."), without selecting anew."""
    return _TAKEN_BACK_AT_ONCE.match(text, end) is not None or _TAKEN_BACK.search(text, end) is not None


def _takes_each_in_turn(passage: Passage, found: list[Selection]) -> bool:
    """Whether a text selects every option ("The answer is A. ... The answer is B. ...") without a final answer."""
    options = passage.question.rotations
    if len(options) < 3 or not {s.choice for s in found}.issuperset(options):
        return False
    return _FINAL_CUE.search(passage.text, max(0, found[-1].start - 40), found[-1].start) is None


def _begins_a_list(passage: Passage, line: Selection) -> bool:
    """Whether another label heads a line behind this one: the options are gone through, and the cut hides the end."""
    return any(m.start > line.end and heads_line(passage.text, m) for m in passage.mentions)


def _is_named(passage: Passage, mention: Mention) -> bool:
    """Whether it is a label, though perhaps not the chosen one: joined, "option B", or heading a list item."""
    text = passage.text
    stands_before = _STANDS_BEFORE.search(text, max(0, mention.start - 24), mention.start) is not None
    if len(mention.letters) > 1:
        return stands_before
    named = _NAMED.search(text, max(0, mention.start - 12), mention.start) or HEAD.match(text, mention.end)
    return named is not None or passage.extent(mention) > mention.end


def _stands(text: str, mention: Mention) -> bool:
    """Whether the words and marks on either side are those that stand beside a label."""
    if mention.letters == "I" and not re.match(CLOSERS, text[mention.end : mention.end + 1]):
        return False
    if not _STANDS_BEFORE.search(text, max(0, mention.start - 24), mention.start):
        return False
    opens_with_verb = not text[: mention.start].strip() and text.startswith(" is ", mention.end)
    return opens_with_verb or _STANDS_AFTER.match(text, mention.end) is not None


@lru_cache(maxsize=4096)
def _bare_letters(question: Question) -> frozenset[str]:
    """Capitals that the question or an option uses as words of their own; articles and pronouns are none."""
    texts = map(fold, (question.question, *question.options))
    return frozenset("".join(m.letters for text in texts for m in mentions(text) if m.capital))
