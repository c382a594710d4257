"""The files that a reader of the artifact sees first say what is true."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import yaml

from stablechoice import __version__
from stablechoice.artifact.crate import AUTHORS
from stablechoice.artifact.licences import read_licences
from stablechoice.report.study import Level


def test_citation_and_archive_agree_on_title_version_licence_and_authors(root: Path) -> None:
    citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    archive = json.loads((root / ".zenodo.json").read_text(encoding="utf-8"))
    for key in ("title", "version", "license"):
        assert citation[key] == archive[key]
    assert citation["version"] == __version__
    assert citation["cff-version"] == "1.2.0"
    assert citation["authors"] == [{"name": AUTHORS}] == archive["creators"]
    cited = {url.rsplit("/", 1)[1] for url in (r["url"] for r in citation["references"])}
    assert {one["identifier"].removeprefix("arXiv:") for one in archive["related_identifiers"]} == cited


def test_the_reviewers_page_names_every_licence_with_version_and_address(root: Path) -> None:
    page = (root / "ARTIFACT.md").read_text(encoding="utf-8")
    for licence in read_licences(root).values():
        for part in (licence.title, licence.version, licence.licence, licence.url):
            assert part in page, f"{licence.key}: {part}"


def test_every_target_and_file_that_the_reviewers_page_names_is_there(root: Path) -> None:
    page = (root / "ARTIFACT.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"make ([a-z-]+)", page))
    assert named
    assert named <= targets, named - targets
    for link in re.findall(r"\]\(([^)#h][^)]*)\)", page):
        assert (root / link).exists(), link


def test_the_three_levels_and_all_points_of_both_checklists_are_answered(root: Path) -> None:
    page = (root / "ARTIFACT.md").read_text(encoding="utf-8")
    for level in get_args(Level):
        assert f"**{level}**" in page
    for point in [*(f"B{n}" for n in range(1, 7)), *(f"C{n}" for n in range(1, 5))]:
        assert re.search(rf"^\| {point} \|", page, re.MULTILINE), point
    for badge in ("Artifacts Available", "Functional", "Reusable", "Results Reproduced"):
        assert badge in page
