"""How a request waits that comes past the gates.

In its place in the downloader, where it counts like any other.

Such are requests from `engine.download_async`, those whose URL another middleware has changed, and
those whose answer has made room for others in memory since they were handed out. All other requests
wait in the scheduler's queue, or in the front before another scheduler (`gates`, `queue`, `front`).
"""

from __future__ import annotations

import time
from contextlib import suppress

from scrapy import Request

from ..concurrency import Closing, within
from ..core.crawlers import RobotsAgent
from ..core.urls import Origin
from .answer import CachedAnswer
from .gates import Gates
from .lookup import Lookup


async def settled_answer(
    gates: Gates, lookup: Lookup, origin: Origin, agent: RobotsAgent, request: Request
) -> CachedAnswer:
    """Wait until `origin` is settled, or the wait is over.

    Return the answer that decides about `request`.

    Raises:
        Closing: the crawl is closing.
    """
    since = time.monotonic()
    is_held = False
    while True:
        answer = await lookup.ask(origin, agent, request)
        gates.note(answer)
        if not gates.is_worth_waiting(answer, request):
            return answer
        gates.shut(origin)
        secs = gates.secs_left(answer, since)
        if secs <= 0:
            return answer
        if not is_held:
            is_held = True
            gates.count_held(1)
        with suppress(TimeoutError):
            await within(secs, gates.closing.wait())
            raise Closing
