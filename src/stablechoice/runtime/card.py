"""Asks the NVIDIA driver what it can do, without PyTorch: `python -m stablechoice.runtime.card`.

It speaks to the driver's own library, which the container toolkit puts into a container; the image holds none.
"""

from __future__ import annotations

import ctypes
import json
import sys
from dataclasses import asdict, dataclass

LIBRARY = "libcuda.so.1"
_NAME_BYTES = 256


@dataclass(frozen=True, slots=True)
class Cards:
    """What the driver says.

    Attributes:
        driver: newest CUDA version that it runs, as `major.minor`; None without a driver.
        names: of the cards, in the driver's order.
        error: the driver's own error number; 0 where it works or is missing.
    """

    driver: str | None
    names: tuple[str, ...] = ()
    error: int = 0

    @classmethod
    def parse(cls, text: str) -> Cards:
        """Read the line that this module prints.

        Raises:
            ValueError: it is another text.
        """
        read = json.loads(text)
        return cls(read["driver"], tuple(read["names"]), int(read["error"]))


def read() -> Cards:
    """Ask the driver of this machine or container."""
    try:
        cuda = ctypes.CDLL(LIBRARY)
    except OSError:
        return Cards(None)
    number = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(number))
    driver = f"{number.value // 1000}.{number.value % 1000 // 10}"
    if error := int(cuda.cuInit(0)):
        return Cards(driver, error=error)
    if error := int(cuda.cuDeviceGetCount(ctypes.byref(number))):
        return Cards(driver, error=error)
    name = ctypes.create_string_buffer(_NAME_BYTES)
    names = []
    for index in range(number.value):
        device = ctypes.c_int()
        cuda.cuDeviceGet(ctypes.byref(device), index)
        cuda.cuDeviceGetName(name, _NAME_BYTES, device)
        names.append(name.value.decode("utf-8", errors="replace"))
    return Cards(driver, tuple(names))


def lack(cards: Cards, needed: str) -> str | None:
    """Why the cards cannot run an image's CUDA, as a sentence; None where they can.

    Args:
        needed: the image's CUDA version, `major.minor`. A driver runs all of its own major version (CUDA's minor
            version compatibility) and everything older.
    """
    if cards.driver is None:
        return (
            "no NVIDIA driver reaches the container; see that `nvidia-smi` works and the NVIDIA container toolkit is "
            "installed, or take RUNTIME=cpu"
        )
    if int(cards.driver.split(".")[0]) < int(needed.split(".")[0]):
        return (
            f"the NVIDIA driver runs CUDA up to {cards.driver} and the image needs {needed}; update the driver, "
            "or take RUNTIME=cpu"
        )
    if cards.error:
        return f"the NVIDIA driver fails with its error {cards.error}; see what `nvidia-smi` says, or take RUNTIME=cpu"
    if not cards.names:
        return "the NVIDIA driver sees no GPU; see what `nvidia-smi` says, or take RUNTIME=cpu"
    return None


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asdict(read())) + "\n")
