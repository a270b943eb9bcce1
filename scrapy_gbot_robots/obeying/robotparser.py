"""Scrapy's RobotParser interface (`ROBOTSTXT_PARSER`), for Scrapy's own middleware and others."""

from __future__ import annotations

from scrapy.crawler import Crawler
from scrapy.robotstxt import RobotParser
from scrapy.settings import Settings
from typing_extensions import Self

from ..core.crawlers import UserAgent
from ..core.robots import RobotsTxt
from ..core.url_forms import allowed_in_all_forms
from ..settings import GbotSettings


class GbotRobotParser(RobotParser):
    """A robots.txt, read as Google reads it.

    A user agent may be a product token or a whole User-Agent header. If it names one of Google's
    crawlers, it follows the groups that Google documents for that crawler.
    """

    def __init__(self, robotstxt: RobotsTxt) -> None:
        self.robotstxt = robotstxt

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        """Parse `robotstxt_body` by the settings of `crawler`, or by the defaults if that is None.

        It does not raise, whatever the body contains.
        """
        settings = crawler.settings if crawler else Settings()
        return cls(GbotSettings.of(settings).parse(robotstxt_body))

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Whether `user_agent` may fetch `url`, in every form in which a client sends it."""
        rules = self.robotstxt.rules_for(UserAgent.of(user_agent))
        return allowed_in_all_forms(rules, url)

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """The crawl-delay in seconds of the group that `user_agent` follows, or None.

        Google ignores this field (Google's page, "Syntax").
        """
        return self.robotstxt.crawl_delay(UserAgent.of(user_agent))

    def sitemaps(self) -> tuple[str, ...]:
        """The absolute http, https and ftp URLs of the sitemap lines, in file order, each once.

        They do not belong to any group (Google's page, "Sitemap").
        """
        return self.robotstxt.sitemaps
