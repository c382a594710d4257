"""The ABCD protocol proven with models of one habit, through the real driver, readers and measures ([N]).

A thousand nonsense questions, four demonstrations. What each habit must score follows from what it can see; where a
model guesses, its share of right answers must lie in the Clopper–Pearson 95 % interval of a fair guess,
250 / 1,000: beta quantiles (0.025; 250, 751) = 22.3 % and (0.975; 251, 750) = 27.8 %.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from stablechoice.cell_name import CellName
from stablechoice.cell_plan import CellPlan, plan
from stablechoice.configuration import Configuration
from stablechoice.driver import run
from stablechoice.engines.copying import CopyingEngine
from stablechoice.journal import Journal
from stablechoice.measures.accuracy import clopper_pearson
from stablechoice.measures.cell import Cell
from stablechoice.measures.copying import Copying, copying
from stablechoice.measures.permutations import permutation_accuracies
from stablechoice.questions.loading import encode, write_questions
from stablechoice.questions.manifest import read_manifest, select
from stablechoice.questions.question import Question
from stablechoice.questions.source import load
from stablechoice.request import Decoding
from stablechoice.stages.abcd import cues, showing_of
from stablechoice.stages.score import score
from stablechoice.strategies.demonstrations import bound
from stablechoice.strategies.sharing import asked as asked_by
from stablechoice.strategies.strategy import Reader

ROOT = Path(__file__).resolve().parents[1]
BENCHMARK = "nonsense_qa_1000"


class NoEmbedder:
    """Answers that give an option's whole text are matched without one: a comparison would be a fault of the test."""

    def warm(self, texts: object) -> None:
        raise AssertionError(f"nothing is to be embedded, not {texts!r}")

    def cosines(self, text: str, options: object) -> list[float]:
        raise AssertionError(f"nothing is to be compared, not {text!r} with {options!r}")


@dataclass(frozen=True)
class Thousand:
    """The benchmark as configured: what is asked, and what is left over."""

    questions: tuple[Question, ...]
    every: tuple[Question, ...]
    file: Path


@pytest.fixture(scope="module")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Thousand:
    source = Configuration(root=ROOT).benchmark(BENCHMARK)
    every = load(source, ROOT)
    file = tmp_path_factory.mktemp("benchmark") / "questions.jsonl"
    write_questions(file, every)
    return Thousand(tuple(select(every, read_manifest(ROOT / source.manifest), source.manifest)), tuple(every), file)


@dataclass(frozen=True)
class Answered:
    """One cell, answered, read and measured."""

    cell: Cell
    copied: Copying

    @property
    def percent(self) -> float:
        """Accuracy in the canonical order."""
        share = clopper_pearson(int(self.cell.correct.sum()), self.cell.questions)
        assert share is not None
        return share.value

    @property
    def over_orders(self) -> float:
        """Mean accuracy over all orders; resampling plays no part in it."""
        [row] = permutation_accuracies({self.cell.name: self.cell}, resamples=2)
        assert row.mean is not None
        return row.mean


Play = Callable[..., Answered]


@pytest.fixture(scope="module")
def play(thousand: Thousand, tmp_path_factory: pytest.TempPathFactory) -> Play:
    folder = tmp_path_factory.mktemp("journals")
    done: dict[tuple[str, str, bool], Answered] = {}

    def played(habit: str, key: str, *, order: bool = True) -> Answered:
        """Ask all orders, or the canonical one alone."""
        if (habit, key, order) in done:
            return done[habit, key, order]
        configuration = Configuration(("study=abcd",), ROOT)
        configured = configuration.strategy(key)
        knowledge = {str(thousand.file): hashlib.sha256(encode(thousand.every)).hexdigest()}
        model = {"key": habit, "habit": habit, "seed": 7, "knowledge": knowledge if habit == "everything" else {}}
        engine = CopyingEngine(model=model)
        name = CellName(habit, BENCHMARK, key)
        cell = CellPlan(
            name,
            bound(configured, thousand.every, thousand.questions),
            thousand.questions,
            configuration.prompts(),
            engine.identity(),
            Decoding(0.0, 64),
            order=order,
        )
        with Journal.open(folder / f"{habit}-{key}-{order}.sqlite") as journal:
            report = run([cell], journal, engine)
            assert not report.incomplete
            planned = plan(cell, journal.lookup)
        observations = score(thousand.questions, planned, configured, Reader("nonsense_qa", 42, NoEmbedder()))
        made = Cell.of(name, observations, order=configured.order, title=configured.title)
        showing = showing_of(configured)
        assert showing is not None
        [copied] = copying([(made, cues(showing, made))], resamples=2)
        return done.setdefault((habit, key, order), Answered(made, copied))

    return played


