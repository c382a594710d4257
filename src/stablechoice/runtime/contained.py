"""`reproduce` in a container: the same command, in the pinned image, on the caller's files."""

from __future__ import annotations

import hashlib
import io
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from stablechoice.engines.hub import snapshot
from stablechoice.engines.secret import Secret
from stablechoice.errors import EngineError, ModelError
from stablechoice.request import canonical_json
from stablechoice.runtime import card, image, mounts
from stablechoice.runtime.build import build
from stablechoice.runtime.choice import INSIDE, asked, choose
from stablechoice.runtime.container import Box, run
from stablechoice.runtime.daemon import Daemon, Facts
from stablechoice.runtime.ending import sentence
from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.image import Image, Recipe
from stablechoice.runtime.limits import Limits
from stablechoice.runtime.needs import Needs
from stablechoice.runtime.provenance import SOURCE_VARIABLE, source_state

if TYPE_CHECKING:
    from stablechoice.configuration import Configuration

ARITHMETIC = (
    "ATEN_CPU_CAPABILITY", "CUDA_VISIBLE_DEVICES", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "OMP_WAIT_POLICY",
    "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_NUM_THREADS",
)  # fmt: skip
"""Variables that choose kernels, threads and cards: handed on, so that a container computes as a native run would."""

_CARD = ("python", "-m", "stablechoice.runtime.card")


@dataclass(frozen=True, slots=True)
class Streams:
    """Where a run's output goes."""

    out: BinaryIO
    err: BinaryIO

    @classmethod
    def standard(cls) -> Streams:
        sys.stdout.flush()
        sys.stderr.flush()
        return cls(sys.stdout.buffer, sys.stderr.buffer)

    def tell(self, line: str) -> None:
        self.out.write(f"{line}\n".encode())
        self.out.flush()

    def warn(self, line: str) -> None:
        self.err.write(f"{line}\n".encode())
        self.err.flush()


def contained(
    configuration: Configuration,
    overrides: Sequence[str],
    environ: Mapping[str, str] = os.environ,
    streams: Streams | None = None,
    caller: tuple[int, int] | None = None,
) -> int | None:
    """Run `reproduce` in a container where RUNTIME asks for one; the first line printed says where the run is.

    Args:
        overrides: the command's words, which the command inside gets unchanged.
        streams: where output goes; None for the process's own.
        caller: user and group that the run's files are to belong to; None for the process's own.

    Returns:
        the exit code of the run inside; None where the caller is to run natively.

    Raises:
        ConfigError: RUNTIME, a limit or the study's configuration is not usable.
        ContainerError: the engine, the image or a GPU is missing, or the run was lost; the message says what to do.
        KeyboardInterrupt: after the container has ended.
    """
    if asked(environ) == "native":
        return None
    streams = streams or Streams.standard()
    needs = Needs.of(configuration)
    choice = choose(environ, needs)
    if choice.daemon is None or choice.kind is None:
        streams.tell(f"runtime: native ({choice.why})")
        return None
    with choice.daemon as daemon:
        recipe = Recipe(choice.kind, configuration.root)
        found = image.find(daemon.client, recipe, daemon.facts.version) or _built(recipe, daemon, environ, streams)
        why = f"{choice.why}; " if choice.why else ""
        streams.tell(f"runtime: container ({why}image {found.reference}, id {found.short}, engine {found.engine})")
        if daemon.facts.unlimited:
            streams.warn(
                f"this engine cannot limit {', '.join(sorted(daemon.facts.unlimited))}: the run takes what it needs"
            )
        box = enclosure(configuration.root, ("reproduce", *overrides), environ, needs, daemon.facts, found, caller)
        if choice.kind == "cuda":
            _check_cards(daemon, box, recipe)
        _fetch(needs, streams)
        return _reproduced(daemon, runs(box, needs, configuration.study_key), streams)


def _built(recipe: Recipe, daemon: Daemon, environ: Mapping[str, str], streams: Streams) -> Image:
    streams.warn(f"building {recipe.reference} from {recipe.dockerfile.name}: once, some minutes")
    build(recipe, environ, daemon.endpoint)
    found = image.find(daemon.client, recipe, daemon.facts.version)
    if found is None:
        raise ContainerError(
            f"{recipe.reference} was built, but the engine at {daemon.endpoint} does not have it; "
            "let the docker command build there (`docker buildx use default`)"
        )
    return found


