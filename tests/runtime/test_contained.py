"""`reproduce` in a container against the same command run natively."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from stablechoice.runtime.contained import enclosure, runs
from stablechoice.runtime.daemon import Daemon, Facts
from stablechoice.runtime.image import Image
from stablechoice.runtime.mounts import binds, make_missing
from stablechoice.runtime.needs import Needs
from tests.runtime.small_study import RESULTS, STRANGER, WRITTEN, Said, answers, command, digests, ended, run, tiny


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
    code, out, err = ended(command(root, "native", "until=analyse"))
    assert code == 0, out + err
    assert not out.startswith("runtime:")  # nobody asked
    return root


@pytest.fixture(scope="module")
def contained_run(cpu: Image, source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A copy in which `auto` has run the study in a container, and what it said on standard output."""
    root = tiny(Path(shutil.copytree(source, tmp_path_factory.mktemp("contained") / "repository")))
    code, out, err = ended(command(root, "auto", "until=analyse"))
    assert code == 0, out + err
    return root, out


@pytest.mark.docker
@pytest.mark.pipeline
@pytest.mark.model
def test_a_container_gives_the_same_bytes_as_a_native_run(native: Path, contained_run: tuple[Path, str]) -> None:
    root, _ = contained_run
    assert digests(root) == digests(native)
    assert len(list((root / "data/pocket/observations").rglob("*.jsonl"))) == 4  # strategies
    for kind in RESULTS:
        assert any(path.startswith(f"data/pocket/{kind}/") for path in digests(root))


@pytest.mark.docker
@pytest.mark.pipeline
@pytest.mark.model
def test_the_first_line_says_where_the_run_is(contained_run: tuple[Path, str], cpu: Image) -> None:
    first = contained_run[1].splitlines()[0]
    assert first.startswith(f"runtime: container (an engine answers; image {cpu.reference}, id {cpu.short}, engine ")


@pytest.mark.docker
@pytest.mark.pipeline
@pytest.mark.model
def test_run_again_in_a_container_nothing_is_to_do(contained_run: tuple[Path, str], native: Path) -> None:
    root, _ = contained_run
    code, out, err = ended(command(root, "cpu", "until=analyse"))
    assert code == 0, out + err
    assert "nothing to do" in out
    assert digests(root) == digests(native)


@pytest.mark.docker
@pytest.mark.pipeline
def test_provenance_names_image_and_commit_though_no_git_is_inside(contained_run: tuple[Path, str], cpu: Image) -> None:
    root, _ = contained_run
    facts = json.loads((root / "data/pocket/provenance/smollm2-135m/answering.json").read_text(encoding="utf-8"))
    image = facts["machine"]["container"]
    assert (image["id"], image["digest"], image["layers_sha256"]) == (cpu.id, cpu.digest, cpu.layers_sha256)
    head = ["git", "-C", str(root), "rev-parse", "HEAD"]
    assert facts["source"]["commit"] == subprocess.run(head, check=True, capture_output=True, text=True).stdout.strip()
    assert facts["source"]["dirty"] is True  # the study was cut down


@pytest.mark.docker
@pytest.mark.pipeline
@pytest.mark.model
def test_every_file_that_a_run_makes_is_the_callers(
    contained_run: tuple[Path, str], native: Path, tmp_path: Path
) -> None:
    """The repository of a user whom the image does not know: results are made anew from the journal."""
    root = Path(shutil.copytree(contained_run[0], tmp_path / "repository", symlinks=True))
    results = [root / "data/pocket" / kind for kind in ("generations", "observations")]
    for path in (*results, root / ".dvc/cache", *root.rglob("dvc.lock")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    caller = (os.getuid(), os.getgid())
    if os.getuid() == 0:
        caller = (STRANGER, STRANGER)
        make_missing(binds(root, {}, Needs()))
        for name in WRITTEN:
            for path in [root / name, *(root / name).rglob("*")]:
                os.lchown(path, *caller)
    said = Said()
    assert run(root, "cpu", said, caller, until="score") == 0, str(said)
    kept = {path: sha256 for path, sha256 in digests(native).items() if not path.endswith("dvc.lock")}
    assert kept.items() <= digests(root).items()
    made = [path for name in WRITTEN for path in [root / name, *(root / name).rglob("*")]]
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in made} == {caller}


@pytest.mark.docker
@pytest.mark.pipeline
@pytest.mark.model
def test_ctrl_c_ends_the_container_and_keeps_what_was_answered(
    daemon: Daemon, cpu: Image, native: Path, source: Path, tmp_path: Path
) -> None:
    root = tiny(Path(shutil.copytree(source, tmp_path / "repository")))
    shutil.copytree(native / "models", root / "models")  # converted already
    (root / "conf/decoding/pocket.yaml").write_text(
        "temperature: 0.0\nmax_new_tokens: 400\nseed: 42\n", encoding="utf-8"
    )
    process = command(root, "cpu", "until=analyse")
    deadline = time.monotonic() + 1200
    while answers(root) == 0 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    code, out, err = ended(process)
    assert code == 130, out + err
    assert "interrupted; what was answered is kept, run it again to continue" in err
    assert answers(root) > 0
    name = enclosure(root, (), {}, Needs(), daemon.facts, cpu).name
    assert name not in {container.name for container in daemon.client.containers.list(all=True)}


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
