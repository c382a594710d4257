"""The published numbers are the shared ones byte for byte, load typed, and agree with each other."""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from stablechoice.errors import DataError
from stablechoice.report.claims import claims
from stablechoice.report.published import Published, load_published

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "data" / "published"
SHARED = ROOT.parent / "shared" / "published"
NAMES = (
    "delta_vs_direct.csv",
    "diagnostic_2x2.csv",
    "ihs_prose.csv",
    "ihs_scores.csv",
    "local_verification.csv",
    "repeated_runs.csv",
)
QUESTIONS = {"mmlu": 1140, "arc_challenge": 1172}
TWO_STAGE = {"Hidden+LLM": "Two-stage"}


@pytest.fixture(scope="module")
def published() -> Published:
    return load_published(FOLDER)


def correct(accuracy: Decimal, benchmark: str) -> int:
    """The one count k for which 100 k / n prints as the accuracy."""
    total = QUESTIONS[benchmark]
    near = round(float(accuracy) * total / 100)
    fitting = [k for k in range(near - 2, near + 3) if f"{100 * k / total:.2f}" == str(accuracy)]
    assert len(fitting) == 1, (accuracy, benchmark)
    return fitting[0]


@pytest.mark.shared
@pytest.mark.parametrize("name", NAMES)
def test_files_are_byte_equal_to_the_shared_ones(name: str) -> None:
    if not SHARED.is_dir():
        pytest.skip("the folder of shared inputs is absent beside the repository")
    assert (FOLDER / name).read_bytes() == (SHARED / name).read_bytes()


def test_every_row_is_loaded(published: Published) -> None:
    """6 strategies × 4 models × 2 benchmarks; 4 × 4 × 2; 4 × 2; 4 × 4 × 2; 7 × 2 × 2; 27 numbers from the text."""
    sizes = [len(rows) for rows in (published.deltas, published.diagnostics, published.scores)]
    assert sizes == [48, 32, 8]
    assert [len(rows) for rows in (published.repeats, published.local, published.prose)] == [32, 28, 27]


def test_printed_digits_are_kept(published: Published) -> None:
    row = published.deltas[0]
    assert (row.strategy, row.absolute, str(row.accuracy)) == ("Direct", True, "81.84")
    assert str(published.scores[0].tie_pct) == "14.9"
    assert published.deltas[4].flip == Decimal("-7.19")
    assert published.diagnostics[8].scored is None  # Visible+LLM, GPT-4.1 mini: the paper prints no count


def test_every_accuracy_is_a_whole_number_of_questions(published: Published) -> None:
    for row in (*published.diagnostics, *published.scores, *published.local):
        assert 0 < correct(row.accuracy, row.benchmark) < QUESTIONS[row.benchmark]
    for row in published.deltas:
        if row.absolute:
            correct(row.accuracy, row.benchmark)


def test_accuracy_deltas_are_differences_of_whole_numbers_of_questions(published: Published) -> None:
    """Tables 1–2 against 3–4: (k of the condition − k of Direct) / n prints exactly as the delta, in all 24 cells."""
    direct = {(row.benchmark, row.model): row for row in published.deltas if row.absolute}
    deltas = {(row.benchmark, row.model, row.strategy): row for row in published.deltas}
    checked = 0
    for row in published.diagnostics:
        delta = deltas.get((row.benchmark, row.model, TWO_STAGE.get(row.condition, row.condition)))
        if delta is None:
            assert row.condition == "Hidden+Semantic"
            continue
        base = correct(direct[row.benchmark, row.model].accuracy, row.benchmark)
        change = correct(row.accuracy, row.benchmark) - base
        assert f"{100 * change / QUESTIONS[row.benchmark]:+.2f}" == f"{delta.accuracy:+.2f}"
        checked += 1
    assert checked == 24


def test_flip_and_rstd_deltas_agree_with_the_two_by_two(published: Published) -> None:
    """Deltas are taken on shared questions, so Direct + delta may miss the cell's own number, by 0.31 at most."""
    direct = {(row.benchmark, row.model): row for row in published.deltas if row.absolute}
    deltas = {(row.benchmark, row.model, row.strategy): row for row in published.deltas}
    for row in published.diagnostics:
        delta = deltas.get((row.benchmark, row.model, TWO_STAGE.get(row.condition, row.condition)))
        if delta is not None:
            base = direct[row.benchmark, row.model]
            assert abs(base.flip + delta.flip - row.flip) <= Decimal("0.31")
            assert abs(base.rstd + delta.rstd - row.rstd) <= Decimal("0.08")


