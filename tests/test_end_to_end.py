"""The pocket study cut to a few questions, with the real model, through the product's own commands and DVC."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.conftest import copy_repository, environment

pytestmark = [pytest.mark.pipeline, pytest.mark.model]


def cut(root: Path) -> Path:
    """Six questions and four, answers of at most 12 tokens: minutes become seconds, the way stays the same."""
    edits = (
        ("benchmark/pocket_qa.yaml", "{3: 5, 4: 40, 5: 5}, relational: 3", "{3: 1, 4: 4, 5: 1}, relational: 1"),
        ("benchmark/pocket_qa.yaml", "repeat_count: 10", "repeat_count: 2"),
        ("benchmark/nonsense_qa.yaml", ": 50", ": 4"),
        ("benchmark/nonsense_qa.yaml", "repeat_count: 10", "repeat_count: 2"),
        ("decoding/pocket.yaml", "max_new_tokens: 32", "max_new_tokens: 12"),
        ("study/pocket.yaml", "resamples: 10000", "resamples: 500"),
    )
    for file, old, new in edits:
        path = root / "conf" / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new), encoding="utf-8")
    return root


def run(root: Path, *words: str, code: int = 0, **more: str) -> str:
    command = [words[0], *words[1:]]
    done = subprocess.run(command, cwd=root, env=environment(**more), capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


def digests(root: Path, *kinds: str) -> dict[str, str]:
    files = [f for kind in kinds for f in sorted((root / "data" / "pocket" / kind).rglob("*")) if f.is_file()]
    return {str(f.relative_to(root)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def cells(root: Path, model: str, benchmark: str) -> Path:
    return root / "data" / "pocket" / "pipeline" / model / benchmark


def locks(root: Path) -> list[Path]:
    """Of the study and of its cells."""
    return [root / "dvc.lock", *sorted((root / "data" / "pocket" / "pipeline").glob("*/*/dvc.lock"))]


RESULTS = ("generations", "observations", "tables", "figures", "report")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Converted weights are shared by the copies of this file; the first run converts them."""
    return str(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, models: str) -> Path:
    """A copy in which `stablechoice reproduce` has run undisturbed."""
    root = cut(copy_repository(tmp_path_factory.mktemp("done") / "repository"))
    said = run(root, "stablechoice", "reproduce", "study=pocket", STABLECHOICE_MODELS=models)
    assert "Main results" in said
    assert "report:  data/pocket/report/index.html" in said
    return root


def test_every_cell_has_observations_and_the_report_stands(done: Path) -> None:
    study = yaml.safe_load((done / "conf/study/pocket.yaml").read_text(encoding="utf-8"))
    observations = done / "data/pocket/observations"
    assert len(list(observations.glob("*/*/*.jsonl"))) == 2 * 2 * len(study["strategies"])
    assert len(list(observations.glob("*/*/repeats/*.jsonl"))) == 2 * 2 * 4 * 3  # strategies, repetitions
    assert (done / "data/pocket/report/index.html").stat().st_size > 10_000
    main = (done / "data/pocket/tables/main.csv").read_text(encoding="utf-8")
    assert "simulated" in main.lower()
    assert "not run" not in main


def test_run_again_it_does_nothing_and_says_so(done: Path, models: str) -> None:
    before = digests(done, *RESULTS)
    said = run(done, "stablechoice", "reproduce", "study=pocket", STABLECHOICE_MODELS=models)
    assert "nothing to do" in said
    assert digests(done, *RESULTS) == before


def test_provenance_stands_beside_each_cell_and_outside_git(done: Path) -> None:
    assert len(list((done / "data/pocket/provenance").rglob("cyclic.json"))) == 4
    assert "provenance" not in run(done, "git", "status", "--porcelain")


def test_nothing_that_is_versioned_names_this_machine(done: Path) -> None:
    for file in [*(done / "data/pocket").rglob("*.*"), *locks(done)]:
        if file.is_file() and "provenance" not in file.parts:
            assert str(done).encode() not in file.read_bytes(), file


def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(done: Path, models: str, tmp_path: Path) -> None:
    root = cut(copy_repository(tmp_path / "repository"))
    command = ["stablechoice", "reproduce", "study=pocket"]
    settings = environment(STABLECHOICE_MODELS=models)
    killed = 0
    for _ in range(3):
        with (tmp_path / "log").open("ab") as log:
            process = subprocess.Popen(command, cwd=root, env=settings, stdout=log, stderr=log, start_new_session=True)
        # The journal grows while the model answers: kill in the middle of that, without a chance to clean up.
        before = answers(root)
        deadline = time.monotonic() + 300
        while process.poll() is None and answers(root) < before + 20 and time.monotonic() < deadline:
            time.sleep(0.05)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            killed += 1
        process.wait()
    assert killed >= 2, (tmp_path / "log").read_text(encoding="utf-8")
    run(root, *command, STABLECHOICE_MODELS=models)
    assert digests(root, *RESULTS) == digests(done, *RESULTS)
    assert [lock.read_bytes() for lock in locks(root)] == [lock.read_bytes() for lock in locks(done)]


def answers(root: Path) -> int:
    """Answers that are safe in the journal."""
    path = root / ".journal" / "answers.sqlite"
    if not path.is_file():
        return 0
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as journal:
        try:
            return int(journal.execute("SELECT count(*) FROM answers").fetchone()[0])
        except sqlite3.OperationalError:  # its tables are being made at this moment
            return 0


