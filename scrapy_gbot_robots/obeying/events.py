"""What a crawl says about its robots.txt files: log lines, stats, and signals."""

from __future__ import annotations

import logging
import time
from collections import Counter
from inspect import iscoroutine
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider

from ..concurrency import Background, run_in_thread
from ..core.changes import changes
from ..core.robots import RobotsTxt
from ..core.urls import Origin, shown
from ..engine import pull_soon
from ..fetching.fetcher import MOST_WARNED
from ..meta import SITEMAP
from ..policy.outages import Copy, Kind, State
from ..policy.outcome import (
    NO_SERVER,
    NOT_ASKED,
    REDIRECTS,
    Failure,
    Fetched,
    Outcome,
    Unavailable,
    Unreachable,
)
from ..policy.overrides import Overrides
from ..policy.web_pages import hides_rules
from ..settings import GbotSettings
from ..signals import robotstxt_changed, robotstxt_known, robotstxt_unreachable
from .answer import CachedAnswer, ShownAnswer, Source
from .patience import TRIES
from .robotparser import GbotRobotParser

# The signal `DECIDED(answer, copy)` is the archive's: `copy` is the definite answer that decides
# now, None if there is none.
DECIDED = object()

_STATS_BY_STATE = {state: f"gbot_robots/origins/{state.value.replace(' ', '_')}" for state in State}
# What a project can do that drops its own robots.txt requests.
_WHAT_TO_DO = (
    ", and no request waits for it. Let that middleware pass requests with "
    "meta['dont_obey_robotstxt'], which robots.txt requests have; or set that key in the requests "
    "of pages that need no robots.txt"
)

logger = logging.getLogger(__name__)


