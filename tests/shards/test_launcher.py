"""Launchers' files: composed by Hydra, checked against the plugin's keys, and handed on by submitit's names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stablechoice.errors import ConfigError
from stablechoice.shards.launcher import compose_launcher, is_launcher_word

pytest.importorskip("hydra_plugins.hydra_submitit_launcher", reason="pip install hydra-submitit-launcher")


def composed(root: Path, *overrides: str) -> Any:
    return compose_launcher(root / "conf", overrides)


def test_the_local_one_is_the_default(root: Path) -> None:
    launcher = composed(root)
    assert (launcher.name, launcher.cluster, launcher.max_num_timeout) == ("local", "local", 0)
    assert launcher.own.copy_minutes == 10
    assert launcher.own.container is None
    assert "timeout_min" in launcher.submitit


def test_slurms_keys_reach_submitit_under_its_names(root: Path) -> None:
    launcher = composed(
        root,
        "hydra/launcher=slurm",
        "hydra.launcher.partition=gpu",
        "hydra.launcher.account=lab",
        "hydra.launcher.gres='gpu:a100:2'",
        "hydra.launcher.timeout_min=90",
        "hydra.launcher.signal_delay_s=60",
        "+hydra.launcher.additional_parameters.reservation=spring",
    )
    assert launcher.cluster == "slurm"
    wanted = {
        "timeout_min": 90,
        "slurm_partition": "gpu",
        "slurm_account": "lab",
        "slurm_gres": "gpu:a100:2",
        "slurm_signal_delay_s": 60,
        "slurm_additional_parameters": {"reservation": "spring"},
        "name": "stablechoice",
    }
    assert {key: launcher.submitit.get(key) for key in wanted} == wanted
    assert launcher.signal_delay_s == 60
    assert launcher.max_num_timeout == 100
    # What is ours alone is not handed on, and what is open is left to SLURM.
    for key in ("slurm_container", "slurm_scratch", "slurm_copy_minutes", "slurm_modules", "slurm_qos"):
        assert key not in launcher.submitit


def test_modules_are_loaded_after_the_setups_own_lines(root: Path) -> None:
    launcher = composed(
        root,
        "hydra/launcher=slurm",
        "hydra.launcher.modules=[cuda/13.0,apptainer]",
        "hydra.launcher.setup=[module purge]",
    )
    assert launcher.submitit["slurm_setup"] == ["module purge", "module load cuda/13.0", "module load apptainer"]


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("hydra/launcher=pbs", "conf/hydra/launcher has no pbs.yaml; it has: local, slurm"),
        ("hydra.launcher.partitoin=gpu", "partitoin"),
        ("hydra.launcher.timeout_min=soon", "timeout_min"),
        ("hydra.launcher.copy_minutes=0", "key 'copy_minutes' must be more than 0"),
        ("hydra.launcher.scratch=tmp/x", "key 'scratch' must be a whole path on the node's own disk"),
        ("hydra.launcher.nodes=2", "key 'nodes' must be 1: a shard is one task"),
        ("hydra.launcher.tasks_per_node=2", "key 'tasks_per_node' must be 1"),
    ],
)
def test_a_wrong_word_is_refused_by_name(root: Path, override: str, said: str) -> None:
    with pytest.raises(ConfigError, match="conf/hydra/launcher") as error:
        composed(root, override)
    assert said in str(error.value)


def test_the_two_files_explain_every_key_that_is_ours(root: Path) -> None:
    for name in ("local", "slurm"):
        text = (root / f"conf/hydra/launcher/{name}.yaml").read_text("utf-8")
        for key in ("container", "container_options", "scratch", "copy_minutes"):
            assert f"\n{key}: " in text


def test_words_for_the_launcher_are_told_from_others() -> None:
    assert is_launcher_word("hydra/launcher=slurm")
    assert is_launcher_word("+hydra.launcher.qos=long")
    assert not is_launcher_word("model=hydra")
    assert not is_launcher_word("study=pocket")
