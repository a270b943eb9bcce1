"""While requests wait, the downloader's places are spread over download slots: none is filled by a slot's delay.

Requests in the waiting room count as active, so Scrapy's default queue hands out requests of the origins that settle first,
and of no other. With a download delay these would fill the downloader: the other origins would find no place when they
settle, and the crawl could not stop until the delay has let all of them pass. So a slot gets only as much work ahead of time
as it does in `QUEUED_SECS`. Without a delay that is no limit.

Example: a delay of 1 s. The slot of https://example.com has one request that waits for its turn, so the next one stays with
the room. 0.1 s after the first request is sent, at the latest, the engine asks the room again, and gets the next one.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..engine import pull_soon, queued_secs

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

QUEUED_SECS = 1.0

_ON_THEIR_WAY_SECS = 1.0  # how long the requests of a settled party may take to reach their slots


class Spreading:
    """Tells which download slots have enough work, in one crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._until = 0.0  # on the monotonic clock
        self._handed_out = False  # since a slot last had enough
        self._keeps_back = False

    def settled(self) -> None:
        """Note that requests that have waited are on their way."""
        self._until = time.monotonic() + _ON_THEIR_WAY_SECS

    def goes_on(self) -> bool:
        """Whether such requests may still be on their way."""
        return time.monotonic() < self._until

    def handed_out(self) -> None:
        """Note that the engine got a request."""
        self._handed_out = True

    def has_enough(self, request: Request) -> bool:
        """Whether the download slot of `request` has enough work, so that the engine does not get `request` now."""
        if queued_secs(self._crawler, request) < QUEUED_SECS:
            return False
        self._keeps_back = True
        if self._handed_out:  # when the requests before this one are in their slots, the queue picks another slot
            self._handed_out = False
            pull_soon(self._crawler)
        return True

    def tick(self) -> None:
        """Let the engine ask again for what was kept back: Scrapy does not tell when a slot sends a request."""
        if self._keeps_back:
            self._keeps_back = False
            pull_soon(self._crawler)
