"""A bundle's configuration may build the package's own classes alone."""

from __future__ import annotations

from typing import Any

import pytest

from stablechoice.artifact.failure import BundleError
from stablechoice.artifact.trust import check_targets


def test_own_classes_pass() -> None:
    check_targets(
        "x", {"_target_": "stablechoice.a.B", "deep": [{"_target_": "stablechoice.c.D"}], "title": "os.system"}
    )


@pytest.mark.parametrize(
    "values",
    [
        {"_target_": "os.system"},
        {"a": {"_target_": "subprocess.run"}},
        {"a": [{"_target_": "builtins.exec"}]},
        {"_target_": "stablechoice_other.X"},
        {"_target_": None},
        {"_target_": ["stablechoice.a.B"]},
    ],
)
def test_any_other_target_is_named_and_refused(values: dict[str, Any]) -> None:
    with pytest.raises(BundleError, match=r"^conf/model/x.yaml: _target_ "):
        check_targets("conf/model/x.yaml", values)
