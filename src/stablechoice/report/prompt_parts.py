"""A prompt as what distinguishes it: its template's fragments and references to texts that are there anyway."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from stablechoice.prompts import Prompts, display, lettered
from stablechoice.questions.question import Question
from stablechoice.request import Request

Part = int | str
"""A literal by its number, or a reference: `q` the stem, `x` the option that the request is about, `t<k>` the text of
the row's k-th response, `o[<labels>][/<order>]` the options as they were shown. Labels and order are lists with a space
between. Labels: left out for A, B, C, …; `-` for dashes. Order: the canonical option in each slot, left out where it is
the address's rotation."""

_PLACEHOLDER = re.compile(r"(\{(?:question|options|option_text|free_text|demonstrations)\})")
_UNKNOWN = ("{free_text}", "{demonstrations}")
_OPTIONS = "{options}"
_LINE = re.compile(r"(?:-|(?P<label>\w+)\.) (?P<text>.*)")
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
    for parts in _explanations(request, question, prompts, texts):
        if "".join(text for _, text in parts) == request.prompt:
            return [literal(text) if reference is None else reference for reference, text in parts if text]
    return [literal(request.prompt)]


def _explanations(
    request: Request, question: Question, prompts: Prompts, texts: Mapping[str, int]
) -> Iterator[list[_Piece]]:
    """What the prompt may be by the request's template, as (reference or None for a literal, text).

    Letters in the rotation's order come first, which most strategies show; what else the options' place holds is read
    from the prompt itself, so that no strategy needs to be known.
    """
    step, rotation, option, _ = request.address
    known = dict(prompts.templates)
    if step not in known or option >= len(question.options):
        return
    split = _PLACEHOLDER.split(known[step])
    values: dict[str, _Piece] = {
        "{question}": ("q", question.question),
        "{option_text}": ("x", display(question.options[option])),
    }
    if _OPTIONS not in split:
        yield from _filled(request.prompt, split, values, texts)
        return
    if 0 <= rotation < len(question.options):
        plain: _Piece = ("o", lettered(question, rotation))
        yield from _filled(request.prompt, split, values | {_OPTIONS: plain}, texts)
    blocks = list(_blocks(request.prompt, split, values))
    for block in blocks:
        shown = shown_options(block, question, rotation)
        if shown is not None:
            yield from _filled(request.prompt, split, values | {_OPTIONS: (shown, block)}, texts)
    for block in blocks:
        yield from _filled(request.prompt, split, values | {_OPTIONS: (None, block)}, texts)


def _filled(
    prompt: str, split: Sequence[str], values: Mapping[str, _Piece], texts: Mapping[str, int]
) -> Iterator[list[_Piece]]:
    """The template with its one unknown piece, if it has one, filled with what stands between the others."""
    unknown = [place for place, piece in enumerate(split) if piece in _UNKNOWN]
    pieces = [values.get(piece, (None, piece)) for piece in split]
    if not unknown:
        yield pieces
    elif len(unknown) == 1:
        before, after = pieces[: unknown[0]], pieces[unknown[0] + 1 :]
        quoted = prompt[len(_text(before)) : len(prompt) - len(_text(after))]
        yield [*before, (f"t{texts[quoted]}" if quoted in texts else None, quoted), *after]


def _blocks(prompt: str, split: Sequence[str], values: Mapping[str, _Piece]) -> Iterator[str]:
    """Texts that may stand at the template's one place of options, the likeliest first.

    One side of it must be known whole. On the other, demonstrations or an answer may have held the same words before or
    behind, so that what is nearest to the known side comes first.
    """
    if split.count(_OPTIONS) != 1:
        return
    at = split.index(_OPTIONS)
    head = [place for place in range(at) if split[place] in _UNKNOWN]
    tail = [place for place in range(at + 1, len(split)) if split[place] in _UNKNOWN]
    before = _text([values.get(piece, (None, piece)) for piece in split[head[-1] + 1 if head else 0 : at]])
    after = _text([values.get(piece, (None, piece)) for piece in split[at + 1 : tail[0] if tail else len(split)]])
    if not tail and prompt.endswith(after):
        stop = len(prompt) - len(after)
        if not head and prompt.startswith(before):
            yield prompt[len(before) : stop]
        elif head and before:
            for found in reversed(list(re.finditer(f"(?={re.escape(before)})", prompt[:stop]))):
                yield prompt[found.start() + len(before) : stop]
    elif not head and after and prompt.startswith(before):
        for found in re.finditer(f"(?={re.escape(after)})", prompt[len(before) :]):
            yield prompt[len(before) : len(before) + found.start()]


def shown_options(block: str, question: Question, rotation: int) -> str | None:
    """The reference for a block of options, one `A. text` or `- text` a line; None where it cannot be read as that.

    Options that look alike are told apart by the rotation alone.
    """
    lines = [_LINE.fullmatch(line) for line in block.split("\n")]
    found = [line for line in lines if line is not None]
    displayed = [display(option) for option in question.options]
    if len(found) != len(lines) or len(found) != len(displayed):
        return None
    labels, texts = [line["label"] for line in found], [line["text"] for line in found]
    if labels.count(None) not in (0, len(labels)) or (None not in labels and len(set(labels)) < len(labels)):
        return None
    marks = "-" if None in labels else "" if labels == list(question.labels) else " ".join(labels)
    if rotation in question.rotations and texts == [display(option) for option in question.rotated(rotation)]:
        return f"o{marks}"
    if sorted(texts) != sorted(displayed) or len(set(displayed)) < len(displayed):
        return None
    return f"o{marks}/{' '.join(str(displayed.index(text)) for text in texts)}"


def _text(pieces: Sequence[_Piece]) -> str:
    return "".join(text for _, text in pieces)
