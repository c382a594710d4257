"""Tables of the ABCD protocol say what was shown, and why a number is not there."""

from __future__ import annotations

from dataclasses import replace

from stablechoice.cell_name import CellName
from stablechoice.measures.abcd import Abcd, Shown
from stablechoice.measures.ablation import Matched
from stablechoice.measures.copying import Copying, Share
from stablechoice.measures.permutations import PermutationAccuracy, VarianceRatio
from stablechoice.prompts import Prompts
from stablechoice.questions.question import Question
from stablechoice.report.catalogue import CATALOGUE, tables
from stablechoice.report.catalogue_abcd import COPYING, MATCHERS, PERMUTATIONS
from stablechoice.report.prompt_parts import prompt_parts
from stablechoice.report.source import Source
from stablechoice.report.spec import build
from stablechoice.report.table import Table, display
from stablechoice.request import Response
from stablechoice.strategies.demonstrations import bound
from stablechoice.strategies.labelled import Labelled
from stablechoice.strategies.sharing import asked
from tests.report.synthetic import BENCHMARKS, ROOT, made

LETTERS, DASHED = (CellName("tiny-1", "made_up", key) for key in ("direct", "visible_semantic"))
SHOWN = {"direct": Shown("letters", 4, "own"), "visible_semantic": Shown("dashes", 4, "own")}
EVEN = Share(None, why="nothing to copy")
FOUND = Abcd(
    SHOWN,
    (
        PermutationAccuracy(LETTERS, 4, 34, 6, (60.0, 40.0), 50.0, 45.0, 55.0, 100.0, 80.0, 130.0),
        PermutationAccuracy(DASHED, 4, 34, 6, why="not every order was asked"),
    ),
    (VarianceRatio(LETTERS, DASHED, 3.0, 2.0, 4.5, 3.25, undefined_resamples=7),),
    (
        Copying(
            LETTERS,
            4,
            136,
            Share(97.5, 95.0, 99.0),
            Share(97.5, 95.0, 99.0),
            Share(1.0, 0.5, 2.0),
            Share(1.0, 0.5, 2.0),
        ),
        Copying(
            DASHED, 4, 130, Share(None, why="nothing to copy"), Share(30.0, 25.0, 35.0), EVEN, Share(2.0, 1.0, 3.0)
        ),
    ),
    (
        Matched(DASHED, "minilm", "cosine", 40, 38, 20, 0, 160),
        Matched(DASHED, "qwen3-embedding-0.6b", "dot", 40, 0, 0, 0, 0, "not on this machine"),
        Matched(DASHED, "", "token_overlap", 40, 30, 10, 12, 160),
    ),
)


def source(found: Abcd | None = FOUND) -> Source:
    whole = made()
    return Source.of(whole.study, whole.analysis, replace(whole.extras, abcd=found))


def rows(table: Table | None) -> list[list[str]]:
    assert table is not None
    return [[display(value) for value in row] for row in table.rows]


def without_marks(row: list[str]) -> list[str]:
    return [text.replace("†", "") for text in row]


def test_permutations_print_mean_variance_ratio_and_overhead() -> None:
    table = build(PERMUTATIONS, source(), BENCHMARKS[0])
    letters, dashed, *others = rows(table)
    assert without_marks(letters)[2:] == [
        "letters",
        "4: attack",
        "50.00 [45.00, 55.00]",
        "100 [80, 130]",
        "3 [2, 4.50]",
        "+3.25",
        "34",
    ]
    assert dashed[2:] == [
        "dashes",
        "4: attack",
        "not every order was asked",
        "not every order was asked",
        "is dashed",
        "is dashed",
        "34",
    ]
    # The other model's cells were not measured here.
    assert len(others) == 2
    assert table is not None
    assert any("Over the 34 questions of 4 options; 6 of other counts are left out." in note for note in table.notes)
    assert any("left out of the ratio's interval: tiny-1 direct 7" in note for note in table.notes)


def test_copying_prints_shares_beside_chance_and_why_there_is_none() -> None:
    letters, dashed, *_ = rows(build(COPYING, source(), BENCHMARKS[0]))
    assert without_marks(letters)[4:7] == ["97.50 [95.00, 99.00]", "97.50 [95.00, 99.00]", "25.00"]
    assert without_marks(dashed)[4:] == [
        "nothing to copy",
        "30.00 [25.00, 35.00]",
        "25.00",
        "nothing to copy",
        "2.00 [1.00, 3.00]",
        "130",
    ]


def test_matchers_print_accuracy_or_why_an_embedder_is_missing() -> None:
    cosine, dot, words = rows(build(MATCHERS, source(), BENCHMARKS[0]))
    # 20 of 40: Clopper–Pearson 33.80 to 66.20.
    assert cosine[2:] == ["minilm", "cosine", "50.00 [33.80, 66.20]", "38", "0", "160"]
    assert dot[2:] == ["qwen3-embedding-0.6b", "dot product", *["not on this machine"] * 4]
    assert words[2:4] == ["none", "shared words"]


def test_other_studies_have_none_of_these_tables() -> None:
    whole = made()
    keys = {table.key for table in tables(whole.analysis, whole.study, whole.extras)}
    assert {PERMUTATIONS, COPYING, MATCHERS} <= set(CATALOGUE)
    assert not [key for key in keys if key.startswith(("permutations", "copying", "dashed_matchers"))]
    assert build(PERMUTATIONS, source(None), BENCHMARKS[0]) is None


def test_a_prompt_with_demonstrations_is_stored_by_its_parts() -> None:
    prompts = Prompts.load(ROOT / "conf" / "prompt" / "abcd")
    pool = [Question(f"{n:016x}", "s", f"Stem {n}?", ("one", "two", "three"), 0) for n in range(4)]
    for design, shown in (("letters", "o"), ("digits", "o1 2 3")):
        strategy = Labelled("trial", "labelled", "demonstration/labelled", design, 2, "balanced", 42)
        question = Question("f" * 16, "s", "Asked\n\nQuestion: it?", ("red", "green", "blue"), 1)
        for request in asked(bound(strategy, pool, []), question, prompts, lambda _: Response("A")):
            literals: list[str] = []
            labels = strategy.showing.labels("f" * 16, 3)

            def literal(text: str, known: list[str] = literals) -> int:
                known.append(text)
                return len(known) - 1

            parts = prompt_parts(request, question, prompts, {}, literal)
            assert parts.count("q") == 1
            assert parts.count(shown) == 1
            assert literals[1].count("Question: Stem ") == 2
            block = "\n".join(
                f"{label}. {text}"
                for label, text in zip(labels, question.rotated(request.address.rotation), strict=True)
            )
            texts = {"q": question.question, shown: block}
            assert "".join(texts[part] if isinstance(part, str) else literals[part] for part in parts) == request.prompt
