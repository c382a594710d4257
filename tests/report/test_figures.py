"""Figures: drawn from the CSV beside them, the same bytes everywhere, readable by everybody."""

from __future__ import annotations

import re
import sys
import time
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import pytest

from stablechoice.errors import AnalysisError, DataError
from stablechoice.measures.analysis import analyse
from stablechoice.report.canvas import STYLE
from stablechoice.report.figures import Figure, draw_figures, read_figures, redraw, write_figures
from stablechoice.report.inline_svg import inline_svg
from stablechoice.report.marks import PAPER, SHADES
from tests.conftest import ROOT

from .synthetic import figures, made

NAMES = [
    "accuracy_flip",
    "rstd",
    "interaction",
    "recall_made_up",
    "recall_invented",
    "hypothesis_scores",
    "hypothesis_ties",
    "cost_accuracy",
]


def figure(name: str) -> Figure:
    return next(one for one in figures() if one.name == name)


def test_every_figure_of_the_paper_is_drawn() -> None:
    assert [one.name for one in figures()] == NAMES
    assert not any(one.why for one in figures())


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_drawn_from_the_csv_beside_it(name: str) -> None:
    drawn = figure(name)
    again = redraw(made().study, name, drawn.csv)
    assert again == drawn  # SVG and PDF too, byte for byte


def test_bytes_depend_neither_on_the_users_settings_nor_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = figure("hypothesis_ties")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    monkeypatch.setattr(time, "time", lambda: 86400.0)
    with mpl.rc_context({"font.size": 20.0, "svg.hashsalt": "other", "lines.linewidth": 9.0, "pdf.compression": 9}):
        again = redraw(made().study, "hypothesis_ties", drawn.csv)
        assert mpl.rcParams["font.size"] == 20.0
    assert (again.svg, again.pdf) == (drawn.svg, drawn.pdf)


def test_files_name_no_date_no_program_and_no_machine() -> None:
    for one in figures():
        for content in (one.svg, one.pdf):
            assert not re.search(rb"CreationDate|ModDate|matplotlib v|Matplotlib v|dc:date", content)
            assert not any(str(folder).encode() in content for folder in (ROOT, Path.home(), sys.prefix))


def test_the_font_is_the_one_that_comes_with_matplotlib() -> None:
    assert STYLE["font.family"] == "DejaVu Sans"
    for one in figures():
        faces = set(re.findall(rb"/BaseFont /([A-Za-z-]+)", one.pdf.replace(b"+", b"-")))
        assert faces
        assert all(b"DejaVuSans" in face for face in faces)


def test_files_are_written_three_a_figure(tmp_path: Path) -> None:
    written = write_figures(tmp_path / "figures", figures())
    assert [path.name for path in written] == [f"{name}.{end}" for name in NAMES for end in ("csv", "svg", "pdf")]
    for one in figures():
        assert (tmp_path / "figures" / f"{one.name}.svg").read_bytes() == one.svg
        assert (tmp_path / "figures" / f"{one.name}.csv").read_bytes() == one.csv.encode("utf-8")
        assert one.pdf.startswith(b"%PDF-")


def test_a_study_without_ihs_says_why_its_figures_are_missing(tmp_path: Path) -> None:
    whole = made()
    kept = {name: one for name, one in whole.cells.items() if name.strategy != "hypothesis"}
    analysis = replace(whole.analysis, ties=())
    drawn = {one.name: one for one in draw_figures(whole.study, analysis, kept)}
    for name in ("hypothesis_scores", "hypothesis_ties"):
        assert drawn[name].why == "Not drawn: no response holds a valid score."
        assert (drawn[name].svg, drawn[name].csv) == (b"", "")
    written = write_figures(tmp_path, list(drawn.values()))
    assert not [path for path in written if "hypothesis" in path.name]
    without = replace(whole.study, strategies=whole.study.strategies[:-1], expected=frozenset(kept))
    fewer = analyse(kept, resamples=10, grid=without.expected)
    for listed in (draw_figures(without, fewer, kept), read_figures(tmp_path, without)):
        missing = {one.name: one.why for one in listed}
        assert missing["hypothesis_scores"] == missing["hypothesis_ties"] == "Not drawn: IHS is not in this study."


