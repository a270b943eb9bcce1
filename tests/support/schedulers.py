"""Schedulers and queues as users write them, in each of the forms that Scrapy accepts."""

from __future__ import annotations

from collections import deque
from typing import Any, ClassVar

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler, Scheduler
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue


class Fifo(BaseScheduler):
    """A queue in memory, first in, first out. It drops duplicate URLs."""

    left: ClassVar[list[Request]] = []  # the requests in the queue when the last crawl was closed

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
    """Its `from_crawler` always makes a NamesItself, even if it is called on a subclass."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> Any:
        return NamesItself()


class SaysNone(Fifo):
    """Its `has_pending_requests` always returns False."""

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
    """Replaces its queue when the first request is added."""

    has_replaced = False

    def enqueue_request(self, request: Request) -> bool:
        if not self.has_replaced:
            self.has_replaced = True
            self.mqs: Any = self._mq()
        return bool(super().enqueue_request(request))


class _Lifo:
    """A scheduler with only the methods that Scrapy needs."""

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
    """Has `__slots__`, so no attribute can be added to it."""

    __slots__ = ("requests",)

    def __init__(self) -> None:
        self.requests: list[Request] = []


class Duck(_Lifo):
    """Is not a subclass of a class of Scrapy. It has a length."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def __len__(self) -> int:
        return len(self.requests)


class OwnAwareQueue(DownloaderAwarePriorityQueue):
    """A user's subclass of Scrapy's default priority queue."""


class OwnPriorityQueue(ScrapyPriorityQueue):
    """A user's subclass of the priority queue that was Scrapy's default before."""
