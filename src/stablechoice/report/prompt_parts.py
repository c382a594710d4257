"""A prompt as what distinguishes it: its template's fragments and references to texts that are there anyway."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from stablechoice.prompts import Prompts, display, lettered
from stablechoice.questions.question import Question
from stablechoice.request import Request

Part = int | str
"""A literal by its number, or a reference: `q` the stem, `o` the options as the rotation shows them, `x` the option
that the request is about, `t<k>` the text of the row's k-th response."""

_PLACEHOLDER = re.compile(r"(\{(?:question|options|option_text|free_text|demonstrations)\})")
_Piece = tuple[str | None, str]


def prompt_parts(
    request: Request,
    question: Question,
    prompts: Prompts,
    texts: Mapping[str, int],
    literal: Callable[[str], int],
) -> list[Part]:
    """Parts that, put together, are the prompt byte for byte; one literal where the template does not explain it.

    Args:
        texts: responses to the same question by their text, for prompts that quote one.
        literal: gives a text its number.
    """
    parts = _explained(request, question, prompts, texts)
    if parts is None or "".join(text for _, text in parts) != request.prompt:
        return [literal(request.prompt)]
    return [literal(text) if reference is None else reference for reference, text in parts if text]


def _explained(
    request: Request, question: Question, prompts: Prompts, texts: Mapping[str, int]
) -> list[tuple[str | None, str]] | None:
    """(reference or None for a literal, text) by the request's template; None where it cannot be its template."""
    step, rotation, option, _ = request.address
    known = dict(prompts.templates)
    if step not in known or not 0 <= rotation < len(question.options) or option >= len(question.options):
        return None
    values: dict[str, tuple[str | None, str]] = {
        "{question}": ("q", question.question),
        "{options}": ("o", lettered(question, rotation)),
        "{option_text}": ("x", display(question.options[option])),
    }
    split = _PLACEHOLDER.split(known[step])
    if split.count("{demonstrations}") == split.count("{options}") == 1:
        return _behind_demonstrations(request.prompt, split, values)
    pieces = [None if piece == "{free_text}" else values.get(piece, (None, piece)) for piece in split]
    if None not in pieces:
        return [piece for piece in pieces if piece is not None]
    return _with_quoted(request.prompt, pieces, texts)


def _with_quoted(
    prompt: str, pieces: list[tuple[str | None, str] | None], texts: Mapping[str, int]
) -> list[tuple[str | None, str]] | None:
    """Fill the one unknown piece with what stands between the others; None where there are several."""
    if pieces.count(None) > 1:
        return None
    place = pieces.index(None)
    before = [piece for piece in pieces[:place] if piece is not None]
    after = [piece for piece in pieces[place + 1 :] if piece is not None]
    start, end = sum(len(text) for _, text in before), sum(len(text) for _, text in after)
    quoted = prompt[start : len(prompt) - end]
    return [*before, (f"t{texts[quoted]}" if quoted in texts else None, quoted), *after]


def _behind_demonstrations(prompt: str, split: list[str], values: Mapping[str, _Piece]) -> list[_Piece] | None:
    """A prompt whose demonstrations are the same text for many questions, and whose options may bear any labels.

    Demonstrations are what stands before the last place where the template's text between them and the options stands.
    """
    first, second = split.index("{demonstrations}"), split.index("{options}")
    if first > second:
        return None
    before, between, after = (
        [values.get(piece, (None, piece)) for piece in part]
        for part in (split[:first], split[first + 1 : second], split[second + 1 :])
    )
    middle, end = ("".join(text for _, text in part) for part in (between, after))
    start = sum(len(text) for _, text in before)
    at = prompt.rfind(middle, start, len(prompt) - len(end)) if middle else -1
    if at < 0:
        return None
    block = prompt[at + len(middle) : len(prompt) - len(end)]
    shown: _Piece = values["{options}"] if block == values["{options}"][1] else (None, block)
    return [*before, (None, prompt[start:at]), *between, shown, *after]
