"""The front of a scheduler, which sends its requests through the room of the crawl.

The add-on sets `SCHEDULER` to a subclass of the user's class, Scrapy's own or any other.

    engine  <---  room  <---  their scheduler (disk, Redis, ...)

* With Scrapy's scheduler in a crawl without `JOBDIR`, the room takes the place of the queue in
  memory. Requests come into the room after the duplicate filter, and leave it in Scrapy's order.
* With any other scheduler, requests that are ready in the room go first. After these, the front
  takes a request from the scheduler. If that request has to wait, the room holds it, and the front
  takes the next one, for at most `PULL_SECS`. The front takes none while it holds enough
  (`_holds_enough`), so that other processes get their share of a shared queue, and requests in
  files stay there. If the queue is not in Scrapy's files, the front looks a few requests ahead
  (`LOOK_AHEAD`) even if one request can go on. When the crawl closes, held requests go back.

While the user's scheduler fails, for example because its Redis is down, the room keeps its
requests. The front serves these, and calls the scheduler again after `ASK_AGAIN_SECS`, which is the
interval of the engine's heartbeat.

If a crawl is asked to stop before its engine runs, Scrapy does not close it, but ends the process
or goes on. The front holds no request at that time, so no more requests are lost than without it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from scrapy import Request
from scrapy.core.scheduler import Scheduler
from scrapy.crawler import Crawler
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.settings import BaseSettings
from scrapy.squeues import FifoMemoryQueue
from scrapy.utils.misc import load_object

from ..engine import count_held, downloader_middleware, memory_queues, pull_soon
from ..meta import RETURNED
from .ahead import PagesAhead
from .middleware import GbotRobotsTxtMiddleware
from .room import Room
from .subject import restore, returned

MOST_HELD = 10_000  # requests
MOST_OF_A_SLOT = 100  # The bound on held requests of a slot, if Scrapy's queue on disk knows slots.
# How many usable requests the front holds, as a multiple of CONCURRENT_REQUESTS. It is at least
# LOOK_AHEAD.
USABLE = 2
# How many requests of a queue that may be shared are held, even if one of them can go on. So a
# process that downloads few requests at a time gets the robots.txt of the next host early. If the
# process is killed, it loses these requests.
LOOK_AHEAD = 20
# Above this multiple of the usable requests that the front should hold, requests go back to the
# scheduler, for example when an unreachable host recovers.
SURPLUS = 3
DOUBLE_SECS = 0.5  # Each time this has passed, twice as many requests of late sites may be held.
PULL_SECS = 0.01  # The longest time for finding one request that can go on.
ASK_AGAIN_SECS = 5.0
GIVE_BACK_SECS = 10.0  # At close, requests are given back for this long after the first failure.

logger = logging.getLogger(__name__)


class RoomAsQueue:
    """An adapter that lets the room take the place of the memory queue of Scrapy's scheduler.

    Args:
        room: the room.
        queue: the class of Scrapy's queues for requests.
        start_queue: the class of Scrapy's queues for start requests; None if there are none.
    """

    def __init__(self, room: Room, queue: type, start_queue: type | None) -> None:
        self.pop = room.next
        self._room = room
        self._queue = queue
        self._start_queue = start_queue

    def __len__(self) -> int:
        return self._room.occupancy.size

    def push(self, request: Request) -> None:
        """Take in `request`, in the order of `ScrapyPriorityQueue`.

        Of equal priority, start requests go last.
        """
        queue, is_start = self._queue, False
        if self._start_queue is not None and request.meta.get("is_start_request"):
            queue, is_start = self._start_queue, True
        step = -1
        # Requests that come back keep the order in which they were handed out.
        if queue is FifoMemoryQueue or RETURNED in request.meta:
            step = 1
        self._room.put(request, is_start=is_start, step=step)


class Front:
    """A mixin that comes before the user's scheduler class in `__mro__`."""

    _room: Room | None = None  # None if the crawl obeys no robots.txt, or is not open
    _crawler: Any = None
    _most_usable = 0
    _look_ahead = 0  # how many requests are held even if one can go on
    # The slots with requests in Scrapy's queue on disk, if that queue knows slots.
    _slots_on_disk: Collection[str] = ()
    _ask_at = 0.0  # when to call the scheduler again after a failure, on the monotonic clock
    _last_error: Exception | None = None  # None if the scheduler works

    @property
    def _theirs(self) -> Any:
        """The scheduler with the methods of the user's class."""
        return super()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        """Make a scheduler as the user's class does, and give it the front."""
        scheduler = getattr(super(), "from_crawler", lambda _: cls())(crawler)
        # `isinstance` would be true for any object that has the methods of a scheduler.
        if cls not in type(scheduler).__mro__:
            # The user's `from_crawler` uses its own class and not `cls`. If the object has
            # `__slots__`, its class cannot be changed, and requests wait in the downloader.
            with suppress(TypeError):
                scheduler.__class__ = cls
        return scheduler

    def open(self, spider: Any) -> Any:
        """Open the scheduler, with the room if the crawl obeys robots.txt."""
        opened = getattr(self._theirs, "open", _do_nothing)(spider)
        self._crawler = spider.crawler
        middleware = downloader_middleware(self._crawler, GbotRobotsTxtMiddleware)
        if middleware is not None:
            self._room = middleware.room
            self._connect(self._room, self._crawler.settings)
        return opened

    def _connect(self, room: Room, settings: BaseSettings) -> None:
        """Fit `room` to the kind of the user's scheduler.

        1. Another scheduler than Scrapy's: the front looks ahead, in one order for all slots.
        2. Scrapy's scheduler with a queue in memory: the room takes the place of that queue.
        3. Scrapy's scheduler with a queue on disk: the queue counts the held requests of each slot.
        """
        scheduler: Any = self
        room.keeps_crawl_open = True
        self._most_usable = max(LOOK_AHEAD, USABLE * settings.getint("CONCURRENT_REQUESTS"))
        queue = load_object(settings["SCHEDULER_PRIORITY_QUEUE"])
        if Scheduler not in type(self).__mro__:
            room.download_slots.are_apart = False
            self._look_ahead = LOOK_AHEAD
            return
        room.download_slots.are_apart = issubclass(queue, DownloaderAwarePriorityQueue)
        try:
            kinds = memory_queues(self)
            # A subclass with its own `next_request` may take requests from elsewhere.
            asks_its_queue = self._theirs.next_request.__func__ is Scheduler.next_request
            if kinds is not None and asks_its_queue:
                scheduler.mqs = RoomAsQueue(room, *kinds)
            elif scheduler.dqs is not None:
                self._slots_on_disk = count_held(scheduler.dqs, room.occupancy.by_slot)
        except AttributeError as error:
            logger.warning(
                "Scrapy's scheduler lacks a part that the plugin uses (%s), so requests that wait "
                "for their robots.txt are taken from it one by one",
                error,
            )

    def _holding(self) -> Room | None:
        """Return the room if it holds requests that the front takes from the scheduler, or None.

        Return None if the room is the scheduler's own queue. A subclass may have replaced that
        queue.
        """
        if isinstance(getattr(self, "mqs", None), RoomAsQueue):
            return None
        return self._room

    @property
    def pages_ahead(self) -> PagesAhead | None:
        """The pages that wait in the room, if it is the scheduler's own queue in memory."""
        if self._room is None or self._holding() is not None:
            return None
        return self._room.pages_ahead

    def has_pending_requests(self) -> bool:
        """Whether requests are held or scheduled, or wait in the downloader.

        Scrapy closes the crawl if there are none.
        """
        room = self._room
        if room is not None and (room.occupancy.size or room.in_place):
            return True
        return bool(self._theirs.has_pending_requests())

    def enqueue_request(self, request: Request) -> bool:
        """Schedule `request`; return whether it was accepted.

        A request that was handed out and comes back is held in the room, because the user's
        scheduler may fail now.
        """
        room = self._holding()
        if room is not None and RETURNED in request.meta:
            room.put(request)
            return True
        return bool(self._theirs.enqueue_request(request))

    def next_request(self) -> Request | None:
        """Return the next request that need not wait; None if there is none now.

        To find it, move requests from the user's scheduler into the room, for `PULL_SECS` at most.
        If the room holds far too many usable requests, some go back.
        """
        room = self._holding()
        # A crawl that was asked to stop too early is never closed, so it holds no requests.
        if room is None or not (room.occupancy.size or self._crawler.crawling):
            request: Request | None = self._theirs.next_request()
            return request
        if room.occupancy.usable > SURPLUS * self._most_usable and time.monotonic() >= self._ask_at:
            self._give_back_surplus(room)
        request = room.next()
        stop_at = time.monotonic() + PULL_SECS
        while not self._holds_enough(room, request):
            pulled = self._pull(room, request)
            if pulled is None:
                break
            restore(pulled)
            room.put(pulled)
            request = request or room.next()
            if time.monotonic() >= stop_at:
                pull_soon(self._crawler)
                break
        return request

    def _holds_enough(self, room: Room, ready: Request | None) -> bool:
        """Whether the front takes no more requests from the scheduler now.

        `ready` is a request that can go on, or None. Up to `MOST_HELD` requests of sites in trouble
        are held, because otherwise a few dead hosts would block the head of a first-in, first-out
        queue. A site whose look-up is late may be in trouble, so the longer look-ups are late, the
        more requests of late sites are held.
        """
        most = MOST_HELD if ready is None else self._look_ahead
        if room.occupancy.size >= most:
            return True
        slots = self._slots_on_disk
        if slots and all(room.occupancy.by_slot.get(slot, 0) >= MOST_OF_A_SLOT for slot in slots):
            return True
        late_secs = time.monotonic() - room.late_since
        if late_secs > 0:
            most_late = self._most_usable * 2 ** min(20, int(late_secs / DOUBLE_SECS))
            if room.occupancy.late >= most_late:
                return True
        return room.occupancy.usable >= self._most_usable

    def _pull(self, room: Room, ready: Request | None) -> Request | None:
        """Take a request from the user's scheduler, and return it.

        Return None if the scheduler has none, or if it fails while requests are held. After a
        failure it is called again after `ASK_AGAIN_SECS`. A `ready` request counts as held.

        Raises:
            Exception: the exception of the scheduler, if no requests are held.
        """
        holds_some = ready is not None or room.occupancy.size > 0
        if holds_some and time.monotonic() < self._ask_at:
            return None
        try:
            # Some schedulers wait for a request if they have none.
            if holds_some and not self._theirs.has_pending_requests():
                return None
            request: Request | None = self._theirs.next_request()
        except Exception as error:
            if not holds_some:
                raise
            self._ask_at = time.monotonic() + ASK_AGAIN_SECS
            if self._last_error is None:
                logger.warning(
                    "The scheduler failed: %r. %d of its requests wait for their robots.txt and "
                    "are kept. The scheduler is called again every %g seconds",
                    error,
                    room.occupancy.size,
                    ASK_AGAIN_SECS,
                )
            self._last_error = error
            return None
        self._last_error = None
        return request

    def close(self, reason: str) -> Any:
        """Give back the held requests, and close the scheduler."""
        room = self._holding()
        if room is not None:
            lost = 0
            given_back = 0
            stop_at = float("inf")
            for request in room.take_all():
                # Each call may end in a time-out.
                if time.monotonic() < stop_at and self._give_back(request):
                    given_back += 1
                    continue
                lost += 1
                stop_at = min(stop_at, time.monotonic() + GIVE_BACK_SECS)
            if given_back:
                self._crawler.stats.set_value("gbot_robots/requests/given_back", given_back)
            if lost:
                logger.error(
                    "The scheduler failed when the crawl closed, so %d requests that waited for "
                    "their robots.txt are lost: %r",
                    lost,
                    self._last_error,
                )
        self._room = None
        return getattr(self._theirs, "close", _do_nothing)(reason)

    def _give_back_surplus(self, room: Room) -> None:
        """Give usable requests back to the scheduler until `_most_usable` are left.

        If the scheduler fails, the rest stays, and the scheduler is called again later.
        """
        for request in room.take_surplus(self._most_usable):
            if not self._give_back(request):
                room.put(request)
                self._ask_at = time.monotonic() + ASK_AGAIN_SECS
                return

    def _give_back(self, request: Request) -> bool:
        """Mark `request`, and give it back to the user's scheduler; return whether that worked."""
        try:
            self._theirs.enqueue_request(returned(request))
        except Exception as error:
            restore(request)
            self._last_error = error
            return False
        return True


def _do_nothing(_: object) -> None:
    """Stand in for a method that the user's class lacks."""


class RobotsScheduler(Front, Scheduler):
    """Scrapy's scheduler, in which requests wait for their robots.txt.

    The add-on uses it. Projects without the add-on name it in `SCHEDULER`.
    """


def with_front(scheduler_cls: type) -> type:
    """Return a subclass of `scheduler_cls` with a front."""
    if Front in scheduler_cls.__mro__:
        return scheduler_cls
    if scheduler_cls is Scheduler:
        return RobotsScheduler
    of_module = {"__module__": scheduler_cls.__module__}
    return type(f"{scheduler_cls.__name__}WithFront", (Front, scheduler_cls), of_module)
