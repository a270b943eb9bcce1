"""The front of a scheduler: what it hands out goes through the crawl's room.

The add-on sets `SCHEDULER` to a subclass of the user's class, Scrapy's own or any other.

    engine  <---  room  <---  their scheduler (disk, Redis, ...)

* Scrapy's scheduler in a crawl without `JOBDIR`: the room takes the place of its queue in memory.
  So requests come straight into it, behind the duplicate filter, and its order is Scrapy's.
* Any other: what is ready in the room goes first. Then the front takes a request from the
  scheduler; if that has to wait, it is held in the room, and the front takes the next one, for at
  most `PULL_SECS`. It takes none while it holds what it can use (`_holds_enough`), so that other
  processes get their share of a queue that they share, and files keep what is in them. Of a queue
  that is not in Scrapy's files it looks a few requests ahead (`LOOK_AHEAD`), though one can go on.
  When the crawl closes, what is held goes back. So queues and files are the scheduler's own.

While their scheduler fails, such as when its Redis is away, what is held stays held. The front
serves that, and asks their scheduler again after `ASK_AGAIN_SECS`, as the engine's heartbeat would.

A crawl that is asked to stop before its engine runs is not closed: Scrapy ends the process, or goes
on. The front holds nothing then, so that no more is lost than without it.
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
MOST_OF_A_SLOT = 100  # if Scrapy's queue on disk knows slots
# The front holds so many requests that can go on, or soon will: times CONCURRENT_REQUESTS, but no
# fewer than it looks ahead.
USABLE = 2
# So a process that downloads few at a time asks the next host for its robots.txt before its turn.
# Of a queue that may be shared, so many are held while one can go on. Who is killed loses them.
LOOK_AHEAD = 20
SURPLUS = 3  # above so many times as many, some go back, as when an unreachable host answers
DOUBLE_SECS = 0.5  # after which the front takes twice as many of sites whose look-up is late
PULL_SECS = 0.01  # for one request that goes on
ASK_AGAIN_SECS = 5.0
GIVE_BACK_SECS = 10.0  # after the first failure, for all that is left when the crawl closes

logger = logging.getLogger(__name__)


class RoomAsQueue:
    """The room in the place of the queue in memory of Scrapy's scheduler.

    Args:
        queue: the class of Scrapy's queues for requests.
        start_queue: the class of its queues for start requests; None: they have none.
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
        # Those that come back do so in the order in which they went.
        if queue is FifoMemoryQueue or RETURNED in request.meta:
            step = 1
        self._room.put(request, is_start=is_start, step=step)


