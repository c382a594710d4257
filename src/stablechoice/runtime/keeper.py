"""Ends a server once the run that started it is gone: `python keeper.py GROUP`, its standard input held by the run.

A process of its own, since in a run that is killed nothing of ours runs any more, and the kernel's death signal reaches
the server's first process alone, not its workers. It imports nothing of ours, so that it is there in milliseconds.
"""

import contextlib
import os
import signal
import sys
import time

GRACE_SECONDS = 30.0
ENDED = b"x"
"""What the run writes when it has ended the server itself."""


def main(group: int) -> None:
    """Wait for the run's end; unless it says that all is done, end the group of processes."""
    if sys.stdin.buffer.read(1) == ENDED:
        return
    for number, patience in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, 0.0)):
        deadline = time.monotonic() + patience
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
            while time.monotonic() < deadline:
                os.killpg(group, 0)
                time.sleep(0.05)


if __name__ == "__main__":
    main(int(sys.argv[1]))
