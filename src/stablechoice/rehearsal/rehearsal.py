"""The place of a rehearsal: the study's own configuration, its models replaced by scripted ones under the same keys."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import stablechoice
from stablechoice.durable import write_whole
from stablechoice.engines.fingerprint import file_sha256
from stablechoice.errors import ConfigError
from stablechoice.questions.loading import encode
from stablechoice.questions.nonsense import read_words
from stablechoice.questions.source import FOLDER_VARIABLE
from stablechoice.rehearsal.failure import RehearsalError
from stablechoice.rehearsal.generated_benchmark import SHAPES, generate
from stablechoice.rehearsal.published_model import figures_of
from stablechoice.report.published import Published, load_published
from stablechoice.request import canonical_json

STUDY = "paper"
MARK = ".rehearsal"
"""A file in every place of a rehearsal, locked while one runs there; a folder of other content is left alone.

It is never removed or replaced: two rehearsals would then lock two files of one name.
"""

_ENGINE = "rehearsed"
_ENGINE_FILE = """\
# Answers by published figures; they stand in the model's file.
_target_: stablechoice.rehearsal.engine.RehearsedEngine
"""
_COPIED = ("conf", "data/published", "data/manifests")
_SIMULATED = """\
# Simulated

Every number, table and figure below this folder comes of a rehearsal: scripted models under the names of real ones,
which answer by published figures. No language model was asked. Figures' data (`figures/*.csv`) and `metrics.json` name
models by their keys alone, so that nothing in those files says so.
"""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A rehearsal to be.

    Attributes:
        root: the repository. place: the folder that everything is written to.
        models, benchmarks: keys, of the paper's own grid.
        questions: how many of each benchmark; None for all.
        wrong: the model that answers by another's figures; None for none.
    """

    root: Path
    place: Path
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    questions: int | None = None
    wrong: str | None = None

    @property
    def logs(self) -> Path:
        return self.place / "logs"

    @property
    def published(self) -> Published:
        return load_published(self.root / "data" / "published")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the place: a second rehearsal would take the configuration from under the first one's processes.

        Raises:
            RehearsalError: another live process rehearses there, or the place cannot be one of a rehearsal.
        """
        self._claim()
        descriptor = os.open(self.place / MARK, os.O_RDWR | os.O_CLOEXEC)
        try:
            _lock(descriptor, self.place)
            yield
        finally:
            os.close(descriptor)

    def forget(self) -> None:
        """Remove all that an earlier rehearsal left in the place, but for the mark; call it within `alone`."""
        for path in sorted(self.place.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != MARK:
                path.unlink()

    def lay_out(self) -> None:
        """Write configuration and sources; what a killed rehearsal answered stays. Call it within `alone`.

        Raises:
            RehearsalError: the place is a folder of something else, or lies within what is copied to it.
            ConfigError: no published figures of a benchmark.
        """
        self._claim()
        for part in _COPIED:
            shutil.rmtree(self.place / part, ignore_errors=True)
            self._copy(part)
        (self.place / "data/sources").mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(exist_ok=True)
        self._write("conf/engine", _ENGINE, _ENGINE_FILE)
        write_whole(self.place / "data" / STUDY / "SIMULATED.md", _SIMULATED.encode("utf-8"))
        study = self._yaml("study", STUDY)
        study |= {"models": list(self.models), "benchmarks": list(self.benchmarks)}
        study["title"] = f"{study['title']}, rehearsed with simulated models"
        self._write("conf/study", STUDY, _dumped(study))
        for benchmark in self.benchmarks:
            self._write("conf/benchmark", benchmark, _dumped(self._benchmark(benchmark)))

    def write_models(self) -> None:
        """Write the scripted models' files, once the questions that they are planned for are sampled.

        Raises:
            ConfigError: the paper prints no figures of a model.
        """
        published = self.published
        for model in self.models:
            source = self._yaml("model", model)
            values: dict[str, Any] = {
                "defaults": [{"/engine@engine": _ENGINE}],
                "title": source["title"],
                "simulated": True,
                "speaks_as": model,
                "benchmarks": {
                    benchmark: self._asked(benchmark)
                    | {"figures": figures_of(published, self.figures(model), benchmark)}
                    for benchmark in self.benchmarks
                },
            }
            self._write("conf/model", model, _dumped(values))

    def figures(self, model: str) -> str:
        """Whose published figures a model answers by: its own, or where it is to be wrong those farthest from them."""
        if model != self.wrong:
            return model
        direct = {
            r.model: r.accuracy for r in self.published.deltas if r.absolute and r.benchmark == self.benchmarks[0]
        }
        if model not in direct or len(direct) < 2:
            raise ConfigError(f"wrong={model}: the paper prints no such model; it has {', '.join(direct)}")
        return max(direct, key=lambda other: (abs(direct[other] - direct[model]), other))

    def real(self, benchmark: str) -> bool:
        """Whether the benchmark's published questions are at hand on this machine; nothing is fetched."""
        return self._source(benchmark) is not None

    def environment(self) -> dict[str, str]:
        """Variables of the steps: this code, that place, and none of this shell's settings."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("STABLECHOICE_")}
        code = str(Path(stablechoice.__file__).resolve().parents[1])
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, [code, kept.get("PYTHONPATH", "")]))
        # Processes stand side by side: threads of their own would only be in each other's way.
        return {"OMP_NUM_THREADS": "1", **kept, "STABLECHOICE_ROOT": str(self.place), "PYTHONHASHSEED": "0"}

    def _copy(self, part: str) -> None:
        try:
            shutil.copytree(self.root / part, self.place / part)
        except shutil.Error as error:  # of all files that could not be copied; the first tells why
            reason = error.args[0][0][2]
            raise RehearsalError(
                f"{self.place}: {part} cannot be copied to it: {reason}; free space there, or name another folder "
                "(place=FOLDER)"
            ) from error

    def _claim(self) -> None:
        place, root, mark = self.place.resolve(), self.root.resolve(), self.place / MARK
        if root.is_relative_to(place) or any(place.is_relative_to((root / part).resolve()) for part in _COPIED):
            raise RehearsalError(
                f"{self.place}: holds, or lies in, what a rehearsal copies from {self.root} ({', '.join(_COPIED)}); "
                "name a folder apart from it (place=FOLDER)"
            )
        if self.place.exists() and not mark.is_file() and any(self.place.iterdir()):
            raise RehearsalError(
                f"{self.place}: holds something that is no rehearsal's; name another folder (place=FOLDER)"
            )
        self.place.mkdir(parents=True, exist_ok=True)
        if not mark.is_file():
            said = "A rehearsal's own place; `make rehearse` writes here and nowhere else.\n"
            mark.write_text(said, encoding="utf-8", newline="\n")

    def _benchmark(self, key: str) -> dict[str, Any]:
        """The benchmark's file, with fewer questions or generated ones where need be."""
        values, source = self._yaml("benchmark", key), self._source(key)
        there = self.place / "data/sources" / str(values["file"])
        there.unlink(missing_ok=True)
        if source is None:
            values = self._generated(key, values)
        else:
            there.symlink_to(source)
        if source is not None and self.questions is not None:
            values["sample"] = {"rule": "ranked", "name": "rehearsal-v1", "seed": 42, "count": self.questions}
        if self.questions is not None:
            values["repeat_count"] = min(self.questions // 2, 100)
        return values

    def _generated(self, key: str, values: Mapping[str, Any]) -> dict[str, Any]:
        if key not in SHAPES:
            raise ConfigError(
                f"conf/benchmark/{key}.yaml: its questions are not at hand, and no shape of them is known"
            )
        made = generate(key, read_words(self.root / "data/sources/words.txt"), self.questions)
        rows = [
            {"subject": q.subject, "question": q.question, "options": list(q.options), "answer_index": q.gold}
            for q in made
        ]
        text = "".join(f"{canonical_json(row)}\n" for row in rows)
        write_whole(self.place / "data/sources" / values["file"], text.encode("utf-8"))
        kept = {name: value for name, value in values.items() if name not in ("hub", "sample", "prepared")}
        pinned = {"count": len(made), "sha256": hashlib.sha256(encode(made)).hexdigest()}
        return {**kept, "title": f"{values['title']} (generated)", "prepared": pinned, "sample": {"rule": "all"}}

    def _asked(self, benchmark: str) -> dict[str, Any]:
        values = yaml.safe_load((self.place / f"conf/benchmark/{benchmark}.yaml").read_text(encoding="utf-8"))
        path = self.place / values["manifest"]
        return {"manifest": values["manifest"], "sha256": file_sha256(path), "repeats": values.get("repeats")}

    def _source(self, benchmark: str) -> Path | None:
        """The file of the published questions, sought where the product seeks it (`questions.source.load`)."""
        named = os.environ.get(FOLDER_VARIABLE)
        folders = [*([self.root / named] if named else []), self.root / "data" / "sources"]
        found = (folder / str(self._yaml("benchmark", benchmark)["file"]) for folder in folders)
        return next((path.resolve() for path in found if path.is_file()), None)

    def _yaml(self, group: str, key: str) -> dict[str, Any]:
        path = self.root / "conf" / group / f"{key}.yaml"
        if not path.is_file():
            raise ConfigError(f"{path}: there is no such file; name one of conf/{group}")
        values: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        return values

    def _write(self, folder: str, key: str, text: str) -> None:
        write_whole(self.place / folder / f"{key}.yaml", text.encode("utf-8"))


def _lock(descriptor: int, place: Path) -> None:
    """Lock an open mark without waiting; the kernel releases it when it is closed, however its process ends."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise RehearsalError(
                f"{place}: another rehearsal is at work there at this moment; wait for it or end it, or name another "
                "folder (place=FOLDER)"
            ) from error
        raise RehearsalError(
            f"{place / MARK}: cannot be locked ({error.strerror}); name a folder on a local disk (place=FOLDER)"
        ) from error


def _dumped(values: Mapping[str, Any]) -> str:
    head = "# Written by `stablechoice rehearse`; it is written anew by every rehearsal.\n"
    return head + yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True, width=120)
