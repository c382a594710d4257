"""Licences: one line for each thing that a study may use."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.licences import KINDS, licences_of, read_licences


def test_everything_that_conf_offers_has_a_line(root: Path) -> None:
    known = read_licences(root)
    offered = {(kind, file.stem) for kind in KINDS for file in (root / "conf" / kind).glob("*.yaml")}
    assert offered <= known.keys(), sorted(offered - known.keys())


def test_pins_are_those_of_conf(root: Path) -> None:
    """A revision or hash that conf names stands in the line, so the two cannot drift apart."""
    for (kind, key), licence in read_licences(root).items():
        file = root / "conf" / kind / f"{key}.yaml"
        if not file.is_file():
            continue
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
        hub = values["hub"]["revision"] if isinstance(values.get("hub"), dict) else values.get("revision")
        for pin in (hub, values.get("sha256"), values.get("served_as")):
            if isinstance(pin, str) and pin != "???":
                assert pin in licence.version, f"{kind} {key}: {pin}"


def test_locked_packages_are_named_with_their_locked_version(root: Path) -> None:
    lock = (root / "requirements/models.lock").read_text(encoding="utf-8")
    packages = [licence.package for licence in read_licences(root).values() if licence.package]
    assert len(packages) == 2
    for package in packages:
        assert package.replace(" ", "==") in lock


def test_a_thing_without_a_line_is_refused_by_name(root: Path) -> None:
    with pytest.raises(BundleError, match=r"no line for model new-one .conf/model/new-one.yaml"):
        licences_of(root, [("model", "simulated"), ("model", "new-one")])


@pytest.mark.parametrize(
    "line",
    ["model,a,A,1,,url,", "thing,a,A,1,MIT,url,", "model,a,A,1,MIT", "model,a,A,1,MIT,u,,\nmodel,a,A,1,MIT,u,"],
)
def test_an_incomplete_line_is_refused_by_its_number(line: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    path = tmp_path / "data/licences.csv"
    path.write_text(f"kind,key,title,version,licence,url,package\n{line}\n", encoding="utf-8")
    with pytest.raises(BundleError, match=r"licences.csv, line [23]: wants"):
        read_licences(tmp_path)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="restore it with git"):
        read_licences(tmp_path)
