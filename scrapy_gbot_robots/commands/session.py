"""What sub-commands do in a crawl without pages: learn what robots.txt files say, and what sitemaps answer.

By the `Lookup`, the `Fetcher`, the storage and the policy that a crawl of the project uses: status codes, redirects and
outages mean here what they mean there. How such a crawl runs is for crawl.py.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import Request, signals
from scrapy.exceptions import StopDownload
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future

from ..obeying.drivers import driver_for
from ..obeying.entries import Entries
from ..obeying.lookup import Lookup
from ..policy.ladder import State, decide, renew
from ..settings import GbotSettings
from .exits import CommandError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from ..core.agents import RobotsAgent
    from ..core.origin import Origin
    from ..fetching.fetcher import Fetcher
    from ..obeying.answer import Answer
    from ..policy.entry import Entry
    from ..policy.ladder import Decision

_T = TypeVar("_T")

# Of a request for a status: its answer comes as it is, and without its body.
_STATUS_ONLY = {
    "dont_cache": True,
    "dont_obey_robotstxt": True,  # the caller has asked robots.txt
    "dont_redirect": True,
    "dont_retry": True,
    "gbot_robots_status_only": True,
}


@dataclass(frozen=True)
class Known:
    """What is known of one origin's robots.txt.

    Attributes:
        answer: what requests get that are made now by the crawler it was looked up for.
        fetched: whether this run of the command tried to fetch it; otherwise the answer comes from the storage.
        hops: status and URL of each response on the way, if it was fetched.
    """

    origin: Origin
    entry: Entry
    decision: Decision
    answer: Answer
    fetched: bool
    hops: tuple[tuple[int, str], ...]

    @property
    def body(self) -> bytes | None:
        """The robots.txt whose rules decide; None where none does."""
        return self.decision.copy.body if self.decision.state is State.RULES and self.decision.copy else None

    @property
    def missing(self) -> bool:
        """Whether there is no definite answer, not even an old one."""
        return self.decision.temporary and self.decision.copy is None


class Visit:
    """What the work of a sub-command has at hand while the crawl runs."""

    def __init__(self, crawler: Crawler, fetcher_cls: type[Fetcher]) -> None:
        self.crawler = crawler
        self.settings = GbotSettings.of(crawler.settings)
        self._entries = Entries(driver_for(self.settings, crawler).opens, crawler.stats)
        self._fetcher = fetcher_cls(crawler, self.settings)
        self._lookup = Lookup(crawler, self.settings, self._entries, self._fetcher)
        self._hops: list[tuple[int, str]] = []
        self._tried: dict[Origin, tuple[tuple[int, str], ...]] = {}  # the hops of each origin that was fetched
        crawler.signals.connect(self._headers_received, signals.headers_received)
        crawler.signals.connect(self._response_downloaded, signals.response_downloaded)

    async def known(self, origin: Origin, agent: RobotsAgent, *, fresh: bool = False) -> Known:
        """What is known of `origin`: stored and good for now, or else fetched; with `fresh` fetched in any case."""
        self._hops.clear()
        key, fetches = str(origin), self._fetches()
        if fresh:
            entry = await self._entries.get(key)
            outcome = await self._fetcher.fetch(origin)
            await self._entries.put(key, renew(entry, outcome, time.time(), self.settings.policy))
        answer = await self._lookup.ask(origin, agent)
        if fresh or self._fetches() > fetches:
            self._tried[origin] = tuple(self._hops)
        entry = await self._entries.get(key)
        if entry is None:
            raise CommandError(f"{origin.robots_url}: what was learnt could not be kept")
        decision = decide(entry, time.time(), self.settings.policy)
        return Known(origin, entry, decision, answer, origin in self._tried, self._tried.get(origin, ()))

    def _fetches(self) -> int:
        """How many robots.txt files the look-up has tried to fetch, with an answer or without."""
        fetches: int = self.crawler.stats.get_value("gbot_robots/lookup/fetched", 0)
        return fetches

    async def answer(self, origin: Origin, agent: RobotsAgent) -> Answer:
        """The answer that requests of `origin` would get in a crawl."""
        return await self._lookup.ask(origin, agent)

    async def answers(self, wanted: Iterable[tuple[Origin, RobotsAgent]]) -> dict[tuple[Origin, RobotsAgent], Answer]:
        """The answers for many origins and crawlers, asked at the same time as far as the settings allow."""
        keys = list(wanted)
        known = [self._lookup.known(*key) for key in keys]
        unknown = [key for key, answer in zip(keys, known, strict=True) if answer is None]
        found: dict[tuple[Origin, RobotsAgent], Answer] = dict(
            zip(unknown, await self.together(self._lookup.ask(*key) for key in unknown), strict=True)
        )
        return found | {key: answer for key, answer in zip(keys, known, strict=True) if answer is not None}

    async def together(self, works: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
        """Do works at the same time, and return their results in order. If some fail, raise the first one's error."""
        errors: list[Exception] = []

        async def finished(work: Coroutine[Any, Any, _T]) -> list[_T]:
            try:
                return [await work]
            except Exception as error:
                errors.append(error)
                return []

        results: list[_T] = []
        for each in [deferred_from_coro(finished(work)) for work in works]:
            done = await maybe_deferred_to_future(each)
            results += done
        if errors:
            raise errors[0]
        return results

    async def status(self, url: str) -> tuple[int, bytes | None]:
        """Ask for `url`, following no redirect: its status, and its Location.

        Raises:
            Exception: whatever the download handler raises.
        """
        engine = self.crawler.engine
        assert engine is not None  # noqa: S101  for the type checker: the crawl is running
        request = Request(url, callback=NO_CALLBACK, dont_filter=True, meta=dict(_STATUS_ONLY))
        response = await maybe_deferred_to_future(deferred_from_coro(engine.download_async(request)))
        return response.status, response.headers.get("Location")

    @staticmethod
    def _headers_received(request: Request) -> None:
        if _STATUS_ONLY.items() <= request.meta.items():
            raise StopDownload(fail=False)

    async def close(self) -> None:
        """Give up what is under way, and close the storage."""
        await self._lookup.close()

    def _response_downloaded(self, response: Response, request: Request) -> None:
        self._hops.append((response.status, request.url))
