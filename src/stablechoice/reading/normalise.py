"""Texts made comparable: for the semantic cascade, and for finding a decision in what a model wrote."""

from __future__ import annotations

import re
import unicodedata

CLOSED = "∎"
"""Stands in plain text where a container that holds a whole answer (`\\boxed{}`, `<answer>`) was closed."""

BOLD_OPEN, BOLD_CLOSE = "‹", "›"
"""Stand in plain text around a letter that was bold on its own."""

_BLANKS = re.compile(r"[^\S\n]{2,}|[^\S\n ]")  # a single blank is as it should be
_BLANK_LINES = re.compile(r"[ ]?\n[ \n]*")
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\ufe0e\ufe0f" + CLOSED + BOLD_OPEN + BOLD_CLOSE + "]")
_QUOTES = str.maketrans("‘’‚‛“”„‟«»「」『』【】〔〕", '\'\'\'\'""""""""""[][]')

_THINKING = re.compile(r"<(/?)(?:think|thinking|thought|reasoning|scratchpad)>", re.IGNORECASE)
_END_OF_TURN = re.compile(r"<\|(?:im_end|eot_id|end|endoftext|end_of_text|eom_id)\|>|</s>|<end_of_turn>")
_TURN = re.compile(r"<\|[\w ]{1,40}\|>|</?s>|<(?:end|start)_of_turn>|\[/?INST\]")
_STYLE_TAG = re.compile(r"</?(?:b|i|u|em|strong|p|span|code|mark) ?/?>")  # lower case only: <B> is a letter
_BREAK_TAG = re.compile(r"<br ?/?>", re.IGNORECASE)
_ANSWER_OPEN = re.compile(r"<(?:final_?)?(?:answer|choice)>", re.IGNORECASE)
_ANSWER_CLOSE = re.compile(r"</(?:final_?)?(?:answer|choice)>", re.IGNORECASE)
_LATEX_FONT = re.compile(r"\\(?:text|math|operatorname)(?:bf|it|rm|sf|tt|normal)?\s*\{([^{}]*)\}")
_LATEX_BOX = re.compile(r"\\f?boxed\s*\{([^{}]*)\}")
_LATEX_BRACKET = re.compile(r"\\[()\[\]]")
_BOLD_LETTER = re.compile(r"(\*\*|__)\s?\(?([A-Za-z])[).]{0,2}\s?\1(?!\w)")
_EDGE_UNDERSCORE = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")
_LINE_HEAD = re.compile(r"^[ ]*(?:[#>]+[ ]*)+", re.MULTILINE)
_KEY_EDGE = " \n\"'.,;:!"


def normalise(text: str) -> str:
    """The cascade's normal form ([P2] G.3; PROTOCOL 4): strip, lower, collapse white space. Nothing else."""
    return " ".join(text.split()).lower()


def after_thinking(text: str) -> str:
    """What a response says outside `<think>` and its like.

    Templates may write the opening tag themselves, so all that precedes a closing tag is thought; thought that never
    closes is no answer either.
    """
    kept = ""
    position = 0
    thinking = False
    for tag in _THINKING.finditer(text):
        if tag[1]:
            kept = "" if not thinking else kept
        elif not thinking:
            kept += text[position : tag.start()]
        thinking = not tag[1]
        position = tag.end()
    return kept if thinking else kept + text[position:]


def _own_turn(text: str) -> str:
    """Text up to the first end-of-turn token that an engine let through; what follows answers nothing."""
    own = _END_OF_TURN.split(text, maxsplit=1)[0]
    return own if own.strip() else text


def fold(text: str) -> str:
    """Written variants of one character made one: full-width and mathematical letters, quotes, line ends, blank lines.

    Letters of other scripts that merely look Latin (Cyrillic А, Greek Β) stay what they are.
    """
    if _is_folded(text):
        return text
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).translate(_QUOTES)
    return _BLANK_LINES.sub("\n", _BLANKS.sub(" ", _LINE_ENDS.sub("\n", text)))


def _is_folded(text: str) -> bool:
    """Whether there is nothing to fold, as in most lines and many answers: told quickly, without any pattern."""
    if not text.isascii() or "  " in text:
        return False
    if "\n" not in text:
        return text.isprintable()
    return not any(blank in text for blank in ("\n\n", " \n", "\n ")) and text.replace("\n", " ").isprintable()


def plain(text: str) -> str:
    """A response without markup, thought, LaTeX fonts and control tokens.

    An answer box becomes `answer: X∎` and a bold letter `‹X›`, so that the rules of `letter` see one notation.
    """
    text = fold(text)
    if "<" in text or "[" in text:
        text = _TURN.sub("\n", _STYLE_TAG.sub("", _BREAK_TAG.sub("\n", after_thinking(_own_turn(text)))))
        text = _ANSWER_CLOSE.sub(CLOSED, _ANSWER_OPEN.sub("answer: ", text))
    if "\\" in text:
        text = _LATEX_FONT.sub(r"\1", _LATEX_FONT.sub(r"\1", text))
        text = _LATEX_BRACKET.sub("", _LATEX_BOX.sub(rf" answer: \1{CLOSED}", text))
    if "*" in text or "_" in text:
        text = _BOLD_LETTER.sub(rf"{BOLD_OPEN}\2{BOLD_CLOSE}", text)
        text = _EDGE_UNDERSCORE.sub("", text.replace("*", ""))
    if "#" in text or ">" in text:
        text = _LINE_HEAD.sub("", text)
    return text.replace("`", "").replace("$", "")


def key(text: str) -> str:
    """Form in which a whole text is compared with an option when they are not equal as displayed.

    Case, white space, markup and punctuation at the edges do not count; signs, digits and question marks do.
    """
    return " ".join(plain(text).split()).strip(_KEY_EDGE).casefold()
