"""The report in a real browser, opened from disk: it works, it keeps still, and hostile text does nothing."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from stablechoice.cell_name import CellName
from stablechoice.prompts import display
from stablechoice.report.explorer_rows import CORRECT, FLIPPED, flags
from stablechoice.report.page import DETAILS, PAGE

from .synthetic import HOSTILE, STRATEGIES, contents, made
from .visiting import Visit, counted, until

pytestmark = pytest.mark.browser


def listed(page: Any) -> list[str]:
    """Ids of the questions in the explorer's list, all of them."""
    while page.locator("#more").is_visible():
        page.locator("#more").click()
    return [item.get_attribute("data-question") for item in page.locator("#questions > li").all()]


def column(page: Any, key: str, position: int) -> list[str]:
    cells = page.locator(f"#table-{key} tbody tr td:nth-child({position + 1})")
    return [text.strip() for text in cells.all_text_contents()]


def test_it_opens_from_disk_without_a_complaint_and_asks_for_nothing_but_its_own_files(visit: Visit) -> None:
    page = visit.explore("#explorer/made_up/tiny-1/direct/all")
    assert page.title() == "Synthetic study · stablechoice"
    assert visit.complaints == []
    root = visit.address.removesuffix(PAGE)
    assert {url.removeprefix(root).partition("#")[0] for url in visit.requests if not url.startswith("data:")} == {
        PAGE,
        f"{DETAILS}/questions--made_up.js",
        f"{DETAILS}/answers--made_up--tiny-1.js",
    }


def test_details_are_loaded_only_when_they_are_needed(visit: Visit) -> None:
    page = visit.open()
    page.wait_for_timeout(200)
    assert not [url for url in visit.requests if url.endswith(".js")]
    page.locator("#explorer").scroll_into_view_if_needed()
    counted(page, "40 of 40 questions")
    assert len([url for url in visit.requests if url.endswith(".js")]) == 2


def test_tables_sort_by_number_with_missing_last_and_find_back(visit: Visit) -> None:
    page = visit.open()
    key, place = "order_sensitivity_made_up", 2
    heading = page.locator(f"#table-{key} thead th").nth(place)
    printed = column(page, key, place)
    table = next(one for one in contents().tables if one.key == key)
    values = [row[place].value for row in table.rows]
    assert None in values
    known = sorted(value for value in values if value is not None)

    def shown() -> list[float]:
        cells = page.locator(f"#table-{key} tbody tr td:nth-child({place + 1})[data-v]")
        return [float(cell.get_attribute("data-v")) for cell in cells.all()]

    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert shown() == known
    assert all(text.startswith("not defined") for text in column(page, key, place)[len(known) :])
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert shown() == known[::-1]
    assert all(text.startswith("not defined") for text in column(page, key, place)[len(known) :])
    heading.locator("button").click()
    assert heading.get_attribute("aria-sort") == "none"
    assert column(page, key, place) == printed


def test_texts_sort_too_and_only_one_heading_says_so(visit: Visit) -> None:
    page = visit.open()
    headings = page.locator("#table-mcnemar_made_up thead th")
    headings.nth(2).locator("button").click()
    headings.nth(1).locator("button").click()
    names = column(page, "mcnemar_made_up", 1)
    assert names == sorted(names, key=str.lower)
    sorted_ = [heading.get_attribute("aria-sort") for heading in headings.all()]
    assert sorted_.count("ascending") == 1
    assert sorted_[1] == "ascending"


def test_filters_show_what_the_observations_say(visit: Visit) -> None:
    for strategy in ("direct", "two_stage", "hypothesis"):
        _filters(visit, strategy)


