"""The journal keeps what was answered: first answers, for ever, through kills, full disks and other processes."""

from __future__ import annotations

import hashlib
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from stablechoice.errors import JournalError
from stablechoice.generations import Generation
from stablechoice.journal import Event, Journal
from stablechoice.request import Address, Request, Response
from tests.disks import read_only, small_disk


def key(name: object) -> str:
    return hashlib.sha256(str(name).encode()).hexdigest()


def generation(name: object, text: str = "B", **response: object) -> Generation:
    request = Request(f"q{name}", Address("direct_mcq", 1), f"prompt {name}")
    return Generation(key(name), request, Response(text, **response))  # type: ignore[arg-type]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal.open(tmp_path / "journal" / "answers.sqlite") as opened:
        yield opened


def test_an_answer_comes_back_as_it_was(journal: Journal) -> None:
    response = Response(
        "Ä\0\n🙂", finish="length", prompt_tokens=81, completion_tokens=2, cached_tokens=0,
        letter_logprobs={"A": -0.25, "B": -1.5}, served_model="m-2025", served_provider="p", detail="",
    )  # fmt: skip
    assert journal.record([Generation(key(1), Request("q", Address("s"), "p"), response)]) == 1
    assert journal.lookup([key(1), key(2)]) == {key(1): response}


def test_the_first_answer_stands(journal: Journal) -> None:
    assert journal.record([generation(1, "A")]) == 1
    assert journal.record([generation(1, "B"), generation(2, "C"), generation(2, "D")]) == 1
    found = journal.lookup([key(1), key(2)])
    assert {k: response.text for k, response in found.items()} == {key(1): "A", key(2): "C"}


@pytest.mark.parametrize("status", ["empty", "refusal", "content_filter", "request_failed"])
def test_what_is_no_answer_is_replayed_but_is_no_answer(journal: Journal, status: str) -> None:
    response = Response("", status, "other", detail="in the provider's words")  # type: ignore[arg-type]
    request = Request("q", Address("s"), "p")
    assert journal.record([Generation(key(1), request, response)]) == 0
    assert journal.answer_count() == 0
    assert journal.lookup([key(1)]) == {key(1): response}
    assert journal.events() == [Event(status, key(1), "in the provider's words", settled=True)]


def test_an_unsettled_failure_is_on_record_and_asked_again(journal: Journal) -> None:
    journal.record([generation(1, "", status="request_failed")], settled=False)
    assert journal.lookup([key(1)]) == {}
    assert [event.settled for event in journal.events("request_failed")] == [False]


def test_an_answer_wins_over_a_failure_before_or_after_it(journal: Journal) -> None:
    journal.record([generation(1, "", status="request_failed")])
    journal.record([generation(1, "A")])
    journal.record([generation(1, "", status="empty")])
    assert journal.lookup([key(1)])[key(1)].text == "A"


def test_forgotten_failures_are_asked_again_and_answers_stay(journal: Journal) -> None:
    journal.record([generation(1, "A"), generation(2, "", status="empty"), generation(3, "", status="empty")])
    assert journal.forget_failures([key(1), key(2)]) == 1
    assert sorted(journal.lookup([key(1), key(2), key(3)])) == sorted([key(1), key(3)])
    assert len(journal.events("empty")) == 2, "what happened stays on record"
    journal.record([generation(2, "", status="refusal")])
    assert journal.lookup([key(2)])[key(2)].status == "refusal"


def test_what_engines_note_is_kept_in_order(journal: Journal) -> None:
    journal.note("batch_intent", '{"tag": "t1"}')
    journal.note("batch_submitted", "b-17", key(1))
    assert journal.events() == [
        Event("batch_intent", None, '{"tag": "t1"}', settled=False),
        Event("batch_submitted", key(1), "b-17", settled=False),
    ]
    assert journal.lookup([key(1)]) == {}


