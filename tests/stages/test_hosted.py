"""Hosted models through the product's own commands, against a loopback provider: what fails, and what is said of it."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import copy_repository, environment
from tests.loopback.asking import KEY, VARIABLE
from tests.loopback.http import Asked, Reply, unanswered
from tests.loopback.provider import Provider, chat_body, openai_error
from tests.stages.small_run import prepared

STUDY = """\
defaults:
  - /decoding@decoding: pocket
title: Small study
models: [tiny, simulated]
benchmarks: [pocket_qa]
strategies: [direct, cyclic]
prompts: paper
embedder: minilm
resamples: 200
"""
MODEL = """\
defaults:
  - /engine@engine: loopback
title: Tiny hosted model
simulated: false
served_as: tiny-1
precision: undocumented
"""
ENGINE = """\
_target_: stablechoice.engines.openai_api.OpenAIEngine
name: loopback
base_url: {address}
key_variable: {variable}
limits:
  concurrency: 4
  timeout_seconds: 120
  attempts: 2
  first_wait_seconds: 0.002
  longest_wait_seconds: 0.01
  failures_in_a_row: 5
"""
CELL = ("study=small", "model=tiny", "benchmark=pocket_qa", "strategy=cyclic")


def hosted(root: Path, address: str) -> Path:
    """`conf/` of a study with a hosted model and the simulation, and the former's key in `.env`."""
    (root / "conf/study/small.yaml").write_text(STUDY, encoding="utf-8")
    (root / "conf/model/tiny.yaml").write_text(MODEL, encoding="utf-8")
    engine = ENGINE.format(address=address, variable=VARIABLE)
    (root / "conf/engine/loopback.yaml").write_text(engine, encoding="utf-8")
    (root / ".env").write_text(f"{VARIABLE}={KEY}\n", encoding="utf-8")
    return root


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = prepared(tmp_path / "repository")
    stablechoice(root, "prepare", "benchmark=pocket_qa")
    return root