class Front:
    """What a scheduler with a front does before the user's own class, the next in `__mro__`."""

    _room: Room | None = None  # None: the crawl obeys no robots.txt, or is not open
    _crawler: Any = None
    _most_usable = 0
    _look_ahead = 0  # so many requests are held while one can go on
    _slots_on_disk: Collection[str] = ()  # with requests, if Scrapy's queue knows slots
    _ask_at = 0.0  # on the monotonic clock: when to ask the scheduler again after it has failed
    _last_error: Exception | None = None  # None: it has not failed, or works again

    @property
    def _theirs(self) -> Any:
        """The scheduler, as the user's class has it."""
        return super()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Any:
        """Make a scheduler as the user's class makes it, and give it the front."""
        scheduler = getattr(super(), "from_crawler", lambda _: cls())(crawler)
        # Not `isinstance`: that is true of whatever has the methods of a scheduler.
        if cls not in type(scheduler).__mro__:
            # The user's `from_crawler` names its own class, and not `cls`. An object with
            # `__slots__` keeps its class: then requests wait in the downloader.
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

        1. One that is not Scrapy's: the front looks ahead in it. Its order holds for all slots.
        2. Scrapy's with its queue in memory: the room takes the place of that queue.
        3. Scrapy's with a queue on disk: the queue counts what the room holds of each slot.
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
            # a subclass with a `next_request` of its own may take requests from elsewhere
            asks_its_queue = self._theirs.next_request.__func__ is Scheduler.next_request
            if kinds is not None and asks_its_queue:
                scheduler.mqs = RoomAsQueue(room, *kinds)
            elif scheduler.dqs is not None:
                self._slots_on_disk = count_held(scheduler.dqs, room.occupancy.by_slot)
        except AttributeError as error:
            logger.warning(
                "Scrapy's scheduler is not as the plugin knows it (%s): requests that wait for "
                "their robots.txt are taken from it one by one",
                error,
            )

    def _holding(self) -> Room | None:
        """The room, if it holds what the front takes from the scheduler; else None.

        None, too, if the room is the scheduler's own queue, unless a subclass has replaced that.
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
        """Schedule `request`.

        One that was handed out and comes back is held: their scheduler may fail now.
        """
        room = self._holding()
        if room is not None and RETURNED in request.meta:
            room.put(request)
            return True
        return bool(self._theirs.enqueue_request(request))

    def next_request(self) -> Request | None:
        """Return the next request that need not wait; None if there is none for now.

        Before that, move requests from the user's scheduler into the room, for `PULL_SECS` at
        most. If the room holds far too many that can go on, some go back.
        """
        room = self._holding()
        # A crawl that was asked to stop too early is never closed: nothing is held in it.
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
        """Whether the front takes no more from the scheduler now.

        `ready` is a request that can go on, or None. Of sites in trouble up to `MOST_HELD` are
        held: otherwise a few dead hosts would block the head of a queue of first in, first out.
        Sites whose look-up is late may turn out to be in trouble: the longer they are late, the
        more of theirs is held.
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
        """Take a request from the user's scheduler.

        Return None if it has none, or fails while some are held: then it is asked again after
        `ASK_AGAIN_SECS`. The one that is `ready` to go on counts as held. If none are held, this
        raises what the scheduler raises.
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
                    "The scheduler failed: %r. %d of its requests wait for their robots.txt; they "
                    "stay, and it is asked again each %g seconds",
                    error,
                    room.occupancy.size,
                    ASK_AGAIN_SECS,
                )
            self._last_error = error
            return None
        self._last_error = None
        return request

    def close(self, reason: str) -> Any:
        """Give back what is held, and close the scheduler."""
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
                    "The scheduler failed as the crawl closed: %d requests that waited for their "
                    "robots.txt are lost: %r",
                    lost,
                    self._last_error,
                )
        self._room = None
        return getattr(self._theirs, "close", _do_nothing)(reason)

    def _give_back_surplus(self, room: Room) -> None:
        """Give the scheduler back what can go on beyond `_most_usable` requests.

        If the scheduler fails, the rest stays, and the scheduler is asked again later.
        """
        for request in room.take_surplus(self._most_usable):
            if not self._give_back(request):
                room.put(request)
                self._ask_at = time.monotonic() + ASK_AGAIN_SECS
                return

    def _give_back(self, request: Request) -> bool:
        """Give `request` back to the user's scheduler, marked; return whether that worked."""
        try:
            self._theirs.enqueue_request(returned(request))
        except Exception as error:
            restore(request)
            self._last_error = error
            return False
        return True


def _do_nothing(_: object) -> None:
    """In the place of a method that the user's class lacks."""


class RobotsScheduler(Front, Scheduler):
    """Scrapy's scheduler, in which requests wait for their robots.txt.

    The add-on sets it; projects without the add-on name it in `SCHEDULER`.
    """


def with_front(scheduler_cls: type) -> type:
    """Return a subclass of `scheduler_cls` with a front."""
    if Front in scheduler_cls.__mro__:
        return scheduler_cls
    if scheduler_cls is Scheduler:
        return RobotsScheduler
    of_module = {"__module__": scheduler_cls.__module__}
    return type(f"{scheduler_cls.__name__}WithFront", (Front, scheduler_cls), of_module)
