"""A benchmark's configuration, and its questions, from wherever it says that they come."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from stablechoice.errors import ConfigError, DataError
from stablechoice.questions.hub import Hub, read_hub
from stablechoice.questions.loading import encode, read_source, repeated_ids
from stablechoice.questions.nonsense import OPTION_WORDS, STEM_WORDS, generate
from stablechoice.questions.question import Question
from stablechoice.questions.table_file import read_table

FOLDER_VARIABLE = "STABLECHOICE_SOURCES"
"""Environment variable that names a folder of source files; it is sought before `data/sources`."""

OPEN = "???"
"""Stands in a configuration for what a person must fill in; until then the benchmark is refused."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the prepared questions must be.

    Attributes:
        count: number of rows.
        sha256: of the prepared questions file.
        repeated: number of ids that stand more than once.
    """

    count: int
    sha256: str
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class Generated:
    """Arguments of `nonsense.generate`; the configuration's `file` is its word list."""

    seed: int
    count: int
    option_count: int
    stem_words: tuple[int, ...] = STEM_WORDS
    option_words: int = OPTION_WORDS

    def questions(self, words: Path) -> list[Question]:
        """What is generated from a list of words."""
        shortest, longest = self.stem_words if len(self.stem_words) == 2 else (0, 0)
        return generate(
            self.seed,
            self.count,
            self.option_count,
            words,
            stem_words=(shortest, longest),
            option_words=self.option_words,
        )


@dataclass(frozen=True, slots=True)
class Source:
    """A benchmark, as `conf/benchmark/<key>.yaml` describes it: fields are the keys of that file.

    Attributes:
        title: name in tables.
        benchmark: word in tie-breaks and repeat subsets, and subject of rows that have none (ARC's); samples of one
            benchmark share it.
        prepared: what `load` checks.
        sample: sampling rule and its arguments, see `sampling.sample`.
        manifest: path of the sample's list, below the repository's root.
        columns: columns of the manifest.
        commit_texts: whether files with the questions' text may be versioned.
        file: name of a local source file: `.jsonl` as `loading.read_source` reads it, or `.parquet` or `.csv` in the
            columns in which the data set is published; or of the word list, where questions are generated.
        hub: where the same rows lie on the hub.
        generated: arguments of the generator.
        reader: `module.function` that reads `file` in a format of its own: given the file's path and `benchmark`, it
            returns the questions in source order.
        pool: key of another benchmark whose questions serve for calibration and as demonstrations; None for those of
            this one that its sample leaves out.
        repeats: path of the list of questions that are asked repeatedly; None where none are.
        repeat_count: length of that list.
    """

    title: str
    benchmark: str
    prepared: Prepared
    sample: Mapping[str, Any]
    manifest: str
    columns: tuple[str, ...]
    commit_texts: bool
    file: str
    hub: Hub | None = None
    generated: Generated | None = None
    reader: str | None = None
    pool: str | None = None
    repeats: str | None = None
    repeat_count: int = 100

    @classmethod
    def read(cls, path: Path) -> Source:
        """Read a benchmark's YAML file.

        Raises:
            ConfigError: it is missing, is no YAML, or breaks `from_mapping`'s rules.
        """
        try:
            mapping = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError) as error:
            reason = str(error).splitlines()[0]
            raise ConfigError(
                f"{path}: cannot be read as YAML ({reason}); conf/benchmark holds one file a benchmark"
            ) from error
        return cls.from_mapping(mapping, str(path))

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], where: str) -> Source:
        """Make a Source from the YAML file's plain content.

        Args:
            where: the file, for messages.

        Raises:
            ConfigError: an unknown, missing or mistyped key; the message names file, key and what is allowed.
        """
        values = _values(cls, mapping, where)
        values["prepared"] = Prepared(**_values(Prepared, values["prepared"], f"{where}: prepared"))
        for key, part in (("hub", Hub), ("generated", Generated)):
            if values.get(key) is not None:
                values[key] = part(**_values(part, values[key], f"{where}: {key}"))
        if values.get("hub") and values.get("generated"):
            raise ConfigError(
                f"{where}: has hub and generated; questions are read or generated, so remove one of the two"
            )
        if values.get("reader") and (values.get("hub") or values.get("generated")):
            raise ConfigError(f"{where}: 'reader' reads 'file', so it stands alone; remove 'hub' or 'generated'")
        values["columns"] = tuple(values["columns"])
        if isinstance(generated := values.get("generated"), Generated):
            values["generated"] = replace(generated, stem_words=tuple(generated.stem_words))
        return cls(**values)


