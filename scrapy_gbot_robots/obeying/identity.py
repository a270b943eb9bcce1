"""The user agent whose rules apply to a request. No other module decides this.

A downloader middleware after this plugin's may give a request another User-Agent header, as
scrapy-user-agents does. A redirect or a retry of that request has the other header from the
beginning. It is judged by the name by which the first request was judged. The meta of the request
contains that name.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from scrapy import Request, Spider
from scrapy.downloadermiddlewares.useragent import UserAgentMiddleware
from scrapy.http import Headers
from scrapy.settings import BaseSettings
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.python import without_none_values

from ..core.crawlers import UserAgent
from ..core.named_user_agent import problem_of
from ..core.urls import shown
from ..engine import downloader_middleware, is_followed, user_agent_of
from ..meta import JUDGED_AS

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

# How many headers of other middlewares are stored. No list of browsers is that long.
_MOST_HEADERS = 10_000
_REMEDY = "Set ROBOTSTXT_USER_AGENT to your crawler's name"

logger = logging.getLogger(__name__)
_agent_named = lru_cache(maxsize=1_000)(UserAgent.of)


class ConfiguredUserAgent(NamedTuple):
    """A User-Agent or product token, and the setting or attribute that it comes from."""

    text: str
    source: str

    @property
    def hint(self) -> str:
        """A warning if the text is not a suitable name for the user's crawler; otherwise ""."""
        problem = problem_of(self.text)
        if not problem:
            return ""
        return (
            f"{self.source}, {self.text!r}, {problem}. "
            "Set ROBOTSTXT_USER_AGENT to your crawler's name, such as 'mybot'"
        )


def of_project(settings: BaseSettings, spider: Spider | None = None) -> ConfiguredUserAgent:
    """Return `ROBOTSTXT_USER_AGENT`, or the default User-Agent that Scrapy's middlewares send.

    The text is empty if neither is set.
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
    """The user agents of one crawl. Their rules apply, in robots.txt files and on pages.

    Args:
        crawler: the crawl.
        asked_as: the user agent of `GBOT_ROBOTS_USER_AGENTS`. If it is None, the user agent is
            `ROBOTSTXT_USER_AGENT`, or that of each request if this is not set.
    """

    def __init__(self, crawler: Crawler, asked_as: UserAgent | None) -> None:
        self._crawler = crawler
        self._asked_as = asked_as
        # The user agent of all requests. If it is None, the header of a request decides first.
        self._of_all = asked_as
        name = crawler.settings["ROBOTSTXT_USER_AGENT"]
        if asked_as is None and name:
            self._of_all = _agent_named(name)
        # The User-Agent that Scrapy will send. It is known once there is a spider.
        self._default: str | None = None
        # The headers that later middlewares have set, each with the name by which the request was
        # judged before. A callback may send a request with one of these headers again.
        self._given: LocalCache[str, str] = LocalCache(_MOST_HEADERS)
        self._has_warned = False
        # Whether a later middleware may give a request another header. `start` finds out.
        self._notes = False

    def user_agent(self, request: Request) -> UserAgent:
        """Return the user agent whose rules apply to `request`.

        The first of these that is set decides: `GBOT_ROBOTS_USER_AGENTS`, `ROBOTSTXT_USER_AGENT`,
        the User-Agent header that the request had when it was first judged, the User-Agent header
        that it will get.
        """
        if self._of_all is not None:
            return self._of_all
        return _agent_named(self._name_of(request))

    def tokens(self, request: Request) -> frozenset[str]:
        """Return the product tokens, in lower case, with which a page can name the user agent."""
        return frozenset(map(str.lower, self.user_agent(request).tokens))

    def start(self, spider: Spider, middleware: object) -> None:
        """Warn if the user agent of the crawl's requests is not known or not suitable.

        `middleware` is the one that judges requests. Later middlewares may change their headers.
        """
        if self._asked_as is not None:
            return
        name = of_project(self._crawler.settings, spider)
        warning = name.hint
        if self._of_all is None:
            self._notes = is_followed(self._crawler, middleware)
            is_sent = name.source == "DEFAULT_REQUEST_HEADERS"
            if downloader_middleware(self._crawler, UserAgentMiddleware) is not None:
                is_sent = True
            if not is_sent and not warning:
                warning = (
                    "Scrapy's UserAgentMiddleware is off. A request that has no User-Agent header "
                    f"yet is judged by {name.source}, {shown(name.text)!r}, whichever header "
                    f"another middleware gives it then. {_REMEDY}"
                )
        if warning:
            self._has_warned = True
            logger.warning("%s", warning)

    def note(self, request: Request) -> None:
        """Note the name by which an allowed `request` was judged."""
        if self._notes:
            request.meta[JUDGED_AS] = self._name_of(request)

    def compare(self, request: Request) -> None:
        """Warn once if a middleware has given `request` another user agent since `note`.

        Store the new header with the name by which the request was judged.
        """
        name = request.meta.get(JUDGED_AS)
        header = user_agent_of(request)
        if name is None or header in {"", name}:
            return
        user_agent = _agent_named(name)
        if _agent_named(header) == user_agent:
            return
        self._given[header] = name
        if self._has_warned:
            return
        self._has_warned = True
        logger.warning(
            "%s was judged by the rules for %s, and another middleware has then given it the "
            "User-Agent header %r. %s",
            shown(request.url),
            user_agent.name,
            shown(header),
            _REMEDY,
        )

    def _name_of(self, request: Request) -> str:
        """Return the name by which `request` was first judged, or by which it is judged now.

        It is the header of the request or the name of the project.
        """
        name = request.meta.get(JUDGED_AS)
        if name is not None:
            return str(name)
        header = user_agent_of(request)
        if header:
            return self._given.get(header, header)
        if self._default is None:
            self._default = of_project(self._crawler.settings, self._crawler.spider).text
        return self._default
