"""The room in which requests wait for their robots.txt. Each crawl has one room.

    put  --->  line, line, line ...  --->  next

A request goes through the room in these steps:

1. `put` adds the request to the line of its site (the requests of one origin) and its download
   slot.
2. `_place` makes the line ready if its first request may go on (`_may_go`). Otherwise the line
   waits at its site.
3. `_settle` is called after each change of a site. Every line whose first request may go on
   becomes ready. If another line has to wait, `_seek` takes the answer in memory, or queues the
   site for a look-up.
4. `_begin_look_ups` starts the look-ups of the most urgent sites.
5. `_answered` gets the answer of a look-up, and `_settle` makes the lines ready. If all requests
   are forbidden for now, because the robots.txt is unreachable, `_take` sets a time (`due_at`) at
   which the room seeks an answer again.
6. `next` takes the ready line that goes next, calls `_may_go` again, and hands out the first
   request of the line, with the answer of its site.
7. The middleware uses the answer in memory to allow or forbid the request. If memory has no current
   answer, or has one that forbids everything because the robots.txt is unreachable
   (`bars_for_now`), the middleware uses the answer that the room handed out with the request.
8. The room may hand out a request without an answer, although the request needs one. The middleware
   then sends the request back to the room, but only once, with the mark `RETURNED` in its meta. If
   a request has this mark, `put` does not call `is_subject_to_robots` for it.

The docstring of `Site` (lines.py) lists the states of a site.

No method of the room is called while another one runs, because code that waits for the room or for
a look-up goes on in a later turn of the event loop. There is one exception: when the crawl closes,
a look-up may end before the method that begins or cancels it has returned. `_answered` is then
called with None, and only notes that the look-up is over.

Some requests wait in the downloader and not in a line (`answer_in_place`), for example those that
did not come through the scheduler. `Waiter` lists all kinds of them. Their number is not limited.
If their robots.txt is unreachable, a few of them wait until the first wait of their origin is over
(`Patience.is_first_wait`), and are then forbidden. The others wait at most for the first second of
a look-up, and are then forbidden.

The room is in memory only. When the crawl closes, the front takes out all requests with `take_all`,
and gives them back to the scheduler. But if the room takes the place of the scheduler's queue in
memory, the requests are lost, as they would be lost with Scrapy's queue.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from functools import partial
from heapq import heappop, heappush
from itertools import chain, count, takewhile
from typing import TypeAlias

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.utils.defer import maybe_deferred_to_future

from ..answers.answer import CachedAnswer, Source
from ..answers.lookup import Lookup, with_needed
from ..concurrency import looping_call, wake
from ..core.crawlers import UserAgent
from ..core.urls import Origin
from ..engine import DownloadSlots, is_closing, pull_soon, without_a_place
from ..fetching.fetcher import MOST_UNDER_WAY
from ..meta import RETURNED
from .identity import CrawlerIdentity
from .lines import (
    NEVER,
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
from .patience import Patience
from .subject import is_unchecked_sitemap, origin_of, restore

LOOK_SECS = 0.1  # The clock of the room ticks at this interval.
# An answer may become out of date before all requests that waited for it have gone on. Therefore
# these requests may use the answer for this number of seconds after it came.
SERVED_SECS = 600.0
FEWEST_AT_A_TIME = 16  # At least this many look-ups may run at the same time.
SLOW_SECS = 4.0  # If a look-up has been late for longer than this, its robots.txt is logged.
# A look-up that takes longer than this is late. Late look-ups do not delay other look-ups, except
# that they count against `MOST_UNDER_WAY`.
LATE_SECS = 1.0

# The reasons why a robots.txt may be slow, in words for the log.
_SLOW = (
    "Either its server is slow, or the request for it still waits for its download slot "
    "(DOWNLOAD_DELAY). The server has GBOT_ROBOTS_TIMEOUT_SECS to answer"
)
_SLOW_ELSEWHERE = (
    "Another crawl is downloading it. If that takes longer than twice GBOT_ROBOTS_TIMEOUT_SECS, "
    "for example because its process was killed, this crawl downloads it"
)

# A heap of tuples. Each contains the rank or time of a site, a unique number, and the site.
_Heap: TypeAlias = "list[tuple[float, int, Site]]"

logger = logging.getLogger(__name__)


class Room:
    """Holds the requests of one crawl until their robots.txt is known, and hands them out.

    Args:
        crawler: the crawl.
        lookup: the object that looks up the answers.
        identity: the object that finds the user agent of a request.
        is_subject: a function that returns whether a request is subject to a robots.txt.
        wait_secs: how long requests wait for an unreachable robots.txt, in seconds. With 0 they do
            not wait.

    Attributes:
        download_slots: the download slots. By default, the priorities of two requests are compared
            only if both use the same slot. If `download_slots.are_apart` is False, the priorities
            of all requests are compared.
        occupancy: how many requests are in the room.
        drains: whether requests that have waited for their robots.txt are leaving the room. This is
            True from the answer of a look-up until no request can go on.
        given_back: how many requests the front gave back to the scheduler when the crawl closed.
        ready: the lines from which `next` takes requests, and the requests that were handed out.
        in_place: the requests that wait in the downloader.
        project_may_exempt: whether the project's own code may exempt requests, in a subclass of
            this plugin's middleware or in a middleware that comes before it. If so, and if the
            robots.txt of a request is unreachable, the room hands out the request once, so that
            this code sees it.
        keeps_crawl_open: whether a front keeps the crawl open for the requests in `in_place`. If
            not, these requests keep their places in the downloader, so that Scrapy keeps the crawl
            open.
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
        self.drains = False
        self.given_back = 0

        # `in_place` contains all requests that wait in the downloader. `_held_in_place` contains
        # only the requests that wait there because their robots.txt is unreachable.
        self.in_place: set[Waiter] = set()
        self._held_in_place: set[Waiter] = set()
        self._most_held_in_place = max(1, concurrent // 4)
        self.keeps_crawl_open = False

        # `_queued` contains sites that wait for a look-up, the most urgent site first. `_due`
        # contains sites for which the room will seek an answer at a certain time (`due_at`). An
        # item of `_queued` is out of date if the `queued_rank` of its site has changed.
        self._queued: _Heap = []
        self._due: _Heap = []
        self._numbers = count(1)  # One series of numbers for requests and for items of heaps.
        # The sites whose look-up is running, the oldest look-up first. In the first second of its
        # look-up, a site is in `_young`, and after that in `_late`.
        self._young: dict[Site, None] = {}
        self._late: dict[Site, None] = {}
        # Sites whose robots.txt was fetched, but whose requests are all still in the room.
        self._unused_answers: set[Site] = set()
        self._has_logged_slow = False
        self.project_may_exempt = False
        # Whether `_server_answered` is connected to the signal `response_received`.
        self._notices_servers = False
        # The clock runs from the opening of the spider until the crawl begins to close. If a
        # request waits in the downloader before the spider is open, the clock starts then.
        self._clock = looping_call(self._tick)

    @property
    def late_since(self) -> float:
        """The time at which the first of the late look-ups became late; infinity if none is late.

        The time is on the monotonic clock. The earlier it is, the more requests of late sites the
        front may hold. Unlike `Occupancy.late`, this property includes unreachable sites.
        """
        for site in self._late:
            return site.asked_at + LATE_SECS
        return NEVER

    # The following methods decide whether a request may go on.

    def _may_go(self, line: SiteLine) -> bool:
        """Whether the first request of `line` may go on now.

        This depends on the answer of the site, which the room hands out with the request. The
        middleware uses this answer if memory has none, or has one that forbids everything for now.
        """
        site = line.site
        if site.origin is None:
            return True
        answer = site.answer
        if answer is None:
            return False
        first = line[0]
        if answer.bars_for_now and self._waits_in_line(answer, first.request):
            # The request should wait. But if the project's own code may exempt it, the room hands
            # it out once without an answer, so that this code sees it.
            return self.project_may_exempt and not line.has_returned
        now = time.time()  # Answers are dated in seconds since the epoch.
        if answer.is_good(now):
            return True
        # The absolute value of `order` is the number of the request (`QueuedRequest`).
        has_waited = abs(first.order) < site.waited_before and not answer.bars_for_now
        return has_waited and now < answer.given_at + SERVED_SECS

    def _waits_in_line(self, answer: CachedAnswer, request: Request) -> bool:
        """Whether `request` waits for a better answer than `answer`.

        When the first wait of an origin is over (patience.py), its requests are forbidden in
        portions of 64 requests. The other requests wait for the next portion, or until the host is
        dead or gone.
        """
        is_waited_for = answer.is_waited_for(request)
        return is_waited_for and not self._patience.gives_up(answer, time.monotonic())

    # The front calls the following methods.

    def put(self, request: Request, *, is_start: bool = False, step: int = 1) -> None:
        """Take in `request`. Requests with a higher priority go first.

        Args:
            request: the request.
            is_start: whether it is a start request. Among requests of equal priority, start
                requests go last.
            step: -1 or 1, for the order among requests of equal priority. All requests with -1 go
                before those with 1. Of the requests with -1, the newest goes first. Of the requests
                with 1, the oldest goes first.
        """
        has_returned = RETURNED in request.meta
        origin = None
        if has_returned or (self._is_subject(request) and not is_unchecked_sitemap(request)):
            try:
                origin = origin_of(request)
            except ValueError:
                origin = None  # The middleware forbids a request without a valid origin.
        site = self._sites[origin]
        may_go = False
        if origin is not None:
            user_agent = self._identity.user_agent(request)
            self._need(site, user_agent)
            if site.answer is None and not site.is_sought:
                # No other request of the site waits. If there is a current answer in memory, this
                # request may go on. `_settle` need not be called in this case, because no other
                # line can become ready, and the standing stays `OPEN`.
                known = self._lookup.good_answer(origin, user_agent)
                if known is not None and not known.bars_for_now:
                    site.answer = known
                    may_go = True
        slot = self.download_slots.key(request)
        line = site.get((slot, has_returned))
        if line is None:
            line = site[slot, has_returned] = SiteLine(slot, site, has_returned)
        entry = QueuedRequest(-request.priority, is_start, next(self._numbers) * step, request)
        heappush(line, entry)
        self.occupancy.add(line, request, 1)
        if site.standing is Standing.UNREACHABLE and not has_returned:
            self._crawler.stats.inc_value("gbot_robots/requests/held")
        if may_go:
            self.ready.add(line)
        elif line[0] is entry:
            self._place(line)

    def next(self) -> Request | None:
        """Hand out a request that need not wait; None if there is none now.

        If the room is not empty, None means that the requests wait for a robots.txt, or that their
        slots are busy. The engine calls this method again after each download, and when the room
        has called `pull_soon`. The room does so for each new answer and at each tick of its clock.
        The crawl stays open meanwhile, because `occupancy` counts these requests.
        """
        request = self._next_ready()
        if request is None and self.ready.forget_dropped():
            request = self._next_ready()
        # If nothing can be handed out, the slots of the sites in `_unused_answers` are busy. So
        # these sites no longer count against the limit of `_begin_look_ups`.
        if request is None and self._unused_answers:
            self._unused_answers.clear()
            self._begin_look_ups()
        if request is None:
            self.drains = False
        return request

    def take_surplus(self, keep: int) -> Iterator[Request]:
        """Yield requests that can go on, and remove them from the room.

        Stop when at most `keep` requests in the room can go on now or soon (`Occupancy.usable`).
        The last request in the heap of each line is taken first, because it is seldom urgent.
        """
        for line in self._lines():
            while line.site.standing is Standing.OPEN and line and self.occupancy.usable > keep:
                yield self._forget_queued(line, line.pop())

    def take_all(self) -> Iterator[Request]:
        """End all look-ups. Then take all requests out of the room, and yield them."""
        self.close()
        for line in self._lines():
            while line:
                yield self._forget_queued(line, heappop(line))

    def _lines(self) -> list[SiteLine]:
        return [*chain.from_iterable(site.values() for site in self._sites.values())]

    # The middleware calls the following method.

    async def answer_in_place(
        self, origin: Origin, user_agent: UserAgent, request: Request, *, keeps_place: bool
    ) -> CachedAnswer | None:
        """Let `request` wait in the downloader, and return its answer; None if the crawl closes.

        Scrapy downloads at most CONCURRENT_REQUESTS requests at a time. If `keeps_place` is False,
        `request` does not count as one of them while it waits, so that many waiting requests do not
        stop the crawl. Requests from the scheduler keep their places. Otherwise Scrapy would fill
        these places, and could download more than CONCURRENT_REQUESTS requests after the wait.
        """
        if self._lookup.is_closing:
            return None
        # If an item pipeline downloads a page in its `open_spider`, the crawl does not call `start`
        # before the page has arrived. If the robots.txt of this page is unreachable, only the clock
        # can begin another look-up of it. So the clock starts here.
        self._run_clock()
        waiter = Waiter(request, user_agent, next(self._numbers))
        site = self._sites[origin]
        self._need(site, user_agent)
        site.waiters += (waiter,)
        if site.answer is None:
            # This answer may be out of date. `_has_answer` decides whether it may be used.
            site.answer = self._lookup.last_answer(origin)
        site.queued_rank = None  # The site need not wait for its turn any more.
        self._settle(site)
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

    # The following methods update the states of sites.

    def _place(self, line: SiteLine) -> None:
        """Make `line` ready if its first request may go on; otherwise let it wait at its site.

        A line that is ready stays ready. Call this if the first request is a new one, or if it has
        to wait although it could go on before.
        """
        site = line.site
        if line.turn or self._may_go(line):
            self.ready.add(line)
        elif not site.is_sought:
            self._settle(site)
            self._begin_look_ups()
        elif site.queued_rank is not None and line[0].rank < site.queued_rank:
            self._queue(site, line[0].rank)

    def _settle(self, site: Site) -> None:
        """Update the lines and the standing of `site`.

        Call this after each change of the site's answer, of its `waiters`, or of the stage of its
        look-up (`Site`), unless the crawl is closing. (A comment in `put` explains an exception.)

        Requests that need not wait are released. If other requests wait, and no answer for them is
        sought, this method seeks one. It updates the standing of the site. If the site has no
        requests, and no answer for it is sought, the room forgets the site.
        """
        self._release(site)
        while not site.is_sought and self._seek(site):
            self._release(site)
        standing = self._standing_of(site)
        if standing is not site.standing:
            if standing is Standing.UNREACHABLE:
                self._crawler.stats.inc_value("gbot_robots/requests/held", site.size)
            self.occupancy.move(site, standing)
        self._forget_if_unused(site)

    def _standing_of(self, site: Site) -> Standing:
        """Return the standing of `site`, which shows what its requests wait for."""
        if not site.is_sought:
            return Standing.OPEN
        if site.due_at < NEVER or self._may_recover(site.answer):
            return Standing.UNREACHABLE
        if site in self._late:
            return Standing.LATE
        return Standing.ASKED

    def _may_recover(self, answer: CachedAnswer | None) -> bool:
        """Whether requests wait for a better answer than `answer`, because the host may recover."""
        if answer is None or not answer.is_waited_for():
            return False
        return not self._patience.is_over(answer, time.monotonic())

    def _release(self, site: Site) -> None:
        """Release the requests of `site` that need not wait any more.

        If the first request of a line may go on, the line becomes ready. A request that waits in
        the downloader wakes up if it need not wait for a better answer.
        """
        for line in site.unready_lines():
            if self._may_go(line):
                self.ready.add(line)
        waiters, site.waiters = site.waiters, ()
        for waiter in waiters:
            if not self._has_answer(waiter, site):
                site.waiters += (waiter,)
            elif self._waits_in_place(waiter, site):
                site.waiters += (waiter,)
                if waiter not in self._held_in_place:
                    self._held_in_place.add(waiter)
                    self._crawler.stats.inc_value("gbot_robots/requests/held")
            else:
                self._held_in_place.discard(waiter)
                wake(waiter.ended, site.answer)

    def _has_answer(self, waiter: Waiter, site: Site) -> bool:
        """Whether a request in the downloader may use the answer of `site`.

        In the first second of a look-up, the request must wait, because a better answer is likely
        to come soon. After that, it may use even an answer that is out of date, if the robots.txt
        was unreachable and a better answer is still sought.
        """
        answer = site.answer
        if answer is None or site in self._young or not answer.knows(waiter.user_agent):
            return False
        if waiter.number < site.waited_before or answer.is_good(time.time()):
            return True
        return site.is_sought and answer.is_waited_for(waiter.request)

    def _waits_in_place(self, waiter: Waiter, site: Site) -> bool:
        """Whether a request in the downloader waits because its robots.txt is unreachable.

        The number of requests that wait in the downloader for this reason is at most a quarter of
        CONCURRENT_REQUESTS. They wait until the first wait of their origin is over (patience.py).
        If the robots.txt of any further request in the downloader is unreachable, that request is
        forbidden. Requests in the lines of the room may wait longer (`_waits_in_line`).
        """
        answer = site.answer
        if answer is None or not answer.is_waited_for(waiter.request):
            return False
        if not self._patience.is_first_wait(answer, time.monotonic()):
            return False
        held = self._held_in_place
        return waiter in held or len(held) < self._most_held_in_place

    # The following methods hand out requests, and take them out of their lines.

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
            if self._waits_in_line(answer, request):
                answer = None  # The request goes on only because a middleware may exempt it.
            else:
                self._patience.give_up(answer)  # The middleware will forbid the request.
        # The slot is made now, because a slot that does not exist would look idle.
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

        If the line is empty after that, forget the line. If its site is empty, forget the site.
        """
        site = line.site
        if not line:
            line.turn = 0
            del site[line.slot, line.has_returned]
        self.occupancy.add(line, queued.request, -1)
        if site in self._unused_answers:  # Its answer is used now, so one more look-up may run.
            self._unused_answers.discard(site)
            self._begin_look_ups()
        if not line:
            self._forget_if_unused(site)
        return queued.request

    def _forget_if_unused(self, site: Site) -> None:
        """Forget `site` if it has no requests, and no answer for it is sought."""
        if not (site.size or site.waiters or site.is_sought):
            self._sites.pop(site.origin, None)

    # The following methods begin and end look-ups.

    def _need(self, site: Site, user_agent: UserAgent) -> None:
        """Let the next look-up of `site`, or the running one, read the rules of `user_agent`."""
        site.user_agents = with_needed(site.user_agents, user_agent)
        if site.origin is not None and site.asked_at < NEVER:
            self._lookup.need(site.origin, user_agent)

    def start(self) -> None:
        """Begin to look up origins. Call this when the spider is open."""
        self._run_clock()
        self._begin_look_ups()

    def _run_clock(self) -> None:
        if not self._clock.running:
            self._clock.start(LOOK_SECS, now=False)

    def close(self) -> None:
        """End all look-ups. The requests in the downloader wake up, and get no answer.

        The requests in lines stay in the room.
        """
        if self._clock.running:
            self._clock.stop()
        # When a look-up is cancelled, it may still end with an answer. If requests were waiting at
        # that time, the room would begin another look-up for them. So they wake up first.
        for site in self._sites.values():
            for waiter in site.waiters:
                wake(waiter.ended, None)
            site.waiters = ()
        self._lookup.abandon()

    def _begin_look_ups(self) -> None:
        """Look up the most urgent sites of the queue, within two limits.

        1. The number of look-ups that are not late, plus the number of sites in `_unused_answers`,
           is at most `_most_at_a_time`. So look-ups are not far ahead of the downloads of pages.
        2. The number of all look-ups is at most `MOST_UNDER_WAY`.
        """
        while self._queued and self._clock.running:
            if len(self._young) + len(self._unused_answers) >= self._most_at_a_time:
                return
            if len(self._young) + len(self._late) >= MOST_UNDER_WAY:
                return
            rank, _, site = heappop(self._queued)
            if site.queued_rank == rank:
                site.queued_rank = None
                self._seek(site, has_turn=True)
                self._settle(site)

    def _seek(self, site: Site, *, has_turn: bool = False) -> bool:
        """Take an answer for `site` from memory, or begin its look-up, or queue it for a look-up.

        `Site.meta_source` chooses the request whose proxy and other meta the request for the
        robots.txt copies. If a request waits in the downloader, the look-up begins at once.

        Args:
            site: the site.
            has_turn: whether the site was queued and has its turn.

        Returns:
            False if nothing was done, because no request of the site waits; otherwise True.
        """
        request = site.most_urgent()
        if request is None or site.origin is None:
            return False
        if site.waiters:
            user_agent = site.waiters[0].user_agent
        else:
            user_agent = self._identity.user_agent(request)
        answer = self._lookup.good_answer(site.origin, user_agent)
        if answer is not None:
            self._take(site, answer)
        elif site.waiters or has_turn:
            site.user_agents = with_needed(site.user_agents, user_agent)
            site.asked_at = time.monotonic()
            self._young[site] = None
            then = partial(self._answered, site)
            source = site.meta_source(request, self._lookup.way_of)
            self._lookup.look_up(site.origin, site.user_agents, source, then, site.answer)
        else:
            self._queue(site, -request.priority)
        return True

    def _queue(self, site: Site, rank: int) -> None:
        """Queue `site` for its look-up. If it is in the queue already, its rank changes."""
        site.queued_rank = rank
        heappush(self._queued, (rank, next(self._numbers), site))

    def _answered(self, site: Site, answer: CachedAnswer | None) -> None:
        """Take the answer of a look-up. The answer is None if the crawl is closing."""
        site.asked_at = NEVER
        self._young.pop(site, None)
        self._late.pop(site, None)
        if answer is None:
            return
        # `_begin_look_ups` limits the number of sites in `_unused_answers`.
        if answer.source is Source.FETCHED and site.size:
            self._unused_answers.add(site)
        self._take(site, answer)
        self._settle(site)
        self._begin_look_ups()
        self.drains = True
        pull_soon(self._crawler)

    def _take(self, site: Site, answer: CachedAnswer) -> None:
        """Make `answer` the answer of `site`. After that, the caller must call `_settle`.

        If requests wait for a better answer, set the time at which the room seeks one (`due_at`).
        This method does not update `site.standing`, because the old standing shows whether requests
        have waited for `answer`.
        """
        now = time.monotonic()
        site.answer = answer
        site.note_way(answer)
        if site.standing is not Standing.OPEN:
            site.waited_before = next(self._numbers)
        self._patience.note(answer, now)
        if answer.temporary and not self._notices_servers:
            # The handler runs for each response, so it is not connected before the first outage.
            self._notices_servers = True
            self._crawler.signals.connect(self._server_answered, signals.response_received)
        ends_a_wait = site.standing is not Standing.OPEN and answer.bars_for_now
        if self._may_recover(answer):
            self._unused_answers.discard(site)
            site.due_at = self._patience.look_again_at(answer, now)
            heappush(self._due, (site.due_at, next(self._numbers), site))
        elif ends_a_wait and self._patience.is_gone(answer, now):
            self._crawler.stats.inc_value("gbot_robots/origins/gone")

    # The following methods handle the ticks of the clock, and responses of servers.

    def _tick(self) -> None:
        """Find look-ups that have become late, and begin look-ups that are due.

        If the room holds requests, call `pull_soon`, because the delay of a slot may be over. If
        the crawl is closing, only close the room.
        """
        if is_closing(self._crawler):
            self.close()
            return
        self._lookup.tell()
        self.ready.forget_dropped()
        now = time.monotonic()
        for site in [*takewhile(lambda site: site.asked_at <= now - LATE_SECS, self._young)]:
            # The look-up of the site is late now, so its answer will probably not come soon. If the
            # robots.txt was unreachable before, requests in the downloader may be forbidden by the
            # old answer. If there is no old answer, they still wait.
            del self._young[site]
            self._late[site] = None
            self._settle(site)
        while self._due and self._due[0][0] <= now:
            site = heappop(self._due)[2]
            site.due_at = NEVER
            self._seek(site)
            self._settle(site)
        self._begin_look_ups()
        if self._late and not self._has_logged_slow:
            self._log_slow()
        if self.occupancy.size:
            pull_soon(self._crawler)

    def _log_slow(self) -> None:
        """Log once that requests wait for a slow robots.txt."""
        oldest = time.monotonic() - SLOW_SECS - LATE_SECS
        for site in self._late:
            if site.asked_at > oldest:
                return
            waiting = len(site.waiters)
            if site.standing is Standing.LATE:
                waiting += site.size
            if waiting and site.origin is not None:
                self._has_logged_slow = True
                why = _SLOW
                if self._lookup.is_fetched_elsewhere(site.origin):
                    why = _SLOW_ELSEWHERE
                logger.info(
                    "%s has not arrived within %d seconds. Number of requests that wait for it: "
                    "%d. %s. Other slow files are not logged",
                    site.origin.robots_url,
                    SLOW_SECS + LATE_SECS,
                    waiting,
                    why,
                )
                return

    def _server_answered(self) -> None:
        """Note the time of a response from any server. Our own network worked at that time."""
        self._patience.answered_at = time.monotonic()
