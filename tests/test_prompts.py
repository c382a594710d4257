"""Prompts say exactly what the papers print, whatever stands in the data."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.errors import ConfigError
from stablechoice.prompts import Prompts, display, lettered
from stablechoice.questions.question import Question

BUNDLES = Path(__file__).parents[1] / "conf" / "prompt"

# PROTOCOL 2, row by row as its table prints them: ⏎ is a line break, ⏎⏎ a blank line.
CHOICE_HEAD = "Answer the following multiple-choice question. ⏎⏎ Question: {question} ⏎⏎ Options: ⏎ {options} ⏎⏎ "
FREE_HEAD = "Answer the following question based on your knowledge. ⏎⏎ Question: {question} ⏎⏎ "
MATCHER_BODY = " ⏎⏎ Question: {question} ⏎⏎ Reference answer: {free_text} ⏎⏎ Options: ⏎ {options} ⏎⏎ "
HYPOTHESIS_HEAD = "Question: {question} ⏎⏎ Hypothesis: The correct answer is {option_text}. ⏎⏎ "
TABLE = {
    "direct_mcq": CHOICE_HEAD + "Respond with only the letter.",
    "reasoning/direct_mcq": CHOICE_HEAD
    + "First, briefly reason step by step about which option is correct. Then, on a new line, state your final answer "
    "as: ⏎ Final answer: X",
    "free_text": FREE_HEAD + "Respond with a short direct answer only.",
    "reasoning/free_text": FREE_HEAD
    + "First, briefly reason step by step about the question. Then, on a new line, state your answer as: ⏎ "
    "Answer: <your answer>",
    "option_matching": "You are given a question, a reference answer, and the options."
    + MATCHER_BODY
    + "Select the option that best matches the reference answer in the context of the question. If the reference "
    "answer is imperfect or incomplete, choose the closest option. Respond with only the letter.",
    "text_extraction": "Answer the following question. Read all options carefully. ⏎⏎ Question: {question} ⏎⏎ "
    "Options: ⏎ {options} ⏎⏎ Respond with the correct answer text only. Do not write the option letter. Do not "
    "explain.",
    "independent_hypothesis": HYPOTHESIS_HEAD
    + "Task: Please evaluate whether this hypothesis correctly and accurately answers the question. First, provide a "
    "brief step-by-step analysis. Then, output a final confidence score between 0 and 100 indicating the probability "
    "that this hypothesis is the true answer. Strictly format your final score within tags, exactly like this: "
    "<score>X</score>.",
}

# What the paragraph below that table says of [P1]: other openings, and the line breaks that its print shows.
FIRST_VERSION = TABLE | {
    "independent_hypothesis": TABLE["independent_hypothesis"]
    .replace("answers the question. First", "answers the question. ⏎ First")
    .replace("step-by-step analysis. Then", "step-by-step analysis. ⏎ Then"),
    "option_matching": "You are given a question, a reference answer, ⏎ and four options."
    + MATCHER_BODY
    + "Select the option that best matches the reference answer in the context of the question. If the reference "
    "answer is imperfect or incomplete, ⏎ choose the closest option. Respond with only the letter.",
    "option_matching_v3": "You are given a question, a reference answer, and four options."
    + MATCHER_BODY
    + "Choose the option that is semantically closest to the reference answer in the context of the question. "
    "Prioritize meaning over exact wording. ⏎ If the reference answer is incomplete, ambiguous, ⏎ or phrased "
    "differently from the options, choose the option most consistent with it. Respond with only A, B, C, or D.",
    "free_text_v2": FREE_HEAD
    + "Respond with a concise answer phrase. Include enough detail to distinguish the answer from similar "
    "alternatives. Do not explain your reasoning.",
}


def printed(row: str) -> str:
    return row.replace(" ⏎⏎ ", "\n\n").replace(" ⏎ ", "\n")


def question(stem: str, *options: str) -> Question:
    return Question("0123456789abcdef", "words", stem, options, 0)


def one_template(text: str) -> Prompts:
    return Prompts("trial", (("only", text),))


@pytest.mark.parametrize(("bundle", "rows"), [("paper", TABLE), ("paper-v1", FIRST_VERSION)])
def test_a_bundle_holds_the_papers_templates_word_for_word_and_no_others(bundle: str, rows: dict[str, str]) -> None:
    prompts = Prompts.load(BUNDLES / bundle)
    assert dict(prompts.templates) == {name: printed(row) for name, row in rows.items()}
    assert prompts.bundle == bundle


def test_the_first_version_shares_every_template_that_it_did_not_word_otherwise() -> None:
    paper, first = (dict(Prompts.load(BUNDLES / bundle).templates) for bundle in ("paper", "paper-v1"))
    assert {name for name, text in paper.items() if first[name] != text} == {
        "option_matching",
        "independent_hypothesis",
    }


def test_template_files_are_plain_lines_that_end_with_one_newline() -> None:
    files = sorted(BUNDLES.rglob("*.txt"))
    assert files
    for file in files:
        text = file.read_bytes().decode("utf-8")
        assert "\r" not in text, file
        assert text.endswith("\n"), file
        assert not text.endswith("\n\n"), file


def test_a_filled_prompt_is_the_papers_to_the_last_byte() -> None:
    prompt = Prompts.load(BUNDLES / "paper").render(
        "direct_mcq", question("Which is a noble gas?", "oxygen", "neon", "iron"), 1
    )
    assert prompt == (
        "Answer the following multiple-choice question.\n\nQuestion: Which is a noble gas?\n\n"
        "Options:\nA. neon\nB. iron\nC. oxygen\n\nRespond with only the letter."
    )


@pytest.mark.parametrize("count", [3, 5, 10])
def test_every_option_has_one_line_and_labels_stay_put_while_options_rotate(count: int) -> None:
    options = [f"option number {i}" for i in range(count)]
    asked = question("Which?", *options)
    for rotation in asked.rotations:
        lines = lettered(asked, rotation).split("\n")
        shown = options[rotation:] + options[:rotation]
        assert lines == [f"{label}. {text}" for label, text in zip("ABCDEFGHIJ"[:count], shown, strict=True)]


@pytest.mark.parametrize("name", sorted(TABLE))
def test_no_filled_prompt_ends_with_white_space(name: str) -> None:
    asked = question("Which?", "one ", "two\n")
    prompt = Prompts.load(BUNDLES / "paper").render(name, asked, free_text="one", option_text="two")
    assert prompt == prompt.rstrip()


def test_white_space_is_collapsed_in_options_and_kept_in_the_question() -> None:
    asked = question("  Two  words,\n\tone\u00a0line ? ", " a\n\nb ", "c\t d", "e")
    prompt = one_template("<{question}>\n{options}").render("only", asked)
    assert prompt == "<  Two  words,\n\tone\u00a0line ? >\nA. a b\nB. c d\nC. e"
    assert asked.options[0] == " a\n\nb "


def test_white_space_of_a_reference_answer_is_kept() -> None:
    prompt = one_template("[{free_text}]").render("only", question("Which?", "a", "b"), free_text=" first\n\n second ")
    assert prompt == "[ first\n\n second ]"


def test_braces_placeholders_and_answer_lines_in_data_pass_through() -> None:
    asked = question("Is {options} or {question} a set? {0} {} %s \\1", "{free_text}", "Answer: A", "{question}")
    prompt = Prompts.load(BUNDLES / "paper").render(
        "option_matching", asked, free_text="{options} Final answer: B {option_text}"
    )
    assert "\nQuestion: Is {options} or {question} a set? {0} {} %s \\1\n" in prompt
    assert "\nReference answer: {options} Final answer: B {option_text}\n" in prompt
    assert "\nA. {free_text}\nB. Answer: A\nC. {question}\n" in prompt


@given(
    stem=st.text(min_size=1).filter(str.strip),
    options=st.lists(st.text(), min_size=2, max_size=10),
    free_text=st.text(),
    rotation=st.integers(0, 9),
)
@settings(deadline=None, max_examples=60)
def test_any_data_stands_in_its_place_unchanged(stem: str, options: list[str], free_text: str, rotation: int) -> None:
    asked = question(stem, *options)
    turned = rotation % len(options)
    prompt = one_template("1{question}2{free_text}3{options}4").render("only", asked, turned, free_text=free_text)
    shown = [display(text) for text in asked.rotated(turned)]
    lines = "\n".join(f"{label}. {text}" for label, text in zip(asked.labels, shown, strict=True))
    assert prompt == f"1{stem}2{free_text}3{lines}4"


def test_only_the_files_own_last_newline_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "reasoning").mkdir()
    (tmp_path / "reasoning" / "one.txt").write_bytes(b"{question} ends with a blank line\n\n")
    (tmp_path / "two.txt").write_bytes(b"{question} ends without newline")
    prompts = Prompts.load(tmp_path)
    assert prompts.template("reasoning/one") == "{question} ends with a blank line\n"
    assert prompts.template("two") == "{question} ends without newline"


def test_the_hash_follows_the_text_and_not_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"{question}\n")
    (tmp_path / "b.txt").write_bytes(b"{question}")
    (tmp_path / "c.txt").write_bytes(b"{question}?")
    prompts = Prompts.load(tmp_path)
    # printf '{question}' | sha256sum
    assert prompts.sha256("a") == "bf085a6e12c9d0e23a9dd157df084f933b2ef021caba82def1494bfb84a723c9"
    assert prompts.sha256("a") == prompts.sha256("b") != prompts.sha256("c")


def test_an_empty_or_missing_bundle_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no prompt template"):
        Prompts.load(tmp_path)
    with pytest.raises(ConfigError, match="no prompt template"):
        Prompts.load(tmp_path / "absent")


def test_an_unknown_template_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ConfigError, match=r"'paper' has no template 'direct'.*direct_mcq.*reasoning/free_text"):
        Prompts.load(BUNDLES / "paper").template("direct")
