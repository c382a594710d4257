from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stablechoice.doctor.finding import Finding
from stablechoice.doctor.packages import against_locks, installed, interpreter, kind

HERE = installed()
PRESENT = {"numpy": "2.4.6", "torch": "2.13.0+cpu", "pytest": "9.2.0", "the-model": "0.1.2", "scipy": "1.17.1"}


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    hashes = " \\\n    --hash=sha256:00\n"
    for lock in ("cpu", "cuda"):
        pins = ["numpy==2.4.6", "torch==2.13.0", "pytest==9.2.0", "scipy==1.17.1"]
        pins += ["nvidia-cuda-runtime==13.0.96"] if lock == "cuda" else []
        (tmp_path / f"{lock}.lock").write_text("".join(pin + hashes for pin in pins), encoding="utf-8")
    (tmp_path / "models.lock").write_text("the_model==0.1.2" + hashes, encoding="utf-8")
    (tmp_path / "dev.in").write_text("# tools\npytest==9.2.0\n", encoding="utf-8")
    return tmp_path


def without(*names: str, **others: str) -> dict[str, str]:
    return {name: version for name, version in {**PRESENT, **others}.items() if name not in names}


def test_the_locks_own_python_is_good_and_another_is_a_lack_with_a_way_out() -> None:
    assert interpreter((3, 11, 9)) == Finding("Python", "good", "3.11.9")
    found = interpreter((3, 12, 1))
    assert (found.state, found.what) == ("lack", "3.12.1, and the locks were made for 3.11")
    assert "make install PYTHON=" in found.remedy


def test_an_environment_as_the_locks_say_is_one_good_line(requirements: Path) -> None:
    # A build's own mark, as torch's CPU build has, is no other version.
    assert against_locks(requirements, PRESENT) == [
        Finding("packages", "good", "5 as cpu.lock and models.lock say")
    ]  # fmt: skip


def test_what_a_run_needs_is_a_lack_and_what_tests_need_a_note(requirements: Path) -> None:
    found = against_locks(requirements, without("scipy", "pytest"))
    assert [(f.subject, f.state, f.what) for f in found] == [
        ("packages", "lack", "not installed: scipy 1.17.1"),
        ("tools", "note", "not installed: pytest 9.2.0"),
    ]
    (model,) = against_locks(requirements, without("the-model"))
    assert (model.subject, model.state, model.remedy) == ("model packages", "lack", "make install")


def test_each_other_version_is_named_with_both_and_stops_nothing(requirements: Path) -> None:
    found = against_locks(requirements, without(numpy="2.4.5", scipy="1.17.1.post1"))
    assert [(f.state, f.what) for f in found] == [
        ("note", "numpy 2.4.5, and the lock has 2.4.6: numbers may differ"),
        ("note", "scipy 1.17.1.post1, and the lock has 1.17.1: numbers may differ"),
    ]


def test_an_environment_of_something_else_is_not_listed_package_by_package(requirements: Path) -> None:
    (found,) = against_locks(requirements, {"pytest": "8.0"})
    assert (found.state, found.what) == ("lack", "4 of the 5 of cpu.lock and models.lock are not installed")


def test_torchs_cuda_build_is_compared_with_its_own_lock(requirements: Path) -> None:
    present = without(**{"nvidia-cuda-runtime": "13.0.96"})
    assert kind(present) == "cuda"
    (found,) = against_locks(requirements, present)
    assert found.what == "6 as cuda.lock and models.lock say"


def test_a_lock_that_is_not_there_is_named(requirements: Path) -> None:
    (requirements / "models.lock").unlink()
    (found,) = against_locks(requirements, PRESENT)
    assert found.state == "lack"
    assert found.what.endswith("models.lock: No such file or directory")


@given(st.sets(st.sampled_from(sorted(PRESENT)), max_size=2), st.sampled_from(["1.0", "3.12.9", "99.0.post1"]))
@settings(deadline=None, max_examples=40)
def test_every_difference_is_named_and_nothing_else(absent: set[str], version: str) -> None:
    root = Path(__file__).parents[2] / "requirements"
    changed = {**{name: found for name, found in HERE.items() if name not in absent}, "orjson": version}
    added = {f.what for f in against_locks(root, changed)} - {f.what for f in against_locks(root, HERE)}
    said = " ".join(added)
    assert f"orjson {version}, and the lock has {HERE['orjson']}" in said
    for name in PRESENT.keys() & HERE.keys():
        assert (f"{name} " in said) is (name in absent)


def test_this_environments_own_packages_are_found_by_their_normal_names() -> None:
    found = installed()
    assert found["typing-extensions"] == metadata.version("typing_extensions")
    assert found["pyyaml"] == metadata.version("PyYAML")


def test_in_a_bare_environment_the_page_still_comes_and_says_what_to_do(root: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    done = subprocess.run(
        [str(bare / "bin" / "python"), "-m", "stablechoice", "doctor"],
        cwd=root,
        env={"PYTHONPATH": str(root / "src"), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 1
    assert "cpu.lock and models.lock are not installed" in done.stdout
    assert "→ make install" in done.stdout
    assert done.stdout.endswith("studies are looked at once the packages are installed.\n")


def test_a_lock_that_is_no_text_is_a_lack(requirements: Path) -> None:
    (requirements / "cpu.lock").write_bytes(b"\xff\xfe\x00")
    found = against_locks(requirements, PRESENT)
    assert [(one.state, one.remedy) for one in found] == [("lack", "restore it with git")]
