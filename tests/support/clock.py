"""A clock that tests set: the plugin takes it for the time of day during a crawl."""

from __future__ import annotations

import time

import pytest

from scrapy_gbot_robots.obeying import answer, lookup, room
from scrapy_gbot_robots.storage import sqlite

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0


class Clock:
    """Stands in for the module `time`. Its monotonic clock is the real one."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self) -> None:
        self._ahead = 0.0

    def time(self) -> float:
        return time.time() + self._ahead

    def goes_on(self, secs: float) -> None:
        self._ahead += secs

    @classmethod
    def of(cls, monkeypatch: pytest.MonkeyPatch) -> Clock:
        """A clock for all modules that ask for the time of day during a crawl, SQLite storages included."""
        clock = cls()
        for module in (answer, lookup, room, sqlite):
            monkeypatch.setattr(module, "time", clock)
        return clock
