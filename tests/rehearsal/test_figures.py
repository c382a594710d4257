"""Figures of a scripted model: what the paper prints, and what a file may say."""

from __future__ import annotations

from typing import Any

import pytest

from stablechoice.errors import ConfigError
from stablechoice.rehearsal.figures import BenchmarkFigures
from stablechoice.rehearsal.published_model import figures_of
from tests.rehearsal.questions import figures, published


def test_a_difference_stands_as_the_sum_with_direct() -> None:
    # Table 1, GPT-4.1 mini: Direct 81.84 / 20.26 / 2.02; Reasoning Direct +7.28 / −7.19 / −1.41.
    found = figures("gpt-4.1-mini", "mmlu").choices["reasoning_direct"]
    assert (found.accuracy, found.flip, found.rstd) == pytest.approx((89.12, 13.07, 0.61))


def test_unscored_answers_are_those_of_the_2x2_and_else_those_of_the_repeats() -> None:
    found = figures("claude-haiku-4.5", "mmlu")
    assert found.choices["visible_llm"].unscored == pytest.approx(100 * 29 / 1140, abs=1e-4)  # 1,111 of 1,140 scored
    assert found.choices["direct"].unscored == 3.0  # Table 18: 97 of 100 scored in the main run
    assert figures("gpt-4.1-mini", "arc_challenge").choices["visible_llm"].unscored == 0.0  # not printed: all scored


def test_numbers_of_the_text_enter_where_there_are_any() -> None:
    found = figures("llama-3.1-8b", "arc_challenge")
    assert (found.scores.rstd, found.scores.relational, found.choices["direct"].relational) == (2.32, 46.7, 73.3)
    assert figures("gpt-4.1-mini", "arc_challenge").choices["direct"].relational is None


def test_a_model_that_the_paper_does_not_print_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"prints no figures of gemini-2\.5-flash on mmlu"):
        figures_of(published(), "gemini-2.5-flash", "mmlu")


def _altered(change: dict[str, Any]) -> dict[str, Any]:
    return {**figures_of(published(), "qwen2.5-7b", "mmlu"), **change}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pride": {}}, "the figures of a benchmark are those of direct"),
        ({"hidden_semantic": {"accuracy": 40.7}}, "here, hidden_semantic: a figure is missing"),
        ({"hidden_semantic": {"accuracy": "40.7", "unscored": 1.0}}, "accuracy is '40.7', no number"),
        ({"direct": {"accuracy": 1.0, "flip": 1.0, "rstd": 1.0, "noise": 1.0}}, "unknown figure 'noise'"),
    ],
)
def test_a_file_that_states_other_figures_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        BenchmarkFigures.of("here", _altered(change))
