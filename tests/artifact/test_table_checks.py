"""Committed tables checked from their own counts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.table_checks import table_group


@pytest.fixture
def tables(root: Path, tmp_path: Path) -> Path:
    """The committed tables of the pocket study, to be altered."""
    for file in (root / "data/pocket/tables").glob("*.csv"):
        shutil.copy(file, tmp_path)
    return tmp_path


def test_the_committed_tables_follow_from_their_counts(tables: Path) -> None:
    group = table_group(tables)
    assert group.ok
    # Twelve strategies of two models on two benchmarks: accuracy, and eleven of them tested against Direct; a flip rate
    # but where an order plays no part or nothing can be compared; and the main table's rows.
    flips = sum("order_sensitivity" in check.what for check in group.checks)
    assert len(group.checks) == 4 * 12 + 4 * 11 + flips + 4 * 12
    assert 4 * 6 < flips < 4 * 12


def test_an_altered_number_is_named(tables: Path) -> None:
    path = tables / "accuracy_pocket_qa.csv"
    text = path.read_text(encoding="utf-8")
    header, first, *_ = text.splitlines()
    assert header.startswith("model,strategy,accuracy,")
    model, strategy, accuracy, *rest = first.split(",")
    altered = ",".join([model, strategy, str(float(accuracy) + 2), *rest])
    path.write_text(text.replace(first, altered), encoding="utf-8")
    group = table_group(tables)
    named = [f"accuracy_pocket_qa.csv: {model} · {strategy}", f"main.csv: PocketQA · {model} · {strategy}"]
    assert [check.what for check in group.wrong] == named
    assert not group.ok


@pytest.mark.parametrize(("column", "value"), [("accuracy", "60.0"), ("flip", "1.0")])
def test_an_altered_headline_is_named(tables: Path, column: str, value: str) -> None:
    path = tables / "main.csv"
    header, first, *rest = path.read_text(encoding="utf-8").splitlines()
    row = dict(zip(header.split(","), first.split(","), strict=True)) | {column: value}
    path.write_text("\n".join([header, ",".join(row.values()), *rest]) + "\n", encoding="utf-8")
    wrong = table_group(tables).wrong
    assert [check.what for check in wrong] == [f"main.csv: {row['benchmark']} · {row['model']} · {row['strategy']}"]


def test_missing_or_broken_tables_are_named(tables: Path) -> None:
    (tables / "mcnemar_pocket_qa.csv").write_text("model,strategy\nM,S\n", encoding="utf-8")
    with pytest.raises(BundleError, match=r"mcnemar_pocket_qa.csv: lacks the columns"):
        table_group(tables)
    for file in tables.glob("*.csv"):
        file.unlink()
    with pytest.raises(BundleError, match="restore the tables with git"):
        table_group(tables)
