"""Which job or process a shard was given to at its last launch, and whether that is still under way."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from stablechoice.durable import write_whole
from stablechoice.shards.failure import ShardError


@dataclass(frozen=True, slots=True)
class Started:
    """One shard's job.

    Attributes:
        job: SLURM's id, `123_4` in an array; of a process of this machine, its number.
        node: machine of a process; empty for a SLURM job.
        began: when a process began, in ticks since the machine was started: tells it from a later one of its number.
    """

    job: str
    node: str = ""
    began: str = ""

    @classmethod
    def process(cls, number: str) -> Started:
        """A process of this machine."""
        return cls(number, socket.gethostname(), _began(number))

    @property
    def words(self) -> str:
        return f"process {self.job} on {self.node}" if self.node else f"job {self.job}"


def read(path: Path) -> dict[str, Started]:
    """What was started, by shard (`3/8`); nothing where there is no such file.

    Raises:
        ShardError: it is damaged.
    """
    try:
        return {part: Started(**values) for part, values in orjson.loads(path.read_bytes()).items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ShardError(
            f"{path}: cannot be read ({error}); see with `squeue` or `ps` that no shard is running, and remove it"
        ) from error


def write(path: Path, started: Mapping[str, Started]) -> None:
    """Put down what was started.

    Raises:
        DataError: the disk refuses.
    """
    values = {part: asdict(one) for part, one in started.items()}
    layout = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    write_whole(path, orjson.dumps(values, option=layout))


def under_way(started: Mapping[str, Started]) -> dict[str, Started]:
    """Those that are running or queued; of a process of another machine nothing is known, and it does not count.

    Raises:
        ShardError: SLURM does not answer.
    """
    queued = _queued(one.job for one in started.values() if not one.node)
    here = socket.gethostname()
    return {
        part: one
        for part, one in started.items()
        if (one.node == here and one.began and _began(one.job) == one.began) or (not one.node and one.job in queued)
    }


def _queued(jobs: Iterable[str]) -> set[str]:
    """Ids of SLURM's jobs that are running or queued, of the arrays of some jobs; none on a machine without SLURM."""
    found: set[str] = set()
    for array in dict.fromkeys(job.partition("_")[0] for job in jobs):
        command = ["squeue", "--noheader", "--array", f"--jobs={array}", "--format=%i"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            return set()
        if done.returncode == 0:
            found |= set(done.stdout.split())
        elif "Invalid job id" not in done.stderr:
            raise ShardError(
                f"squeue: does not say whether job {array} of an earlier launch is still running "
                f"({' '.join(done.stderr.split())}); launch again when it answers"
            )
    return found


def _began(number: str) -> str:
    """When a process began; empty where none of that number is running."""
    try:
        # The second field, the name in brackets, may itself hold spaces and brackets.
        fields = Path(f"/proc/{number}/stat").read_text("utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in ("Z", "X") else fields[19]
