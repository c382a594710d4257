"""A browser and a report for it to open; skipped with the reason where there is no browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stablechoice.report.figures import write_figures
from stablechoice.report.page import PAGE, write_report

from .synthetic import contents, figures
from .visiting import Visit

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: the package chromium)")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=300_000)
        yield started
        started.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study's folder: `figures`, `report` with its details beside it, and `single` with everything inside."""
    root = tmp_path_factory.mktemp("study")
    write_figures(root / "figures", figures())
    write_report(root / "report", contents())
    write_report(root / "single", contents(), "inside")
    return root


@pytest.fixture
def visit(browser: Any, folder: Path) -> Iterator[Visit]:
    with Visit(browser, folder / "report" / PAGE) as one:
        yield one
