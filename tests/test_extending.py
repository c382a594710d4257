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

from stablechoice.artifact.licences import licences_of
from stablechoice.questions.loading import read_source
from tests.conftest import ROOT, copy_repository, environment

PAGE = ROOT / "docs" / "extending.md"
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
PACKAGE = "stablechoice-hurried"
LICENCES = "data/licences.csv"


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
        if language == "csv":
            with (copy.root / LICENCES).open("a", encoding="utf-8", newline="\n") as file:
                file.write(content)
        if language == "console":
            for line in content.splitlines():
                copy.said[line] = copy.said.get(line, "") + copy.command(line)
    return copy


def test_every_file_of_the_page_is_short_and_only_the_one_from_nothing_longer_than_thirty_lines() -> None:
    files = [(name, content) for _, name, content in blocks(PAGE.read_text(encoding="utf-8")) if name]
    assert len(files) == 16
    long = {name: content.count("\n") for name, content in files if content.count("\n") > 30}
    assert set(long) == {"src/stablechoice/strategies/reverse.py"}
    assert long.popitem()[1] <= 60


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's Python files where the page puts them, and nothing else."""
    folder = tmp_path_factory.mktemp("code")
    for language, name, content in blocks(PAGE.read_text(encoding="utf-8")):
        if language == "python" and name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8", newline="\n")
    return folder


@pytest.mark.parametrize("words", [("check",), ("format", "--check")])
def test_the_pages_code_passes_the_repositorys_own_lint(code: Path, words: tuple[str, ...]) -> None:
    # What the page imports is first-party wherever it lies: without this, imports would be sorted otherwise here.
    settings = ("--no-cache", "--config", str(ROOT / "pyproject.toml"), "--config", f"src = ['{ROOT / 'src'}', 'src']")
    ruff = [sys.executable, "-m", "ruff", *words, *settings, "."]
    done = subprocess.run(ruff, cwd=code, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pages_code_is_typed_as_strictly_as_the_repositorys(code: Path) -> None:
    """Each file as a module of its own name: none of them imports another of the page, but for the test."""
    files = [path for path in sorted(code.rglob("*.py")) if "tests" not in path.parts]
    assert len(files) == 5
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--follow-imports=silent"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *settings, *map(str, files)],
        cwd=ROOT,
        env=environment(MYPYPATH=str(ROOT / "src")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pages_jsonl_is_read_as_it_stands(tmp_path: Path) -> None:
    (rows,) = (content for language, _, content in blocks(PAGE.read_text(encoding="utf-8")) if language == "jsonl")
    (tmp_path / "rivers.jsonl").write_text(rows, encoding="utf-8", newline="\n")
    read = read_source(tmp_path / "rivers.jsonl")
    assert [question.options[question.gold] for question in read] == ["Danube", "Elbe"]


def test_readme_shows_the_pages_own_files() -> None:
    shown = {name: content for _, name, content in blocks(PAGE.read_text(encoding="utf-8")) if name}
    for _, name, content in blocks((ROOT / "README.md").read_text(encoding="utf-8")):
        assert name is None or shown[name] == content, name


@pytest.mark.pipeline
def test_what_the_page_adds_is_asked_read_and_tabulated(executed: Copy) -> None:
    """Gold stands at D, B, C, B, and the model says B: 2 of 4 are right, and B is another option in every order.

    Backwards, B is option C of four: the two orders never agree, which is read, and wrong.
    """
    rows = executed.main_table()
    assert list(rows) == ["Direct", "Cyclic", "Asked twice", "Reverse", "Hurried"]
    assert (float(rows["Reverse"]["accuracy"]), float(rows["Reverse"]["unscored"])) == (0.0, 0.0)
    assert rows["Reverse"]["flip"] == "not defined"
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
    # A new model's and a new benchmark's licence is the one line that is added to a file of ours.
    assert [n for n in changed if Path(n).name not in ("dvc.yaml", "dvc.lock", "reading.txt")] == [LICENCES]


@pytest.mark.pipeline
def test_what_the_page_adds_keeps_the_repositorys_own_tests_of_configuration(executed: Copy) -> None:
    licences = licences_of(executed.root, [("model", "stubborn"), ("benchmark", "capitals")])
    assert [one.title for one in licences] == ["Stubborn (no language model)", "Capitals"]
    added = "asked_twice or reverse or capitals or stubborn or mine or offered or lists_of_their_own"
    files = ("strategies/test_configs.py", "questions/test_source.py", "artifact/test_licences.py")
    said = executed.run(
        "pytest", *(f"tests/{file}" for file in files), "tests/test_configuration.py", "-k", added, "-rA"
    )
    for name in ("asked_twice.yaml", "reverse.yaml", "[capitals]", "[stubborn]", "study/mine.yaml"):
        assert re.search(rf"PASSED .*{re.escape(name)}", said), name


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
