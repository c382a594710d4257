"""A study on a real SLURM, two nodes on this machine: whatever ends a shard, it goes on, and the bytes are the same."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stablechoice.shards.manifest import Manifest
from tests.shards.small_study import asked, generated, ran, repository

SCRIPT = Path(__file__).with_name("cluster.sh")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol")
SECONDS = 900.0

_LACKING = [name for name in PROGRAMS if shutil.which(name) is None]

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(os.geteuid() != 0, reason="starting SLURM's daemons needs root"),
    pytest.mark.skipif(bool(_LACKING), reason=f"{', '.join(_LACKING)} missing: apt-get install slurm-wlm munge"),
    pytest.mark.skipif(importlib.util.find_spec("submitit") is None, reason="pip install hydra-submitit-launcher"),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("slurm")
    # Files and no pipes: the daemons would keep those open.
    with (folder / "said").open("w") as said:
        done = subprocess.run(["bash", str(SCRIPT), "start", str(folder)], stdout=said, stderr=said, check=False)
    try:
        if done.returncode != 0:
            pytest.skip(f"SLURM cannot be started here: {(folder / 'said').read_text('utf-8').strip()}")
        yield folder
    finally:
        subprocess.run(["bash", str(SCRIPT), "stop", str(folder)], check=False)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What one machine makes of the study."""
    root = repository(tmp_path_factory.mktemp("one") / "repository")
    ran(root, "answer", "study=small")
    return generated(root)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose shards do not come to their ends before they are let."""
    return repository(tmp_path / "repository", gate=gate(tmp_path / "repository"))


def gate(root: Path) -> Path:
    """The file that lets the shards of a repository go on to their ends."""
    return root.parent / "gate"


def slurm(cluster: Path, *command: str) -> str:
    environment = {**os.environ, "SLURM_CONF": str(cluster / "slurm.conf")}
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def launch(cluster: Path, root: Path, *words: str, code: int = 0) -> str:
    keys = ("hydra.launcher.mem_gb=null", "hydra.launcher.cpus_per_task=1", "hydra.launcher.copy_minutes=0.02")
    own = ("launch", "study=small", "shards=3", "hydra/launcher=slurm", *keys)
    scratch = f"hydra.launcher.scratch='{root.parent}/$SLURMD_NODENAME'"
    return ran(root, *own, scratch, *words, code=code, SLURM_CONF=str(cluster / "slurm.conf"))


def until(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def shard(root: Path, number: int) -> list[Manifest]:
    folder = root / f".shards/small/_all/3/shard-{number}"
    return [Manifest.read(path) for path in sorted(folder.glob("*.json"))]


def job_of(said: str, number: int) -> str:
    (found,) = re.findall(rf"shard {number} of 3: job (\w+),", said)
    return str(found)


def ended(cluster: Path) -> bool:
    return not slurm(cluster, "squeue", "--noheader").strip()


def logs(root: Path) -> str:
    return "".join(path.read_text("utf-8") for path in sorted((root / ".shards").rglob("*_log.*")))


def test_an_array_of_shards_makes_the_bytes_of_one_machine(
    cluster: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    root = repository(tmp_path / "repository")
    said = launch(cluster, root, "wait=1")
    assert {job_of(said, n).partition("_")[2] for n in (1, 2, 3)} == {"0", "1", "2"}
    (requests,) = re.findall(r"(\d+) requests,", ran(root, "merge", "study=small"))
    # A request that several cells share is asked once, so that fewer are asked than cells have.
    assert 0 < asked(logs(root)) < int(requests)
    assert asked(ran(root, "answer", "study=small")) == 0
    assert generated(root) == expected
    assert "3 are complete, 0 to run" in launch(cluster, root)


def test_a_launch_beside_one_that_is_running_queues_nothing_twice(cluster: Path, root: Path) -> None:
    said = launch(cluster, root)
    until(lambda: shard(root, 1), "no first copy")
    again = launch(cluster, root)
    assert "0 are complete, 3 under way, 0 to run" in again
    for number in (1, 2, 3):
        assert f"shard {number} of 3: job {job_of(said, number)} is still running or queued" in again
    slurm(cluster, "scancel", job_of(said, 1).partition("_")[0])
    until(lambda: ended(cluster), "the jobs do not end")
    assert "0 are complete, 3 to run" in launch(cluster, root)
    slurm(cluster, "scancel", "--me")
    until(lambda: ended(cluster), "the jobs do not end")


def test_more_shards_than_slurm_takes_in_an_array_are_refused_in_its_words(cluster: Path, root: Path) -> None:
    said = launch(cluster, root, "shards=2000", code=1)
    assert "conf/hydra/launcher/slurm.yaml: the jobs were not accepted: " in said
    assert "Invalid job array specification" in said
    assert ended(cluster)


def test_a_shard_that_was_cancelled_goes_on_when_it_is_launched_again(
    cluster: Path, expected: dict[str, str], root: Path
) -> None:
    said = launch(cluster, root)
    until(lambda: shard(root, 2), "no first copy")
    slurm(cluster, "scancel", job_of(said, 2))
    until(lambda: shard(root, 2)[0].ended, "the cancelled shard does not end")
    gate(root).touch()
    until(lambda: ended(cluster), "the jobs do not end")
    (manifest,) = shard(root, 2)
    assert not manifest.complete
    assert manifest.ended == "stopped by SIGTERM"
    refused = ran(root, "merge", "study=small", code=1)
    assert "shard 2 of 3: cell" in refused
    assert "Its last run ended: stopped by SIGTERM. Launch the study again" in refused
    again = launch(cluster, root, "wait=1")
    assert "2 are complete, 1 to run" in again
    ran(root, "merge", "study=small")
    assert generated(root) == expected
    # What the cancelled run had answered was not asked a second time.
    (reference,) = shard(root, 2)
    assert reference.continues == (manifest.run,)
    assert f"{manifest.answered + manifest.failed} responses are there already, of 1 earlier runs" in logs(root)


def test_a_shard_whose_time_is_up_is_queued_again_and_goes_on(
    cluster: Path, expected: dict[str, str], root: Path
) -> None:
    # The warning comes in the middle of the only minute.
    launch(cluster, root, "hydra.launcher.timeout_min=1", "hydra.launcher.signal_delay_s=30")
    said_of_time = ("Caught signal SIGUSR2", "Requeued job", "not complete (stopped by SIGUSR2)")
    until(lambda: all(words in logs(root) for words in said_of_time), "no shard is queued again")
    gate(root).touch()
    until(lambda: ended(cluster), "the jobs do not end")
    ran(root, "merge", "study=small")
    assert generated(root) == expected


def test_a_shard_whose_node_is_lost_goes_on_on_the_other_one(
    cluster: Path, expected: dict[str, str], root: Path
) -> None:
    launch(cluster, root)
    until(lambda: all(shard(root, n) for n in (1, 2, 3)), "no first copies")
    lost = [one.part for n in (1, 2, 3) for one in shard(root, n) if one.node == "n2" and not one.complete]
    assert lost
    subprocess.run(["bash", str(SCRIPT), "lose", str(cluster), "n2"], check=True)
    slurm(cluster, "scontrol", "update", "nodename=n2", "state=down", "reason=lost")
    gate(root).touch()
    # The disk of a lost node is lost with it.
    shutil.rmtree(root.parent / "n2")
    try:
        until(lambda: ended(cluster), "the jobs do not end")
    finally:
        subprocess.run(["bash", str(SCRIPT), "node", str(cluster), "n2"], check=True)
    for part in lost:
        (manifest,) = shard(root, int(part.partition("/")[0]))
        assert (manifest.node, manifest.complete, len(manifest.continues)) == ("n1", True, 1)
    ran(root, "merge", "study=small")
    assert generated(root) == expected


def test_a_shard_that_is_preempted_goes_on_when_the_nodes_are_free(
    cluster: Path, expected: dict[str, str], root: Path
) -> None:
    launch(cluster, root)
    until(lambda: all(shard(root, n) for n in (1, 2, 3)), "no first copies")
    for _ in ("n1", "n2"):
        slurm(cluster, "sbatch", "--partition=urgent", "--ntasks=2", "--output=/dev/null", "--wrap=sleep 1")
    # The second job may find room that the first one made: one shard is preempted at least.
    until(lambda: any(one.ended or one.continues for n in (1, 2, 3) for one in shard(root, n)), "none is preempted")
    gate(root).touch()
    until(lambda: ended(cluster), "the jobs do not end")
    assert any(one.continues for n in (1, 2, 3) for one in shard(root, n))
    ran(root, "merge", "study=small")
    assert generated(root) == expected
