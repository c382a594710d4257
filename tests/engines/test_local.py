"""The local engine answers each request as if it were alone, and says in one sentence why it cannot."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from stablechoice.engines.local import LocalEngine
from stablechoice.errors import ConfigError, EngineError, ModelError
from stablechoice.request import Address, Decoding, Request, Response, request_key
from tests.tiny_model import CONTEXT, SPECIAL, TEMPLATE, save_tiny

DECODING = Decoding(0.0, 20)
END = 257
"""The tokenizer's end-of-turn token: 256 bytes, then the special tokens."""


def asked() -> list[Request]:
    """Prompts of many lengths that share heads, as rotations and hypotheses do; some stand twice."""
    heads = ["Question: why? ", "Question: what is it, and where does it come from? ", ""]
    tails = ["A. one B. two", "A. two B. one", "Hypothesis: two", "Hypothesis: three, at some length", "x", "A. one"]
    prompts = [head + tail for head in heads for tail in tails] * 2
    return [Request(f"q{n}", Address("direct_mcq", n), prompt) for n, prompt in enumerate(prompts)]


def texts(engine: LocalEngine, requests: Sequence[Request], decoding: Decoding = DECODING) -> list[str]:
    answers = dict(engine.answer(requests, decoding))
    assert sorted(answers) == list(range(len(requests)))
    return [answers[n].text for n in range(len(requests))]


def one(engine: LocalEngine, request: Request, decoding: Decoding = DECODING) -> Response:
    ((index, response),) = engine.answer([request], decoding)
    assert index == 0
    return response


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return save_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STABLECHOICE_MODELS", str(tmp_path / "models"))


@pytest.fixture
def engine(tiny: dict[str, Any]) -> Iterator[LocalEngine]:
    made = LocalEngine(model=tiny)
    yield made
    made.close()


