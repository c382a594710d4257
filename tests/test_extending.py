"""docs/extending.md is executed: its files are written, its commands run, in a copy of the repository."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, copy_repository, environment

PAGE = ROOT / "docs" / "extending.md"
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PACKAGE = "stablechoice-hurried"


def blocks(text: str) -> list[tuple[str, str | None, str]]:
    """(language, file name or None, content) of every fenced block, in the page's order."""
    return [(match[1], match[2], match[3]) for match in _BLOCK.finditer(text)]


@dataclass(frozen=True)
class Copy:
    """A copy of the repository, a folder for what is installed beside it, and all that was said."""

    root: Path
    installed: Path
    said: dict[str, str]

    def run(self, *words: str, code: int = 0) -> str:
        paths = os.pathsep.join([str(self.installed), str(self.root / "src")])
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=self.root,
            env=environment(PYTHONPATH=paths),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout[-4000:] + done.stderr[-4000:]
        return done.stdout + done.stderr

    def command(self, line: str) -> str:
        """A line of a console block; pip installs into a folder of its own, without a network."""
        words = line.removeprefix("$ ").split()
        if words[:2] == ["pip", "install"]:
            offline = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--target", str(self.installed))
            return self.run("pip", "install", *offline, *words[2:])
        return self.run(*words)

    def main_table(self) -> dict[str, dict[str, str]]:
        with (self.root / "data/mine/tables/main.csv").open(encoding="utf-8", newline="") as file:
            return {row["strategy"]: row for row in csv.DictReader(file)}

    def pipeline(self) -> str:
        return (self.root / "data/mine/pipeline/stubborn/capitals/dvc.yaml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The page, run from top to bottom; the first main table is kept before the second run writes its own."""
    folder = tmp_path_factory.mktemp("extending")
    copy = Copy(copy_repository(folder / "repository"), folder / "installed", {})
    for language, name, content in blocks(PAGE.read_text(encoding="utf-8")):
        if name is not None:
            path = copy.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="\n")
        if language == "console":
            for line in content.splitlines():
                copy.said[line] = copy.said.get(line, "") + copy.command(line)
    return copy


def test_every_file_of_the_page_is_shorter_than_twenty_lines() -> None:
    files = [(name, content) for _, name, content in blocks(PAGE.read_text(encoding="utf-8")) if name]
    assert len(files) == 13
    assert {name: content.count("\n") for name, content in files if content.count("\n") >= 20} == {}


def test_readme_shows_the_pages_own_files() -> None:
    shown = {name: content for _, name, content in blocks(PAGE.read_text(encoding="utf-8")) if name}
    for _, name, content in blocks((ROOT / "README.md").read_text(encoding="utf-8")):
        assert name is None or shown[name] == content, name


@pytest.mark.pipeline
def test_what_the_page_adds_is_asked_read_and_tabulated(executed: Copy) -> None:
    """Gold stands at D, B, C, B, and the model says B: 2 of 4 are right, and B is another option in every order."""
    rows = executed.main_table()
    assert list(rows) == ["Direct", "Cyclic", "Asked twice", "Hurried"]
    for strategy in ("Direct", "Asked twice", "Hurried"):
        assert (float(rows[strategy]["accuracy"]), float(rows[strategy]["flip"])) == (50.0, 100.0), strategy
    assert {row["benchmark"] for row in rows.values()} == {"Capitals"}
    assert {row["model"] for row in rows.values()} == {"Stubborn (simulated)"}


@pytest.mark.pipeline
def test_no_file_of_ours_is_touched(executed: Copy) -> None:
    changed = subprocess.run(
        ["git", "-C", str(executed.root), "diff", "--name-only"], check=True, capture_output=True, text=True
    ).stdout.split()
    # Pipelines are written from conf/ and hashes of code by their stage, never by hand.
    assert [name for name in changed if Path(name).name not in ("dvc.yaml", "dvc.lock", "reading.txt")] == []


@pytest.mark.pipeline
def test_each_strategy_asks_what_it_says(executed: Copy) -> None:
    folder = executed.root / "data/mine/generations/stubborn/capitals"
    twice, hurried = ((folder / f"{key}.jsonl").read_text(encoding="utf-8") for key in ("asked_twice", "hurried"))
    assert twice.count("Respond with only the letter.") == 2 * 4 * 4
    assert hurried.count("Respond with only the letter. Answer at once.") == 4 * 4


@pytest.mark.pipeline
def test_a_pipeline_names_another_packages_code_by_version_and_hash_and_no_path(executed: Copy) -> None:
    stages = yaml.safe_load(executed.pipeline())["stages"]
    assert re.search(r" settings=[0-9a-f]{12}$", stages["generate-hurried"]["cmd"])
    assert re.search(
        rf" settings=[0-9a-f]{{12}} package={PACKAGE}==0\.1\.0/[0-9a-f]{{12}}$", stages["score-hurried"]["cmd"]
    )
    for name in ("generate-hurried", "score-hurried"):
        assert not [one for one in stages[name]["params"] if "conf/strategy/hurried.yaml" in one]
    assert str(executed.installed) not in executed.pipeline()
    assert not [name for name, stage in stages.items() if "package=" in stage["cmd"] and "hurried" not in name]


@pytest.mark.pipeline
def test_another_version_of_the_package_is_refused_until_the_pipeline_is_written_again(executed: Copy) -> None:
    words = ("stablechoice", "score", "study=mine", "model=stubborn", "benchmark=capitals", "strategy=hurried")
    cmd = yaml.safe_load(executed.pipeline())["stages"]["score-hurried"]["cmd"]
    planned = next(word for word in cmd.split() if word.startswith("package="))
    executed.run(*words, planned)
    code = executed.installed / "hurried" / "__init__.py"
    before = code.read_text(encoding="utf-8")
    code.write_text(before + "\n# A comment is another code, too.\n", encoding="utf-8")
    try:
        said = executed.run(*words, planned, code=1)
        assert "dvc.yaml was written for another version of hurried" in said
        assert "make pipeline" in said
        assert "pipeline" in executed.run("stablechoice", "pipeline", "study=mine", "--check", code=1)
    finally:
        code.write_text(before, encoding="utf-8")


@pytest.mark.pipeline
def test_a_key_that_the_repository_has_too_is_refused(executed: Copy) -> None:
    file = executed.root / "conf/strategy/hurried.yaml"
    file.write_text((executed.root / "conf/strategy/direct.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    try:
        said = executed.run("stablechoice", "estimate", "study=mine", code=1)
        assert f"package {PACKAGE} brings a strategy of that name" in said
    finally:
        file.unlink()


@pytest.mark.pipeline
def test_a_mistake_in_another_packages_yaml_names_the_package(executed: Copy) -> None:
    file = executed.installed / "hurried/conf/strategy/hurried.yaml"
    before = file.read_text(encoding="utf-8")
    file.write_text(before.replace("ending:", "endin:"), encoding="utf-8")
    try:
        said = executed.run("stablechoice", "estimate", "study=mine", code=1)
        assert f"package {PACKAGE}, conf/strategy/hurried.yaml: unknown key 'endin'. Did you mean 'ending'?" in said
    finally:
        file.write_text(before, encoding="utf-8")