def test_figures_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    write_figures(tmp_path, figures())
    assert read_figures(tmp_path, made().study) == figures()


def test_figures_that_were_not_drawn_say_so_when_they_are_read_back(tmp_path: Path) -> None:
    whole = made()
    kept = {name: one for name, one in whole.cells.items() if name.strategy != "hypothesis"}
    drawn = draw_figures(whole.study, replace(whole.analysis, ties=()), kept)
    write_figures(tmp_path, drawn)
    assert read_figures(tmp_path, whole.study) == drawn


def test_a_figure_that_lacks_a_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"figures: there are no figures; `stablechoice analyse` draws them"):
        read_figures(tmp_path / "figures", made().study)
    write_figures(tmp_path, figures())
    (tmp_path / "rstd.svg").unlink()
    with pytest.raises(DataError, match=r"rstd\.svg: cannot be read \(No such file or directory\)"):
        read_figures(tmp_path, made().study)


def test_an_unknown_figure_is_refused_with_the_names_that_there_are() -> None:
    with pytest.raises(AnalysisError, match=r"no figure 'scatter'.*accuracy_flip, rstd"):
        redraw(made().study, "scatter", "")
    with pytest.raises(DataError, match=r"accuracy_flip\.csv: columns are a, b"):
        redraw(made().study, "accuracy_flip", "a,b\n1,2\n")


def test_texts_stay_texts_and_simulated_models_say_so() -> None:
    for one in figures():
        texts = [
            "".join(element.itertext()) for element in ET.fromstring(one.svg).iter("{http://www.w3.org/2000/svg}text")
        ]
        said = [text for text in texts if "Stated behaviour" in text]
        assert said, one.name
        assert all("(simulated)" in text for text in said)
        assert any("Tiny-1 & Co" in text for text in texts)


def test_inline_drawings_need_no_style_and_share_no_id() -> None:
    seen: set[str] = set()
    for one in figures():
        root = ET.fromstring(inline_svg(one.svg, one.name, one.label))
        elements = list(root.iter())
        assert not [element for element in elements if "style" in element.attrib or element.tag == "style"]
        ids = [element.attrib["id"] for element in elements if "id" in element.attrib]
        assert len(set(ids)) == len(ids)
        assert not seen & set(ids)
        seen |= set(ids)
        named = {target for element in elements for value in element.attrib.values() for target in _targets(value)}
        assert named == set(ids)  # every reference is found, every id is referred to
        assert root.attrib["role"] == "img"
        assert root.attrib["aria-label"] == one.label


def _targets(value: str) -> list[str]:
    return re.findall(r"url\(#([^)]+)\)", value) + ([value[1:]] if value.startswith("#") and len(value) != 7 else [])


def test_inline_drawings_use_no_colour_that_the_dark_page_does_not_know() -> None:
    known = {shade.light for shade in SHADES} | {PAPER.light, "none"}
    for one in figures():
        root = ET.fromstring(inline_svg(one.svg, one.name, one.label))
        used = {
            element.attrib[part] for element in root.iter() for part in ("fill", "stroke") if part in element.attrib
        }
        assert {colour for colour in used if not colour.startswith("url(")} <= known, one.name


def test_inlining_refuses_what_is_no_drawing() -> None:
    with pytest.raises(AnalysisError, match="figure f is no readable SVG"):
        inline_svg(b"<svg", "f", "label")
    with pytest.raises(AnalysisError, match="figure f is no SVG but 'html'"):
        inline_svg(b"<html/>", "f", "label")


def test_labels_of_drawings_are_escaped() -> None:
    drawn = inline_svg(figure("hypothesis_ties").svg, "f", 'a "quoted" <b> & label')
    assert 'aria-label="a &quot;quoted&quot; &lt;b&gt; &amp; label"' in drawn
