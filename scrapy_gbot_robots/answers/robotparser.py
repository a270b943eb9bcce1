"""Adapts the parser of this plugin to Scrapy's interface for parsers (`ROBOTSTXT_PARSER`).

So Scrapy's RobotsTxtMiddleware, and other code that needs a `RobotParser`, can use this parser.
"""

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
    """A robots.txt that was parsed as Google parses it.

    The argument `user_agent` of the methods is a product token, such as "mybot", or a whole
    User-Agent header. For Google's own crawlers, the parser chooses the group that Google's
    documentation names. For example, Googlebot-Image may obey the group for Googlebot.
    """

    def __init__(self, robotstxt: RobotsTxt) -> None:
        self.robotstxt = robotstxt

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        """Parse `robotstxt_body`, and return the parser. An invalid body does not raise an error.

        Args:
            crawler: the crawl whose settings apply. If it is None, the default settings apply.
            robotstxt_body: the bytes of the robots.txt.
        """
        settings = crawler.settings if crawler else Settings()
        return cls(GbotSettings.of(settings).parse(robotstxt_body))

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Return whether `user_agent` may fetch `url`.

        HTTP clients may change a URL before they send it, for example by escaping characters. So
        the result is True only if all forms of `url` that a client may send are allowed.
        """
        rules = self.robotstxt.rules_for(UserAgent.of(user_agent))
        return allowed_in_all_forms(rules, url)

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """Return the crawl-delay for `user_agent`, in seconds, or None if there is none.

        Google's own crawlers ignore the crawl-delay (Google's page, "Syntax").
        """
        return self.robotstxt.crawl_delay(UserAgent.of(user_agent))

    def sitemaps(self) -> tuple[str, ...]:
        """Return the URLs of the sitemap lines, in the order of the file, without duplicates.

        Only absolute http, https and ftp URLs are returned. Sitemap lines do not belong to a group
        (Google's page, "Sitemap"), so they are for all user agents.
        """
        return self.robotstxt.sitemaps
