"""Options visible in stage 1: Visible+Semantic and Visible+LLM."""

from __future__ import annotations

from typing import Any

import pytest

from stablechoice.errors import ConfigError, PlanError
from stablechoice.observation import Reading
from stablechoice.questions.question import Question
from stablechoice.request import Address, Request, Response
from stablechoice.strategies.extraction import VisibleLLM, VisibleSemantic

SEMANTIC = VisibleSemantic("Visible+Semantic", "text_extraction", "text_extraction", 0.30)
LLM = VisibleLLM("Visible+LLM", "text_extraction", "option_matching", "visible_semantic")
FAILED = Response("", status="request_failed")


def same_text_then_a(request: Request) -> Response:
    """Stage 1 writes another text under each rotation, stage 2 always answers A."""
    return Response("A" if request.address.step == "option_matching" else f"text {request.address.rotation}")


@pytest.mark.parametrize("count", [3, 4, 5])
def test_visible_semantic_asks_once_to_answer_and_the_other_rotations_for_order(
    play: Any, prompts: Any, make_question: Any, count: int
) -> None:
    played = play(SEMANTIC, make_question(count), prompts, same_text_then_a)
    assert played.plan == [
        ("text_extraction", 0, -1, "answer"),
        *(("text_extraction", rotation, -1, "order") for rotation in range(1, count)),
    ]
    assert len(played.rounds) == 1
    assert (played.count("answer"), played.count("order")) == (1, count - 1)


@pytest.mark.parametrize("count", [3, 4, 5])
def test_visible_llm_asks_both_stages_under_every_rotation(
    play: Any, prompts: Any, make_question: Any, count: int
) -> None:
    played = play(LLM, make_question(count), prompts, same_text_then_a)
    purposes = ["answer"] + ["order"] * (count - 1)
    assert played.plan == [
        *(("text_extraction", rotation, -1, purpose) for rotation, purpose in enumerate(purposes)),
        *(("option_matching", rotation, -1, purpose) for rotation, purpose in enumerate(purposes)),
    ]
    assert [len(asked) for asked in played.rounds] == [count, count]
    assert (played.count("answer"), played.count("order")) == (2, 2 * (count - 1))


def test_without_order_only_the_canonical_order_is_asked(play: Any, prompts: Any, make_question: Any) -> None:
    first, second = ("text_extraction", 0, -1, "answer"), ("option_matching", 0, -1, "answer")
    assert play(SEMANTIC, make_question(5), prompts, same_text_then_a, order=False).plan == [first]
    assert play(LLM, make_question(5), prompts, same_text_then_a, order=False).plan == [first, second]


@pytest.mark.parametrize("count", [3, 4, 5])
@pytest.mark.parametrize("order", [True, False])
def test_visible_llms_stage_1_is_visible_semantics(
    play: Any, prompts: Any, make_question: Any, count: int, order: bool
) -> None:
    semantic = play(SEMANTIC, make_question(count), prompts, same_text_then_a, order=order)
    llm = play(LLM, make_question(count), prompts, same_text_then_a, order=order)
    assert semantic.keys < llm.keys
    assert len(llm.keys - semantic.keys) == (count if order else 1)


def test_the_matcher_gets_the_text_of_its_own_rotation_with_the_options_of_that_rotation(
    play: Any, prompts: Any, make_question: Any
) -> None:
    question = make_question(4)
    played = play(LLM, question, prompts, same_text_then_a)
    assert [request.prompt for request in played.rounds[1]] == [
        prompts.render("option_matching", question, rotation, free_text=f"text {rotation}") for rotation in range(4)
    ]


def test_visible_semantic_answers_with_rotation_0_and_reads_every_rotation(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any
) -> None:
    question = make_question(4)
    texts = ["Grey owl", "the BROWN bear.", "nothing fits here", ""]
    played = play(SEMANTIC, question, prompts, says({("text_extraction", r): text for r, text in enumerate(texts)}))
    outcome = SEMANTIC.read(question, played.answers, make_reader())
    assert (outcome.choice, outcome.reason, outcome.how) == (1, None, "exact")
    assert [(r.rotation, r.choice, r.reason) for r in outcome.readings] == [
        (0, 1, None),
        (1, 2, None),
        (2, None, "below_threshold"),
        (3, None, "empty"),
    ]


