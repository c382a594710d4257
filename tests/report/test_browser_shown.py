"""The explorer's cards show the options as the model was shown them: labels and order of the prompt beside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stablechoice.cell_name import CellName
from stablechoice.generations import Generation
from stablechoice.measures.analysis import analyse
from stablechoice.measures.cell import Cell
from stablechoice.observation import Observation, Order
from stablechoice.prompts import Prompts, display
from stablechoice.questions.question import Question
from stablechoice.reading.letter import read_letter
from stablechoice.report.explorer import Explorer
from stablechoice.report.page import PAGE, Contents, write_report
from stablechoice.report.study import Entry, whole_grid
from stablechoice.request import Address, Request, Response
from stablechoice.strategies.averaged import Averaged
from stablechoice.strategies.dashed import MatchedAndDashed
from stablechoice.strategies.demonstrations import bound
from stablechoice.strategies.labelled import Labelled
from stablechoice.strategies.permutation import shown_in
from stablechoice.strategies.sharing import asked
from stablechoice.strategies.strategy import Answers, Asking, Outcome, Reader, Strategy

from .synthetic import ROOT, WordOverlap
from .visiting import Visit

pytestmark = pytest.mark.browser

STEP = "direct_mcq"


@dataclass(frozen=True, slots=True)
class Backwards:
    """A strategy that this project does not know: the canonical order, then the options backwards.

    Attributes:
        mark: what stands before an option, around its letter.
    """

    title: str
    mark: str
    shares: str | None = None

    @property
    def order(self) -> Order:
        return "undefined"

    def ask(self, question: Question, prompts: Prompts, *, order: bool = True) -> Asking:
        count = len(question.options)
        orders = {0: tuple(range(count)), count: tuple(reversed(range(count)))}
        yield [
            Request(question.question_id, Address(STEP, number), self.prompt(question, prompts, listed))
            for number, listed in orders.items()
        ]

    def prompt(self, question: Question, prompts: Prompts, listed: tuple[int, ...]) -> str:
        shown = shown_in(question, listed)
        lines = [
            self.mark.format(label) + display(text) for label, text in zip(shown.labels, shown.options, strict=True)
        ]
        return prompts.render(STEP, shown, options="\n".join(lines))

    def read(self, question: Question, answers: Answers, reader: Reader) -> Outcome:
        reading = read_letter(answers[Address(STEP)], question, 0)
        return Outcome(reading.choice, reading.reason, reading.how, (reading,))

    def texts(self, question: Question, answers: Answers) -> list[str]:
        return []


def labelled(title: str, design: str) -> Labelled:
    return Labelled(title, "labelled", "demonstration/labelled", design, 2, "balanced", 42)


STRATEGIES: dict[str, Strategy] = {
    "shuffled": labelled("Shuffled", "shuffled_letters"),
    "digits": labelled("Digits", "digits"),
    "dashed": MatchedAndDashed("Dashed", "dashed", "demonstration/dashed", 2, "balanced", 42, "exact"),
    "full": Averaged("Full permutation", STEP, "permutations", ""),
    "backwards": Backwards("Backwards", "{}. "),
    "bracketed": Backwards("Bracketed", "({}) "),
}
ASKED = Question("a" * 16, "shown", "Options:\nA. a trap\nWhich one?", ("amber", "birch", "cobalt", "dune"), 2)
POOL = [Question(f"{n:016x}", "shown", f"Stem {n}?", ("one", "two", "three", "four"), 0) for n in range(4)]


def answer(request: Request) -> Response:
    """The third line's label, or its text behind dashes."""
    third = shown(request.prompt)[2]
    if request.letters:
        logprobs = {letter: -1.0 - number for number, letter in enumerate(request.letters)}
        return Response("", letter_logprobs=logprobs)
    return Response(third[0] if third[0] != "–" else f"The answer is {third[1]}")


def shown(prompt: str) -> list[tuple[str, str]]:
    """(label, text) of each line behind the prompt's last `Options:`, as a reader of the raw prompt sees them."""
    lines = prompt[prompt.rindex("Options:\n") :].split("\n")[1 : len(ASKED.options) + 1]
    marks = [line.partition(" ") for line in lines]
    return [("–" if mark == "-" else mark.strip(".()"), text) for mark, _, text in marks]


@dataclass(frozen=True, slots=True)
class Recorded:
    rows: list[Generation]
    observation: Observation


