"""Models that compute here: whether their weights and what they compute on are there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from stablechoice.configuration import Configuration
from stablechoice.doctor import online
from stablechoice.doctor.packages import kind
from stablechoice.doctor.place import Place
from stablechoice.engines.weights import models_folder, package_file
from stablechoice.errors import ModelError
from stablechoice.runtime.mounts import hub_cache

_UNPACKED = 6
"""float32 weights against the 4-bit file that they come from: 544 MB against 98 MB, measured with SmolLM2-135M."""


def is_local(model: Mapping[str, Any]) -> bool:
    """Whether a `conf/model` file names weights."""
    return any(model.get(source) for source in ("package", "folder", "hub"))


def lacks(configuration: Configuration, key: str, model: Mapping[str, Any], place: Place) -> Iterator[str]:
    """What keeps a local model from running here, as sentences."""
    device = str(model["engine"].get("device", ""))
    if device.startswith("cuda"):
        if place.gpu is not None:
            yield f"{key} computes on {device}: {place.gpu}"
        elif kind(place.packages) == "cpu":
            yield f"{key} computes on {device}, and torch's CPU build is installed; run with RUNTIME=cuda"
    try:
        missing = _weights(configuration, key, model, place)
    except ModelError as error:
        missing = str(error)
    if missing:
        yield f"{key}: {missing}"


def bytes_wanted(configuration: Configuration, key: str, model: Mapping[str, Any], place: Place) -> int | None:
    """Disk that a model's weights still need; None where that cannot be known here."""
    if model.get("hub"):
        if _cached(model):
            return 0
        revision = str(model["revision"])
        return online.size(str(model["hub"]), revision) if place.hub.reachable else None
    if model.get("package"):
        if any(models_folder(configuration.root).glob(f"{key}-*")):
            return 0
        try:
            return package_file(str(model["package"]), str(model["file"])).stat().st_size * _UNPACKED
        except ModelError:
            return None
    return 0


def _weights(configuration: Configuration, key: str, model: Mapping[str, Any], place: Place) -> str:
    """Why a model's weights are not here; empty where they are or will be fetched."""
    if model.get("package"):
        package_file(str(model["package"]), str(model["file"]))
        return ""
    if model.get("folder"):
        folder = configuration.root / str(model["folder"])
        return "" if folder.is_dir() else f"{folder} is missing; put the model there (conf/model/{key}.yaml names it)"
    if _cached(model) or place.hub.reachable:
        return ""
    return f"{model['hub']} is not in the hub's cache and the hub is not reachable; fetch it where there is a network"


def _cached(model: Mapping[str, Any]) -> bool:
    from huggingface_hub import try_to_load_from_cache

    # The hub's own default is settled when its client is first imported; the environment may have changed since.
    cache = hub_cache(os.environ)
    found = try_to_load_from_cache(str(model["hub"]), "config.json", cache_dir=cache, revision=str(model["revision"]))
    return isinstance(found, str)
