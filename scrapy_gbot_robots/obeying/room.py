"""Where requests wait for their robots.txt: one room for each crawl, before its scheduler.

    put  --->  line, line, line ...  --->  next

The way of a request:

1. `put` adds it to the line of its site and slot. A new site gets its answer from memory.
2. `_may_go` says whether the first request of a line may go on. If so, the line is ready.
3. Otherwise the line stands at its site, which is shut and queues for its look-up (`_shut`).
4. `_ask_more` takes the most urgent site, and looks its robots.txt up; `_take` gets the answer.
5. If that is unreachable, the site gets a date (`_due`) at which `_tick` looks again. Otherwise it
   is open, and its lines are ready (`_settle`).
6. `next` takes the ready line whose turn it is, asks `_may_go` again, and hands its first request
   out, with the answer of its site.
7. `arrived`: the middleware has the request, and judges it by that answer, whatever the room would
   say now. One that was handed out without an answer, and needs one after all, comes back with the
   mark `RETURNED`, once: it waits here then without anybody being asked whether it has to.

What came past the scheduler waits elsewhere (`in_place`). The room is in memory only; `take_all`
gives back what is in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from heapq import heappop, heappush
from itertools import count

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.utils.asyncio import create_looping_call

from ..core.urls import Origin
from ..engine import DownloadSlots, is_closing, pull_soon
from ..fetching.fetcher import MOST_UNDER_WAY
from ..meta import RETURNED
from .answer import CachedAnswer, Source, is_waited_for
from .identity import CrawlerIdentity
from .in_place import InPlace
from .lines import (
    Handed,
    Occupancy,
    OnTheWay,
    QueuedRequest,
    ReadyLines,
    Site,
    SiteLine,
    Standing,
)
from .lookup import Lookup
from .patience import Patience
from .subject import is_unchecked_sitemap, origin_of, restore

LOOK_SECS = 0.1  # between two looks at what is due
SERVED_SECS = 600.0  # for how long an answer serves the requests that have waited for it
FEWEST_AT_A_TIME = 16  # look-ups
LATE_SECS = 1.0  # a look-up that takes longer keeps nothing of other sites waiting


class Room:
    """The requests of one crawl that wait, and those that are ready.

    Args:
        wait_secs: how long requests wait for an unreachable robots.txt, in seconds; 0: not at all.

    Attributes:
        download_slots: if they are apart, priorities count in each for itself.
        occupancy: how many requests are in the room.
        ready: the lines that have a turn.
        on_the_way: the requests that were handed out.
        in_place: the requests that wait elsewhere, since they came past the scheduler.
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
        self._most_at_a_time = max(FEWEST_AT_A_TIME, crawler.settings.getint("CONCURRENT_REQUESTS"))

        # All requests in the room.
        self._sites: dict[Origin | None, Site] = {}
        self.on_the_way = OnTheWay(crawler)
        self.ready = ReadyLines(self.download_slots, self.on_the_way)
        self.occupancy = Occupancy(crawler)
        self.in_place = InPlace(crawler, lookup, self._patience)

        # Sites that wait for something; a heap has entries that hold no more.
        self._to_ask: list[tuple[int, int, Site]] = []  # a heap, the most urgent first
        self._due: list[tuple[float, int, Site]] = []  # a heap: when to look at a site again
        self._asked_since: dict[Site, float] = {}  # those that are `ASKED`, in this order
        self._numbers = count(1)

        # Look-ups.
        self._running = 0
        self._counted: dict[Site, float] = {}  # look-ups that are not late, and when they began
        self._unused: set[Site] = set()  # fetched, and no request of the site handed out since
        self._is_asking = False
        self._requests_see = False
        # It runs as the crawl does: not before its spider is open, nor as it closes.
        self._clock = create_looping_call(self._tick)
        crawler.signals.connect(self._server_answered, signals.response_received)

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
        if self._bars(answer, first.request):
            return self._requests_see and not line.has_returned  # it goes without an answer
        now = time.time()
        if answer.is_good(now):
            return True
        has_waited = abs(first.order) < site.waited_before and not answer.bars_for_now
        return has_waited and now < answer.given_at + SERVED_SECS

    def _bars(self, answer: CachedAnswer, request: Request) -> bool:
        """Whether `request` waits for a better answer than `answer`, an unreachable one."""
        if not is_waited_for(answer, request):
            return False
        if answer.portion is not None and answer.portion.left > 0:
            return self._patience.is_to_wait(answer.trouble, time.monotonic())
        return self._is_hopeful(answer)

    def _is_hopeful(self, answer: CachedAnswer) -> bool:
        """Whether a better answer may come than `answer`: its host is neither dead nor gone."""
        if not is_waited_for(answer):
            return False
        return not self._patience.is_over(answer.trouble, time.monotonic())

    # What the front calls.

    def put(self, request: Request, *, is_start: bool = False, step: int = 1) -> None:
        """Take in `request`.

        Of equal priority, requests that are no start requests come first, then those with `step` -1
        as the last one first, and with 1 as the first one first.
        """
        has_returned = RETURNED in request.meta
        site = self._site(request, has_returned=has_returned)
        slot = self.download_slots.key(request)
        line = site.lines.get((slot, has_returned))
        if line is None:
            line = site.lines[slot, has_returned] = SiteLine(slot, site, has_returned)
        entry = QueuedRequest(-request.priority, is_start, next(self._numbers) * step, request)
        heappush(line, entry)
        self.occupancy.add(line, 1)
        if site.standing is Standing.UNREACHABLE and not has_returned:
            self._crawler.stats.inc_value("gbot_robots/held")
        if line[0] is entry:
            self._place(line)

    def next(self) -> Request | None:
        """Hand out a request that need not wait; None if there is none for now."""
        request = self._next_ready()
        if request is None and self.on_the_way.forget_dropped():
            request = self._next_ready()
        if request is None and self._unused:  # their slots keep their requests back
            self._unused.clear()
            self._ask_more()
        return request

    def take_surplus(self, keep: int) -> Iterator[Request]:
        """Take out requests that can go on, the less urgent ones first, until `keep` are left."""
        for site in [*self._sites.values()]:
            for line in [*site.lines.values()]:
                while site.standing is Standing.OPEN and line and self.occupancy.usable > keep:
                    yield self._take_out(line, line.pop())  # a leaf of the heap

    def take_all(self) -> Iterator[Request]:
        """Take out all requests, whether they wait or not. Nothing is looked up any more."""
        self.close()
        for site in [*self._sites.values()]:
            for line in [*site.lines.values()]:
                while line:
                    yield self._take_out(line, heappop(line))

    # What the middleware calls.

    def arrived(self, request: Request) -> Handed | None:
        """What is known of `request`, which is here now; None if it came past the room."""
        restore(request)
        return self.on_the_way.arrived(request)

    def let_requests_go_and_see(self) -> None:
        """Let each request of a host whose robots.txt is unreachable go once, and see.

        Middlewares of the project's before ours may know that it needs no robots.txt.
        """
        self._requests_see = True

    # Lines.

    def _site(self, request: Request, *, has_returned: bool) -> Site:
        """The site of `request`, a new one if need be."""
        origin = None
        if has_returned or (self._is_subject(request) and not is_unchecked_sitemap(request)):
            with suppress(ValueError):  # the middleware refuses it
                origin = origin_of(request)
        site = self._sites.get(origin)
        if site is None:
            site = self._sites[origin] = Site(origin)
            if origin is not None:
                answer = self._lookup.cached(origin, self._identity.agent(request))
                # Another answer is taken when the turn of the site has come.
                if answer is not None and not self._is_hopeful(answer):
                    site.answer = answer
        return site

    def _place(self, line: SiteLine) -> None:
        """Let `line`, which has another first request, wait for its turn, or at its site."""
        site = line.site
        if line.turn or self._may_go(line):
            self.ready.add(line)
        elif site.standing is Standing.OPEN:
            self._stand(site, Standing.ASKED)
            self._queue(site, line)
            self._ask_more()
        elif site.queued_rank is not None and line[0].rank < site.queued_rank:
            self._queue(site, line)

    def _queue(self, site: Site, line: SiteLine) -> None:
        """Let `site` wait for its look-up. A place that it has with another rank counts no more."""
        site.queued_rank = line[0].rank
        heappush(self._to_ask, (site.queued_rank, next(self._numbers), site))

    def _stand(self, site: Site, standing: Standing) -> None:
        """Change how `site` stands: nothing else does."""
        self._asked_since.pop(site, None)
        if standing is Standing.ASKED:
            self._asked_since[site] = time.monotonic()
        self.occupancy.move(site, standing)
        self._forget_if_over(site)

    def _next_ready(self) -> Request | None:
        while (line := self.ready.take()) is not None:
            if self._may_go(line):
                return self._hand_out(line)
            self._place(line)
        return None

    def _hand_out(self, line: SiteLine) -> Request:
        site, slot = line.site, line.slot
        request = self._take_out(line, heappop(line))
        answer = site.answer
        if answer is not None and self._bars(answer, request):
            answer = None  # it goes to see whether it needs one
        elif answer is not None and answer.portion is not None:
            answer.portion.left -= 1
        self.download_slots.make(request)
        restore(request)
        handed = Handed(slot, site.origin, request.url, answer, line.has_returned)
        self.on_the_way.add(request, handed)
        if line:
            self.ready.add(line)
        return request

    def _take_out(self, line: SiteLine, queued: QueuedRequest) -> Request:
        """Forget a request that `line` has no more, and the line and its site if they are empty."""
        site = line.site
        if not line:
            line.turn = 0
            del site.lines[line.slot, line.has_returned]
        self.occupancy.add(line, -1)
        if site in self._unused:
            self._unused.discard(site)
            self._ask_more()
        self._forget_if_over(site)
        return queued.request

    def _forget_if_over(self, site: Site) -> None:
        """Forget a site without requests. One that is shut has a date to keep."""
        if not site.size and site.standing is Standing.OPEN:
            self._sites.pop(site.origin, None)

    # Look-ups.

    def start(self) -> None:
        """Begin to look up origins: the spider is open."""
        self._clock.start(LOOK_SECS, now=False)
        self._ask_more()

    def close(self) -> None:
        """Look nothing up any more, and let requests go that wait in the downloader."""
        if self._clock.running:
            self._clock.stop()
        self._lookup.abandon()

    def _ask_more(self) -> None:
        """Look up as many origins as may be, but not far ahead of the pages."""
        if self._is_asking:
            return  # without asyncio a look-up may end within `_ask`, which calls this again
        self._is_asking = True
        late = time.monotonic() - LATE_SECS
        while self._counted and next(iter(self._counted.values())) < late:
            del self._counted[next(iter(self._counted))]
        while self._to_ask and self._clock.running and self._running < MOST_UNDER_WAY:
            if len(self._counted) + len(self._unused) >= self._most_at_a_time:
                break
            rank, _, site = heappop(self._to_ask)
            if site.queued_rank == rank:
                site.queued_rank = None
                self._ask(site)
        self._is_asking = False

    def _ask(self, site: Site) -> None:
        """Look up the answer of `site`, as its most urgent request would be fetched."""
        line = self._settle_at_once(site)
        if line is None or site.origin is None:
            return
        self._running += 1
        self._counted[site] = time.monotonic()
        request = line[0].request
        agent = self._identity.agent(request)
        self._lookup.look_up(site.origin, agent, request, partial(self._answered, site))

    def _settle_at_once(self, site: Site) -> SiteLine | None:
        """Settle `site` if that takes no look-up; else return the line that needs one the most."""
        line = site.most_urgent()
        if line is None or site.origin is None:
            self._stand(site, Standing.OPEN)
            return None
        request = line[0].request
        answer = self._lookup.cached(site.origin, self._identity.agent(request))
        if answer is None:
            return line
        self._take(site, answer)
        return None

    def _answered(self, site: Site, answer: CachedAnswer | None) -> None:
        """Take the answer of a look-up; None: the crawl is closing."""
        self._running -= 1
        self._counted.pop(site, None)
        if answer is None:
            return
        if answer.source is Source.FETCHED and site.size:
            self._unused.add(site)
        self._take(site, answer)
        self._ask_more()

    def _take(self, site: Site, answer: CachedAnswer) -> None:
        """Let `answer` be the answer of `site`, and those of its requests go on that may.

        If requests wait for a better one, the site gets a date to look again.
        """
        before, site.answer = site.answer, answer
        if before is not None:  # which the cache may have lost
            answer.go_on_from(before)
        site.waited_before = next(self._numbers)
        now = time.monotonic()
        self._patience.note(answer.trouble, now)
        if answer is not before and answer.portion is not None:
            self._patience.renew(answer.portion, now)
        if self._is_hopeful(answer):
            self._unused.discard(site)
            if site.standing is not Standing.UNREACHABLE:
                self._crawler.stats.inc_value("gbot_robots/held", site.size)
                self._stand(site, Standing.UNREACHABLE)
            look_again_at = self._patience.look_again_at(answer.trouble, now)
            heappush(self._due, (look_again_at, next(self._numbers), site))
        else:
            if is_waited_for(answer) and self._patience.is_gone(answer.trouble, now):
                self._crawler.stats.inc_value("gbot_robots/gone")
            self._stand(site, Standing.OPEN)
        for line in site.waiting():
            if site.standing is Standing.OPEN or self._may_go(line):
                self.ready.add(line)
        pull_soon(self._crawler)

    # The clock.

    def _tick(self) -> None:
        """Look what is due, and whether the crawl is closing."""
        if is_closing(self._crawler):
            self.close()
            return
        now = time.monotonic()
        while self._asked_since and next(iter(self._asked_since.values())) <= now - LATE_SECS:
            self._stand(next(iter(self._asked_since)), Standing.LATE)
        while self._due and self._due[0][0] <= now:
            site = heappop(self._due)[2]
            line = self._settle_at_once(site)
            if line is not None:
                self._queue(site, line)
        self.on_the_way.forget_dropped()
        self._ask_more()
        if self.occupancy.size:
            pull_soon(self._crawler)

    def _server_answered(self) -> None:
        self._patience.server_answered(time.monotonic())
