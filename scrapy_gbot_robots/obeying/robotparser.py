"""Scrapy's RobotParser interface, for Scrapy's own middleware and for other code.

`GbotRobotParser` reads a file, as `ROBOTSTXT_PARSER`. `AnswerRobotParser` gives the answers of this plugin's middleware.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from scrapy.robotstxt import RobotParser

from ..core.crawlers import Crawler as RobotsCrawler
from ..core.robots import RobotsTxt
from ..core.url_forms import allowed_in_all_forms
from ..core.urls import Origin
from ..settings import GbotSettings

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from .answer import Answer


class GbotRobotParser(RobotParser):
    """A robots.txt, read as Google reads it.

    A user agent may be a product token or a whole User-Agent header. One that names a crawler of Google's follows the groups
    that Google documents for that crawler.
    """

    def __init__(self, robotstxt: RobotsTxt) -> None:
        self.robotstxt = robotstxt

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        """Parse `robotstxt_body` by the settings of `crawler`. This never raises, whatever the body."""
        settings = GbotSettings.of(crawler.settings) if crawler else None
        if settings is None:
            return cls(RobotsTxt.parse(robotstxt_body))
        return cls(RobotsTxt.parse(robotstxt_body, strict=settings.strict, max_bytes=settings.max_bytes))

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Whether `user_agent` may fetch `url` in every form in which a download handler may send it."""
        return allowed_in_all_forms(self.robotstxt.rules_for(RobotsCrawler.of(user_agent)), url)

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """The crawl-delay in seconds of the group that `user_agent` follows, or None. Google ignores this field."""
        return self.robotstxt.crawl_delay(RobotsCrawler.of(user_agent))

    def sitemaps(self) -> tuple[str, ...]:
        """The absolute http, https and ftp URLs of the sitemap lines, in file order, each once (Google's page)."""
        return self.robotstxt.sitemaps


class AnswerRobotParser(RobotParser):
    """An `Answer` of a crawl. It disallows everything to a user agent whose rules it does not know."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> NoReturn:
        """Refuse: this parser reads no file, `GbotRobotParser` does.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"{cls.__name__} is made of an Answer")

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Whether `user_agent` may fetch `url`."""
        if Origin.of_robots_txt(url) is not None:  # RFC 9309 2.2.2
            return True
        agent = RobotsCrawler.of(user_agent)
        return self.answer.knows(agent) and self.answer.allowed(url, agent)

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """The crawl-delay in seconds of the group that `user_agent` follows; None if there is none or it is not known."""
        agent = RobotsCrawler.of(user_agent)
        return self.answer.crawl_delay(agent) if self.answer.knows(agent) else None

    def sitemaps(self) -> tuple[str, ...]:
        """Return no URLs: an `Answer` keeps rules, but no sitemap lines."""
        return ()
