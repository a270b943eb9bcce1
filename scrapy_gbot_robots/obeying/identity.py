"""Which crawler's rules count: the one place that knows as whom a crawl sends its requests."""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from scrapy import Request, Spider, signals
from scrapy.http import Headers
from scrapy.settings import BaseSettings
from scrapy.utils.python import without_none_values

from ..core.crawlers import Crawler as RobotsCrawler
from ..core.crawlers import RobotsAgent, agents_heeded, cut_token, is_browser_like
from ..core.known_crawlers import is_known
from ..core.urls import shown

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_agent_named = lru_cache(maxsize=1_000)(RobotsCrawler.of)
# At requests that are sent, to see whether their User-Agent is the one that was judged.
_LOOKS = 100
_CONTACT = re.compile(r"https?://|\S@\S")

logger = logging.getLogger(__name__)


class UserAgent(NamedTuple):
    """A User-Agent or product token, and the setting or attribute that it comes from."""

    text: str
    source: str

    @property
    def hint(self) -> str | None:
        """A warning for the user; None if there is no need for one."""
        crawler = RobotsCrawler.of(self.text)
        name = crawler.name
        cut = cut_token(self.text)
        if not agents_heeded(crawler):
            problem = f"names {name}, which heeds no robots.txt, so this crawl obeys no rules"
        elif cut is not None:
            problem = f'is read as "{cut}": a product token is letters, "-" and "_" only'
        elif not name or is_browser_like(self.text):
            problem = "names no crawler of yours, so that no robots.txt can address this crawl"
        elif is_known(name):
            others = _of_others(crawler)
            problem = f"names a well-known crawler: the rules for {name} count, {others}"
        else:
            return None
        advice = "Set ROBOTSTXT_USER_AGENT to your crawler's name, such as 'mybot'"
        return f"{self.source}, {self.text!r}, {problem}. {advice}"


def _of_others(crawler: RobotsCrawler) -> str:
    """Say when the rules for all crawlers count for `crawler`."""
    meant = f"(if that is meant, set GBOT_ROBOTS_AGENTS = [{crawler.name!r}])"
    if crawler.heeds_global:
        return f'those for "*" only where it has none {meant}'
    return f'those for "*" never {meant}'


def of_project(settings: BaseSettings, spider: Spider | None = None) -> UserAgent:
    """Return `ROBOTSTXT_USER_AGENT`, else the default that Scrapy's later middlewares send."""
    name = settings["ROBOTSTXT_USER_AGENT"]
    if name:
        return UserAgent(str(name), "ROBOTSTXT_USER_AGENT")
    return _sent_by_scrapy(settings, spider)


def _sent_by_scrapy(settings: BaseSettings, spider: Spider | None) -> UserAgent:
    """Return the User-Agent that Scrapy gives a request without one; its text may be empty."""
    headers = Headers(without_none_values(settings.getdict("DEFAULT_REQUEST_HEADERS")))
    by_default_headers = headers.get("User-Agent")
    if by_default_headers:
        return UserAgent(by_default_headers.decode("latin-1"), "DEFAULT_REQUEST_HEADERS")
    of_spider = getattr(spider, "user_agent", None)
    if of_spider:
        return UserAgent(str(of_spider), "the spider's user_agent")
    of_settings = settings["USER_AGENT"]
    if of_settings:
        return UserAgent(str(of_settings), "USER_AGENT")
    return UserAgent("", "USER_AGENT")


class CrawlerIdentity:
    """The crawlers that send the requests of one crawl.

    Their rules count, in robots.txt files and on pages.

    Args:
        asked_as: the crawler of `GBOT_ROBOTS_AGENTS`; None if the user agent of each request
        counts.
    """

    def __init__(self, crawler: Crawler, asked_as: RobotsAgent | None) -> None:
        self._crawler = crawler
        self._asked_as = asked_as
        self._name: str | None = crawler.settings["ROBOTSTXT_USER_AGENT"]
        self._default: str | None = None  # known once there is a spider
        self._judged: set[RobotsAgent] = set()  # whose rules have been asked for
        self._looks = _LOOKS

    def watch(self) -> None:
        """Log hints about the User-Agent, and warn once if another is sent than was judged by."""
        self._crawler.signals.connect(self._spider_opened, signals.spider_opened)
        if self._asked_as is None and not self._name:
            self._crawler.signals.connect(
                self._reached_downloader, signals.request_reached_downloader
            )

    def _spider_opened(self, spider: Spider) -> None:
        settings = self._crawler.settings
        hint = of_project(settings, spider).hint
        sent = _sent_by_scrapy(settings, spider)
        if hint is not None and self._asked_as is None:
            logger.warning("%s", hint)
        elif sent.text and not _CONTACT.search(sent.text):
            logger.info(
                "%s, %r, does not say how a site can reach you. Add a URL or an address, such as "
                "'mybot/1.0 (+https://example.com/bot)'",
                sent.source,
                sent.text,
            )

    def _reached_downloader(self, request: Request) -> None:
        """Warn once if a downloader middleware behind ours sets another User-Agent.

        After `_LOOKS` requests that could show it, none does.
        """
        header = request.headers.get("User-Agent")
        if not header or request.meta.get("dont_obey_robotstxt"):
            return
        if self._default is None or _agent_named(self._default) not in self._judged:
            return
        self._looks -= 1
        sent = header.decode("latin-1")
        is_late = _agent_named(sent) not in self._judged
        if is_late or not self._looks:
            self._crawler.signals.disconnect(
                self._reached_downloader, signals.request_reached_downloader
            )
        if is_late:
            logger.warning(
                "robots.txt was read for %r, but %s is sent as %r: a downloader middleware sets "
                "the User-Agent after GbotRobotsTxtMiddleware. Set ROBOTSTXT_USER_AGENT to the "
                "name whose rules count, or give that middleware a lower number",
                self._default,
                shown(str(request)),
                sent,
            )

    def agent(self, request: Request) -> RobotsAgent:
        """The crawler whose rules count for `request`.

        It is that of `ROBOTSTXT_USER_AGENT`, else of its User-Agent header, else of the header that
        it will get.
        """
        if self._asked_as is not None:
            return self._asked_as
        if self._default is None:
            self._default = of_project(self._crawler.settings, self._crawler.spider).text
        text = self._default
        if not self._name:
            header = request.headers.get("User-Agent")
            if header:
                text = header.decode("latin-1")
        agent = _agent_named(text)
        self._judged.add(agent)
        return agent

    def tokens(self, request: Request) -> frozenset[str]:
        """The product tokens, in lower case, by which a page can name the sender of `request`."""
        return frozenset(map(str.lower, self.agent(request).tokens))
