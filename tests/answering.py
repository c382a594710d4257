"""A small study on a scripted engine, for tests of the driver; run as a program, it answers it and can be killed.

    python answering.py JOURNAL LOG OUT

LOG gets a line for every request asked, standard output a dot for every answer taken; OUT gets the cells' files.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from stablechoice import generations
from stablechoice.cell_name import CellName
from stablechoice.cell_plan import CellPlan, own_generations, plan
from stablechoice.driver import run
from stablechoice.engines.scripted import ScriptedEngine
from stablechoice.journal import Journal
from stablechoice.progress import Advance
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question, question_id
from stablechoice.request import Decoding, Request, Response
from stablechoice.strategies.cyclic import Cyclic
from stablechoice.strategies.direct import Direct
from stablechoice.strategies.extraction import VisibleLLM, VisibleSemantic
from stablechoice.strategies.hypothesis import IndependentHypothesis
from stablechoice.strategies.strategy import Strategy
from stablechoice.strategies.two_stage import HiddenSemantic, TwoStage

PROMPTS = Prompts.load(Path(__file__).resolve().parents[1] / "conf" / "prompt" / "paper")
DECODING = Decoding(0.0, 64)
MOST = 4

CYCLIC = Cyclic("Cyclic", "direct_mcq", "cyclic_permutation")
DIRECT = Direct("Direct", "direct_mcq", "cyclic")
TWO_STAGE = TwoStage("Two-stage", "free_text", "option_matching")
HIDDEN_SEMANTIC = HiddenSemantic("Hidden+Semantic", "free_text", "semantic_matching_v1", 0.3, "two_stage")
VISIBLE_SEMANTIC = VisibleSemantic("Visible+Semantic", "text_extraction", "text_extraction", 0.3)
VISIBLE_LLM = VisibleLLM("Visible+LLM", "text_extraction", "option_matching", "visible_semantic")
IHS = IndependentHypothesis("IHS", "independent_hypothesis", "independent_hypothesis")
STRATEGIES: dict[str, Strategy] = {
    "cyclic": CYCLIC,
    "direct": DIRECT,
    "two_stage": TWO_STAGE,
    "hidden_semantic": HIDDEN_SEMANTIC,
    "visible_semantic": VISIBLE_SEMANTIC,
    "visible_llm": VISIBLE_LLM,
    "hypothesis": IHS,
}


def question(number: int, options: int = 4) -> Question:
    """Which number is this? The options are the number and its successors."""
    text, shown = f"Which number is {number}?", tuple(str(number + n) for n in range(options))
    return Question(question_id("numbers", text, shown), "numbers", text, shown, 0)


QUESTIONS = [question(n, 3 + n % 3) for n in range(9)]


def hashed(request: Request) -> str:
    """An answer that depends on the prompt and the repetition alone."""
    digest = hashlib.sha256(f"{request.prompt}|{request.address.repetition}".encode()).hexdigest()
    return "ABC"[int(digest, 16) % 3] if "only the letter" in request.prompt else f"say {digest[:6]}"


class Scripted(ScriptedEngine):
    """A scripted engine that also counts what it is handed in each call."""

    def __init__(self, rule: object = hashed, *, stop_after: int | None = None, backwards: bool = False) -> None:
        model = {"key": "scripted"}
        super().__init__(model=model, rule=rule, stop_after=stop_after, backwards=backwards)  # type: ignore[arg-type]
        self.calls: list[list[Request]] = []

    def identity(self) -> dict[str, object]:
        """One identity for every rule: a rule that fails stands for the same model on a bad day."""
        return {"engine": "scripted", "protocol": 1}

    def answer(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[tuple[int, Response]]:
        self.calls.append(list(requests))
        return super().answer(requests, decoding)


def cell(name: str, questions: Sequence[Question] = QUESTIONS, **changed: object) -> CellPlan:
    made = CellPlan(
        CellName("scripted", "numbers", name), STRATEGIES[name], questions, PROMPTS, Scripted().identity(), DECODING
    )
    return replace(made, **changed)


def cells(questions: Sequence[Question] = QUESTIONS) -> list[CellPlan]:
    return [cell(name, questions) for name in STRATEGIES]


def write_cells(journal: Journal, folder: Path) -> dict[str, str]:
    """Each cell's file, written from the journal as `generate` does: a derived cell reads the cell it shares with."""
    responses: dict[str, dict[str, Response]] = {}
    for name, strategy in sorted(STRATEGIES.items(), key=lambda pair: pair[1].shares is not None):
        planned_cell = cell(name, shared=responses.get(strategy.shares or "", {}))
        planned = plan(planned_cell, journal.lookup)
        responses[name] = {one.key: one.response for one in planned if one.response is not None}
        generations.write(folder / f"{name}.jsonl", own_generations(planned_cell, planned))
    return digests(folder)


def digests(folder: Path) -> dict[str, str]:
    """sha256 of each cell's file."""
    return {path.stem: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.jsonl"))}


def main(journal_path: str, log_path: str, folder: str, most: str = "1000000") -> None:
    """Answer the study, a dot for each answer; after `most` of them wait until standard input ends."""
    taken = 0

    def dot(advance: Advance) -> None:
        nonlocal taken
        if advance.asked > taken:
            taken = advance.asked
            sys.stdout.write(".")
            sys.stdout.flush()
        if taken >= int(most):
            sys.stdin.read()

    with Path(log_path).open("a", encoding="utf-8") as log, Journal.open(Path(journal_path)) as journal:

        def logged(request: Request) -> str:
            log.write(f"{hashlib.sha256(request.prompt.encode()).hexdigest()}\n")
            log.flush()
            return hashed(request)

        run(cells(), journal, Scripted(logged), most=MOST, progress=dot)
        write_cells(journal, Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
