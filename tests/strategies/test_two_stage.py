"""Options hidden in stage 1: Two-stage and Hidden+Semantic."""

from __future__ import annotations

from typing import Any

import pytest

from stablechoice.errors import ConfigError, PlanError
from stablechoice.observation import Reading
from stablechoice.questions.question import Question
from stablechoice.request import Address, Response
from stablechoice.strategies.two_stage import HiddenSemantic, TwoStage

TWO_STAGE = TwoStage("Two-stage", "free_text", "option_matching")
REASONING = TwoStage("Reasoning Two-stage", "reasoning/free_text", "option_matching")
FALLING_BACK = TwoStage("Two-stage", "free_text", "option_matching", fallback="direct_mcq")
HIDDEN = HiddenSemantic("Hidden+Semantic", "free_text", "semantic_matching_v1", 0.30, "two_stage")

UNANSWERED = [
    (Response("", status="request_failed", detail="timeout"), "request_failed"),
    (Response("", status="empty"), "empty"),
    (Response("", status="refusal"), "refusal"),
    (Response(" \n\t"), "empty"),
]


def matched(says: Any, first: str | Response, *seconds: str | Response, step: str = "free_text") -> Any:
    return says({(step, 0): first} | {("option_matching", r): second for r, second in enumerate(seconds)})


@pytest.mark.parametrize("count", [3, 4, 5])
@pytest.mark.parametrize("strategy", [TWO_STAGE, REASONING])
def test_stage_1_is_asked_once_and_stage_2_under_every_rotation(
    play: Any, prompts: Any, make_question: Any, says: Any, count: int, strategy: TwoStage
) -> None:
    answer = matched(says, "an owl", *["A"] * count, step=strategy.first)
    played = play(strategy, make_question(count), prompts, answer)
    assert [len(asked) for asked in played.rounds] == [1, count]
    assert played.plan == [
        (strategy.first, 0, -1, "answer"),
        ("option_matching", 0, -1, "answer"),
        *(("option_matching", rotation, -1, "order") for rotation in range(1, count)),
    ]
    assert (played.count("answer"), played.count("order")) == (2, count - 1)


def test_without_order_stage_2_is_asked_in_the_canonical_order_alone(
    play: Any, prompts: Any, make_question: Any, says: Any
) -> None:
    played = play(TWO_STAGE, make_question(5), prompts, matched(says, "an owl", "A"), order=False)
    assert played.plan == [("free_text", 0, -1, "answer"), ("option_matching", 0, -1, "answer")]


@pytest.mark.parametrize("first", ["  It hunts.\n\nAnswer: {options} owl \n", "grey owl"])
def test_the_whole_stage_1_text_is_the_reference_answer_byte_for_byte_under_every_rotation(
    play: Any, prompts: Any, make_question: Any, says: Any, first: str
) -> None:
    question = make_question(4)
    answer = matched(says, first, "A", "A", "A", "A", step="reasoning/free_text")
    played = play(REASONING, question, prompts, answer)
    assert [request.prompt for request in played.rounds[1]] == [
        prompts.render("option_matching", question, rotation, free_text=first) for rotation in range(4)
    ]
    assert all(f"Reference answer: {first}\n\nOptions:" in request.prompt for request in played.rounds[1])


def test_stage_1_hides_the_options(play: Any, prompts: Any, make_question: Any, says: Any) -> None:
    question = make_question(4)
    for strategy in (TWO_STAGE, REASONING):
        played = play(strategy, question, prompts, matched(says, "owl", *"AAAA", step=strategy.first))
        assert not [option for option in question.options if option in played.requests[0].prompt]


@pytest.mark.parametrize(("first", "reason"), UNANSWERED)
def test_without_a_stage_1_answer_stage_2_is_not_asked_and_stage_1s_reason_stands(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any, first: Response, reason: str
) -> None:
    question = make_question(4)
    for strategy in (TWO_STAGE, FALLING_BACK):
        played = play(strategy, question, prompts, matched(says, first))
        assert played.plan == [("free_text", 0, -1, "answer")]
        outcome = strategy.read(question, played.answers, make_reader())
        assert (outcome.choice, outcome.reason, outcome.how) == (None, reason, "")
        assert outcome.readings == (Reading(0, None, reason),)  # type: ignore[arg-type]


