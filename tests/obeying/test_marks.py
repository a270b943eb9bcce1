"""The plugin's own keys in the meta of a request: the spider gets none, however the request ends."""

from typing import Any

import pytest
from scrapy import Request
from scrapy.http import Response
from twisted.python.failure import Failure

from ..support.crawls import Pages, crawl, in_reactor, pages
from ..support.rows import row, table
from ..support.web import Reply, Site

ROBOTS = "user-agent: *\ndisallow: /no\ncrawl-delay: 0.01"


class Noting(Pages):
    """Notes the meta of each request whose errback is called."""

    name = "noting"

    def failed(self, failure: Failure) -> None:
        super().failed(failure)
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        self.__dict__.setdefault("metas", []).append(request.meta)


class Naming:
    """Gives each request another User-Agent."""

    def process_request(self, request: Request, spider: Any = None) -> None:
        request.headers["User-Agent"] = "otherbot"


class RaisesOnTheWayBack(Naming):
    def process_response(
        self, request: Request, response: Response, spider: Any = None
    ) -> Response:
        if "dont_obey_robotstxt" not in request.meta:
            raise RuntimeError("a bug")
        return response


class RaisesAfterAFailure(Naming):
    def process_exception(self, request: Request, exception: Exception, spider: Any = None) -> None:
        if "dont_obey_robotstxt" not in request.meta:
            raise RuntimeError("a bug")


@pytest.mark.parametrize("place", [50, 950])
@table(
    "middleware, path",
    row("bad-location", Naming, "/moved"),
    row("response", RaisesOnTheWayBack, "/yes"),
    row("response-with-a-robots-txt", RaisesOnTheWayBack, "/robots.txt"),
    row("exception", RaisesAfterAFailure, "/broken"),
    row("forbidden", Naming, "/no"),
    row("failed", Naming, "/broken"),
)
@in_reactor
async def test_errback_gets_no_key_of_the_plugin(
    middleware: type, path: str, place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = Reply(302, b"", {"Location": "http://[1/"})
    of_site: Any = {
        "/robots.txt": ROBOTS,
        "/moved": moved,
        "/broken": lambda connection: connection.close(),
        "*": b"ok",
    }
    with Site(of_site) as site:
        request = Request(site.url(path), meta={"own": 1}, dont_filter=True)
        settings = {
            "GBOT_ROBOTS_CRAWL_DELAY": True,
            "DOWNLOADER_MIDDLEWARES": {middleware: place},
            "RETRY_ENABLED": False,
        }
        crawler = await crawl(Noting, settings, urls=[request, request])
        assert set(pages(crawler).refused) == {request.url}
    metas = vars(pages(crawler))["metas"]
    assert [meta["own"] for meta in metas] == [1, 1]
    assert [key for meta in metas for key in meta if "gbot" in key] == []
