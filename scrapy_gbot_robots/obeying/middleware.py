"""The downloader middleware, which allows or forbids each request by its origin's robots.txt.

It replaces Scrapy's own middleware, and subclasses it. The settings, the stats under `robotstxt/`
and the meta key `dont_obey_robotstxt` work as in Scrapy.
"""

from __future__ import annotations

import logging
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.utils.misc import load_object

from ..concurrency import pause, run_in_thread
from ..core.crawlers import UserAgent
from ..core.preferences import NOTHING_SAID, Preferences
from ..core.url_forms import names_the_same
from ..core.urls import Origin, origin_of_robots_txt, shown
from ..core.verdict import Verdict
from ..engine import (
    downloader_middleware,
    is_bypassed,
    is_for_one_page,
    several_of,
    warn_of_missing_parts,
)
from ..exceptions import ForbiddenByRobotsTxt
from ..experimental.preferences import PreferenceCheck
from ..fetching.exchange import error_of
from ..fetching.fetcher import Fetcher
from ..meta import ANSWERED, PROBE, PROVENANCE, SITEMAP
from ..policy.outages import State, date_of
from ..policy.overrides import Action, Override
from ..settings import GbotSettings, warn_of_mistakes
from ..signals import override_used, request_forbidden
from .answer import CachedAnswer
from .crawl_delay import CrawlDelays
from .identity import CrawlerIdentity
from .lines import Handed
from .lookup import Lookup
from .robotparser import GbotRobotParser
from .room import Room
from .subject import clear_own_meta, is_subject, mark_known, origin_of, restore, returned

_LONGEST_URL = 2_000  # characters in the log
# The plugin's own requests for a robots.txt have one of these meta keys.
_OF_THE_PLUGIN = frozenset({PROBE, SITEMAP})

_ALLOWED = Verdict(allowed=True)
_STATS_OF_OVERRIDES = {
    Action.IGNORE: "gbot_robots/override/ignored",
    Action.REPLACE: "gbot_robots/override/rules",
    Action.DISALLOW: "gbot_robots/override/disallowed",
    Action.ALLOW: "gbot_robots/override/allowed",
}

logger = logging.getLogger(__name__)


