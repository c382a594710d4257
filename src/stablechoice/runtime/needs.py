"""What a study needs of the place where it runs: a network, keys, a GPU, folders. Read from `conf/` alone."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from stablechoice.configuration import Configuration

Network = Literal["none", "bridge", "host"]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Needs:
    """A study's demands.

    Attributes:
        network: `none` for local models; `bridge` for hosted ones; `host` where one is served by this very machine.
        keys: (variable, conf/engine file) of the hosted models' keys.
        cuda: conf/engine files that compute on a GPU.
        hub: (repository, revision) of local models that come from the model hub.
        folders: folders that local models lie in, as conf/model writes them.
        online: benchmarks that come from the hub: neither prepared yet nor in a local file.
    """

    network: Network = "none"
    keys: tuple[tuple[str, str], ...] = ()
    cuda: tuple[str, ...] = ()
    hub: tuple[tuple[str, str], ...] = ()
    folders: tuple[str, ...] = ()
    online: tuple[str, ...] = ()

    @classmethod
    def of(cls, configuration: Configuration) -> Needs:
        """Read a study's models and benchmarks; nothing is loaded or contacted.

        Raises:
            ConfigError, ModelError: a file of the study is missing, broken or left open.
        """
        models = {key: configuration.group("model", key) for key in configuration.asked_models}
        engines = [part for key, model in models.items() for part in engines_of(configuration, key, model["engine"])]
        return cls(
            network=_network(str(engine["base_url"]) for _, engine in engines if engine.get("base_url")),
            keys=_distinct((str(e["key_variable"]), file) for file, e in engines if e.get("key_variable")),
            cuda=_distinct(file for file, engine in engines if str(engine.get("device", "")).startswith("cuda")),
            hub=_distinct((str(m["hub"]), str(m["revision"])) for m in models.values() if m.get("hub")),
            folders=_distinct(str(m["folder"]) for m in models.values() if m.get("folder")),
            online=_distinct(b for b in configuration.prepared_benchmarks if _is_online(configuration, b)),
        )


def engines_of(
    configuration: Configuration, model: str, engine: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(conf/engine file, its values) of a model's engine and of those that it passes requests on to."""
    name = engine.get("name") or configuration.model(model).engine_files[0]
    yield f"conf/engine/{name}.yaml", engine
    for value in engine.values():
        if isinstance(value, Mapping) and "_target_" in value:
            yield from engines_of(configuration, model, value)


def _distinct(items: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(items))


def _network(addresses: Iterable[str]) -> Network:
    hosts = [urlsplit(address).hostname or "" for address in addresses]
    if not hosts:
        return "none"
    return "host" if any(_is_loopback(host) for host in hosts) else "bridge"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_online(configuration: Configuration, benchmark: str) -> bool:
    source = configuration.benchmark(benchmark)
    if source.hub is None or configuration.layout().questions(benchmark).is_file():
        return False
    named = os.environ.get("STABLECHOICE_SOURCES")
    folders = [configuration.root / "data" / "sources", *([configuration.root / named] if named else [])]
    return not any((folder / source.file).is_file() for folder in folders)
