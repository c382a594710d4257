"""The images that runs use: which files make one, what it is called, and whether the engine has it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from stablechoice.request import canonical_json
from stablechoice.runtime.failure import ContainerError, explain

if TYPE_CHECKING:
    from docker import DockerClient

Kind = Literal["cpu", "cuda"]
KINDS: tuple[Kind, ...] = ("cpu", "cuda")
REPOSITORY = "stablechoice"
LABELS = {
    "commit": "org.opencontainers.image.revision",
    "lock": "stablechoice.lock.sha256",
    "recipe": "stablechoice.recipe.sha256",
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an image is made from, apart from the package's own code, which a run mounts from the checkout.

    Attributes:
        kind: cpu or cuda: the Dockerfile's ending.
        root: the repository.
    """

    kind: Kind
    root: Path

    @property
    def dockerfile(self) -> Path:
        return self.root / f"Dockerfile.{self.kind}"

    @property
    def lock(self) -> Path:
        return self.root / "requirements" / f"{self.kind}.lock"

    @property
    def requirements(self) -> tuple[Path, ...]:
        names = ("cpu.lock", "cuda.lock", "models.lock", "dev.in", "image.sh")
        return tuple(self.root / "requirements" / name for name in names)

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.dockerfile, *self.requirements)

    @property
    def cuda(self) -> str | None:
        """CUDA version, `major.minor`, that the lock's packages bring; None for the CPU image."""
        found = re.search(r"^nvidia-cuda-runtime==(\d+\.\d+)", self.lock.read_text(encoding="utf-8"), re.MULTILINE)
        return found[1] if found else None

    @property
    def lock_sha256(self) -> str:
        return _sha256(self.lock)

    @property
    def requirements_sha256(self) -> str:
        """Hash of what `sha256sum` says of the files that go to the builder, which compares it with what it got."""
        said = "".join(f"{_sha256(path)}  {path.name}\n" for path in self.requirements)
        return hashlib.sha256(said.encode("utf-8")).hexdigest()

    @property
    def sha256(self) -> str:
        """Hash of all files of the recipe: it changes when the image has to."""
        parts = "".join(f"{path.name} {_sha256(path)}\n" for path in self.files)
        return hashlib.sha256(parts.encode("utf-8")).hexdigest()

    @property
    def reference(self) -> str:
        """Name and tag; another lock has another tag, so that an image never stands for packages that it lacks."""
        return f"{REPOSITORY}:{self.kind}-{self.sha256[:12]}"


@dataclass(frozen=True, slots=True)
class Image:
    """An image that the engine has.

    Attributes:
        reference: name and tag.
        id: what the engine calls it: the hash of its configuration in one store, of its manifest in the other.
        digest: hash of its manifest, where the engine knows one (always in the containerd store, else once pushed or
            pulled).
        layers_sha256: hash over the hashes of its unpacked layers, the same whatever the store.
        commit, lock_sha256, recipe_sha256: its labels.
        engine: version of the engine.
    """

    kind: Kind
    reference: str
    id: str
    digest: str | None
    layers_sha256: str
    commit: str
    lock_sha256: str
    recipe_sha256: str
    engine: str

    def json(self) -> str:
        """One line for the container's environment, from which provenance takes it."""
        return canonical_json(asdict(self))

    @property
    def short(self) -> str:
        return self.id.removeprefix("sha256:")[:12]


def find(client: DockerClient, recipe: Recipe, engine: str) -> Image | None:
    """The recipe's image; None where the engine has none.

    Raises:
        ContainerError: the engine fails, or its image of this name was made from something else.
    """
    from docker.errors import DockerException, ImageNotFound
    from requests.exceptions import RequestException

    try:
        known = client.api.inspect_image(recipe.reference)
    except ImageNotFound:
        return None
    except (DockerException, RequestException) as error:
        raise ContainerError(explain(error)) from error
    image = described(known, recipe.kind, recipe.reference, engine)
    if image.recipe_sha256 != recipe.sha256:
        raise ContainerError(
            f"the engine's image {recipe.reference} was made from other files than this checkout's "
            f"{recipe.dockerfile.name} and locks; remove it with `docker image rm {recipe.reference}`, it is built anew"
        )
    return image


def described(known: dict[str, Any], kind: Kind, reference: str, engine: str) -> Image:
    """Read an engine's account of an image, whichever store it keeps images in."""
    labels = (known.get("Config") or {}).get("Labels") or {}
    digests = [str(d).partition("@")[2] for d in known.get("RepoDigests") or ()]
    digest = next(iter(digests), None) or (known.get("Descriptor") or {}).get("digest")
    layers = "\n".join((known.get("RootFS") or {}).get("Layers") or ())
    return Image(
        kind=kind,
        reference=reference,
        id=str(known["Id"]),
        digest=digest,
        layers_sha256=hashlib.sha256(layers.encode("utf-8")).hexdigest(),
        commit=str(labels.get(LABELS["commit"], "unknown")),
        lock_sha256=str(labels.get(LABELS["lock"], "unknown")),
        recipe_sha256=str(labels.get(LABELS["recipe"], "unknown")),
        engine=engine,
    )


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ContainerError(
            f"{path}: an image cannot be made without it ({error.strerror}); restore it with git"
        ) from error
