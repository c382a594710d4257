"""What a page shows only where it is there: repetitions below a question, and what the last run took."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stablechoice.cell_name import CellName
from stablechoice.generations import Generation
from stablechoice.report.page import PAGE, write_report
from stablechoice.request import Response

from .synthetic import HOSTILE, contents, made
from .visiting import Visit, until

CELL = CellName("tiny-1", "made_up", "direct")
TIMES = "../provenance/times.js"


def repeated(cell: CellName) -> list[Generation]:
    """Direct's answers to two questions again, twice; the second repetition of the second question failed."""
    rows = list(made().answers[cell])
    if cell != CELL:
        return rows
    first, second = (row for row in rows if row.request.address.rotation == 0 and row.request.question_id in ids())
    failed = Response("", "request_failed", "other", detail="the provider was down")
    again = [
        Generation(row.key, row.request.repeated(turn), answer)
        for row, turn, answer in (
            (first, 1, Response(f"again {HOSTILE[0]}")),
            (first, 2, Response("again B")),
            (second, 1, Response("again C")),
            (second, 2, failed),
        )
    ]
    return [*again, *rows]


def ids() -> list[str]:
    return [question.question_id for question in made().questions["made_up"][:2]]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with repetitions, and a place for what the last run took."""
    folder = tmp_path_factory.mktemp("asides")
    explorer = replace(made().explorer, answers=repeated)
    write_report(folder / "report", replace(contents(), explorer=explorer, times_at=TIMES))
    return folder / "report" / PAGE


@pytest.fixture
def visited(browser: Any, page: Path) -> Iterator[Visit]:
    with Visit(browser, page) as one:
        yield one


def test_repetitions_are_data_of_their_question_and_of_no_other() -> None:
    explorer = replace(made().explorer, answers=repeated)
    found = json.loads(explorer.detail("answers/made_up/tiny-1").json)
    place = found["strategies"].index("direct")
    rows = [row[2] if len(row) > 2 else [] for row in found["rows"]]
    assert [[(one[0], one[1], one[3]) for one in row] for row in rows[:2]] == [
        [(place, 1, f"again {HOSTILE[0]}"), (place, 2, "again B")],
        [(place, 1, "again C"), (place, 2, "")],
    ]
    assert rows[1][1][6] == "the provider was down"
    assert not any(rows[2:])
    before = json.loads(made().explorer.detail("answers/made_up/tiny-1").json)
    for now, then in zip(found["rows"], before["rows"], strict=True):  # the main run's answers stay what they were
        assert [one[7] for one in now[1]] == [one[7] for one in then[1]]
        assert [row[4] for row in now[0]] == [row[4] for row in then[0]]


@pytest.mark.browser
def test_a_question_that_was_asked_again_shows_every_repetition(visited: Visit) -> None:
    shown = visited.explore(f"#explorer/made_up/tiny-1/direct/all/{ids()[1]}")
    until(shown, "() => document.querySelector('[data-question] h5') !== null")
    text = shown.locator(f"[data-question='{ids()[1]}']").inner_text()
    assert "Asked again in the same order" in text
    assert "again C" in text
    assert "the provider was down" in text
    shown = visited.explore(f"#explorer/made_up/tiny-1/direct/all/{ids()[0]}")
    until(shown, "() => document.body.innerText.includes('again B')")
    assert HOSTILE[0] in shown.locator(f"[data-question='{ids()[0]}']").inner_text()
    assert shown.evaluate("window.hacked") is None
    assert visited.complaints == []


@pytest.mark.browser
def test_a_strategy_that_was_not_asked_again_says_nothing_of_it(visited: Visit) -> None:
    shown = visited.explore(f"#explorer/made_up/tiny-1/two_stage/all/{ids()[1]}")
    until(shown, "() => document.querySelector('[data-question] .cards') !== null")
    assert "Asked again" not in shown.locator(f"[data-question='{ids()[1]}']").inner_text()


@pytest.mark.browser
def test_what_the_last_run_took_is_looked_for_only_when_it_is_opened(visited: Visit, page: Path) -> None:
    side = page.parent.parent / "provenance"
    side.mkdir()
    rows = {"columns": ["Model", "Time"], "rows": [["Tiny-1 & <b>Co</b>", "3 min 5 s"]]}
    (side / "times.js").write_text(f'stablechoice.receive("times",{json.dumps(rows)});\n', encoding="utf-8")
    shown = visited.open()
    assert not [url for url in visited.requests if url.endswith("times.js")]
    shown.locator("#times summary").click()
    until(shown, "() => document.querySelector('#times table') !== null")
    assert shown.locator("#times td").all_inner_texts() == ["Tiny-1 & <b>Co</b>", "3 min 5 s"]
    assert visited.complaints == []
    shutil.rmtree(side)


@pytest.mark.browser
def test_where_nothing_was_recorded_the_page_says_so(visited: Visit) -> None:
    shown = visited.open()
    shown.locator("#times summary").click()
    until(shown, "() => document.getElementById('times').innerText.includes('Nothing was asked on this machine')")


def test_a_page_with_everything_inside_looks_for_no_side_file(tmp_path: Path) -> None:
    write_report(tmp_path / "single", replace(contents(), times_at=TIMES), "inside")
    assert TIMES not in (tmp_path / "single" / PAGE).read_text(encoding="utf-8")


def test_times_change_no_byte_of_the_page(tmp_path: Path, page: Path) -> None:
    side = tmp_path / "provenance"
    side.mkdir()
    (side / "times.js").write_text("whatever", encoding="utf-8")
    explorer = replace(made().explorer, answers=repeated)
    write_report(tmp_path / "report", replace(contents(), explorer=explorer, times_at=TIMES))
    assert (tmp_path / "report" / PAGE).read_bytes() == page.read_bytes()