def test_the_answer_is_stage_2s_letter_at_rotation_0(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any
) -> None:
    question = make_question(4)
    played = play(TWO_STAGE, question, prompts, matched(says, "an owl", "B", "A", "D", "hm"))
    outcome = TWO_STAGE.read(question, played.answers, make_reader())
    assert (outcome.choice, outcome.reason, outcome.how) == (1, None, "lone_letter")
    # Slot + rotation, modulo 4: B at 0 is 1, A at 1 is 1, D at 2 is 1.
    assert [(reading.rotation, reading.choice) for reading in outcome.readings] == [(0, 1), (1, 1), (2, 1), (3, None)]


def test_an_unreadable_stage_2_is_unscored_and_asks_nothing_more(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any
) -> None:
    question = make_question(3)
    played = play(TWO_STAGE, question, prompts, matched(says, "an owl", "A or B", "A", "A"))
    assert len(played.requests) == 4
    outcome = TWO_STAGE.read(question, played.answers, make_reader())
    assert (outcome.choice, outcome.reason) == (None, "ambiguous")


def test_fallback_asks_directly_wherever_stage_2_cannot_be_read_and_is_counted_by_how(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any
) -> None:
    question = make_question(4)
    entries = {
        ("free_text", 0): "an owl",
        ("option_matching", 0): "A or B",
        ("option_matching", 1): "A",
        ("option_matching", 2): "hm",
        ("option_matching", 3): Response("", status="request_failed"),
        ("direct_mcq", 0): "C",
        ("direct_mcq", 2): "A or B",
    }
    played = play(FALLING_BACK, question, prompts, says(entries))
    # A failed request is asked again at the next run; it is not an answer that cannot be read.
    assert played.plan[5:] == [("direct_mcq", 0, -1, "answer"), ("direct_mcq", 2, -1, "order")]
    assert [request.prompt for request in played.rounds[2]] == [
        prompts.render("direct_mcq", question, r) for r in (0, 2)
    ]
    outcome = FALLING_BACK.read(question, played.answers, make_reader())
    assert (outcome.choice, outcome.reason, outcome.how) == (2, None, "fallback")
    assert outcome.readings[1].how == "lone_letter"
    assert (outcome.readings[2].choice, outcome.readings[2].how) == (None, "")
    assert outcome.readings[3] == Reading(3, None, "request_failed")


def test_fallback_asks_nothing_more_while_stage_2_can_be_read(
    play: Any, prompts: Any, make_question: Any, says: Any
) -> None:
    answer = matched(says, "an owl", "B", "A", "D", "C")
    plain, falling = (play(s, make_question(4), prompts, answer) for s in (TWO_STAGE, FALLING_BACK))
    assert plain.plan == falling.plan


def test_a_missing_stage_is_refused_and_named(
    play: Any, prompts: Any, make_question: Any, make_reader: Any, says: Any
) -> None:
    question = make_question(4)
    with pytest.raises(PlanError, match="'free_text', rotation 0"):
        TWO_STAGE.read(question, {}, make_reader())
    with pytest.raises(PlanError, match="'option_matching', rotation 0"):
        TWO_STAGE.read(question, {Address("free_text"): Response("owl")}, make_reader())
    unread = play(TWO_STAGE, question, prompts, matched(says, "owl", "A or B", *"AAA")).answers
    with pytest.raises(PlanError, match="'direct_mcq', rotation 0"):
        FALLING_BACK.read(question, unread, make_reader())


def test_two_stage_has_an_order_and_compares_no_texts(play: Any, prompts: Any, make_question: Any, says: Any) -> None:
    question = make_question(4)
    assert TWO_STAGE.order == "rotations"
    assert TWO_STAGE.texts(question, play(TWO_STAGE, question, prompts, matched(says, "owl", *"AAAA")).answers) == []


@pytest.mark.parametrize("count", [3, 4, 5])
@pytest.mark.parametrize("order", [True, False])
def test_hidden_semantic_asks_stage_1_of_two_stage_and_nothing_else(
    play: Any, prompts: Any, make_question: Any, says: Any, count: int, order: bool
) -> None:
    question = make_question(count)
    hidden = play(HIDDEN, question, prompts, matched(says, "an owl"), order=order)
    assert hidden.plan == [("free_text", 0, -1, "answer")]
    two_stage = play(TWO_STAGE, question, prompts, matched(says, "an owl", *["A"] * count))
    assert hidden.keys < two_stage.keys


