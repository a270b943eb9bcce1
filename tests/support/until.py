"""Waiting until something is so, in a test that cannot know when: it fails if that takes far too long."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy_gbot_robots.concurrency import pause

if TYPE_CHECKING:
    from collections.abc import Callable


async def until(is_so: Callable[[], object], secs: float = 20) -> None:
    """Let the reactor run until `is_so` returns true."""
    ends = time.monotonic() + secs
    while not is_so():
        assert time.monotonic() < ends
        await pause(0.01)


def block_until(is_so: Callable[[], object], secs: float = 90, *, despite: tuple[type[Exception], ...] = ()) -> None:
    """Block until `is_so` returns true. Where it raises one of `despite`, ask again."""
    ends = time.monotonic() + secs
    while True:
        with suppress(*despite):
            if is_so():
                return
        assert time.monotonic() < ends
        time.sleep(0.02)
