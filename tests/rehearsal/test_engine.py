"""The engine answers by the figures of its file, for the questions that the file names, and for no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablechoice.engines.fingerprint import file_sha256
from stablechoice.errors import ConfigError, EngineError, ModelError
from stablechoice.questions.loading import write_questions
from stablechoice.questions.manifest import write_manifest
from stablechoice.rehearsal.engine import RehearsedEngine
from stablechoice.rehearsal.published_model import figures_of
from stablechoice.request import Address, Decoding, Request
from tests.rehearsal.questions import published, questions

ASKED = questions("mmlu", 40)
DECODING = Decoding(0.0, 1024)


@pytest.fixture
def model(tmp_path: Path) -> dict[str, Any]:
    """A `conf/model` file's values, with the questions that it names."""
    write_questions(tmp_path / "data/benchmarks/mmlu.jsonl", list(ASKED))
    manifest = tmp_path / "asked.csv"
    write_manifest(manifest, ASKED)
    write_manifest(tmp_path / "again.csv", ASKED[:20])
    listed = {"manifest": "asked.csv", "repeats": "again.csv", "sha256": file_sha256(manifest)}
    listed["figures"] = figures_of(published(), "qwen2.5-7b", "mmlu")
    return {"key": "qwen2.5-7b", "root": str(tmp_path), "speaks_as": "qwen2.5-7b", "benchmarks": {"mmlu": listed}}


def _asked(step: str, **more: int) -> list[Request]:
    return [Request(q.question_id, Address(step, **more), f"prompt of {q.question_id}") for q in ASKED]


def test_every_request_is_answered_alike_in_any_company_and_any_process(model: dict[str, Any]) -> None:
    requests = [*_asked("direct_mcq"), *_asked("free_text"), *_asked("independent_hypothesis", option=2)]
    every = dict(RehearsedEngine(model=model).answer(requests, DECODING))
    for n in range(0, len(requests), 17):
        [(_, response)] = RehearsedEngine(model=model).answer([requests[n]], DECODING)
        assert every[n] == response
    assert len(every) == len(requests)


def test_another_figure_or_another_list_is_another_model(model: dict[str, Any]) -> None:
    before = RehearsedEngine(model=model).identity()
    listed = model["benchmarks"]["mmlu"]
    other = {**listed, "figures": figures_of(published(), "llama-3.1-8b", "mmlu")}
    assert RehearsedEngine(model={**model, "benchmarks": {"mmlu": other}}).identity() != before
    assert RehearsedEngine(model={**model, "benchmarks": {"mmlu": {**listed, "sha256": "0"}}}).identity() != before
    assert before["engine"] == "rehearsed"


def test_a_list_that_changed_since_is_refused(model: dict[str, Any], tmp_path: Path) -> None:
    write_manifest(tmp_path / "asked.csv", ASKED[1:])
    with pytest.raises(ModelError, match=r"asked\.csv: is not the list that conf/model/qwen2\.5-7b\.yaml"):
        list(RehearsedEngine(model=model).answer(_asked("direct_mcq"), DECODING))


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (Request("f" * 16, Address("direct_mcq"), "x"), "question f{16} stands on no list"),
        (Request(ASKED[0].question_id, Address("dashed"), "x"), "step dashed: no published figure says"),
    ],
)
def test_what_no_figure_speaks_of_is_refused(model: dict[str, Any], request_: Request, said: str) -> None:
    with pytest.raises(EngineError, match=said):
        list(RehearsedEngine(model=model).answer([request_], DECODING))


@pytest.mark.parametrize(
    "prompt",
    [
        "What?\n\nReference: blue\n\nOptions:\nA. blue",
        "What?\n\nReference answer: blue\n\nChoices:\nA. blue",
        "What?\n\nOptions:\nA. blue\n\nReference answer: blue",
    ],
)
def test_a_matching_prompt_of_another_form_is_refused(model: dict[str, Any], prompt: str) -> None:
    asked = Request(ASKED[0].question_id, Address("option_matching"), prompt)
    said = (
        rf"question {asked.question_id}, step option_matching: its prompt has no 'Reference answer:' above 'Options:'"
    )
    with pytest.raises(EngineError, match=said):
        list(RehearsedEngine(model=model).answer([asked], DECODING))


def test_a_file_without_its_lists_is_refused() -> None:
    with pytest.raises(ConfigError, match="key 'benchmarks' must give manifest, repeats, sha256, figures"):
        RehearsedEngine(model={"key": "m", "benchmarks": {"mmlu": {"figures": {}}}})
