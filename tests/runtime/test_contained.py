"""`reproduce` in a container against the same command run natively."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from stablechoice.configuration import Configuration
from stablechoice.runtime.contained import Streams, contained, enclosure, runs
from stablechoice.runtime.daemon import Daemon, Facts
from stablechoice.runtime.failure import ContainerError
from stablechoice.runtime.image import Image, Recipe
from stablechoice.runtime.mounts import binds, make_missing
from stablechoice.runtime.needs import Needs
from tests.conftest import environment

WORDS = ("study=pocket",)
STRANGER = 4321
WRITTEN = ("data", ".journal", "models", ".dvc/cache", "dvc.yaml", "dvc.lock")
"""What a run may write to."""


def tiny(root: Path) -> Path:
    """Six questions, a simulated model, four strategies: one of them reads with the real sentence embedder."""
    sample = "{rule: ranked_mix, name: pocket-sample-v1, seed: 42, mix: {3: 1, 4: 4, 5: 1}, relational: 1}"
    edits = {
        "benchmark/pocket_qa.yaml": {"sample": sample},
        "study/pocket.yaml": {
            "models": "[simulated]",
            "benchmarks": "[pocket_qa]",
            "strategies": "[direct, cyclic, two_stage, hidden_semantic]",
            "resamples": "200",
        },
    }
    for file, values in edits.items():
        path = root / "conf" / file
        text = path.read_text(encoding="utf-8")
        for key, value in values.items():
            text, count = re.subn(rf"(?m)^{key}: .*$", f"{key}: {value}", text)
            assert count == 1, f"{file} has no line {key}"
        path.write_text(text, encoding="utf-8")
    return root


@dataclass
class Said:
    """A run's output."""

    out: io.BytesIO = field(default_factory=io.BytesIO)
    err: io.BytesIO = field(default_factory=io.BytesIO)

    @property
    def streams(self) -> Streams:
        return Streams(self.out, self.err)

    def __str__(self) -> str:
        return self.out.getvalue().decode() + self.err.getvalue().decode()


def run(root: Path, runtime: str, said: Said, caller: tuple[int, int] | None = None, **more: str) -> int | None:
    environ = {**os.environ, "RUNTIME": runtime, **more}
    return contained(Configuration(WORDS, root), (*WORDS, "until=analyse"), environ, said.streams, caller)