def exact_greedy(folder: str, prompt: str, most: int) -> list[int]:
    """Greedy decoding in its plainest form: double precision, one prompt, no cache, from the beginning each time."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    turn = [{"role": "user", "content": prompt}]
    ids = tokenizer.apply_chat_template(turn, add_generation_prompt=True, tokenize=True, return_dict=False)
    written: list[int] = []
    with torch.inference_mode():
        while len(written) < most:
            token = int(model(torch.tensor([[*ids, *written]])).logits[0, -1].argmax())
            if token == END:
                break
            written.append(token)
    return written


def test_an_answer_is_the_exact_greedy_one_whatever_the_batch(tiny: dict[str, Any], engine: LocalEngine) -> None:
    requests = asked()
    alone = {request.prompt: exact_greedy(tiny["folder"], request.prompt, 20) for request in requests[:18]}
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny["folder"])
    expected = [tokenizer.decode(alone[r.prompt], skip_special_tokens=True) for r in requests]
    assert len(set(expected)) > 12, "the prompts must tell the answers apart, or the test shows nothing"
    assert texts(engine, requests) == expected
    for arguments in (
        {"batch": 1},
        {"batch": 2},
        {"batch": 7},
        {"batch": 7, "share_prefixes": False},
        {"share_prefixes": False},
        {"pack_tokens": 40},
        {"batch_tokens": 200},
    ):
        assert texts(LocalEngine(model=tiny, **arguments), requests) == expected, arguments
    order = list(range(len(requests)))
    random.Random(5).shuffle(order)
    assert texts(engine, [requests[n] for n in order]) == [expected[n] for n in order]


def test_near_ties_are_decided_alike_in_every_batch(tiny: dict[str, Any]) -> None:
    # Weights of one value make the scores of whole groups of tokens equal: every choice is a tie, the hardest case.
    import torch
    from safetensors.torch import load_file, save_file

    path = Path(tiny["folder"]) / "model.safetensors"
    weights = load_file(path)
    head = weights["lm_head.weight"]
    tied = {**weights, "lm_head.weight": head[torch.arange(len(head)) // 4 * 4].clone()}
    folder = Path(tiny["folder"]).parent / "tied"
    pinned = save_tiny(folder)
    save_file(tied, folder / "model.safetensors", metadata={"format": "pt"})
    from tests.tiny_model import pins

    pinned = pins(folder)
    first = LocalEngine(model=pinned)
    expected = texts(first, asked()[:12])
    assert first.facts()["near_ties"] > 100
    assert texts(LocalEngine(model=pinned, batch=3, share_prefixes=False), asked()[:12]) == expected


def test_the_end_of_turn_stops_and_the_cap_is_kept_as_a_fact(tmp_path: Path, tiny: dict[str, Any]) -> None:
    prompt = "Question: why? A. one B. two"
    written = exact_greedy(tiny["folder"], prompt, 20)
    assert len(written) == 20, "this prompt runs to the cap"
    capped = one(LocalEngine(model=tiny), Request("q", Address("direct_mcq"), prompt))
    assert (capped.status, capped.finish, capped.completion_tokens) == ("ok", "length", 20)
    # The token that stands sixth becomes a second end-of-turn token: it stops where it first stands.
    stop = written.index(written[5])
    stopping = LocalEngine(model=save_tiny(tmp_path / "ends", ends=[written[5]]))
    stopped = one(stopping, Request("q", Address("direct_mcq"), prompt))
    assert (stopped.finish, stopped.completion_tokens) == ("stop", stop + 1), (
        "the end itself is counted, as it was decoded"
    )
    assert stopping.facts()["ends"] == sorted([END, written[5]])


def test_a_turn_that_ends_at_once_is_empty_and_no_answer(tmp_path: Path, tiny: dict[str, Any]) -> None:
    prompt = "Question: why? A. one B. two"
    first = exact_greedy(tiny["folder"], prompt, 1)[0]
    response = one(LocalEngine(model=save_tiny(tmp_path / "ends", ends=[first])), Request("q", Address("x"), prompt))
    assert (response.status, response.text, response.finish) == ("empty", "", "stop")
    assert response.completion_tokens == 1
    assert response.detail


def test_one_user_message_in_the_models_own_template_without_a_second_bos(engine: LocalEngine) -> None:
    prompt = "Which?\n\nA. one"
    # One token a byte, and the special ones: a system turn that the template adds, the message, the assistant's turn.
    system, user, assistant = "system\nBe brief", f"user\n{prompt}", "assistant\n"
    expected = len("\n\n") + sum(map(len, (system, user, assistant))) + len([*SPECIAL[:2]] * 2 + [SPECIAL[0]])
    assert one(engine, Request("q", Address("x"), prompt)).prompt_tokens == expected
    facts = engine.facts()
    assert facts["chat_template_writes"].startswith("<|start|>system\nBe brief<|end|>\n<|start|>user\n{message}<|end|>")
    assert one(engine, Request("q", Address("x"), prompt, prefill="The answer is ")).prompt_tokens == expected + 14


def test_a_prefill_begins_the_assistants_turn(tiny: dict[str, Any], engine: LocalEngine) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny["folder"])
    model = AutoModelForCausalLM.from_pretrained(tiny["folder"], dtype=torch.float64).eval()
    turn = [{"role": "user", "content": "Which?"}]
    text = tokenizer.apply_chat_template(turn, add_generation_prompt=True, tokenize=False) + "It is "
    ids = tokenizer(text, add_special_tokens=False, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        scores = model(ids).logits[0, -1]
        logprobs = scores.log_softmax(-1)
    asked_text = one(engine, Request("q", Address("x"), "Which?", prefill="It is "), Decoding(0.0, 1))
    assert asked_text.text == tokenizer.decode([int(scores.argmax())])
    # A byte tokenizer writes " A" as two tokens, so the bare letter is the only variant.
    letters = one(engine, Request("q", Address("x"), "Which?", prefill="It is ", letters=("A", "B")))
    expected = {letter: logprobs[tokenizer.convert_tokens_to_ids(letter)].item() for letter in "AB"}
    assert letters.letter_logprobs == pytest.approx(expected, abs=1e-4)
    assert (letters.status, letters.text, letters.completion_tokens) == ("ok", "", 0)


def test_letter_probabilities_do_not_depend_on_what_is_asked_beside_them(engine: LocalEngine) -> None:
    requests = [Request(r.question_id, r.address, r.prompt, letters=("A", "B", "C")) for r in asked()[:12]]
    together = dict(engine.answer(requests, DECODING))
    assert [one(engine, request) for request in requests] == [together[n] for n in range(12)]


def test_a_letter_without_a_token_of_its_own_is_refused_by_name(engine: LocalEngine) -> None:
    with pytest.raises(ModelError, match="splits the letter 'Ä' into several tokens"):
        one(engine, Request("q", Address("x"), "Which?", letters=("A", "Ä")))


def test_a_prompt_longer_than_the_context_fails_and_is_not_cut(engine: LocalEngine) -> None:
    long = Request("long", Address("x"), "x" * CONTEXT)
    answers = dict(engine.answer([asked()[0], long, asked()[1]], DECODING))
    assert answers[1].status == "request_failed"
    assert f"tokens, the model's context holds {CONTEXT}; it is never cut silently" in answers[1].detail
    assert [answers[n].status for n in (0, 2)] == ["ok", "ok"]


def test_an_answer_ends_with_the_context_and_says_so(engine: LocalEngine) -> None:
    head = one(engine, Request("q", Address("x"), "")).prompt_tokens or 0
    response = one(engine, Request("q", Address("x"), "y" * (CONTEXT - head - 3)))
    assert (response.completion_tokens, response.finish) == (3, "length")


@pytest.mark.parametrize("decoding", [Decoding(0.7, 20), Decoding(0.0, 0)])
def test_only_greedy_decoding_of_at_least_one_token(engine: LocalEngine, decoding: Decoding) -> None:
    with pytest.raises(ConfigError, match=r"conf/decoding: (temperature is 0\.7; .* set it to 0|max_new_tokens is 0)"):
        list(engine.answer(asked()[:1], decoding))
    assert list(engine.answer([], DECODING)) == []


def test_scores_that_are_no_numbers_stop_with_the_question(tmp_path: Path) -> None:
    spoilt = LocalEngine(model=save_tiny(tmp_path / "nan", spoil=True))
    key = request_key(spoilt.identity(), DECODING, asked()[3])
    with pytest.raises(EngineError, match=f"question q3, .*rotation 3 .key {key[:12]}.: the model's scores are not"):
        list(spoilt.answer(asked()[3:4], DECODING))
    with pytest.raises(EngineError, match="question q, step x"):
        one(spoilt, Request("q", Address("x"), "Which?", letters=("A",)))


def test_answers_come_before_all_are_known(tiny: dict[str, Any]) -> None:
    engine = LocalEngine(model=tiny, batch=4)
    stream = engine.answer(asked(), DECODING)
    next(stream)
    # Of 36 requests no more than the four of the first batch, and what refilled it, can have been written.
    assert engine.facts()["written_tokens"] <= 8 * 20
    stream.close()
    assert len(texts(engine, asked())) == 36, "a stream that was left early leaves the engine usable"


def test_sharing_prefixes_saves_most_of_the_reading(tiny: dict[str, Any], engine: LocalEngine) -> None:
    texts(engine, asked())
    shared = engine.facts()
    apart = LocalEngine(model=tiny, share_prefixes=False)
    texts(apart, asked())
    assert apart.facts()["computed_prompt_tokens"] == apart.facts()["prompt_tokens"] == shared["prompt_tokens"]
    assert shared["computed_prompt_tokens"] < shared["prompt_tokens"] / 3


def test_sixteen_bits_answer_by_the_request_set_whatever_its_order(tiny: dict[str, Any]) -> None:
    requests = asked()
    expected = texts(LocalEngine(model=tiny, dtype="bfloat16", batch=5), requests)
    order = list(range(len(requests)))
    random.Random(2).shuffle(order)
    assert texts(LocalEngine(model=tiny, dtype="bfloat16", batch=5), [requests[n] for n in order]) == [
        expected[n] for n in order
    ]


def test_files_can_be_fetched_and_checked_beforehand(tiny: dict[str, Any]) -> None:
    assert LocalEngine(model=tiny).fetch() == Path(tiny["folder"])
    with pytest.raises(ModelError, match="put back the pinned file"):
        LocalEngine(model={**tiny, "sha256": "00" * 32}).fetch()


def test_the_batch_enters_the_key_only_where_it_can_change_an_answer(tiny: dict[str, Any]) -> None:
    def key(**arguments: Any) -> str:
        return request_key(LocalEngine(model=tiny, **arguments).identity(), DECODING, asked()[0])

    assert key() == key(batch=3, batch_tokens=50, pack_tokens=9, share_prefixes=False, threads=1, device="cuda")
    assert key(dtype="bfloat16") != key()
    different = [{"batch": 3}, {"batch_tokens": 50}, {"pack_tokens": 9}, {"share_prefixes": False}, {"device": "cuda"}]
    assert len({key(dtype="bfloat16"), *(key(dtype="bfloat16", **one) for one in different)}) == 1 + len(different)
    assert key(dtype="bfloat16", device="cuda") == key(dtype="bfloat16", device="cuda:1")


def test_the_identity_needs_neither_torch_nor_the_files(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from stablechoice.engines.local import LocalEngine\n"
        "model = {'key': 'm', 'folder': 'nowhere', 'sha256': 'ab' * 32}\n"
        "engine = LocalEngine(model=model)\n"
        "assert engine.identity()['weights'] == {'sha256': {'': 'ab' * 32}}, engine.identity()\n"
        "assert engine.facts() == {}\n"
        "assert not {'torch', 'transformers', 'numpy.random'} & set(sys.modules) - {'numpy.random'}\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dtype": "float8"}, "dtype is 'float8'; allowed: float32, bfloat16, float16"),
        ({"device": "tpu"}, "device is 'tpu'; allowed: cpu, cuda, cuda:N"),
        ({"batch": 0}, "batch is 0; give a whole number"),
        ({"pack_tokens": 1.5}, "pack_tokens is 1.5; give a whole number"),
        ({"threads": 0}, "threads is 0; give a whole number, or null"),
    ],
)
def test_a_value_that_is_not_allowed_is_named(tiny: dict[str, Any], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        LocalEngine(model=tiny, **arguments)
    assert message in str(caught.value)


def test_a_folders_chat_template_is_pinned_too(tiny: dict[str, Any]) -> None:
    unpinned = {name: value for name, value in tiny.items() if name != "chat_template_sha256"}
    with pytest.raises(ModelError, match=f"add chat_template_sha256: {tiny['chat_template_sha256']}"):
        one(LocalEngine(model=unpinned), asked()[0])
    with pytest.raises(ModelError, match="its chat template has sha256"):
        one(LocalEngine(model={**tiny, "chat_template_sha256": "00" * 32}), asked()[0])
    assert TEMPLATE.count("system") == 2, "the template that the pins of these tests are for"


def test_a_device_that_is_not_there_is_said(tiny: dict[str, Any]) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a card")
    with pytest.raises(ModelError, match="PyTorch finds no card on this machine; set device: cpu"):
        one(LocalEngine(model=tiny, device="cuda"), asked()[0])
