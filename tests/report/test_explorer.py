"""The explorer's data: complete, put together again byte for byte, and harmless inside a script."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.cell_name import CellName
from stablechoice.errors import AnalysisError
from stablechoice.generations import Generation
from stablechoice.measures.cell import Cell
from stablechoice.measures.order import flipped
from stablechoice.observation import Observation, Reading
from stablechoice.prompts import Prompts, display
from stablechoice.questions.question import Question
from stablechoice.report.explorer_rows import BROKEN, CORRECT, FIXED, FLIPPED, TIE_DEPENDENT, TIED, flags
from stablechoice.report.prompt_parts import prompt_parts, shown_options
from stablechoice.report.script_data import content_hash, script_json
from stablechoice.request import Address, Request

from .synthetic import HOSTILE, STRATEGIES, made

Json = Any


def detail(key: str) -> Json:
    """A detail's content as a page's script would parse it."""
    return json.loads(made().explorer.detail(key).json)


def together(
    parts: list[int | str], request: Request, question: Question, literals: list[str], texts: list[str]
) -> str:
    """A prompt from its parts, as `explorer_view.js` does it."""
    read = {"q": question.question, "x": display(question.options[request.address.option])}

    def text(part: int | str) -> str:
        if isinstance(part, int):
            return literals[part]
        if part.startswith("o"):
            return block(part, question, request.address.rotation)
        return read[part] if part in read else texts[int(part[1:])]

    return "".join(text(part) for part in parts)


def block(part: str, question: Question, rotation: int) -> str:
    """Options as a part says that they were shown."""
    marks, _, listed = part[1:].partition("/")
    order = [int(one) for one in listed.split()] or [question.canonical(s, rotation) for s in question.rotations]
    labels = marks.split() or list(question.labels)
    return "\n".join(
        ("- " if marks == "-" else f"{labels[slot]}. ") + display(question.options[option])
        for slot, option in enumerate(order)
    )


def observation(**changes: Any) -> Observation:
    base = Observation("0" * 16, "subject", 1, 4, False, 1, None, "lone_letter", ())
    return replace(base, **changes)


def readings(*choices: int | None) -> tuple[Reading, ...]:
    return tuple(Reading(rotation, choice) for rotation, choice in enumerate(choices))


def test_every_prompt_can_be_put_together_again_byte_for_byte() -> None:
    whole = made()
    for model in whole.study.models:
        for benchmark in whole.study.benchmarks:
            found = detail(f"answers/{benchmark.key}/{model.key}")
            for place, question in enumerate(whole.questions[benchmark.key]):
                responses, observed = found["rows"][place]
                texts = [row[4] for row in responses]
                for at, strategy in enumerate(found["strategies"]):
                    used = [responses[index] for index in observed[at][7]]
                    recorded = _recorded(CellName(model.key, benchmark.key, strategy), question)
                    assert [row[4] for row in used] == [row.response.text for row in recorded]
                    for row, generation in zip(used, recorded, strict=True):
                        whole_prompt = together(row[3], generation.request, question, found["literals"], texts)
                        assert whole_prompt == generation.request.prompt


def _recorded(name: CellName, question: Question) -> list[Generation]:
    return [row for row in made().answers[name] if row.request.question_id == question.question_id]


def test_prompts_are_stored_as_what_distinguishes_them() -> None:
    found = detail("answers/made_up/tiny-1")
    fragments = "".join(found["literals"])
    # The ten strategies use seven templates, whose fragments stand once; no stem and no option list among them.
    assert len(found["literals"]) < 40
    assert "Which invented word" not in fragments
    assert len(fragments) < 4_000


def test_a_response_that_strategies_share_stands_once() -> None:
    found = detail("answers/made_up/tiny-1")
    at = {strategy: place for place, strategy in enumerate(found["strategies"])}
    for responses, observed in found["rows"]:
        assert observed[at["direct"]][7] == observed[at["cyclic"]][7]
        assert set(observed[at["visible_semantic"]][7]) < set(observed[at["visible_llm"]][7])
        assert len({json.dumps(row) for row in responses}) == len(responses)


def test_hidden_semantic_shows_no_response_to_a_prompt_that_shows_options() -> None:
    whole = made()
    lenient = replace(
        whole.explorer, answers=lambda name: whole.answers[name._replace(strategy="two_stage")]
    )  # all of Two-stage's rows, its matcher's too
    name = CellName("tiny-1", "made_up", "hidden_semantic")
    alone = replace(lenient, observations={name: whole.observations[name]})
    found = json.loads(alone.detail("answers/made_up/tiny-1").json)
    steps = {found["words"][row[0]] for responses, _ in found["rows"] for row in responses}
    assert steps == {"free_text"}


def test_flags_of_every_cell_agree_with_the_measures() -> None:
    whole = made()
    for name, rows in whole.observations.items():
        cell: Cell = whole.cells[name]
        rotated = STRATEGIES[name.strategy].order == "rotations"
        marks = {row.question_id: flags(row, None, rotated=rotated) for row in rows}
        listed = [marks[identity] for identity in cell.question_ids]
        assert [bool(mark & CORRECT) for mark in listed] == cell.correct.tolist()
        assert [bool(mark & FLIPPED) for mark in listed] == (flipped(cell.readings) & rotated).tolist()


def test_tie_flags_count_what_the_tie_table_counts() -> None:
    whole = made()
    for ties in whole.analysis.ties:
        marks = [flags(row, None, rotated=False) for row in whole.observations[ties.cell]]
        assert sum(bool(mark & TIED) for mark in marks) == ties.tied
        assert sum(bool(mark & TIE_DEPENDENT) for mark in marks) == ties.tie_dependent


def test_broken_and_fixed_count_what_mcnemars_table_counts() -> None:
    whole = made()
    for test in whole.analysis.tests:
        direct = {row.question_id: row for row in whole.observations[test.cell._replace(strategy="direct")]}
        marks = [flags(row, direct[row.question_id], rotated=True) for row in whole.observations[test.cell]]
        assert sum(bool(mark & BROKEN) for mark in marks) == test.broken
        assert sum(bool(mark & FIXED) for mark in marks) == test.fixed


@pytest.mark.parametrize(
    ("seen", "rotated", "wanted"),
    [
        (observation(), True, CORRECT),
        (observation(choice=None, reason="empty"), True, 0),
        (observation(readings=readings(1, 1, 1, 1)), True, CORRECT),
        (observation(readings=readings(1, 2, 1, 1)), True, CORRECT + FLIPPED),
        (observation(readings=readings(1, 2, 1, 1)), False, CORRECT),  # Cyclic's votes are no flip of its own
        (observation(readings=readings(1, None, None, None)), True, CORRECT),  # one parsed rotation cannot differ
        (observation(choice=0, tied=(0, 2)), False, TIED),
        (observation(choice=0, tied=(0, 1)), False, TIED + TIE_DEPENDENT),
    ],
)
def test_flags_by_hand(seen: Observation, rotated: bool, wanted: int) -> None:
    assert flags(seen, None, rotated=rotated) == wanted


def test_broken_and_fixed_by_hand_count_unscored_as_wrong() -> None:
    right, wrong, unscored = observation(), observation(choice=0), observation(choice=None, reason="refusal")
    assert flags(wrong, right, rotated=False) == BROKEN
    assert flags(unscored, right, rotated=False) == BROKEN
    assert flags(right, unscored, rotated=False) == CORRECT + FIXED
    assert flags(right, right, rotated=False) == CORRECT
    assert flags(unscored, wrong, rotated=False) == 0


def test_a_cell_that_was_not_run_stands_as_zero() -> None:
    name = CellName("tiny-1", "made_up", "two_stage")
    whole = made(12, name, 100)
    found = json.loads(whole.explorer.detail("answers/made_up/tiny-1").json)
    place = found["strategies"].index("two_stage")
    assert {json.dumps(observed[place]) for _, observed in found["rows"]} == {"0"}


def test_a_model_without_any_cell_has_no_detail() -> None:
    whole = made(12, None, 100)
    kept = {name: rows for name, rows in whole.observations.items() if name.model == "oracle"}
    explorer = replace(whole.explorer, observations=kept)
    assert "answers/made_up/tiny-1" not in explorer.detail_keys()
    with pytest.raises(AnalysisError, match="has no detail 'answers/made_up/tiny-1'"):
        explorer.detail("answers/made_up/tiny-1")


def test_an_observation_of_an_unknown_question_is_refused_by_name() -> None:
    whole = made(12, None, 100)
    shorter = replace(whole.explorer, questions={**whole.questions, "made_up": whole.questions["made_up"][1:]})
    with pytest.raises(AnalysisError, match=rf"question {whole.questions['made_up'][0].question_id}.*\(1 such\)"):
        shorter.detail("answers/made_up/oracle")


def test_questions_keep_their_raw_text_and_say_how_options_are_displayed() -> None:
    rows = detail("questions/made_up")["rows"]
    for row, question in zip(rows, made().questions["made_up"], strict=True):
        assert row[:5] == [question.question_id, "made_up", question.question, list(question.options), question.gold]
        shown = row[6] if len(row) > 6 else row[3]
        assert shown == [display(option) for option in question.options]
    assert [len(row) for row in rows].count(7) == 2  # the options with irregular white space and with U+2028


def test_side_files_hold_no_hostile_text_as_it_is() -> None:
    for one in made().explorer.details():
        assert one.script.isascii()
        assert not set("<>&\u2028\u2029") & set(one.script)
        assert one.script.startswith(f'stablechoice.receive("{one.key}",{{')
    stems = " ".join(row[2] for row in detail("questions/made_up")["rows"])
    assert all(text in stems for text in HOSTILE)


def test_details_are_the_same_every_time() -> None:
    explorer = made().explorer
    assert [one.json for one in explorer.details()] == [one.json for one in explorer.details()]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, max_examples=150)
@given(JSON_VALUES)
def test_script_json_says_the_same_and_can_neither_end_nor_open_an_element(value: Json) -> None:
    dumped = script_json(value)
    assert json.loads(dumped) == value
    assert dumped.isascii()
    assert not set("<>&") & set(dumped)


def test_script_json_refuses_what_json_does_not_know() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        script_json({"score": float("nan")})


def test_content_hash_is_what_a_browser_computes() -> None:
    # sha256 of the empty text, base64: the well-known e3b0c442…b855.
    assert content_hash("") == "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"


@settings(deadline=None, max_examples=150)
@given(
    st.text(min_size=1).filter(str.strip),
    st.lists(st.text(), min_size=2, max_size=5),
    st.text(),
    st.sampled_from(["direct_mcq", "option_matching", "independent_hypothesis", "unknown", "odd"]),
    st.integers(0, 4),
    st.booleans(),
)
def test_any_prompt_survives_its_parts(
    stem: str, options: list[str], quoted: str, step: str, turn: int, recorded: bool
) -> None:
    prompts = Prompts(
        "made",
        (
            ("direct_mcq", "{question}\n{options}"),
            ("option_matching", "Q {question} A {free_text} O {options} ."),
            ("independent_hypothesis", "{question} is {option_text}."),
            ("odd", "{free_text}{free_text}"),
        ),
    )
    question = Question("0" * 16, "s", stem, tuple(options), 0)
    place = turn % len(options)
    option = place if step == "independent_hypothesis" else -1
    prompt = (
        f"free words {quoted}"
        if step == "unknown"
        else prompts.render(step, question, place, free_text=quoted, option_text=display(options[option]))
    )
    request = Request("0" * 16, Address(step, place, option), prompt)
    literals: list[str] = []

    def number(text: str) -> int:
        literals.append(text)
        return len(literals) - 1

    texts = {quoted: 0} if recorded else {}
    parts = prompt_parts(request, question, prompts, texts, number)
    assert together(parts, request, question, literals, [quoted]) == prompt


LETTERED = st.sampled_from(["A B C", "1 2 3", "b a c", "-"])


@settings(deadline=None, max_examples=100)
@given(LETTERED, st.permutations([0, 1, 2]), st.integers(0, 9))
def test_options_are_read_back_from_the_prompt_under_any_labels_and_order(
    marks: str, order: list[int], number: int
) -> None:
    question = Question("0" * 16, "s", "Which?", ("amber", "B. birch", "- cobalt"), 0)
    part = f"o{marks}/{' '.join(map(str, order))}"
    read = shown_options(block(part, question, number), question, number)
    assert read is not None
    assert block(read, question, number) == block(part, question, number)


def test_options_that_look_alike_are_told_apart_by_the_rotation_or_not_at_all() -> None:
    question = Question("0" * 16, "s", "Which?", ("same", "other", "same"), 0)
    assert shown_options("1. other\n2. same\n3. same", question, 1) == "o1 2 3"
    assert shown_options("1. other\n2. same\n3. same", question, 3) is None


@pytest.mark.parametrize(
    "text",
    [
        "A. same\nB. other",
        "A. one\nA. two\nB. three",
        "- one\nA. two\nB. three",
        "one\ntwo\nthree",
        "A. one\nB. two\nC. x",
    ],
)
def test_a_block_that_says_something_else_gives_no_options(text: str) -> None:
    question = Question("0" * 16, "s", "Which?", ("one", "two", "three"), 0)
    assert shown_options(text, question, 0) is None
