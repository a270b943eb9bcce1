"""Finds the user agent of a request. The rules for this user agent apply to the request.

If settings name the user agent, it is the same for all requests. Otherwise it is the product token
in the User-Agent header of the request.

A downloader middleware that comes after this plugin's middleware may change the header, as the
middleware of scrapy-user-agents does. If Scrapy then redirects or retries the request, the new
request has the changed header from the beginning. But the rules for the first header must still
apply to the new request. Therefore the plugin stores the first header in the meta of the request
(`JUDGED_AS`), and Scrapy copies the meta. A middleware that comes before this plugin's middleware
may change the header as well, when it gets the response and retries the request.
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
from ..core.urls import shown, without_login
from ..engine import downloader_middleware, is_followed, user_agent_of
from ..meta import JUDGED_AS
from .subject import is_subject

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

# The plugin stores at most this many User-Agent headers that other middlewares have set. Such a
# middleware usually chooses from a list with fewer headers than this.
_MOST_HEADERS = 10_000
_REMEDY = "Set ROBOTSTXT_USER_AGENT to your crawler's name"

logger = logging.getLogger(__name__)
_agent_named = lru_cache(maxsize=1_000)(UserAgent.of)


class ConfiguredUserAgent(NamedTuple):
    """A User-Agent header or product token, and the place where the project sets it.

    Attributes:
        text: the header or token; "" if none is set.
        source: the name of the setting, or "the spider's user_agent".
    """

    text: str
    source: str

    @property
    def hint(self) -> str:
        """A warning if `text` is not suitable as the name of the user's crawler; else ""."""
        problem = problem_of(self.text)
        if not problem:
            return ""
        return (
            f"{self.source}, {self.text!r}, {problem}. "
            "Set ROBOTSTXT_USER_AGENT to your crawler's name, such as 'mybot'"
        )


def named_in(settings: BaseSettings) -> str:
    """Return the value of `ROBOTSTXT_USER_AGENT`; "" if it is not set.

    Raises:
        ValueError: the value is not a string.
    """
    name = settings["ROBOTSTXT_USER_AGENT"] or ""
    if isinstance(name, bytes):
        name = name.decode("latin-1")
    if not isinstance(name, str):
        raise ValueError(  # noqa: TRY004  This is an error of the user, as for other settings.
            f"ROBOTSTXT_USER_AGENT must be a text, got {name!r}. If your crawler has several "
            "names, set GBOT_ROBOTS_USER_AGENTS to a list of them"
        )
    return name


def of_project(settings: BaseSettings, spider: Spider | None = None) -> ConfiguredUserAgent:
    """Return `ROBOTSTXT_USER_AGENT` or, if it is not set, the User-Agent header that Scrapy sends.

    Scrapy's middlewares take the header from `DEFAULT_REQUEST_HEADERS`, the attribute `user_agent`
    of the spider, or the setting `USER_AGENT`.

    Raises:
        ValueError: `ROBOTSTXT_USER_AGENT` is not a string.
    """
    headers = Headers(without_none_values(settings.getdict("DEFAULT_REQUEST_HEADERS")))
    by_default_headers = (headers.get("User-Agent") or b"").decode("latin-1")
    for text, source in (
        (named_in(settings), "ROBOTSTXT_USER_AGENT"),
        (by_default_headers, "DEFAULT_REQUEST_HEADERS"),
        (getattr(spider, "user_agent", None), "the spider's user_agent"),
        (settings["USER_AGENT"], "USER_AGENT"),
    ):
        if text:
            return ConfiguredUserAgent(str(text), source)
    return ConfiguredUserAgent("", "USER_AGENT")


