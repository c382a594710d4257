"""The shipped model answers each request as if it were alone, as transformers' own `generate` does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stablechoice.configuration import Configuration
from stablechoice.engines.local import LocalEngine
from stablechoice.engines.weights import Weights
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question, question_id
from stablechoice.request import Address, Decoding, Request

pytestmark = pytest.mark.model

ROOT = Path(__file__).resolve().parents[2]
KEY = "smollm2-135m"
CAP = Decoding(0.0, 24)


def questions() -> list[Question]:
    written = [
        ("Which of these animals lays eggs?", ("a cow", "a hen", "a dog", "a cat")),
        ("What does a thermometer measure?", ("mass", "temperature", "time")),
    ]
    return [Question(question_id("pocket", stem, options), "pocket", stem, options, 1) for stem, options in written]


def requests() -> list[Request]:
    """Every template and rotation of two questions, and a prompt far longer than the others."""
    prompts = Prompts.load(ROOT / "conf" / "prompt" / "paper")
    asked = []
    for question in questions():
        one = question.question_id
        for rotation in question.rotations:
            for name in ("direct_mcq", "reasoning/direct_mcq", "text_extraction"):
                asked.append(Request(one, Address(name, rotation), prompts.render(name, question, rotation)))
        for name in ("free_text", "reasoning/free_text"):
            asked.append(Request(one, Address(name), prompts.render(name, question)))
    long = " ".join(["A story about a hen that lived on a farm and laid an egg every day."] * 20)
    text = prompts.render("option_matching", questions()[0], 1, free_text=long)
    return [*asked, Request("long", Address("option_matching", 1), text)]


@pytest.fixture(scope="module")
def keys() -> dict[str, Any]:
    """The shipped model's `conf/model` file as an engine is given it."""
    values = Configuration(root=ROOT).group("model", KEY)
    kept = {name: value for name, value in values.items() if name not in ("title", "simulated", "engine")}
    return {"key": KEY, "root": str(ROOT), **kept}


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    built = Configuration(root=ROOT).model(KEY).engine
    assert isinstance(built, LocalEngine)
    yield built
    built.close()


@pytest.fixture(scope="module")
def answers(engine: LocalEngine) -> list[str]:
    found = dict(engine.answer(requests(), CAP))
    return [found[n].text for n in range(len(requests()))]


def test_no_arrangement_changes_a_text(keys: dict[str, Any], answers: list[str]) -> None:
    asked = requests()
    assert len(asked) > 24
    assert len(set(answers)) > 12
    arrangements = ({"batch": 1}, {"batch": 2, "pack_tokens": 64}, {"batch": 7, "share_prefixes": False})
    for number, arguments in enumerate(arrangements):
        order = list(range(len(asked)))
        random.Random(number).shuffle(order)
        other = LocalEngine(model=keys, **arguments)
        found = dict(other.answer([asked[n] for n in order], CAP))
        other.close()
        assert [found[order.index(n)].text for n in range(len(asked))] == answers, arguments


def test_texts_equal_those_of_generate(engine: LocalEngine, keys: dict[str, Any], answers: list[str]) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = Weights.from_mapping(keys).locate()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    for request, answer in list(zip(requests(), answers, strict=True))[::4]:
        turn = [{"role": "user", "content": request.prompt}]
        inputs = tokenizer.apply_chat_template(turn, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        whole = model.generate(**inputs, do_sample=False, max_new_tokens=CAP.max_new_tokens)
        text = tokenizer.decode(whole[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        assert text == answer, request.address


def test_letters_sum_the_bare_and_the_spaced_token(engine: LocalEngine) -> None:
    asked = requests()[0]
    one = Request(asked.question_id, asked.address, asked.prompt, letters=("A", "B", "C", "D"))
    ((_, response),) = engine.answer([one], CAP)
    found = response.letter_logprobs
    assert found is not None
    assert list(found) == ["A", "B", "C", "D"]
    # Measured: a chat-tuned model puts most of its probability on the letters here, and no more than all of it.
    import math

    assert 0.5 < sum(map(math.exp, found.values())) <= 1.0


def test_the_templates_own_system_prompt_is_kept_and_recorded(engine: LocalEngine, answers: list[str]) -> None:
    facts = engine.facts()
    assert facts["chat_template_writes"] == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\n{message}<|im_end|>\n<|im_start|>assistant\n"
    )
    assert facts["computed_prompt_tokens"] < facts["prompt_tokens"] / 1.5
    assert facts["ends"] == [2]
