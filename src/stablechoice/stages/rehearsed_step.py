"""One process of a rehearsal: a command of the product, or all of one model's cells one after another."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from stablechoice.cell_lock import die_with_parent
from stablechoice.cell_name import CellName
from stablechoice.cli import main
from stablechoice.configuration import Configuration
from stablechoice.errors import StablechoiceError
from stablechoice.rehearsal.steps import write_peak
from stablechoice.stages import generate, repeat
from stablechoice.stages.cell import derived
from stablechoice.stages.score import score_cell
from stablechoice.stages.score_repeats import score_repeats

GENERATE, SCORE = "generate-cells", "score-cells"


def _generate(words: Sequence[str]) -> int:
    configuration = Configuration(tuple(words))
    for cell in _cells(configuration):
        if not derived(configuration, cell.strategy):
            named = [f"benchmark={cell.benchmark}", f"strategy={cell.strategy}"]
            generate.run([*words, *named])
    for benchmark in configuration.study.benchmarks:
        repeat.run([*words, f"benchmark={benchmark}"])
    return 0


def _score(words: Sequence[str]) -> int:
    configuration = Configuration(tuple(words))
    similarity = configuration.similarity()
    for cell in _cells(configuration):
        score_cell(configuration, cell, similarity)
    for benchmark in configuration.study.benchmarks:
        score_repeats(configuration, str(configuration.chosen("model")), benchmark, similarity)
    return 0


def _cells(configuration: Configuration) -> list[CellName]:
    model = configuration.chosen("model")
    return [cell for cell in configuration.study.cells if cell.model == model]


def run(words: Sequence[str]) -> int:
    """Run one step; it ends with the rehearsal that started it."""
    die_with_parent()
    command, *rest = words
    try:
        if command not in (GENERATE, SCORE):
            return main(words)
        return _generate(rest) if command == GENERATE else _score(rest)
    except StablechoiceError as error:
        sys.stderr.write(f"{command}: {error}\n")
        return 1
    finally:
        write_peak()


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
