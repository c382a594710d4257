"""Bundles of prompt templates: plain text files, filled in one pass, hashed."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from stablechoice.errors import ConfigError
from stablechoice.questions.question import Question

_PLACEHOLDER = re.compile(r"\{(question|options|option_text|free_text|demonstrations|answer)\}")
_BRACED = re.compile(r"\{[^{}\n]*\}?")
NEEDED = {
    "direct_mcq": ("question", "options"),
    "reasoning/direct_mcq": ("question", "options"),
    "free_text": ("question",),
    "reasoning/free_text": ("question",),
    "option_matching": ("question", "options", "free_text"),
    "text_extraction": ("question", "options"),
    "independent_hypothesis": ("question", "option_text"),
    "free_text_v2": ("question",),
    "option_matching_v3": ("question", "options", "free_text"),
    "option_verification": ("question", "option_text"),
    "answer_matching": ("question", "free_text", "option_text"),
    "labelled": ("demonstrations", "question", "options"),
    "dashed": ("demonstrations", "question", "options"),
    "demonstration/labelled": ("question", "options", "answer"),
    "demonstration/dashed": ("question", "options", "answer"),
}
"""What a template of this name must show; one of another name must show at least the question."""


def display(option: str) -> str:
    """An option as shown: white space collapsed (PROTOCOL 2). The stored option stays raw."""
    return " ".join(option.split())


def lettered(question: Question, rotation: int) -> str:
    """One `A. text` line an option, no trailing newline."""
    shown = question.rotated(rotation)
    return "\n".join(f"{label}. {display(option)}" for label, option in zip(question.labels, shown, strict=True))


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: is no UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8"
        ) from error


def _check(path: Path, name: str, text: str) -> None:
    """A misspelt placeholder would be sent to the model as it stands, and every question would read alike."""
    for braced in _BRACED.findall(text):
        if not _PLACEHOLDER.fullmatch(braced):
            known = "{question}, {options}, {option_text}, {free_text}, {demonstrations}, {answer}"
            raise ConfigError(f"{path}: {braced!r} is no placeholder; a template may hold {known}")
    for needed in NEEDED.get(name, ("question",)):
        if f"{{{needed}}}" not in text:
            raise ConfigError(f"{path}: the placeholder {{{needed}}} is missing; without it every question asks alike")


@dataclass(frozen=True, slots=True)
class Prompts:
    """The templates of one bundle, by name (`direct_mcq`, `reasoning/free_text`, ...)."""

    bundle: str
    templates: tuple[tuple[str, str], ...]

    @classmethod
    def load(cls, folder: Path) -> Prompts:
        """Read every `.txt` below a bundle's folder; one trailing newline of the file is not part of the prompt.

        Raises:
            ConfigError: the folder is missing or holds no template, or a template lacks a placeholder that it needs,
                has one that does not exist, or is no UTF-8 text.
        """
        files = sorted(folder.rglob("*.txt"))
        if not files:
            raise ConfigError(f"{folder}: no prompt template (*.txt) found; the bundle is a folder of conf/prompt")
        read = {file.relative_to(folder).with_suffix("").as_posix(): _text(file) for file in files}
        for name, text in read.items():
            _check(folder / f"{name}.txt", name, text)
        return cls(folder.name, tuple((name, text.removesuffix("\n")) for name, text in sorted(read.items())))

    def template(self, name: str) -> str:
        for known, text in self.templates:
            if known == name:
                return text
        names = ", ".join(known for known, _ in self.templates)
        raise ConfigError(f"prompt bundle {self.bundle!r} has no template {name!r}; it has: {names}")

    def sha256(self, name: str) -> str:
        """Hash of one template's text."""
        return hashlib.sha256(self.template(name).encode("utf-8")).hexdigest()

    def render(
        self,
        name: str,
        question: Question,
        rotation: int = 0,
        *,
        free_text: str = "",
        option_text: str = "",
        options: str | None = None,
        demonstrations: str = "",
        answer: str = "",
    ) -> str:
        """Fill a template in a single pass, so that braces or placeholders inside data pass through unchanged.

        Args:
            options: the block of options under labels of another design; None for letters.
            demonstrations: the block of solved questions before the one asked, with what divides it from that.
            answer: a solved question's answer.
        """
        values = {
            "question": question.question,
            "options": lettered(question, rotation) if options is None else options,
            "free_text": free_text,
            "option_text": option_text,
            "demonstrations": demonstrations,
            "answer": answer,
        }
        return _PLACEHOLDER.sub(lambda match: values[match.group(1)], self.template(name))
