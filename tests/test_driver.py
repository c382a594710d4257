"""The driver asks each request once, in rounds, and loses nothing however it is stopped."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from stablechoice.cell_plan import plan
from stablechoice.driver import CellReport, run
from stablechoice.errors import EngineError, JournalError, ModelError, PlanError
from stablechoice.journal import Journal
from stablechoice.progress import Advance
from stablechoice.request import Decoding, Request, Response
from tests import answering
from tests.answering import MOST, QUESTIONS, Scripted, cell, cells, digests, hashed, question, write_cells
from tests.disks import small_disk

ROTATIONS = sum(len(one.options) for one in QUESTIONS)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path / "answers.sqlite") as opened:
        yield opened


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every cell's file as an undisturbed run writes it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with Journal.open(folder / "answers.sqlite") as journal:
        run(cells(), journal, Scripted())
        write_cells(journal, folder)
    return folder


# --- what is asked ---------------------------------------------------------------------------------------------------


def test_a_request_that_several_cells_need_is_asked_once(journal: Journal) -> None:
    engine = Scripted()
    report = run([cell("cyclic"), cell("direct"), cell("cyclic")], journal, engine)
    assert len(engine.asked) == report.asked == ROTATIONS
    assert len({request.prompt for request in engine.asked}) == ROTATIONS
    assert [one.requests for one in report.cells] == [ROTATIONS] * 3


def test_two_questions_that_read_alike_are_asked_once_and_both_answered(journal: Journal) -> None:
    twin = replace(question(1), question_id="f" * 16, subject="other")
    engine = Scripted()
    run([cell("cyclic", [question(1), twin])], journal, engine)
    planned = plan(cell("cyclic", [question(1), twin]), journal.lookup)
    assert len(engine.asked) == 4
    assert len({(one.request.question_id, one.request.address) for one in planned if one.response}) == 8


def test_each_stage_of_all_questions_is_one_round(journal: Journal) -> None:
    engine = Scripted()
    run([cell("two_stage"), cell("visible_llm")], journal, engine)
    steps = [Counter(request.address.step for request in call) for call in engine.calls]
    assert steps[0] == {"free_text": len(QUESTIONS), "text_extraction": ROTATIONS}
    assert steps[1] == {"option_matching": 2 * ROTATIONS}
    assert len(steps) == 2


def test_stage_two_is_asked_on_the_text_of_stage_one(journal: Journal) -> None:
    engine = Scripted(lambda request: "the number one" if request.address.step == "free_text" else "A")
    run([cell("two_stage", [question(1)])], journal, engine)
    assert all("Reference answer: the number one\n" in request.prompt for request in engine.calls[1])


def test_an_unanswered_stage_one_ends_its_question_and_no_other(journal: Journal) -> None:
    mute = question(1)

    def rule(request: Request) -> Response | str:
        silent = request.question_id == mute.question_id and request.address.step == "free_text"
        return Response("", "empty") if silent else hashed(request)

    engine = Scripted(rule)
    report = run([cell("two_stage", [question(0), mute])], journal, engine)
    assert [request.question_id for request in engine.calls[1]] == [question(0).question_id] * 4
    # Question 0: stage 1 and four rotations of stage 2; the mute one: stage 1 only, settled and read as unscored.
    assert report.cells[0] == CellReport(cell("two_stage").name, 6, 5, 1, 0, 0)
    assert report.cells[0].complete


def test_repetitions_are_requests_of_their_own_and_ask_nothing_for_order(journal: Journal) -> None:
    engine = Scripted()
    repeated = cell("two_stage", [question(1)], repetitions=range(4))
    run([repeated], journal, engine)
    asked = Counter((request.address.step, request.address.repetition) for request in engine.asked)
    once = {("free_text", k): 1 for k in range(4)} | {("option_matching", k): 1 for k in (1, 2, 3)}
    assert asked == once | {("option_matching", 0): 4}
    assert len({one.key for one in plan(repeated, journal.lookup)}) == 11


def test_without_order_only_the_canonical_rotation_is_asked(journal: Journal) -> None:
    engine = Scripted()
    run([cell("direct", order=False)], journal, engine)
    assert [request.address.rotation for request in engine.asked] == [0] * len(QUESTIONS)


def test_cells_of_other_decoding_are_handed_over_apart(journal: Journal) -> None:
    seen: list[tuple[int, int]] = []

    class Watching(Scripted):
        def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
            seen.append((decoding.max_new_tokens, len(requests)))
            return super().answer(requests, decoding)

    longer = cell("cyclic", decoding=Decoding(0.0, 500))
    report = run([cell("cyclic"), longer, cell("direct")], journal, Watching())
    assert seen == [(64, ROTATIONS), (500, ROTATIONS)]
    assert report.asked == 2 * ROTATIONS


def test_a_cell_planned_for_another_model_is_refused(journal: Journal) -> None:
    with pytest.raises(PlanError, match="scripted/numbers/cyclic is planned for another model or engine"):
        run([cell("cyclic", identity={"engine": "other"})], journal, Scripted())


# --- replaying -------------------------------------------------------------------------------------------------------


def test_a_second_run_asks_nothing_and_finds_the_same(journal: Journal) -> None:
    first = run(cells(), journal, Scripted())
    before = [plan(one, journal.lookup) for one in cells()]
    engine = Scripted(lambda _: pytest.fail("asked again"))
    second = run(cells(), journal, engine)
    assert (second.asked, engine.calls) == (0, [])
    assert second.cells == first.cells
    assert [plan(one, journal.lookup) for one in cells()] == before


def test_a_replay_counts_what_is_missing_and_asks_nobody(journal: Journal) -> None:
    run([cell("cyclic", QUESTIONS[:2])], journal, Scripted())
    report = run([cell("cyclic"), cell("two_stage")], journal)
    held = sum(len(one.options) for one in QUESTIONS[:2])
    open_questions = len(QUESTIONS) - 2
    cyclic, two_stage = report.cells
    assert cyclic == CellReport(cyclic.name, ROTATIONS, held, 0, ROTATIONS - held, open_questions)
    # What stage 2 will ask is not known before stage 1 is answered.
    assert two_stage == CellReport(two_stage.name, len(QUESTIONS), 0, 0, len(QUESTIONS), len(QUESTIONS))
    assert [one.name for one in report.incomplete] == [cyclic.name, two_stage.name]


def test_a_question_half_answered_counts_its_answers(journal: Journal) -> None:
    with pytest.raises(EngineError):
        run([cell("cyclic", [question(1)])], journal, Scripted(stop_after=3))
    assert run([cell("cyclic", [question(1)])], journal).cells[0] == CellReport(cell("cyclic").name, 4, 3, 0, 1, 1)


@pytest.mark.parametrize(
    ("most", "backwards", "stop"), [(1, False, 3), (7, True, 20), (64, False, 50), (1000, True, 1), (3, True, 100)]
)
def test_bytes_do_not_depend_on_batches_order_or_interruptions(
    undisturbed: Path, tmp_path: Path, journal: Journal, most: int, backwards: bool, stop: int
) -> None:
    for _ in range(3):
        with suppress(EngineError):
            run(list(reversed(cells())), journal, Scripted(stop_after=stop, backwards=backwards), most=most)
    run(cells(), journal, Scripted(backwards=not backwards), most=most)
    assert write_cells(journal, tmp_path) == digests(undisturbed)


# --- sharing ---------------------------------------------------------------------------------------------------------


def test_derived_cells_have_only_their_own_requests_in_their_files(undisturbed: Path) -> None:
    lines = {path.stem: path.read_bytes().count(b"\n") for path in undisturbed.glob("*.jsonl")}
    assert lines == {
        "cyclic": ROTATIONS,
        "direct": 0,
        "two_stage": len(QUESTIONS) + ROTATIONS,
        "hidden_semantic": 0,
        "visible_semantic": ROTATIONS,
        "visible_llm": ROTATIONS,
        "hypothesis": ROTATIONS,
    }


# --- engines that fail -----------------------------------------------------------------------------------------------


def test_an_engine_that_stops_keeps_its_answers_and_names_the_cells_that_lack_some(journal: Journal) -> None:
    done, broken = cell("direct", order=False), cell("cyclic")
    with pytest.raises(EngineError) as raised:
        run([done, broken], journal, Scripted(stop_after=len(QUESTIONS) + 2))
    assert str(raised.value).endswith("| incomplete: scripted/numbers/cyclic; the 11 answers of this run are kept")
    assert journal.answer_count() == len(QUESTIONS) + 2
    assert [event.kind for event in journal.events()] == ["engine_stopped"]
    engine = Scripted()
    run([done, broken], journal, engine)
    assert len(engine.asked) == ROTATIONS - len(QUESTIONS) - 2, "only what is missing is sent"


def test_a_model_that_cannot_run_is_still_a_model_error(journal: Journal) -> None:
    def rule(_: Request) -> str:
        raise ModelError("models/x: no such file")

    with pytest.raises(ModelError, match=r"^models/x: no such file \| incomplete: scripted/numbers/cyclic"):
        run([cell("cyclic")], journal, Scripted(rule))


def test_many_incomplete_cells_are_counted_after_five(journal: Journal) -> None:
    with pytest.raises(EngineError, match="and 2 more; the 0 answers"):
        run(cells(), journal, Scripted(stop_after=0))


def test_a_request_that_failed_for_good_is_settled_unless_told_otherwise(journal: Journal) -> None:
    failing = Scripted(lambda _: Response("", "request_failed", detail="503 for an hour"))
    report = run([cell("cyclic", [question(1)])], journal, failing, settle_failed=False)
    assert report.cells[0] == CellReport(cell("cyclic").name, 4, 0, 0, 4, 1)
    assert len(failing.asked) == 4, "one run tries a request once"
    report = run([cell("cyclic", [question(1)])], journal, failing)
    assert report.cells[0] == CellReport(cell("cyclic").name, 4, 0, 4, 0, 0)
    journal.forget_failures([one.key for one in plan(cell("cyclic", [question(1)]), journal.lookup)])
    assert run([cell("cyclic", [question(1)])], journal, Scripted()).cells[0].answered == 4


class Faulty(Scripted):
    """Answers with the indices it is told."""

    def __init__(self, indices: Sequence[int]) -> None:
        super().__init__()
        self.indices = indices

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        answers = [Response("A"), *(response for _, response in super().answer(requests, decoding))]
        return ((index, answers[0]) for index in self.indices)


@pytest.mark.parametrize(
    ("indices", "said", "kept"),
    [
        ([0, 1, 1], "answered request 1 of 4 twice", 2),
        ([0, 4], "answered request 4 of 4", 1),
        ([2], "3 of 4 requests", 1),
    ],
)
def test_an_engine_that_breaks_its_contract_is_found_out(
    journal: Journal, indices: list[int], said: str, kept: int
) -> None:
    with pytest.raises(EngineError, match=said):
        run([cell("cyclic", [question(1)])], journal, Faulty(indices))
    assert journal.answer_count() == kept


def test_ctrl_c_keeps_what_was_answered_and_says_so(journal: Journal) -> None:
    count = 0

    def rule(request: Request) -> str:
        nonlocal count
        count += 1
        if count == 8:
            raise KeyboardInterrupt
        return hashed(request)

    with pytest.raises(KeyboardInterrupt, match="the 7 answers of this run are recorded, run the same command again"):
        run([cell("cyclic")], journal, Scripted(rule))
    assert journal.answer_count() == 7


def test_text_that_no_file_can_hold_is_replaced_and_noted(journal: Journal) -> None:
    run([cell("direct", [question(1)], order=False)], journal, Scripted(lambda _: "B \ud800 \ud83d\ude42"))
    (planned,) = plan(cell("direct", [question(1)], order=False), journal.lookup)
    assert planned.response is not None
    # The lone surrogate becomes U+FFFD, the pair becomes the character that it stands for.
    assert planned.response.text == "B � 🙂"
    assert [(event.kind, event.key) for event in journal.events()] == [("invalid_unicode", planned.key)]


def test_a_full_disk_stops_the_engine_and_a_run_with_space_goes_on(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "2m") as disk:
        filler = disk / "filler"
        filler.write_bytes(b"x" * 1_700_000)
        engine = Scripted(lambda request: hashed(request) + "x" * 3000)
        with Journal.open(disk / "answers.sqlite") as journal:
            with pytest.raises(JournalError, match="disk is full"):
                run(cells(), journal, engine, most=MOST)
            kept, asked = journal.answer_count(), len(engine.asked)
            assert asked - MOST <= kept < asked < ROTATIONS * 4
        filler.unlink()
        with Journal.open(disk / "answers.sqlite") as journal:
            report = run(cells(), journal, engine, most=MOST)
            assert not report.incomplete
            assert len(engine.asked) - journal.answer_count() == asked - kept, "only what was lost is asked again"


# --- progress --------------------------------------------------------------------------------------------------------


def test_progress_only_grows_and_ends_complete(journal: Journal) -> None:
    run([cell("cyclic")], journal, Scripted())
    seen: list[Advance] = []
    report = run(cells(), journal, Scripted(), progress=seen.append)
    assert all(a.done <= b.done and a.known <= b.known for a, b in pairwise(seen))
    assert seen[0].done == ROTATIONS, "what the journal has counts as done"
    assert seen[-1].done == seen[-1].known
    assert seen[-1].asked == report.asked == seen[-1].done - ROTATIONS
    assert seen[-1].completion_tokens > 0


# --- kills, and two runs at once -------------------------------------------------------------------------------------


def start(folder: Path, out: Path | None = None, *more: str) -> subprocess.Popen[bytes]:
    arguments = [answering.__file__, folder / "answers.sqlite", folder / "asked.log", out or folder, *more]
    return subprocess.Popen([sys.executable, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> None:
    process.communicate()
    assert process.returncode == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_ten_times_on_the_way_the_files_are_those_of_an_undisturbed_run(
    seed: int, tmp_path: Path, undisturbed: Path
) -> None:
    draw = random.Random(seed)
    for _ in range(10):
        with Journal.open(tmp_path / "answers.sqlite") as journal:
            before = journal.answer_count()
        taken = draw.randrange(1, 18)
        # Killed somewhere within one batch more: however late the kill comes, the run is not at its end.
        with start(tmp_path, tmp_path, str(taken + MOST)) as process:
            assert process.stdout is not None
            process.stdout.read(taken)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        with Journal.open(tmp_path / "answers.sqlite") as journal:
            assert journal.answer_count() >= before + taken // MOST * MOST
    finish(start(tmp_path))
    assert digests(tmp_path) == digests(undisturbed)
    asked = (tmp_path / "asked.log").read_text(encoding="utf-8").split()
    # A kill loses the batch that waits and the answer that is being given, and nothing is sent that was recorded.
    assert len(asked) - len(set(asked)) <= 10 * (MOST + 1)


def test_two_runs_on_one_journal_at_once_agree(tmp_path: Path, undisturbed: Path) -> None:
    # Each writes its files to a folder of its own: a cell's file has one writer, which its lock sees to.
    running = [start(tmp_path, tmp_path / out) for out in ("one", "two")]
    for process in running:
        finish(process)
    assert digests(tmp_path / "one") == digests(tmp_path / "two") == digests(undisturbed)
