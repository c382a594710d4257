"""The description of a bundle for machines."""

from __future__ import annotations

import json
from typing import Any

from stablechoice.artifact.crate import PROFILES, Described, metadata
from stablechoice.artifact.inventory import Inventory
from stablechoice.artifact.licences import Licence
from stablechoice.artifact.member import Member

INVENTORY = Inventory(
    study="small",
    title="Small study",
    commit="a" * 40,
    committed="2026-01-02T03:04:05+00:00",
    version="0.1.0",
    python="3.11.7",
    texts=False,
    left_out={},
    relational_golds={},
    models=[],
    images=[],
)
MEMBERS = (
    Member("README.md", b"# readme\n"),
    Member("source/dvc.yaml", b"stages: {}\n"),
    Member("source/conf/study/small.yaml", b"title: x\n"),
    Member("source/data/small/tables/main.csv", b"a\n1\n"),
    Member("cache/files/md5/00/11", b"{}\n"),
)
DESCRIBED = Described(
    INVENTORY,
    MEMBERS,
    {"cache/files/md5/00/11": "data/small/observations/m/b/direct.jsonl"},
    "source/dvc.yaml",
    (
        Licence("model", "m", "A model", "revision 1", "Apache-2.0", "https://example.org/m", ""),
        Licence("benchmark", "b", "A benchmark", "revision 2", "the provider's terms", "https://example.org/b", ""),
    ),
    {"numpy": "2.4.6", "dvc": "3.67.1"},
)


def graph(described: Described = DESCRIBED) -> dict[str, dict[str, Any]]:
    content = metadata(described).content
    assert isinstance(content, bytes)
    return {entity["@id"]: entity for entity in json.loads(content)["@graph"]}


def test_the_same_bundle_has_the_same_description() -> None:
    """No clock, no random identifier: rocrate's own defaults have both."""
    assert metadata(DESCRIBED).content == metadata(DESCRIBED).content
    assert graph()["./"]["datePublished"] == INVENTORY.committed


def test_the_root_claims_the_profiles_and_names_the_project_alone() -> None:
    found = graph()
    root = found["./"]
    assert [one["@id"] for one in root["conformsTo"]] == list(PROFILES)
    assert found["ro-crate-metadata.json"]["about"] == {"@id": "./"}
    assert root["author"] == root["publisher"] == {"@id": "#authors"}
    assert root["license"] == {"@id": "https://spdx.org/licenses/Apache-2.0"}


def test_inputs_and_outputs_go_by_their_paths_in_the_repository() -> None:
    run = graph()["#run"]
    assert [one["@id"] for one in run["object"]] == ["source/conf/study/small.yaml", "#model-m", "#benchmark-b"]
    assert [one["@id"] for one in run["result"]] == ["source/data/small/tables/main.csv", "cache/files/md5/00/11"]
    file = graph()["cache/files/md5/00/11"]
    assert file["name"] == "data/small/observations/m/b/direct.jsonl"
    assert file["encodingFormat"] == "application/jsonl"
    assert file["contentSize"] == "3"


def test_what_is_used_has_version_and_licence() -> None:
    found = graph()
    assert found["#model-m"]["license"] == {"@id": "https://spdx.org/licenses/Apache-2.0"}
    terms = found[found["#benchmark-b"]["license"]["@id"]]
    assert (terms["name"], terms["@id"]) == ("the provider's terms", "https://example.org/b#licence")
    assert found["#benchmark-b"]["@type"] == "Dataset"
    assert found["https://numpy.org"]["softwareVersion"] == "2.4.6"
    assert "https://pytorch.org" not in found


def test_every_reference_points_at_an_entity_of_the_description() -> None:
    found = graph()

    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [value["@id"]] if set(value) == {"@id"} else [r for v in value.values() for r in references(v)]
        return [r for one in value for r in references(one)] if isinstance(value, list) else []

    outside = {"https://w3id.org/ro/crate/1.1", PROFILES[-1]}
    for entity in found.values():
        assert set(references({k: v for k, v in entity.items() if k != "@id"})) <= found.keys() | outside
