"""What the tests of this room share."""

from __future__ import annotations

import pytest

from ..support.clock import Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of day, which the test sets."""
    return Clock.of(monkeypatch)
