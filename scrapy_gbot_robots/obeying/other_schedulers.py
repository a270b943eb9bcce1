"""The front lets the requests of another scheduler wait behind gates, too.

A scheduler of the user's own, scrapy-redis, and Scrapy's scheduler with a priority queue of the
user's own know no gates. The add-on puts a *front* before such a scheduler: it sets `SCHEDULER` to
a subclass of the user's class.

    engine  <---  pen, a queue of ours  <---  their scheduler (disk, Redis, ...)

The front takes a request as the engine asks for one. If its gate is open, it goes straight on.
Otherwise it is held in the *pen*, and the front takes the next one, for at most `PULL_SECS`. The
pen holds at most `MOST_HELD` requests. A smaller bound would let a few dead hosts block the head of
a line of first in, first out, and a bound for each origin would do the same. When the crawl closes,
what is held goes back, so that their scheduler keeps it.

While their scheduler fails, such as when its Redis is away, what is held stays held: nothing is
given back before the crawl closes. The front serves what it holds, and asks their scheduler again
after `ASK_AGAIN_SECS`, as the engine's heartbeat would.

A crawl that is asked to stop before its engine runs is not closed: Scrapy ends the process, or goes
on. The front holds nothing then, so that no more is lost than without it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from types import new_class
from typing import Any

from scrapy import Request
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.squeues import FifoMemoryQueue
from scrapy.utils.misc import load_object

from ..engine import pull_soon
from ..meta import RETURNED
from .gate import Handed
from .queue import OriginPriorityQueue, StrictOriginPriorityQueue
from .subject_to_robots import restore, returned

MOST_HELD = 10_000  # requests
PULL_SECS = 0.01  # for one request that goes on
ASK_AGAIN_SECS = 5.0
GIVE_BACK_SECS = 10.0  # after the first failure, for all that is left when the crawl closes

logger = logging.getLogger(__name__)


def needs_front(scheduler_cls: type, queue_cls: type) -> bool:
    """Whether the requests of a scheduler would not wait in a queue of ours.

    Any class with the right methods looks like a subclass of Scrapy's to `issubclass`.
    """
    if Front in scheduler_cls.__mro__:
        return False
    return Scheduler not in scheduler_cls.__mro__ or not issubclass(queue_cls, OriginPriorityQueue)


def with_front(scheduler_cls: type) -> type:
    """Return a subclass of `scheduler_cls` with a front."""
    methods: dict[str, Any] = {"__module__": scheduler_cls.__module__}
    if hasattr(scheduler_cls, "__len__"):
        methods["__len__"] = _length
    name = f"{scheduler_cls.__name__}WithFront"
    return new_class(name, (Front, scheduler_cls), exec_body=lambda body: body.update(methods))


def _length(scheduler: Any) -> int:
    return len(scheduler.pen or ()) + int(super(Front, scheduler).__len__())


class _Held:
    """What a pen does besides a queue."""

    @property
    def obeys(self: Any) -> bool:
        """Whether the crawl obeys robots.txt."""
        return self._gates is not None

    def goes_straight_on(self: Any, request: Request) -> bool:
        """Whether `request` need not come into this pen, which is empty.

        If so, it counts as handed out.
        """
        origin = self._origin(request)
        if origin is not None:
            if not self._gates.is_known(origin, request):
                return False
            self._gates.handed[request] = Handed(request.url, origin)
        restore(request)
        return True

    def take_all(self: Any) -> Iterator[Request]:
        """Take out all requests, whether they wait or not."""
        for line in list(self._lines.values()):
            while line.size:
                line.size -= 1
                self._size -= 1
                request = self._opened(line).pop()
                if request is not None:
                    yield request


class _Pen(_Held, OriginPriorityQueue):
    """The pen of a scheduler that treats slots alike."""


class _StrictPen(_Held, StrictOriginPriorityQueue):
    """The pen of a scheduler that knows no slots."""


class Front:
    """What a scheduler with a front does before the user's own class, the next in `__mro__`."""

    pen: _Pen | _StrictPen | None = None  # what is held
    _crawler: Crawler | None = None
    _ask_at = 0.0  # on the monotonic clock: when to ask the scheduler again after it has failed
    _has_failed = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        """Make a scheduler as the user's class would make it."""
        make = getattr(super(), "from_crawler", None)
        scheduler = cls() if make is None else make(crawler)
        if cls not in type(scheduler).__mro__:
            try:
                scheduler.__class__ = cls  # the user's class has named itself
            except TypeError:
                logger.warning(
                    "%s makes schedulers of a class that cannot be changed: requests wait for "
                    "their robots.txt in the downloader",
                    cls.__mro__[2].__qualname__,
                )
                return scheduler
        scheduler._crawler = crawler  # noqa: SLF001  ours
        return scheduler

    def open(self, spider: Any) -> Any:
        """Open the scheduler and the pen."""
        if self._crawler is not None:
            self._open_pen(self._crawler)
        open_theirs = getattr(super(), "open", None)
        return None if open_theirs is None else open_theirs(spider)

    def _open_pen(self, crawler: Crawler) -> None:
        settings = crawler.settings
        has_slots = Scheduler in type(self).__mro__ and issubclass(
            load_object(settings["SCHEDULER_PRIORITY_QUEUE"]), DownloaderAwarePriorityQueue
        )
        kind: type[_Pen | _StrictPen] = _Pen if has_slots else _StrictPen
        pen = kind.from_crawler(crawler, FifoMemoryQueue, "")
        if isinstance(pen, (_Pen, _StrictPen)) and pen.obeys:
            self.pen = pen

    def has_pending_requests(self) -> bool:
        """Whether requests are held or scheduled."""
        return bool(self.pen) or bool(super().has_pending_requests())  # type: ignore[misc]

    def enqueue_request(self, request: Request) -> bool:
        """Schedule `request`.

        One that was handed out and comes back is held: their scheduler may fail now.
        """
        if self.pen is not None and RETURNED in request.meta:
            self.pen.push(request)
            return True
        return bool(super().enqueue_request(request))  # type: ignore[misc]

    def next_request(self) -> Request | None:
        """Return the next request that need not wait; None if there is none for now."""
        pen = self.pen
        if pen is None or self._crawler is None or not (pen or self._crawler.crawling):
            request: Request | None = super().next_request()  # type: ignore[misc]
            return request
        stop_at = time.monotonic() + PULL_SECS
        while len(pen) < MOST_HELD:
            request = self._pulled(pen)
            if request is None:
                return pen.pop()
            if not pen and pen.goes_straight_on(request):
                return request
            pen.push(request)
            request = pen.pop()
            if request is not None:
                return request
            if time.monotonic() >= stop_at:
                pull_soon(self._crawler)
                return None
        return pen.pop()

    def _pulled(self, pen: _Pen | _StrictPen) -> Request | None:
        """Take a request from the user's scheduler.

        Return None if it has none, or fails while some are held.
        """
        if not pen:
            request: Request | None = super().next_request()  # type: ignore[misc]
            return request
        if time.monotonic() < self._ask_at:
            return None
        try:
            # Some schedulers wait for a request if they have none.
            if not super().has_pending_requests():  # type: ignore[misc]
                return None
            request = super().next_request()  # type: ignore[misc]
        except Exception as error:
            self._ask_at = time.monotonic() + ASK_AGAIN_SECS
            if not self._has_failed:
                self._has_failed = True
                logger.warning(
                    "The scheduler failed: %r. %d of its requests wait for their robots.txt; they "
                    "stay, and it is asked again each %g seconds",
                    error,
                    len(pen),
                    ASK_AGAIN_SECS,
                )
            return None
        self._has_failed = False
        return request

    def close(self, reason: str) -> Any:
        """Give back what is held, and close the scheduler."""
        if self.pen is not None:
            self._give_back(self.pen)
            self.pen = None
        close_theirs = getattr(super(), "close", None)
        return None if close_theirs is None else close_theirs(reason)

    def _give_back(self, pen: _Pen | _StrictPen) -> None:
        lost, last_error, stop_at = 0, None, 0.0
        for request in pen.take_all():
            if lost and time.monotonic() >= stop_at:  # as when each call ends in a time-out
                lost += 1
                continue
            error = self._given_back(request)
            if error is not None:
                if not lost:
                    stop_at = time.monotonic() + GIVE_BACK_SECS
                lost += 1
                last_error = error
        if lost:
            logger.error(
                "The scheduler failed as the crawl closed: %d requests that waited for their "
                "robots.txt are lost: %r",
                lost,
                last_error,
            )

    def _given_back(self, request: Request) -> Exception | None:
        """Give `request` back; return why that cannot be done, None if it is done."""
        try:
            super().enqueue_request(returned(request))  # type: ignore[misc]
        except Exception as error:
            return error
        return None
