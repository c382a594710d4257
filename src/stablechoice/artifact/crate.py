"""The bundle described as an RO-Crate: workflow, inputs, outputs, software, licences, in terms that machines read.

Profile: Workflow Run Crate 0.5, on Process Run Crate 0.5 and Workflow RO-Crate 1.0 (RO-Crate 1.1). Nothing is told that
is not known: a run's own times and people stand in no versioned file, so the description has none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stablechoice.artifact.checkout import FOLDER
from stablechoice.artifact.inventory import LEVEL, Inventory
from stablechoice.artifact.licences import Licence
from stablechoice.artifact.member import Member

NAME = "ro-crate-metadata.json"
PROFILES = (
    "https://w3id.org/ro/wfrun/process/0.5",
    "https://w3id.org/ro/wfrun/workflow/0.5",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0",
)
LICENCE = "https://spdx.org/licenses/Apache-2.0"
AUTHORS = "The stablechoice authors"

_VERSION = "1.1"
"""Of RO-Crate, which the profiles stand on."""

_DVC = "https://w3id.org/workflowhub/workflow-ro-crate#dvc"
_PACKAGES = {
    "dvc": "https://dvc.org",
    "torch": "https://pytorch.org",
    "transformers": "https://huggingface.co/docs/transformers",
    "sentence-transformers": "https://sbert.net",
    "numpy": "https://numpy.org",
    "scipy": "https://scipy.org",
    "statsmodels": "https://www.statsmodels.org",
    "pandas": "https://pandas.pydata.org",
}
"""Pages of the packages that numbers come from."""

_SPDX = "https://spdx.org/licenses/"
_INPUTS = ("conf/", "data/benchmarks/", "data/manifests/", "data/sources/", "data/published/")


@dataclass(frozen=True, slots=True)
class Described:
    """What a description is made from.

    Attributes:
        members: all of the bundle but the description itself and the list of checksums.
        paths: the repository's path of each member that is an object of the cache.
        workflow: the member that is the study's pipeline.
        locked: version by package, for the packages named as requirements.
    """

    inventory: Inventory
    members: Sequence[Member]
    paths: Mapping[str, str]
    workflow: str
    licences: Sequence[Licence]
    locked: Mapping[str, str]


def metadata(of: Described) -> Member:
    """The description as a member: the same bytes for the same bundle."""
    from rocrate.rocrate import ROCrate

    crate = ROCrate(version=_VERSION)
    inventory = of.inventory
    authors = _context(crate, "#authors", "Organization", name=AUTHORS)
    _root(crate, inventory, authors)
    workflow = _workflow(crate, of, authors)
    files = {member.name: _file(crate, member, of) for member in of.members if member.name != of.workflow}
    things = [_thing(crate, licence) for licence in of.licences]
    action = _context(
        crate,
        "#run",
        "CreateAction",
        name=f"{inventory.title}: answered, read and tabulated",
        description=f"make reproduce STUDY={inventory.study}, at commit {inventory.commit}",
        instrument=workflow,
        agent=authors,
        object=[*_among(files, of, _INPUTS), *things],
        result=_among(files, of, (f"data/{inventory.study}/",)),
        actionStatus="http://schema.org/CompletedActionStatus",
    )
    crate.root_dataset["mentions"] = action
    crate.root_dataset["mainEntity"] = workflow
    text = json.dumps(crate.metadata.generate(), indent=1, sort_keys=True, ensure_ascii=False)
    return Member(NAME, f"{text}\n".encode())


def _context(crate: Any, identifier: str, kind: str | list[str], **properties: Any) -> Any:
    from rocrate.model.contextentity import ContextEntity

    return crate.add(ContextEntity(crate, identifier, properties={"@type": kind, **properties}))


def _licence(crate: Any, identifier: str, url: str) -> Any:
    """A licence's entity: SPDX's page where it has one, else where the terms stand."""
    plain = all(sign.isalnum() or sign in "-.+" for sign in identifier)
    where = f"{_SPDX}{identifier}" if plain else f"{url}#licence"
    return crate.get(where) or _context(crate, where, "CreativeWork", name=identifier, url=where)


def _root(crate: Any, inventory: Inventory, authors: Any) -> None:
    root = crate.root_dataset
    root["name"] = f"stablechoice: {inventory.title}"
    root["description"] = (
        f"Source, stored answers and tables of the study {inventory.study!r} of stablechoice {inventory.version}, "
        f"commit {inventory.commit}. `make verify` reads the stored answers again and recomputes every number "
        f"(level: {LEVEL})."
    )
    root["datePublished"] = inventory.committed
    root["license"] = _licence(crate, "Apache-2.0", LICENCE)
    root["author"] = authors
    root["version"] = inventory.version
    root["identifier"] = f"stablechoice-{inventory.study}-{inventory.commit}"
    root["publisher"] = authors
    root["conformsTo"] = [_profile(crate, profile) for profile in PROFILES]
    crate.metadata["conformsTo"] = [{"@id": f"https://w3id.org/ro/crate/{_VERSION}"}, {"@id": PROFILES[-1]}]


def _profile(crate: Any, profile: str) -> Any:
    kind, version = profile.rsplit("/", 2)[-2:]
    return _context(crate, profile, "CreativeWork", name=f"RO-Crate profile {kind}", version=version)


def _workflow(crate: Any, of: Described, authors: Any) -> Any:
    from rocrate.model.computationalworkflow import ComputationalWorkflow

    software = [
        _context(crate, url, "SoftwareApplication", name=name, softwareVersion=of.locked[name], url=url)
        for name, url in _PACKAGES.items()
        if name in of.locked
    ]
    package = _context(
        crate,
        "#stablechoice",
        "SoftwareApplication",
        name="stablechoice",
        softwareVersion=f"{of.inventory.version} ({of.inventory.commit})",
        license=_licence(crate, "Apache-2.0", LICENCE),
        softwareRequirements=[f"Python {of.inventory.python}", *software],
    )
    language = _context(crate, _DVC, "ComputerLanguage", name="DVC pipeline", url=_PACKAGES["dvc"])
    properties = {
        "name": f"Pipeline of the study {of.inventory.study}",
        "programmingLanguage": language,
        "license": _licence(crate, "Apache-2.0", LICENCE),
        "creator": authors,
        "version": of.inventory.commit,
        "softwareRequirements": package,
        "encodingFormat": "application/yaml",
    }
    return crate.add(ComputationalWorkflow(crate, dest_path=of.workflow, properties=properties))


def _file(crate: Any, member: Member, of: Described) -> Any:
    path = _path(member.name, of)
    properties: dict[str, Any] = {
        "name": path,
        "encodingFormat": member.media_type if path == member.name else Member(path, b"").media_type,
        "contentSize": str(member.size),
        "sha256": member.sha256,
    }
    if member.name == "README.md":
        properties["about"] = {"@id": crate.root_dataset.id}
    return crate.add_file(dest_path=member.name, properties=properties)


def _path(name: str, of: Described) -> str:
    """A member's path in the repository, where it has one."""
    return of.paths.get(name, name.removeprefix(f"{FOLDER}/"))


def _among(files: Mapping[str, Any], of: Described, starts: tuple[str, ...]) -> list[Any]:
    return [entity for name, entity in files.items() if _path(name, of).startswith(starts)]


def _thing(crate: Any, licence: Licence) -> Any:
    kind = "Dataset" if licence.kind == "benchmark" else "CreativeWork"
    return _context(
        crate,
        f"#{licence.kind}-{licence.key}",
        kind,
        name=licence.title,
        url=licence.url,
        license=_licence(crate, licence.licence, licence.url),
        version=licence.version,
    )
