"""The front, a scheduler mixin that lets requests wait until their robots.txt is known.

The requests of a crawl wait for their robots.txt in the *room* (room.py). The *front* stands
between the user's scheduler and Scrapy's engine. It puts the requests of the scheduler into the
room, and gives the engine only requests that need not wait. The user's scheduler may be Scrapy's
own or any other. The add-on makes a subclass of the scheduler's class and the front (`with_front`),
and sets `SCHEDULER` to this subclass.

    engine  <---  front and room  <---  the user's scheduler (disk, Redis, ...)

The front works in one of two ways:

1. The room replaces the queue in memory of Scrapy's scheduler. The scheduler puts each request into
   the room after its duplicate filter has accepted the request. Requests leave the room in the
   order of Scrapy's queue. Those that have waited leave one by one (`RoomAsQueue.pop`). The front
   works in this way if the crawl has no `JOBDIR`, the classes of the queue are Scrapy's, and the
   scheduler is Scrapy's or a subclass that keeps `next_request`.
2. In all other cases, requests stay in the scheduler until the front takes them. If the room has no
   request for the engine, the front moves requests from the scheduler into the room until one of
   them need not wait, but at most for `PULL_SECS`. It stops when the room holds enough requests
   (`_holds_enough`). So all processes that share a queue get requests, and most requests of a queue
   on disk stay on disk. If the scheduler is not Scrapy's, the front also takes a few requests ahead
   of time (`LOOK_AHEAD`). When the crawl closes, the front gives the requests in the room back to
   the scheduler.

If the user's scheduler fails, for example because its Redis is down, the room keeps its requests,
and the engine still gets those that are ready. The front calls the scheduler again after
`ASK_AGAIN_SECS`.

If a crawl is asked to stop before its engine runs, Scrapy never closes the scheduler. In such a
crawl, the front holds no requests, because it could not give them back.
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
from scrapy.utils.asyncio import call_later
from scrapy.utils.misc import load_object

from ..engine import count_held, downloader_middleware, memory_queues, pull_soon, refuse_as_add_on
from ..meta import RETURNED
from .middleware import GbotRobotsTxtMiddleware
from .room import Room
from .subject import restore, returned

MOST_HELD = 10_000  # The front takes no more requests while it holds this many.
# If Scrapy's queue on disk is divided by download slot, the front takes no more requests once it
# holds at least this many of them for every slot in the queue.
MOST_OF_A_SLOT = 100
# A request in the room is usable if it can go on now, or probably soon. The front stops taking
# requests from the scheduler when the room has enough usable requests. Enough is the greater of
# LOOK_AHEAD and USABLE times CONCURRENT_REQUESTS.
USABLE = 2
# If the scheduler is not Scrapy's, the front takes requests ahead of time until it holds this many.
# So the robots.txt of the next host is fetched early, even if the crawl downloads few requests at a
# time. The number is small, because other processes may share the queue, and because a process that
# is killed loses the requests that it holds.
LOOK_AHEAD = 20
# When an unreachable host recovers, all its requests in the room become usable at once. If the
# usable requests then number more than `SURPLUS * _most_usable`, the front gives some of them back
# to the scheduler.
SURPLUS = 3
# A site is late if the look-up of its robots.txt has been running for more than a second. The front
# takes no more requests once the number of its requests for late sites reaches a limit. The limit
# is `_most_usable` at first. While a look-up stays late, the limit doubles each time DOUBLE_SECS
# have passed.
DOUBLE_SECS = 0.5
# After a long turn of the event loop, `RoomAsQueue` hands out one request for every PACE_SECS
# seconds that have passed.
PACE_SECS = 0.02
PULL_SECS = 0.01  # The front searches at most this long for a request that can go on.
# If the scheduler fails, the front calls it again after this number of seconds. Scrapy's engine,
# too, calls the scheduler at least every five seconds.
ASK_AGAIN_SECS = 5.0
# When the crawl closes, the front gives its requests back to the scheduler. If the scheduler fails,
# the front stops after this number of seconds, and the remaining requests are lost.
GIVE_BACK_SECS = 10.0

logger = logging.getLogger(__name__)


class RoomAsQueue:
    """An adapter that lets the room take the place of the memory queue of Scrapy's scheduler.

    Requests that have waited for a robots.txt leave the room one by one, so that the crawl reads
    responses in between. If all of them left at once, they would fill the downloader, and while it
    is full, Scrapy's engine reads `start()` to its end without a break. The crawl would need more
    processor time and memory.

    Args:
        crawler: the crawl.
        room: the room.
        queue: the class of the scheduler's queues in memory.
        start_queue: the class of the scheduler's queues for start requests; None if start requests
            are in the same queues as other requests.
    """

    def __init__(self, crawler: Crawler, room: Room, queue: type, start_queue: type | None) -> None:
        self._crawler = crawler
        self._room = room
        self._queue = queue
        self._start_queue = start_queue
        # How many requests may still leave the room in this turn of the event loop.
        self._may_leave = 1
        self._paused_at = 0.0  # When the last pause began (monotonic clock).

    def __len__(self) -> int:
        return self._room.occupancy.size

    def push(self, request: Request) -> None:
        """Put `request` into the room, in the order of Scrapy's `ScrapyPriorityQueue`.

        Among requests of equal priority, start requests go last.
        """
        queue, is_start = self._queue, False
        if self._start_queue is not None and request.meta.get("is_start_request"):
            queue, is_start = self._start_queue, True
        step = -1
        # Requests that come back to wait keep the order in which they were handed out.
        if queue is FifoMemoryQueue or RETURNED in request.meta:
            step = 1
        self._room.put(request, is_start=is_start, step=step)

    def pop(self) -> Request | None:
        """Return the next request; None if there is none now, or if the queue pauses.

        While the room drains (`Room.drains`), the queue pauses after each request until the next
        turn of the event loop. If a turn takes a long time, for example because the spider parses a
        large page, several requests may leave in the next turn: one for every `PACE_SECS` seconds
        that have passed.
        """
        if not self._may_leave:
            return None
        request = self._room.next()
        if request is not None and self._room.drains:
            self._may_leave -= 1
            if not self._may_leave:
                self._paused_at = time.monotonic()
                call_later(0, self._end_pause)
        return request

    def _end_pause(self) -> None:
        self._may_leave = max(1, int((time.monotonic() - self._paused_at) / PACE_SECS))
        pull_soon(self._crawler)


class Front:
    """The front, as a mixin for the user's scheduler class.

    In the subclass of both classes (`with_front`), the front comes before the user's class, so
    Scrapy's engine calls the methods of the front.
    """

    _room: Room | None = None  # None if the crawl does not obey robots.txt, or is not open.
    _crawler: Any = None
    # The front takes no more requests while it holds this many usable requests (see `USABLE`).
    _most_usable = 0
    _look_ahead = 0  # The front takes requests until it holds this many (see `LOOK_AHEAD`).
    # The download slots of the requests in Scrapy's queue on disk, if the queue is divided by slot.
    _slots_on_disk: Collection[str] = ()
    # When the scheduler has failed, the front calls it again at this time (monotonic clock).
    _ask_at = 0.0
    _last_error: Exception | None = None  # None if the last call of the scheduler did not fail.

    @property
    def _theirs(self) -> Any:
        """A view of this scheduler with the methods of the user's class, and not the front's."""
        return super()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        """Make a scheduler with the `from_crawler` of the user's class, and add the front to it."""
        refuse_as_add_on(cls, crawler)
        scheduler = getattr(super(), "from_crawler", lambda _: cls())(crawler)
        # `isinstance` would be True for any object that has the methods of a scheduler.
        if cls not in type(scheduler).__mro__:
            # The user's `from_crawler` has made an object of a class without the front. The class
            # of this object is changed to `cls`. If it cannot be changed, for example because of
            # `__slots__`, the scheduler has no front, and its requests wait in the downloader.
            with suppress(TypeError):
                scheduler.__class__ = cls
        return scheduler

    def open(self, spider: Any) -> Any:
        """Open the user's scheduler, and connect the room to it if the crawl obeys robots.txt.

        Return the result of the user's `open`.
        """
        opened = getattr(self._theirs, "open", _do_nothing)(spider)
        self._crawler = spider.crawler
        middleware = downloader_middleware(self._crawler, GbotRobotsTxtMiddleware)
        if middleware is not None:
            self._room = middleware.room
            self._connect(self._room, self._crawler.settings)
        return opened

    def _connect(self, room: Room, settings: BaseSettings) -> None:
        """Connect `room` to the user's scheduler.

        There are four cases. In the second case only, the room replaces the scheduler's queue.

        1. The scheduler is not Scrapy's. The front takes requests ahead of time, and the room
           compares the priorities of all requests, even if they use different slots.
        2. The scheduler is Scrapy's, and uses Scrapy's queue in memory. The room replaces the
           queue.
        3. The scheduler is Scrapy's, and its queue is on disk. If the queue is divided by slot, the
           queue counts the requests in the room as active downloads of their slots.
        4. The scheduler is Scrapy's, but the user has changed the class of its queue in memory, or
           its `next_request`. The front takes requests from the scheduler until one of them
           may go on. It leaves the queue as it is.
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
            # A subclass of Scrapy's scheduler may have a `next_request` that never uses the queue.
            asks_its_queue = self._theirs.next_request.__func__ is Scheduler.next_request
            if kinds is not None and asks_its_queue:
                scheduler.mqs = RoomAsQueue(self._crawler, room, *kinds)
            elif scheduler.dqs is not None:
                self._slots_on_disk = count_held(scheduler.dqs, room.occupancy.by_slot)
        except AttributeError as error:
            logger.warning(
                "Scrapy's scheduler lacks a part that the plugin uses (%s), so requests that wait "
                "for their robots.txt are taken from it one by one",
                error,
            )

    def _holding(self) -> Room | None:
        """Return the room if the front has to move requests from the scheduler into the room.

        Return None if the room itself is the scheduler's queue in memory, or if the crawl does not
        obey robots.txt. The queue is checked at each call, because a subclass may replace it.
        """
        if isinstance(getattr(self, "mqs", None), RoomAsQueue):
            return None
        return self._room

    def pages_ahead_of(self, request: Request) -> int:
        """Return how many requests for pages wait in the room for the download slot of `request`.

        Return 0 if the room is not the scheduler's own queue in memory.
        """
        room = self._room
        if room is None or self._holding() is not None:
            return 0
        return room.occupancy.pages(room.download_slots.key(request))

    def has_pending_requests(self) -> bool:
        """Whether requests are in the room or the user's scheduler, or wait in the downloader.

        Scrapy closes the crawl if there are none.
        """
        room = self._room
        if room is not None and (room.occupancy.size or room.in_place):
            return True
        return bool(self._theirs.has_pending_requests())

    def enqueue_request(self, request: Request) -> bool:
        """Schedule `request`; return whether it was accepted.

        A request that the middleware sends back to wait goes directly into the room. The user's
        scheduler does not get it, because the scheduler could fail.
        """
        room = self._holding()
        if room is not None and RETURNED in request.meta:
            room.put(request)
            return True
        return bool(self._theirs.enqueue_request(request))

    def next_request(self) -> Request | None:
        """Return the next request that need not wait; None if there is none now.

        To find one, the front moves requests from the user's scheduler into the room, for at most
        `PULL_SECS`. If the room holds far too many requests that can go on, the front first gives
        some of them back to the scheduler.
        """
        room = self._holding()
        # If a crawl is asked to stop before its engine runs, Scrapy never closes the scheduler. In
        # such a crawl, the front holds no requests, because it could not give them back.
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
        """Whether the front should stop taking requests from the scheduler for now.

        The limit for requests of unreachable sites is high (`MOST_HELD`). With a low limit, the
        requests of a few dead hosts could block a first-in, first-out queue. A site whose look-up
        is late may turn out to be unreachable, so the limit for requests of late sites rises with
        time (`DOUBLE_SECS`).

        Args:
            room: the room.
            ready: the request that has left the room, and that the engine will get next; None if
                there is none.
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

        Return None if the scheduler has none, or if it fails while the front holds requests. After
        a failure, the scheduler is not called before `ASK_AGAIN_SECS` have passed.

        Args:
            room: the room.
            ready: the request that has left the room, and that the engine will get next; None if
                there is none. The front still holds this request.

        Raises:
            Exception: the scheduler has raised this exception, and the front holds no requests.
        """
        holds_some = ready is not None or room.occupancy.size > 0
        if holds_some and time.monotonic() < self._ask_at:
            return None
        try:
            # In some schedulers, `next_request` waits for a new request if the scheduler is empty.
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
        """Give the held requests back to the user's scheduler, and close the scheduler."""
        room = self._holding()
        if room is not None:
            lost = 0
            given_back = 0
            stop_at = float("inf")
            in_memory = self._in_memory()
            for request in room.take_all():
                # After a scheduler has failed, each further call to it may block until it times
                # out.
                if time.monotonic() < stop_at and self._give_back(request):
                    given_back += 1
                    continue
                lost += 1
                stop_at = min(stop_at, time.monotonic() + GIVE_BACK_SECS)
            unsaved = self._in_memory() - in_memory
            given_back -= unsaved
            if unsaved and getattr(self, "dqs", None) is not None:
                logger.warning(
                    "%d requests that waited for their robots.txt are lost, because Scrapy could "
                    "not write them to the JOBDIR. Their callback may be a lambda, for example",
                    unsaved,
                )
            if given_back:
                room.given_back = given_back
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

    def _in_memory(self) -> int:
        """Return the number of requests that Scrapy's scheduler keeps in memory.

        Without a JOBDIR, these are all requests of the scheduler. With a JOBDIR, they are the
        requests that cannot be written to the disk. They are lost when the scheduler is closed.
        """
        scheduler: Any = self
        # A scheduler that is not Scrapy's has no such queue.
        with suppress(AttributeError, TypeError):
            return len(scheduler.mqs)
        return 0

    def _give_back_surplus(self, room: Room) -> None:
        """Give requests that can go on back to the scheduler, but keep `_most_usable` usable ones.

        If the scheduler fails, the room keeps the remaining requests, and the front calls the
        scheduler again after `ASK_AGAIN_SECS`.
        """
        for request in room.take_surplus(self._most_usable):
            if not self._give_back(request):
                room.put(request)
                self._ask_at = time.monotonic() + ASK_AGAIN_SECS
                return

    def _give_back(self, request: Request) -> bool:
        """Mark `request`, and give it back to the user's scheduler; return whether that worked.

        The function `returned` sets the mark, and lets the request pass the duplicate filter. The
        mark is removed when the front takes the request again, or if the scheduler fails.
        """
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
    """Scrapy's scheduler with the front. Its requests wait in the room for their robots.txt.

    The add-on enables this scheduler. A project without the add-on sets `SCHEDULER` to it.
    """


def with_front(scheduler_cls: type) -> type:
    """Return a subclass of `scheduler_cls` that has the front.

    If `scheduler_cls` already has the front, return `scheduler_cls` itself.
    """
    if Front in scheduler_cls.__mro__:
        return scheduler_cls
    if scheduler_cls is Scheduler:
        return RobotsScheduler
    of_module = {"__module__": scheduler_cls.__module__}
    return type(f"{scheduler_cls.__name__}WithFront", (Front, scheduler_cls), of_module)
