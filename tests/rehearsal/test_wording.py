"""What a speaker says is read as it was meant, by the product's own readers."""

from __future__ import annotations

import pytest

from stablechoice.prompts import Prompts, display
from stablechoice.reading.cascade import match, needs_similarity
from stablechoice.reading.letter import read_letter
from stablechoice.reading.score import read_score
from stablechoice.rehearsal.engine import matched_by
from stablechoice.rehearsal.wording import Speaker
from stablechoice.request import Address, Request
from tests.conftest import ROOT
from tests.rehearsal.questions import questions

ASKED = questions("mmlu", 150)
SPEAKER = Speaker("somebody")
PROMPTS = Prompts.load(ROOT / "conf/prompt/paper")


class _NoEmbedder:
    """Where text alone decides, nobody asks for a cosine."""

    def warm(self, texts: object) -> None:
        raise AssertionError("an embedder was asked")

    def cosines(self, text: str, options: object) -> list[float]:
        raise AssertionError(f"an embedder was asked about {text!r}")


def test_letters_are_read_as_they_were_meant_whatever_form_they_have() -> None:
    forms = set()
    for question in ASKED:
        for rotation in question.rotations:
            choice = (question.gold + rotation) % len(question.options)
            for say in (SPEAKER.letter, SPEAKER.reasoned_letter):
                response = say(question, rotation, choice)
                assert read_letter(response, question, rotation).choice == choice, response.text
                forms.add(read_letter(response, question, rotation).how)
    assert {"lone_letter", "selection"} <= forms


def test_what_is_not_to_be_read_is_unscored_for_reasons_of_several_kinds() -> None:
    reasons = {read_letter(SPEAKER.letter(q, 0, None), q, 0).reason for q in ASKED}
    assert reasons == {"refusal", "ambiguous", "no_answer"}
    assert {read_letter(SPEAKER.reasoned_letter(q, 0, None), q, 0).reason for q in ASKED} == {"truncated"}


@pytest.mark.parametrize("hidden", [True, False])
def test_most_texts_are_matched_without_an_embedder_and_some_need_one(hidden: bool) -> None:
    left = 0
    for question in ASKED:
        response = (
            SPEAKER.short_text(question, question.gold) if hidden else SPEAKER.extracted(question, 1, question.gold)
        )
        if needs_similarity(response.text, question):
            left += 1
            continue
        made = match(response.text, question, 0, similarity=_NoEmbedder(), benchmark="mmlu", seed=42, method="x")
        assert display(question.options[made.choice or 0]) == display(question.options[question.gold])
    assert 0 < left < len(ASKED) / 3


def test_scores_are_read_and_cut_analyses_have_none() -> None:
    question = ASKED[0]
    assert read_score(SPEAKER.scored(question, 2, 85)) == (85.0, None)
    assert read_score(SPEAKER.scored(question, 2, None)) == (None, "truncated")


def test_a_matching_prompt_tells_whose_answer_it_quotes() -> None:
    for question in ASKED:
        said = {
            "two_stage": SPEAKER.short_text(question, question.gold),
            "reasoning_two_stage": SPEAKER.reasoned_text(question, question.gold),
            "visible_llm": SPEAKER.extracted(question, 1, question.gold),
        }
        for strategy, response in said.items():
            prompt = PROMPTS.render("option_matching", question, 1, free_text=response.text)
            assert matched_by(Request(question.question_id, Address("option_matching"), prompt)) == strategy
