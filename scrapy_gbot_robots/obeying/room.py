"""Where requests wait for their robots.txt: one room for each crawl, before its scheduler.

    put  --->  line, line, line ...  --->  next

The way of a request:

1. `put` adds it to the line of its site and slot.
2. `_may_go` says whether the first request of a line may go on. If so, the line is ready.
3. Otherwise the line stands at its site, which is shut until it has an answer: one that is in
   memory (`_seek_answer`), or that of a look-up, for which the site queues (`_queue`).
4. `_look_up_more` looks up the most urgent sites.
5. `_receive` gets the answer. If that is unreachable, the site gets a date (`_due`) at which to
   look again. Otherwise it is open, and its lines are ready.
6. `next` takes the ready line whose turn it is, asks `_may_go` again, and hands its first request
   out, with the answer of its site.
7. The middleware has the request, and judges it by that answer, whatever the room would
   say now. One that was handed out without an answer, and needs one after all, comes back with the
   mark `RETURNED`, once: it waits here then without anybody being asked whether it has to.

What came past the scheduler has no line: it waits where it is (`answer_in_place`) for the look-up
of its site, however many such requests there are. If that robots.txt is unreachable, a few of them
wait as long as they would in a line; the others get the answer that there is, and are refused.

The room is in memory only; `take_all` takes out what is in it, for the front to give it back.
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

LOOK_SECS = 0.1  # between two looks at what is due
SERVED_SECS = 600.0  # for how long an answer serves the requests that have waited for it
FEWEST_AT_A_TIME = 16  # look-ups
SLOW_SECS = 4.0  # after which a late look-up is named in the log
LATE_SECS = 1.0  # a look-up that takes longer keeps nothing of other sites waiting

_Heap: TypeAlias = "list[tuple[float, int, Site]]"  # by what, and a number that makes it unique

logger = logging.getLogger(__name__)


class Room:
    """The requests of one crawl that wait, and those that are ready.

    Args:
        wait_secs: how long requests wait for an unreachable robots.txt, in seconds; 0: not at all.

    Attributes:
        download_slots: if they are apart, priorities count in each for itself.
        occupancy: how many requests are in the room.
        pages_ahead: how many of them are for pages, and who waits until they are fewer.
        ready: the lines that have a turn, and the requests that were handed out.
        in_place: the requests that wait in the downloader.
        requests_see: whether each request of a host whose robots.txt is unreachable goes on once,
            to see: middlewares of the project's before ours may know that it needs none.
        keeps_crawl_open: whether somebody counts `in_place`. Otherwise Scrapy has to, in the
            downloader.
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

        # Requests that wait in the downloader, and those of them whose robots.txt is unreachable.
        self.in_place: set[Waiter] = set()
        self._held_in_place: set[Waiter] = set()
        self._most_held_in_place = max(1, concurrent // 4)
        self.keeps_crawl_open = False

        # Sites that wait for something; a heap has entries that hold no more.
        self._to_ask: _Heap = []  # the most urgent first
        self._due: _Heap = []  # when to look at a site again
        self._numbers = count(1)

        # Look-ups under way: those that are not late, and when they began; those that are late, and
        # since when. The oldest come first.
        self._young: dict[Site, float] = {}
        self._late: dict[Site, float] = {}
        # Sites whose answer was fetched, and none of their requests handed out since.
        self._unused_answers: set[Site] = set()
        self._is_busy = False
        self._has_told_of_slow = False
        self.requests_see = False
        self._is_told_of_servers = False  # whether `_server_answered` is called
        # It runs as the crawl does: not before its spider is open, nor as it closes.
        self._clock = create_looping_call(self._tick)

    @property
    def late_since(self) -> float:
        """When the look-up that has been late for longest became late; infinity: none is late."""
        return next(iter(self._late.values()), float("inf"))

    # What decides.

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
            return self.requests_see and not line.has_returned  # it goes without an answer
        now = time.time()
        if answer.is_good(now):
            return True
        has_waited = abs(first.order) < site.waited_before and not answer.bars_for_now
        return has_waited and now < answer.given_at + SERVED_SECS

    def _is_to_wait(self, answer: CachedAnswer, request: Request) -> bool:
        """Whether `request` waits for a better answer than `answer`.

        Once the wait is over, a portion of the requests is given up. The rest waits until the host
        is dead or gone.
        """
        if not answer.is_waited_for(request):
            return False
        now = time.monotonic()
        if answer.portion > 0:
            return self._patience.is_to_wait(answer, now)
        return not self._patience.is_over(answer, now)

    # What the front calls.

    def put(self, request: Request, *, is_start: bool = False, step: int = 1) -> None:
        """Take in `request`.

        Of equal priority, start requests go last. Of the others, and of start requests among
        themselves, those with `step` -1 go first, the last one in before the others. Those with 1
        go in the order in which they came.
        """
        has_returned = RETURNED in request.meta
        origin = None
        if has_returned or (self._is_subject(request) and not is_unchecked_sitemap(request)):
            try:
                origin = origin_of(request)
            except ValueError:
                origin = None  # the middleware refuses it
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
        """Hand out a request that need not wait; None if there is none for now.

        None means that the others wait for a robots.txt, or that their slots are busy. The engine
        asks again when a page has come, or when `pull_soon` is called: for a new answer, and with
        the clock. The crawl stays open meanwhile, since `occupancy` counts them.
        """
        request = self._next_ready()
        if request is None and self.ready.forget_dropped():
            request = self._next_ready()
        # the slots of these sites are busy, so others may be looked up meanwhile
        if request is None and self._unused_answers:
            self._unused_answers.clear()
            self._look_up_more()
        return request

    def take_surplus(self, keep: int) -> Iterator[Request]:
        """Take out requests that can go on, until `keep` usable ones are left.

        Of each line the last of its heap goes first: it is seldom urgent.
        """
        for line in self._lines():
            while line.site.standing is Standing.OPEN and line and self.occupancy.usable > keep:
                yield self._forget_queued(line, line.pop())

    def take_all(self) -> Iterator[Request]:
        """Take out all requests, whether they wait or not. Nothing is looked up any more."""
        self.close()
        for line in self._lines():
            while line:
                yield self._forget_queued(line, heappop(line))

    def _lines(self) -> list[SiteLine]:
        return [*chain.from_iterable(site.values() for site in self._sites.values())]

    # What the middleware calls.

    async def answer_in_place(
        self, origin: Origin, user_agent: UserAgent, request: Request, *, keeps_place: bool
    ) -> CachedAnswer | None:
        """Return the answer for `request`, when it need wait no more; None: the crawl closes.

        One that came past the scheduler gives up its place among CONCURRENT_REQUESTS meanwhile:
        many of them would stop the crawl. One from the scheduler keeps it (`keeps_place`): that
        place may be taken when it goes on.
        """
        if self._lookup.is_closing:
            return None
        waiter = Waiter(request, user_agent)
        site = self._sites[origin]
        self._need(site, user_agent)
        site.waiters += (waiter,)
        if site.answer is None:  # the last one may be too old, but serves until a look-up has ended
            site.answer = self._lookup.last(origin)
        if site.standing is Standing.OPEN or site.queued_rank is not None:
            self._seek_answer(site, has_turn=True)
        if site not in self._young:  # else a better answer is near
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
        """Let requests go on that wait in the downloader for `site`, if they need wait no more."""
        waiters, site.waiters = site.waiters, ()
        for waiter in waiters:
            if self._keep(waiter, site):
                site.waiters += (waiter,)
            else:
                waiter.ended.callback(site.answer)
        self._forget_if_over(site)

    def _keep(self, waiter: Waiter, site: Site) -> bool:
        """Keep a request waiting in the downloader if it should, by the answer of its site.

        Return whether. For an unreachable robots.txt up to a quarter of CONCURRENT_REQUESTS are
        kept, until the wait is over. The others are given up.
        """
        answer = site.answer
        if answer is None or not answer.knows(waiter.user_agent):
            return True
        if not answer.is_waited_for(waiter.request):
            return site in self._young or site in self._late  # for a newer answer
        if not self._patience.is_to_wait(answer, time.monotonic()):
            return False
        held = self._held_in_place
        if waiter not in held and len(held) < self._most_held_in_place:
            held.add(waiter)
            self._crawler.stats.inc_value("gbot_robots/requests/held")
        return waiter in held

    # Lines.

    def _place(self, line: SiteLine) -> None:
        """Let `line` wait for its turn if its first request may go on, else at its site.

        That request is a new one, or may go on no more.
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
        """Change how `site` stands: nothing else does."""
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
                answer = None  # it goes to see whether it needs one
            else:
                answer.portion -= 1  # it is given up
        self.download_slots.make(line.slot, request)  # a slot that does not exist looks idle
        if line.has_returned:
            restore(request)
        handed = Handed(line.slot, request.url, line.site.origin, answer, line.has_returned)
        self.ready.hand_out(request, handed)
        if line:
            self.ready.add(line)
        return request

    def _forget_queued(self, line: SiteLine, queued: QueuedRequest) -> Request:
        """Forget a request that was taken out of `line`, and line and site if they are empty.

        Return the request.
        """
        site = line.site
        if not line:
            line.turn = 0
            del site[line.slot, line.has_returned]
        self.occupancy.add(line, -1)
        self.pages_ahead.add(line.slot, queued.request, -1)
        if site in self._unused_answers:  # its answer is used now: one more look-up may run
            self._unused_answers.discard(site)
            self._look_up_more()
        if not line:
            self._forget_if_over(site)
        return queued.request

    def _forget_if_over(self, site: Site) -> None:
        """Forget a site without requests. One that is shut has a date to keep."""
        if not (site.size or site.waiters) and site.standing is Standing.OPEN:
            self._sites.pop(site.origin, None)

    # Look-ups.

    def _need(self, site: Site, user_agent: UserAgent) -> None:
        """Let the next look-up of `site` read the rules of `user_agent`, also one under way."""
        site.user_agents.need(user_agent)
        if site.origin is not None and (site in self._young or site in self._late):
            self._lookup.need(site.origin, user_agent)

    def start(self) -> None:
        """Begin to look up origins: the spider is open."""
        self._clock.start(LOOK_SECS, now=False)
        self._look_up_more()

    def close(self) -> None:
        """Look nothing up any more, and wake what waits in the downloader, without an answer.

        What is in the room stays.
        """
        if self._clock.running:
            self._clock.stop()
        self._lookup.abandon()
        for site in [*self._sites.values()]:
            waiters, site.waiters = site.waiters, ()  # what wakes may come back here at once
            for waiter in waiters:
                waiter.ended.callback(None)

    def _look_up_more(self) -> None:
        """Do what is due for sites that wait.

        1. A look-up that takes long is late, and keeps back no other one, up to `MOST_UNDER_WAY`.
        2. Sites whose date has come seek an answer again.
        3. The most urgent sites are looked up, but not far ahead of the pages.
        """
        if self._is_busy:
            return  # without asyncio a look-up may end at once, and call this again
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
            # If its robots.txt was unreachable before, no better answer is near: what waits in the
            # downloader may be given up. What waits for its first answer still waits.
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
        """Let `site` get an answer: one in memory, or that of a look-up, when it has its turn.

        The look-up is made as the most urgent request would be fetched. A request that waits in
        the downloader is the most urgent, and has its turn at once: pages may wait for it.
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
        self._lookup.look_up(site.origin, site.user_agents, request, partial(self._answered, site))

    def _queue(self, site: Site, line: SiteLine) -> None:
        """Let `site` wait for its look-up. A place that it has with another rank counts no more."""
        site.queued_rank = line[0].rank
        heappush(self._to_ask, (site.queued_rank, next(self._numbers), site))

    def _answered(self, site: Site, answer: CachedAnswer | None) -> None:
        """Take the answer of a look-up; None: the crawl is closing."""
        self._young.pop(site, None)
        self._late.pop(site, None)
        if answer is None:
            return
        # until one of its requests goes on: look-ups are not to run far ahead of pages
        if answer.source is Source.FETCHED and site.size:
            self._unused_answers.add(site)
        self._receive(site, answer)
        self._look_up_more()

    def _receive(self, site: Site, answer: CachedAnswer) -> None:
        """Let `answer` be the answer of `site`, and those of its requests go on that may.

        If requests wait for a better one, the site gets a date to look again.
        """
        before, site.answer = site.answer, answer
        if before is not None:  # which the cache may have lost
            answer.go_on_from(before)
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
        # those are left whose agents' rules were not read
        if site.waiters and site.standing is Standing.OPEN:
            self._seek_answer(site)
        pull_soon(self._crawler)

    def _note(self, answer: CachedAnswer, now: float) -> None:
        """Let `answer` count for how long requests wait.

        From the first outage on, the room is told of each response: that costs each page.
        """
        self._patience.note(answer, now)
        if answer.temporary and not self._is_told_of_servers:
            self._is_told_of_servers = True
            self._crawler.signals.connect(self._server_answered, signals.response_received)

    # The clock.

    def _tick(self) -> None:
        """Do what is due, or close the room if the crawl is closing.

        A line may be ready by now though nothing happened: a delay of its slot is over.
        """
        self.pages_ahead.look()
        if is_closing(self._crawler):
            self.close()
            return
        self._lookup.tell()
        self.ready.forget_dropped()
        self._look_up_more()
        if self._late and not self._has_told_of_slow:
            self._tell_of_slow()
        if self.occupancy.size:
            pull_soon(self._crawler)

    def _tell_of_slow(self) -> None:
        """Log once that requests wait for a robots.txt that takes long: else nothing says so."""
        oldest = time.monotonic() - SLOW_SECS
        for site, late_at in self._late.items():
            if late_at > oldest:
                return
            waiting = len(site.waiters)
            if site.standing is Standing.LATE:
                waiting += site.size
            if waiting and site.origin is not None:
                self._has_told_of_slow = True
                logger.info(
                    "%d requests wait for %s, which has not answered for %d seconds; "
                    "GBOT_ROBOTS_TIMEOUT_SECS ends that. Other slow ones are not named",
                    waiting,
                    site.origin.robots_url,
                    SLOW_SECS + LATE_SECS,
                )
                return

    def _server_answered(self) -> None:
        """Note that a server answered: one's own network is up, so a host that looks gone is."""
        self._patience.answered_at = time.monotonic()
