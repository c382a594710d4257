"""What keeps a contained run from beginning or from ending well: a sentence each, with what to do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from stablechoice.configuration import Configuration
from stablechoice.runtime.contained import contained
from stablechoice.runtime.daemon import Daemon
from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.image import Image, Recipe
from tests.disks import small_disk
from tests.runtime.small_study import WORDS, Said, command, ended, run, tiny


@pytest.mark.docker
def test_a_disk_that_fills_up_is_named_with_what_to_do(cpu: Image, source: Path, tmp_path: Path) -> None:
    root = tiny(Path(shutil.copytree(source, tmp_path / "repository")))
    study = root / "conf/study/pocket.yaml"
    study.write_text(study.read_text(encoding="utf-8").replace("[smollm2-135m]", "[simulated]"), encoding="utf-8")
    with small_disk(tmp_path / "disk", "48k") as disk:
        said = Said()
        assert run(root, "cpu", said, STABLECHOICE_JOURNAL=str(disk)) == 1
    assert "disk is full" in str(said)
    assert "free space" in str(said)


def test_the_command_without_an_engine_says_what_to_do(source: Path, tmp_path: Path) -> None:
    process = command(source, "cpu", DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    code, out, err = ended(process)
    assert (code, out) == (1, "")
    assert f"no Docker engine answers at unix://{tmp_path}/none.sock; start it" in err
    assert "Traceback" not in err


@pytest.mark.docker
def test_an_image_that_is_missing_and_cannot_be_built_is_refused(
    daemon: Daemon, building: dict[str, str], source: Path, tmp_path: Path
) -> None:
    root = tiny(Path(shutil.copytree(source, tmp_path / "repository")))
    with (root / "Dockerfile.cpu").open("a", encoding="utf-8") as file:
        file.write("RUN echo another recipe && false\n")
    with pytest.raises(ContainerError, match="`docker` command, which builds images, is not installed"):
        run(root, "cpu", Said(), PATH=str(tmp_path))
    with pytest.raises(ContainerError, match=r"building stablechoice:cpu-.* failed \(exit code 1\)"):
        run(root, "cpu", Said(), STABLECHOICE_BUILD=building["STABLECHOICE_BUILD"])
    assert not (root / ".journal").exists()


@pytest.mark.docker
def test_a_failing_command_inside_ends_with_its_own_code_and_words(cpu: Image, source: Path, tmp_path: Path) -> None:
    root = tiny(Path(shutil.copytree(source, tmp_path / "repository")))
    (root / "dvc.lock").unlink(missing_ok=True)
    said = Said()
    environ = {**os.environ, "RUNTIME": "cpu"}
    assert contained(Configuration(WORDS, root), (*WORDS, "until=nowhere"), environ, said.streams) == 1
    assert "until=nowhere: no such step" in str(said)
    assert not (root / "dvc.lock").exists()  # made for the container, and unused


@pytest.mark.docker
def test_out_of_memory_ends_with_137_and_a_sentence(cpu: Image, source: Path, tmp_path: Path) -> None:
    root = tiny(Path(shutil.copytree(source, tmp_path / "repository")))
    said = Said()
    assert run(root, "cpu", said, STABLECHOICE_MEMORY="16m") == 137
    assert "stablechoice: out of memory" in str(said)


@pytest.mark.docker
def test_cuda_on_a_machine_without_a_card_is_refused_before_anything_runs(
    cuda: Image, cuda_recipe: Recipe, tmp_path: Path
) -> None:
    assert cuda.kind == "cuda"
    if Path("/proc/driver/nvidia").exists():
        pytest.skip("this machine has a card")
    root = tiny(Path(shutil.copytree(cuda_recipe.root, tmp_path / "repository")))
    with pytest.raises(ContainerError, match=r"no GPU to a container.*NVIDIA container toolkit"):
        run(root, "cuda", Said())
    assert not (root / ".journal").exists()
