"""Requests go back to the scheduler that has handed them out, and later leave it again as they were.

A scheduler does not expect a request twice: its duplicate filter drops the request, and its queue puts the request where a
new one would go. So a request goes back with `dont_filter`, and if need be with a lowered priority. Its meta says what it
was before, and `pull` restores that. The mark survives a JOBDIR and a Redis, since these keep the meta.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scrapy import signals

from ..engine import takes_last_first

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy import Request
    from scrapy.core.scheduler import BaseScheduler
    from scrapy.crawler import Crawler

_LOWERED_BY = 1_000_000  # a step below the priorities that people use
_RETURNED = "gbot_robots_returned"  # request.meta key: a list of the fields of `_Mark`


class _Mark(NamedTuple):
    """What a request was before it went back.

    Attributes:
        dont_filter: its own `dont_filter`.
        level: by how many steps its priority is lowered.
        served_by: when the answer was given that it has waited for; None if it has not got one.
    """

    dont_filter: bool
    level: int
    served_by: float | None = None


class Pulled(NamedTuple):
    """A request from the scheduler, None if there is none; `level` and `served_by` as `Requeue.put_back` got them."""

    request: Request | None
    level: int = 0
    served_by: float | None = None


class Requeue:
    """Puts requests back into `scheduler`, and pulls requests from it."""

    def __init__(self, scheduler: BaseScheduler, crawler: Crawler) -> None:
        self._scheduler = scheduler
        self._crawler = crawler

    def pull(self) -> Pulled:
        """Take the scheduler's next request, and make it what it was before it went back."""
        request = self._scheduler.next_request()
        if request is None or _RETURNED not in request.meta:
            return Pulled(request)
        mark = _restored(request)
        return Pulled(request, mark.level, mark.served_by)

    def put_back(self, request: Request, level: int = 0, served_by: float | None = None) -> None:
        """Put `request` back, its priority lowered by `level` steps."""
        request.meta[_RETURNED] = [*_Mark(request.dont_filter, level, served_by)]
        request.dont_filter = True
        request.priority -= _LOWERED_BY * level
        try:
            taken = self._scheduler.enqueue_request(request)
        except Exception:  # as when the scheduler's database is away
            _restored(request)
            raise
        if not taken:
            self._crawler.signals.send_catch_log(signals.request_dropped, request=request, spider=self._crawler.spider)

    def in_order(self, requests: Sequence[Request]) -> Iterator[Request]:
        """Arrange `requests` so that the scheduler, which gets them one by one, hands them out in their present order."""
        for start in (False, True):
            kind = [request for request in requests if bool(request.meta.get("is_start_request")) is start]
            yield from reversed(kind) if takes_last_first(self._scheduler, start=start) else kind


def _restored(request: Request) -> _Mark:
    """Make `request` what it was before it went back."""
    fields = request.meta.pop(_RETURNED)
    if not isinstance(fields, list):  # of an older version
        return _Mark(request.dont_filter, 0)
    mark = _Mark(*fields)
    request.dont_filter = mark.dont_filter
    request.priority += _LOWERED_BY * mark.level
    return mark