@pytest.mark.parametrize(
    ("benchmark", "seed", "tie_method", "choice"),
    [
        # printf 'choicebench-tiebreak-v1|42|arc_challenge|00dcb6284b87825a|text_extraction|0,2' | b2sum -l 64
        # is odd: the second of {0, 2}. The other three, each one input apart, are even.
        ("arc_challenge", 42, "text_extraction", 2),
        ("arc_challenge", 7, "text_extraction", 0),
        ("mmlu", 42, "text_extraction", 0),
        ("arc_challenge", 42, "semantic_matching_v1", 0),
    ],
)
def test_a_tied_cascade_goes_to_the_canonical_tie_break_alike_under_every_rotation(
    make_reader: Any, benchmark: str, seed: int, tie_method: str, choice: int
) -> None:
    question = Question("00dcb6284b87825a", "animals", "Which one?", ("Owl", "fox", "owl ", "bear"), 0)
    semantic = VisibleSemantic("Visible+Semantic", "text_extraction", tie_method, 0.30)
    answers = {Address("text_extraction", rotation): Response("OWL") for rotation in range(4)}
    outcome = semantic.read(question, answers, make_reader(benchmark, seed))
    assert (outcome.choice, outcome.tied) == (choice, (0, 2))
    assert [(reading.rotation, reading.choice) for reading in outcome.readings] == [(r, choice) for r in range(4)]


def test_the_threshold_is_the_configs(make_question: Any, make_reader: Any) -> None:
    # "the brown one there" shares one of five words with "brown bear": 0.2.
    answers = {Address("text_extraction"): Response("the brown one there")}
    lower = VisibleSemantic("Visible+Semantic", "text_extraction", "text_extraction", 0.20)
    assert SEMANTIC.read(make_question(4), answers, make_reader()).reason == "below_threshold"
    assert lower.read(make_question(4), answers, make_reader()).choice == 2


def test_visible_semantic_names_each_rotations_texts_only_where_similarity_decides(make_question: Any) -> None:
    question = make_question(3)
    texts = {0: "red fox", 1: "Some  Bird", 2: " "}
    answers = {Address("text_extraction", rotation): Response(text) for rotation, text in texts.items()}
    assert set(SEMANTIC.texts(question, answers)) == {"some bird", "red fox", "grey owl", "brown bear"}
    assert SEMANTIC.texts(question, {Address("text_extraction"): FAILED}) == []


def test_visible_llm_answers_with_the_letter_at_rotation_0(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any
) -> None:
    question = make_question(3)
    letters = {("option_matching", 0): "B", ("option_matching", 1): "B", ("option_matching", 2): "C"}
    stage_1 = {("text_extraction", rotation): "grey owl" for rotation in range(3)}
    outcome = LLM.read(question, play(LLM, question, prompts, says(stage_1 | letters)).answers, make_reader())
    assert (outcome.choice, outcome.how) == (1, "lone_letter")
    # Slot + rotation, modulo 3: B at 1 is 2, C at 2 is 1.
    assert [(reading.rotation, reading.choice) for reading in outcome.readings] == [(0, 1), (1, 2), (2, 1)]


def test_visible_llm_does_not_match_where_stage_1_gave_nothing_and_reads_stage_1s_reason(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any
) -> None:
    question = make_question(4)
    stage_1 = dict(enumerate([FAILED, Response("grey owl"), Response(" \n"), Response("", status="refusal")]))
    entries = {("text_extraction", rotation): response for rotation, response in stage_1.items()}
    played = play(LLM, question, prompts, says(entries | {("option_matching", 1): "A"}))
    assert played.plan[4:] == [("option_matching", 1, -1, "order")]
    outcome = LLM.read(question, played.answers, make_reader())
    assert (outcome.choice, outcome.reason) == (None, "request_failed")
    assert outcome.readings == (
        Reading(0, None, "request_failed"),
        Reading(1, 1, None, "lone_letter"),
        Reading(2, None, "empty"),
        Reading(3, None, "refusal"),
    )


def test_visible_llm_asks_no_second_round_where_stage_1_gave_nothing_at_all(
    play: Any, prompts: Any, make_question: Any
) -> None:
    assert len(play(LLM, make_question(3), prompts, lambda _: FAILED).rounds) == 1


def test_a_stage_1_answer_without_its_match_is_refused(make_question: Any, make_reader: Any) -> None:
    answers = {Address("text_extraction", rotation): Response("grey owl") for rotation in range(2)}
    answers[Address("option_matching", 0)] = Response("A")
    with pytest.raises(PlanError, match="'option_matching', rotation 1"):
        LLM.read(make_question(4), answers, make_reader())
    with pytest.raises(PlanError, match="'text_extraction', rotation 0"):
        SEMANTIC.read(make_question(4), {}, make_reader())


def test_both_have_an_order_and_only_the_semantic_one_compares_texts(make_question: Any) -> None:
    assert (SEMANTIC.order, LLM.order) == ("rotations", "rotations")
    answers = {Address("text_extraction"): Response("bird"), Address("option_matching"): Response("A")}
    assert LLM.texts(make_question(4), answers) == []
    assert SEMANTIC.texts(make_question(4), answers) != []


def test_settings_that_would_change_answers_silently_are_refused() -> None:
    with pytest.raises(ConfigError, match="tie_method is 'extraction'; allowed: "):
        VisibleSemantic("Visible+Semantic", "text_extraction", "extraction", 0.30)
    with pytest.raises(ConfigError, match="threshold is 30"):
        VisibleSemantic("Visible+Semantic", "text_extraction", "text_extraction", 30)