def test_a_person_finds_things_with_sqlite(journal: Journal) -> None:
    journal.record([generation(7, "Paris")], model="qwen2.5-7b")
    with sqlite3.connect(journal.path) as plain:
        rows = plain.execute("SELECT model, step, rotation, text FROM answers WHERE question_id = 'q7'").fetchall()
        (digest,) = plain.execute("SELECT prompt_sha256 FROM answers").fetchone()
    assert rows == [("qwen2.5-7b", "direct_mcq", 1, "Paris")]
    assert digest == hashlib.sha256(b"prompt 7").hexdigest()


@pytest.mark.parametrize("statement", ["UPDATE answers SET text = 'X'", "DELETE FROM answers", "DELETE FROM events"])
def test_the_file_itself_refuses_changes(journal: Journal, statement: str) -> None:
    journal.record([generation(1), generation(2, "", status="empty")])
    with sqlite3.connect(journal.path) as plain, pytest.raises(sqlite3.IntegrityError, match="append-only"):
        plain.execute(statement)


def test_many_keys_are_looked_up_in_any_number(journal: Journal) -> None:
    journal.record([generation(n, str(n)) for n in range(0, 25_000, 2)])
    found = journal.lookup([key(n) for n in range(25_000)])
    assert len(found) == 12_500
    assert found[key(24_998)].text == "24998"


def test_a_batch_is_recorded_whole_or_not_at_all(journal: Journal) -> None:
    with pytest.raises(JournalError, match=r"question q2, step direct_mcq, cannot be recorded .*valid Unicode"):
        journal.record([generation(1), generation(2, "\ud800")])
    with pytest.raises(JournalError, match="finite log-probabilities"):
        journal.record([generation(1), generation(2, letter_logprobs={"A": float("-inf")})])
    assert journal.answer_count() == 0


responses = st.builds(
    Response,
    text=st.text(max_size=8),
    status=st.sampled_from(["ok", "ok", "empty", "request_failed"]),
    finish=st.sampled_from(["stop", "length"]),
    prompt_tokens=st.none() | st.integers(0, 2**40),
    letter_logprobs=st.none() | st.dictionaries(st.sampled_from("ABC"), st.floats(-50, 0), max_size=3),
    detail=st.text(max_size=8),
)
names = st.integers(0, 6)


class JournalAgainstModel(RuleBasedStateMachine):
    """The journal, opened again at any time, against two dictionaries."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "answers.sqlite"
        self.journal = Journal.open(self.path)
        self.answers: dict[str, Response] = {}
        self.settled: dict[str, Response] = {}

    @rule(batch=st.lists(st.tuples(names, responses), max_size=5), settled=st.booleans())
    def record(self, batch: list[tuple[int, Response]], settled: bool) -> None:
        request = Request("q", Address("s"), "p")
        self.journal.record([Generation(key(n), request, response) for n, response in batch], settled=settled)
        for name, response in batch:
            if response.status == "ok":
                self.answers.setdefault(key(name), response)
            elif settled:
                self.settled[key(name)] = response

    @rule(which=st.lists(names, max_size=3))
    def forget(self, which: list[int]) -> None:
        self.journal.forget_failures([key(name) for name in which])
        for name in which:
            # A key with an answer has nothing to forget: its answer is what stands.
            if key(name) not in self.answers:
                self.settled.pop(key(name), None)

    @rule(detail=st.text(max_size=5), name=st.none() | names)
    def note(self, detail: str, name: int | None) -> None:
        self.journal.note("engine", detail, None if name is None else key(name))

    @rule()
    def reopen(self) -> None:
        self.journal.close()
        self.journal = Journal.open(self.path)

    @rule()
    def abandon(self) -> None:
        """Open anew while the old connection is still there, as after a kill."""
        self.left = self.journal
        self.journal = Journal.open(self.path)

    @invariant()
    def replays_what_stands(self) -> None:
        if hasattr(self, "journal"):
            assert self.journal.lookup([key(name) for name in range(7)]) == {**self.settled, **self.answers}
            assert self.journal.answer_count() == len(self.answers)

    def teardown(self) -> None:
        if hasattr(self, "journal"):
            self.journal.close()
            self.folder.cleanup()


TestJournalAgainstModel = JournalAgainstModel.TestCase
TestJournalAgainstModel.settings = settings(deadline=None, max_examples=25, stateful_step_count=12)


@settings(deadline=None, max_examples=40)
@given(st.text(max_size=50), st.text(max_size=20))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str, detail: str) -> None:
    with Journal.open(tmp_path_factory.mktemp("j") / "a.sqlite") as journal:
        journal.record([generation(1, text, detail=detail)])
        assert journal.lookup([key(1)])[key(1)] == Response(text, detail=detail)


# --- kills, and other processes -------------------------------------------------------------------------------------

CHILD = """
import hashlib, sys
from pathlib import Path
from stablechoice.generations import Generation
from stablechoice.journal import Journal
from stablechoice.request import Address, Request, Response
path, name, batch, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with Journal.open(path) as journal:
    sys.stdout.write("o"); sys.stdout.flush()
    for start in range(0, count, batch):
        numbers = range(start, start + batch)
        keys = [hashlib.sha256(str(n).encode()).hexdigest() for n in numbers]
        requests = [Request(f"q{n}", Address("s"), "p") for n in numbers]
        journal.record([Generation(k, request, Response(name)) for k, request in zip(keys, requests)])
        sys.stdout.write("b"); sys.stdout.flush()
