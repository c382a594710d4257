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


def test_things_without_a_line_are_all_named_each_with_a_line_to_be_filled_in(tmp_path: Path) -> None:
    (tmp_path / "conf/model").mkdir(parents=True)
    (tmp_path / "conf/model/new-one.yaml").write_text(
        "title: New, and one\nhub: somebody/new\nrevision: abc\n", encoding="utf-8"
    )
    written(tmp_path, "model,simulated,Simulated,part of the source,Apache-2.0,u,")
    with pytest.raises(BundleError) as refusal:
        licences_of(tmp_path, [("model", "simulated"), ("model", "new-one"), ("benchmark", "other")])
    first, *lines = str(refusal.value).splitlines()
    assert "has no line for model new-one, benchmark other; " in first
    assert lines == ['model,new-one,"New, and one",somebody/new at abc,???,???,', "benchmark,other,???,???,???,???,"]
    # Pasted as they are they say nothing, and are refused; filled in they are taken.
    written(tmp_path, *lines)
    with pytest.raises(BundleError, match=r"line 2: wants"):
        read_licences(tmp_path)
    written(tmp_path, *(line.replace("???", "told") for line in lines))
    assert [one.licence for one in licences_of(tmp_path, [("benchmark", "other"), ("model", "new-one")])] == [
        "told"
    ] * 2


def test_the_last_column_may_be_left_out(tmp_path: Path) -> None:
    written(tmp_path, "model,a,A,1,MIT,u")
    assert licences_of(tmp_path, [("model", "a")])[0].package == ""


def written(root: Path, *lines: str) -> None:
    (root / "data").mkdir(exist_ok=True)
    text = "\n".join(("kind,key,title,version,licence,url,package", *lines, ""))
    (root / "data/licences.csv").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "line",
    ["model,a,A,1,,url,", "thing,a,A,1,MIT,url,", "model,a,A,1,MIT", "model,a,A,1,MIT,u,,\nmodel,a,A,1,MIT,u,"],
)
def test_an_incomplete_line_is_refused_by_its_number(line: str, tmp_path: Path) -> None:
    written(tmp_path, line)
    with pytest.raises(BundleError, match=r"licences.csv, line [23]: wants"):
        read_licences(tmp_path)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="restore it with git"):
        read_licences(tmp_path)
