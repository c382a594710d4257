"""The one command: what it leaves behind when it is killed, and what it says of a run that failed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stablechoice.cell_lock import alone
from stablechoice.cli import main
from tests.conftest import ROOT, environment

pytestmark = pytest.mark.pipeline

COMMAND = (sys.executable, "-m", "stablechoice", "reproduce", "study=small")


@pytest.fixture
def changed(committed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The finished study with another title of its model: every cell is to be made again."""
    root = tmp_path / "repository"
    shutil.copytree(committed, root, symlinks=True)
    path = root / "conf/model/simulated.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("title: Simulated", "title: Otherwise"), encoding="utf-8")
    monkeypatch.setenv("STABLECHOICE_ROOT", str(root))
    return root


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]


def lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def in_a_stage(process: subprocess.Popen[str]) -> list[int]:
    """Wait until a run is in the middle of a stage; its DVC's processes."""
    assert process.stdout is not None
    for line in process.stdout:
        if "generate-" in line:
            break
    dvc = children(process.pid)
    assert dvc
    return dvc


def test_a_killed_run_leaves_no_dvc_behind_and_the_next_one_goes_on(changed: Path) -> None:
    with subprocess.Popen(COMMAND, cwd=changed, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        dvc = in_a_stage(process)
        process.kill()
    until = time.monotonic() + 300
    while any(map(lives, dvc)) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(map(lives, dvc))
    done = subprocess.run(COMMAND, cwd=changed, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Otherwise" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_in_the_middle_of_a_stage_ends_dvc_and_the_stage_and_no_further_one_is_begun(
    changed: Path, number: signal.Signals
) -> None:
    """DVC itself ignores a Ctrl-C while a stage runs, and would go on to the next."""
    with subprocess.Popen(
        COMMAND, cwd=changed, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        dvc = in_a_stage(process)
        process.send_signal(number)
        _, said = process.communicate()
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith("stablechoice reproduce: interrupted; ")
    assert not any(map(lives, dvc))
    done = subprocess.run(COMMAND, cwd=changed, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "data/small/dvc.yaml:report" in done.stdout


def test_a_second_run_at_the_same_time_is_refused_in_one_line(changed: Path) -> None:
    with alone(changed):
        done = subprocess.run(COMMAND, cwd=changed, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "another run of this repository is at work" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_run_that_fails_does_not_show_the_tables_of_an_earlier_one_as_its_own(changed: Path) -> None:
    before = (changed / "data/small/tables/main.txt").read_text(encoding="utf-8")
    shutil.rmtree(changed / "src")
    shutil.copytree(ROOT / "src", changed / "src", ignore=shutil.ignore_patterns("__pycache__"))
    with (changed / "src/stablechoice/report/figures.py").open("a", encoding="utf-8") as file:
        file.write('\nraise SystemExit("no figures today")\n')
    own = {**environment(), "PYTHONPATH": str(changed / "src")}
    done = subprocess.run(COMMAND, cwd=changed, env=own, capture_output=True, text=True, check=False)
    assert "no figures today" in done.stdout
    assert done.returncode == 1
    assert before.strip() not in done.stdout
    assert "tables were not made anew (messages above)" in done.stdout


def test_an_edit_of_the_code_that_reads_answers_scores_again_and_asks_nothing(committed: Path, tmp_path: Path) -> None:
    root = tmp_path / "repository"
    shutil.copytree(committed, root, symlinks=True)
    own = {**environment(), "PYTHONPATH": str(root / "src"), "STABLECHOICE_ROOT": str(root)}

    def reproduce() -> str:
        done = subprocess.run(COMMAND, cwd=root, env=own, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    reproduce()
    assert "nothing to do" in reproduce()
    with (root / "src/stablechoice/reading/letter.py").open("a", encoding="utf-8") as file:
        file.write("\n# one more rule\n")
    said = reproduce()
    assert "data/code/dvc.yaml:reading" in said
    assert said.count(":score-") == 5
    assert "generate-" not in said


@pytest.mark.parametrize(
    ("there", "command"), [((), "git init && dvc init"), ((".dvc",), "git init"), ((".git",), "dvc init")]
)
def test_what_is_no_repository_is_told_what_alone_it_lacks(
    there: tuple[str, ...],
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An unpacked bundle has DVC's folder, in which `dvc init` would fail."""
    shutil.copytree(ROOT / "conf", tmp_path / "conf")
    for name in there:
        (tmp_path / name).mkdir()
    monkeypatch.setenv("STABLECHOICE_ROOT", str(tmp_path))
    assert main(["reproduce"]) == 1
    assert f"or run `{command}` there" in capsys.readouterr().err
