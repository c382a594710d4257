"""The simulated model behaves as its configuration states, from the prompt alone, on every machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from stablechoice.engines.fingerprint import file_sha256
from stablechoice.engines.simulated import SimulatedEngine
from stablechoice.errors import ConfigError, ModelError
from stablechoice.prompts import Prompts, display
from stablechoice.questions.loading import read_source
from stablechoice.questions.nonsense import generate
from stablechoice.questions.question import Question, question_id
from stablechoice.questions.relational import is_relational_option
from stablechoice.reading.letter import read_letter
from stablechoice.reading.score import read_score
from stablechoice.request import Address, Decoding, Request, Response

ROOT = Path(__file__).resolve().parents[2]
PROMPTS = Prompts.load(ROOT / "conf" / "prompt" / "paper")
DECODING = Decoding(0.0, 64)
POCKET = read_source(ROOT / "data" / "sources" / "pocket_qa.jsonl")
SHA256 = file_sha256(ROOT / "data" / "sources" / "pocket_qa.jsonl")
NONSENSE = generate(42, 200, 4, ROOT / "data" / "sources" / "words.txt")
STATED = {
    key: value
    for key, value in yaml.safe_load((ROOT / "conf" / "model" / "simulated.yaml").read_text(encoding="utf-8")).items()
    if key not in ("defaults", "title", "simulated", "knowledge")
}

Build = Callable[..., SimulatedEngine]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Builds the simulated model with the stated behaviour, or another one, knowing the pocket questions."""
    root = tmp_path_factory.mktemp("knowledge")
    shutil.copy(ROOT / "data" / "sources" / "pocket_qa.jsonl", root / "pocket.jsonl")

    def built(**changed: object) -> SimulatedEngine:
        model = {"key": "simulated", "root": str(root), "knowledge": {"pocket.jsonl": SHA256}, **STATED, **changed}
        return SimulatedEngine(model=model)

    return built


def ask(engine: SimulatedEngine, requests: Sequence[Request], cap: int = 64) -> list[Response]:
    responses = dict(engine.answer(requests, Decoding(0.0, cap)))
    return [responses[index] for index in range(len(requests))]


def rotated(step: str, questions: Sequence[Question]) -> list[tuple[Question, int, Request]]:
    return [
        (
            question,
            rotation,
            Request(question.question_id, Address(step, rotation), PROMPTS.render(step, question, rotation)),
        )
        for question in questions
        for rotation in question.rotations
    ]


def choices(engine: SimulatedEngine, step: str, questions: Sequence[Question]) -> Mapping[str, list[int | None]]:
    """Canonical choice of every rotation, by question."""
    asked = rotated(step, questions)
    found: dict[str, list[int | None]] = {}
    for (question, rotation, _), response in zip(asked, ask(engine, [request for *_, request in asked]), strict=True):
        found.setdefault(question.question_id, []).append(read_letter(response, question, rotation).choice)
    return found


def accuracy(engine: SimulatedEngine, step: str, questions: Sequence[Question]) -> float:
    found = choices(engine, step, questions)
    return sum(found[question.question_id][0] == question.gold for question in questions) / len(questions)


SURE = {"noise": 0, "letter_bias": 0, "refusals": 0, "truncations": 0, "unreadable": 0, "empty": 0, "reasoning_gain": 0}


def test_one_that_knows_all_and_has_no_vices_is_always_right(build: Build) -> None:
    engine = build(**{**SURE, "skill": 1, "hidden_skill": 1, "hypothesis_skill": 1})
    known = choices(engine, "direct_mcq", POCKET)
    # Liking lies in [0, 1) and knowing adds 0.4 at least, so that even one that knows may err where its liking is low.
    right = sum(known[question.question_id] == [question.gold] * len(question.options) for question in POCKET)
    assert right > 0.8 * len(POCKET)


def test_without_noise_and_bias_the_order_changes_nothing(build: Build) -> None:
    for step in ("direct_mcq", "reasoning/direct_mcq"):
        assert all(len(set(found)) == 1 for found in choices(build(**SURE), step, POCKET).values())


def test_letter_bias_pulls_to_a(build: Build) -> None:
    def letters(bias: float) -> Counter[str]:
        requests = [request for *_, request in rotated("direct_mcq", NONSENSE)]
        return Counter(response.text.strip("*.") for response in ask(build(**{**SURE, "letter_bias": bias}), requests))

    assert letters(5.0) == {"A": 4 * len(NONSENSE)}
    even = letters(0.0)
    # Without bias each rotation of a question gives another letter: every letter exactly once a question.
    assert even == dict.fromkeys("ABCD", len(NONSENSE))


def test_it_flips_as_often_as_a_study_needs_and_is_right_as_often(build: Build) -> None:
    found = choices(build(), "direct_mcq", POCKET)
    flips = sum(len(set(some) - {None}) > 1 for some in found.values()) / len(found)
    assert 0.15 < flips < 0.40
    assert 0.60 < accuracy(build(), "direct_mcq", POCKET) < 0.80