def is_a_fair_guess(percent: float) -> bool:
    return 22.3 <= percent <= 27.8


def test_the_interval_of_a_fair_guess_is_what_this_file_says() -> None:
    share = clopper_pearson(250, 1000)
    assert share is not None
    assert (round(share.low, 1), round(share.high, 1)) == (22.3, 27.8)


def test_who_copies_the_label_is_right_throughout_with_letters_and_attacked_shots_and_guesses_with_dashes(
    play: Play,
) -> None:
    assert play("label", "letters_attacked", order=False).percent == 100.0
    assert is_a_fair_guess(play("label", "dashed_attacked", order=False).percent)


def test_who_copies_the_label_gains_nothing_from_shots_that_do_not_follow_the_gold(play: Play) -> None:
    # All golds at A: right where the gold stands at A, which over all orders is one time in four, exactly.
    one_label = play("label", "letters_one_label")
    assert one_label.over_orders == 25.0
    assert one_label.copied.label_copied.value == 100.0


def test_who_copies_the_position_is_exposed_by_dashes_only_where_positions_are_balanced(play: Play) -> None:
    # Dashes take labels away and leave positions: the attack still tells it where the gold stands.
    assert play("position", "letters_attacked", order=False).percent == 100.0
    assert play("position", "dashed_attacked", order=False).percent == 100.0
    # One demonstration at every position: the first of them decides, the same for all questions.
    balanced = play("position", "dashed_balanced")
    assert balanced.over_orders == 25.0
    # Every answer at one of four positions: shares 100, 0, 0, 0 around a mean of 25 have deviation sqrt(3) * 25.
    assert balanced.copied.position_spread.value == pytest.approx(25 * 3**0.5)


def test_label_and_position_that_disagree_tell_the_two_copiers_apart(play: Play) -> None:
    label, position = play("label", "shuffled_apart").copied, play("position", "shuffled_apart").copied
    assert (label.label_copied.value, label.position_copied.value) == (100.0, 0.0)
    assert (position.label_copied.value, position.position_copied.value) == (0.0, 100.0)
    # Under shuffled letters a preferred label is no preferred position: the one spreads widely, the other hardly.
    assert label.label_spread.value == pytest.approx(25 * 3**0.5)
    assert label.position_spread.value is not None
    assert label.position_spread.value < 3.0


@pytest.mark.parametrize("key", ["letters_balanced", "letters_attacked", "digits_balanced", "lower_case_balanced"])
def test_who_knows_nothing_guesses_whatever_labels_and_shots(play: Play, key: str) -> None:
    assert is_a_fair_guess(play("nothing", key, order=False).percent)


@pytest.mark.parametrize("key", ["matched_and_dashed", "dashed_attacked"])
def test_who_knows_nothing_guesses_with_dashes_too(play: Play, key: str) -> None:
    assert is_a_fair_guess(play("nothing", key, order=False).percent)


@pytest.mark.parametrize(
    "key",
    [
        "direct",
        "letters_balanced",
        "letters_attacked",
        "digits_balanced",
        "lower_case_balanced",
        "shuffled_letters",
        "shuffled_apart",
        "matched_and_dashed",
        "dashed_attacked",
    ],
)
def test_who_knows_everything_is_right_in_every_order_under_every_design(play: Play, key: str) -> None:
    known = play("everything", key)
    assert known.over_orders == 100.0
    assert known.cell.scored.all()


def test_attacked_shots_show_up_as_copying_and_balanced_ones_have_nothing_to_copy(play: Play) -> None:
    attacked = play("nothing", "letters_attacked", order=False).copied
    balanced = play("nothing", "letters_balanced", order=False).copied
    assert attacked.label_copied.value is not None
    assert is_a_fair_guess(attacked.label_copied.value)
    assert balanced.label_copied.value is None
    assert balanced.label_copied.why == "nothing to copy"


def test_demonstrations_are_never_among_the_questions_that_are_evaluated(thousand: Thousand) -> None:
    configuration = Configuration(("study=abcd",), ROOT)
    strategy = bound(configuration.strategy("letters_balanced"), thousand.every, thousand.questions)
    [first, *_] = asked_by(strategy, thousand.questions[0], configuration.prompts(), lambda _: None)  # type: ignore[arg-type,return-value]
    shown = first.prompt.split("Question: ")[1:-1]
    stems = {block.split("\n")[0] for block in shown}
    assert len(stems) == 4
    assert not stems & {question.question for question in thousand.questions}
    assert stems <= {question.question for question in thousand.every}
