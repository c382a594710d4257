"""How PyTorch's threads wait for each other."""

from __future__ import annotations

import os


def wait_patiently() -> None:
    """Let idle OpenMP threads sleep instead of spin; call before the first import of torch.

    A decoding step has a thousand short parallel stretches. Threads that spin between them gain a little on an idle
    machine and lose almost everything on a shared one, where a spinning thread keeps the one that it waits for from
    running: measured six times slower beside four other processes on two cores. A value set by the user stands.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