@contextlib.contextmanager
def edited(path: Path, pattern: str, new: str) -> Iterator[None]:
    original = path.read_text(encoding="utf-8")
    changed = re.sub(pattern, new, original)
    assert changed != original
    path.write_text(changed, encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(original, encoding="utf-8")


def test_editing_a_strategy_reruns_exactly_its_cells_and_what_hangs_on_them(done: Path, models: str) -> None:
    with edited(done / "conf/strategy/two_stage.yaml", r"(?m)^title: .*$", "title: Two-stage (edited)"):
        said = run(done, "dvc", "repro", STABLECHOICE_MODELS=models)
        ran = set(re.findall(r"Running stage '([^']+)'", said))
        files = [str(lock.with_name("dvc.yaml").relative_to(done)) for lock in locks(done)[1:]]
        assert len(files) == 4
        stages = ("generate-two_stage", "score-two_stage", "score-hidden_semantic", "generate-repeats", "score-repeats")
        assert ran == {"analyse", "report"} | {f"{file}:{stage}" for stage in stages for file in files}
        assert "Two-stage (edited)" in (done / "data/pocket/tables/main.csv").read_text(encoding="utf-8")
    # The product's own command sees an edit far upstream of the report, too.
    said = run(done, "stablechoice", "reproduce", "study=pocket", STABLECHOICE_MODELS=models)
    assert "nothing to do" not in said
    assert "Two-stage (edited)" not in (done / "data/pocket/tables/main.csv").read_text(encoding="utf-8")


def test_a_comment_in_a_configuration_reruns_nothing(done: Path, models: str) -> None:
    with edited(done / "conf/strategy/two_stage.yaml", r"\A", "# one more word\n"):
        assert "Running stage" not in run(done, "dvc", "repro", STABLECHOICE_MODELS=models)


@pytest.mark.parametrize(
    ("pattern", "new"),
    [
        (r"/decoding@decoding: pocket", "/decoding@decoding: abcd"),
        (r"strategies: \[direct, ", "strategies: [cyclic_averaged, direct, "),
    ],
)
def test_a_study_of_other_settings_than_its_pipeline_is_refused_and_its_tables_stay(
    done: Path, models: str, pattern: str, new: str
) -> None:
    """DVC alone would call the old answers up to date, and tables would name settings that produced none of them."""
    before = digests(done, "tables", "figures")
    with edited(done / "conf/study/pocket.yaml", pattern, new):
        said = run(done, "dvc", "repro", code=255, STABLECHOICE_MODELS=models)
        assert "not what conf/ describes; run `make pipeline`" in said
        assert digests(done, "tables", "figures") == before
    assert "Running stage" not in run(done, "dvc", "repro", STABLECHOICE_MODELS=models)


def test_each_stage_reads_only_what_dvc_knows_that_it_reads(done: Path) -> None:
    """A file that a stage opens and DVC does not list would leave stale results behind after an edit."""
    files = (done, cells(done, "simulated", "pocket_qa"))
    lock = {k: s for f in files for k, s in yaml.safe_load((f / "dvc.lock").read_text("utf-8"))["stages"].items()}
    watched = "import sys\nfrom stablechoice.cli import main\nopened = set()\n"
    watched += "sys.addaudithook(lambda e, a: opened.add(str(a[0])) if e == 'open' else None)\n"
    watched += "code = main(sys.argv[1:])\nprint(*sorted(opened), sep='\\n')\nsys.exit(code)\n"
    for name in ("score-visible_semantic", "score-direct", "score-repeats", "analyse", "report"):
        stage = lock[name]
        words = stage["cmd"].split()[1:]
        opened = [
            Path(line) for line in run(done, "python", "-c", watched, *words).splitlines() if line.startswith(str(done))
        ]
        listed = [done / dep["path"] for dep in stage["deps"]] + [done / file for file in stage["params"]]
        listed += [done / out["path"] for out in stage["outs"]]
        for path in opened:
            inside = path.relative_to(done)
            # A whole bundle of prompts is read; of those, the ones that a strategy names are listed. What a run took
            # goes from one side file into another, and into no result. Of a model, reading uses the identity alone,
            # which stands in the command.
            if (
                inside.parts[0] in ("conf", "data")
                and path.is_file()
                and inside.parts[1] not in ("config.yaml", "prompt")
                and not (name.startswith("score-") and inside.parts[1] in ("model", "engine", "limits"))
                and "provenance" not in inside.parts
            ):
                assert any(path == one or one in path.parents for one in listed), (
                    f"{name} reads {inside}, which DVC does not list"
                )


def test_generations_that_were_not_asked_like_this_are_refused(done: Path) -> None:
    file = done / "data/pocket/generations/simulated/pocket_qa/cyclic.jsonl"
    original = file.read_bytes()
    file.unlink()  # DVC may have linked it to its cache: never write through
    file.write_bytes(original.replace(b"Respond with only the letter.", b"Respond with a letter please.", 1))
    try:
        words = ("study=pocket", "model=simulated", "benchmark=pocket_qa", "strategy=cyclic")
        said = run(done, "stablechoice", "score", *words, code=1)
        assert re.search(r"question [0-9a-f]{16}, step direct_mcq, rotation \d", said)
    finally:
        file.unlink()
        file.write_bytes(original)


def test_two_runs_of_one_cell_at_once_are_refused(done: Path) -> None:
    from stablechoice.cell_lock import CellLock
    from stablechoice.cell_name import CellName

    words = ("study=pocket", "model=simulated", "benchmark=pocket_qa", "strategy=cyclic")
    with CellLock(done / ".journal" / "locks", "pocket", CellName("simulated", "pocket_qa", "cyclic")):
        said = run(done, "stablechoice", "generate", *words, code=1)
    assert str(os.getpid()) in said
