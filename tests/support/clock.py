"""A clock that a test can put forward. During a crawl, the plugin reads the time of day from it."""

from __future__ import annotations

import time

import pytest

from scrapy_gbot_robots.answers import answer, lookup
from scrapy_gbot_robots.obeying import room
from scrapy_gbot_robots.storage import sqlite

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


class Clock:
    """A replacement for the module `time`. Its monotonic clock is the real one."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self._ahead = 0.0

    def time(self) -> float:
        return time.time() + self._ahead

    def goes_on(self, secs: float) -> None:
        self._ahead += secs

    @classmethod
    def of(cls, monkeypatch: pytest.MonkeyPatch) -> Clock:
        """Return a clock, and let all modules use it that read the time of day during a crawl."""
        clock = cls()
        for module in (answer, lookup, room, sqlite):
            monkeypatch.setattr(module, "time", clock)
        return clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of day, which the test sets."""
    return Clock.of(monkeypatch)
