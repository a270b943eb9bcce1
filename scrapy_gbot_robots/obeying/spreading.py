"""While requests wait, the downloader's places are spread over download slots: none is filled by a slot's delay.

While some origins wait, the scheduler hands out requests of the others only. With a download delay these would fill the
downloader: the waiting origins would find no place when they settle, and the crawl could not stop until the delay has let
all of them pass. So a slot gets only as much work ahead of time as it does in `QUEUED_SECS`. The slot's next request is kept
here, and the scheduler goes on with the other slots. Without a delay nothing is kept.

Example: a delay of 1 s, and a slot where one request waits for its turn. The slot's next request is kept. 0.1 s after the
first one is sent, at the latest, the engine asks again, and gets the next one.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..engine import pull_soon, queued_secs

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

QUEUED_SECS = 1.0
MOST_KEPT = 64  # more than most crawls have places in the downloader

_ON_THEIR_WAY_SECS = 1.0  # how long the requests of a settled party may take to reach their slots


class Spreading:
    """The requests that are kept because their download slots have enough work, in one crawl."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._until = 0.0  # on the monotonic clock
        self._kept: dict[Request, None] = {}  # in order

    def __len__(self) -> int:
        return len(self._kept)

    def settled(self) -> None:
        """Note that requests that have waited are on their way."""
        self._until = time.monotonic() + _ON_THEIR_WAY_SECS

    def goes_on(self) -> bool:
        """Whether such requests may still be on their way."""
        return time.monotonic() < self._until

    def has_enough(self, request: Request) -> bool:
        """Whether the slot of `request` has enough work."""
        return queued_secs(self._crawler)(request) >= QUEUED_SECS

    def keep(self, request: Request) -> bool:
        """Keep `request`; tell whether there was a place."""
        if len(self._kept) >= MOST_KEPT:
            return False
        if request in self._kept:  # a spider may yield the same object twice
            request = request.copy()
        self._kept[request] = None
        return True

    def next(self, *, any_slot: bool) -> Request | None:
        """Let the oldest request go whose slot has not enough work, or any if `any_slot`; None if there is none."""
        if not self._kept:
            return None
        secs = queued_secs(self._crawler)
        for request in self._kept:
            if any_slot or secs(request) < QUEUED_SECS:
                del self._kept[request]
                return request
        return None

    def tick(self) -> None:
        """Let the engine ask again for what is kept: Scrapy does not tell when a slot sends a request."""
        if self._kept:
            pull_soon(self._crawler)
