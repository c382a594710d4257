"""What can go wrong between this program and a container engine, as sentences that say what to do."""

from __future__ import annotations

from collections.abc import Iterator

from stablechoice.errors import StablechoiceError

_NATIVE = "or run natively: RUNTIME=native"
_TOOLKIT = "install the NVIDIA container toolkit on the engine's machine and restart the engine, or take RUNTIME=cpu"


class ContainerError(StablechoiceError):
    """The engine, an image or a container cannot do what was asked; a run inside it was not tried or was lost."""


def unreachable(error: BaseException, endpoint: str) -> str:
    """Why no engine answers at an address.

    Args:
        error: what docker-py raised while it connected.
        endpoint: the address, e.g. `unix:///var/run/docker.sock`.
    """
    causes = list(_causes(error))
    if any(isinstance(cause, PermissionError) for cause in causes):
        return (
            f"you may not use the Docker engine at {endpoint} (permission denied); join the group that owns the socket "
            f"and log in again, or use rootless Docker, {_NATIVE}"
        )
    if any(isinstance(cause, FileNotFoundError | ConnectionRefusedError) for cause in causes):
        return (
            f"no Docker engine answers at {endpoint}; start it (or install one), or point DOCKER_HOST at one that "
            f"runs, {_NATIVE}"
        )
    return f"the Docker engine at {endpoint} cannot be used ({_short(error)}); mend DOCKER_HOST, {_NATIVE}"


def explain(error: BaseException) -> str:
    """What the engine's refusal means, and what to do.

    Args:
        error: an error of docker-py, after the connection stood.
    """
    from docker.errors import ImageNotFound
    from requests.exceptions import ConnectionError as Disconnected
    from requests.exceptions import ReadTimeout
    from urllib3.exceptions import HTTPError

    said = str(getattr(error, "explanation", None) or error)
    if isinstance(error, ImageNotFound):
        return (
            f"the engine has no such image ({_words(said)}); run the same command again, which builds it, "
            "or load it with `docker load`"
        )
    for known, sentence in _REFUSALS:
        if known in said:
            return sentence.format(said=_words(said))
    if isinstance(error, Disconnected | ReadTimeout | ConnectionError | HTTPError):
        return (
            "the connection to the Docker engine broke; see whether it still runs (`docker version`), then run the "
            "same command again: what was answered is kept"
        )
    return f"the Docker engine refused ({_words(said)}); mend that, {_NATIVE}"


_REFUSALS = (
    (
        "could not select device driver",
        f"the engine can give no GPU to a container ({{said}}); {_TOOLKIT}",
    ),
    (
        "unresolvable CDI devices",
        f"the engine knows of no GPU ({{said}}); {_TOOLKIT}",
    ),
    (
        "unsatisfied condition",
        "the NVIDIA driver of this machine is too old for the image's CUDA ({said}); update the driver, "
        "or take RUNTIME=cpu",
    ),
    (
        "nvidia-container-cli",
        "the NVIDIA driver of this machine cannot be used ({said}); see that `nvidia-smi` works there, "
        "or take RUNTIME=cpu",
    ),
    (
        "bind source path does not exist",
        "the engine does not see this machine's folders ({said}); use an engine that runs on this very machine, "
        "or give Docker Desktop access to the folder (Settings, File sharing), " + _NATIVE,
    ),
    (
        "no space left on device",
        "the engine's disk is full ({said}); free space there, e.g. with `docker system prune`, "
        "and run the same command again",
    ),
)
"""Fragments of what engines say, the first that fits wins."""


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        # docker-py and requests keep the system's own error as an argument or a context, never as a cause alone.
        yield from (argument for argument in error.args if isinstance(argument, BaseException))
        error = error.__cause__ or error.__context__


def _words(text: str) -> str:
    return " ".join(text.split())[:300]


def _short(error: BaseException) -> str:
    return _words(str(error) or type(error).__name__)
