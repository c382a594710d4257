"""Verifying a bundle: what is recomputed, and everything that is named and refused."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from stablechoice.artifact.archive import pack
from stablechoice.artifact.cache import place
from stablechoice.artifact.member import Member
from stablechoice.cli import main
from tests.stages.small_bundle import edit, remade
from tests.stages.small_run import BENCHMARK, MODEL

pytestmark = pytest.mark.pipeline

Change = Callable[[Path], None]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another machine: no repository around, none named."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.delenv("STABLECHOICE_ROOT", raising=False)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def copy(bundle: Path, elsewhere: Path) -> Path:
    return Path(shutil.copy(bundle, elsewhere))


def verified(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["verify", f"bundle={path}", *words])
    said = capsys.readouterr()
    return code, said.out + said.err


def stored(root: Path, path: str) -> Path:
    """The object behind a path of the repository, in an unpacked bundle."""
    for lock in (root / "source").rglob("dvc.lock"):
        for stage in yaml.safe_load(lock.read_text(encoding="utf-8"))["stages"].values():
            for out in stage.get("outs", []):
                if out["path"] == path:
                    return root / "cache" / place(out["md5"])
    raise AssertionError(path)


def replace_object(root: Path, path: str, change: Callable[[bytes], bytes]) -> None:
    """Alter what is stored for a path, and everything that names it: nothing but the numbers can tell."""
    before = stored(root, path)
    old = before.read_bytes()
    new = change(old)
    assert new != old
    digests = [hashlib.md5(data, usedforsecurity=False).hexdigest() for data in (old, new)]
    before.unlink()
    after = root / "cache" / place(digests[1])
    after.parent.mkdir(parents=True, exist_ok=True)
    after.write_bytes(new)
    for lock in (root / "source").rglob("dvc.lock"):
        lock.write_text(lock.read_text(encoding="utf-8").replace(*digests), encoding="utf-8")


def generations(strategy: str) -> str:
    return f"data/small/generations/{MODEL}/{BENCHMARK}/{strategy}.jsonl"


def observations(strategy: str) -> str:
    return f"data/small/observations/{MODEL}/{BENCHMARK}/{strategy}.jsonl"


def test_a_whole_bundle_is_reproduced_in_every_number(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = verified(copy, capsys)
    assert code == 0, said
    assert re.search(r"^REPRODUCED: (\d+) of \1 numbers and files equal\.$", said, re.MULTILINE)
    assert "read again: 5 cells from their stored answers" in said
    assert "level recompute" in said
    summary = json.loads(copy.with_name(copy.name.replace(".tar.gz", ".verify.json")).read_text(encoding="utf-8"))
    assert summary["exit_code"] == 0
    assert len(summary["rescored"]) == 5
    rows = list(csv.DictReader(copy.with_name(copy.name.replace(".tar.gz", ".verify.csv")).open(encoding="utf-8")))
    assert len(rows) > 500
    assert {row["verdict"] for row in rows} == {"equal"}
    assert {"main.csv", "metrics.json", "mcnemar_pocket_qa.csv"} <= {row["file"] for row in rows}


def test_nothing_but_the_two_files_is_left_behind_and_no_variable_changed(
    copy: Path, elsewhere: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("STABLECHOICE_MODELS", "models of mine")
    before = dict(os.environ)
    verified(copy, capsys)
    assert dict(os.environ) == before
    stem = copy.name.removesuffix(".tar.gz")
    assert {f.name for f in elsewhere.iterdir()} == {copy.name, f"{stem}.verify.csv", f"{stem}.verify.json"}


def test_both_commits_are_printed(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, said = verified(copy, capsys)
    assert f"bundle's commit:  {copy.name.removesuffix('.tar.gz')[-12:]}" in said
    assert "this program's:" in said


def test_a_tampered_answer_is_refused_by_its_hash(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(root: Path) -> None:
        path = stored(root, generations("cyclic"))
        path.write_bytes(path.read_bytes().replace(b'"text":"', b'"text":"A', 1))

    code, said = verified(remade(bundle, tmp_path, change, relist=False), capsys)
    assert code == 1
    assert re.search(r"members do not match SHA256SUMS: 1 altered \(cache/files/md5/", said)


def test_with_a_new_list_of_checksums_dvcs_own_hash_refuses_it(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(root: Path) -> None:
        path = stored(root, generations("cyclic"))
        path.write_bytes(path.read_bytes().replace(b'"text":"', b'"text":"A', 1))

    code, said = verified(remade(bundle, tmp_path, change), capsys)
    assert code == 1
    assert f"{generations('cyclic')}: its object" in said
    assert "is altered" in said


def test_with_all_hashes_made_anew_the_numbers_tell(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def swapped(data: bytes) -> bytes:
        return re.sub(rb'"text":"[^"]*"', b'"text":"A"', data)

    path = remade(bundle, tmp_path, lambda root: replace_object(root, generations("cyclic"), swapped))
    code, said = verified(path, capsys)
    assert code == 1
    assert "NOT REPRODUCED" in said
    assert re.search(rf"altered:  {MODEL}/{BENCHMARK}/direct: \d+ stored observations", said)
    assert re.search(r"differs: \S+.csv · .* · accuracy: expected [\d.]+, got [\d.]+ \([+-][\d.]+\)", said)


def test_an_altered_prompt_is_refused_though_every_hash_fits(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def reworded(data: bytes) -> bytes:
        return data.replace(b"Respond with only the letter.", b"Respond with a letter, please.", 1)

    path = remade(bundle, tmp_path, lambda root: replace_object(root, generations("cyclic"), reworded))
    code, said = verified(path, capsys)
    assert code == 1
    assert "differs from the recorded one at character" in said


def test_a_tampered_table_is_told_by_how_much(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def change(root: Path) -> None:
        path = root / "source/data/small/tables/main.csv"
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        rows[1][3] = repr(float(rows[1][3]) + 10)
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)

    code, said = verified(remade(bundle, tmp_path, change), capsys)
    assert code == 1
    assert re.search(r"NOT REPRODUCED: \d+ of \d+ numbers and files equal, 1 not\.", said)
    assert re.search(r"differs: main.csv · .* · accuracy: expected \S+, got \S+ \(-10\)", said)


def test_a_table_that_is_gone_or_new_is_told(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def change(root: Path) -> None:
        folder = root / "source/data/small/tables"
        (folder / "main.csv").unlink()
        (folder / "more.csv").write_text("a\n1\n", encoding="utf-8")

    code, said = verified(remade(bundle, tmp_path, change), capsys)
    assert code == 1
    assert "additional: main.csv" in said
    assert "missing: more.csv" in said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda root: (root / "source/Makefile").unlink(), "1 missing (source/Makefile)"),
        (lambda root: (root / "source/Makefile").write_text("x", encoding="utf-8"), "1 altered (source/Makefile)"),
        (lambda root: (root / "source/more").write_text("x", encoding="utf-8"), "1 additional (source/more)"),
        (lambda root: (root / "SHA256SUMS").unlink(), "has no SHA256SUMS"),
        (lambda root: (root / "bundle.json").unlink(), "has no bundle.json"),
        (lambda root: (root / "CITATION.cff").unlink(), "has no CITATION.cff"),
    ],
    ids=["missing", "altered", "additional", "no list", "no inventory", "no citation"],
)
def test_a_member_that_is_missing_altered_or_additional_is_named(
    change: Change, words: str, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = verified(remade_unlisted(bundle, tmp_path, change), capsys)
    assert code == 1
    assert words in said


def remade_unlisted(bundle: Path, tmp_path: Path, change: Change) -> Path:
    return remade(bundle, tmp_path, change, relist=False)


def test_a_truncated_archive_is_refused(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy.write_bytes(copy.read_bytes()[:-1000])
    code, said = verified(copy, capsys)
    assert code == 1
    assert "cut off" in said


def test_another_sha256_than_the_one_given_or_beside_it_is_refused(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    digest = hashlib.sha256(copy.read_bytes()).hexdigest()
    code, said = verified(copy, capsys, "sha256=" + "0" * 64)
    assert (code, "the one given is 000" in said) == (1, True)
    copy.with_name(f"{copy.name}.sha256").write_text(f"{digest[::-1]}  {copy.name}\n", encoding="utf-8")
    code, said = verified(copy, capsys, f"sha256={digest.upper()}")
    assert (code, f"the one in {copy.name}.sha256" in said) == (1, True)


def test_an_unfinished_cell_is_named(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def change(root: Path) -> None:
        edit(root / "source/conf/study/small.yaml", "hypothesis]", "hypothesis, reasoning_cyclic]")

    code, said = verified(remade(bundle, tmp_path, change), capsys)
    assert code == 1
    assert "study small is unfinished" in said
    assert f"observations of {MODEL} × {BENCHMARK} × reasoning_cyclic" in said


def test_another_version_than_the_locked_one_is_named_and_reserved(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(root: Path) -> None:
        lock = root / "source/requirements/cpu.lock"
        lock.write_text(re.sub(r"(?m)^scipy==\S+", "scipy==0.0.1", lock.read_text(encoding="utf-8")), encoding="utf-8")

    code, said = verified(remade(bundle, tmp_path, change), capsys)
    assert code == 3
    assert re.search(r"^environment: scipy \S+ \(locked: 0\.0\.1\)$", said, re.MULTILINE)
    assert "REPRODUCED WITH RESERVATIONS" in said
    assert "the environment is not the locked one" in said


def test_an_archive_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.tar.gz"
    pack(path, "other", [Member("file", b"x")], 0)
    code, said = verified(path, capsys)
    assert code == 1
    assert "it is no bundle of stablechoice" in said


@pytest.mark.parametrize("limit", ["0", "-1", "much", "nan", "inf"])
def test_a_limit_that_is_none_is_refused(limit: str, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, said = verified(copy, capsys, f"limit={limit}")
    assert code == 1
    assert f"limit={limit}: must be a number of GiB" in said


def test_a_bundle_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify"]) == 1
    assert "make verify BUNDLE=" in capsys.readouterr().err
    assert main(["verify", "bundle=none.tar.gz"]) == 1
    assert "none.tar.gz: no such bundle" in capsys.readouterr().err


def _foreign(root: Path) -> None:
    edit(root / "source/conf/strategy/cyclic.yaml", "stablechoice.strategies.cyclic.Cyclic", "os.system")


def _strategy(root: Path) -> None:
    (root / "source/conf/strategy/direct.yaml").write_text(
        "_target_: stablechoice.cli.main\narguments: [doctor]\n", encoding="utf-8"
    )


def _reader(root: Path) -> None:
    path = root / f"source/conf/benchmark/{BENCHMARK}.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "reader: runpy.run_path\n", encoding="utf-8")


def _matcher(root: Path) -> None:
    path = root / "source/conf/strategy/two_stage.yaml"
    text = re.sub(r"^matcher_model:.*$", "matcher_model: other", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    path.write_text(text, encoding="utf-8")
    model = root / "source/conf/model/simulated.yaml"
    engine = model.read_text(encoding="utf-8") + "engine:\n  _target_: stablechoice.cli.main\n"
    (root / "source/conf/model/other.yaml").write_text(engine, encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_foreign, "conf/strategy/cyclic.yaml: _target_ 'os.system'"),
        (_strategy, "conf/strategy/direct.yaml: _target_ 'stablechoice.cli.main'"),
        (_reader, f"conf/benchmark/{BENCHMARK}.yaml: reader 'runpy.run_path'"),
        (_matcher, "conf/model/other.yaml: _target_ 'stablechoice.cli.main'"),
    ],
)
def test_a_bundle_that_would_run_other_code_is_refused_before_it_does(
    bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Callable[[Path], None], named: str
) -> None:
    code, said = verified(remade(bundle, tmp_path, change), capsys)
    assert code == 1
    assert named in said
    assert "a bundle that would run other code is not verified" in said