def enclosure(
    root: Path,
    command: tuple[str, ...],
    environ: Mapping[str, str],
    needs: Needs,
    facts: Facts,
    found: Image,
    caller: tuple[int, int] | None = None,
) -> Box:
    """The container for a command of the product on a repository: nothing is reached that the study does not need.

    Args:
        caller: user and group that files are to belong to; None for the process's own.

    Raises:
        ConfigError: a limit is no amount, or more than there is.
    """
    limits = Limits.of(environ, facts)
    uid, gid = caller or (os.getuid(), os.getgid())
    groups = () if caller or facts.rootless else tuple(sorted(g for g in os.getgroups() if g != gid))
    return Box(
        image=found.id,
        command=command,
        name=f"stablechoice-{hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:12]}",
        limits=limits,
        # A rootless engine's user 0 is the caller; elsewhere numbers are the same inside and outside.
        user="0:0" if facts.rootless else f"{uid}:{gid}",
        groups=groups,
        binds=tuple(mounts.binds(root, environ, needs)),
        environment=_environment(root, environ, needs, limits, facts.cpus, found),
        network=needs.network,
        gpu=found.kind == "cuda",
        # Labels of the caller's files stay as they are.
        security=("label=disable",) if facts.selinux else (),
        user_namespace="host" if facts.remapped else None,
    )


def _environment(
    root: Path, environ: Mapping[str, str], needs: Needs, limits: Limits, cpus: int, found: Image
) -> dict[str, str]:
    told = {
        INSIDE: found.json(),
        SOURCE_VARIABLE: canonical_json(source_state(root)),
        **mounts.environment(environ, needs),
    }
    if limits.cpus < cpus:
        told["OMP_NUM_THREADS"] = str(limits.threads)  # the program sees all cores, and would start a thread for each
    told |= {name: environ[name] for name in ARITHMETIC if environ.get(name)}
    if needs.network == "none":
        told["HF_HUB_OFFLINE"] = "1"
    for variable, file in needs.keys:
        try:
            told[variable] = Secret.read(variable, root, file).reveal()
        except EngineError:
            continue  # the run inside says which key is missing, and goes on with the other models
    return told


def _check_cards(daemon: Daemon, box: Box, recipe: Recipe) -> None:
    """Ask the driver before minutes are spent on loading.

    Raises:
        ContainerError: no card, no driver, or one that is too old.
    """
    said = io.BytesIO()
    run(daemon.client, replace(box, command=(), entrypoint=_CARD, binds=(), network="none"), said, io.BytesIO())
    try:
        cards = card.Cards.parse(said.getvalue().decode("utf-8", errors="replace"))
    except ValueError as error:
        raise ContainerError(f"{box.image}: its GPU check says nothing; remove the image, it is built anew") from error
    if lack := card.lack(cards, recipe.cuda or "0.0"):
        raise ContainerError(lack)


def runs(box: Box, needs: Needs, study: str) -> list[Box]:
    """The containers of a study, in order.

    Questions that come from the hub are fetched in a container of their own, so that no local model ever runs with a
    network.
    """
    if not needs.online or box.network != "none":
        return [box]
    environment = {k: v for k, v in box.environment.items() if k not in ("HF_HUB_OFFLINE", "HF_HUB_CACHE")}
    command = ("reproduce", f"study={study}", "until=sample")
    return [replace(box, command=command, network="bridge", environment=environment), box]


def _fetch(needs: Needs, streams: Streams) -> None:
    """Bring the hub's models to its cache on this machine: the container has no network."""
    for repository, revision in needs.hub:
        try:
            snapshot(repository, revision)
        except ModelError as error:
            streams.warn(str(error))  # the study's other models run all the same


def _reproduced(daemon: Daemon, boxes: list[Box], streams: Streams) -> int:
    made = mounts.make_missing(list(boxes[-1].binds))
    try:
        return next((code for box in boxes if (code := _ended(daemon, box, streams))), 0)
    finally:
        mounts.tidy(made)


def _ended(daemon: Daemon, box: Box, streams: Streams) -> int:
    """Exit code of a container, with a sentence where the program inside could not say why it ended."""
    end = run(daemon.client, box, streams.out, streams.err)
    if why := sentence(end.state, box.limits):
        streams.warn(f"stablechoice: {why}")
    return end.code
