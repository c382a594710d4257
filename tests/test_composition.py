"""Where answers depend on their neighbours, a stopped run goes on to the undisturbed bytes."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stablechoice import generations
from stablechoice.cell_plan import CellPlan, own_generations, plan
from stablechoice.driver import run
from stablechoice.engines.engine import Engine
from stablechoice.engines.local import LocalEngine
from stablechoice.engines.panel import PanelEngine
from stablechoice.errors import EngineError
from stablechoice.journal import Journal
from stablechoice.request import Address, Decoding, Request, Response
from tests.answering import QUESTIONS, Scripted, cell, digests
from tests.tiny_model import edit_json, save_tiny

ROTATIONS = sum(len(one.options) for one in QUESTIONS)
NAMES = ("cyclic", "two_stage", "visible_llm")
CAP = Decoding(0.0, 24)


class Together(Scripted):
    """A scripted engine that is given whole sets, and notes them."""

    composes = True

    def __init__(self, stop_after: int | None = None) -> None:
        super().__init__()
        self.left = stop_after
        self.sets: list[tuple[str, int, int]] = []

    def answer_among(
        self, requests: Sequence[Request], decoding: Decoding, wanted: Collection[int]
    ) -> Iterator[tuple[int, Response]]:
        self.sets.append((requests[0].address.step, len(requests), len(wanted)))
        for index, response in self.answer(requests, decoding):
            if index in wanted:
                if self.left == 0:
                    raise EngineError("stopped")
                self.left = None if self.left is None else self.left - 1
                yield index, response


class Stopping(LocalEngine):
    """A local engine that stops after some answers."""

    left = 0

    def answer_among(self, *given: Any) -> Iterator[tuple[int, Response]]:
        for answer in super().answer_among(*given):
            if self.left == 0:
                raise EngineError("stopped")
            self.left -= 1
            yield answer


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path / "answers.sqlite") as opened:
        yield opened


def test_a_set_is_one_cells_step_and_each_is_handed_over_whole(journal: Journal) -> None:
    engine = Together()
    run([cell("cyclic"), cell("two_stage")], journal, engine)
    # Nine questions: every rotation of cyclic; the free text of two-stage, and then its matching at every rotation.
    assert engine.sets == [
        ("direct_mcq", ROTATIONS, ROTATIONS),
        ("free_text", 9, 9),
        ("option_matching", ROTATIONS, ROTATIONS),
    ]


def test_a_run_that_goes_on_hands_over_the_same_sets_and_wants_what_is_missing(journal: Journal) -> None:
    with pytest.raises(EngineError):
        run([cell("cyclic"), cell("two_stage")], journal, Together(stop_after=ROTATIONS + 4), most=1)
    engine = Together()
    report = run([cell("cyclic"), cell("two_stage")], journal, engine)
    assert engine.sets == [("free_text", 9, 5), ("option_matching", ROTATIONS, ROTATIONS)]
    assert report.asked == 5 + ROTATIONS
    # Four questions had their free text and wait at stage 2: nothing of it may be asked before stage 1 is complete.
    again = Together()
    assert run([cell("cyclic"), cell("two_stage")], journal, again).asked == 0
    assert again.sets == []


def test_a_request_of_two_cells_is_answered_in_the_first_ones_set(journal: Journal) -> None:
    engine = Together()
    report = run([cell("visible_semantic"), cell("visible_llm")], journal, engine)
    assert engine.sets == [("text_extraction", ROTATIONS, ROTATIONS), ("option_matching", ROTATIONS, ROTATIONS)]
    assert report.asked == len({request.prompt for request in engine.asked})


def test_a_panel_hands_whole_sets_to_the_model_that_needs_them() -> None:
    requests = [Request(f"q{n}", Address("s", n), "x" * n, model="other" if n % 2 else None) for n in range(6)]
    own, other = Together(), Scripted()
    panel = PanelEngine(own, {"other": other})
    assert panel.composes
    assert not PanelEngine(other, {}).composes
    found = dict(panel.answer_among(requests, CAP, {0, 3}))
    assert sorted(found) == [0, 3]
    assert own.sets == [("s", 3, 1)]
    assert [request.question_id for request in other.asked] == ["q3"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("tiny")
    pinned = save_tiny(folder)
    edit_json(folder / "config.json", max_position_embeddings=4096)
    return pinned


def sixteen_bits(tiny: dict[str, Any], kind: type[LocalEngine] = LocalEngine) -> LocalEngine:
    return kind(model=tiny, dtype="bfloat16", batch=4, block=6)


def plans(engine: Engine) -> list[CellPlan]:
    return [replace(cell(name), identity=engine.identity(), decoding=CAP) for name in NAMES]


def files(journal: Journal, engine: Engine, folder: Path) -> dict[str, str]:
    """sha256 of each cell's file."""
    folder.mkdir()
    for one in plans(engine):
        rows = own_generations(one, plan(one, journal.lookup))
        generations.write(folder / f"{one.name.strategy}.jsonl", rows)
    return digests(folder)


@pytest.fixture(scope="module")
def undisturbed(tiny: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], Path]:
    folder = tmp_path_factory.mktemp("undisturbed")
    engine = sixteen_bits(tiny)
    with Journal.open(folder / "answers.sqlite") as journal:
        run(plans(engine), journal, engine)
        assert engine.facts()["answered_again"] == 0
        assert engine.facts()["batches"] == "by cell and step"
        return files(journal, engine, folder / "files"), folder / "answers.sqlite"


@pytest.mark.parametrize("stop", [3, 11, 60])
def test_a_stopped_bfloat16_run_goes_on_to_the_undisturbed_bytes(
    tiny: dict[str, Any], undisturbed: tuple[dict[str, str], Path], journal: Journal, tmp_path: Path, stop: int
) -> None:
    engine = sixteen_bits(tiny, Stopping)
    assert isinstance(engine, Stopping)
    engine.left = stop
    with pytest.raises(EngineError, match="stopped"):
        run(plans(engine), journal, engine, most=1)
    assert journal.answer_count() == stop
    other = sixteen_bits(tiny)
    run(plans(other), journal, other)
    assert files(journal, other, tmp_path / "files") == undisturbed[0]


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_missing_of_a_bfloat16_run_comes_back_as_it_was(
    tiny: dict[str, Any], undisturbed: tuple[dict[str, str], Path], journal: Journal, tmp_path: Path, seed: int
) -> None:
    engine = sixteen_bits(tiny)
    with Journal.open(undisturbed[1]) as whole:
        rows = [row for one in plans(engine) for row in own_generations(one, plan(one, whole.lookup))]
    kept = random.Random(seed).sample(rows, len(rows) // 2)
    journal.record(kept)
    run(plans(engine), journal, engine)
    assert engine.facts()["answered_again"] > 0
    assert files(journal, engine, tmp_path / "files") == undisturbed[0]


def test_cells_run_one_by_one_in_another_order_give_the_same_bytes(
    tiny: dict[str, Any], undisturbed: tuple[dict[str, str], Path], journal: Journal, tmp_path: Path
) -> None:
    for one in reversed(plans(sixteen_bits(tiny))):
        run([one], journal, sixteen_bits(tiny))
    assert files(journal, sixteen_bits(tiny), tmp_path / "files") == undisturbed[0]


def test_in_float32_nothing_is_answered_again(tiny: dict[str, Any], journal: Journal) -> None:
    engine = LocalEngine(model=tiny, batch=4)
    run(plans(engine)[:1], journal, engine)
    assert not engine.composes
    assert "answered_again" not in engine.facts()
    assert engine.facts()["batches"] == "of no effect: an answer is its own request's"