class CrawlEvents:
    """The log lines, stats and signals of one crawl.

    Signal handlers that are coroutines run in `background`.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings, background: Background) -> None:
        self._crawler = crawler
        self._stats = crawler.stats
        self._settings = settings
        self._background = background
        self._handlers_running = 0  # those that are coroutines
        self._logged: Counter[str] = Counter()  # how often, by kinds of errors and by sentences
        self._has_warned_of_page = False
        self.from_memory = 0  # answers that requests got, and that are not in the stats yet
        crawler.signals.connect(self._spider_idle, signals.spider_idle)

    def tell(self) -> None:
        """Bring the stats up to date."""
        if self.from_memory:
            self._stats.inc_value("gbot_robots/lookup/memory", self.from_memory)
            self.from_memory = 0

    def count(self, name: str) -> None:
        """Add one to the stat `gbot_robots/NAME`."""
        self._stats.inc_value(f"gbot_robots/{name}")

    def fetched(self, outcome: Outcome, secs: float) -> None:
        """Count a fetch of a robots.txt that ended in `outcome` after `secs` seconds.

        The log names a file that was cut, and a redirect that was not followed.
        """
        stats = self._stats
        millisecs = round(secs * 1000)
        stats.inc_value("robotstxt/request_count")
        stats.inc_value("gbot_robots/fetch_ms/sum", millisecs)
        stats.max_value("gbot_robots/fetch_ms/max", millisecs)
        self.count(type(outcome).__name__.lower())
        if isinstance(outcome, Unreachable) and outcome.failure in NOT_ASKED:
            self.count("fetches/dropped")
        if isinstance(outcome, Fetched):
            stats.inc_value("gbot_robots/bytes", len(outcome.body))
            if outcome.cut:
                self.count("files/cut")
                logger.info(
                    "%s is longer than %d bytes; the rest of it is ignored",
                    shown(outcome.url),
                    self._settings.max_bytes,
                )
        if isinstance(outcome, Unavailable) and outcome.status in REDIRECTS:
            self._log(logging.INFO, "%s: %s", shown(outcome.url), shown(outcome.why))
        if outcome.status is not None:
            stats.inc_value("robotstxt/response_count")
            stats.inc_value(f"robotstxt/response_status_count/{outcome.status}")

    def failed(self, what: str, origin: Origin, error: Exception) -> None:
        """Count an unexpected exception of `what`, which was done for `origin`.

        Only the first of each class is logged.
        """
        self.count("errors")
        kind = type(error).__name__
        self._logged[kind] += 1
        if self._logged[kind] == 1:
            why = shown(str(error))
            logger.error("%s %s failed: %s: %s", what, origin.robots_url, kind, why, exc_info=error)

    def answered(
        self,
        answer: CachedAnswer,
        before: CachedAnswer | None,
        copy: Copy | None,
        robotstxt: RobotsTxt | None,
        request: Request,
    ) -> None:
        """Log, count and signal the new `answer` of an origin, which replaces `before`.

        `copy` is the definite answer that decides now, `robotstxt` what it says. `request` is the
        one that needed it.
        """
        facts = None
        was_temporary = False
        if before is not None:
            facts = (before.fetched_at, before.state)
            was_temporary = before.temporary
            self._stats.inc_value(_STATS_BY_STATE[before.state], -1)
        self._stats.inc_value(_STATS_BY_STATE[answer.state])
        if robotstxt is not None and (facts is None or answer.fetched_at != facts[0]):
            self._send_known(robotstxt, answer, request)
        if answer.source is Source.STORED and copy is not None:
            age_secs = max(0, round(answer.given_at - copy.fetched_at))
            self._stats.max_value("gbot_robots/stored_age_secs/max", age_secs)
        url = answer.origin.robots_url
        source = answer.source.value
        if facts != (answer.fetched_at, answer.state):
            logger.debug("%s: %s, %s (%s)", url, answer.state.value, shown(answer.why), source)
            if copy is not None:
                self._tell_of_copy(copy, answer)
        if answer.temporary and not was_temporary:
            self._tell_of_outage(answer, request)
        elif was_temporary and not answer.temporary:
            logger.info("%s answers again", url)
        self._crawler.signals.send_catch_log(DECIDED, answer=answer, copy=copy)

    def _tell_of_copy(self, copy: Copy, answer: CachedAnswer) -> None:
        """Count and warn of a wall, and warn of the first file inside which rules are not read."""
        if copy.kind is Kind.WALL:
            self.count("walls")
            sentence = (
                "%s: a bot wall answered, not the site (%s). "
                "By GBOT_ROBOTS_ACCESS_DENIED = %r this means %s%s"
            )
            self._warn(sentence, answer, self._settings.access_denied)
        elif not self._has_warned_of_page and (what := hides_rules(copy.body)):
            self._has_warned_of_page = True
            logger.warning(
                "%s is %s, and rules stand inside it that are not read. Let the "
                "middleware or download handler that renders pages, if there is one, leave "
                "robots.txt alone: its requests have meta['dont_obey_robotstxt']",
                shown(copy.url),
                what,
            )

    def _tell_of_outage(self, answer: CachedAnswer, request: Request) -> None:
        """Signal and warn that a robots.txt has become unreachable; say whether `request` waits."""
        self._crawler.signals.send_catch_log(
            robotstxt_unreachable, origin=answer.origin, answer=ShownAnswer(answer)
        )
        secs = self._settings.unreachable_wait_secs
        rest = ""
        if answer.failure is Failure.DROPPED:
            rest = _WHAT_TO_DO
        elif secs and answer.is_waited_for(request):
            rest = f"; requests wait up to {secs:g} s for it, by GBOT_ROBOTS_UNREACHABLE_WAIT_SECS"
            if _may_be_gone(answer):
                rest = (
                    f"; requests wait for it until {TRIES} tries in a row have found no server, "
                    "which usually takes a few seconds"
                )
        finder = _listed_by(request, answer.origin)
        if finder:
            rest = f" ({shown(finder)} lists a sitemap there){rest}"
        if self._crawler.settings.getbool("HTTPCACHE_ENABLED"):
            rest += (
                ". To replay the pages in Scrapy's HTTP cache without the site, "
                "set ROBOTSTXT_OBEY = False"
            )
        sentence = "%s: %s. By GBOT_ROBOTS_UNREACHABLE = %r this means %s for now%s"
        self._warn(sentence, answer, self._settings.unreachable, rest)

    def _send_known(self, robotstxt: RobotsTxt, answer: CachedAnswer, request: Request) -> None:
        """Send the signals for a robots.txt that the crawl has learnt."""
        origin = answer.origin
        self._send(
            robotstxt_known,
            robotstxt=robotstxt,
            request=request,
            origin=origin,
            answer=ShownAnswer(answer),
        )
        robots_parsed = getattr(signals, "robots_parsed", None)  # Scrapy 2.18 and newer
        if robots_parsed is not None:
            self._send(robots_parsed, robotparser=GbotRobotParser(robotstxt), request=request)

    def compare(self, origin: Origin, before: Copy | None, now: Copy | None) -> None:
        """Send a signal if the rules in the copy after a fetch are not those in the copy before.

        No request waits for it.
        """
        if before is not None and now is not None and before.body != now.body:
            self._background.start(self._compare(origin, before, now))

    async def _compare(self, origin: Origin, before: Copy, now: Copy) -> None:
        old = self._settings.parse(before.body, cut=before.cut)
        new = self._settings.parse(now.body, cut=now.cut)
        if await run_in_thread(changes, old, new):
            self.count("files/changed")
            logger.info("%s has new rules", origin.robots_url)
            self._send(robotstxt_changed, origin=origin, old=old, new=new)

    def _warn(self, sentence: str, answer: CachedAnswer, setting: str, rest: str = "") -> None:
        """Warn of what `answer` means by a setting, unless this `sentence` was logged often.

        `setting` is the value of that setting, and `rest` the end of the sentence.
        """
        why = shown(answer.why)  # from the storage, to which others may write
        url = answer.origin.robots_url
        self._log(logging.WARNING, sentence, url, why, setting, answer.state.value, rest)

    def _log(self, level: int, sentence: str, *words: str) -> None:
        """Log a `sentence` with its `words`, the first few times."""
        self._logged[sentence] += 1
        if self._logged[sentence] <= MOST_WARNED:
            logger.log(level, sentence, *words)

    def _send(self, signal: object, **named: Any) -> None:
        """Call all handlers of `signal` before the next request goes on, as Scrapy does.

        Those that are coroutines run in the background, and delay no request; the crawl stays open
        for what they schedule.
        """
        spider = self._crawler.spider
        for _, result in self._crawler.signals.send_catch_log(signal, spider=spider, **named):
            if iscoroutine(result):
                self._handlers_running += 1
                self._background.start(result, then=self._handler_ended)

    def _handler_ended(self) -> None:
        self._handlers_running -= 1
        pull_soon(self._crawler)  # `_spider_idle` may have kept the crawl open

    def _spider_idle(self) -> None:
        """Keep the crawl open while coroutines of signal handlers run."""
        if self._handlers_running:
            raise DontCloseSpider


def _listed_by(request: Request, origin: Origin) -> str:
    """The URL of the file on another host that led the crawl to a sitemap at `origin`; or ""."""
    source = request.meta.get(SITEMAP, {})
    finder: str = source.get("index") or source.get("robotstxt") or ""
    if finder.startswith(f"{origin}/"):
        return ""
    return finder


def _may_be_gone(answer: CachedAnswer) -> bool:
    """Whether no server was found at the origin itself: a few tries end the wait for it."""
    outage = answer.outage
    return outage is not None and not outage.redirected_to and outage.failure in NO_SERVER


def tell_of(overrides: Overrides) -> None:
    """Warn of overrides that have run out, or that forbid nothing, and name those that count."""
    run_out, in_force = overrides.in_words(time.time())
    if run_out:
        logger.warning("%s", run_out)
    for text in overrides.open_by_mistake(time.time()):
        logger.warning("%s", text)
    if in_force:
        logger.info("%s", in_force)
