"""Test the room, in which requests wait for the robots.txt of their site, without a crawl.

The test controls the clock, the engine, and the look-ups of robots.txt files.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar, TypeAlias
from unittest.mock import Mock

import pytest
from scrapy import Request
from scrapy.pqueues import DownloaderAwarePriorityQueue
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import GbotRobotsTxtMiddleware, Origin, RobotsScheduler
from scrapy_gbot_robots.answers import answer as answer_module
from scrapy_gbot_robots.answers.answer import CachedAnswer, Source
from scrapy_gbot_robots.core.crawlers import UserAgent
from scrapy_gbot_robots.obeying import front as front_module
from scrapy_gbot_robots.obeying import room as room_module
from scrapy_gbot_robots.obeying.lines import Handed
from scrapy_gbot_robots.obeying.room import Room
from scrapy_gbot_robots.obeying.subject import is_subject
from scrapy_gbot_robots.policy.outages import Decision, Entry, Outage, Policy, State, renew
from scrapy_gbot_robots.policy.outcome import Unreachable

Then: TypeAlias = Callable[[CachedAnswer | None], None]
NewWorld: TypeAlias = "Callable[..., World]"

AGENT = UserAgent.of("testbot")
WAIT = 60.0
SLOT = {"download_slot": "s"}
STARTS = {"SCHEDULER_START_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}


class World:
    """A scheduler with a room in front of it, a downloader that only counts, and a clock.

    The test ends each look-up of a robots.txt with `end` or `fails`.
    """

    opened: ClassVar[list[World]] = []

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        queue: type = DownloaderAwarePriorityQueue,
        scheduler: type = RobotsScheduler,
        look_ups: int = room_module.FEWEST_AT_A_TIME,
        **settings: Any,
    ) -> None:
        monkeypatch.setattr(room_module, "FEWEST_AT_A_TIME", look_ups)
        self.now = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.now, time=lambda: 1e9 + self.now)
        monkeypatch.setattr(room_module, "time", clock)
        monkeypatch.setattr(front_module, "time", clock)
        self.pauses: list[Callable[[], None]] = []  # Each function ends a pause of the queue.
        monkeypatch.setattr(front_module, "call_later", lambda _, end: self.pauses.append(end))
        # The room's looping call does not run. The test calls its function itself.
        monkeypatch.setattr(room_module, "looping_call", lambda look: Mock())
        monkeypatch.setattr(answer_module, "time", clock)
        settings = {"SCHEDULER_PRIORITY_QUEUE": queue, **STARTS, **settings}
        self.crawler: Any = get_crawler(settings_dict=settings)
        self.crawler.crawling = True
        self.known: dict[Origin, CachedAnswer] = {}
        self.asked: dict[str, Then] = {}  # the callback of each look-up under way, by host
        self.requests: list[Request] = []  # the requests for which look-ups were started
        self.order: list[str] = []
        middleware = GbotRobotsTxtMiddleware.__new__(GbotRobotsTxtMiddleware)
        middleware.room = self.room = Room(self.crawler, self, self, is_subject, WAIT)  # type: ignore[arg-type]
        self.slots: dict[str, Any] = {}
        self.in_progress: set[Request] = set()
        middlewares = SimpleNamespace(middlewares=[middleware])
        downloader = SimpleNamespace(slots=self.slots, active=set(), middleware=middlewares)
        downloader.get_slot_key = slot_of
        nextcall = SimpleNamespace(schedule=lambda: None)
        parts = SimpleNamespace(closing=None, inprogress=self.in_progress, nextcall=nextcall)
        engine: Any = SimpleNamespace(downloader=downloader, _slot=parts)
        self.crawler.engine = engine
        self.scheduler: Any = scheduler.from_crawler(self.crawler)  # type: ignore[attr-defined]
        self.crawler.spider = self.crawler._create_spider("any")
        self.scheduler.open(self.crawler.spider)
        self.opened.append(self)
        self.room.start()

    # The room calls the following methods.

    def user_agent(self, request: object) -> object:
        return AGENT

    def good_answer(self, origin: Origin, user_agent: UserAgent) -> CachedAnswer | None:
        answer = self.known.get(origin)
        if answer is None or 1e9 + self.now >= answer.ask_at or not answer.knows(user_agent):
            return None
        return answer

    is_closing = False

    def last_answer(self, origin: Origin) -> CachedAnswer | None:
        return self.known.get(origin)

    def look_up(
        self,
        origin: Origin,
        user_agents: object,
        request: Request,
        then: Then,
        before: CachedAnswer | None,
    ) -> None:
        host = str(origin).replace("http://", "")
        assert host not in self.asked
        self.asked[host] = then
        self.requests.append(request)
        self.order.append(host)

    def way_of(self, request: Request) -> tuple[str, ...]:
        return (str(request.meta.get("proxy")),)

    def is_fetched_elsewhere(self, origin: Origin) -> bool:
        return False

    def need(self, origin: Origin, user_agent: object) -> None:
        """Do nothing, because the answers in these tests contain the rules of all user agents."""

    # The tests call the following methods.

    def push(self, *urls: str, **more: Any) -> None:
        for url in urls:
            assert self.scheduler.enqueue_request(Request(f"http://{url}", **more))

    def pull(self, most: int = 10_000) -> list[str]:
        """Take requests out until the scheduler returns none. Return their paths."""
        return [path_of(request) for request in self.take(most)]

    def take(self, most: int = 10_000) -> list[Request]:
        """Take requests out until the scheduler returns none.

        Each reaches the middleware at once.
        """
        found: list[Request] = []
        while len(found) < most and (request := self.next()) is not None:
            found.append(request)
            self.arrived(request)
        return found

    def next(self) -> Request | None:
        """Take one request out of the scheduler, as the engine does in a new turn of its loop."""
        self.end_pauses()
        request: Request | None = self.scheduler.next_request()
        if request is not None:
            self.in_progress.add(request)
        return request

    def end_pauses(self) -> None:
        while self.pauses:
            self.pauses.pop()()

    def arrived(self, request: Request) -> Handed:
        """Let a request reach the middleware, which ends its way through the room."""
        handed = self.room.ready.end_way(request)
        assert handed is not None
        self.in_progress.discard(request)
        return handed

    def tell(self) -> None:
        """Do nothing, because these tests count nothing."""

    def abandon(self) -> None:
        self.asked.clear()

    def end(
        self,
        host: str,
        state: State = State.FULL_ALLOW,
        secs: float = 86400.0,
        status: int | None = 200,
        outage: Outage | None = None,
    ) -> None:
        """End the look-up of `host`. The answer is fresh for `secs` seconds."""
        origin = Origin.of(f"http://{host}/")
        at = 1e9 + self.now + secs
        is_temporary = state is State.FULL_DISALLOW
        decision = Decision(state, "because", is_temporary, at, at, outage=outage)
        before = self.known.get(origin)
        answer = CachedAnswer(origin, decision, status, Source.FETCHED, before=before)
        if is_temporary:
            source = next(each for each in reversed(self.requests) if Origin.of(each.url) == origin)
            answer.failed_way = self.way_of(source)
        self.known[origin] = answer
        self.asked.pop(host)(answer)

    def fails(
        self,
        host: str,
        secs: float = 7.0,
        status: int | None = 503,
        outcome: Unreachable | None = None,
    ) -> None:
        """End the look-up of `host`.

        Its robots.txt is unreachable. The next fetch is due after `secs`.
        """
        before = self.known.get(Origin.of(f"http://{host}/"))
        entry = Entry(None, before.outage if before else None)
        outcome = outcome or Unreachable("because", status)
        outage = renew(entry, outcome, 1e9 + self.now, Policy()).outage
        self.end(host, State.FULL_DISALLOW, secs, outcome.status, outage)

    def waits(self, secs: float) -> None:
        self.now += secs
        self.room._tick()

    def stat(self, name: str) -> int:
        return int(self.crawler.stats.get_value(f"gbot_robots/{name}", 0))


def path_of(request: Request) -> str:
    return str(request.url.partition("://")[2])


def slot_of(request: Request) -> str:
    return str(request.meta.get("download_slot") or urlparse_cached(request).hostname)


def slot(active: str = "", delay: float = 0.0, concurrency: int = 8) -> Any:
    return SimpleNamespace(active=active, queue=[], delay=delay, concurrency=concurrency)
