"""The downloader middleware lets each request go on or refuses it, by its origin's robots.txt.

It replaces Scrapy's own and subclasses it. Settings, stats (`robotstxt/`) and `dont_obey_robotstxt`
in meta are the same.
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
_OF_THE_PLUGIN = frozenset({PROBE, SITEMAP})  # meta keys of its own requests for a robots.txt

_ALLOWED = Verdict(allowed=True)
_STATS_OF_OVERRIDES = {
    Action.IGNORE: "gbot_robots/override/ignored",
    Action.REPLACE: "gbot_robots/override/rules",
    Action.DISALLOW: "gbot_robots/override/disallowed",
    Action.ALLOW: "gbot_robots/override/allowed",
}

logger = logging.getLogger(__name__)


class GbotRobotsTxtMiddleware(RobotsTxtMiddleware):
    """Lets requests go on that their robots.txt allows, read as Googlebot reads it.

    For the others it raises `ForbiddenByRobotsTxt`, an `IgnoreRequest`.

    Attributes:
        fetcher_cls: the class that makes the robots.txt requests; a subclass may name another one.
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
        super().__init__(crawler)  # raises NotConfigured when ROBOTSTXT_OBEY is off
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
        """Let `request` go on (None), or send it back to the scheduler (a Request: itself).

        No robots.txt forbids the request for a robots.txt (RFC 9309 2.2.2); an override may. If
        that file is known, a Response answers it.

        Raises:
            ForbiddenByRobotsTxt: the request is refused.
        """
        restore(request)
        handed = self.room.ready.end_way(request)
        if not self.is_subject_to_robots(request):
            request.meta.pop(PROVENANCE, None)  # of the page whose meta it has
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
            if answer.state is not State.FULL_DISALLOW:  # the override is not about this file
                return None
        if answer.takes_long(url, user_agent):  # hostile rules take milliseconds
            verdict, preferences = await run_in_thread(self._opinion, answer, url, user_agent)
        else:
            verdict, preferences = self._opinion(answer, url, user_agent)
        self._act_on(verdict, preferences, request, answer, user_agent)
        self.identity.note(request)
        return None

    def is_subject_to_robots(self, request: Request) -> bool:
        """Whether a robots.txt decides about `request`.

        A subclass may override this to exempt requests.

        The room asks this before any downloader middleware has seen the request, and
        `process_request` asks it, too. A request that is exempt waits for no robots.txt. By default
        these are requests with `dont_obey_robotstxt` in their meta, those whose scheme has no
        robots.txt (Google's page, "File location & range of validity"), and those to the URL of a
        robots.txt by another method than GET.
        """
        return is_subject(request)

    async def _waited_for(
        self, origin: Origin, user_agent: UserAgent, request: Request, handed: Handed | None
    ) -> CachedAnswer:
        """Return the answer for `request`: the one that it was handed out with, or wait for one.

        Raises:
            ForbiddenByRobotsTxt: the crawl closes meanwhile.
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
        """Let `request`, which `user_agent` sends, go on by what `answer` has said, or refuse it.

        If it goes on, its crawl-delay is noted, and its provenance in meta. Also noted are what the
        site says of purposes, and the override that has decided.

        Raises:
            ForbiddenByRobotsTxt: the request is refused.
        """
        refusal = None
        if not verdict.allowed:
            refusal = verdict
        elif self._preferences is not None:
            refusal = self._preferences.before(request, preferences)
        override = answer.override
        if override is not None:  # which has decided already, by this answer, and is only named
            verdict = override.named(verdict)
            if refusal is not None:
                refusal = override.named(refusal)
            self._count_override(override, answer.origin, refusal)
        elif verdict.override is not None:  # it has allowed what the site disallows
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
        if override is None:  # it has run out in this moment
            return
        self.crawler.stats.inc_value(_STATS_OF_OVERRIDES[override.action])
        self.crawler.signals.send_catch_log(
            override_used, override=override, origin=origin, refusal=refusal
        )

    def _opinion(
        self, answer: CachedAnswer, url: str, user_agent: UserAgent
    ) -> tuple[Verdict, Preferences]:
        """What `answer` says of `url`, as far as this crawl needs it."""
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
        """Let `response` go on to the spider, if it says nothing against a purpose of this crawl.

        A subclass that overrides this calls it.

        Raises:
            ForbiddenByRobotsTxt: a header of the page refuses a purpose of this crawl.
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

        A subclass that overrides this calls it.
        """
        self._end_way(request)

    def _end_way(self, request: Request) -> None:
        """Take out of the meta of `request` what the spider shall not get."""
        self.identity.compare(request)
        clear_own_meta(request)

    def _look_at_other_url(self, request: Request, response: Response) -> None:
        """Count a page from another URL than the one that was judged, and take its proof away.

        A browser, or another download handler, has followed a redirect by itself: no robots.txt
        was asked whether the page may be fetched. The log says so once.
        """
        # A middleware may have sent another request. If that one has come by here, it was judged.
        asked = response.request or request
        proof = asked.meta.get(PROVENANCE)
        if asked is not request and (proof is None or proof is not request.meta.get(PROVENANCE)):
            return
        if names_the_same(request.url, response.url) or not self.is_subject_to_robots(request):
            return
        if origin_of_robots_txt(request.url) is not None:  # whose redirects are always followed
            return
        self.crawler.stats.inc_value("gbot_robots/responses/unjudged")
        if proof is not None:
            asked.meta[PROVENANCE] = dict.fromkeys(proof) | {"judged": False}
        if self._preferences is not None:
            self._preferences.forget(request)
        if not self._has_warned_of_other_url:
            self._has_warned_of_other_url = True
            logger.warning(
                "%s led to %s inside the browser or download handler, so no robots.txt was asked "
                "about that page. The stat gbot_robots/responses/unjudged counts such pages",
                shown(request.url),
                shown(response.url),
            )

    async def _known_robots_txt(self, request: Request, answer: CachedAnswer) -> Response | None:
        """Answer `request`, which is for a robots.txt, by the file that is known.

        Return None if no file is known, or only its beginning: then the request goes to the server,
        which may send another file for the headers of the request. A request by this plugin has no
        headers of its own: any status that is known answers it, and the beginning of a file.

        Raises:
            IgnoreRequest: it is a request by this plugin, and the server did not answer.
        """
        is_ours = not _OF_THE_PLUGIN.isdisjoint(request.meta)
        if answer.state is not State.RULES and not is_ours:
            return None
        status = answer.status
        body = b""
        if answer.fetched_at is not None:  # the last fetch may have failed since
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
        except UnicodeDecodeError:  # Scrapy would guess one of dozens
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
        """Count, log and signal that `request` is refused; return the exception to raise.

        `answer` has decided so; None: none has.
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
        """Name the storage and what is wrong in the settings, and open the room."""
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
                "DOWNLOADER_MIDDLEWARES has %s: each obeys robots.txt by itself and fetches it. "
                'Set all but one to None, or use ADDONS = {"scrapy_gbot_robots.Addon": 500}',
                several,
            )
        self.identity.start(spider, self)
        # The project's own code may exempt requests, and `is_subject_to_robots` does not know it.
        is_overridden = type(self).process_request is not GbotRobotsTxtMiddleware.process_request
        self.room.requests_see = is_overridden or is_bypassed(self.crawler, self)
        self.room.start()

    async def _spider_closed(self) -> None:
        self.room.close()
        await self._lookup.close()
        # Without asyncio, Scrapy's `CrawlerRunner.stop` fails if a crawl ends within that call. It
        # would, if no request is being downloaded, as when all of them wait for a robots.txt.
        await pause(0)


def identity_of(crawler: Crawler) -> CrawlerIdentity | None:
    """The names by which the middleware of a crawl judges requests; None if there is none."""
    middleware = downloader_middleware(crawler, GbotRobotsTxtMiddleware)
    if middleware is None:
        return None
    return middleware.identity


def _provenance(answer: CachedAnswer, verdict: Verdict) -> dict[str, Any]:
    """Return what lets a request go on, for its meta: `GBOT_ROBOTS_PROVENANCE`."""
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
