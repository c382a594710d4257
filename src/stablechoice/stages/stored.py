"""What of a study is stored in DVC's cache, by its locks, and what a study needs stored to be whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from stablechoice.artifact.cache import Kept, read_lock
from stablechoice.artifact.failure import BundleError, some
from stablechoice.configuration import Configuration
from stablechoice.stages.analyse import grid
from stablechoice.stages.cell import derived, repeated_strategies
from stablechoice.stages.pipeline import cells_folder, pipeline_file

_REPEATS = "repeats"


@dataclass(frozen=True)
class Stored:
    """Outputs of one study.

    Attributes:
        configuration: of the study, at the root that its locks lie in.
    """

    configuration: Configuration

    @property
    def lock_files(self) -> list[Path]:
        """The locks of the benchmarks, of the study and of its cells."""
        root, study = self.configuration.root, self.configuration.study_key
        own = pipeline_file(root, study).with_name("dvc.lock")
        return [root / "data/benchmarks/dvc.lock", own, *sorted(cells_folder(root, study).glob("*/*/dvc.lock"))]

    def outputs(self) -> list[Kept]:
        """What the locks name of this study's grid; entries of cells that left the study are passed over.

        Raises:
            BundleError: a lock is missing or broken.
        """
        named = [kept for file in self.lock_files for kept in read_lock(file)]
        return [kept for kept in named if self._belongs(PurePosixPath(kept.path))]

    def _belongs(self, path: PurePosixPath) -> bool:
        study = self.configuration.study
        match path.parts:
            case ("data", "benchmarks", _):
                return path.stem in self.configuration.prepared_benchmarks
            case ("data", study.key, "report"):
                return True
            case ("data", study.key, "generations" | "observations", model, benchmark, _):
                return (
                    model in study.models
                    and benchmark in study.benchmarks
                    and path.name.removesuffix(".jsonl") in (*study.strategies, _REPEATS)
                )
        return False

    @property
    def closed(self) -> list[str]:
        """Benchmarks whose question texts must not be handed on."""
        found = self.configuration
        return [key for key in found.prepared_benchmarks if not found.benchmark(key).commit_texts]

    def with_texts(self, kept: Iterable[Kept], benchmarks: Iterable[str]) -> dict[str, str]:
        """Outputs that hold question texts of some benchmarks, by path, with the reason to leave them out."""
        named = list(benchmarks)
        found = {}
        for one in kept:
            parts = one.path.split("/")
            held = [b for b in named if b in parts or parts[-1] == f"{b}.jsonl" or parts[-1] == "report"]
            if held and parts[2] != "observations":
                found[one.path] = f"holds question texts of {', '.join(held)}, whose files may not be handed on"
        return found

    def check_whole(self, kept: Iterable[Kept], but: Iterable[str] = ()) -> None:
        """Refuse a study with an unfinished cell.

        Args:
            but: paths that need not be there.

        Raises:
            BundleError: names the first cells that lack their answers or their observations.
        """
        there = {one.path for one in kept} | set(but)
        lacking = [f"{what} ({path})" for path, what in self.needed().items() if path not in there]
        if lacking:
            raise BundleError(
                f"study {self.configuration.study_key} is unfinished: {len(lacking)} outputs are in no lock: "
                f"{some(lacking)}; `make reproduce STUDY={self.configuration.study_key}` finishes it"
            )

    def needed(self) -> dict[str, str]:
        """What a whole study has, in words, by path from the root."""
        configuration, layout = self.configuration, self.configuration.layout()
        study = configuration.study
        needed = {layout.questions(b): f"questions of {b}" for b in configuration.prepared_benchmarks}
        expected = grid(configuration).expected
        for cell in (cell for cell in study.cells if cell in expected):
            if not derived(configuration, cell.strategy):
                needed[layout.generations(cell)] = f"answers of {' × '.join(cell)}"
            needed[layout.observations(cell)] = f"observations of {' × '.join(cell)}"
        for model in study.models:
            for benchmark in (b for b in study.benchmarks if repeated_strategies(configuration, model, b)):
                needed[layout.repeats(model, benchmark)] = f"repeated answers of {model} × {benchmark}"
                needed[layout.repeat_observations(model, benchmark)] = f"repeats of {model} × {benchmark}"
        return {path.relative_to(configuration.root).as_posix(): what for path, what in needed.items()}
