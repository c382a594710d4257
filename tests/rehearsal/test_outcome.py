"""What a rehearsal was to show is told from what it showed, verdict by verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from stablechoice.rehearsal.failure import RehearsalError
from stablechoice.rehearsal.outcome import expected_accuracies, outcome, read_verdicts, shown
from stablechoice.rehearsal.published_model import TITLES, figures_of
from stablechoice.report.claims import claims
from tests.rehearsal.questions import published

WRONG, RIGHT = "GPT-4.1 mini (simulated)", "Qwen2.5-7B (simulated)"


def _place(model: str, strategy: str = "Direct", quantity: str = "accuracy") -> tuple[str, str, str, str, str]:
    return ("Table 1", "MMLU", model, strategy, quantity)


def _expected(other: str, size: int = 1140) -> dict[tuple[str, str, str, str, str], str]:
    plain = figures_of(published(), other, "mmlu")
    return expected_accuracies(
        published(),
        model="gpt-4.1-mini",
        figures={"mmlu": {key: plain[key]["accuracy"] for key in TITLES}},
        sizes={"mmlu": size},
        titles={"mmlu": "MMLU", "gpt-4.1-mini": WRONG},
        level="re-run local",
    )


def test_all_reproduced_is_what_right_figures_are_to_show() -> None:
    found = outcome({_place(RIGHT): "reproduced", _place(WRONG): "reproduced"}, published(), {}, None, {})
    assert found.as_expected
    assert (found.reproduced, found.differs, found.not_run) == (2, 0, 0)


@pytest.mark.parametrize("verdict", ["differs", "not run"])
def test_one_other_verdict_is_unexpected_and_named(verdict: str) -> None:
    found = outcome({_place(RIGHT): verdict, _place(WRONG): "reproduced"}, published(), {}, None, {})
    assert found.unexpected == (f"Table 1 · MMLU · {RIGHT} · Direct · accuracy: {verdict}",)


def test_a_model_of_other_figures_differs_in_its_accuracies_and_may_in_its_other_numbers() -> None:
    # Llama's 59.12 % of 1,140 is [56.20, 61.99]: GPT's 81.84 lies outside. Own figures agree with themselves.
    expected = _expected("llama-3.1-8b")
    assert expected[_place(WRONG)] == "differs"
    assert set(_expected("gpt-4.1-mini").values()) == {"reproduced"}
    verdicts = {**expected, _place(WRONG, quantity="flip"): "differs", _place(RIGHT): "reproduced"}
    assert outcome(verdicts, published(), expected, WRONG, {}).as_expected


def test_a_wrong_model_that_passes_and_a_right_one_that_does_not_are_both_unexpected() -> None:
    expected = _expected("llama-3.1-8b")
    passed = {**expected, _place(WRONG): "reproduced", _place(RIGHT, quantity="flip"): "differs"}
    found = outcome(passed, published(), expected, WRONG, {}).unexpected
    assert found == (
        f"Table 1 · MMLU · {RIGHT} · Direct · flip: differs",
        f"Table 1 · MMLU · {WRONG} · Direct · accuracy: reproduced, expected was differs",
    )


def test_a_printed_number_of_the_rehearsed_cells_that_was_not_compared_is_unexpected() -> None:
    titles = {"mmlu": "MMLU", "gpt-4.1-mini": WRONG}
    none = outcome({}, published(), {}, None, titles).unexpected
    printed = [one for one in claims(published()) if (one.model, one.benchmark) == ("gpt-4.1-mini", "mmlu")]
    assert len(none) == len(printed) > 70
    assert f"Table 1 · MMLU · {WRONG} · Direct · accuracy: not compared" in none
    assert f"Text · MMLU · {WRONG} · IHS · rstd_canonical_order: not compared" in none
    one = outcome({_place(WRONG): "reproduced"}, published(), {}, None, titles)
    assert len(one.unexpected) == len(printed) - 1


def test_too_few_questions_to_tell_two_models_apart_are_said_to_be() -> None:
    expected = _expected("claude-haiku-4.5", size=10)
    found = outcome(expected, published(), expected, WRONG, {})
    assert [line for line in found.unexpected if "too near" in line]


def test_a_comparison_that_compared_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match=r"published_numbers\.csv: the comparison compared nothing"):
        read_verdicts(tmp_path)


def test_a_long_list_is_cut_with_its_rest_counted() -> None:
    assert shown([str(n) for n in range(25)])[-1] == "… and 5 more"
    assert shown(["one"]) == ["one"]
