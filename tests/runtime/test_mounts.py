from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.mounts import INSIDE, Bind, binds, environment, hub_cache, make_missing, tidy
from stablechoice.runtime.needs import Needs


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    for folder in ("src", "conf", "data/sources", "data/published", ".dvc", ".git", "tests"):
        (root / folder).mkdir(parents=True)
    for file in (".dvc/config", ".dvc/config.local", ".dvcignore", ".env"):
        (root / file).write_text("x\n", encoding="utf-8")
    return root


def targets(found: list[Bind], *, read_only: bool) -> set[str]:
    return {str(b.target.relative_to(INSIDE)) for b in found if b.read_only is read_only}


def test_code_configuration_and_inputs_are_only_read(repository: Path) -> None:
    found = binds(repository, {}, Needs())
    assert targets(found, read_only=True) == {
        "src",
        "conf",
        "data/sources",
        "data/published",
        ".dvc/config",
        ".dvcignore",
    }
    assert targets(found, read_only=False) == {"data", ".dvc/cache", ".journal", "models", "dvc.yaml", "dvc.lock"}


def test_history_keys_and_remote_passwords_stay_outside(repository: Path) -> None:
    sources = {bind.source for bind in binds(repository, {}, Needs())}
    for name in (".git", ".env", ".dvc/config.local", ".dvc", "tests"):
        assert repository / name not in sources
    assert repository not in sources


def test_a_folder_stands_before_what_lies_inside_it(repository: Path) -> None:
    order = [str(bind.target) for bind in binds(repository, {}, Needs())]
    assert order.index("/repository/data") < order.index("/repository/data/sources")


def test_folders_that_variables_move_are_found_where_they_are(repository: Path, tmp_path: Path) -> None:
    moved = {
        "STABLECHOICE_JOURNAL": str(tmp_path / "journal"),
        "STABLECHOICE_MODELS": str(tmp_path / "weights"),
        "STABLECHOICE_SOURCES": str(tmp_path / "questions"),
    }
    where = {str(b.target): (b.source, b.read_only) for b in binds(repository, moved, Needs())}
    assert where["/repository/.journal"] == (tmp_path / "journal", False)
    assert where["/repository/models"] == (tmp_path / "weights", False)
    assert where["/sources"] == (tmp_path / "questions", True)
    assert environment(moved, Needs()) == {"STABLECHOICE_SOURCES": "/sources"}


def test_a_link_is_followed_since_its_target_is_not_seen_inside(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (repository / "models").symlink_to(tmp_path / "disk")
    where = {str(b.target): b.source for b in binds(repository, {}, Needs())}
    assert where["/repository/models"] == tmp_path / "disk"


def test_models_in_folders_are_read_where_the_configuration_says(repository: Path, tmp_path: Path) -> None:
    needs = Needs(folders=("models/mine", "weights/other", str(tmp_path / "far")))
    where = {str(b.target): (b.source, b.read_only) for b in binds(repository, {}, needs)}
    assert "/repository/models/mine" not in where  # inside a folder that is there already
    assert where["/repository/weights/other"] == (repository / "weights/other", True)
    assert where[str(tmp_path / "far")] == (tmp_path / "far", True)


def test_the_hubs_cache_is_found_by_its_own_rules_and_only_read(repository: Path) -> None:
    needs = Needs(hub=(("a/b", "0" * 40),))
    assert hub_cache({"HF_HUB_CACHE": "/h"}) == Path("/h")
    assert hub_cache({"HF_HOME": "/h"}) == Path("/h/hub")
    assert hub_cache({"XDG_CACHE_HOME": "/c"}) == Path("/c/huggingface/hub")
    assert hub_cache({}) == Path.home() / ".cache/huggingface/hub"
    bound = binds(repository, {"HF_HOME": "/h"}, needs)
    assert Bind(Path("/h/hub"), PurePosixPath("/hub")) in bound
    assert environment({}, needs) == {"HF_HUB_CACHE": "/hub"}


def test_what_a_run_writes_to_is_made_by_the_caller_and_unused_files_go_again(repository: Path) -> None:
    bound = binds(repository, {}, Needs())
    made = make_missing(bound)
    assert {path.name for path in made} == {"dvc.yaml", "dvc.lock"}
    assert all(bind.source.exists() for bind in bound)
    (repository / "dvc.yaml").write_text("stages: {}\n", encoding="utf-8")
    tidy(made)
    assert (repository / "dvc.yaml").is_file()
    assert not (repository / "dvc.lock").exists()
    assert make_missing(bound) == [repository / "dvc.lock"]


def test_an_empty_cache_of_the_hub_is_made(repository: Path, tmp_path: Path) -> None:
    needs = Needs(hub=(("a/b", "0" * 40),))
    make_missing(binds(repository, {"HF_HUB_CACHE": str(tmp_path / "hub")}, needs))
    assert (tmp_path / "hub").is_dir()


def test_an_input_that_is_missing_is_named(repository: Path, tmp_path: Path) -> None:
    bound = binds(repository, {"STABLECHOICE_SOURCES": str(tmp_path / "nowhere")}, Needs())
    with pytest.raises(ContainerError, match="nowhere: is missing"):
        make_missing(bound)


def test_a_folder_that_cannot_be_made_is_named(repository: Path) -> None:
    (repository / "models").write_text("a file\n", encoding="utf-8")
    with pytest.raises(ContainerError, match=r"models: cannot be made \(File exists\)"):
        make_missing(binds(repository, {}, Needs()))
