"""Logs, counts and signals what a crawl finds out about robots.txt files.

The module lookup.py calls this module after each fetch of a robots.txt, and whenever it has made a
new answer for an origin. An *answer* (`Answer` in answer.py) is what the robots.txt of an origin
means for the crawl. A *copy* (`Copy` in policy/outages.py) is the last response that showed what
the site wants, such as a robots.txt or a 404. An answer is usually based on a copy.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator
from inspect import iscoroutine
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider

from ..concurrency import Background, run_in_thread
from ..core.changes import changes
from ..core.crawlers import UserAgent
from ..core.lines import is_web_page
from ..core.robots import RobotsTxt
from ..core.urls import Origin, shown
from ..engine import pull_soon
from ..fetching.fetcher import MOST_WARNED
from ..meta import SITEMAP
from ..policy.outages import GONE_AFTER, Copy, Kind, State
from ..policy.outcome import (
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
from .robotparser import GbotRobotParser

# This signal is sent when a look-up has made a new answer. Its arguments are the `answer`, and the
# `copy` on which the answer is based, or None. The classes that write the report and the record of
# a crawl connect handlers to it.
DECIDED = object()

_STATS_BY_STATE = {state: f"gbot_robots/origins/{state.value.replace(' ', '_')}" for state in State}
_CONSEQUENCES = {
    State.FULL_DISALLOW: "no page of this site is crawled",
    State.FULL_ALLOW: "all pages of this site may be crawled",
    State.RULES: "the rules of its last robots.txt apply",
}
# If a response contains rules that the parser cannot read, a warning is logged. It ends with
# `_SKIP_ROBOTS_REQUESTS` if the response is a web page, and with `_TELL_THE_OWNER` otherwise.
_TELL_THE_OWNER = "Google does not read them either. You may tell the site's owner"
_SKIP_ROBOTS_REQUESTS = (
    "If a middleware or download handler renders pages with a browser, make it skip requests with "
    "meta['dont_obey_robotstxt']"
)
_STORED = "An earlier crawl or another process has stored this failure"
# The advice for a project in which a downloader middleware drops requests for robots.txt files.
_WHAT_TO_DO = (
    "No request waits for it. Let that middleware pass requests with "
    "meta['dont_obey_robotstxt'], because robots.txt requests have that key. Or set the key in the "
    "requests for pages that need no robots.txt"
)

logger = logging.getLogger(__name__)


class CrawlEvents:
    """The log lines, stats and signals about the robots.txt files of one crawl.

    Args:
        crawler: the crawl.
        settings: the plugin's settings.
        background: runs those signal handlers that are coroutine functions, and compares old and
            new robots.txt files.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings, background: Background) -> None:
        self._crawler = crawler
        self._stats = crawler.stats
        self._settings = settings
        self._background = background
        self._handlers_running = 0  # The number of handlers that are running in the background.
        # How often each log message and each class of exceptions has occurred. Only the first few
        # occurrences are logged.
        self._logged: Counter[str] = Counter()
        self._has_warned_of_page = False
        # The number of requests that got their answer from memory since the last call of `tell`.
        # Only `tell` changes the stat, because a change for each request would take more time.
        self.from_memory = 0
        crawler.signals.connect(self._spider_idle, signals.spider_idle)

    def tell(self) -> None:
        """Add `from_memory` to the stat `gbot_robots/lookup/memory`, and set `from_memory` to 0."""
        if self.from_memory:
            self._stats.inc_value("gbot_robots/lookup/memory", self.from_memory)
            self.from_memory = 0

    def add_to_stat(self, name: str) -> None:
        """Add one to the stat `gbot_robots/NAME`."""
        self._stats.inc_value(f"gbot_robots/{name}")

    def fetched(self, outcome: Outcome, secs: float) -> None:
        """Count a fetch of a robots.txt that ended in `outcome` after `secs` seconds.

        A line is logged if the file was cut because it is too long, or if a redirect was not
        followed.
        """
        stats = self._stats
        millisecs = round(secs * 1000)
        stats.inc_value("robotstxt/request_count")
        stats.inc_value("gbot_robots/fetch_ms/sum", millisecs)
        stats.max_value("gbot_robots/fetch_ms/max", millisecs)
        self.add_to_stat(type(outcome).__name__.lower())
        if isinstance(outcome, Unreachable) and outcome.failure in NOT_ASKED:
            self.add_to_stat("fetches/dropped")
        if isinstance(outcome, Fetched):
            stats.inc_value("gbot_robots/bytes", len(outcome.body))
            if outcome.cut:
                self.add_to_stat("files/cut")
                logger.info(
                    "%s is longer than %d bytes; the rest of the file is ignored",
                    shown(outcome.url),
                    self._settings.max_bytes,
                )
        if isinstance(outcome, Unavailable) and outcome.status in REDIRECTS:
            self._log(logging.INFO, "%s: %s", shown(outcome.url), shown(outcome.why))
        if outcome.status is not None:
            stats.inc_value("robotstxt/response_count")
            stats.inc_value(f"robotstxt/response_status_count/{outcome.status}")

    def failed(self, what: str, origin: Origin, error: Exception) -> None:
        """Count an unexpected exception, and log the first exception of each class.

        Args:
            what: the action that failed, such as "Looking up". The log line begins with this text.
            origin: the origin whose robots.txt was needed.
            error: the exception.
        """
        self.add_to_stat("errors")
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
        """Log, count and signal a new answer for an origin.

        Args:
            answer: the new answer.
            before: the previous answer; None if the crawl had no answer for the origin.
            copy: the `Copy` on which the new answer is based; None if there is none.
            robotstxt: the parsed content of `copy`; None if it was not parsed.
            request: the request that needed the answer.
        """
        facts = None
        was_temporary = False
        if before is not None:
            facts = (before.fetched_at, before.state)
            was_temporary = before.temporary
        self.count_state(answer, before)
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

    def count_state(self, answer: CachedAnswer, before: CachedAnswer | None) -> None:
        """Count the origin of `answer` in the stat for its new state.

        If there is a previous answer `before`, the origin is removed from the stat for the state of
        that answer.
        """
        if before is not None:
            self._stats.inc_value(_STATS_BY_STATE[before.state], -1)
        self._stats.inc_value(_STATS_BY_STATE[answer.state])

    def _tell_of_copy(self, copy: Copy, answer: CachedAnswer) -> None:
        """Warn if `copy` comes from a bot wall, or contains rules that the parser does not read.

        A *bot wall* is a protection service that answers in place of the site. A stat counts its
        responses. Rules that the parser does not read may be in a web page or in UTF-16 text, for
        example. The warning about unread rules is logged only once in a crawl.
        """
        if copy.kind is Kind.WALL:
            self.add_to_stat("walls")
            sentence = (
                "%s was answered by a bot wall and not by the site (%s), so %s "
                "(GBOT_ROBOTS_ACCESS_DENIED = %r)%s"
            )
            self._warn(sentence, answer, answer.why, self._settings.access_denied)
        elif not self._has_warned_of_page and (what := hides_rules(copy.body)):
            self._has_warned_of_page = True
            advice = _TELL_THE_OWNER
            if is_web_page(copy.body):
                advice = _SKIP_ROBOTS_REQUESTS
            logger.warning(
                "%s arrived as %s with rules inside, and these rules are not read. %s",
                shown(copy.url),
                what,
                advice,
            )

    def _tell_of_outage(self, answer: CachedAnswer, request: Request) -> None:
        """Send a signal and log a warning, because a robots.txt is unreachable.

        The warning shows what the crawl now does with the site, for example that it fetches no
        page. If `request` waits for the robots.txt, the warning also shows how long. If the failure
        comes from the storage, the warning says so, because the site may be up again by now.
        """
        self._crawler.signals.send_catch_log(
            robotstxt_unreachable, origin=answer.origin, answer=ShownAnswer(answer)
        )
        why = answer.why
        if answer.outage is not None:
            why = answer.outage.in_words(time.time())
        more: list[str] = []
        finder = _listed_by(request, answer.origin)
        if finder:
            more.append(f"The crawl needs it because {shown(finder)} lists a sitemap there")
        if answer.failure is Failure.DROPPED:
            more.append(_WHAT_TO_DO)
        if answer.has_stored_failure:
            more.append(_STORED)
        if answer.bars_for_now:
            more += self._next_try(answer, request)
        if self._crawler.settings.getbool("HTTPCACHE_ENABLED"):
            more.append(
                "To replay the pages in Scrapy's HTTP cache without the site, "
                "set ROBOTSTXT_OBEY = False and HTTPCACHE_IGNORE_MISSING = True"
            )
        sentence = "Could not fetch %s (%s): for now, %s (GBOT_ROBOTS_UNREACHABLE = %r)%s"
        rest = "".join(f". {each}" for each in more)
        self._warn(sentence, answer, why, self._settings.unreachable, rest)

    def _next_try(self, answer: CachedAnswer, request: Request) -> Iterator[str]:
        """Yield sentences for a warning: when the next try is due, and how long the requests wait.

        `answer` disallows everything for now. `request` is the request that needed the answer.
        """
        secs = self._settings.unreachable_wait_secs
        is_waited_for = secs > 0 and answer.is_waited_for(request)
        if is_waited_for and answer.outage is not None and answer.outage.tries_without_server:
            yield (
                f"Its requests wait until {GONE_AFTER} tries in a row have found no server, "
                "which usually takes a few seconds"
            )
            return
        # The next try may be due late, for example because the server has sent a Retry-After
        # header. `Patience` then does not wait for it.
        comes_late = answer.monotonic_ask_at > answer.since + 2 * secs
        due = f"The next try is due in {answer.ask_at - answer.given_at:.0f} s"
        setting = "(GBOT_ROBOTS_UNREACHABLE_WAIT_SECS)"
        if is_waited_for and comes_late:
            yield f"{due}, so its requests wait about {secs:g} s {setting}, and are then forbidden"
        elif is_waited_for:
            yield f"Its requests wait about {secs:g} s for a retry {setting}"
        elif answer.has_stored_failure:
            yield due
        if answer.has_stored_failure and comes_late:
            yield f"To make the next run try at once: scrapy robots cache forget {answer.origin}"

    def _send_known(self, robotstxt: RobotsTxt, answer: CachedAnswer, request: Request) -> None:
        """Send the signal `robotstxt_known` and, from Scrapy 2.18 on, Scrapy's `robots_parsed`."""
        origin = answer.origin
        self._send(
            robotstxt_known,
            robotstxt=robotstxt,
            request=request,
            origin=origin,
            answer=ShownAnswer(answer),
        )
        robots_parsed = getattr(signals, "robots_parsed", None)
        if robots_parsed is not None:
            self._send(robots_parsed, robotparser=GbotRobotParser(robotstxt), request=request)

    def compare(self, origin: Origin, before: Copy | None, now: Copy | None) -> None:
        """Compare two copies of the robots.txt of `origin`, and send a signal if the rules differ.

        The comparison runs in the background, so no request waits for it.

        Args:
            origin: the origin.
            before: the copy in the storage before a fetch; None if there was none.
            now: the copy in the storage after the fetch; None if there is none.
        """
        if before is not None and now is not None and before.body != now.body:
            self._background.start(self._compare(origin, before, now))

    async def _compare(self, origin: Origin, before: Copy, now: Copy) -> None:
        old = self._settings.parse(before.body, cut=before.cut)
        new = self._settings.parse(now.body, cut=now.cut)
        if await run_in_thread(changes, old, new):
            self.add_to_stat("files/changed")
            logger.info("%s has new rules", origin.robots_url)
            self._send(robotstxt_changed, origin=origin, old=old, new=new)

    def _warn(
        self, sentence: str, answer: CachedAnswer, why: str, setting: str, rest: str = ""
    ) -> None:
        """Log a warning about what `answer` means for the crawl of its site.

        At most MOST_WARNED warnings with the same `sentence` are logged.

        Args:
            sentence: a format string. It has placeholders for the URL of the robots.txt, for `why`,
                for the meaning of the answer, for `setting` and for `rest`, in this order.
            answer: the answer.
            why: the reason for the answer. It may contain characters that are not printable.
            setting: the value of the setting that has determined the state of the answer.
            rest: more sentences for the end of the warning.
        """
        url = answer.origin.robots_url
        consequence = _CONSEQUENCES[answer.state]
        self._log(logging.WARNING, sentence, url, shown(why), consequence, setting, rest)

    def _log(self, level: int, sentence: str, *words: str) -> None:
        """Log a message, unless its format string was logged MOST_WARNED times already.

        Args:
            level: the level of the message.
            sentence: the format string.
            words: the values for the placeholders in the format string.
        """
        self._logged[sentence] += 1
        if self._logged[sentence] <= MOST_WARNED:
            logger.log(level, sentence, *words)

    def _send(self, signal: object, **named: Any) -> None:
        """Send `signal` with the arguments in `named` to all handlers.

        If a handler is a coroutine function, it runs in the background, and the crawl stays open
        until the handler has ended.
        """
        spider = self._crawler.spider
        for _, result in self._crawler.signals.send_catch_log(signal, spider=spider, **named):
            if iscoroutine(result):
                self._handlers_running += 1
                self._background.start(result, then=self._handler_ended)

    def _handler_ended(self) -> None:
        self._handlers_running -= 1
        # Wake the engine, because it can close the crawl now if no other handler is running.
        pull_soon(self._crawler)

    def _spider_idle(self) -> None:
        """Keep the crawl open while handlers of signals run in the background."""
        if self._handlers_running:
            raise DontCloseSpider


def _listed_by(request: Request, origin: Origin) -> str:
    """Return the URL of the file in which the crawl has found the sitemap that `request` fetches.

    The file is a robots.txt or a sitemap index. Return "" if the file is on `origin` itself, or if
    `request` does not fetch a sitemap.
    """
    source = request.meta.get(SITEMAP, {})
    finder: str = source.get("index") or source.get("robotstxt") or ""
    if finder.startswith(f"{origin}/"):
        return ""
    return finder


def tell_of(overrides: Overrides) -> None:
    """Log the overrides of a crawl, at its start.

    A warning is logged for overrides that have run out. A warning is also logged for each override
    whose rules forbid nothing, because they are probably a mistake. The overrides in force are
    logged at the level INFO.
    """
    run_out, in_force = overrides.in_words(time.time())
    if run_out:
        logger.warning("%s", run_out)
    for text in overrides.open_by_mistake(time.time()):
        logger.warning("%s", text)
    if in_force:
        logger.info("%s", in_force)


def tell_of_others(overrides: Overrides, user_agent: UserAgent) -> None:
    """Warn of each override that contains rules, but no group of rules for `user_agent`."""
    for text in overrides.for_other_crawlers(time.time(), user_agent):
        logger.warning("%s", text)
