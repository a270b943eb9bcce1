"""`scrapy crawl demo`: a crawl of a small web on loopback, and a table of what robots.txt allowed, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from scrapy import Request
from scrapy.spiders import SitemapSpider

from example.site import DemoWeb
from scrapy_gbot_robots import Origin, RobotsTxt, UserAgent
from scrapy_gbot_robots.signals import request_forbidden, robotstxt_known

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.http import Response

    from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt


class DemoSpider(SitemapSpider):
    """Starts at the shop's front page. The plugin feeds it the sitemaps that the robots.txt lists."""

    name = "demo"
    custom_settings = {
        "LOG_LEVEL": "WARNING",
        "DOWNLOAD_DELAY": 0,
        "GBOT_ROBOTS_STORAGE": "memory",  # each run starts anew
        "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 2,  # nobody wants to wait a minute in a demo
    }

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> DemoSpider:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.robotstxt_known, robotstxt_known)
        crawler.signals.connect(spider.forbidden, request_forbidden)
        return spider

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.web = DemoWeb()
        self.robotstxts: dict[Origin, RobotsTxt] = {}
        self.rows: list[tuple[str, str, str]] = []  # what happened, URL, why
        self.from_sitemaps: list[str] = []

    async def start(self) -> AsyncIterator[Request]:
        self.web.__enter__()
        yield Request(f"{self.web.shop}/", self.parse_front_page)

    def parse_front_page(self, response: Response) -> Iterator[Request]:
        self.crawled(response)
        for link in response.css("a::attr(href)"):
            yield response.follow(link, self.crawled)

    def parse(self, response: Response) -> None:
        """Scrapy calls this for pages that sitemaps list."""
        self.crawled(response)
        self.from_sitemaps.append(response.url)

    def robotstxt_known(self, origin: Origin, robotstxt: RobotsTxt) -> None:
        self.robotstxts[origin] = robotstxt

    def crawled(self, response: Response) -> None:
        me = UserAgent.of(self.settings["USER_AGENT"])
        verdict = self.robotstxts[Origin.of(response.url)].verdict(response.url, me)
        self.rows.append(("crawled", response.url, str(verdict)))

    def forbidden(self, request: Request, error: ForbiddenByRobotsTxt) -> None:
        self.rows.append(("forbidden", request.url, str(error.verdict)))

    def closed(self, reason: str) -> None:
        self.web.__exit__()
        print(self.report())

    def report(self) -> str:
        """The table of what was crawled and what was forbidden, by site, and the sitemaps."""
        lines = [f"As {UserAgent.of(self.settings['USER_AGENT']).name}:"]
        for origin in dict.fromkeys(Origin.of(url) for _, url, _ in self.rows):
            lines += ["", f"  {origin.robots_url}"]
            rows = [
                (what, unquote(url.removeprefix(str(origin))), why)
                for what, url, why in sorted(self.rows)
                if Origin.of(url) == origin
            ]
            width = max(len(path) for _, path, _ in rows)
            lines += [
                f"    {'✓' if what == 'crawled' else '✗'} {what:9}  {path:{width}}  {why}"
                for what, path, why in rows
            ]
        lines += ["", "  Sitemaps"]
        for origin, robotstxt in self.robotstxts.items():
            lines += [f"    {url} ({origin.robots_url})" for url in robotstxt.sitemaps]
        lines += [f"      led to {url}" for url in sorted(self.from_sitemaps)]
        return "\n".join(lines)