def stablechoice(root: Path, *words: str, code: int = 0) -> str:
    """What the command says; its exit code must be this one, and nothing that it says may hold the key."""
    kept = {name: value for name, value in environment().items() if name != VARIABLE}
    command = [sys.executable, "-m", "stablechoice", *words]
    done = subprocess.run(command, cwd=root, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout[-4000:] + done.stderr[-4000:]
    assert KEY not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def said_of(model: str, said: str, *words: str) -> None:
    """Exactly one line of the model's says all of this."""
    lines = [one for one in said.splitlines() if one.startswith(f"{model}: ") and all(word in one for word in words)]
    assert len(lines) == 1, said


def answers_of(root: Path, model: str) -> int:
    with sqlite3.connect(root / ".journal/answers.sqlite") as journal:
        (count,) = journal.execute("SELECT count(*) FROM answers WHERE model = ?", (model,)).fetchone()
    return int(count)


def test_a_missing_key_is_named_with_its_file_and_other_models_are_answered(repository: Path) -> None:
    with Provider() as provider:
        root = hosted(repository, provider.openai_url)
        (root / ".env").unlink()
        said = stablechoice(root, "answer", "study=small", code=1)
        assert not provider.asked
    said_of("tiny", said, VARIABLE, "conf/engine/loopback.yaml")
    assert (answers_of(root, "tiny"), answers_of(root, "simulated") > 150) == (0, True)


def test_models_that_are_asked_side_by_side_share_the_budget_and_what_each_run_used_is_on_record(
    repository: Path,
) -> None:
    with Provider() as provider:
        root = hosted(repository, provider.openai_url)
        model = MODEL.replace("tiny-1", "small-1").replace("Tiny", "Small")
        (root / "conf/model/small.yaml").write_text(model, encoding="utf-8")
        study = root / "conf/study/small.yaml"
        study.write_text(STUDY.replace("[tiny, simulated]", "[tiny, small]"), encoding="utf-8")
        engine = root / "conf/engine/loopback.yaml"
        engine.write_text(engine.read_text(encoding="utf-8") + "  budget_requests: 30\n", encoding="utf-8")
        for run in (1, 2):
            said = stablechoice(root, "answer", "study=small", code=1)
            assert len(provider.asked) == 30 * run
            assert "the budget of 30 requests is used up" in said
    tries = 0
    for path in (root / "data/small/provenance").glob("*/answering.json"):  # which model got how much of it is chance
        facts = json.loads(path.read_text(encoding="utf-8"))
        assert "the budget of 30 requests is used up" in facts["stopped"]
        tries += sum(run["engine"]["tries"] for run in (*facts["earlier"], facts))
    assert tries == 60
    assert answers_of(root, "tiny") + answers_of(root, "small") == 60


def test_a_killed_run_takes_those_beside_it_along_and_the_next_one_goes_on(repository: Path) -> None:
    with Provider(fault=lambda asked, prompt, times: Reply(body=chat_body("A"), delay=0.1)) as provider:
        root = hosted(repository, provider.openai_url)
        environment_here = {name: value for name, value in environment().items() if name != VARIABLE}
        command = [sys.executable, "-m", "stablechoice", "answer", "study=small"]
        with subprocess.Popen(
            command, cwd=root, env=environment_here, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as run:
            deadline = time.monotonic() + 600
            while len(provider.asked) < 20 and time.monotonic() < deadline:
                time.sleep(0.05)
            run.kill()
            run.communicate()  # the process beside it holds the same output: at its end that has ended too, in order
        provider.drained()  # what was already on its way is counted too
        before, kept = len(provider.asked), answers_of(root, "tiny")
        stablechoice(root, "answer", "study=small")
        # What was under way when it ended, at most twice the concurrency, is all that is asked a second time.
        assert len(provider.asked) - answers_of(root, "tiny") == before - kept <= 8


def test_an_address_at_which_nobody_answers_is_named_with_its_file(repository: Path) -> None:
    with unanswered() as address:
        said = stablechoice(hosted(repository, f"{address}/v1"), "answer", "study=small", code=1)
    said_of("tiny", said, "'base_url' of conf/engine/loopback.yaml")
    assert answers_of(repository, "simulated") > 150


@pytest.mark.parametrize("path", ["/v2", "/v1/chat"])
def test_an_address_with_a_wrong_path_is_named_with_its_file(repository: Path, path: str) -> None:
    with Provider() as provider:
        said = stablechoice(hosted(repository, f"{provider.address}{path}"), "answer", "study=small", code=1)
    said_of("tiny", said, "'base_url' of conf/engine/loopback.yaml")


def test_a_model_that_does_not_exist_is_named_with_its_file(repository: Path) -> None:
    def fault(asked: Asked, prompt: str, times: int) -> Reply | None:
        return Reply(404, openai_error("The model `tiny-1` does not exist", code="model_not_found"))

    with Provider(fault=fault) as provider:
        said = stablechoice(hosted(repository, provider.openai_url), "answer", "study=small", code=1)
    said_of("tiny", said, "no model 'tiny-1'", "'served_as' of conf/model/tiny.yaml")


def test_a_request_that_fails_is_unscored_with_the_providers_reason_and_asked_again_only_on_request(
    repository: Path,
) -> None:
    """The first question, of four options, is refused under every rotation until the provider is mended."""
    first = json.loads((repository / "data/benchmarks/pocket_qa.jsonl").read_text(encoding="utf-8").splitlines()[0])
    refusing = True

    def fault(asked: Asked, prompt: str, times: int) -> Reply | None:
        refused = refusing and first["question"] in prompt
        return Reply(400, openai_error("this word is not allowed here", code="odd_word")) if refused else None

    manifest = repository / "data/manifests/pocket_qa.csv"
    text = manifest.read_text(encoding="utf-8").splitlines()
    if not any(line.startswith(first["question_id"]) for line in text):
        manifest.write_text("\n".join([text[0], f"{first['question_id']},{first['subject']}", *text[2:]]) + "\n")
    with Provider(lambda prompt: "A", fault=fault) as provider:
        root = hosted(repository, provider.openai_url)
        said = stablechoice(root, "answer", "study=small", "model=tiny")
        failed = len(first["options"])
        said_of("tiny", said, f"{failed} without an answer text")
        with sqlite3.connect(root / ".journal/answers.sqlite") as journal:
            events = journal.execute("SELECT kind, detail FROM events").fetchall()
        assert len(events) == failed
        assert all(kind == "request_failed" and "this word is not allowed here" in detail for kind, detail in events)
        stablechoice(root, "generate", *CELL)
        stablechoice(root, "score", *CELL)
        row = observed(root)[first["question_id"]]
        assert row["choice"] is None
        assert {reading["reason"] for reading in row["readings"]} == {"request_failed"}
        before = len(provider.asked)
        stablechoice(root, "answer", "study=small", "model=tiny")
        assert len(provider.asked) == before
        refusing = False
        stablechoice(root, "answer", "study=small", "model=tiny", "retry=failed")
        assert len(provider.asked) == before + failed
        stablechoice(root, "generate", *CELL)
        stablechoice(root, "score", *CELL)
        assert observed(root)[first["question_id"]]["choice"] is not None


def observed(root: Path) -> dict[str, dict]:
    path = root / "data/small/observations/tiny/pocket_qa/cyclic.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["question_id"]: row for row in rows}


@pytest.mark.pipeline
def test_a_study_with_a_model_that_cannot_be_asked_prints_the_rest_says_why_and_fails(tmp_path: Path) -> None:
    root = copy_repository(tmp_path / "repository")
    with Provider() as provider:
        hosted(root, provider.openai_url)
        (root / ".env").unlink()
        said = stablechoice(root, "reproduce", "study=small", code=1)
    said_of("tiny", said, VARIABLE, "conf/engine/loopback.yaml")
    assert "not run: tiny × pocket_qa × cyclic" in said
    assert "not run: simulated" not in said
    main = (root / "data/small/tables/main.csv").read_text(encoding="utf-8").splitlines()
    why = f"not run: {VARIABLE} is not set"
    assert [line.split(",")[3:7] for line in main if "Tiny hosted model" in line] == [[why] * 4] * 2
    assert not any("not run" in line for line in main if "Simulated" in line)
    page = (root / "data/small/report/index.html").read_text(encoding="utf-8")
    assert "re-query APIs" in page
    shutil.rmtree(root)
