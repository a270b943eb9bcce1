"""Schedulers and queues as users write them, in each of the ways that Scrapy takes."""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler, Scheduler
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue


class Fifo(BaseScheduler):
    """First in, first out, in memory; it drops URLs that it has seen."""

    left: ClassVar[list[Request]] = []  # when the last crawl was closed

    def __init__(self) -> None:
        self.requests: deque[Request] = deque()
        self._seen: set[str] = set()

    def has_pending_requests(self) -> bool:
        return bool(self.requests)

    def enqueue_request(self, request: Request) -> bool:
        if request.url in self._seen and not request.dont_filter:
            return False
        self._seen.add(request.url)
        self.requests.append(request)
        return True

    def next_request(self) -> Request | None:
        return self.requests.popleft() if self.requests else None

    def close(self, reason: str) -> None:
        Fifo.left = [*self.requests]


class NamesItself(Fifo):
    """Its `from_crawler` makes this very class, whatever class it is called on."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> Any:
        return NamesItself()


class SaysNone(Fifo):
    """Says that it has none."""

    def has_pending_requests(self) -> bool:
        return False


class Prefetches(Scheduler):
    """Takes two requests out of Scrapy's queue at a time."""

    def next_request(self) -> Request | None:
        fetched = self.__dict__.setdefault("fetched", [])
        while len(fetched) < 2 and (request := super().next_request()) is not None:
            fetched.append(request)
        return fetched.pop(0) if fetched else None

    def has_pending_requests(self) -> bool:
        return bool(self.__dict__.get("fetched")) or bool(super().has_pending_requests())


class ReplacesItsQueue(Scheduler):
    """Puts a queue of its own in place when its first request comes."""

    has_replaced = False

    def enqueue_request(self, request: Request) -> bool:
        if not self.has_replaced:
            self.has_replaced = True
            self.mqs: Any = self._mq()
        return bool(super().enqueue_request(request))


class _Lifo:
    """The fewest methods that will do."""

    __slots__ = ()
    requests: list[Request]

    def has_pending_requests(self) -> bool:
        return bool(self.requests)

    def enqueue_request(self, request: Request) -> bool:
        self.requests.append(request)
        return True

    def next_request(self) -> Request | None:
        return self.requests.pop() if self.requests else None


class Slotted(_Lifo, BaseScheduler):
    """Has `__slots__`, so that nothing can be put on it."""

    __slots__ = ("requests",)

    def __init__(self) -> None:
        self.requests: list[Request] = []


class Duck(_Lifo):
    """Is no subclass of anything of Scrapy's; it has a length."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def __len__(self) -> int:
        return len(self.requests)


class OwnAwareQueue(DownloaderAwarePriorityQueue):
    """A user's own kind of Scrapy's default queue."""


class OwnPriorityQueue(ScrapyPriorityQueue):
    """A user's own kind of the queue that was Scrapy's default before."""
