"""Which crawler's rules count: the one place that knows as whom a crawl sends its requests."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from scrapy import Request, Spider
from scrapy.http import Headers
from scrapy.settings import BaseSettings
from scrapy.utils.python import without_none_values

from ..core.crawlers import UserAgent
from ..core.named_user_agent import problem_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_agent_named = lru_cache(maxsize=1_000)(UserAgent.of)


class ConfiguredUserAgent(NamedTuple):
    """A User-Agent or product token, and the setting or attribute that it comes from."""

    text: str
    source: str

    @property
    def hint(self) -> str:
        """A warning if the text is no fit name for the user's crawler; "" if it is."""
        problem = problem_of(self.text)
        if not problem:
            return ""
        return (
            f"{self.source}, {self.text!r}, {problem}. "
            "Set ROBOTSTXT_USER_AGENT to your crawler's name, such as 'mybot'"
        )


def of_project(settings: BaseSettings, spider: Spider | None = None) -> ConfiguredUserAgent:
    """Return `ROBOTSTXT_USER_AGENT`, else the default that Scrapy's later middlewares send.

    The text is empty if there is none.
    """
    headers = Headers(without_none_values(settings.getdict("DEFAULT_REQUEST_HEADERS")))
    by_default_headers = (headers.get("User-Agent") or b"").decode("latin-1")
    for text, source in (
        (settings["ROBOTSTXT_USER_AGENT"], "ROBOTSTXT_USER_AGENT"),
        (by_default_headers, "DEFAULT_REQUEST_HEADERS"),
        (getattr(spider, "user_agent", None), "the spider's user_agent"),
        (settings["USER_AGENT"], "USER_AGENT"),
    ):
        if text:
            return ConfiguredUserAgent(str(text), source)
    return ConfiguredUserAgent("", "USER_AGENT")


class CrawlerIdentity:
    """The crawlers that send the requests of one crawl.

    Their rules count, in robots.txt files and on pages.

    Args:
        asked_as: the crawler of `GBOT_ROBOTS_USER_AGENTS`. If it is None, `ROBOTSTXT_USER_AGENT`
            counts, or else the user agent of each request.
    """

    def __init__(self, crawler: Crawler, asked_as: UserAgent | None) -> None:
        self._crawler = crawler
        self._asked_as = asked_as
        self._name: str | None = crawler.settings["ROBOTSTXT_USER_AGENT"]
        # `_name`, else the User-Agent that Scrapy will send: known once there is a spider. Only
        # without `_name` a request's own header goes first.
        self._default: str | None = None

    def user_agent(self, request: Request) -> UserAgent:
        """The crawler whose rules count for `request`.

        `GBOT_ROBOTS_USER_AGENTS` names it, or else `ROBOTSTXT_USER_AGENT`, or else the User-Agent
        header that the request has or will get.
        """
        if self._asked_as is not None:
            return self._asked_as
        if not self._name:
            header = request.headers.get("User-Agent")
            if header:
                return _agent_named(header)
        if self._default is None:
            self._default = of_project(self._crawler.settings, self._crawler.spider).text
        return _agent_named(self._default)

    def tokens(self, request: Request) -> frozenset[str]:
        """The product tokens, in lower case, by which a page can name the sender of `request`."""
        return frozenset(map(str.lower, self.user_agent(request).tokens))