class GbotRobotsTxtMiddleware(RobotsTxtMiddleware):
    """Allows or forbids each request by its robots.txt, which is read as Googlebot reads it.

    For a forbidden request it raises `ForbiddenByRobotsTxt`, an `IgnoreRequest`.

    Attributes:
        fetcher_cls: the class that requests robots.txt files. A subclass may use another class.
    """

    fetcher_cls = Fetcher

    def __init__(self, crawler: Crawler) -> None:
        add_ons = str(crawler.settings.getdict("ADDONS"))
        # Add-ons are made before the settings are frozen.
        if type(self).__name__ in add_ons and not crawler.settings.frozen:
            raise ValueError(
                f"ADDONS must not name {type(self).__name__}, which is a downloader middleware: "
                'write ADDONS = {"scrapy_gbot_robots.Addon": 500}'
            )
        super().__init__(crawler)  # It raises NotConfigured if ROBOTSTXT_OBEY is off.
        self._settings = GbotSettings.of_crawl(
            crawler.settings, is_for_one_page=is_for_one_page(crawler)
        )
        self._lookup = Lookup(crawler, self._settings, self.fetcher_cls)
        self.identity = CrawlerIdentity(crawler, self._settings.asked_as)
        self.room = Room(
            crawler,
            self._lookup,
            self.identity,
            self.is_subject_to_robots,
            self._settings.unreachable_wait_secs,
        )
        self._has_warned_of_other_url = False
        self._crawl_delays: CrawlDelays | None = None
        if self._settings.crawl_delay:
            self._crawl_delays = CrawlDelays(crawler, self._settings)
        self._preferences: PreferenceCheck | None = None
        if self._settings.purposes:
            refuses = self._settings.purposes_action == "refuse"
            self._preferences = PreferenceCheck(crawler, self._settings.purposes, refuses=refuses)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)
        warn_of_mistakes(crawler.settings)

    async def process_request(  # type: ignore[override]
        self, request: Request, spider: Spider | None = None
    ) -> Request | Response | None:
        """Allow or forbid `request`.

        A request for a robots.txt is never forbidden by a robots.txt (RFC 9309 2.2.2), but may be
        forbidden by an override.

        Returns:
            None if the request goes on. The request itself if it goes back to the scheduler, to
            wait. A Response if the request is for a robots.txt that is already known.

        Raises:
            ForbiddenByRobotsTxt: the request is forbidden.
        """
        restore(request)
        handed = self.room.ready.end_way(request)
        if not self.is_subject_to_robots(request):
            request.meta.pop(PROVENANCE, None)  # It may have the meta of another page.
            return None
        url = request.url
        if handed is not None and handed.url is url and handed.origin is not None:
            origin = handed.origin
        else:
            try:
                origin = origin_of(request)
            except ValueError as error:
                verdict = Verdict(allowed=False, reason=str(error))
                raise self._forbidden(request, verdict) from None
        user_agent = self.identity.user_agent(request)
        answer = self._lookup.known_answer(origin, user_agent, request)
        if answer is None or answer.bars_for_now:
            if handed is not None and handed.goes_back(origin):
                return returned(request)
            answer = await self._waited_for(origin, user_agent, request, handed)
        if origin_of_robots_txt(url) is not None:
            if answer.override is None:
                return await self._known_robots_txt(request, answer)
            if answer.state is not State.FULL_DISALLOW:
                # Only an override that disallows everything applies to this file.
                return None
        if answer.takes_long(url, user_agent):  # Hostile rules take milliseconds.
            verdict, preferences = await run_in_thread(self._opinion, answer, url, user_agent)
        else:
            verdict, preferences = self._opinion(answer, url, user_agent)
        self._act_on(verdict, preferences, request, answer, user_agent)
        self.identity.note(request)
        return None

    def is_subject_to_robots(self, request: Request) -> bool:
        """Whether a robots.txt decides about `request`.

        A subclass may override this to exempt requests.

        The room calls this before any downloader middleware has seen the request, and
        `process_request` calls it again. An exempt request does not wait for a robots.txt. By
        default, three kinds of requests are exempt: requests with `dont_obey_robotstxt` in their
        meta, requests whose scheme has no robots.txt (Google's page, "File location & range of
        validity"), and requests for a robots.txt by a method other than GET.
        """
        return is_subject(request)

    async def _waited_for(
        self, origin: Origin, user_agent: UserAgent, request: Request, handed: Handed | None
    ) -> CachedAnswer:
        """Return the answer with which `request` was handed out, or wait for an answer.

        Raises:
            ForbiddenByRobotsTxt: the crawl closes while the request waits.
        """
        if handed is not None:
            passed = handed.answer
            if passed is not None and passed.origin == origin and passed.knows(user_agent):
                return passed
        keeps_place = handed is not None
        answer = await self.room.answer_in_place(
            origin, user_agent, request, keeps_place=keeps_place
        )
        if answer is None:
            why = "the crawl closed before robots.txt was known"
            raise ForbiddenByRobotsTxt(Verdict(allowed=False, reason=why), origin)
        return answer

    def _act_on(
        self,
        verdict: Verdict,
        preferences: Preferences,
        request: Request,
        answer: CachedAnswer,
        user_agent: UserAgent,
    ) -> None:
        """Let `request` go on, or forbid it, by a verdict and the preferences of the site.

        If an override has decided, it is counted. If the request goes on, its crawl-delay is noted,
        and its provenance is stored in its meta.

        Args:
            verdict: the verdict of `answer` on the URL.
            preferences: the preferences of the site on the use of the page.
            request: the request.
            answer: the answer of its origin.
            user_agent: the user agent that sends it.

        Raises:
            ForbiddenByRobotsTxt: the request is forbidden.
        """
        refusal = None
        if not verdict.allowed:
            refusal = verdict
        elif self._preferences is not None:
            refusal = self._preferences.before(request, preferences)
        override = answer.override
        if override is not None:  # The answer is its own, so the verdict only has to name it.
            verdict = override.named(verdict)
            if refusal is not None:
                refusal = override.named(refusal)
            self._count_override(override, answer.origin, refusal)
        elif verdict.override is not None:  # It allows a path that the site disallows.
            self._count_override(self._lookup.agreement(answer.origin), answer.origin, refusal)
        if refusal is not None:
            raise self._forbidden(request, refusal, answer)
        if self._crawl_delays is not None:
            self._crawl_delays.note_delay(request, answer, user_agent)
        if self._settings.provenance:
            request.meta[PROVENANCE] = _provenance(answer, verdict)

    def _count_override(
        self, override: Override | None, origin: Origin, refusal: Verdict | None
    ) -> None:
        if override is None:  # It has just run out.
            return
        self.crawler.stats.inc_value(_STATS_OF_OVERRIDES[override.action])
        self.crawler.signals.send_catch_log(
            override_used, override=override, origin=origin, refusal=refusal
        )

    def _opinion(
        self, answer: CachedAnswer, url: str, user_agent: UserAgent
    ) -> tuple[Verdict, Preferences]:
        """Return the verdict of `answer` on `url`, and the preferences if this crawl needs them."""
        preferences = NOTHING_SAID
        if self._preferences is not None:
            preferences = answer.preferences(url, user_agent)
        if not self._settings.provenance and answer.allowed(url, user_agent):
            return _ALLOWED, preferences
        verdict = answer.verdict(url, user_agent)
        if not verdict.allowed and not answer.temporary:
            agreement = self._lookup.agreement(answer.origin)
            if agreement is not None:
                verdict = answer.verdict_beside(url, user_agent, agreement)
        return verdict, preferences

    def process_response(self, request: Request, response: Response) -> Response:
        """Return `response`, unless its headers forbid a purpose of this crawl.

        A subclass that overrides this method must call it.

        Raises:
            ForbiddenByRobotsTxt: a header of the page forbids a purpose of this crawl.
        """
        self._end_way(request)
        if response.url != request.url:
            self._look_at_other_url(request, response)
        if self._preferences is not None:
            refusal = self._preferences.after(request, response)
            if refusal is not None:
                raise self._forbidden(request, refusal)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Let `exception` go on to the spider.

        A subclass that overrides this method must call it.
        """
        self._end_way(request)

    def _end_way(self, request: Request) -> None:
        """Remove the plugin's own marks from the meta of `request`, before the spider gets it."""
        self.identity.compare(request)
        clear_own_meta(request)

    def _look_at_other_url(self, request: Request, response: Response) -> None:
        """Count a page whose URL is not the one that was judged, and change its provenance.

        A browser or another download handler has followed a redirect by itself, so the new URL was
        not checked against a robots.txt. The first such page is logged.
        """
        # A middleware may have sent another request. If that request came through here, its URL
        # was judged.
        asked = response.request or request
        proof = asked.meta.get(PROVENANCE)
        if asked is not request and (proof is None or proof is not request.meta.get(PROVENANCE)):
            return
        if names_the_same(request.url, response.url) or not self.is_subject_to_robots(request):
            return
        if origin_of_robots_txt(request.url) is not None:
            # The redirects of a robots.txt may always be followed.
            return
        self.crawler.stats.inc_value("gbot_robots/responses/unjudged")
        if proof is not None:
            asked.meta[PROVENANCE] = dict.fromkeys(proof) | {"judged": False}
        if self._preferences is not None:
            self._preferences.forget(request)
        if not self._has_warned_of_other_url:
            self._has_warned_of_other_url = True
            logger.warning(
                "%s led to %s inside the browser or download handler, so the second URL was not "
                "checked against a robots.txt. The stat gbot_robots/responses/unjudged counts such "
                "pages",
                shown(request.url),
                shown(response.url),
            )

    async def _known_robots_txt(self, request: Request, answer: CachedAnswer) -> Response | None:
        """Return a response to `request`, which is for a robots.txt, from the file that is known.

        Return None if no file is known, or only the beginning of a file. The request then goes to
        the server, which may send another file because of the request's headers. A request by this
        plugin has no headers of its own, so any known status answers it, and so does the beginning
        of a file.

        Raises:
            IgnoreRequest: it is a request by this plugin, and the server did not answer.
        """
        is_ours = not _OF_THE_PLUGIN.isdisjoint(request.meta)
        if answer.state is not State.RULES and not is_ours:
            return None
        status = answer.status
        body = b""
        if answer.fetched_at is not None:  # There is a copy, even if the last fetch has failed.
            entry = await self._lookup.storage.get(str(answer.origin))
            if entry is None or entry.copy is None or (entry.copy.cut and not is_ours):
                return None
            status = entry.copy.status
            body = entry.copy.body
        if status is None:
            raise IgnoreRequest(f"{request.url}: {shown(answer.why)}")
        mark_known(request)
        encoding = "utf-8"
        try:
            body.decode()
        except UnicodeDecodeError:  # Without this, Scrapy would guess one of dozens.
            encoding = "cp1252"
        return TextResponse(
            request.url,
            status,
            {"Content-Type": "text/plain"},
            body,
            flags=[ANSWERED, answer.state.value],
            request=request,
            encoding=encoding,
        )

    def _forbidden(
        self, request: Request, verdict: Verdict, answer: CachedAnswer | None = None
    ) -> ForbiddenByRobotsTxt:
        """Count, log and signal that `request` is forbidden; return the exception to raise.

        `answer` is the answer that has decided, or None if none has.
        """
        error = ForbiddenByRobotsTxt(verdict)
        source = ""
        if answer is not None:
            source = f" ({answer.origin.robots_url})"
            cause = error_of(answer.failure, answer.why)
            error = ForbiddenByRobotsTxt(verdict, answer.origin, answer.state, cause)
            if answer.bars_for_now:
                self.crawler.stats.inc_value("gbot_robots/forbidden/unreachable")
        sent = shown(str(request), _LONGEST_URL)
        logger.debug(
            "Forbidden by robots.txt: %s: %s%s",
            sent,
            verdict,
            source,
            extra={"spider": self.crawler.spider},
        )
        self.crawler.stats.inc_value("robotstxt/forbidden")
        self.crawler.signals.send_catch_log(request_forbidden, request=request, error=error)
        return error

    def _spider_opened(self, spider: Spider) -> None:
        """Log the storage and the mistakes in the settings, and open the room."""
        self._lookup.storage.report()
        warn_of_missing_parts(self.crawler)
        settings = self.crawler.settings
        parser = settings["ROBOTSTXT_PARSER"]
        if settings.getpriority("ROBOTSTXT_PARSER") and load_object(parser) is not GbotRobotParser:
            logger.warning(
                "ROBOTSTXT_PARSER = %r has no effect: "
                "GbotRobotsTxtMiddleware always uses GbotRobotParser",
                parser,
            )
        if not self._settings.enabled:
            logger.warning(
                "GBOT_ROBOTS_ENABLED = False has no effect: it switches the add-on off, and "
                "DOWNLOADER_MIDDLEWARES of this project has %s without the add-on",
                type(self).__name__,
            )
        several = several_of(self.crawler, RobotsTxtMiddleware)
        if several:
            logger.warning(
                "DOWNLOADER_MIDDLEWARES has %s. Each of them fetches and obeys robots.txt files. "
                'Set all but one to None, or use ADDONS = {"scrapy_gbot_robots.Addon": 500}',
                several,
            )
        self.identity.start(spider, self)
        # The project's own code may exempt requests that `is_subject_to_robots` does not exempt.
        is_overridden = type(self).process_request is not GbotRobotsTxtMiddleware.process_request
        self.room.requests_see = is_overridden or is_bypassed(self.crawler, self)
        self.room.start()

    async def _spider_closed(self) -> None:
        self.room.close()
        await self._lookup.close()
        # Without asyncio, Scrapy's `CrawlerRunner.stop` fails if a crawl ends during that call. A
        # crawl would, if all its requests wait for a robots.txt and none is being downloaded.
        await pause(0)


def identity_of(crawler: Crawler) -> CrawlerIdentity | None:
    """Return the identity by which the middleware of a crawl judges requests, or None."""
    middleware = downloader_middleware(crawler, GbotRobotsTxtMiddleware)
    if middleware is None:
        return None
    return middleware.identity


def _provenance(answer: CachedAnswer, verdict: Verdict) -> dict[str, Any]:
    """Return why a request may go on, as GBOT_ROBOTS_PROVENANCE stores it in the meta."""
    fetched = line = None
    if answer.fetched_at is not None:
        date = date_of(answer.fetched_at)
        if date is not None:
            fetched = date.isoformat(timespec="seconds")
    if verdict.rule is not None:
        line = verdict.rule.line
    return {
        "robots": answer.robots_sha256,
        "fetched": fetched,
        "status": answer.status,
        "line": line,
        "group": verdict.group,
        "override": verdict.override,
        "judged": True,
    }