def _filters(visit: Visit, strategy: str) -> None:
    name = CellName("tiny-1", "made_up", strategy)
    rows = {row.question_id: row for row in made().observations[name]}
    rotated = STRATEGIES[strategy].order == "rotations"
    wanted = {
        "all": set(rows),
        "right": {key for key, row in rows.items() if row.choice == row.gold},
        "wrong": {key for key, row in rows.items() if row.choice != row.gold},
        "flipped": {key for key, row in rows.items() if flags(row, None, rotated=rotated) & FLIPPED},
        "relational": {key for key, row in rows.items() if row.relational},
        "tied": {key for key, row in rows.items() if len(row.tied) > 1},
        "tie-dependent": {key for key, row in rows.items() if len(row.tied) > 1 and row.gold in row.tied},
        "unscored": {key for key, row in rows.items() if row.choice is None},
        "unscored:ambiguous": {key for key, row in rows.items() if row.reason == "ambiguous"},
    }
    page = visit.explore(f"#explorer/made_up/tiny-1/{strategy}/all")
    for showing, expected in wanted.items():
        page.locator("select[name=showing]").select_option(showing)
        counted(page, f"{len(expected)} of 40 questions")
        assert set(listed(page)) == expected


def test_broken_and_fixed_are_against_direct(visit: Visit) -> None:
    whole = made()
    test = next(one for one in whole.analysis.tests if one.cell == CellName("tiny-1", "made_up", "visible_semantic"))
    for showing, count in (("broken", test.broken), ("fixed", test.fixed)):
        page = visit.explore(f"#explorer/made_up/tiny-1/visible_semantic/{showing}")
        assert page.locator("#count").text_content() == f"{count} of 40 questions"


def test_text_is_sought_in_stems_options_and_ids(visit: Visit) -> None:
    page = visit.explore("#explorer/made_up/oracle/direct/all")
    question = made().questions["made_up"][9]
    for text in ("NUMBER 9?", "cobalt 9", question.question_id):
        page.locator("input[name=text]").fill(text)
        counted(page, "1 of 40 questions")
        assert listed(page) == [question.question_id]
    page.locator("input[name=text]").fill("nowhere to be found")
    counted(page, "0 of 40 questions")
    page.locator("button[type=reset]").click()
    counted(page, "40 of 40 questions")


def test_an_opened_question_shows_every_prompt_response_and_reading(visit: Visit) -> None:
    for strategy in STRATEGIES:
        _shows_everything(visit, strategy)


def _shows_everything(visit: Visit, strategy: str) -> None:
    whole, name = made(), CellName("tiny-1", "made_up", strategy)
    question = whole.questions["made_up"][8]  # a stem over several lines, an option with irregular white space
    recorded = [row for row in whole.answers[name] if row.request.question_id == question.question_id]
    seen = next(row for row in whole.observations[name] if row.question_id == question.question_id)
    page = visit.explore(f"#explorer/made_up/tiny-1/{strategy}/all/{question.question_id}")
    detail = page.locator(f"li[data-question='{question.question_id}'] .detail")
    assert detail.locator(".stem").text_content() == question.question
    gold = detail.locator(":scope > .options li.gold")
    assert gold.locator(".label").text_content() == question.labels[question.gold]
    for prompt in detail.locator("details.prompt").all():
        prompt.locator("summary").click()
        prompt.locator("pre").wait_for()  # it is made when the browser tells that the part was opened, a moment later
    prompts = detail.locator("details.prompt pre").all_text_contents()
    responses = detail.locator("pre.response").all_text_contents()
    assert sorted(prompts) == sorted(row.request.prompt for row in recorded)
    assert sorted(responses) == sorted(row.response.text for row in recorded)
    lines = detail.locator(".cards > .card > .reading").all_text_contents()
    for reading in seen.readings:
        if reading.choice is None:
            wanted = f"unscored: {reading.reason}"
        elif strategy == "hidden_semantic":  # it shows no labels
            wanted = f"Read as {display(question.options[reading.choice])} by"
        else:
            wanted = f"Read as {question.labels[question.slot(reading.choice, reading.rotation)]} ·"
        assert any(wanted.replace("_", " ") in line for line in lines)
    chosen = detail.locator("tr.chosen")
    assert STRATEGIES[strategy].title in chosen.text_content()
    if seen.choice is not None:
        assert ("right" if flags(seen, None, rotated=False) & CORRECT else "wrong") in chosen.text_content()


