"""Fixtures of engine tests."""

from __future__ import annotations

import pytest

from tests.loopback.asking import KEY, VARIABLE


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The loopback route's key, in the environment."""
    monkeypatch.setenv(VARIABLE, KEY)
    return KEY
