from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import huggingface_hub.constants  # noqa: F401, its default cache is settled before a test moves it
import pytest

from stablechoice.configuration import Configuration
from stablechoice.doctor.machine import Machine
from stablechoice.doctor.online import Hub
from stablechoice.doctor.page import LEVELS, Verdict
from stablechoice.doctor.place import Place
from stablechoice.doctor.studies import configurations, verdict, verdicts

OFFLINE = Place(Machine(2, 2**34, 2**36), Hub(False, "offline"), {"torch": "2.13.0+cpu"}, "no NVIDIA driver; get one")
PAPER_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "DEEPINFRA_API_KEY")


@pytest.fixture
def root(copied: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (*PAPER_KEYS, "STABLECHOICE_SOURCES", "STABLECHOICE_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return Path(shutil.copytree(copied, tmp_path / "repository"))


def study(root: Path, models: str) -> Verdict:
    """The pocket study with other models."""
    path = root / "conf/study/pocket.yaml"
    lines = path.read_text(encoding="utf-8").splitlines()
    lines = [f"models: {models}" if line.startswith("models:") else line for line in lines]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return verdict(Configuration(("study=pocket",), root), OFFLINE)


def answers(found: Verdict) -> dict[str, str]:
    assert not found.error
    return {level.name: level.answer for level in found.levels}


def why(found: Verdict, level: str) -> str:
    return " | ".join(next(one.why for one in found.levels if one.name == level))


def test_the_pocket_study_runs_offline_and_without_a_key(root: Path) -> None:
    found = verdict(Configuration(("study=pocket",), root), OFFLINE)
    assert answers(found) == dict(zip(LEVELS, ("cannot", "can", "no part"), strict=True))
    assert "stored generations of 0 of 32 cells" in why(found, "recompute")
    assert found.runs
    assert found.keys == {}
    # The 98 MB of the model's 4-bit file become about six times as much, once.
    assert 0.4 * 2**30 < found.wants < 1.0 * 2**30


@pytest.mark.parametrize(
    ("engine", "address", "expected"),
    [
        ("server", "http://localhost:8000/v1", ("can", "no part")),
        ("vllm", "http://127.0.0.1:0/v1", ("can", "no part")),
        ("server", "https://models.example.org/v1", ("no part", "can")),
    ],
)
def test_a_server_on_this_machine_is_a_local_model(
    engine: str, address: str, expected: tuple[str, str], root: Path
) -> None:
    (root / "conf/model/own.yaml").write_text(
        f"defaults:\n  - /engine@engine: {engine}\ntitle: Own\nsimulated: false\nserved_as: own-1\n"
        f"precision: undocumented\nengine: {{base_url: {address}}}\n",
        encoding="utf-8",
    )
    found = answers(study(root, "[own]"))
    assert (found["re-run local"], found["re-query APIs"]) == expected


def test_the_paper_study_lacks_questions_and_each_key_that_is_not_set(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-nobody")
    (root / ".env").write_text("ANTHROPIC_API_KEY=another-of-nobody\n", encoding="utf-8")
    found = verdict(Configuration(("study=paper",), root), OFFLINE)
    assert answers(found)["re-run local"] == "no part"
    assert dict(found.keys) == dict(zip(PAPER_KEYS, (True, True, False, False), strict=True))
    said = why(found, "re-query APIs")
    assert "not set: OPENROUTER_API_KEY, DEEPINFRA_API_KEY" in said
    assert "no questions of mmlu" in said
    assert "put mmlu_test.jsonl into data/sources" in found.questions["mmlu"]
    assert not found.runs
    assert "of-nobody" not in str(found)


def test_with_keys_and_questions_the_paper_study_runs(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in PAPER_KEYS:
        monkeypatch.setenv(name, "a-key-of-nobody")
    (tmp_path / "mmlu_test.jsonl").touch()
    (root / "data/sources/arc_challenge_test.jsonl").touch()
    monkeypatch.setenv("STABLECHOICE_SOURCES", str(tmp_path))
    found = verdict(Configuration(("study=paper",), root), OFFLINE)
    assert found.runs
    assert found.questions == {"mmlu": "in mmlu_test.jsonl", "arc_challenge": "in arc_challenge_test.jsonl"}
    # 1,140 and 1,172 questions, four models, ten strategies, 32 KiB each.
    assert found.wants == (1140 + 1172) * 4 * 10 * 32 * 1024
    full = replace(OFFLINE, machine=replace(OFFLINE.machine, free=2**31))
    assert "about 2.8 GiB are needed, 2.0 GiB are free" in why(
        verdict(Configuration(("study=paper",), root), full), "re-query APIs"
    )


def test_where_the_hub_is_reachable_questions_come_from_there(root: Path) -> None:
    found = verdict(Configuration(("study=paper",), root), replace(OFFLINE, hub=Hub(True)))
    assert found.questions["mmlu"] == "on the hub (cais/mmlu)"


def test_a_model_on_a_gpu_needs_one_and_torchs_cuda_build(root: Path) -> None:
    engine = root / "conf/engine/transformers.yaml"
    engine.write_text(engine.read_text(encoding="utf-8").replace("device: cpu", "device: cuda"), encoding="utf-8")
    assert "smollm2-135m computes on cuda: no NVIDIA driver; get one" in why(
        verdict(Configuration(("study=pocket",), root), OFFLINE), "re-run local"
    )
    with_card = replace(OFFLINE, gpu=None)
    assert "torch's CPU build is installed; run with RUNTIME=cuda" in why(
        verdict(Configuration(("study=pocket",), root), with_card), "re-run local"
    )
    ready = replace(with_card, packages={"nvidia-cuda-runtime": "13.0.96"})
    assert verdict(Configuration(("study=pocket",), root), ready).runs


def test_weights_that_are_not_here_are_named(root: Path) -> None:
    head = "defaults:\n  - /engine@engine: transformers\nsimulated: false\n"
    sha = "b" * 64
    files = {
        "hubbed": f"title: H\nhub: someone/model\nrevision: {'a' * 40}\n",
        "kept": f"title: K\nfolder: weights/mine\nsha256: {sha}\nchat_template_sha256: {sha}\n",
        "packed": f"title: P\npackage: stablechoice-no-such\nfile: m.gguf\nsha256: {sha}\n",
    }
    for name, text in files.items():
        (root / f"conf/model/{name}.yaml").write_text(head + text, encoding="utf-8")
    found = study(root, "[hubbed, kept, packed, simulated]")
    said = why(found, "re-run local")
    assert "hubbed: someone/model is not in the hub's cache and the hub is not reachable" in said
    assert "weights/mine is missing; put the model there" in said
    assert "package 'stablechoice-no-such', which carries m.gguf, is not installed" in said
    assert found.unknown == ("hubbed", "packed")
    (root / "weights/mine").mkdir(parents=True)
    (root / "conf/model/hubbed.yaml").write_text(head + files["hubbed"].replace("title: H", "title: H2"), "utf-8")
    snapshot = Path(root.parent / "hub/models--someone--model/snapshots" / ("a" * 40))
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}", encoding="utf-8")
    assert study(root, "[hubbed, kept, simulated]").runs


def test_a_study_that_is_broken_or_left_open_is_a_verdict_too_and_others_are_judged(root: Path) -> None:
    (root / "conf/study/open.yaml").write_text("defaults:\n  - /decoding@decoding: pocket\ntitle: ???\n", "utf-8")
    first, *rest = verdicts(configurations(root), OFFLINE)
    assert first.key == "pocket"
    assert first.runs
    (opened,) = [one for one in rest if one.key == "open"]
    assert "open (???)" in opened.error
    assert not opened.runs


def test_what_stops_every_run_stops_each_level(root: Path) -> None:
    found = verdict(
        Configuration(("study=pocket",), root),
        replace(OFFLINE, lacks=("packages: not installed: numpy; make install",)),
    )
    assert answers(found)["recompute"] == answers(found)["re-run local"] == "cannot"
    assert "packages: not installed: numpy; make install" in why(found, "re-run local")


def test_a_broken_env_file_is_named_and_not_called_a_missing_key(root: Path) -> None:
    (root / ".env").write_bytes(b"\xff\xfeOPENAI_API_KEY=x")
    said = why(verdict(Configuration(("study=paper",), root), OFFLINE), "re-query APIs")
    assert ".env" in said
    assert "not set: OPENAI_API_KEY" not in said