def is_open(path: Path) -> bool:
    """Whether a benchmark's YAML file leaves a value to be filled in (`???`): nothing can be prepared from it yet.

    Raises:
        ConfigError: the file cannot be read as YAML.
    """
    try:
        return _holds_open(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"{path}: cannot be read as YAML ({reason}); mend the file") from error


def _holds_open(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_open, value.values()))
    return any(map(_holds_open, value)) if isinstance(value, list) else value == OPEN


def load(config: Source, root: Path = Path(), *, where: str = "") -> list[Question]:
    """All questions of a benchmark, in source order, checked against the configuration.

    A local file is preferred to the hub: it is `file` in the folder that STABLECHOICE_SOURCES names, else in
    `data/sources`.

    Args:
        root: the repository's root.
        where: the file that describes the benchmark, for messages; empty for its title.

    Raises:
        DataError: the source is missing or malformed, or its questions are not the pinned ones.
    """
    questions = _questions(config, root)
    sha256 = hashlib.sha256(encode(questions)).hexdigest()
    found = Prepared(len(questions), sha256, len(repeated_ids(questions)))
    if found != config.prepared:
        raise DataError(_other_than_pinned(where or config.title, found, config.prepared))
    return questions


def _other_than_pinned(where: str, found: Prepared, pinned: Prepared) -> str:
    """All that differs at once, and the line that would pin what was found."""
    differing = [
        f"prepared.{field.name} is {getattr(found, field.name)} and {getattr(pinned, field.name)} is pinned"
        for field in fields(Prepared)
        if getattr(found, field.name) != getattr(pinned, field.name)
    ]
    repeated = f", repeated: {found.repeated}" if found.repeated else ""
    return (
        f"{where}: the source holds other questions than the pinned ones ({'; '.join(differing)}): restore the source, "
        "or, if it was changed on purpose or is new, write there: "
        f"`prepared: {{count: {found.count}, sha256: {found.sha256}{repeated}}}`"
    )


def _questions(config: Source, root: Path) -> list[Question]:
    folders = [root / "data" / "sources"]
    if named := os.environ.get(FOLDER_VARIABLE):
        folders.insert(0, root / named)
    local = next((folder / config.file for folder in folders if (folder / config.file).is_file()), None)
    if local is not None and config.generated is not None:
        return config.generated.questions(local)
    if local is not None and config.reader is not None:
        return _read_by(config.reader, local, config)
    if local is not None:
        return read_source(local) if local.suffix == ".jsonl" else read_table(local, config.benchmark)
    otherwise = f"put {config.file} into data/sources or into the folder that {FOLDER_VARIABLE} names"
    if config.hub is not None:
        return read_hub(config.hub, config.benchmark, otherwise)
    raise DataError(f"{config.title}: {config.file} is in none of {', '.join(map(str, folders))}; {otherwise}")


def _read_by(name: str, path: Path, config: Source) -> list[Question]:
    """Questions that a function of one's own reads.

    Raises:
        ConfigError: there is no such function.
        DataError: it returns something else than questions.
    """
    module, _, function = name.rpartition(".")
    try:
        read = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"{config.title}: reader {name!r} cannot be imported ({error}); give module.function"
        ) from error
    questions = list(read(path, config.benchmark))
    if not all(isinstance(question, Question) for question in questions):
        raise DataError(f"{path}: reader {name!r} must return a list of Question; mend that function")
    return questions


_TYPES: Mapping[str, tuple[type, str]] = {
    "str": (str, "text"),
    "str | None": (str, "text"),
    "int": (int, "a whole number"),
    "bool": (bool, "true or false"),
    "tuple[str, ...]": (list, "a list"),
    "tuple[int, ...]": (list, "a list"),
}


def _values(part: Any, mapping: Any, where: str) -> dict[str, Any]:
    """A dataclass's arguments from a mapping, with keys and plain types checked."""
    known = {field.name: field for field in fields(part)}
    if not isinstance(mapping, Mapping):
        raise ConfigError(f"{where}: a mapping with the keys {', '.join(known)} is wanted, found {mapping!r}")
    if unknown := [str(key) for key in mapping if key not in known]:
        near = get_close_matches(unknown[0], known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ";"
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}{hint} allowed are {', '.join(known)}")
    for name, field in known.items():
        if name not in mapping:
            if field.default is MISSING:
                raise ConfigError(f"{where}: the key {name!r} is missing; it needs {', '.join(known)}")
            continue
        wanted, words = _TYPES.get(str(field.type), (Mapping, "a mapping"))
        value = mapping[name]
        open_or_wrong = value == OPEN or not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))
        if open_or_wrong and not (value is None and field.default is None):
            raise ConfigError(f"{where}: {name!r} must be {words}, found {value!r}")
    return dict(mapping)