"""


def child(path: Path, name: str, batch: int, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", CHILD, path, name, str(batch), str(count)], stdout=subprocess.PIPE)


def test_a_kill_at_any_instant_loses_only_the_batch_in_flight(tmp_path: Path) -> None:
    draw = random.Random(5)
    for kill in range(12):
        path = tmp_path / f"{kill}.sqlite"
        reported = draw.randrange(0, 40)
        with child(path, "x", 3, 3_000) as process:
            assert process.stdout is not None
            process.stdout.read(1 + reported)
            process.kill()
        with Journal.open(path) as journal:
            kept = journal.answer_count()
            assert kept >= 3 * reported, "every batch that was reported is there"
            assert kept % 3 == 0, "and no part of a batch"
            assert len(journal.lookup([key(n) for n in range(kept)])) == kept


def test_processes_record_at_once_and_every_key_has_one_first_answer(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    running = [child(path, name, 5, 300) for name in ("one", "two", "three")]
    assert [process.wait() for process in running] == [0, 0, 0]
    for process in running:
        assert process.stdout is not None
        process.stdout.close()
    with Journal.open(path) as journal:
        found = journal.lookup([key(n) for n in range(300)])
        assert journal.answer_count() == 300
        assert {response.text for response in found.values()} <= {"one", "two", "three"}
        # Batches are atomic, so the five keys of one batch have one author.
        assert all(len({found[key(n)].text for n in range(start, start + 5)}) == 1 for start in range(0, 300, 5))


def test_a_journal_that_stays_locked_is_explained(journal: Journal) -> None:
    with Journal.open(journal.path, wait_seconds=0.05) as waiting:
        other = sqlite3.connect(journal.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match="other runs keep the journal locked: end them or wait"):
            waiting.record([generation(1)])
        assert waiting.lookup([key(1)]) == {}, "reading needs no lock"
        other.close()
        assert waiting.record([generation(1)]) == 1


def test_processes_open_a_new_journal_at_once(tmp_path: Path) -> None:
    for attempt in range(4):
        running = [child(tmp_path / f"{attempt}.sqlite", name, 1, 2) for name in "abcd"]
        assert [process.communicate() and process.returncode for process in running] == [0, 0, 0, 0]


# --- disks and files in a bad state ---------------------------------------------------------------------------------


def test_a_full_disk_is_explained_and_earlier_batches_stand(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1m") as disk:
        with Journal.open(disk / "answers.sqlite") as journal:
            recorded = 0
            error = ""
            while not error and recorded < 10_000:
                try:
                    journal.record([generation(f"{recorded}-{n}", "x" * 1000) for n in range(10)])
                    recorded += 10
                except JournalError as refusal:
                    error = str(refusal)
            assert "answers.sqlite: the disk is full; everything before the last batch is recorded: free space" in error
            assert journal.answer_count() == recorded > 0
        with Journal.open(disk / "answers.sqlite") as journal:
            assert journal.answer_count() == recorded


LIMITED = CHILD.replace(
    "path, name",
    "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\nimport stablechoice.errors\n"
    "path, name",
    1,
).replace("Response(name)", "Response(name * 500)")


def test_a_quota_is_explained_and_earlier_batches_stand(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    command = [sys.executable, "-c", LIMITED, path, "x", "10", "5000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "everything before the last batch is recorded" in done.stderr.splitlines()[-1]
    batches = done.stdout.count("b")
    with Journal.open(path) as journal:
        assert journal.answer_count() == 10 * batches > 0
        assert journal.record([generation("later")]) == 1, "with space again it goes on"


def test_a_read_only_folder_is_explained(tmp_path: Path) -> None:
    folder = tmp_path / "sealed"
    folder.mkdir()
    with read_only(folder):
        with (
            pytest.raises(JournalError, match=r"cannot be opened: mend the permissions"),
            Journal.open(folder / "a.sqlite"),
        ):
            pass
        with pytest.raises(JournalError, match="folder cannot be made"):
            Journal.open(folder / "deeper" / "a.sqlite")


def test_a_journal_on_a_read_only_disk_is_explained(tmp_path: Path) -> None:
    folder = tmp_path / "sealed"
    with Journal.open(folder / "a.sqlite") as journal:
        journal.record([generation(1)])
    with read_only(folder), pytest.raises(JournalError, match=r"a.sqlite: the journal cannot be (written to|opened)"):
        Journal.open(folder / "a.sqlite")
    with Journal.open(folder / "a.sqlite") as journal:
        assert journal.answer_count() == 1


def filled(path: Path) -> bytes:
    with Journal.open(path) as journal:
        journal.record([generation(n, "x" * 500) for n in range(200)])
    return path.read_bytes()


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    path.write_bytes(b"my thesis, chapter one\n" * 100)
    with pytest.raises(JournalError, match="damaged: move it away"):
        Journal.open(path)
    assert path.read_bytes() == b"my thesis, chapter one\n" * 100


def test_a_database_that_is_no_journal_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    with sqlite3.connect(path) as plain:
        plain.execute("CREATE TABLE photos (name TEXT)")
    plain.close()
    before = path.read_bytes()
    with pytest.raises(JournalError, match="a database, but no stablechoice journal"):
        Journal.open(path)
    assert path.read_bytes() == before


def test_a_journal_of_another_version_is_refused_with_both_numbers(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    filled(path)
    with sqlite3.connect(path) as plain:
        plain.execute("PRAGMA user_version = 99")
    plain.close()
    with pytest.raises(JournalError, match="version 99, this program reads version 1"):
        Journal.open(path)


@pytest.mark.parametrize("part", [0.2, 0.5, 0.9])
def test_a_truncated_journal_is_refused(tmp_path: Path, part: float) -> None:
    path = tmp_path / "answers.sqlite"
    data = filled(path)
    path.write_bytes(data[: int(len(data) * part)])
    with pytest.raises(JournalError, match=r"damaged: move it away .* finished cells keep their generations"):
        Journal.open(path)


def test_pages_overwritten_in_the_middle_are_noticed(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    data = bytearray(filled(path))
    data[8192 : 8192 + 40_000] = bytes(random.Random(1).randbytes(40_000))
    path.write_bytes(data)
    with pytest.raises(JournalError, match="damaged: move it away"), Journal.open(path) as journal:
        journal.lookup([key(n) for n in range(200)])


def test_a_lost_journal_is_filled_again_from_generations(tmp_path: Path) -> None:
    rows = [generation(1, "A"), generation(2, "", status="empty", detail="nothing written")]
    with Journal.open(tmp_path / "new.sqlite") as journal:
        assert journal.record(rows) == 1
        assert journal.lookup([key(1), key(2)]) == {row.key: row.response for row in rows}