@pytest.mark.parametrize(
    ("text", "choice", "how"),
    [
        (" Grey  OWL\n", 1, "exact"),
        ("It is a grey owl, I think.", 1, "containment"),
        ("a big brown animal, a bear", 2, "cosine"),
    ],
)
def test_hidden_semantic_reads_the_stage_1_text_by_the_cascade(
    make_question: Any, make_reader: Any, text: str, choice: int, how: str
) -> None:
    outcome = HIDDEN.read(make_question(4), {Address("free_text"): Response(text)}, make_reader())
    assert (outcome.choice, outcome.reason, outcome.how) == (choice, None, how)
    assert [(reading.rotation, reading.choice) for reading in outcome.readings] == [(0, choice)]


@pytest.mark.parametrize(
    ("benchmark", "seed", "tie_method", "choice"),
    [
        # printf 'choicebench-tiebreak-v1|42|mmlu|00dcb6284b87825a|semantic_matching_v1|0,2' | b2sum -l 64
        # is odd: the second of {0, 2}. The other three, each one input apart, are even.
        ("mmlu", 42, "semantic_matching_v1", 2),
        ("mmlu", 7, "semantic_matching_v1", 0),
        ("arc_challenge", 42, "semantic_matching_v1", 0),
        ("mmlu", 42, "text_extraction", 0),
    ],
)
def test_options_that_normalise_alike_tie_and_go_to_the_canonical_tie_break(
    make_reader: Any, benchmark: str, seed: int, tie_method: str, choice: int
) -> None:
    question = Question("00dcb6284b87825a", "animals", "Which one?", ("Owl", "fox", "owl ", "bear"), 0)
    hidden = HiddenSemantic("Hidden+Semantic", "free_text", tie_method, 0.30)
    outcome = hidden.read(question, {Address("free_text"): Response("OWL")}, make_reader(benchmark, seed))
    assert (outcome.choice, outcome.how, outcome.tied) == (choice, "exact", (0, 2))
    assert outcome.readings == (Reading(0, choice, None, "exact", tied=(0, 2)),)


def test_hidden_semantic_leaves_a_text_below_the_threshold_unscored(make_question: Any, make_reader: Any) -> None:
    # "the brown one there" shares one of five words with "brown bear": 0.2.
    answers = {Address("free_text"): Response("the brown one there")}
    below = HIDDEN.read(make_question(4), answers, make_reader())
    assert (below.choice, below.reason) == (None, "below_threshold")
    lower = HiddenSemantic("Hidden+Semantic", "free_text", "semantic_matching_v1", 0.20)
    assert lower.read(make_question(4), answers, make_reader()).choice == 2


@pytest.mark.parametrize(("first", "reason"), UNANSWERED)
def test_hidden_semantic_is_unscored_for_stage_1s_reason(
    make_question: Any, make_reader: Any, first: Response, reason: str
) -> None:
    answers = {Address("free_text"): first}
    outcome = HIDDEN.read(make_question(4), answers, make_reader())
    assert (outcome.choice, outcome.reason) == (None, reason)
    assert HIDDEN.texts(make_question(4), answers) == []


def test_hidden_semantic_names_the_texts_to_embed_only_where_similarity_decides(make_question: Any) -> None:
    question = make_question(3)
    assert HIDDEN.texts(question, {Address("free_text"): Response("Grey owl")}) == []
    assert HIDDEN.texts(question, {Address("free_text"): Response("a grey owl")}) == []
    texts = HIDDEN.texts(question, {Address("free_text"): Response("Some  Bird")})
    assert set(texts) == {"some bird", "red fox", "grey owl", "brown bear"}


def test_hidden_semantic_order_is_zero_by_construction() -> None:
    assert HIDDEN.order == "zero"


@pytest.mark.parametrize("threshold", [1.5, -2, "0.3", True, float("nan")])
def test_a_threshold_that_is_no_cosine_is_refused(threshold: Any) -> None:
    with pytest.raises(ConfigError, match=r"'Hidden\+Semantic'.*threshold is .*from -1 to 1"):
        HiddenSemantic("Hidden+Semantic", "free_text", "semantic_matching_v1", threshold)


def test_an_unknown_method_word_is_refused() -> None:
    with pytest.raises(ConfigError, match="tie_method is 'semantic'; allowed: "):
        HiddenSemantic("Hidden+Semantic", "free_text", "semantic", 0.30)
