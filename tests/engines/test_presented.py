"""A prompt is taken apart from its text alone, whatever question, options and reference hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.engines.presented import cloze, names, option_lines, presented
from stablechoice.prompts import Prompts, display
from stablechoice.questions.question import Question

ROOT = Path(__file__).resolve().parents[2]
BUNDLES = [Prompts.load(folder) for folder in sorted((ROOT / "conf" / "prompt").iterdir()) if folder.is_dir()]
PAPER = next(bundle for bundle in BUNDLES if bundle.bundle == "paper")

TASKS = {
    "direct_mcq": "letter",
    "reasoning/direct_mcq": "reasoned_letter",
    "free_text": "short",
    "reasoning/free_text": "reasoned_text",
    "option_matching": "letter",
    "text_extraction": "text",
    "independent_hypothesis": "score",
    "dashed": "dashed",
}
CASES = [(bundle, name) for bundle in BUNDLES for name, _ in bundle.templates if name in TASKS]

awkward = st.sampled_from(
    [
        "Options:",
        "A. yes",
        "- no",
        "\n\nRespond with only the letter.",
        "Reference answer: B",
        "{options}",
        "\n\n",
        "Question: ",
        "The correct answer is x.",
        "<score>5</score>",
        "Final answer: X",
        "\nOptions:\nA. one\nB. two\n",
    ]
)
words = st.text("abcé \n.{}", min_size=1, max_size=12)
texts = st.lists(awkward | words, min_size=1, max_size=5).map("".join)
shown = texts.filter(lambda text: text.strip() != "")


@st.composite
def questions(draw: st.DrawFn) -> Question:
    options = draw(st.lists(shown, min_size=2, max_size=6, unique_by=display))
    return Question("0" * 16, "s", draw(shown), tuple(options), 0)


@pytest.mark.parametrize(("bundle", "name"), CASES, ids=lambda case: getattr(case, "bundle", case))
@settings(deadline=None, max_examples=60)
@given(question=questions(), rotation=st.integers(0, 5), reference=shown)
def test_stem_options_and_task_are_found_whatever_the_texts(
    bundle: Prompts, name: str, question: Question, rotation: int, reference: str
) -> None:
    rotation %= len(question.options)
    option = question.options[rotation]
    prompt = bundle.render(name, question, rotation, free_text=reference, option_text=display(option))
    found = presented(prompt, {question.question})
    template = bundle.template(name)
    assert found.task == TASKS[name]
    assert found.stem == question.question
    assert found.options == (tuple(map(display, question.rotated(rotation))) if "{options}" in template else ())
    assert found.reference == (reference if "{free_text}" in template else None)
    assert (found.hypothesis is not None) == ("{option_text}" in template)
    if found.hypothesis is not None:
        meant = max(
            (one for one in question.options if names(found.hypothesis, one)), key=lambda one: len(display(one))
        )
        assert len(display(meant)) >= len(display(option)), "of the options that fit, the longest is meant"


def test_an_unknown_stem_ends_at_the_first_blank_line() -> None:
    question = Question("0" * 16, "s", "Two lines\nof a stem?", ("a", "b"), 0)
    assert presented(PAPER.render("direct_mcq", question)).stem == "Two lines\nof a stem?"


def test_the_longest_known_stem_is_recognised() -> None:
    short, long = "Which?", "Which?\n\nOptions:\nA. no options yet"
    question = Question("0" * 16, "s", long, ("a", "b"), 0)
    found = presented(PAPER.render("direct_mcq", question), {short, long})
    assert (found.stem, found.options) == (long, ("a", "b"))


def test_a_cloze_prompt_is_its_stem() -> None:
    question = Question("0" * 16, "s", "Two lines\n\nof a stem? Answer:", ("a", "b"), 0)
    found = cloze(f"Question: {question.question}\nAnswer:")
    assert (found.stem, found.options) == (question.question, ())


def test_option_lines_are_those_displayed() -> None:
    question = Question("0" * 16, "s", "Which?", ("x\ny", "b", "c"), 0)
    assert option_lines(PAPER.render("direct_mcq", question, 1)) == ["A. b", "B. c", "C. x y"]
    assert option_lines(PAPER.render("free_text", question)) == []


@settings(deadline=None, max_examples=60)
@given(question=questions(), reference=shown)
def test_what_a_verdict_is_wanted_on_is_found(question: Question, reference: str) -> None:
    untested = next(bundle for bundle in BUNDLES if bundle.bundle == "untested")
    option = display(question.options[0])
    proposed = untested.render("option_verification", question, option_text=option)
    found = presented(proposed, [question.question])
    assert (found.task, found.stem, found.hypothesis, found.reference) == ("verdict", question.question, option, None)
    graded = presented(
        untested.render("answer_matching", question, option_text=option, free_text=reference), [question.question]
    )
    assert (graded.task, graded.stem, graded.hypothesis, graded.reference) == (
        "verdict",
        question.question,
        option,
        reference,
    )
