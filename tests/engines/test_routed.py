"""Two routes for one model: each request by its step, jobs first, both routes in the identity."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stablechoice.engines.routed import RoutedEngine
from stablechoice.errors import ConfigError
from stablechoice.request import canonical_json
from tests.loopback.asking import answered, requests, routed_engine, routed_parts, until_error
from tests.loopback.batches import BatchProvider
from tests.loopback.http import Reply
from tests.loopback.provider import openai_error

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.usefixtures("key", "journal_here")


@pytest.fixture
def journal_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STABLECHOICE_JOURNAL", str(tmp_path / "journal"))


def test_each_request_goes_by_the_route_of_its_step_and_jobs_are_submitted_first(tmp_path: Path) -> None:
    wanted = [*requests(4, "free_text"), *requests(3, "direct_mcq"), *requests(2, "option_matching")]
    with BatchProvider() as provider:
        engine = routed_engine(provider.address, tmp_path, first={"served_as": "tiny-batch"}, reports_as=["tiny-1"])
        found = answered(engine, wanted)
        paths = [asked.path for asked in provider.asked]
        assert [(len(job.lines), job.lines[0][2]) for job in provider.jobs] == [(3, "tiny-batch")]
    assert paths.count("/v1/chat/completions") == 6
    assert paths.index("/v1/batches") < paths.index("/v1/chat/completions")
    assert [found[n].served_model for n in range(9)] == ["tiny-1"] * 4 + ["tiny-batch"] * 3 + ["tiny-1"] * 2
    assert engine.facts()["first"]["served_as"] == "tiny-batch"


def test_requests_of_one_route_alone_do_not_touch_the_other(tmp_path: Path) -> None:
    with BatchProvider() as provider:
        answered(routed_engine(provider.address, tmp_path), requests(4, "free_text"))
        assert not provider.jobs
        answered(routed_engine(provider.address, tmp_path), requests(4, "direct_mcq"))
        assert len(provider.jobs) == 1


def test_a_route_that_fails_does_not_keep_the_other_from_answering(tmp_path: Path) -> None:
    wanted = [*requests(4, "free_text"), *requests(3, "direct_mcq")]
    with BatchProvider(
        trigger=lambda at: Reply(401, openai_error("no")) if at == "before_accept" else None
    ) as provider:
        found, words = until_error(routed_engine(provider.address, tmp_path), wanted)
    assert "loopback_batch refuses the key" in words
    assert sorted(found) == [0, 1, 2, 3]


def test_identity_holds_both_routes_and_what_goes_by_which(tmp_path: Path) -> None:
    one = routed_engine("http://127.0.0.1:9", tmp_path)
    assert canonical_json(dict(one.identity())) == canonical_json(
        dict(routed_engine("http://127.0.0.1:9", tmp_path).identity())
    )
    others = [
        routed_engine("http://127.0.0.1:9", tmp_path, ("free_text",)),
        routed_engine("http://127.0.0.1:9", tmp_path, first={"served_as": "tiny-2"}),
        routed_engine("http://127.0.0.1:9", tmp_path, otherwise={"served_as": "tiny-2"}),
        routed_engine("http://127.0.0.1:10", tmp_path),
    ]
    assert len({canonical_json(dict(engine.identity())) for engine in [one, *others]}) == 5


@pytest.mark.parametrize(
    ("part", "change", "words"),
    [
        ("first", {"_target_": None}, "must pick a file of conf/engine for 'first'"),
        ("first", {"_target_": "stablechoice.engines.nowhere.Engine"}, "cannot be imported"),
        ("otherwise", {"base_ulr": "x"}, r"engine\.otherwise: unknown key 'base_ulr'"),
        ("first", {"jobs": None}, "'jobs'"),
    ],
)
def test_a_wrong_part_is_named(tmp_path: Path, part: str, change: dict[str, Any], words: str) -> None:
    given = routed_parts("http://127.0.0.1:9")
    given[part] |= change
    with pytest.raises(ConfigError, match=words):
        RoutedEngine(model={"key": "tiny", "root": str(tmp_path), "served_as": "x"}, steps=["direct_mcq"], **given)


def test_every_hosted_model_of_the_repository_is_built_and_identified_without_an_sdk_or_a_key() -> None:
    program = (
        "import sys; from pathlib import Path; from stablechoice.configuration import Configuration, choices\n"
        f"root = Path({str(ROOT)!r}); made = Configuration(root=root)\n"
        "keys = [key for key in choices(root / 'conf', 'model') if not key.endswith('-fp8')]  # one is left open\n"
        "engines = [made.model(key).engine for key in keys]\n"
        "assert all(engine.identity() for engine in engines)\n"
        "print(sorted({'openai', 'anthropic', 'httpx2', 'torch'} & set(sys.modules)))"
    )
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
