"""A benchmark's configuration, and its questions, from wherever it says that they come."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from stablechoice.errors import ConfigError, DataError
from stablechoice.questions.hub import Hub, read_hub
from stablechoice.questions.loading import encode, read_source, repeated_ids
from stablechoice.questions.nonsense import generate
from stablechoice.questions.question import Question

FOLDER_VARIABLE = "STABLECHOICE_SOURCES"
"""Environment variable that names a folder of source files; it is sought before `data/sources`."""


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
        file: name of a local source file (or of the word list, where questions are generated).
        hub: where the same rows lie on the hub.
        generated: arguments of the generator.
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
        values["columns"] = tuple(values["columns"])
        return cls(**values)


def load(config: Source, root: Path = Path()) -> list[Question]:
    """All questions of a benchmark, in source order, checked against the configuration.

    A local file is preferred to the hub: it is `file` in the folder that STABLECHOICE_SOURCES names, else in
    `data/sources`.

    Args:
        root: the repository's root.

    Raises:
        DataError: the source is missing or malformed, or its questions are not the pinned ones.
    """
    questions = _questions(config, root)
    repeated = len(repeated_ids(questions))
    sha256 = hashlib.sha256(encode(questions)).hexdigest()
    for what, found, pinned in (
        ("count", len(questions), config.prepared.count),
        ("repeated", repeated, config.prepared.repeated),
        ("sha256", sha256, config.prepared.sha256),
    ):
        if found != pinned:
            raise DataError(
                f"{config.title}: prepared.{what} of the source is {found}, but its configuration pins {pinned}; "
                f"restore the source, or, if it was changed on purpose, write the new value into conf/benchmark"
            )
    return questions


def _questions(config: Source, root: Path) -> list[Question]:
    folders = [root / "data" / "sources"]
    if named := os.environ.get(FOLDER_VARIABLE):
        folders.insert(0, Path(named))
    local = next((folder / config.file for folder in folders if (folder / config.file).is_file()), None)
    if local is not None and config.generated is not None:
        generated = config.generated
        return generate(generated.seed, generated.count, generated.option_count, local)
    if local is not None:
        return read_source(local)
    otherwise = f"put {config.file} into data/sources or into the folder that {FOLDER_VARIABLE} names"
    if config.hub is not None:
        return read_hub(config.hub, config.benchmark, otherwise)
    raise DataError(f"{config.title}: {config.file} is in none of {', '.join(map(str, folders))}; {otherwise}")


_TYPES: Mapping[str, tuple[type, str]] = {
    "str": (str, "text"),
    "str | None": (str, "text"),
    "int": (int, "a whole number"),
    "bool": (bool, "true or false"),
    "tuple[str, ...]": (list, "a list"),
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
        open_or_wrong = value == "???" or not isinstance(value, wanted) or (wanted is int and isinstance(value, bool))
        if open_or_wrong and not (value is None and field.default is None):
            raise ConfigError(f"{where}: {name!r} must be {words}, found {value!r}")
    return dict(mapping)
