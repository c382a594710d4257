"""What was shown, joined with what was answered; and the embedders that an ablation may use here."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stablechoice.cell_name import CellName
from stablechoice.configuration import Configuration
from stablechoice.measures.abcd import Shown
from stablechoice.measures.cell import Cell
from stablechoice.observation import Match, Observation, Reading
from stablechoice.stages.abcd import abcd, cues, showing_of
from stablechoice.stages.demonstrated import demonstrated
from stablechoice.stages.embedders import ABSENT, OPEN, ablated_embedders
from stablechoice.stages.pipeline import pipelines
from stablechoice.stages.stage_blocks import cell_stages
from stablechoice.strategies.demonstrations import Demonstrated

ROOT = Path(__file__).resolve().parents[2]


def configured(root: Path = ROOT) -> Configuration:
    return Configuration(("study=abcd", "study.resamples=100"), root)


def observed(number: int, choices: tuple[int, ...], matches: tuple[Match, ...] = ()) -> Observation:
    readings = tuple(Reading(rotation, choice, how="lone_letter") for rotation, choice in enumerate(choices))
    gold = number % 4
    return Observation(
        f"{number:016x}", "s", gold, 4, False, choices[0], None, "lone_letter", readings, matches=matches, requests=1
    )


def cell(strategy: str, rows: list[Observation]) -> tuple[CellName, Cell]:
    name = CellName("copies-label", "pocket_qa", strategy)
    return name, Cell.of(name, rows, order="rotations", title=strategy)


def test_cues_are_the_slots_at_which_demonstrations_pointed() -> None:
    showing = showing_of(configured().strategy("letters_attacked"))
    assert showing is not None
    _, made = cell("letters_attacked", [observed(2, (0, 0, 0, 0))])
    found = cues(showing, made)
    # Gold 2 stands in slots 2, 1, 0, 3 under rotations 0 to 3; letters in order are their slots.
    assert found.label_slot.tolist() == found.position_slot.tolist() == [[2, 1, 0, 3]]
    assert found.labels.tolist() == [[0, 1, 2, 3]]


def test_shuffled_labels_are_ranked_by_their_letter() -> None:
    showing = showing_of(configured().strategy("shuffled_apart"))
    assert showing is not None
    _, made = cell("shuffled_apart", [observed(5, (1, 1, 1, 1))])
    found = cues(showing, made)
    letters = showing.labels(f"{5:016x}", 4)
    assert found.labels.tolist() == [["ABCD".index(letter) for letter in letters]]
    assert set(found.label_slot[0].tolist()) == {letters.index("A")}
    assert not (found.label_slot == found.position_slot).any()


def test_direct_shows_letters_and_nothing_else_and_other_protocols_have_no_row() -> None:
    configuration = configured()
    direct = showing_of(configuration.strategy("direct"))
    assert direct is not None
    assert (direct.design, direct.shots, direct.spread.kind) == ("letters", 0, "none")
    assert showing_of(configuration.strategy("cyclic")) is None
    assert showing_of(configuration.strategy("hypothesis")) is None


def test_a_study_is_measured_by_pairs_of_the_same_demonstrations() -> None:
    always_first = [observed(n, (0, 1, 2, 3)) for n in range(8)]
    sometimes = [
        observed(n, tuple((n + r * r) % 4 for r in range(4)), (Match("", "exact", (0, 0, 0, 0)),)) for n in range(8)
    ]
    observations = {
        CellName("copies-label", "pocket_qa", key): rows
        for key, rows in (("direct", always_first), ("matched_and_dashed", sometimes), ("cyclic", always_first))
    }
    cells = {name: Cell.of(name, rows, order="rotations", title="x") for name, rows in observations.items()}
    found = abcd(configured(), cells, observations)
    assert found is not None
    assert found.shown["matched_and_dashed"] == Shown("dashes", 0, "none")
    assert found.shown["letters_one_label"] == Shown("letters", 4, "label 1")
    assert [(row.cell.strategy, row.against.strategy) for row in found.ratios] == [("direct", "matched_and_dashed")]
    assert {row.cell.strategy for row in found.copying} == {"direct", "matched_and_dashed"}
    assert [(row.measure, row.scored) for row in found.matched] == [("exact", 8)]


def test_a_study_that_varies_neither_labels_nor_demonstrations_has_none_of_it() -> None:
    assert abcd(Configuration(("study=pocket",), ROOT), {}, {}) is None


def test_demonstrations_come_from_what_the_manifest_leaves_out(tmp_path: Path) -> None:
    for part in ("conf", "data/manifests", "data/sources"):
        shutil.copytree(ROOT / part, tmp_path / part)
    configuration = configured(tmp_path)
    from stablechoice.questions.loading import write_questions
    from stablechoice.questions.manifest import read_manifest
    from stablechoice.questions.source import load

    every = load(configuration.benchmark("pocket_qa"), tmp_path)
    write_questions(configuration.layout().questions("pocket_qa"), every)
    bound = demonstrated(configuration, CellName("copies-label", "pocket_qa", "letters_balanced"))
    assert isinstance(bound, Demonstrated)
    evaluated = set(read_manifest(tmp_path / configuration.benchmark("pocket_qa").manifest))
    assert len(bound.pool) == len(every) - len(evaluated)
    assert not evaluated & {question.question_id for question in bound.pool}
    plain = demonstrated(configuration, CellName("copies-label", "pocket_qa", "matched_and_dashed"))
    assert plain is configuration.strategy("matched_and_dashed")


def test_an_ablation_names_what_is_not_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    own = configured(tmp_path).similarity()
    found = ablated_embedders(configured(tmp_path), "matched_and_dashed", own)
    assert found == {"minilm": own, "qwen3-embedding-0.6b": OPEN}
    file = tmp_path / "conf" / "embedder" / "qwen3-embedding-0.6b.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("???", "a1" * 20), encoding="utf-8")
    assert ablated_embedders(configured(tmp_path), "matched_and_dashed", own)["qwen3-embedding-0.6b"] == ABSENT
    assert ablated_embedders(configured(tmp_path), "cyclic", own) == {}


def test_dvc_sees_every_embedder_that_an_ablation_compares() -> None:
    configuration = configured()
    name = CellName("copies-label", "pocket_qa", "matched_and_dashed")
    stages = cell_stages(configuration, name, configuration.prompts())
    files = {file for param in stages["score-matched_and_dashed"]["params"] for file in param}
    assert {"conf/embedder/minilm.yaml", "conf/embedder/qwen3-embedding-0.6b.yaml"} <= files
    asked = stages["generate-matched_and_dashed"]
    assert "conf/prompt/abcd/dashed.txt" in asked["deps"]
    assert not {"conf/embedder/minilm.yaml"} & {file for param in asked["params"] for file in param}
    shots = cell_stages(configuration, name._replace(strategy="letters_balanced"), configuration.prompts())
    assert "conf/prompt/abcd/demonstration/labelled.txt" in shots["generate-letters_balanced"]["deps"]


def test_the_study_has_a_pipeline() -> None:
    files = pipelines(ROOT, "abcd")
    assert ROOT / "data" / "abcd" / "dvc.yaml" in files
    assert ROOT / "data" / "abcd" / "pipeline" / "knows-everything" / "nonsense_qa_100" / "dvc.yaml" in files