@cache
def recorded() -> dict[str, Recorded]:
    prompts = Prompts.load(ROOT / "conf" / "prompt" / "abcd")
    found: dict[str, Recorded] = {}
    for key, strategy in STRATEGIES.items():
        requests = asked(bound(strategy, POOL, []), ASKED, prompts, answer)
        rows = [Generation(f"{key} {place}", request, answer(request)) for place, request in enumerate(requests)]
        answers = {row.request.address: row.response for row in rows}
        outcome = strategy.read(ASKED, answers, Reader("shown", 42, WordOverlap()))
        facts = (ASKED.question_id, ASKED.subject, ASKED.gold, len(ASKED.options), False)
        said = (outcome.choice, outcome.reason, outcome.how, outcome.readings, outcome.scores, outcome.tied)
        found[key] = Recorded(rows, Observation(*facts, *said))
    return found


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    folder: Path = tmp_path_factory.mktemp("shown")
    entries = tuple(Entry(key, strategy.title) for key, strategy in STRATEGIES.items())
    study = whole_grid("Shown", (Entry("tiny", "Tiny"),), (Entry("shown", "Shown"),), entries)
    observations = {CellName("tiny", "shown", key): (one.observation,) for key, one in recorded().items()}
    orders = {key: strategy.order for key, strategy in STRATEGIES.items()}
    cells = {
        name: Cell.of(name, rows, order=orders[name.strategy], title=STRATEGIES[name.strategy].title)
        for name, rows in observations.items()
    }
    explorer = Explorer(
        study,
        {"shown": [ASKED]},
        observations,
        lambda name: recorded()[name.strategy].rows,
        Prompts.load(ROOT / "conf" / "prompt" / "abcd"),
        orders,
    )
    analysis = analyse(cells, resamples=20, seed=42, grid=study.expected)
    write_report(folder, Contents(study=study, analysis=analysis, tables=[], figures=[], explorer=explorer))
    with Visit(browser, folder / PAGE) as visit:
        yield visit


def cards(page: Visit, key: str) -> dict[str, Any]:
    """A strategy's cards by title, with their prompts opened."""
    opened = page.explore(f"#explorer/shown/tiny/{key}/all/{ASKED.question_id}")
    found = opened.locator(".cards > .card")
    for prompt in found.locator("details.prompt").all():
        prompt.locator("summary").click()
        prompt.locator("pre").wait_for()
    assert page.complaints == []
    return {card.locator("h6").text_content(): card for card in found.all()}


def listed(card: Any) -> list[tuple[str, str]]:
    lines = card.locator(".options > li")
    labels, texts = lines.locator(".label").all_text_contents(), lines.locator(".text").all_text_contents()
    return list(zip(labels, texts, strict=True))


@pytest.mark.parametrize("key", ["shuffled", "digits", "dashed", "full", "backwards"])
def test_a_card_lists_what_its_prompt_shows(page: Visit, key: str) -> None:
    found = cards(page, key)
    rows = recorded()[key].rows
    assert len(found) == len(rows) == {"full": 24, "backwards": 2}.get(key, 4)
    for row, card in zip(sorted(rows, key=lambda one: one.request.address.rotation), found.values(), strict=True):
        assert card.locator("details.prompt pre").text_content() == row.request.prompt
        assert listed(card) == shown(row.request.prompt)
        assert card.locator(".options li.gold .text").text_content() == "cobalt"


@pytest.mark.parametrize("key", ["shuffled", "digits", "dashed"])
def test_what_was_read_is_named_by_the_label_that_was_shown(page: Visit, key: str) -> None:
    found = list(cards(page, key).values())
    for reading, card in zip(recorded()[key].observation.readings, found, strict=True):
        assert reading.choice is not None
        (label,) = [label for label, text in listed(card) if text == ASKED.options[reading.choice]]
        name = ASKED.options[reading.choice] if label == "–" else f"{label} · {ASKED.options[reading.choice]}"
        assert card.locator(":scope > .reading strong").text_content() == name


def test_labels_and_orders_differ_from_letters_in_the_canonical_order(page: Visit) -> None:
    """The tests above say something: none of these cards would be right by the rotation and A, B, C, D alone."""
    letters = [f"{label} {text}" for label, text in zip("ABCD", ASKED.options, strict=True)]
    for key in ("shuffled", "digits", "dashed"):
        assert [" ".join(line) for line in listed(next(iter(cards(page, key).values())))] != letters
    last = listed(cards(page, "backwards")["Order 4, beyond the rotations"])
    assert last == [("A", "dune"), ("B", "cobalt"), ("C", "birch"), ("D", "amber")]


def test_a_prompt_that_cannot_be_read_has_no_list_beside_it(page: Visit) -> None:
    found = list(cards(page, "bracketed").values())
    for card, row in zip(found, recorded()["bracketed"].rows, strict=True):
        assert listed(card) == []
        assert card.locator("details.prompt pre").text_content() == row.request.prompt
    # No label is claimed.
    assert found[0].locator(":scope > .reading strong").text_content() == "cobalt"
