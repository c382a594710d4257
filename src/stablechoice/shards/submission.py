"""Hand shards to submitit: a SLURM job array, or processes of this machine."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stablechoice.errors import ConfigError
from stablechoice.shards.failure import ShardError
from stablechoice.shards.launcher import Launcher
from stablechoice.shards.task import Task

_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Submitted:
    """A task under way.

    Attributes:
        job: SLURM's or submitit's id.
        log: what it says, standard error.
    """

    task: Task
    job: str
    log: Path
    handle: Any


def submit(launcher: Launcher, tasks: Sequence[Task], folder: Path) -> list[Submitted]:
    """Start tasks, as one job array where a cluster has such.

    Args:
        folder: for job files and logs; every node sees it.

    Raises:
        ConfigError: a parameter that submitit refuses, or this is no machine of a SLURM cluster.
        ShardError: SLURM refuses the jobs; its own words say why.
    """
    import submitit
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    where = f"conf/hydra/launcher/{launcher.name}.yaml"
    limits = {f"{launcher.cluster}_max_num_timeout": launcher.max_num_timeout}
    try:
        executor = submitit.AutoExecutor(folder=folder, cluster=launcher.cluster, **limits)
        executor.update_parameters(**launcher.submitit)
    except RuntimeError as error:
        raise ConfigError(
            f"{where}: {error} This machine has no SLURM commands; launch on a login node of the cluster, or with "
            "hydra/launcher=local"
        ) from error
    except (TypeError, ValueError, NameError) as error:
        raise ConfigError(f"{where}: {' '.join(str(error).split())}") from error
    try:
        with executor.batch():
            jobs = [executor.submit(task) for task in tasks]
    except (FailedJobError, FailedSubmissionError, subprocess.CalledProcessError, OSError) as error:
        raise ShardError(
            f"{where}: the jobs were not accepted: {_said(error)}; mend partition, account, limits or the "
            "controller, and launch again"
        ) from error
    return [Submitted(task, job.job_id, job.paths.stderr, job) for task, job in zip(tasks, jobs, strict=True)]


def _said(error: Exception) -> str:
    """What sbatch printed, in one line."""
    parts = [str(error), *(str(getattr(error, name, "") or "") for name in ("stderr", "output"))]
    return " ".join(" ".join(parts).split())


def wait(launcher: Launcher, submitted: Sequence[Submitted]) -> None:
    """Wait until no task is running or queued. What they have done stands in the shared folder.

    Raises:
        KeyboardInterrupt: Ctrl-C; tasks of a cluster go on, those of this machine end with the terminal's signal.
    """
    if launcher.cluster == "local":
        while not all(one.handle.done() for one in submitted):
            time.sleep(_POLL_SECONDS / 5)
        return
    jobs = ",".join(dict.fromkeys(one.job.partition("_")[0] for one in submitted))
    while _queued(jobs):
        time.sleep(_POLL_SECONDS)


def _queued(jobs: str) -> bool:
    """Whether SLURM still has one of some jobs; it forgets ended ones, and one that does not answer is waited for."""
    done = subprocess.run(
        ["squeue", "--noheader", f"--jobs={jobs}", "--format=%T"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return "Invalid job id" not in done.stderr
    return any(line.strip() for line in done.stdout.splitlines())
