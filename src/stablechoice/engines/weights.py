"""Which model is meant, where its files are, and the proof that they are the pinned ones."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from stablechoice.engines.fingerprint import Fingerprints
from stablechoice.errors import ConfigError, ModelError

KEYS = ("package", "file", "folder", "hub", "revision", "sha256", "chat_template_sha256")
"""Keys of `conf/model` that say where weights come from; `key` and `root` are given by the configuration."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_REVISION = re.compile(r"[0-9a-f]{40}")


def models_folder(root: Path) -> Path:
    """Where models are kept: STABLECHOICE_MODELS, else `models` below the repository root."""
    named = os.environ.get("STABLECHOICE_MODELS")
    return Path(named) if named else root / "models"


def package_file(package: str, file: str) -> Path:
    """A file that an installed Python package carries, found without importing the package.

    Args:
        package: its name where pip finds it.
        file: a path inside it; leading folders may be left out.

    Raises:
        ModelError: the package is not installed, or holds no such file or several.
    """
    try:
        listed = metadata.files(package) or []
    except metadata.PackageNotFoundError as error:
        raise ModelError(f"package {package!r}, which carries {file}, is not installed; run `make install`") from error
    found = [Path(str(entry.locate())) for entry in listed if f"/{entry.as_posix()}".endswith(f"/{file}")]
    if len(found) != 1:
        many = "no" if not found else f"{len(found)} files"
        raise ModelError(f"package {package!r} holds {many} {file!r}; mend key 'file', or run `make install` again")
    if not found[0].is_file():
        raise ModelError(f"{found[0]}: is gone from package {package!r}; run `make install`")
    return found[0]


