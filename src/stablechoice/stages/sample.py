"""Sample: the ids that studies ask, by the papers' rules, and the subset that is asked repeatedly."""

from __future__ import annotations

from collections.abc import Sequence

from stablechoice.configuration import Configuration
from stablechoice.questions.loading import read_questions
from stablechoice.questions.manifest import write_manifest
from stablechoice.questions.sampling import repeat_subset, sample
from stablechoice.stages.prepare import named_benchmark


def run(overrides: Sequence[str]) -> int:
    configuration = Configuration(tuple(overrides))
    name = named_benchmark(configuration)
    source = configuration.benchmark(name)
    drawn = sample(read_questions(configuration.layout().questions(name)), source.sample, source.benchmark)
    write_manifest(configuration.root / source.manifest, drawn, source.columns)
    if source.repeats is not None:
        again = repeat_subset(drawn, benchmark=source.benchmark, count=source.repeat_count)
        write_manifest(configuration.root / source.repeats, again, source.columns)
    return 0
