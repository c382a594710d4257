"""Repeats: asked anew in one order, never served from the main run or each other, read like it, compared with it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from stablechoice.configuration import Configuration
from stablechoice.errors import ConfigError, EngineError
from stablechoice.generations import read
from stablechoice.journal import Journal
from stablechoice.observations import read_observations
from stablechoice.stages import analyse, answer, generate, prepare, repeat, sample, score, score_repeats

ROOT = Path(__file__).resolve().parents[2]
CELLS = ("study=pocket", "model=simulated", "benchmark=pocket_qa")


def edit(path: Path, pattern: str, new: str) -> None:
    text = path.read_text("utf-8")
    changed = re.sub(pattern, new, text)
    assert changed != text, f"{path.name} has no {pattern}"
    path.write_text(changed, "utf-8")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The pocket study cut to the simulation, PocketQA and two strategies, prepared and sampled."""
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    shutil.copytree(ROOT / "data" / "sources", tmp_path / "data" / "sources")
    study = tmp_path / "conf/study/pocket.yaml"
    edit(study, r"(?m)^models: .*$", "models: [simulated]")
    edit(study, r"(?m)^benchmarks: .*$", "benchmarks: [pocket_qa]")
    edit(study, r"(?m)^strategies: .*$", "strategies: [direct, cyclic]")
    edit(study, r"(?m)^repeats: .*$", "repeats: {strategies: [direct], repetitions: 4}")
    monkeypatch.setenv("STABLECHOICE_ROOT", str(tmp_path))
    monkeypatch.delenv("STABLECHOICE_JOURNAL", raising=False)
    prepare.run(["benchmark=pocket_qa"])
    sample.run(["benchmark=pocket_qa"])
    return tmp_path


def test_every_repetition_is_an_answer_of_its_own_in_the_journal(root: Path) -> None:
    assert answer.run(["study=pocket"]) == 0
    repeat.run(CELLS)
    layout = Configuration(("study=pocket",), root).layout()
    rows = read(layout.repeats("simulated", "pocket_qa") / "direct.jsonl")
    asked = {(row.request.question_id, row.request.address.repetition) for row in rows}
    assert len(rows) == len(asked) == 10 * 3
    assert {repetition for _, repetition in asked} == {1, 2, 3}
    assert {row.request.address.rotation for row in rows} == {0}
    assert len({row.key for row in rows}) == 30
    with Journal.open(layout.journal) as journal:
        assert len(journal.lookup([row.key for row in rows])) == 30


def test_a_replay_without_answers_says_so_and_writes_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(generate.REPLAY, "1")
    with pytest.raises(EngineError, match=r"simulated/pocket_qa/direct: the journal lacks answers"):
        repeat.run(CELLS)
    assert not Configuration(("study=pocket",), root).layout().repeats("simulated", "pocket_qa").exists()


def test_repetitions_are_read_like_the_main_run_and_reach_the_noise_floor(root: Path) -> None:
    answer.run(["study=pocket"])
    generate.run([*CELLS, "strategy=cyclic"])
    for strategy in ("direct", "cyclic"):
        score.run([*CELLS, f"strategy={strategy}"])
    repeat.run(CELLS)
    score_repeats.run(CELLS)
    configuration = Configuration(("study=pocket",), root)
    folder = configuration.layout().repeat_observations("simulated", "pocket_qa")
    assert sorted(file.name for file in folder.iterdir()) == [f"direct.{n}.jsonl" for n in (1, 2, 3)]
    for file in folder.iterdir():
        assert [len(row.readings) for row in read_observations(file)] == [1] * 10
    [found] = analyse.results(configuration).extras.repeats
    assert found.questions == 10
    assert len(found.correct) == 4
    main = read_observations(configuration.layout().observations(found.cell))
    again = {row.question_id for row in read_observations(folder / "direct.1.jsonl")}
    assert found.correct[0] == sum(row.choice == row.gold for row in main if row.question_id in again)


def test_an_altered_repetition_is_refused_by_name(root: Path) -> None:
    repeat.run(CELLS)
    file = Configuration(("study=pocket",), root).layout().repeats("simulated", "pocket_qa") / "direct.jsonl"
    file.write_bytes(file.read_bytes().replace(b"only the letter", b"just a letter", 1))
    with pytest.raises(Exception, match=r"question [0-9a-f]{16}, step direct_mcq, rotation 0, repetition \d"):
        score_repeats.run(CELLS)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{strategies: [direct], repetitions: 1}", "'repetitions' must be a whole number of at least 2"),
        ("{strategies: [hypothesis], repetitions: 4}", "names 'hypothesis', which the study lacks"),
        ("{strategy: [direct], repetitions: 4}", "unknown key 'strategy'. Did you mean 'strategies'?"),
        ("4", "key 'repeats' must have strategies and repetitions, or be null"),
    ],
)
def test_a_wrong_repeats_key_names_file_and_remedy(root: Path, given: str, said: str) -> None:
    edit(root / "conf/study/pocket.yaml", r"(?m)^repeats: .*$", f"repeats: {given}")
    with pytest.raises(ConfigError, match=re.escape(said)) as error:
        repeat.run(CELLS)
    assert "conf/study/pocket.yaml" in str(error.value)


def test_repeats_of_an_unknown_model_are_refused(root: Path) -> None:
    with pytest.raises(ConfigError, match="key 'models' names 'smollm2-135m', which the study lacks"):
        repeat.run(["study=pocket", "model=smollm2-135m", "benchmark=pocket_qa"])
