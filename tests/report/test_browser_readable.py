"""The report as it is read: on a phone, in the dark, on paper, with the keyboard."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageColor

from stablechoice.report.marks import BASELINE, GREEN, PAPER, PLUM, RUST, SOFT
from stablechoice.report.page import PAGE

from .synthetic import HOSTILE
from .visiting import Visit, until

pytestmark = pytest.mark.browser


def sideways(page: Any) -> int:
    """How many pixels the page itself can be scrolled sideways."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_never_scrolls_sideways(browser: Any, folder: Path, scheme: str) -> None:
    with Visit(browser, folder / "report" / PAGE, color_scheme=scheme) as visit:
        page = visit.explore("#explorer/made_up/tiny-1/two_stage/all")
        for number in range(len(HOSTILE)):
            page.locator("#questions > li").nth(number).locator("button.question").click()
        for summary in page.locator("#provenance summary").all():
            if summary.evaluate("one => !one.parentElement.open"):
                summary.click()
        for width in (1280, 1024, 768, 390, 320):
            page.set_viewport_size({"width": width, "height": 844})
            assert sideways(page) <= 0, width


def _luminance(colour: str) -> float:
    channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_and_figures_are_readable_in_light_and_in_dark(browser: Any, folder: Path, scheme: str) -> None:
    with Visit(browser, folder / "report" / PAGE, color_scheme=scheme) as visit:
        page = visit.explore("#explorer/made_up/tiny-1/two_stage/all")
        page.locator("#questions > li").first.locator("button.question").click()
        body = page.evaluate("getComputedStyle(document.body).backgroundColor")
        card = page.evaluate("getComputedStyle(document.querySelector('.figure')).backgroundColor")
        assert (_luminance(body) > 0.5) == (scheme == "light")
        for selector in (
            "body",
            ".kicker",
            ".hint",
            "figcaption",
            ".notes",
            "td.m",
            ".interval",
            ".badge.good",
            ".warning",
        ):
            ground = page.evaluate(_GROUND, selector)
            ink = page.evaluate("one => getComputedStyle(document.querySelector(one)).color", selector)
            assert _contrast(ink, ground) >= 4.5, (selector, ink, ground)  # WCAG 2, success criterion 1.4.3
        for ink in page.evaluate(
            "[...document.querySelectorAll('.figure svg text')].map(one => getComputedStyle(one).fill)"
        ):
            assert _contrast(ink, card) >= 4.5


_GROUND = """selector => {
  let at = document.querySelector(selector);
  while (getComputedStyle(at).backgroundColor === 'rgba(0, 0, 0, 0)') at = at.parentElement;
  return getComputedStyle(at).backgroundColor;
}"""


def _contrast(one: str, other: str) -> float:
    high, low = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_markers_of_figures_are_repainted_in_the_dark_too(browser: Any, folder: Path) -> None:
    with Visit(browser, folder / "report" / PAGE, color_scheme="dark") as visit:
        page = visit.open()
        painted = page.evaluate(
            "([light, part]) => [...document.querySelectorAll(`.figure svg [${part}='${light}']`)]"
            ".map(one => getComputedStyle(one)[part])",
            [SOFT.light, "stroke"],
        )
        wanted = tuple(int(SOFT.dark[place : place + 2], 16) for place in (1, 3, 5))
        assert set(painted) == {f"rgb{wanted}"}
        white = page.evaluate(
            "light => [...document.querySelectorAll(`.figure svg [fill='${light}']`)]"
            ".map(one => getComputedStyle(one).fill)",
            PAPER.light,
        )
        assert set(white) == {"none"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_pixel_of_a_figure_keeps_the_other_grounds_colour(browser: Any, folder: Path, scheme: str) -> None:
    with Visit(browser, folder / "report" / PAGE, color_scheme=scheme) as visit:
        shot = visit.open().locator("#figure-rstd .scroll").screenshot()
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    painted = {pixel for _, pixel in picture.getcolors(maxcolors=picture.width * picture.height)}
    for shade in (BASELINE, GREEN, PLUM, RUST):
        mine, other = (shade.light, shade.dark) if scheme == "light" else (shade.dark, shade.light)
        assert ImageColor.getrgb(mine) in painted
        assert ImageColor.getrgb(other) not in painted


def test_everything_can_be_reached_with_the_keyboard(visit: Visit) -> None:
    page = visit.open()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    until(page, "() => document.activeElement.id === 'main'")  # the browser moves there when it draws the next time

    button = page.locator("#table-mcnemar_made_up thead button").nth(2)
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator("#table-mcnemar_made_up thead th").nth(2).get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Space")
    assert page.locator("#table-mcnemar_made_up thead th").nth(2).get_attribute("aria-sort") == "descending"

    page = visit.explore("#explorer/made_up/tiny-1/direct/all")
    page.locator("select[name=benchmark]").focus()
    for _ in range(6):  # the other selects, the text, Reset, the first question
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    first = page.locator("#questions > li").first
    assert first.locator("button.question").get_attribute("aria-expanded") == "true"
    assert first.locator(".detail").count() == 1
    page.keyboard.press("Enter")
    assert first.locator("button.question").get_attribute("aria-expanded") == "false"
    assert first.locator(".detail").count() == 0


def test_controls_have_names_and_drawings_have_descriptions(visit: Visit) -> None:
    page = visit.explore("#explorer/made_up/tiny-1/direct/all")
    page.locator("#questions > li").first.locator("button.question").click()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, select, input, a[href], summary, [role=img], [role=group]')]
        .filter(one => !(one.getAttribute('aria-label') || one.textContent.trim() || one.labels?.length)).length"""
    )
    assert nameless == 0
    assert page.evaluate("document.documentElement.lang") == "en"
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(one => Number(one.tagName[1]))")
    assert levels.count(1) == 1


def test_the_page_prints_without_what_only_a_screen_needs(visit: Visit) -> None:
    page = visit.open()
    page.emulate_media(media="print", color_scheme="dark")
    for selector in (".contents", "#explorer", ".files >> nth=0"):
        assert not page.locator(selector).is_visible()
    assert page.locator("#table-accuracy_made_up").is_visible()
    # Paper is light whatever the screen prefers.
    assert _luminance(page.evaluate("getComputedStyle(document.querySelector('h1')).color")) < 0.1


def test_the_contents_mark_the_section_in_view(visit: Visit) -> None:
    page = visit.open()
    page.locator("#tables-title").evaluate("one => one.scrollIntoView()")
    until(page, "() => document.querySelector('.contents [aria-current]')?.textContent === 'Tables'")
