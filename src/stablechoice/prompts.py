"""Bundles of prompt templates: plain text files, filled in one pass, hashed."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from stablechoice.errors import ConfigError
from stablechoice.questions.question import Question

_PLACEHOLDER = re.compile(r"\{(question|options|option_text|free_text)\}")
_WHITE = re.compile(r"\s+")


def display(option: str) -> str:
    """An option as shown: white space collapsed (PROTOCOL 2). The stored option stays raw."""
    return _WHITE.sub(" ", option).strip()


def lettered(question: Question, rotation: int) -> str:
    """One `A. text` line an option, no trailing newline."""
    shown = question.rotated(rotation)
    return "\n".join(f"{label}. {display(option)}" for label, option in zip(question.labels, shown, strict=True))


@dataclass(frozen=True, slots=True)
class Prompts:
    """The templates of one bundle, by name (`direct_mcq`, `reasoning/free_text`, ...)."""

    bundle: str
    templates: tuple[tuple[str, str], ...]

    @classmethod
    def load(cls, folder: Path) -> Prompts:
        """Read every `.txt` below a bundle's folder; one trailing newline of the file is not part of the prompt.

        Raises:
            ConfigError: the folder is missing or holds no template.
        """
        files = sorted(folder.rglob("*.txt"))
        if not files:
            raise ConfigError(f"{folder}: no prompt template (*.txt) found; the bundle is a folder of conf/prompt")
        read = {f.relative_to(folder).with_suffix("").as_posix(): f.read_bytes().decode("utf-8") for f in files}
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
        self, name: str, question: Question, rotation: int = 0, *, free_text: str = "", option_text: str = ""
    ) -> str:
        """Fill a template in a single pass, so that braces or placeholders inside data pass through unchanged."""
        values = {
            "question": question.question,
            "options": lettered(question, rotation),
            "free_text": free_text,
            "option_text": option_text,
        }
        return _PLACEHOLDER.sub(lambda match: values[match.group(1)], self.template(name))
