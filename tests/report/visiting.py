"""A report opened in a real browser, from disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Visit:
    """An opened page that remembers what went wrong and what was asked for."""

    def __init__(self, browser: Any, path: Path, **settings: Any) -> None:
        settings = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | settings
        self.context = browser.new_context(**settings)
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.address = path.as_uri()

    def open(self, fragment: str = "") -> Any:
        self.page.goto(self.address + fragment)
        return self.page

    def explore(self, fragment: str) -> Any:
        """Follow an address into the explorer; a page that is open already stays open."""
        if self.page.url.partition("#")[0] == self.address:
            self.page.evaluate(
                "address => { document.getElementById('count').textContent = ''; location.hash = address }", fragment
            )
        else:
            self.open(fragment)
        until(self.page, "() => /^[0-9]+ of/.test(document.getElementById('count').textContent)")
        return self.page

    def complained(self, of: str) -> None:
        """Wait until the browser has complained of something: its messages come a moment later."""
        for _ in range(2_400):
            if any(of in complaint for complaint in self.complaints):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"no complaint of {of}: {self.complaints}")

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *error: object) -> None:
        self.context.close()


def until(page: Any, condition: str, argument: object = None) -> None:
    """Wait for a condition. Playwright's own way evaluates text inside the page, which the page's policy forbids."""
    for _ in range(2_400):
        if page.evaluate(condition, argument):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"the page never came to {condition} ({argument})")


def counted(page: Any, text: str) -> None:
    """Wait until the explorer says how many questions it shows."""
    until(page, "wanted => document.getElementById('count').textContent === wanted", text)