def test_it_knows_nothing_of_what_is_not_in_its_knowledge(build: Build) -> None:
    # 25 % is chance; four standard errors of a share at 200 questions are 12 points.
    assert abs(accuracy(build(skill=1.0), "direct_mcq", NONSENSE) - 0.25) < 0.12


def test_it_recognises_a_question_by_text_and_displayed_options_alone(build: Build) -> None:
    engine = build(**{**SURE, "skill": 1})
    question = POCKET[0]
    renamed = replace(question, question_id="f" * 16, subject="other", gold=(question.gold + 1) % 4)
    assert (
        choices(engine, "direct_mcq", [question]).popitem()[1] == choices(engine, "direct_mcq", [renamed]).popitem()[1]
    )
    others = tuple(f"{option} or not" for option in question.options)
    stranger = Question(question_id("s", question.question, others), "s", question.question, others, question.gold)
    prompt = PROMPTS.render("direct_mcq", stranger)
    known, unknown = build(**{**SURE, "skill": 1, "seed": 3}), build(**{**SURE, "skill": 0, "seed": 3})
    request = Request("q", Address("direct_mcq"), prompt)
    assert ask(known, [request]) == ask(unknown, [request]), "other options make it another question"


def test_options_hidden_it_names_a_share_and_never_a_relational_gold(build: Build) -> None:
    engine = build(**{**SURE, "hidden_skill": 1})
    requests = [Request(q.question_id, Address("free_text"), PROMPTS.render("free_text", q)) for q in POCKET]
    for question, response in zip(POCKET, ask(engine, requests), strict=True):
        gold = question.options[question.gold]
        assert (gold.lower() in response.text.lower()) != is_relational_option(gold)


def test_a_reference_that_names_an_option_is_followed(build: Build) -> None:
    engine = build(**{**SURE, "trust": 10})
    for question in POCKET[:20]:
        for wanted, text in enumerate(question.options):
            prompt = PROMPTS.render("option_matching", question, 1, free_text=f"I would say {text}")
            (response,) = ask(engine, [Request("q", Address("option_matching", 1), prompt)])
            named = [o for o, option in enumerate(question.options) if option.lower() in f"i would say {text.lower()}"]
            if named == [wanted]:
                assert read_letter(response, question, 1).choice == wanted


def test_scores_are_mostly_multiples_of_five_and_some_tie_at_the_top(build: Build) -> None:
    ties = right = 0
    rounded: Counter[bool] = Counter()
    for question in POCKET:
        prompts = [
            PROMPTS.render("independent_hypothesis", question, option_text=option) for option in question.options
        ]
        responses = ask(build(), [Request("q", Address("independent_hypothesis"), prompt) for prompt in prompts])
        scores = [read_score(response)[0] for response in responses]
        valid = [score for score in scores if score is not None]
        rounded.update(score % 5 == 0 for score in valid)
        ties += valid.count(max(valid)) > 1
        right += scores[question.gold] == max(valid)
    assert 0.75 < rounded[True] / rounded.total() < 0.95
    assert 0.03 < ties / len(POCKET) < 0.30
    assert 0.50 < right / len(POCKET) < 0.85


def test_stated_shares_of_bad_answers_occur(build: Build) -> None:
    requests = [request for *_, request in rotated("reasoning/direct_mcq", NONSENSE)]
    shares = {"refusals": 0.1, "truncations": 0.2, "unreadable": 0.0, "empty": 0.05}
    responses = ask(build(**shares), requests)
    count = len(responses)
    empty = sum(response.status == "empty" for response in responses)
    cut = sum(response.finish == "length" for response in responses)
    refused = sum("can't help" in response.text for response in responses)
    # 800 prompts: five standard errors are below 0.06, 0.08 and 0.06.
    assert abs(empty / count - 0.05) < 0.04
    assert abs(cut / count - 0.95 * 0.2) < 0.08
    assert abs(refused / count - 0.95 * 0.8 * 0.1) < 0.06
    assert all("Final answer" not in response.text for response in responses if response.finish == "length")


def test_repetitions_differ_only_where_a_prompt_is_unsteady(build: Build) -> None:
    requests = [request for *_, request in rotated("direct_mcq", NONSENSE)]
    again = [request.repeated(1) for request in requests]
    steady, unsteady = build(unsteady=0.0), build(unsteady=1.0, noise=1.0)
    assert ask(steady, requests) == ask(steady, again)
    differ = sum(a != b for a, b in zip(ask(unsteady, requests), ask(unsteady, again), strict=True))
    assert differ > len(requests) / 4


def test_answers_end_at_the_token_cap(build: Build) -> None:
    requests = [request for *_, request in rotated("reasoning/direct_mcq", POCKET[:10])]
    for response in ask(build(), requests, cap=5):
        assert len(response.text.split(" ")) <= 5
    assert all(r.finish == "stop" for r in ask(build(truncations=0.0), requests)), "the pocket study's cap is enough"


