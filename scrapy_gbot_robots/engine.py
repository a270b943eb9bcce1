"""Every private or changing part of Scrapy's engine that the plugin uses, and nothing else.

When Scrapy changes one of them, this is the only module that has to change.
Source: Scrapy's own code, 2.14 to 2.19.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler


@contextmanager
def uncounted(crawler: Crawler) -> Iterator[None]:
    """Let the downloader take one request more than CONCURRENT_REQUESTS, for one that it holds and that only waits."""
    engine = crawler.engine
    if engine is None or engine.downloader.total_concurrency <= 0:  # no limit
        yield
        return
    engine.downloader.total_concurrency += 1
    slot = getattr(engine, "_slot", None)
    if slot is not None:
        slot.nextcall.schedule()  # fill the place now, and not only at the engine's next heartbeat, seconds later
    try:
        yield
    finally:
        engine.downloader.total_concurrency -= 1