class CrawlerIdentity:
    """Finds the user agents of the requests of one crawl.

    Args:
        crawler: the crawl.
        asked_as: the user agent in the setting `GBOT_ROBOTS_USER_AGENTS`; None if it is not set.
            `user_agent` then uses the setting `ROBOTSTXT_USER_AGENT` or, if it is not set either,
            the User-Agent header of each request.
    """

    def __init__(self, crawler: Crawler, asked_as: UserAgent | None) -> None:
        self._crawler = crawler
        self._asked_as = asked_as
        # The user agent of all requests; None if the user agent depends on each request's header.
        self._of_all = asked_as
        if asked_as is None:
            name = named_in(crawler.settings)
            if name:
                self._of_all = _agent_named(name)
        # The User-Agent header that Scrapy adds to a request without one. It depends on the spider,
        # so it is found out when it is first needed, and is None until then.
        self._default: str | None = None
        # A later middleware may change the User-Agent header of a request, and a callback may copy
        # the changed header to a new request. The rules for the original header apply to the new
        # request, too. Each key is a changed header, and its value is the original header.
        self._given: LocalCache[str, str] = LocalCache(_MOST_HEADERS)
        self._has_warned = False
        # Whether `note` stores headers. It does if later middlewares may change them.
        self._notes = False

    def user_agent(self, request: Request) -> UserAgent:
        """Return the user agent whose rules apply to `request`.

        The user agent is named by the first of these that is set:

        1. the setting `GBOT_ROBOTS_USER_AGENTS`
        2. the setting `ROBOTSTXT_USER_AGENT`
        3. the User-Agent header that the request had when it was first checked
        4. the present User-Agent header of the request
        5. the User-Agent header that Scrapy will give the request
        """
        if self._of_all is not None:
            return self._of_all
        return _agent_named(self.name_of(request))

    def of_crawl(self, spider: Spider) -> UserAgent:
        """Return the user agent of the requests that have no User-Agent header of their own."""
        if self._of_all is not None:
            return self._of_all
        return _agent_named(of_project(self._crawler.settings, spider).text)

    def tokens(self, request: Request) -> frozenset[str]:
        """Return the product tokens of the user agent of `request`, in lower case.

        Some page rules are for one crawler only. They name it by one of its tokens.
        """
        return frozenset(map(str.lower, self.user_agent(request).tokens))

    def start(self, spider: Spider, middleware: object) -> None:
        """Warn if the user agent of the crawl's requests is not suitable, or cannot be known.

        Args:
            spider: the spider of the crawl.
            middleware: this plugin's middleware. The middlewares that come after it may change the
                headers of requests.
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
                    f"yet is judged by {name.source}, {shown(name.text)!r}, even if another "
                    f"middleware then gives it another header. {_REMEDY}"
                )
        if warning:
            self._has_warned = True
            logger.warning("%s", warning)

    @property
    def depends_on_headers(self) -> bool:
        """Whether the user agent of a request depends on its User-Agent header."""
        return self._of_all is None

    def note(self, request: Request) -> None:
        """Store in the meta of `request` the header or name that determines its user agent.

        Call this for a request that is allowed or exempt. If no later middleware can change the
        header, nothing is stored.
        """
        if self._notes:
            request.meta[JUDGED_AS] = self.name_of(request)

    def compare(self, request: Request) -> None:
        """Warn once if a middleware has changed the user agent of `request` since `note` stored it.

        The new header is also stored (`_given`), because a callback may copy it to a new request.
        """
        name = request.meta.get(JUDGED_AS)
        header = user_agent_of(request)
        if name is None or header in {"", name}:
            return
        user_agent = _agent_named(name)
        if _agent_named(header) == user_agent:
            return
        self._given[header] = name
        if self._has_warned or not is_subject(request):
            return
        self._has_warned = True
        logger.warning(
            "%s was judged by the rules for %s, and another middleware has then given it the "
            "User-Agent header %r. %s",
            shown(without_login(request.url)),
            user_agent.name,
            shown(header),
            _REMEDY,
        )

    def name_of(self, request: Request) -> str:
        """Return the header or product token that names the user agent of `request`.

        If `note` has stored a header or token, return it. Otherwise return the User-Agent header of
        the request. If the request has none, return the header that Scrapy will give it.
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
