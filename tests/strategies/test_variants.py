"""The first version's rules, and what both versions leave untested: each an option of a strategy, each a YAML file."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import hydra.utils
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from stablechoice.errors import ConfigError, PlanError
from stablechoice.prompts import Prompts
from stablechoice.questions.question import LABELS, Question
from stablechoice.request import Address, Request, Response
from stablechoice.strategies.hypothesis import IndependentHypothesis
from stablechoice.strategies.sharing import is_derived
from stablechoice.strategies.strategy import Capped, Matching, Strategy
from stablechoice.strategies.two_stage import HiddenSemantic, TwoStage

ROOT = Path(__file__).parents[2]
FIRST = IndependentHypothesis(
    "IHS", "independent_hypothesis", "independent_hypothesis", invalid="zero", tie="draw", max_new_tokens=4000
)


def build(key: str) -> Strategy:
    built: Strategy = hydra.utils.instantiate(OmegaConf.load(ROOT / "conf" / "strategy" / f"{key}.yaml"))
    return built


@pytest.fixture(scope="module")
def first_prompts() -> Prompts:
    return Prompts.load(ROOT / "conf" / "prompt" / "paper-v1")


def scored(*scores: str) -> dict[Address, Response]:
    return {
        Address("independent_hypothesis", option=option): Response(f"<score>{score}</score>")
        for option, score in enumerate(scores)
    }


def test_the_first_versions_files_hold_its_rules() -> None:
    assert build("hypothesis_v1") == IndependentHypothesis(
        "IHS (first version)", FIRST.prompt, FIRST.tie_method, invalid="zero", tie="draw", max_new_tokens=4000
    )
    assert (build("cyclic_v1").tie, build("cyclic_v1").shares) == ("original_order", "cyclic")  # type: ignore[attr-defined]
    assert [build(key).tie for key in ("hidden_semantic_v1", "visible_semantic_v1")] == ["draw", "draw"]  # type: ignore[attr-defined]


def test_a_score_that_cannot_be_read_counts_as_zero_in_the_first_version(make_question: Any, make_reader: Any) -> None:
    outcome = FIRST.read(make_question(4), scored("high", "30", "101", "5"), make_reader())
    assert (outcome.choice, outcome.scores, outcome.tied) == (1, (0.0, 30.0, 0.0, 5.0), ())


def test_zeros_tie_with_a_stated_zero(make_question: Any, make_reader: Any) -> None:
    outcome = FIRST.read(make_question(4), scored("high", "0", "high", "high"), make_reader())
    assert (outcome.tied, outcome.scores) == ((0, 1, 2, 3), (0.0,) * 4)


def test_without_any_valid_score_the_first_version_is_unscored_too(make_question: Any, make_reader: Any) -> None:
    """PROTOCOL 4: no valid score: unscored. A draw among four made-up zeros would be a guess."""
    outcome = FIRST.read(make_question(4), scored("high", "low", "101", "-1"), make_reader())
    assert (outcome.choice, outcome.reason, outcome.scores) == (None, "no_valid_score", (None,) * 4)


@pytest.mark.parametrize("seed", [0, 7, 42])
def test_tied_scores_are_drawn_as_the_first_version_draws(make_question: Any, make_reader: Any, seed: int) -> None:
    question = make_question(4)
    # PROTOCOL 4, written out: Random(f"{seed}:{question_id}").choice(sorted(tied letters)).
    letter = random.Random(f"{seed}:{question.question_id}").choice(["A", "C"])
    outcome = FIRST.read(question, scored("90", "5", "90", "0"), make_reader("mmlu", seed))
    assert (outcome.choice, outcome.tied) == (LABELS.index(letter), (0, 2))


@given(scores=st.lists(st.sampled_from(["0", "50", "50.0", "100", "none", "101"]), min_size=4, max_size=4))
@settings(deadline=None, max_examples=60)
def test_zeroing_never_makes_a_worse_option_win(make_question: Any, make_reader: Any, scores: list[str]) -> None:
    left_out = IndependentHypothesis("IHS", FIRST.prompt, FIRST.tie_method)
    one, other = (s.read(make_question(4), scored(*scores), make_reader()) for s in (FIRST, left_out))
    if other.choice is not None and max(score or 0 for score in other.scores) > 0:
        assert set(one.tied or (one.choice,)) == set(other.tied or (other.choice,))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"invalid": "none"}, "invalid is 'none'; allowed: left_out, zero"),
        ({"tie": "coin"}, "tie is 'coin'; allowed: canonical, draw"),
        ({"max_new_tokens": 0}, "max_new_tokens is 0; give a whole number"),
        ({"max_new_tokens": True}, "max_new_tokens is True"),
    ],
)
def test_ihs_refuses_what_it_does_not_know(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        IndependentHypothesis("IHS", FIRST.prompt, FIRST.tie_method, **changed)


def test_cyclic_of_the_first_version_asks_nothing_and_gives_a_tied_vote_to_rotation_0(
    play: Any, prompts: Prompts, make_question: Any, make_reader: Any
) -> None:
    question, cyclic, first = make_question(4), build("cyclic"), build("cyclic_v1")
    assert is_derived(first, cyclic, prompts)
    # Options chosen: 2, 2, 0, 0 under rotations 0 to 3, so that 0 and 2 tie; the hash gives 2 (PROTOCOL 4's golden).
    chosen = [0, 0, 2, 2]
    answered = play(
        cyclic,
        question,
        prompts,
        lambda r: Response(LABELS[question.slot(chosen[r.address.rotation], r.address.rotation)]),
    )
    votes = [one.read(question, answered.answers, make_reader()) for one in (cyclic, first)]
    assert [(vote.choice, vote.tied) for vote in votes] == [(2, (0, 2)), (0, (0, 2))]


def test_texts_that_tie_are_drawn_by_their_text(make_reader: Any) -> None:
    """Two options that normalise alike tie at the exact match; [P1] draws over the texts, [P2] hashes the indices."""
    question = Question("00dcb6284b87825a", "trees", "Which tree?", ("Oak", "elm", "oak", "ash"), 0)
    reader, answers = make_reader(), {Address("free_text"): Response("oak")}
    drawn = HiddenSemantic("Hidden", "free_text", "semantic_matching_v1", 0.3, tie="draw").read(
        question, answers, reader
    )
    text = random.Random("42:00dcb6284b87825a").choice(["Oak", "oak"])
    assert (drawn.choice, drawn.tied) == (question.options.index(text), (0, 2))


@pytest.mark.parametrize(
    ("key", "steps"),
    [
        ("two_stage_v2", ["free_text_v2", *["option_matching"] * 4]),
        ("two_stage_v3", ["free_text", *["option_matching_v3"] * 4]),
    ],
)
def test_a_prompt_ablation_changes_the_template_of_one_stage(
    play: Any, first_prompts: Prompts, make_question: Any, key: str, steps: list[str]
) -> None:
    played = play(build(key), make_question(4), first_prompts, lambda _: Response("A"))
    assert [request.address.step for request in played.requests] == steps


def test_v3_reads_the_stage_1_of_two_stage(play: Any, first_prompts: Prompts, make_question: Any) -> None:
    ours, shared = (
        play(build(key), make_question(4), first_prompts, lambda _: Response("A"))
        for key in ("two_stage_v3", "two_stage")
    )
    assert [r.address.step for r in ours.requests if r.address in shared.answers] == ["free_text"]


REASONED = "It hunts by night, so the fox is out.\nAnswer: grey owl"


def test_the_answer_line_alone_is_passed_on(play: Any, prompts: Prompts, make_question: Any) -> None:
    question, strategy = make_question(4), build("reasoning_two_stage_answer_line")
    played = play(
        strategy, question, prompts, lambda r: Response(REASONED if r.address.step.startswith("reasoning") else "B")
    )
    (_, matching) = played.rounds
    assert len(matching) == 4
    for request in matching:
        assert "Reference answer: grey owl\n" in request.prompt
        assert "by night" not in request.prompt


def test_without_an_answer_line_nothing_is_matched_and_the_reason_stands(
    play: Any, prompts: Prompts, make_question: Any, make_reader: Any
) -> None:
    question, strategy = make_question(4), build("reasoning_two_stage_answer_line")
    for response, reason in ((Response("The owl."), "no_answer"), (Response("Hm", finish="length"), "truncated")):
        played = play(strategy, question, prompts, lambda _, response=response: response)
        assert len(played.requests) == 1
        outcome = strategy.read(question, played.answers, make_reader())
        assert (outcome.choice, outcome.reason) == (None, reason)


def test_stage_1_of_the_answer_line_is_shared_and_stage_2_is_its_own(prompts: Prompts) -> None:
    strategy = build("reasoning_two_stage_answer_line")
    assert strategy.shares == "reasoning_two_stage"
    assert not is_derived(strategy, build("reasoning_two_stage"), prompts)


def test_another_model_is_asked_to_match_and_to_nothing_else(play: Any, prompts: Prompts, make_question: Any) -> None:
    played = play(build("two_stage_other_matcher"), make_question(4), prompts, lambda _: Response("grey owl"))
    assert [r.model for r in played.requests] == [None, *["gpt-4.1-mini"] * 4]


def test_the_same_prompts_to_another_model_are_not_derived(prompts: Prompts) -> None:
    own = TwoStage("Two-stage", "free_text", "option_matching")
    other = TwoStage("Other", "free_text", "option_matching", shares="two_stage", matcher_model="gpt-4.1-mini")
    assert not is_derived(other, own, prompts)
    assert is_derived(TwoStage("Same", "free_text", "option_matching", shares="two_stage"), own, prompts)


def test_a_fallback_asks_the_model_itself_not_the_matcher(play: Any, prompts: Prompts, make_question: Any) -> None:
    strategy = TwoStage("Other", "free_text", "option_matching", "direct_mcq", matcher_model="gpt-4.1-mini")
    played = play(strategy, make_question(3), prompts, lambda _: Response("hm"))
    assert [r.model for r in played.requests if r.address.step == "direct_mcq"] == [None] * 3


def test_which_strategies_have_a_cap_or_a_matcher_is_seen_in_their_fields() -> None:
    assert isinstance(build("hypothesis"), Capped)
    assert not isinstance(build("cyclic"), Capped)
    assert isinstance(build("visible_llm"), Matching)
    assert not isinstance(build("hypothesis"), Matching)


def test_an_unknown_reference_is_refused() -> None:
    with pytest.raises(ConfigError, match="reference is 'line'; allowed: response, answer_line"):
        TwoStage("Two-stage", "free_text", "option_matching", reference="line")  # type: ignore[arg-type]


def judged(*words: str) -> dict[Address, Response]:
    return {Address("option_verification", option=option): Response(word) for option, word in enumerate(words)}


@pytest.fixture(scope="module")
def untested_prompts() -> Prompts:
    return Prompts.load(ROOT / "conf" / "prompt" / "untested")


def test_the_untested_bundle_holds_the_papers_templates_and_two_of_our_own(untested_prompts: Prompts) -> None:
    ours, paper = dict(untested_prompts.templates), dict(Prompts.load(ROOT / "conf" / "prompt" / "paper").templates)
    assert ours.keys() - paper.keys() == {"option_verification", "answer_matching"}
    assert {name: text for name, text in ours.items() if name in paper and text != paper[name]} == {}


@pytest.mark.parametrize("count", [3, 4, 5])
def test_each_option_is_verified_alone(play: Any, untested_prompts: Prompts, make_question: Any, count: int) -> None:
    question = make_question(count)
    played = play(build("option_verification"), question, untested_prompts, lambda _: Response("No"), order=False)
    assert played.plan == [("option_verification", 0, option, "answer") for option in range(count)]
    for request, option in zip(played.requests, question.options, strict=True):
        assert f"Proposed answer: {option}\n" in request.prompt
        assert not [other for other in question.options if other != option and other in request.prompt]


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        (("No", "Yes", "No.", "no"), (1, None, ())),
        (("No", "Yes", "maybe", ""), (1, None, ())),
        (("No", "No", "No", "No"), (None, "no_answer", ())),
        (("No", "No", "It depends", "No"), (None, "no_answer", ())),
        (("Yes or no", "Yes or no", "Yes or no", "Yes or no"), (None, "ambiguous", ())),
    ],
)
def test_the_option_that_is_verified_answers(
    make_question: Any, make_reader: Any, words: tuple[str, ...], outcome: tuple[Any, ...]
) -> None:
    found = build("option_verification").read(make_question(4), judged(*words), make_reader())
    assert (found.choice, found.reason, found.tied) == outcome
    assert found.readings == () == found.scores


def test_several_verified_options_are_tied_or_ambiguous_as_the_file_says(make_question: Any, make_reader: Any) -> None:
    from dataclasses import replace

    strategy: Any = build("option_verification")
    answers = judged("Yes", "No", "Yes", "No")
    found = strategy.read(make_question(4), answers, make_reader())
    assert (found.choice in (0, 2), found.reason, found.tied) == (True, None, (0, 2))
    found = replace(strategy, several="unscored").read(make_question(4), answers, make_reader())
    assert (found.choice, found.reason, found.tied) == (None, "ambiguous", (0, 2))


def test_a_missing_verification_is_refused(make_question: Any, make_reader: Any) -> None:
    with pytest.raises(PlanError, match="'option_verification', rotation 0, option 3"):
        build("option_verification").read(make_question(4), judged("No", "No", "Yes"), make_reader())


def graded(question: Question, first: Response, verdict: str = "Yes") -> Any:
    def answer(request: Request) -> Response:
        return first if request.address.step == "free_text" else Response(verdict)

    return answer


def test_the_grader_sees_the_answer_and_gold_and_no_other_option(
    play: Any, untested_prompts: Prompts, make_question: Any
) -> None:
    question = make_question(4)
    played = play(build("answer_matching"), question, untested_prompts, graded(question, Response("the vixen")))
    assert [r.address for r in played.requests] == [Address("free_text"), Address("answer_matching", option=0)]
    assert "Correct answer: red fox\n\nResponse: the vixen\n" in played.requests[1].prompt
    assert not [option for option in question.options[1:] if option in played.requests[1].prompt]


@pytest.mark.parametrize(
    ("first", "verdict", "outcome"),
    [
        (Response("the vixen"), "Yes", (0, None, "graded")),
        (Response("the owl"), "No.", (26, None, "graded")),
        (Response("the owl"), "Perhaps", (None, "no_answer", "")),
        (Response("  "), "Yes", (None, "empty", "")),
        (Response("", "request_failed"), "Yes", (None, "request_failed", "")),
    ],
)
def test_an_answer_that_matches_gold_is_right_and_one_that_does_not_is_none_of_the_options(
    play: Any,
    untested_prompts: Prompts,
    make_question: Any,
    make_reader: Any,
    first: Response,
    verdict: str,
    outcome: tuple[Any, ...],
) -> None:
    question, strategy = make_question(4), build("answer_matching")
    played = play(strategy, question, untested_prompts, graded(question, first, verdict))
    found = strategy.read(question, played.answers, make_reader())
    assert (found.choice, found.reason, found.how) == outcome


def test_stage_1_of_answer_matching_is_two_stages(play: Any, untested_prompts: Prompts, make_question: Any) -> None:
    question = make_question(4)
    ours = play(build("answer_matching"), question, untested_prompts, graded(question, Response("the vixen")))
    shared = play(build("two_stage"), question, untested_prompts, lambda _: Response("A"))
    assert [r.address.step for r in ours.requests if r.address in shared.answers] == ["free_text"]
    assert not is_derived(build("answer_matching"), build("two_stage"), untested_prompts)
