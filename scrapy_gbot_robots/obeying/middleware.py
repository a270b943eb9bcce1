"""The downloader middleware, which allows or forbids each request by its origin's robots.txt.

It takes the place of Scrapy's `RobotsTxtMiddleware`, and is a subclass of that class. Scrapy's
settings for robots.txt, the stats under `robotstxt/` and the meta key `dont_obey_robotstxt` work as
in Scrapy.

Below, the *answer* for an origin (answer.py) is what the crawl keeps after it has looked up the
origin's robots.txt: rules, full allow or full disallow. The *room* (room.py) is where requests wait
before they come here, until their origin has an answer.
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

from ..answers.answer import CachedAnswer
from ..answers.lookup import Lookup
from ..answers.robotparser import GbotRobotParser
from ..concurrency import pause, run_in_thread
from ..core.crawlers import UserAgent
from ..core.preferences import NOTHING_SAID, Preferences
from ..core.url_forms import names_the_same
from ..core.urls import Origin, origin_of_robots_txt, shown, without_login
from ..core.verdict import Verdict
from ..engine import (
    at_end_of_way,
    downloader_middleware,
    is_bypassed,
    is_for_one_page,
    is_http_of_scrapy,
    refuse_as_add_on,
    several_of,
    warn_of_missing_parts,
)
from ..exceptions import ForbiddenByRobotsTxt
from ..experimental.preferences import PreferenceCheck
from ..fetching.exchange import error_of
from ..fetching.fetcher import Fetcher
from ..meta import ANSWERED, JUDGED_AS, PAGE_RULES, PREFERENCES, PROBE, PROVENANCE, SITEMAP
from ..policy.outages import State, date_of
from ..policy.overrides import Action, Override
from ..settings import GbotSettings, warn_of_mistakes
from ..signals import override_used, request_forbidden
from .crawl_delay import CrawlDelays
from .identity import CrawlerIdentity
from .lines import Handed
from .room import Room
from .subject import clear_own_meta, is_subject, mark_known, origin_of, restore, returned

_LONGEST_URL = 2_000  # The log shows at most this many characters of a forbidden URL.
# If one of this plugin's own spiders or middlewares requests a robots.txt, the meta of the request
# has one of these keys.
_OF_THE_PLUGIN = frozenset({PROBE, SITEMAP})

_ALLOWED = Verdict(allowed=True)
_STATS_OF_OVERRIDES = {
    Action.IGNORE: "gbot_robots/override/ignored",
    Action.REPLACE: "gbot_robots/override/rules",
    Action.DISALLOW: "gbot_robots/override/disallowed",
    Action.ALLOW: "gbot_robots/override/allowed",
}

# This signal is sent when a middleware has replaced a start request by the new request `request`,
# or has sent the start request back to the scheduler. `StartRequests` (report/extension.py) handles
# it.
REPLACED = object()

logger = logging.getLogger(__name__)


class GbotRobotsTxtMiddleware(RobotsTxtMiddleware):
    """Allows or forbids each request by its robots.txt, which is read as Googlebot reads it.

    If a request is forbidden, its errback gets a `ForbiddenByRobotsTxt`, which is a subclass of
    Scrapy's `IgnoreRequest`.

    Attributes:
        fetcher_cls: the class whose instance fetches the robots.txt files. A subclass of this
            middleware may set a subclass of `Fetcher`.
    """

    fetcher_cls = Fetcher

    def __init__(self, crawler: Crawler) -> None:
        refuse_as_add_on(type(self), crawler)
        super().__init__(crawler)  # This raises NotConfigured if ROBOTSTXT_OBEY is off.
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
        # Whether `_clear_marks` leaves the mark `JUDGED_AS` in the meta of a request.
        self._keeps_name = False
        self._crawl_delays: CrawlDelays | None = None
        if self._settings.crawl_delay:
            self._crawl_delays = CrawlDelays(crawler, self._settings)
        self._preferences: PreferenceCheck | None = None
        if self._settings.purposes:
            refuses = self._settings.purposes_action == "refuse"
            self._preferences = PreferenceCheck(crawler, self._settings.purposes, refuses=refuses)
        # The meta keys under which the plugin describes the page of a request. A key is listed only
        # if its setting is on.
        describes = {
            PROVENANCE: self._settings.provenance,
            PREFERENCES: self._settings.purposes,
            PAGE_RULES: self._settings.page_rules,
        }
        self._page_keys = tuple(key for key, is_on in describes.items() if is_on)
        crawler.signals.connect(self._spider_opened, signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signals.spider_closed)
        warn_of_mistakes(crawler.settings)

    async def process_request(  # type: ignore[override]
        self, request: Request, spider: Spider | None = None
    ) -> Request | Response | None:
        """Allow or forbid `request`. If its robots.txt is not known yet, it waits first.

        A robots.txt never forbids a request for a robots.txt (RFC 9309 2.2.2), but an override of
        the project may forbid the request.

        Returns:
            None if the request goes on. The request itself if it has to go back to the scheduler,
            to wait there. A Response if the request is for a robots.txt that is already known.

        Raises:
            ForbiddenByRobotsTxt: the request is forbidden.
        """
        self._remove_old_keys(request)
        handed = self.room.ready.end_way(request)
        if not self.is_subject_to_robots(request):
            # `note` stores the User-Agent header, because a callback may copy this request, and
            # the copy may be subject to a robots.txt.
            self.identity.note(request)
            return None
        url = request.url
        # If the URL is still the same object, no middleware has changed it, so its origin is the
        # one that the room has found. Otherwise the origin is computed again.
        if handed is not None and handed.url is url and handed.origin is not None:
            origin = handed.origin
        else:
            try:
                origin = origin_of(request)
            except ValueError as error:
                verdict = Verdict(allowed=False, reason=str(error))
                raise self._forbidden(request, verdict) from None
        user_agent = self.identity.user_agent(request)
        # Take the answer in memory. It may be newer than the answer that the room handed out.
        answer = self._lookup.take_answer(origin, user_agent, request)
        # If memory has no answer, or has one that forbids everything for now, use the answer that
        # the room gave to the request. If the room gave none for this origin, send the request back
        # to wait. If it has been sent back before, let it wait here (`Waiter`).
        if answer is None or answer.bars_for_now:
            if handed is not None and handed.goes_back(origin):
                return returned(request)
            answer = await self._waited_for(origin, user_agent, request, handed)
        if origin_of_robots_txt(url) is not None:
            self.identity.note(request)
            if answer.override is None:
                return await self._known_robots_txt(request, answer)
            if answer.state is not State.FULL_DISALLOW:
                # An override forbids a request for a robots.txt only if the override disallows
                # everything on the site.
                return None
        if answer.takes_long(url, user_agent):  # Hostile rules take milliseconds for one URL.
            verdict, preferences = await run_in_thread(self._opinion, answer, url, user_agent)
        else:
            verdict, preferences = self._opinion(answer, url, user_agent)
        self._act_on(verdict, preferences, request, answer, user_agent)
        self.identity.note(request)
        return None

    def is_subject_to_robots(self, request: Request) -> bool:
        """Whether `request` is subject to a robots.txt, and not exempt.

        A subclass may override this method to exempt more requests. An exempt request does not wait
        for a robots.txt, and is never forbidden.

        By default, three kinds of requests are exempt: requests with `dont_obey_robotstxt` in their
        meta, requests whose scheme has no robots.txt (Google's page, "File location & range of
        validity"), and requests for a robots.txt by a method other than GET.

        The method is called twice for most requests. The room calls it before the request waits,
        when no downloader middleware has seen the request yet. `process_request` calls it later,
        and calls it again if the request has gone back to wait. If the response comes from another
        URL, the method is called once more.
        """
        return is_subject(request)

    def _remove_old_keys(self, request: Request) -> None:
        """Remove the plugin's keys that an earlier request has left in the meta of `request`.

        1. Another middleware may have copied a marked request, or a scheduler without the front may
           have kept the request since an earlier crawl. So the marks are removed.
        2. The spider may have copied the meta of a page. So the keys that describe a page are
           removed.
        """
        restore(request)
        for key in self._page_keys:
            request.meta.pop(key, None)

    async def _waited_for(
        self, origin: Origin, user_agent: UserAgent, request: Request, handed: Handed | None
    ) -> CachedAnswer:
        """Return the answer by which `request` is allowed or forbidden.

        If the room handed out the request with an answer for `origin` that has the rules for
        `user_agent`, return this answer. Otherwise wait for an answer.

        Args:
            origin: the origin of the request.
            user_agent: the user agent of the request.
            request: the request.
            handed: the facts about the request at the time when the room handed it out; None if it
                did not come through the room.

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
        """Let `request` go on or forbid it, depending on the verdict and the site's preferences.

        If an override has decided, count it in the stats. If the request goes on, apply the
        crawl-delay of the robots.txt and store the provenance in the meta, each only if its setting
        is on.

        Args:
            verdict: the verdict of `answer` on the URL of the request.
            preferences: the preferences of the site about the use of the page.
            request: the request.
            answer: the answer for the origin of the request.
            user_agent: the user agent of the request.

        Raises:
            ForbiddenByRobotsTxt: the request is forbidden.
        """
        refusal = None
        if not verdict.allowed:
            refusal = verdict
        elif self._preferences is not None:
            refusal = self._preferences.before(request, preferences)
        override = answer.override
        if override is not None:  # The override replaces the robots.txt, so it has decided.
            verdict = override.named(verdict)
            if refusal is not None:
                refusal = override.named(refusal)
            self._count_override(override, answer.origin, refusal)
        elif verdict.override is not None:  # The override allows a path that the site disallows.
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
        if override is None:  # The override has expired since the verdict.
            return
        self.crawler.stats.inc_value(_STATS_OF_OVERRIDES[override.action])
        self.crawler.signals.send_catch_log(
            override_used, override=override, origin=origin, refusal=refusal
        )

    def _opinion(
        self, answer: CachedAnswer, url: str, user_agent: UserAgent
    ) -> tuple[Verdict, Preferences]:
        """Return the verdict on `url`, and the site's preferences about the page.

        If `url` is forbidden, or if GBOT_ROBOTS_PURPOSES names no purpose, the crawl does not use
        the preferences, and the result has `NOTHING_SAID` in their place.
        """
        verdict = self._verdict(answer, url, user_agent)
        preferences = NOTHING_SAID
        if verdict.allowed and self._preferences is not None:
            preferences = answer.preferences_if_allowed(url, user_agent)
        return verdict, preferences

    def _verdict(self, answer: CachedAnswer, url: str, user_agent: UserAgent) -> Verdict:
        """Return the verdict on `url` from `answer` and from any override for its origin."""
        if not self._settings.provenance and answer.allowed(url, user_agent):
            return _ALLOWED
        verdict = answer.verdict(url, user_agent)
        if not verdict.allowed and not answer.temporary:
            agreement = self._lookup.agreement(answer.origin)
            if agreement is not None:
                return answer.verdict_beside(url, user_agent, agreement)
        return verdict

    def process_response(self, request: Request, response: Response) -> Response:
        """Return `response`, unless one of its headers refuses a purpose of this crawl.

        If a subclass overrides this method, it must call this one.

        Raises:
            ForbiddenByRobotsTxt: a header of the page refuses a purpose in GBOT_ROBOTS_PURPOSES,
                and GBOT_ROBOTS_PURPOSES_ACTION is "refuse". If a middleware has changed the URL of
                the response, the refusal may also be in the robots.txt of the new URL.
        """
        self._clear_marks(request)
        if response.url != request.url:
            self._look_at_other_url(request, response)
        if self._preferences is not None:
            refusal = self._preferences.after(request, response)
            if refusal is not None:
                raise self._forbidden(request, refusal)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Remove the plugin's own meta keys from `request`, because its download has failed.

        The exception goes on to the errback of the request. If a subclass overrides this method, it
        must call this one.
        """
        self._clear_marks(request)

    def _end_way(self, request: Request, result: Response | Request | None) -> None:
        """Remove the plugin's own meta keys from `request`, before the spider gets `result`.

        If `result` is a request, the keys stay, because this request has the same user agent. If
        `result` is a start request, the signal `REPLACED` is sent.
        """
        if isinstance(result, Request):
            if "is_start_request" in result.meta:  # This is Scrapy's mark.
                self.crawler.signals.send_catch_log(REPLACED, request=result)
            return
        self._clear_marks(request, is_at_end=True)
        if result is not None and result.request is not None:
            clear_own_meta(result.request)

    def _clear_marks(self, request: Request, *, is_at_end: bool = False) -> None:
        """Remove the plugin's own keys from the meta of `request`, before the spider gets it.

        Also warn once if another middleware has changed the User-Agent header of the request.

        Args:
            request: the request.
            is_at_end: whether all middlewares have seen the response. Before that, a middleware of
                the project may change the User-Agent header and retry the request. So the user
                agent may have to stay in the meta (`JUDGED_AS`) until the end.
        """
        self.identity.compare(request)
        name = None
        if self._keeps_name and not is_at_end:
            name = self.identity.name_of(request)
        clear_own_meta(request)
        if name is not None:
            request.meta[JUDGED_AS] = name

    def _look_at_other_url(self, request: Request, response: Response) -> None:
        """Count the page if its URL is not the URL of `request`, and was not checked.

        The URLs may differ for two reasons:

        1. A browser, or a download handler of another package, has followed a redirect by itself.
           So this middleware has not seen the second URL, and the page is counted.
        2. A downloader middleware has changed the URL, or has made the response. For example, it
           may have sent the request to a renderer. Scrapy's HTTP cache may also contain the page
           under a URL with the same parameters in a different order. The page is counted unless the
           robots.txt in memory allows its URL.
        """
        # A middleware of the project may have sent a new request in place of `request`. If
        # `process_request` has checked the new request, the URL of the page was checked.
        asked = response.request or request
        proof = asked.meta.get(PROVENANCE)
        if asked is not request and (proof is None or proof is not request.meta.get(PROVENANCE)):
            return
        if names_the_same(request.url, response.url) or not self.is_subject_to_robots(request):
            return
        if origin_of_robots_txt(request.url) is not None:
            return  # A robots.txt may redirect to any URL.
        where = "inside the browser or download handler"
        other_proof = None
        # Scrapy's own handlers follow no redirects, and the HTTP cache uses no handler. In these
        # cases, a middleware has changed the URL.
        if "cached" in response.flags or is_http_of_scrapy(self.crawler, request):
            where = "in a downloader middleware"
            other_proof = self._proof_of_other_url(request, response)
        if other_proof is None:
            self._count_unjudged(request, response, where)
        if proof is not None:
            asked.meta[PROVENANCE] = other_proof or dict.fromkeys(proof) | {"judged": False}

    def _count_unjudged(self, request: Request, response: Response, where: str) -> None:
        """Count a page that came from a URL that was not checked against a robots.txt.

        A warning is logged only for the first such page.

        Args:
            request: the request.
            response: the response. Its URL is not the URL of `request`.
            where: the place where the URL has changed, in words for the warning.
        """
        self.crawler.stats.inc_value("gbot_robots/responses/unjudged")
        if self._preferences is not None:
            self._preferences.forget(request)
        if not self._has_warned_of_other_url:
            self._has_warned_of_other_url = True
            logger.warning(
                "%s led to %s %s, so the second URL was not checked against a robots.txt. The stat "
                "gbot_robots/responses/unjudged counts these pages",
                shown(without_login(request.url)),
                shown(without_login(response.url)),
                where,
            )

    def _proof_of_other_url(self, request: Request, response: Response) -> dict[str, Any] | None:
        """Return the provenance of a response whose URL is not the URL of its request.

        Return None unless an answer in memory allows the URL of the response, and the verdict on
        this URL takes little time.

        Raises:
            ForbiddenByRobotsTxt: the robots.txt refuses a purpose in GBOT_ROBOTS_PURPOSES, and
                GBOT_ROBOTS_PURPOSES_ACTION is "refuse".
        """
        user_agent = self.identity.user_agent(request)
        try:
            origin = origin_of(Request(response.url))
        except ValueError:
            return None
        answer = self._lookup.good_answer(origin, user_agent)
        # Hostile rules would hold up the event loop here, so the page counts as not checked.
        if answer is None or answer.takes_long(response.url, user_agent):
            return None
        verdict, preferences = self._opinion(answer, response.url, user_agent)
        if not verdict.allowed:
            return None
        if answer.override is not None:
            verdict = answer.override.named(verdict)
        if self._preferences is not None:
            refusal = self._preferences.before(request, preferences)
            if refusal is not None:
                raise self._forbidden(request, refusal, answer)
        return _provenance(answer, verdict)

    async def _known_robots_txt(self, request: Request, answer: CachedAnswer) -> Response | None:
        """Return a response to `request`, which is for a robots.txt, without sending the request.

        The response is made from the robots.txt in the storage.

        If a spider of the user has made the request, but the storage has no complete file, return
        None, so that the request is sent. If this plugin has made the request, the response may
        also be the beginning of a file, or a response without a file, such as a 404.

        Raises:
            IgnoreRequest: this plugin has made the request, and the server did not respond to the
                last fetch of the robots.txt.
        """
        is_ours = not _OF_THE_PLUGIN.isdisjoint(request.meta)
        if answer.state is not State.RULES and not is_ours:
            return None
        status = answer.status
        body = b""
        if answer.fetched_at is not None:  # The storage has a copy, even if the last fetch failed.
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
        except UnicodeDecodeError:
            # If the response does not name its encoding, Scrapy guesses one of dozens of encodings.
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

        Args:
            request: the request.
            verdict: the verdict that forbids the request.
            answer: the answer that has led to the verdict. It is None if the URL has no valid
                origin, or if a header of the page has decided.
        """
        error = ForbiddenByRobotsTxt(verdict)
        source = ""
        if answer is not None:
            source = f" ({answer.origin.robots_url})"
            cause = error_of(answer.failure, answer.why)
            error = ForbiddenByRobotsTxt(
                verdict, answer.origin, answer.state, cause, unreachable=answer.bars_for_now
            )
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
        """Log the storage in use, and any mistakes in the settings. Then begin the look-ups."""
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
        self._lookup.warn_of_overrides(self.identity.of_crawl(spider))
        keeps_name = self.identity.depends_on_headers and is_bypassed(
            self.crawler, self, "process_response", "process_exception"
        )
        hears_of_ends = at_end_of_way(self.crawler, self._end_way, of_all=keeps_name)
        self._keeps_name = keeps_name and hears_of_ends
        # The project's own code may exempt requests that `is_subject_to_robots` does not exempt,
        # either in a subclass of this middleware or in a middleware that comes before it.
        is_overridden = type(self).process_request is not GbotRobotsTxtMiddleware.process_request
        comes_late = is_bypassed(self.crawler, self, "process_request")
        self.room.project_may_exempt = is_overridden or comes_late
        self.room.start()

    async def _spider_closed(self) -> None:
        self.room.close()
        await self._lookup.close()
        # Without asyncio, Scrapy's `CrawlerRunner.stop` fails if a crawl ends during the call of
        # `stop`. If all requests of the crawl wait for a robots.txt, and none is being downloaded,
        # the crawl would end during this call. The pause prevents this.
        await pause(0)


def identity_of(crawler: Crawler) -> CrawlerIdentity | None:
    """Return the object that finds the user agent of each request of a crawl.

    Return None if the crawl does not use this plugin's middleware.
    """
    middleware = downloader_middleware(crawler, GbotRobotsTxtMiddleware)
    if middleware is None:
        return None
    return middleware.identity


def _provenance(answer: CachedAnswer, verdict: Verdict) -> dict[str, Any]:
    """Return the provenance of a page: the robots.txt and the line that allowed its request.

    `meta.PROVENANCE` describes the fields of the provenance. If GBOT_ROBOTS_PROVENANCE is on, the
    caller stores the provenance in the meta of the request.
    """
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
