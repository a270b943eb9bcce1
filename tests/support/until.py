"""Wait until a condition is true, if a test cannot know when. Fail if this takes far too long."""

import time
from collections.abc import Callable
from contextlib import suppress

from scrapy_gbot_robots.concurrency import pause

FAR_TOO_LONG_SECS = 240  # This is enough even on a machine with ten times too much work.


async def until(is_so: Callable[[], object]) -> None:
    """Let the reactor run until `is_so` returns true."""
    ends = time.monotonic() + FAR_TOO_LONG_SECS
    while not is_so():
        assert time.monotonic() < ends
        await pause(0.01)


def block_until(is_so: Callable[[], object], *, despite: tuple[type[Exception], ...] = ()) -> None:
    """Block until `is_so` returns true. If it raises one of `despite`, call it again."""
    ends = time.monotonic() + FAR_TOO_LONG_SECS
    while True:
        with suppress(*despite):
            if is_so():
                return
        assert time.monotonic() < ends
        time.sleep(0.02)