def test_ihs_accuracy_lies_between_all_ties_lost_and_all_ties_won(published: Published) -> None:
    """Half a digit of rounding (0.05) on each printed percentage."""
    for row in published.scores:
        assert row.gold_unique_top_pct - Decimal("0.05") <= row.accuracy
        assert row.accuracy <= row.gold_unique_top_pct + row.tie_dependent_pct + Decimal("0.1")
        assert row.tie_dependent_pct <= row.tie_pct


def test_tie_resolutions_of_the_text_are_those_of_table_9(published: Published) -> None:
    """All ties lost = gold's unique tops; all ties won = those plus the tie-dependent (59.56, 78.33 − 59.56)."""
    prose = {(row.quantity, row.benchmark, row.model): row.value for row in published.prose}
    for row in published.scores:
        lowest = prose.get(("tie_resolution_min_accuracy", row.benchmark, row.model))
        highest = prose.get(("tie_resolution_max_accuracy", row.benchmark, row.model))
        if lowest is not None and highest is not None:
            assert f"{lowest:.1f}" == str(row.gold_unique_top_pct)
            assert f"{highest - lowest:.1f}" == str(row.tie_dependent_pct)


def test_repeats_never_count_more_correct_than_scored(published: Published) -> None:
    for row in published.repeats:
        assert all(right <= scored <= 100 for right, scored in zip(row.correct, row.scored, strict=True))
        assert row.identical <= 100


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "published"))


def test_a_missing_file_is_named(copy: Path) -> None:
    (copy / "ihs_scores.csv").unlink()
    with pytest.raises(DataError, match=r"ihs_scores\.csv is missing: restore"):
        load_published(copy)


@pytest.mark.parametrize(
    ("name", "before", "after", "message"),
    [
        ("delta_vs_direct.csv", "81.84", "much", r"delta_vs_direct\.csv, line 2: accuracy is 'much', no number"),
        ("delta_vs_direct.csv", "81.84", "NaN", r"line 2: accuracy is 'NaN', no number"),
        ("delta_vs_direct.csv", "81.84", "", r"line 2: column accuracy is missing or empty"),
        (
            "repeated_runs.csv",
            "100,100,100,100,100,81",
            "100,100,100,100,100,8.5",
            r"line 2: correct_0 is 8\.5, not a count",
        ),
        (
            "ihs_scores.csv",
            "margin_q3",
            "margin",
            r"ihs_scores\.csv has no column margin_q3 and has a column margin that is not known: its columns are",
        ),
    ],
)
def test_a_damaged_field_is_named_with_its_line(copy: Path, name: str, before: str, after: str, message: str) -> None:
    path = copy / name
    path.write_text(path.read_text(encoding="utf-8").replace(before, after, 1), encoding="utf-8", newline="\n")
    with pytest.raises(DataError, match=message):
        load_published(copy)


def test_one_known_file_is_enough_where_not_the_whole_is_wanted(copy: Path) -> None:
    for name in set(NAMES) - {"delta_vs_direct.csv"}:
        (copy / name).unlink()
    found = load_published(copy, whole=False)
    assert found.deltas == load_published(FOLDER).deltas
    assert (found.diagnostics, found.scores, found.repeats, found.local, found.prose) == ((), (), (), (), ())
    assert {claim.table for claim in claims(found)} == {"1", "2"}


def test_a_folder_without_a_known_file_is_told_which_there_are(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no file .*delta_vs_direct\.csv \(table, benchmark, .*, flip, rstd\)"):
        load_published(tmp_path, whole=False)
    (tmp_path / "delta_vs_drect.csv").write_text("table\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"holds delta_vs_drect\.csv, which is not known.*delta_vs_direct\.csv \(table"):
        load_published(tmp_path, whole=False)


def test_a_quantity_that_is_not_known_is_named(copy: Path) -> None:
    path = copy / "ihs_prose.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("relational_ihs", "relatonal_ihs", 1), encoding="utf-8")
    with pytest.raises(DataError, match=r"quantity 'relatonal_ihs_accuracy' is not known; it may be one of relational"):
        claims(load_published(copy))


def test_an_empty_flip_is_a_number_that_was_not_printed(copy: Path) -> None:
    path = copy / "delta_vs_direct.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("20.26,2.02", ",", 1), encoding="utf-8", newline="\n")
    row = load_published(copy).deltas[0]
    assert (str(row.accuracy), row.flip, row.rstd) == ("81.84", None, None)
    assert len(claims(load_published(copy))) == len(claims(load_published(FOLDER))) - 2


def test_a_file_that_is_not_text_is_refused(copy: Path) -> None:
    (copy / "ihs_prose.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=r"ihs_prose\.csv is no readable CSV file"):
        load_published(copy)
