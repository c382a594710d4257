"""The place of a rehearsal: the study's own configuration with other models, and nothing outside of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from stablechoice.configuration import Configuration
from stablechoice.errors import ConfigError
from stablechoice.rehearsal.failure import RehearsalError
from stablechoice.rehearsal.rehearsal import MARK, Rehearsal
from stablechoice.stages import prepare, sample
from tests.conftest import ROOT
from tests.disks import small_disk


def _rehearsal(tmp_path: Path, **more: object) -> Rehearsal:
    given = {"models": ("gpt-4.1-mini",), "benchmarks": ("mmlu",), "questions": 30}
    return Rehearsal(root=ROOT, place=tmp_path / "place", **{**given, **more})  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _no_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STABLECHOICE_SOURCES", raising=False)


@pytest.fixture
def laid_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rehearsal:
    made = _rehearsal(tmp_path)
    made.lay_out()
    monkeypatch.setenv("STABLECHOICE_ROOT", str(made.place))
    assert prepare.run(["benchmark=mmlu"]) == 0
    assert sample.run(["benchmark=mmlu"]) == 0
    made.write_models()
    return made


def test_the_study_keeps_its_strategies_and_gets_simulated_models_of_the_same_keys(laid_out: Rehearsal) -> None:
    ours, theirs = Configuration(("study=paper",), laid_out.place), Configuration(("study=paper",), ROOT)
    study = ours.checked()
    assert study.strategies == theirs.study.strategies
    assert study.repeats == theirs.study.repeats
    assert (study.models, study.benchmarks) == (("gpt-4.1-mini",), ("mmlu",))
    model = ours.model("gpt-4.1-mini")
    assert model.simulated
    assert model.title == "GPT-4.1 mini"
    assert "rehearsed with simulated models" in study.title


def test_the_folder_of_the_results_says_that_they_are_simulated(laid_out: Rehearsal) -> None:
    said = (laid_out.place / "data/paper/SIMULATED.md").read_text(encoding="utf-8")
    assert "No language model was asked" in said


def test_questions_that_are_not_at_hand_are_generated_and_say_so(laid_out: Rehearsal) -> None:
    values = yaml.safe_load((laid_out.place / "conf/benchmark/mmlu.yaml").read_text(encoding="utf-8"))
    assert values["title"] == "MMLU (generated)"
    assert "hub" not in values  # nothing is fetched
    assert values["prepared"]["count"] == 30
    listed = (laid_out.place / "data/manifests/mmlu_eval_v2.csv").read_text(encoding="utf-8").splitlines()
    assert len(listed) == 31


def test_laying_out_again_writes_the_same_bytes_and_keeps_what_was_answered(laid_out: Rehearsal) -> None:
    journal = laid_out.place / ".journal/answers.sqlite"
    journal.parent.mkdir()
    journal.write_bytes(b"kept")
    file = laid_out.place / "conf/model/gpt-4.1-mini.yaml"
    before = file.read_bytes()
    laid_out.lay_out()
    assert sample.run(["benchmark=mmlu"]) == 0
    laid_out.write_models()
    assert file.read_bytes() == before
    assert journal.read_bytes() == b"kept"


def test_the_wrong_model_gets_the_figures_that_are_farthest_from_its_own(tmp_path: Path) -> None:
    # Direct on MMLU: 81.84, 84.47, 74.30 and 59.12: from GPT the farthest is Llama, from Llama it is Claude.
    assert _rehearsal(tmp_path, wrong="gpt-4.1-mini").figures("gpt-4.1-mini") == "llama-3.1-8b"
    assert _rehearsal(tmp_path, wrong="llama-3.1-8b").figures("llama-3.1-8b") == "claude-haiku-4.5"
    assert _rehearsal(tmp_path, wrong="llama-3.1-8b").figures("gpt-4.1-mini") == "gpt-4.1-mini"


def test_a_model_that_the_paper_does_not_print_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"wrong=gemini-2\.5-flash: the paper prints no such model"):
        _rehearsal(tmp_path, wrong="gemini-2.5-flash").figures("gemini-2.5-flash")


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    made = _rehearsal(tmp_path)
    made.place.mkdir()
    (made.place / "notes.txt").write_text("x", encoding="utf-8")
    with pytest.raises(RehearsalError, match="holds something that is no rehearsal's"):
        made.lay_out()


@pytest.mark.parametrize("inside", ["conf", "conf/model/mine", "data/manifests/mine", "data/published", ".", ".."])
def test_a_place_that_holds_or_lies_in_what_is_copied_is_refused(tmp_path: Path, inside: str) -> None:
    root = tmp_path / "above/root"
    for part in ("conf/model", "data/published", "data/manifests"):
        (root / part).mkdir(parents=True)
    place = (root / inside).resolve()
    place.mkdir(exist_ok=True)
    before = sorted(tmp_path.rglob("*"))
    made = Rehearsal(root=root, place=place, models=("gpt-4.1-mini",), benchmarks=("mmlu",))
    with pytest.raises(RehearsalError, match="holds, or lies in, what a rehearsal copies"):
        made.lay_out()
    assert sorted(tmp_path.rglob("*")) == before


def test_a_second_rehearsal_of_a_place_is_refused_and_changes_nothing_there(tmp_path: Path) -> None:
    first, second = _rehearsal(tmp_path), _rehearsal(tmp_path)
    with first.alone():
        first.lay_out()
        first.forget()  # the mark stays, and stays locked
        with pytest.raises(RehearsalError, match="place: another rehearsal is at work there at this moment"):
            second.alone().__enter__()
        assert [path.name for path in first.place.iterdir()] == [MARK]
    with second.alone():
        second.lay_out()


def test_a_disk_too_small_for_the_configuration_is_named_in_one_line(tmp_path: Path) -> None:
    with small_disk(tmp_path / "small", "300k") as disk:
        made = Rehearsal(root=ROOT, place=disk / "place", models=("gpt-4.1-mini",), benchmarks=("mmlu",))
        with pytest.raises(RehearsalError) as raised:
            made.lay_out()
    said = str(raised.value)
    assert re.search(r"place: conf cannot be copied to it: .*No space left.*; free space there", said)
    assert len(said) < 600


def test_what_is_forgotten_is_the_places_own_and_nothing_that_it_links_to(tmp_path: Path) -> None:
    made, kept = _rehearsal(tmp_path), tmp_path / "kept"
    kept.mkdir()
    (kept / "question.csv").write_text("x", encoding="utf-8")
    with made.alone():
        made.lay_out()
        (made.place / "linked").symlink_to(kept)
        made.forget()
    assert [path.name for path in made.place.iterdir()] == [MARK]
    assert (kept / "question.csv").is_file()


def test_steps_see_the_place_and_none_of_this_shells_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STABLECHOICE_JOURNAL", "/elsewhere")
    told = _rehearsal(tmp_path).environment()
    assert told["STABLECHOICE_ROOT"] == str(tmp_path / "place")
    assert "STABLECHOICE_JOURNAL" not in told
