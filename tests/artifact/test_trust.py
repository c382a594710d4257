"""A bundle's configuration may build the package's own engines and strategies alone."""

from __future__ import annotations

from typing import Any

import pytest

from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.trust import check_reader, check_targets
from stablechoice.configuration import Configuration, choices
from tests.conftest import ROOT


def test_classes_of_the_groups_own_room_pass() -> None:
    engine = {"engine": {"_target_": "stablechoice.engines.local.LocalEngine"}, "title": "os.system"}
    check_targets("model", "x", {**engine, "deep": [{"_target_": "stablechoice.engines.server.ServerEngine"}]})
    check_targets("strategy", "x", {"_target_": "stablechoice.strategies.pride.PriDe"})


@pytest.mark.parametrize("group", ["model", "strategy", "embedder"])
def test_every_file_of_this_repository_passes(group: str) -> None:
    configuration = Configuration(root=ROOT)
    for key in choices(ROOT / "conf", group):
        if "???" not in (ROOT / f"conf/{group}/{key}.yaml").read_text(encoding="utf-8"):
            check_targets(group, key, configuration.group(group, key))


@pytest.mark.parametrize(
    "values",
    [
        {"_target_": "os.system"},
        {"a": {"_target_": "subprocess.run"}},
        {"a": [{"_target_": "builtins.exec"}]},
        {"_target_": "stablechoice_other.X"},
        {"_target_": None},
        {"_target_": ["stablechoice.engines.a.B"]},
        # Part of the package, but a function that does what it is told, another room's class, or what a module imports.
        {"_target_": "stablechoice.cli.main"},
        {"_target_": "stablechoice.engines.local.os.system"},
        {"_target_": "stablechoice.engines.sdk.attempt"},
        {"_target_": "stablechoice.strategies.direct.Direct"},
        {"_target_": "stablechoice.engines.local.LocalEngine\n"},
        # What a module of the room imports, and what is not there.
        {"_target_": "stablechoice.engines.weights.Path"},
        {"_target_": "stablechoice.engines.local.Absent"},
        {"_target_": "stablechoice.engines.absent.Absent"},
        {"_target_": "stablechoice.runtime.server.Server"},
    ],
)
def test_any_other_target_is_named_and_refused(values: dict[str, Any]) -> None:
    with pytest.raises(BundleError, match=r"^conf/model/x.yaml: _target_ "):
        check_targets("model", "x", values)


def test_an_engine_that_starts_a_server_passes_as_a_models_and_nowhere_else() -> None:
    """It starts nothing before it is asked, which verifying never does."""
    served = {"engine": {"_target_": "stablechoice.runtime.served.ServedEngine"}}
    check_targets("model", "x", served)
    for group in ("strategy", "embedder"):
        with pytest.raises(BundleError, match="ServedEngine"):
            check_targets(group, "x", served)


def test_a_reader_is_none_or_one_of_the_packages() -> None:
    check_reader("x", None)
    check_reader("x", "stablechoice.questions.table_file.read_table")
    for reader in ("runpy.run_path", "stablechoice.cli.main", "stablechoice.questions.loading.os.system", ""):
        with pytest.raises(BundleError, match=r"^conf/benchmark/x.yaml: reader "):
            check_reader("x", reader)
