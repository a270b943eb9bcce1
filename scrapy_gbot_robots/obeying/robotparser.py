"""What is known of a robots.txt under Scrapy's RobotParser interface, for Scrapy's own middleware and for others.

`GbotRobotParser` reads a file, as `ROBOTSTXT_PARSER`; `AnswerRobotParser` asks what our middleware goes by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from scrapy.robotstxt import RobotParser

from ..core.agents import Crawler as Agent
from ..core.origin import Origin
from ..core.robots import RobotsTxt
from ..core.wire import other_forms
from ..settings import GbotSettings

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from .answer import Answer


class GbotRobotParser(RobotParser):
    """A robots.txt read as Google reads it.

    User agents may be product tokens or whole User-Agent headers; Google's own crawlers heed what Google's do.
    """

    def __init__(self, robotstxt: RobotsTxt) -> None:
        self.robotstxt = robotstxt

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        """Parse `robotstxt_body` by the settings of `crawler`; never raises because of the body."""
        settings = GbotSettings.of(crawler.settings) if crawler else None
        if settings is None:
            return cls(RobotsTxt.parse(robotstxt_body))
        return cls(RobotsTxt.parse(robotstxt_body, strict=settings.strict, max_bytes=settings.max_bytes))

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Whether `user_agent` may fetch `url` in every form that a download handler may send for it."""
        agent = Agent.of(user_agent)
        return all(self.robotstxt.allowed(form, agent) for form in (url, *other_forms(url)))

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """The crawl-delay of the group that `user_agent` follows, in seconds, if it has one. Google ignores it."""
        return self.robotstxt.crawl_delay(Agent.of(user_agent))

    def sitemaps(self) -> tuple[str, ...]:
        """The absolute http, https and ftp URLs of the sitemap lines, in file order, each once (Google's page)."""
        return self.robotstxt.sitemaps


class AnswerRobotParser(RobotParser):
    """An `Answer` of a crawl. Of an agent whose rules it does not hold it says that nothing is allowed."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> NoReturn:
        """There is no file to read: that is for `GbotRobotParser`.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"{cls.__name__} is made of an Answer")

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Whether `user_agent` may fetch `url`."""
        if Origin.of_robots_txt(url) is not None:  # RFC 9309 2.2.2
            return True
        agent = Agent.of(user_agent)
        return self.answer.knows(agent) and self.answer.allowed(url, agent)

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """The crawl-delay of the group that `user_agent` follows, in seconds, if that is known."""
        agent = Agent.of(user_agent)
        return self.answer.crawl_delay(agent) if self.answer.knows(agent) else None

    def sitemaps(self) -> tuple[str, ...]:
        """None: an `Answer` keeps rules, and no sitemap lines."""
        return ()
