from __future__ import annotations

import pytest

from stablechoice.doctor.finding import Finding
from stablechoice.doctor.page import Level, Page, Verdict
from stablechoice.doctor.sheet import conclusion, show

RUNS = Verdict(
    "pocket",
    "Pocket study",
    (Level("recompute", "cannot", ("no cells; make them",)), Level("re-run local", "can", ("m",))),
)
LACKING = Verdict(
    "pocket", "Pocket study", (Level("re-run local", "cannot", ("no questions of x; see below", "no disk; free some")),)
)
OPEN = Verdict("open", error="conf/model/x.yaml: key 'revision' is open (???); fill it in")


def page(*studies: Verdict) -> Page:
    return Page((("Machine", (Finding("GPU", "note", "none", "[bold]take[/bold] RUNTIME=cpu"),)),), studies)


def shown(one: Page, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "120")
    show(one)
    return capsys.readouterr().out


def test_the_last_line_is_the_verdict() -> None:
    assert conclusion(page(RUNS)) == "The pocket study can run here: make reproduce"
    assert "marked ✗" in conclusion(page(LACKING))
    assert "once the packages are installed" in conclusion(page())
    assert not page(OPEN, LACKING).pocket_runs  # another study's verdict decides nothing


def test_each_lack_stands_with_its_remedy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [" ".join(line.split()) for line in shown(page(LACKING, OPEN), capsys, monkeypatch).splitlines()]
    assert "✗ re-run local no questions of x" in lines
    assert lines[lines.index("✗ no disk") + 1] == "→ free some"
    assert "✗ configuration conf/model/x.yaml: key 'revision' is open (???)" in lines
    assert "→ fill it in" in lines


def test_what_is_found_is_shown_as_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    # Brackets are text here, not the markup of the library that draws the page.
    assert "→ [bold]take[/bold] RUNTIME=cpu" in shown(page(RUNS), capsys, monkeypatch)


def test_a_study_says_each_key_and_what_it_wants_of_the_disk(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hosted = Verdict(
        "p",
        levels=(Level("re-run local", "no part"),),
        keys={"A_KEY": True, "B_KEY": False},
        wants=3 * 2**30,
        unknown=("m",),
    )
    said = shown(page(hosted), capsys, monkeypatch)
    assert "A_KEY is set, B_KEY is not set" in said
    assert "about 3.0 GiB, and the weights of m" in said
    assert "has no model that computes here" in said
