"""Which crawler's rules count: the one place that knows as whom a crawl sends its requests.

It also warns at start-up about a User-Agent by which no robots.txt can name the crawl (RFC 9309 2.2.1: a product token).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from scrapy.http import Headers
from scrapy.utils.python import without_none_values

from ..core.crawlers import AllOf, is_browser_like, product_token
from ..core.crawlers import Crawler as RobotsCrawler

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from ..core.crawlers import RobotsAgent

_BETWEEN_PRODUCTS = re.compile(r"[\s/;,()]+")


class UserAgent(NamedTuple):
    """A User-Agent or product token, and the setting or attribute that it comes from."""

    text: str
    source: str

    @property
    def hint(self) -> str | None:
        """A warning for the user; None if there is no need for one."""
        crawler = RobotsCrawler.of(self.text)
        if crawler.ignores_robots:
            return f"{self.source} is {self.text!r}: {crawler.name} heeds no robots.txt, so this crawl obeys no rules"
        cut = _cut_token(self.text)
        if cut is not None:
            problem = f'is read as "{cut}": a product token is letters, "-" and "_" only'
        elif not crawler.name:
            problem = "names no crawler, so that only rules for * apply"
        elif is_browser_like(self.text):
            problem = (
                f'is that of a browser: no robots.txt can name this crawl, only groups for "{crawler.name}" and * apply'
            )
        else:
            return None
        return (
            f"{self.source}, {self.text!r}, {problem}. Set ROBOTSTXT_USER_AGENT to your crawler's name, such as 'mybot'"
        )


def of_project(settings: BaseSettings, spider: Spider | None = None) -> UserAgent:
    """Return the default user agent: `ROBOTSTXT_USER_AGENT`, else what Scrapy's later middlewares send."""
    by_default_headers = Headers(without_none_values(settings.getdict("DEFAULT_REQUEST_HEADERS"))).get("User-Agent")
    candidates = (
        (settings["ROBOTSTXT_USER_AGENT"], "ROBOTSTXT_USER_AGENT"),
        (by_default_headers and by_default_headers.decode("latin-1"), "DEFAULT_REQUEST_HEADERS"),
        (getattr(spider, "user_agent", None), "the spider's user_agent"),
        (settings["USER_AGENT"], "USER_AGENT"),
    )
    return next((UserAgent(str(text), source) for text, source in candidates if text), UserAgent("", "USER_AGENT"))


def _cut_token(user_agent: str) -> str | None:
    """The product token if it is only the beginning of the name in `user_agent`, as "bot" of "bot2000/1.0"; else None."""
    token = product_token(user_agent)
    names = _BETWEEN_PRODUCTS.split(user_agent)
    return token if token and token not in names else None


class CrawlerIdentity:
    """The crawlers that send the requests of one crawl: their rules count, in robots.txt files and on pages.

    Args:
        asked_as: the crawlers of `GBOT_ROBOTS_AGENTS`; None if the user agent of each request counts.
    """

    def __init__(self, crawler: Crawler, asked_as: RobotsAgent | None) -> None:
        self._crawler = crawler
        self._asked_as = asked_as
        self._name: str | None = crawler.settings["ROBOTSTXT_USER_AGENT"]
        self._default: str | None = None  # known once there is a spider

    def agent(self, request: Request) -> RobotsAgent:
        """The crawler, or crawlers, whose rules count for `request`."""
        return self._asked_as or _agent_named(self.user_agent(request))

    def user_agent(self, request: Request) -> str:
        """`ROBOTSTXT_USER_AGENT`, else the User-Agent header of `request`, else the one that it will get."""
        if self._name:
            return self._name
        sent = request.headers.get("User-Agent")
        if sent:
            return sent.decode("latin-1")
        if self._default is None:
            self._default = of_project(self._crawler.settings, self._crawler.spider).text
        return self._default

    def tokens(self, request: Request) -> frozenset[str]:
        """The product tokens, in lower case, by which a page can speak to the sender of `request`."""
        agent = self.agent(request)
        crawlers = agent if isinstance(agent, AllOf) else (agent,)
        return frozenset(token.lower() for crawler in crawlers for token in crawler.tokens)


@lru_cache(maxsize=1_000)
def _agent_named(user_agent: str) -> RobotsAgent:
    return RobotsCrawler.of(user_agent)