def digests(root: Path) -> dict[str, str]:
    """Everything that a run makes and that is versioned or compared."""
    folders = [root / "data/pocket" / kind for kind in ("generations", "observations", "tables", "figures")]
    files = [f for folder in folders for f in sorted(folder.rglob("*")) if f.is_file()]
    files += [
        root / "data/pocket/metrics.json",
        root / "dvc.lock",
        root / "dvc.yaml",
        root / "data/manifests/pocket_qa.csv",
    ]
    return {str(f.relative_to(root)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def test_where_nothing_is_asked_a_run_is_native_without_a_word(root: Path) -> None:
    said = Said()
    assert run(root, "native", said) is None
    assert run(root, "cpu", said, STABLECHOICE_IMAGE="cpu") is None
    assert str(said) == ""


def test_auto_without_an_engine_says_first_that_the_run_is_native(root: Path, tmp_path: Path) -> None:
    said = Said()
    assert run(root, "auto", said, DOCKER_HOST=f"unix://{tmp_path}/none.sock") is None
    assert str(said).startswith("runtime: native (no Docker engine answers at unix://")


def image(**more: object) -> Image:
    values = {"kind": "cpu", "reference": "r", "id": "sha256:1", "digest": None, "layers_sha256": "2", "commit": "3"}
    return Image(**{**values, "lock_sha256": "4", "recipe_sha256": "5", "engine": "6", **more})  # type: ignore[arg-type]


FACTS = Facts(version="26.1", cpus=4, memory=2**34)


def test_a_run_inside_is_told_its_image_and_the_checkouts_state(root: Path) -> None:
    box = enclosure(root, ("reproduce", "study=pocket"), {}, Needs(), FACTS, image())
    assert box.image == "sha256:1"
    assert box.command == ("reproduce", "study=pocket")
    assert json.loads(box.environment["STABLECHOICE_IMAGE"])["layers_sha256"] == "2"
    assert set(json.loads(box.environment["STABLECHOICE_SOURCE"])) == {"commit", "dirty"}
    assert box.environment["HF_HUB_OFFLINE"] == "1"
    assert "OMP_NUM_THREADS" not in box.environment
    assert (box.network, box.gpu, box.security, box.user_namespace) == ("none", False, (), None)
    assert box.user == f"{os.getuid()}:{os.getgid()}"


def test_what_chooses_kernels_is_handed_on_and_nothing_else_of_the_environment(root: Path) -> None:
    environ = {"OPENBLAS_CORETYPE": "HASWELL", "OMP_NUM_THREADS": "3", "HOME": "/home/a", "SECRET": "s"}
    box = enclosure(root, (), {**environ, "STABLECHOICE_CPUS": "2"}, Needs(), FACTS, image())
    assert {k: v for k, v in box.environment.items() if k in environ} == {
        "OPENBLAS_CORETYPE": "HASWELL",
        "OMP_NUM_THREADS": "3",
    }


def test_fewer_cores_mean_fewer_threads(root: Path) -> None:
    box = enclosure(root, (), {"STABLECHOICE_CPUS": "1.5"}, Needs(), FACTS, image())
    assert box.environment["OMP_NUM_THREADS"] == "2"
    assert box.arguments()["nano_cpus"] == 1_500_000_000


def test_hosted_models_get_the_network_and_the_one_key_that_their_route_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("A_KEY=from-file\nB_KEY=other\n", encoding="utf-8")
    monkeypatch.delenv("MISSING_KEY", raising=False)
    needs = Needs(network="bridge", keys=(("A_KEY", "conf/engine/a.yaml"), ("MISSING_KEY", "conf/engine/m.yaml")))
    box = enclosure(tmp_path, (), {}, needs, FACTS, image())
    assert box.network == "bridge"
    assert box.environment["A_KEY"] == "from-file"
    assert not {"B_KEY", "MISSING_KEY", "HF_HUB_OFFLINE"} & set(box.environment)


def test_the_callers_files_stay_the_callers_on_every_kind_of_engine(root: Path) -> None:
    rootless = enclosure(root, (), {}, Needs(), replace(FACTS, rootless=True), image())
    remapped = enclosure(root, (), {}, Needs(), replace(FACTS, remapped=True), image())
    labelled = enclosure(root, (), {}, Needs(), replace(FACTS, selinux=True), image(kind="cuda"))
    assert (rootless.user, rootless.groups) == ("0:0", ())  # user 0 of a rootless engine is who runs it
    assert remapped.user_namespace == "host"
    assert labelled.security == ("label=disable",)
    assert labelled.gpu


def test_questions_are_fetched_apart_so_that_local_models_run_without_a_network(root: Path) -> None:
    local = Needs(hub=(("a/b", "0" * 40),), online=("mmlu",))
    box = enclosure(root, ("reproduce", "study=paper-local"), {}, local, FACTS, image())
    fetching, running = runs(box, local, "paper-local")
    assert (fetching.network, fetching.command) == ("bridge", ("reproduce", "study=paper-local", "until=sample"))
    assert not {"HF_HUB_OFFLINE", "HF_HUB_CACHE"} & set(fetching.environment)
    assert running is box
    assert (box.network, box.environment["HF_HUB_CACHE"]) == ("none", "/hub")
    assert runs(box, replace(local, online=()), "paper-local") == [box]
    hosted = replace(box, network="bridge")
    assert runs(hosted, local, "paper-local") == [hosted]


def test_two_repositories_have_containers_of_two_names(root: Path, tmp_path: Path) -> None:
    here, there = (enclosure(r, (), {}, Needs(), FACTS, image()).name for r in (root, tmp_path))
    assert here != there
    assert here.startswith("stablechoice-")


@pytest.fixture(scope="module")
def native(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tiny(Path(shutil.copytree(source, tmp_path_factory.mktemp("native") / "repository")))
    command = ["stablechoice", "reproduce", *WORDS, "until=analyse"]
    # DVC writes stages in the order of a set; `make` fixes it, and so does the image.
    given = environment(PYTHONPATH=str(root / "src"), PYTHONHASHSEED="0")
    given.pop("RUNTIME", None)
    done = subprocess.run(command, cwd=root, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return root


@pytest.fixture(scope="module")
def contained_run(cpu: Image, source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    """A copy in which `auto` has run the study in a container, for a caller who is nobody inside."""
    root = tiny(Path(shutil.copytree(source, tmp_path_factory.mktemp("contained") / "repository")))
    caller = None
    if os.getuid() == 0:
        # The repository of a user who is not root, as on most machines.
        make_missing(binds(root, {}, Needs()))
        for name in WRITTEN:
            for path in [root / name, *(root / name).rglob("*")]:
                os.lchown(path, STRANGER, STRANGER)
        caller = (STRANGER, STRANGER)
    said = Said()
    assert run(root, "auto", said, caller) == 0, str(said)
    return root, said


@pytest.mark.docker
@pytest.mark.pipeline
def test_a_container_gives_the_same_bytes_as_a_native_run(native: Path, contained_run: tuple[Path, Said]) -> None:
    root, _ = contained_run
    assert digests(root) == digests(native)
    assert len(list((root / "data/pocket/observations").rglob("*.jsonl"))) == 4


@pytest.mark.docker
@pytest.mark.pipeline
def test_the_first_line_says_where_the_run_is(contained_run: tuple[Path, Said], cpu: Image) -> None:
    first = contained_run[1].out.getvalue().decode().splitlines()[0]
    assert first.startswith(f"runtime: container (an engine answers; image {cpu.reference}, id {cpu.short}, engine ")


@pytest.mark.docker
@pytest.mark.pipeline
def test_every_file_that_a_run_makes_is_the_callers(contained_run: tuple[Path, Said]) -> None:
    root, _ = contained_run
    made = [path for name in WRITTEN for path in [root / name, *(root / name).rglob("*")]]
    assert len(made) > 50
    owners = {(path.lstat().st_uid, path.lstat().st_gid) for path in made}
    assert owners == {(STRANGER, STRANGER) if os.getuid() == 0 else (os.getuid(), os.getgid())}


@pytest.mark.docker
@pytest.mark.pipeline
def test_provenance_names_image_and_commit_though_no_git_is_inside(
    contained_run: tuple[Path, Said], cpu: Image
) -> None:
    root, _ = contained_run
    facts = json.loads((root / "data/pocket/provenance/simulated/answering.json").read_text(encoding="utf-8"))
    image = facts["machine"]["container"]
    assert (image["id"], image["digest"], image["layers_sha256"]) == (cpu.id, cpu.digest, cpu.layers_sha256)
    head = ["git", "-C", str(root), "rev-parse", "HEAD"]
    assert facts["source"]["commit"] == subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()
    assert facts["source"]["dirty"] is True  # the study was cut down


@pytest.mark.docker
@pytest.mark.pipeline
def test_run_again_in_a_container_nothing_is_to_do(contained_run: tuple[Path, Said], native: Path) -> None:
    root, _ = contained_run
    said = Said()
    code = run(root, "cpu", said, (STRANGER, STRANGER) if os.getuid() == 0 else None)
    assert code == 0, str(said)
    assert "nothing to do" in str(said)
    assert digests(root) == digests(native)


@pytest.mark.docker
def test_mounted_code_wins_over_the_images_own(daemon: Daemon, cpu: Image, source: Path, tmp_path: Path) -> None:
    from stablechoice.runtime.container import run as run_box

    root = Path(shutil.copytree(source, tmp_path / "repository"))
    (root / "src/stablechoice/__init__.py").write_text('__version__ = "edited"\n', encoding="utf-8")
    box = enclosure(root, ("--version",), {}, Needs(), daemon.facts, cpu)
    make_missing(list(box.binds))
    out = io.BytesIO()
    run_box(daemon.client, replace(box, user=f"{os.getuid()}:{os.getgid()}"), out, io.BytesIO())
    assert out.getvalue() == b"stablechoice edited\n"


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