def test_letter_probabilities_are_a_distribution_over_the_labels(build: Build) -> None:
    prompts = [(q, PROMPTS.render("direct_mcq", q)) for q in POCKET[:30]]
    requests = [Request("q", Address("direct_mcq"), prompt, letters=q.labels) for q, prompt in prompts]
    engine = build()
    for (question, _), response in zip(prompts, ask(engine, requests), strict=True):
        assert response.letter_logprobs is not None
        assert tuple(response.letter_logprobs) == question.labels
        assert sum(2.718281828459045**value for value in response.letter_logprobs.values()) == pytest.approx(
            1, abs=1e-4
        )


def test_the_likeliest_continuation_is_mostly_the_gold_where_it_knows(build: Build) -> None:
    engine = build(hypothesis_skill=1.0)
    right = 0
    for question in POCKET:
        prompt = f"Question: {question.question}\nAnswer:"
        requests = [Request("q", Address("likelihood"), prompt, continuation=f" {text}") for text in question.options]
        answers = [response.letter_logprobs or {} for response in ask(engine, requests)]
        values = [found[request.continuation] for found, request in zip(answers, requests, strict=True)]
        assert max(values) < 0
        right += values.index(max(values)) == question.gold
    # Knowing adds 1.6 to 5.6 to a log-probability, liking 0 to 4, and every further word takes 1.5.
    assert right > 0.6 * len(POCKET)


PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import test_simulated as t
from stablechoice.engines.fingerprint import file_sha256
from stablechoice.engines.simulated import SimulatedEngine
engine = SimulatedEngine(model={"key": "simulated", **t.STATED})
responses = t.ask(engine, [request for *_, request in t.rotated("reasoning/direct_mcq", t.NONSENSE[:20])])
sys.stdout.write(repr(responses))
"""


def test_another_process_with_another_hash_seed_answers_the_same() -> None:
    outputs = set()
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": "C"}
        command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent)]
        outputs.add(subprocess.run(command, capture_output=True, check=True, env=environment).stdout)
    assert len(outputs) == 1
    assert len(outputs.pop()) > 1000


def test_order_and_company_of_requests_change_nothing(build: Build) -> None:
    requests = [request for *_, request in rotated("direct_mcq", POCKET[:10])]
    together = ask(build(), requests)
    assert ask(build(), requests[::-1]) == together[::-1]
    assert [ask(build(), [request])[0] for request in requests] == together


def test_identity_states_the_behaviour_and_needs_no_files() -> None:
    engine = SimulatedEngine(
        model={"key": "simulated", "root": "/nowhere", "knowledge": {"absent.jsonl": SHA256}, **STATED}
    )
    known = {"knowledge": [SHA256]}
    assert engine.identity() == {"engine": "simulated", "protocol": 1, "model": "simulated", **known, **STATED}
    request = Request("q", Address("direct_mcq"), "Question: Which?")
    with pytest.raises(ModelError, match=r"/nowhere/absent.jsonl: .* key 'knowledge' of its conf/model file"):
        ask(engine, [request])


def test_other_knowledge_than_the_pinned_is_refused(build: Build) -> None:
    engine = build(knowledge={"pocket.jsonl": "0" * 64})
    with pytest.raises(ModelError, match="pins 0000"):
        ask(engine, [Request("q", Address("direct_mcq"), "Question: Which?")])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"skil": 1}, "unknown key 'skil'"),
        ({"skill": "high"}, "key 'skill' must be a number"),
        ({"skill": None}, "key 'skill' must be a number"),
        ({"noise": -1}, "key 'noise' must be a number of at least 0"),
        ({"seed": 1.5}, "key 'seed' must be a whole number"),
        ({"knowledge": "pocket.jsonl"}, "key 'knowledge' must map files to their sha256"),
    ],
)
def test_a_behaviour_that_makes_no_sense_is_refused(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=rf"conf/model/simulated.yaml: {said}"):
        SimulatedEngine(model={"key": "simulated", **STATED, **changed})


def test_it_verifies_gold_where_it_knows_and_grades_by_the_words(build: Build) -> None:
    untested = Prompts.load(ROOT / "conf" / "prompt" / "untested")
    sure = build(hypothesis_skill=1.0, empty=0.0, refusals=0.0, unreadable=0.0)

    def said(name: str, **texts: str) -> list[str]:
        prompts = [untested.render(name, question, **texts) for question in POCKET[:20]]
        return [r.text for r in ask(sure, [Request(str(n), Address(name), p) for n, p in enumerate(prompts)])]

    verified = [
        ask(
            sure,
            [Request("x", Address("v"), untested.render("option_verification", question, option_text=display(option)))],
        )
        for question in POCKET[:20]
        for option in question.options
    ]
    golds = [option == question.options[question.gold] for question in POCKET[:20] for option in question.options]
    assert [response.text == "Yes" for (response,) in verified] == golds
    assert set(said("answer_matching", option_text="owl", free_text="It is an Owl, most likely")) == {"Yes"}
    assert set(said("answer_matching", option_text="owl", free_text="a fox")) == {"No"}