def test_another_strategy_can_be_chosen_within_a_question(visit: Visit) -> None:
    page = visit.explore("#explorer/made_up/tiny-1/direct/all")
    page.locator("#questions > li").nth(6).locator("button.question").click()
    detail = page.locator("#questions > li").nth(6).locator(".detail")
    detail.get_by_role("button", name="IHS", exact=True).click()
    assert "IHS: what was asked and answered" in detail.text_content()
    assert detail.locator(".card").count() == 4
    assert page.evaluate("document.activeElement.textContent") == "IHS"


def test_a_number_leads_to_the_answers_behind_it(visit: Visit) -> None:
    page = visit.open()
    table = next(one for one in contents().tables if one.key == "mcnemar_invented")
    place = [one.key for one in table.columns].index("fixed")
    row = next(number for number, line in enumerate(table.rows) if (line[place].value or 0) > 0)
    link = page.locator("#table-mcnemar_invented tbody tr").nth(row).locator("td").nth(place).locator("a")
    link.click()
    counted(page, f"{table.rows[row][place].value} of 40 questions")
    cell = table.rows[row][place].cell
    assert cell is not None
    chosen = [
        page.locator(f"select[name={name}]").input_value() for name in ("model", "benchmark", "strategy", "showing")
    ]
    assert chosen == [*cell, "fixed"]
    assert page.locator("#explorer-title").is_visible()


def test_an_address_that_is_not_ours_does_no_harm(visit: Visit) -> None:
    page = visit.explore("#explorer/%E0%A4%A/nobody/__proto__/constructor")
    assert page.locator("#count").text_content() == "40 of 40 questions"
    assert visit.complaints == []


_OPEN = """count => {
  const items = [...document.querySelectorAll('#questions > li')].slice(0, count);
  for (const item of items) item.firstElementChild.click();
  for (const prompt of document.querySelectorAll('#questions details.prompt')) prompt.open = true;
}"""


@pytest.mark.parametrize("place", ["report", "single"])
def test_hostile_text_does_nothing(browser: Any, folder: Path, place: str) -> None:
    with Visit(browser, folder / place / PAGE) as visit:
        for strategy in STRATEGIES:
            page = visit.explore(f"#explorer/made_up/tiny-1/{strategy}/all")
            page.evaluate(_OPEN, len(HOSTILE))
            until(
                page,
                "least => document.querySelectorAll('#questions details.prompt pre').length >= least",
                len(HOSTILE),
            )
        assert page.evaluate("window.hacked") is None
        assert page.locator("main img, main script, main .questions svg, main iframe").count() == 0
        texts = page.locator("#questions > li .stem").all_text_contents()
        assert all(text in " ".join(texts) for text in HOSTILE)
        assert visit.complaints == []
        assert all(url.startswith(("file:", "data:")) for url in visit.requests)


def test_the_policy_stops_what_would_slip_in(visit: Visit) -> None:
    page = visit.open()
    page.evaluate(
        """() => {
          const slipped = '<img src=x onerror="window.hacked=9"><p style="color:red">x</p>';
          document.body.insertAdjacentHTML('beforeend', slipped);
          const script = document.createElement('script');
          script.textContent = 'window.hacked=9';
          document.body.append(script);
        }"""
    )
    visit.complained("Content Security Policy")
    page.wait_for_timeout(100)
    assert page.evaluate("window.hacked") is None


def test_one_file_alone_holds_everything(browser: Any, folder: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone.html"
    shutil.copy(folder / "single" / PAGE, alone)
    with Visit(browser, alone) as visit:
        page = visit.explore("#explorer/invented/oracle/hypothesis/all")
        assert page.locator("#count").text_content() == "40 of 40 questions"
        assert {url.partition("#")[0] for url in visit.requests if not url.startswith("data:")} == {visit.address}
        assert visit.complaints == []


def test_a_page_without_its_details_says_what_is_missing(browser: Any, folder: Path, tmp_path: Path) -> None:
    alone = tmp_path / PAGE
    shutil.copy(folder / "report" / PAGE, alone)
    with Visit(browser, alone) as visit:
        page = visit.open("#explorer/made_up/tiny-1/direct/all")
        until(page, "() => document.getElementById('count').textContent.includes('does not lie beside this page')")
        assert page.locator("#questions > li").count() == 0