@dataclass(frozen=True, slots=True)
class Weights:
    """A model's files: of a package (GGUF), in a folder, or on the hub; exactly one of the three.

    Attributes:
        key: the model's name in `conf/model`; it names folders and messages, and is not part of the identity.
        root: folder that relative paths start from.
        package, file: a Python package and a GGUF file inside it; `sha256` is that file's.
        folder: a folder with safetensors and a tokenizer; `sha256` is that of its weights file, or of several files
            by name.
        hub, revision: an id on the Hugging Face hub and 40 hex digits; `sha256` may pin files on top.
        files: the pinned hashes by file name; under the empty name that of the only weights file.
        chat_template: sha256 of the chat template's text; needed for a folder, whose weights' hash does not cover it.
    """

    key: str
    root: Path
    package: str | None = None
    file: str | None = None
    folder: str | None = None
    hub: str | None = None
    revision: str | None = None
    files: tuple[tuple[str, str], ...] = ()
    chat_template: str | None = None

    @classmethod
    def from_mapping(cls, model: Mapping[str, Any]) -> Weights:
        """Read the keys of a `conf/model` file.

        Raises:
            ConfigError: an unknown key, or not exactly one source.
            ModelError: a hash or revision is open (`???`), missing or no full hex number.
        """
        key = str(model.get("key", "model"))
        where = f"conf/model/{key}.yaml"
        unknown = sorted(set(model) - {*KEYS, "key", "root"})
        if unknown:
            raise ConfigError(f"{where}: unknown key {unknown[0]!r}; for this engine a model has: {', '.join(KEYS)}")
        for name in ("package", "file", "folder", "hub"):
            if model.get(name) == "???":
                raise ModelError(f"{where}: key {name!r} is open (???); fill it in before this model can run")
        sources = [name for name in ("package", "folder", "hub") if model.get(name)]
        if len(sources) != 1:
            raise ConfigError(f"{where}: give exactly one of package, folder and hub, not {len(sources)}")
        source = sources[0]
        for name, needed_by in (("file", "package"), ("revision", "hub")):
            if model.get(name) is not None and source != needed_by:
                raise ConfigError(f"{where}: key {name!r} goes with {needed_by!r}, not with {source!r}; take it out")
        if source == "package" and not model.get("file"):
            raise ConfigError(f"{where}: key 'file' is missing; name the GGUF file inside package {model['package']!r}")
        revision = None if source != "hub" else _hex(where, "revision", model.get("revision"), _REVISION, 40)
        files = _pinned(where, model.get("sha256"), required=source != "hub")
        if source == "package" and [name for name, _ in files] != [""]:
            raise ConfigError(f"{where}: key 'sha256' of a package's file is one hash, not a mapping")
        template = model.get("chat_template_sha256")
        if template is not None:
            template = _hex(where, "chat_template_sha256", template, _SHA256, 64)
        named = {name: str(model[name]) for name in ("package", "file", "folder", "hub") if model.get(name)}
        root = Path(str(model.get("root", ".")))
        return cls(key, root, revision=revision, files=files, chat_template=template, **named)

    def identity(self) -> dict[str, Any]:
        """What pins the weights, whatever they are called and wherever they lie."""
        pins: dict[str, Any] = {"sha256": dict(self.files) if self.files else None}
        if self.hub is not None:
            pins |= {"hub": self.hub, "revision": self.revision}
        if self.chat_template is not None:
            pins["chat_template_sha256"] = self.chat_template
        return {name: value for name, value in pins.items() if value is not None}

    @property
    def fingerprints(self) -> Fingerprints:
        return Fingerprints(models_folder(self.root))

    def locate(self) -> Path:
        """A folder with checked safetensors and a tokenizer; converts or downloads where none is there yet.

        Raises:
            ModelError: something is missing, is not what is pinned, or cannot be fetched.
        """
        if self.package is not None and self.file is not None:
            from stablechoice.engines import conversion

            ((_, pinned),) = self.files
            target = models_folder(self.root) / f"{self.key}-{pinned[:12]}"
            if not target.exists():
                source = package_file(self.package, self.file)
                self.fingerprints.check(source, pinned, f"install the version that conf/model/{self.key}.yaml pins")
                conversion.convert(source, pinned, target)
            conversion.check(target, pinned, self.fingerprints)
            return target
        if self.hub is not None and self.revision is not None:
            from stablechoice.engines import hub

            folder = hub.snapshot(self.hub, self.revision)
            self._check_files(folder, f"delete the folder {folder} and fetch it again")
            return folder
        folder = self.root / str(self.folder)
        if not folder.is_dir():
            raise ModelError(f"{folder}: no such folder; conf/model/{self.key}.yaml names it, put the model there")
        names = weight_files(folder)
        if not names:
            raise ModelError(f"{folder}: holds no *.safetensors; save the model as safetensors there")
        pinned_names = {name for name, _ in self.files}
        if pinned_names != {""} and not set(names) <= pinned_names:
            open_files = ", ".join(sorted(set(names) - pinned_names))
            raise ModelError(f"{folder}: {open_files} has no hash in conf/model/{self.key}.yaml; add it to 'sha256'")
        self._check_files(folder, f"put back the pinned file, or pin this one in conf/model/{self.key}.yaml")
        return folder

    def _check_files(self, folder: Path, advice: str) -> None:
        for name, pinned in self.files:
            path = folder / name
            if not name:
                names = weight_files(folder)
                if len(names) != 1:
                    raise ModelError(
                        f"{folder}: one sha256 is pinned, but the weights are {len(names)} files; "
                        f"give each by name in 'sha256' of conf/model/{self.key}.yaml"
                    )
                path = folder / names[0]
            if not path.is_file():
                raise ModelError(f"{path}: is missing, but conf/model/{self.key}.yaml pins its sha256; {advice}")
            self.fingerprints.check(path, pinned, advice)


def weight_files(folder: Path) -> list[str]:
    """Names of the safetensors files that a folder's model consists of, sorted; those of an index where it has one.

    Raises:
        ModelError: the index cannot be read.
    """
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        try:
            shards = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
            return sorted({str(name) for name in shards})
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise ModelError(f"{index}: is no index of safetensors files ({error}); fetch the model again") from error
    return sorted(path.name for path in folder.glob("*.safetensors"))


def _hex(where: str, key: str, value: object, pattern: re.Pattern[str], digits: int) -> str:
    if value in (None, "???"):
        raise ModelError(f"{where}: key {key!r} is open; fill in its {digits} hex digits, it is never guessed")
    if not isinstance(value, str) or not pattern.fullmatch(value.lower()):
        raise ModelError(f"{where}: key {key!r} is {value!r}, not {digits} hex digits; a branch or tag is no pin")
    return value.lower()


def _pinned(where: str, value: object, *, required: bool) -> tuple[tuple[str, str], ...]:
    if value is None and not required:
        return ()
    if isinstance(value, Mapping):
        return tuple(sorted((str(n), _hex(where, f"sha256.{n}", v, _SHA256, 64)) for n, v in value.items()))
    return (("", _hex(where, "sha256", value, _SHA256, 64)),)
