"""The report's page: complete, honest, linked, harmless, and the same bytes for the same study."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from functools import cache

from stablechoice.cell_name import CellName
from stablechoice.measures.analysis import analyse
from stablechoice.report.compare import compare
from stablechoice.report.compare_tables import comparison_tables
from stablechoice.report.page import report
from stablechoice.report.published import load_published
from stablechoice.report.script_data import content_hash
from stablechoice.report.source import Source
from stablechoice.report.study import Entry, whole_grid
from stablechoice.report.table import OURS, Column, Table, Value, number, text
from stablechoice.report.views import answers_link

from .markup import Node, parsed, squeezed
from .synthetic import BENCHMARKS, ENTRIES, HOSTILE, MODELS, ROOT, contents, figures, made


@cache
def page() -> str:
    return report(contents())


@cache
def tree() -> Node:
    return parsed(page())


def test_the_page_is_well_formed_and_every_id_is_unique() -> None:
    ids = [node.attributes["id"] for node in tree().all() if "id" in node.attributes]
    assert len(set(ids)) == len(ids)
    assert {"summary", "figures", "tables", "explorer", "provenance"} <= set(ids)


def test_every_link_within_the_page_leads_somewhere() -> None:
    ids = {node.attributes["id"] for node in tree().all() if "id" in node.attributes}
    within = [node.attributes["href"] for node in tree().all("a") if node.attributes["href"].startswith("#")]
    assert {link[1:] for link in within if not link.startswith("#explorer/")} <= ids
    cells = {answers_link(name).rpartition("/")[0] for name in made().observations}
    assert {link.rpartition("/")[0] for link in within if link.startswith("#explorer/")} == cells


def test_nothing_is_fetched_from_anywhere() -> None:
    for node in tree().all():
        assert not node.attributes.keys() & {"srcset", "action", "formaction", "ping", "background", "poster"}
        assert not [key for key in node.attributes if key.startswith("on") or key == "style"]
        assert node.tag not in {"img", "iframe", "object", "embed", "base", "form action", "image"}
        assert "src" not in node.attributes
        href = node.attributes.get("href", "#")
        assert href.startswith(("#", "../tables/", "../figures/", "data:image/svg+xml,")), href
    assert "@import" not in page()
    assert "url(http" not in page()


def test_links_to_files_name_every_table_and_figure() -> None:
    hrefs = {node.attributes["href"] for node in tree().all("a")}
    for one in contents().tables:
        assert {f"../tables/{one.key}.{ending}" for ending in ("csv", "tex", "md")} <= hrefs
    for drawn in figures():
        assert {f"../figures/{drawn.name}.{ending}" for ending in ("csv", "svg", "pdf")} <= hrefs


def test_the_policy_allows_this_script_and_this_style_and_no_other() -> None:
    policy = tree().one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
    style = tree().one("style").text
    scripts = [node for node in tree().all("script") if node.attributes.get("type") != "application/json"]
    assert len(scripts) == 1
    assert policy == (
        f"default-src 'none'; script-src {content_hash(scripts[0].text)} 'self'; style-src {content_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    inside = parsed(report(contents(), "inside")).one("meta", **{"http-equiv": "Content-Security-Policy"})
    assert "'self'" not in inside.attributes["content"]


def test_every_table_is_there_with_its_notes_and_its_origin() -> None:
    for one in contents().tables:
        article = tree().one("article", id=f"table-{one.key}")
        said = squeezed(article)
        for expected in (one.title, one.shows, one.origin, *one.notes):
            assert " ".join(expected.split()) in said
        assert len(list(article.one("tbody").all("tr"))) == len(one.rows)


def test_headings_of_tables_are_buttons_that_say_how_they_sort() -> None:
    for one in contents().tables:
        head = tree().one("article", id=f"table-{one.key}").one("thead")
        headings = list(head.all("th"))
        assert [squeezed(heading.one("button")) for heading in headings] == [column.title for column in one.columns]
        assert {heading.attributes["aria-sort"] for heading in headings} == {"none"}


def test_numbers_sort_by_their_full_precision_and_missing_ones_are_marked() -> None:
    one = next(table for table in contents().tables if table.key == "order_sensitivity_made_up")
    body = tree().one("article", id="table-order_sensitivity_made_up").one("tbody")
    for line, row in zip(body.all("tr"), one.rows, strict=True):
        for cell, value in zip(line.all("td"), row, strict=True):
            if value.missing:
                assert "m" in cell.attributes["class"].split()
                assert squeezed(cell) == value.why
            elif value.kind != "text":
                number = value.value if value.value is not None else value.low
                assert cell.attributes["data-v"] == repr(number)


def test_each_number_leads_to_the_answers_behind_it_and_each_row_stops_the_keyboard_once() -> None:
    body = tree().one("article", id="table-mcnemar_made_up").one("tbody")
    for line in body.all("tr"):
        links = list(line.all("a"))
        assert [link.attributes.get("tabindex") for link in links] == [None] + ["-1"] * (len(links) - 1)
        assert len({link.attributes["href"].rpartition("/")[0] for link in links}) == 1
        ends = [link.attributes["href"].rpartition("/")[2] for link in links]
        assert {"broken", "fixed", "all"} <= set(ends)


def test_answers_links_survive_odd_names() -> None:
    assert answers_link(CellName("a/b", "c d", "e#f"), "flipped") == "#explorer/c%20d/a%2Fb/e%23f/flipped"


def test_simulated_models_are_marked_in_every_table_and_heading() -> None:
    marked = "Stated behaviour simulated"
    for node in tree().all():
        if node.tag in {"td", "h3", "summary"} and "Stated behaviour" in squeezed(node):
            assert squeezed(node).removeprefix("model ").startswith(marked)
            assert [badge.text for badge in node.all("span") if "simulated" in badge.attributes.get("class", "")]
    assert "1 of them simulated" in squeezed(tree().one("section", id="summary"))


def test_one_model_answers_and_needs_no_comma() -> None:
    whole = made(12, None, 100)
    study = whole_grid("One", MODELS[:1], BENCHMARKS, ENTRIES)
    kept = {name: rows for name, rows in whole.cells.items() if name.model == MODELS[0].key}
    one = replace(
        contents(whole),
        study=study,
        analysis=analyse(kept, resamples=10, grid=study.expected),
        tables=(),
        extras=None,
        explorer=replace(whole.explorer, study=study, observations={name: whole.observations[name] for name in kept}),
        provenance={},
    )
    lead = squeezed(parsed(report(one)).one("p", **{"class": "lead"}))
    assert lead == "1 model answers 24 questions of 2 benchmarks under 10 strategies."
    both = squeezed(tree().one("p", **{"class": "lead"}))
    assert both == "2 models, 1 of them simulated, answer 80 questions of 2 benchmarks under 10 strategies."


def test_a_table_without_any_number_is_folded_and_says_why() -> None:
    columns = (Column("model", "Model", "text"), Column("n", "n", "count"), Column("k", "k", "count"))

    def folded(*row: Value) -> str:
        table = Table("trial", "ours", "Trial", "Trial.", columns, ((text("Tiny"), *row),), ("n: none.",))
        article = parsed(report(replace(contents(), tables=[table]))).one("article", id="table-trial")
        boxes = list(article.all("details"))
        assert article.one("tbody") is not None  # it is there to be opened
        return squeezed(boxes[0].one("summary")) if boxes else ""

    missing = number("count", None, why="not repeated")
    assert folded(missing, missing) == "It holds no number: not repeated."
    assert folded(missing, number("count", 0)) == ""


def test_counts_of_published_numbers_are_folded_where_all_are_outside_the_study() -> None:
    published = load_published(ROOT / "data" / "published")
    compared = compare(made().analysis, made().study, published)
    (summary,) = comparison_tables(compared, made().study, resamples=10, seed=42)
    article = parsed(report(replace(contents(), comparisons=[summary]))).one("article", id="table-published_summary")
    folded = squeezed(article.one("details").one("summary"))
    assert folded == "None of the published numbers is of a cell of this study."


def test_the_main_table_stands_in_the_summary_and_nowhere_else() -> None:
    assert tree().one("section", id="summary").one("article", id="table-main")
    assert not list(tree().one("section", id="tables").all("article", id="table-main"))


def test_cells_that_leave_too_much_unscored_are_warned_about() -> None:
    whole = made()
    source = Source.of(whole.study, whole.analysis, whole.extras)
    name = CellName("tiny-1", "made_up", "two_stage")
    share = source.estimates[name, "unscored"].value
    assert share is not None
    assert share > 10
    article = tree().one("article", id="table-accuracy_made_up")
    assert "Care:" in squeezed(article)
    warned = [cell for cell in article.all("td") if "w" in cell.attributes.get("class", "").split()]
    assert warned
    assert all("†" in squeezed(cell) and "unscored" in cell.attributes["title"] for cell in warned)
    block = next(one for one in tree().all("article") if squeezed(one).startswith("Tiny-1 & Co Made up"))
    assert f"Two-stage {share:.1f} %" in squeezed(block).replace("\u00a0", " ")


def test_figures_stand_in_the_page_with_what_they_show() -> None:
    for drawn in figures():
        box = tree().one("figure", id=f"figure-{drawn.name}")
        drawing = box.one("svg")
        assert drawing.attributes["aria-label"] == drawn.label
        assert squeezed(box.one("figcaption")) == " ".join(drawn.caption.split())


def test_a_figure_that_could_not_be_drawn_says_why() -> None:
    absent = replace(figures()[0], svg=b"", pdf=b"", csv="", why="Not drawn: no cell has <both>.")
    box = parsed(report(replace(contents(), figures=[absent]))).one("figure")
    assert "Not drawn: no cell has <both>." in squeezed(box)
    assert not list(box.all("svg"))
    assert not list(box.all("a"))


def test_a_cell_that_was_not_run_says_so_and_leads_nowhere() -> None:
    name = CellName("tiny-1", "made_up", "two_stage")
    whole = made(12, name, 100)
    root = parsed(report(contents(whole)))
    assert "Cells run 39 of 40" in squeezed(root.one("section", id="summary"))
    assert "Without numbers: Two-stage (not run)." in squeezed(root)
    row = next(
        line
        for line in root.one("article", id="table-accuracy_made_up").one("tbody").all("tr")
        if [squeezed(cell) for cell in line.all("td")][:2] == ["Tiny-1 & Co", "Two-stage"]
    )
    assert "not run" in squeezed(row)
    assert not list(row.all("a"))


def test_hostile_text_reaches_the_page_as_text_only() -> None:
    title = Entry("tiny-1", HOSTILE[0])
    study = replace(made().study, title=HOSTILE[1], models=(title, MODELS[1]))
    hostile = replace(
        contents(),
        study=study,
        explorer=replace(made().explorer, study=study),
        tables=[
            Table(
                "t", OURS, HOSTILE[0], HOSTILE[2], (Column("a", HOSTILE[4], "text"),), ((text(HOSTILE[1]),),), HOSTILE
            )
        ],
        provenance={name: {"prompt": HOSTILE[0], HOSTILE[1]: HOSTILE[4]} for name in made().observations},
    )
    for placement in ("beside", "inside"):
        html = report(hostile, placement)  # type: ignore[arg-type]
        root = parsed(html)
        assert squeezed(root.one("title")) == f"{HOSTILE[1]} · stablechoice"
        executable = [n for n in root.all("script") if n.attributes.get("type") != "application/json"]
        assert len(executable) == 1
        assert "hacked" not in executable[0].text
        assert not [node for node in root.all() if node.tag == "img" or "onerror" in node.attributes]
        assert "49" not in squeezed(root.one("h1"))  # {{ 7*7 }} is no expression
        said = squeezed(root.one("article", id="table-t"))
        assert all(" ".join(one.split()) in said for one in HOSTILE)


def test_published_numbers_stand_beside_ours_with_their_verdicts() -> None:
    columns = (Column("quantity", "Quantity", "text"), Column("verdict", "Verdict", "text"))
    rows = tuple((text("accuracy"), text(verdict)) for verdict in ("reproduced", "differs", "not run"))
    compared = Table("published_numbers", OURS, "Published numbers beside ours", "All.", columns, rows, ("n: 3.",))
    root = parsed(report(replace(contents(), comparisons=[compared])))
    section = root.one("section", id="published")
    tones = [node.attributes["class"] for node in section.all("span") if "verdict" in node.attributes.get("class", "")]
    assert tones == ["verdict good", "verdict bad", "verdict quiet"]
    assert "This study claims: re-run local" in squeezed(section)
    assert not list(tree().all("section", id="published"))


def test_equal_studies_give_equal_bytes_whatever_process_and_hash_seed() -> None:
    code = (
        "import hashlib\n"
        "from stablechoice.report.page import report\n"
        "from tests.report.synthetic import contents, made\n"
        "print(hashlib.sha256(report(contents(made(12, None, 100)), 'inside').encode()).hexdigest())"
    )
    seen = {hashlib.sha256(report(contents(made(12, None, 100)), "inside").encode()).hexdigest()}
    for seed, locale in (("0", "C"), ("1", "C.UTF-8")):
        environment = os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": locale, "PYTHONPATH": str(ROOT / "src")}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
        seen.add(done.stdout.strip())
    assert len(seen) == 1


def test_a_page_of_the_papers_grid_stays_under_five_megabytes() -> None:
    # The synthetic grid has half of the paper's four models: its page may be at most half of 5 MB.
    assert len(page().encode("utf-8")) < 2_500_000
