"""What kind of question it is, by its form alone: `which of the following`, numeric. For relational see its file."""

from __future__ import annotations

import re
from typing import Literal

from stablechoice.questions.question import Question
from stablechoice.questions.relational import is_relational_option

QuestionType = Literal["which_of_the_following", "numeric"]
"""`which_of_the_following`: the stem points at the options, so that it is hard to answer without them; `numeric`: the
options are numbers. A question may be both, or neither."""

_FOLLOWING = re.compile(r"\b(?:which|what|who|all|one|none|each)\b[^.?!]{0,60}\bof\s+the\s+(?:\w+\s+){0,3}following\b")
_BELOW = re.compile(r"\bthe\s+following\s+(?:options|choices|answers|statements)\b|\bwhich\s+(?:\w+\s+)?statement\b")
_NUMBER = re.compile(
    r"""(?:about|approximately|approx\.|at\ (?:least|most)|less\ than|more\ than|[~≈<>≤≥=])?\s*
        [$€£¥]?\s*[+\-−–]?\s*[$€£¥]?\s*
        (?:\d[\d,.\u00a0\ ]*(?:/\s*\d+)?|\.\d+)
        (?:\s*[x×*·]\s*10\s*\^?\s*[{(]?[+\-−–]?\d+[)}]?)?
        (?:\^?\s*[+\-−–]?\d+)?
        \s*[%°]?
        (?:\s*[^\W\d_]\S*){0,3}\s*[.]?""",
    re.VERBOSE | re.IGNORECASE,
)


def is_numeric_option(text: str) -> bool:
    """Whether an option is a number: alone, or with a sign, a currency, a power of ten, or a unit of up to three words.

    `3.2 m/s`, `$1,500`, `1/2`, `25%`, `-4 x 10^-3 N` are numeric; `2 of them are false because` is not.
    """
    return _NUMBER.fullmatch(" ".join(text.split())) is not None


def question_types(question: Question) -> tuple[QuestionType, ...]:
    """The types of a question, sorted; empty where it is of none.

    Both papers name such strata as untested and give no rule, so these are ours: `which_of_the_following` where the
    stem says so ("which one of the following …", "all of the following … except", "which statement …"); `numeric`
    where every option is a number, relational ones left out, and at least two are.
    """
    stem = " ".join(question.question.split()).lower()
    numbers = [option for option in question.options if not is_relational_option(option)]
    found: list[QuestionType] = []
    if len(numbers) > 1 and all(map(is_numeric_option, numbers)):
        found.append("numeric")
    if _FOLLOWING.search(stem) or _BELOW.search(stem):
        found.append("which_of_the_following")
    return tuple(found)
