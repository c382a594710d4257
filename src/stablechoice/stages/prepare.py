"""Prepare: a benchmark's questions from the pinned hub revision or a local file, checked, in one format."""

from __future__ import annotations

from collections.abc import Sequence

from stablechoice.configuration import Configuration
from stablechoice.configuration.composing import file_of
from stablechoice.errors import ConfigError
from stablechoice.questions.loading import write_questions
from stablechoice.questions.source import load


def named_benchmark(configuration: Configuration) -> str:
    name = configuration.chosen("benchmark")
    if name is None:
        raise ConfigError("name the benchmark: benchmark=NAME, a file of conf/benchmark")
    return name


def run(overrides: Sequence[str]) -> int:
    configuration = Configuration(tuple(overrides))
    name = named_benchmark(configuration)
    source = configuration.benchmark(name)
    questions = load(source, configuration.root, where=file_of("benchmark", name))
    write_questions(configuration.layout().questions(name), questions)
    return 0
