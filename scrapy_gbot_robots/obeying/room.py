"""The room in which requests wait for their robots.txt. Each crawl has one, before its scheduler.

    put  --->  line, line, line ...  --->  next

The way of a request:

1. `put` adds it to the line of its site and slot.
2. `_may_go` decides whether the first request of a line may go on. If so, the line is ready.
3. Otherwise the line waits at its site, which is shut until it has an answer. The answer is in
   memory (`_seek_answer`), or comes from a look-up, for which the site queues (`_queue`).
4. `_look_up_more` starts the look-ups of the most urgent sites.
5. `_receive` gets the answer. If the robots.txt is unreachable, the site gets a date (`_due`) at
   which the room looks again. Otherwise the site is open, and its lines are ready.
6. `next` takes the ready line whose turn it is, calls `_may_go` again, and hands out the first
   request of the line, with the answer of its site.
7. The middleware judges the request by that answer, even if the room has a newer one. A request
   may be handed out without an answer, and turn out to need one. It then comes back once, with the
   mark `RETURNED`, and waits here. `is_subject_to_robots` is not called again for it.

A request that did not come through the scheduler has no line. It waits in the downloader
(`answer_in_place`) for the look-up of its site. The number of these requests is not limited. If
their robots.txt is unreachable, a few of them wait as long as they would in a line; the others get
the answer that there is, and are forbidden.

The room is in memory only. `take_all` takes out all requests, for the front to give them back.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from functools import partial
from heapq import heappop, heappush
from itertools import chain, count
from typing import TypeAlias

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import maybe_deferred_to_future

from ..core.crawlers import UserAgent
from ..core.urls import Origin
from ..engine import DownloadSlots, is_closing, pull_soon, without_a_place
from ..fetching.fetcher import MOST_UNDER_WAY
from ..meta import RETURNED
from .ahead import PagesAhead
from .answer import CachedAnswer, Source
from .identity import CrawlerIdentity
from .lines import (
    Handed,
    Occupancy,
    QueuedRequest,
    ReadyLines,
    Site,
    SiteLine,
    Sites,
    Standing,
    Waiter,
)
from .lookup import Lookup
from .patience import Patience
from .subject import is_unchecked_sitemap, origin_of, restore

LOOK_SECS = 0.1  # The clock of the room ticks at this interval.
SERVED_SECS = 600.0  # Requests that have waited for an answer may use it this long.
FEWEST_AT_A_TIME = 16  # At least this many look-ups may run at the same time.
SLOW_SECS = 4.0  # If a look-up has been late for longer, the log names its robots.txt.
LATE_SECS = 1.0  # A look-up that takes longer is late, and does not delay those of other sites.

# The entries are a rank or a date, a number that makes the entry unique, and the site.
_Heap: TypeAlias = "list[tuple[float, int, Site]]"

logger = logging.getLogger(__name__)


class Room:
    """The requests of one crawl that wait for a robots.txt, and those that are ready.

    Args:
        crawler: the crawl.
        lookup: looks up the answers.
        identity: finds the user agent of a request.
        is_subject: whether a robots.txt decides about a request.
        wait_secs: how long requests wait for an unreachable robots.txt, in seconds. With 0 they do
            not wait.

    Attributes:
        download_slots: the download slots. If they are apart, priorities are compared within a slot
            only.
        occupancy: how many requests are in the room.
        pages_ahead: how many of these are for pages, and the sitemap files that wait until there
            are fewer.
        ready: the lines that have a turn, and the requests that were handed out.
        in_place: the requests that wait in the downloader.
        requests_see: whether each request to a host whose robots.txt is unreachable is let through
            once, so that the project's own middlewares, which come before this plugin's, can exempt
            it.
        keeps_crawl_open: whether a front keeps the crawl open for the requests in `in_place`. If
            not, they keep their places in the downloader, so that Scrapy does.
    """

    def __init__(
        self,
        crawler: Crawler,
        lookup: Lookup,
        identity: CrawlerIdentity,
        is_subject: Callable[[Request], bool],
        wait_secs: float,
    ) -> None:
        self._crawler = crawler
        self._lookup = lookup
        self._identity = identity
        self._is_subject = is_subject
        self._patience = Patience(wait_secs)
        self.download_slots = DownloadSlots(crawler)
        concurrent = crawler.settings.getint("CONCURRENT_REQUESTS")
        self._most_at_a_time = max(FEWEST_AT_A_TIME, concurrent)

        # All requests in the room.
        self._sites = Sites()
        self.ready = ReadyLines(crawler, self.download_slots)
        self.occupancy = Occupancy(crawler)
        self.pages_ahead = PagesAhead(crawler, self.download_slots)

        # All requests that wait in the downloader, and the requests among them whose robots.txt is
        # unreachable.
        self.in_place: set[Waiter] = set()
        self._held_in_place: set[Waiter] = set()
        self._most_held_in_place = max(1, concurrent // 4)
        self.keeps_crawl_open = False

        # The sites that wait for a look-up, the most urgent first, and the sites that have a date,
        # the earliest first. Both heaps may contain entries that are out of date.
        self._to_ask: _Heap = []
        self._due: _Heap = []
        self._numbers = count(1)

        # The sites whose look-up is running. `_young` has the time when a look-up began, `_late`
        # the time since when it has been late. The oldest come first.
        self._young: dict[Site, float] = {}
        self._late: dict[Site, float] = {}
        # The sites whose answer was fetched, but none of whose requests was handed out since.
        self._unused_answers: set[Site] = set()
        self._is_busy = False
        self._has_logged_slow = False
        self.requests_see = False
        self._notices_servers = False  # whether `_server_answered` is connected to its signal
        # It runs from the opening of the spider until the crawl begins to close.
        self._clock = create_looping_call(self._tick)

    @property
    def late_since(self) -> float:
        """When the look-up that has been late for longest became late; infinity if none is late."""
        return next(iter(self._late.values()), float("inf"))

    # The decisions.

    def _may_go(self, line: SiteLine) -> bool:
        """Whether the first request of `line` may go on now.

        The middleware judges it by the answer of its site, if there is one.
        """
        site = line.site
        if site.origin is None:
            return True
        answer = site.answer
        if answer is None:
            return False
        first = line[0]
        if answer.bars_for_now and self._is_to_wait(answer, first.request):
            # If it goes now, it goes without an answer.
            return self.requests_see and not line.has_returned
        now = time.time()
        if answer.is_good(now):
            return True
        has_waited = abs(first.order) < site.waited_before and not answer.bars_for_now
        return has_waited and now < answer.given_at + SERVED_SECS

    def _is_to_wait(self, answer: CachedAnswer, request: Request) -> bool:
        """Whether `request` waits for a better answer than `answer`.

        When the wait is over, a portion of the requests is forbidden. The rest waits until the host
        is dead or gone.
        """
        is_waited_for = answer.is_waited_for(request)
        return is_waited_for and not self._patience.gives_up(answer, time.monotonic())

    # The methods for the front.

    def put(self, request: Request, *, is_start: bool = False, step: int = 1) -> None:
        """Take in `request`. Requests with a higher priority go first.

        Args:
            request: the request.
            is_start: whether it is a start request. These go last among requests of equal priority.
            step: -1 or 1. Requests with -1 go before those with 1, the newest first. Requests with
                1 go in the order in which they came.
        """
        has_returned = RETURNED in request.meta
        origin = None
        if has_returned or (self._is_subject(request) and not is_unchecked_sitemap(request)):
            try:
                origin = origin_of(request)
            except ValueError:
                origin = None  # The middleware forbids this request.
        site = self._sites[origin]
        if origin is not None:
            self._need(site, self._identity.user_agent(request))
        slot = self.download_slots.key(request)
        line = site.get((slot, has_returned))
        if line is None:
            line = site[slot, has_returned] = SiteLine(slot, site, has_returned)
        entry = QueuedRequest(-request.priority, is_start, next(self._numbers) * step, request)
        heappush(line, entry)
        self.occupancy.add(line, 1)
        self.pages_ahead.add(slot, request)
        if site.standing is Standing.UNREACHABLE and not has_returned:
            self._crawler.stats.inc_value("gbot_robots/requests/held")
        if line[0] is entry:
            self._place(line)

    def next(self) -> Request | None:
        """Hand out a request that need not wait; None if there is none now.

        If the room is not empty, None means that the requests wait for a robots.txt, or that their
        slots are busy. The engine asks again when a page has come, and when the room calls
        `pull_soon`, which it does for each new answer and each tick of its clock. The crawl stays
        open meanwhile, because `occupancy` counts these requests.
        """
        request = self._next_ready()
        if request is None and self.ready.forget_dropped():
            request = self._next_ready()
        # The slots of the sites with unused answers are busy, so other sites may be looked up.
        if request is None and self._unused_answers:
            self._unused_answers.clear()
            self._look_up_more()
        return request

    def take_surplus(self, keep: int) -> Iterator[Request]:
        """Yield requests that can go on, and take them out, until `keep` usable ones are left.

        In each line, the last request of the heap is taken first, because it is seldom urgent.
        """
        for line in self._lines():
            while line.site.standing is Standing.OPEN and line and self.occupancy.usable > keep:
                yield self._forget_queued(line, line.pop())

    def take_all(self) -> Iterator[Request]:
        """Yield all requests, and take them out. No site is looked up any more."""
        self.close()
        for line in self._lines():
            while line:
                yield self._forget_queued(line, heappop(line))

    def _lines(self) -> list[SiteLine]:
        return [*chain.from_iterable(site.values() for site in self._sites.values())]

    # The methods for the middleware.

    async def answer_in_place(
        self, origin: Origin, user_agent: UserAgent, request: Request, *, keeps_place: bool
    ) -> CachedAnswer | None:
        """Wait in the downloader, and return the answer for `request`; None if the crawl closes.

        A request that did not come through the scheduler frees its place among CONCURRENT_REQUESTS
        meanwhile, because many such requests would stop the crawl. A request from the scheduler
        keeps its place (`keeps_place`), because another request could have that place when this one
        goes on.
        """
        if self._lookup.is_closing:
            return None
        waiter = Waiter(request, user_agent)
        site = self._sites[origin]
        self._need(site, user_agent)
        site.waiters += (waiter,)
        if site.answer is None:
            # The last answer may be too old. It is used until a look-up has ended.
            site.answer = self._lookup.last(origin)
        if site.standing is Standing.OPEN or site.queued_rank is not None:
            self._seek_answer(site, has_turn=True)
        if site not in self._young:  # If it is there, a better answer is likely to come soon.
            self._release(site)
        self.in_place.add(waiter)
        ended = maybe_deferred_to_future(waiter.ended)
        try:
            if keeps_place or not self.keeps_crawl_open:
                return await ended
            with without_a_place(self._crawler, request):
                return await ended
        finally:
            self.in_place.discard(waiter)
            self._held_in_place.discard(waiter)

    def _release(self, site: Site) -> None:
        """Wake the requests in the downloader that wait for `site` and need not wait longer."""
        waiters, site.waiters = site.waiters, ()
        for waiter in waiters:
            if self._keep(waiter, site):
                site.waiters += (waiter,)
            else:
                waiter.ended.callback(site.answer)
        self._forget_if_over(site)

    def _keep(self, waiter: Waiter, site: Site) -> bool:
        """Return whether a request in the downloader goes on waiting, by the answer of its site.

        For unreachable robots.txt files, up to a quarter of CONCURRENT_REQUESTS wait, until their
        wait is over. All others are forbidden.
        """
        answer = site.answer
        if answer is None or not answer.knows(waiter.user_agent):
            return True
        if not answer.is_waited_for(waiter.request):
            # It waits for a newer answer, if a look-up is running.
            return site in self._young or site in self._late
        if not self._patience.is_to_wait(answer, time.monotonic()):
            return False
        held = self._held_in_place
        if waiter not in held and len(held) < self._most_held_in_place:
            held.add(waiter)
            self._crawler.stats.inc_value("gbot_robots/requests/held")
        return waiter in held

    # Lines.

    def _place(self, line: SiteLine) -> None:
        """Make `line` ready if its first request may go on; otherwise let it wait at its site.

        Call this if the first request is a new one, or if it may not go on any more.
        """
        site = line.site
        if line.turn or self._may_go(line):
            self.ready.add(line)
        elif site.standing is Standing.OPEN:
            self._seek_answer(site)
            self._look_up_more()
        elif site.queued_rank is not None and line[0].rank < site.queued_rank:
            self._queue(site, line)

    def _stand(self, site: Site, standing: Standing) -> None:
        """Change the standing of `site`. No other method does so."""
        self.occupancy.move(site, standing)
        self._forget_if_over(site)

    def _next_ready(self) -> Request | None:
        while (line := self.ready.take()) is not None:
            if self._may_go(line):
                return self._hand_out(line)
            self._place(line)
        return None

    def _hand_out(self, line: SiteLine) -> Request:
        request = self._forget_queued(line, heappop(line))
        answer = line.site.answer
        if answer is not None and answer.bars_for_now:
            if self._is_to_wait(answer, request):
                answer = None  # It is let through to find out whether it needs an answer.
            else:
                self._patience.give_up(answer)  # It will be forbidden.
        # A slot that does not exist would look idle.
        self.download_slots.make(line.slot, request)
        if line.has_returned:
            restore(request)
        handed = Handed(line.slot, request.url, line.site.origin, answer, line.has_returned)
        self.ready.hand_out(request, handed)
        if line:
            self.ready.add(line)
        return request

    def _forget_queued(self, line: SiteLine, queued: QueuedRequest) -> Request:
        """Update all counts for a request that was taken out of `line`, and return the request.

        If the line or its site is empty, forget it.
        """
        site = line.site
        if not line:
            line.turn = 0
            del site[line.slot, line.has_returned]
        self.occupancy.add(line, -1)
        self.pages_ahead.add(line.slot, queued.request, -1)
        if site in self._unused_answers:  # Its answer is used now, so one more look-up may run.
            self._unused_answers.discard(site)
            self._look_up_more()
        if not line:
            self._forget_if_over(site)
        return queued.request

    def _forget_if_over(self, site: Site) -> None:
        """Forget `site` if it has no requests and is open. If it is not open, it is still due."""
        if not (site.size or site.waiters) and site.standing is Standing.OPEN:
            self._sites.pop(site.origin, None)

    # Look-ups.

    def _need(self, site: Site, user_agent: UserAgent) -> None:
        """Let the next look-up of `site` read the rules of `user_agent`, also one under way."""
        site.user_agents.need(user_agent)
        if site.origin is not None and (site in self._young or site in self._late):
            self._lookup.need(site.origin, user_agent)

    def start(self) -> None:
        """Begin to look up origins. Call this when the spider is open."""
        self._clock.start(LOOK_SECS, now=False)
        self._look_up_more()

    def close(self) -> None:
        """End all look-ups, and wake the requests in the downloader, without an answer.

        The requests in lines stay.
        """
        if self._clock.running:
            self._clock.stop()
        self._lookup.abandon()
        for site in [*self._sites.values()]:
            # A request that wakes may come back here at once.
            waiters, site.waiters = site.waiters, ()
            for waiter in waiters:
                waiter.ended.callback(None)

    def _look_up_more(self) -> None:
        """Do three things for the sites that wait.

        1. Look-ups that take long become late. Up to `MOST_UNDER_WAY`, they do not delay others.
        2. Sites whose date has come seek an answer again.
        3. Look-ups of the most urgent sites begin, but not far ahead of the pages.
        """
        if self._is_busy:
            return  # Without asyncio a look-up may end at once, and call this method again.
        self._is_busy = True
        now = time.monotonic()
        while self._young:
            site, began_at = next(iter(self._young.items()))
            if began_at > now - LATE_SECS:
                break
            del self._young[site]
            self._late[site] = began_at + LATE_SECS
            if site.standing is Standing.ASKED:
                self._stand(site, Standing.LATE)
            # If its robots.txt was unreachable before, a better answer will not come soon, so some
            # requests in the downloader may be forbidden. Requests without any answer still wait.
            self._release(site)
        while self._due and self._due[0][0] <= now:
            self._seek_answer(heappop(self._due)[2])
        while self._to_ask and self._clock.running:
            if len(self._young) + len(self._unused_answers) >= self._most_at_a_time:
                break
            if len(self._young) + len(self._late) >= MOST_UNDER_WAY:
                break
            rank, _, site = heappop(self._to_ask)
            if site.queued_rank == rank:
                self._seek_answer(site, has_turn=True)
        self._is_busy = False

    def _seek_answer(self, site: Site, *, has_turn: bool = False) -> None:
        """Get an answer for `site` from memory, or start its look-up, or queue it for a look-up.

        The request for the robots.txt takes its proxy and other meta from the most urgent request.
        A request in the downloader is the most urgent one. Its look-up starts at once, because
        pages may wait for that request.

        Args:
            site: the site.
            has_turn: whether the site has waited in the queue already.
        """
        line = site.most_urgent()
        if site.waiters:
            has_turn = True
            request = site.waiters[0].request
            user_agent = site.waiters[0].user_agent
        elif line is not None:
            request = line[0].request
            user_agent = self._identity.user_agent(request)
        if site.origin is None or not (line or site.waiters):
            self._stand(site, Standing.OPEN)
            return
        answer = self._lookup.cached(site.origin, user_agent)
        if answer is not None:
            self._receive(site, answer)
            return
        if site.standing is Standing.OPEN:
            self._stand(site, Standing.ASKED)
        if line is not None and not has_turn:
            self._queue(site, line)
            return
        site.queued_rank = None
        site.user_agents.need(user_agent)
        self._young[site] = time.monotonic()
        then = partial(self._answered, site)
        self._lookup.look_up(site.origin, site.user_agents, request, then, site.answer)

    def _queue(self, site: Site, line: SiteLine) -> None:
        """Queue `site` for its look-up. An older entry with another rank becomes invalid."""
        site.queued_rank = line[0].rank
        heappush(self._to_ask, (site.queued_rank, next(self._numbers), site))

    def _answered(self, site: Site, answer: CachedAnswer | None) -> None:
        """Take the answer of a look-up; None if the crawl is closing."""
        self._young.pop(site, None)
        self._late.pop(site, None)
        if answer is None:
            return
        # It stays in this set until one of its requests goes on, because look-ups must not run far
        # ahead of pages.
        if answer.source is Source.FETCHED and site.size:
            self._unused_answers.add(site)
        self._receive(site, answer)
        self._look_up_more()

    def _receive(self, site: Site, answer: CachedAnswer) -> None:
        """Make `answer` the answer of `site`, and release the requests that may go on.

        If requests wait for a better answer, the site gets a date at which the room looks again.
        """
        site.answer = answer
        if site.standing is not Standing.OPEN:
            site.waited_before = next(self._numbers)
        now = time.monotonic()
        self._note(answer, now)
        if answer.is_waited_for() and not self._patience.is_over(answer, now):
            self._unused_answers.discard(site)
            if site.standing is not Standing.UNREACHABLE:
                self._crawler.stats.inc_value("gbot_robots/requests/held", site.size)
                self._stand(site, Standing.UNREACHABLE)
            date = self._patience.look_again_at(answer, now)
            heappush(self._due, (date, next(self._numbers), site))
        elif site.standing is not Standing.OPEN:
            if answer.bars_for_now and self._patience.is_gone(answer, now):
                self._crawler.stats.inc_value("gbot_robots/origins/gone")
            self._stand(site, Standing.OPEN)
        for line in site.waiting():
            if site.standing is Standing.OPEN or self._may_go(line):
                self.ready.add(line)
        self._release(site)
        # The remaining requests have user agents whose rules were not read.
        if site.waiters and site.standing is Standing.OPEN:
            self._seek_answer(site)
        pull_soon(self._crawler)

    def _note(self, answer: CachedAnswer, now: float) -> None:
        """Pass `answer` to the patience, which decides how long requests wait.

        From the first outage on, the room also listens to each response. This costs each page some
        time, so it does not begin earlier.
        """
        self._patience.note(answer, now)
        if answer.temporary and not self._notices_servers:
            self._notices_servers = True
            self._crawler.signals.connect(self._server_answered, signals.response_received)

    # The clock.

    def _tick(self) -> None:
        """Do what is due, or close the room if the crawl is closing.

        The engine is also asked to take requests, because the delay of a slot may be over.
        """
        self.pages_ahead.look()
        if is_closing(self._crawler):
            self.close()
            return
        self._lookup.tell()
        self.ready.forget_dropped()
        self._look_up_more()
        if self._late and not self._has_logged_slow:
            self._log_slow()
        if self.occupancy.size:
            pull_soon(self._crawler)

    def _log_slow(self) -> None:
        """Log once that requests wait for a slow robots.txt. Nothing else in the log shows it."""
        oldest = time.monotonic() - SLOW_SECS
        for site, late_at in self._late.items():
            if late_at > oldest:
                return
            waiting = len(site.waiters)
            if site.standing is Standing.LATE:
                waiting += site.size
            if waiting and site.origin is not None:
                self._has_logged_slow = True
                logger.info(
                    "%d requests wait for %s, which has not answered for %d seconds. The fetch "
                    "ends after GBOT_ROBOTS_TIMEOUT_SECS. Other slow files are not logged",
                    waiting,
                    site.origin.robots_url,
                    SLOW_SECS + LATE_SECS,
                )
                return

    def _server_answered(self) -> None:
        """Note that a server has answered, so our own network works."""
        self._patience.answered_at = time.monotonic()
