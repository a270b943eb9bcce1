"""Provenance: which robots.txt allowed a page."""

import logging
from datetime import datetime, timezone
from hashlib import sha256
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from scrapy import Request
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.python.failure import Failure

from ..support.crawls import Pages, crawl, in_reactor, pages, stats
from ..support.rows import row, table
from ..support.web import Reply, Site, redirect

RULES = b"user-agent: testbot\nallow: /yes\ndisallow: /no\n"
ON = {"GBOT_ROBOTS_PROVENANCE": True}


DIGEST = sha256(RULES).hexdigest()
LONG = b"user-agent: testbot\nallow:\n" + b"#" * 99  # and a rule without a path
DIGEST_OF_50 = sha256(LONG[:50]).hexdigest()
CUT = {"GBOT_ROBOTS_MAX_BYTES": 50}
OPEN = {"GBOT_ROBOTS_UNREACHABLE": "allow"}


def overridden(rules: str) -> dict[str, Any]:
    return {"GBOT_ROBOTS_OVERRIDES": {"127.0.0.1": {"rules": rules, "reason": "contract"}}}


IGNORED, OWN = overridden("ignore"), overridden("user-agent: *\n\nallow: /no")


@table(
    "served, own, path, proof",
    row("rule", RULES, {}, "/yes", (DIGEST, 200, 2, "testbot", None)),
    row("no-rule", RULES, {}, "/free", (DIGEST, 200, None, "testbot", None)),
    row("cut", LONG, CUT, "/yes", (DIGEST_OF_50, 200, 2, "testbot", None)),
    row("none", Reply(404), {}, "/yes", (None, 404, None, None, None)),
    row("unreachable", Reply(503), OPEN, "/yes", (None, 503, None, None, None)),
    row("ignored", RULES, IGNORED, "/no", (None, None, None, None, "127.0.0.1")),
    row("own-rules", RULES, OWN, "/no", (None, None, 3, "*", "127.0.0.1")),
)
@in_reactor
async def test_response_says_what_allowed_it(served: Any, own: Any, path: str, proof: Any) -> None:
    before = datetime.now(timezone.utc).replace(microsecond=0)
    with Site({"/robots.txt": served, "*": b"ok"}) as site:
        crawler = await crawl(Pages, {**ON, **own}, urls=[site.url(path)])
    found = pages(crawler).crawled[site.url(path)].meta["gbot_robots"]
    fetched = found.pop("fetched")
    fields = ("robots", "status", "line", "group", "override", "judged")
    assert found == dict(zip(fields, (*proof, True), strict=True))
    if found["status"] in {None, 503}:
        assert fetched is None
    else:
        assert before <= datetime.fromisoformat(fetched) <= datetime.now(timezone.utc)


@in_reactor
async def test_without_the_setting_meta_stays_as_it_is() -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        crawler = await crawl(Pages, urls=[site.url("/yes")])
        assert "gbot_robots" not in pages(crawler).crawled[site.url("/yes")].meta


@in_reactor
async def test_provenance_is_about_the_url_that_answered() -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site, Site({"*": b"ok"}) as other:
        other.pages["/moved"] = redirect(site.url("/yes"))
        stale = {"gbot_robots": {"line": 99}, "dont_obey_robotstxt": True}
        unasked = Request(site.url("/unasked"), meta=stale, dont_filter=True)
        crawled = pages(await crawl(Pages, ON, urls=[other.url("/moved"), unasked])).crawled
        assert crawled[site.url("/yes")].meta["gbot_robots"]["line"] == 2
        assert "gbot_robots" not in crawled[site.url("/unasked")].meta


class Copying(Pages):
    """Sends requests of all kinds with the meta of its first page, and keeps the meta of each."""

    name = "copying"
    metas: dict[str, dict[str, Any]]

    def parse(self, response: Response, **kwargs: Any) -> Any:
        self.metas[response.url] = response.meta
        for url, own in vars(self).pop("then", {}).items():
            yield Request(url, errback=self.failed, meta=response.meta | own, dont_filter=True)

    def failed(self, failure: Failure) -> None:
        request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
        self.metas[request.url] = request.meta


@in_reactor
async def test_copied_meta_keeps_no_proof_preferences_or_page_rules_of_another_page() -> None:
    own = {**ON, "GBOT_ROBOTS_PURPOSES": ["train-ai"], "GBOT_ROBOTS_PAGE_RULES": True}
    stated = RULES + b"content-signal: ai-train=no\n"
    first_page = Reply(200, b"ok", {"X-Robots-Tag": "noindex"})
    with Site({"/robots.txt": stated, "/yes": first_page, "*": b"ok"}) as site:
        urls = [site.url("/robots.txt"), site.url("/no"), "data:,hello"]
        then: dict[str, Any] = {url: {} for url in urls}
        then[site.url("/exempt")] = {"dont_obey_robotstxt": True}
        metas: dict[str, dict[str, Any]] = {}
        await crawl(Copying, own, urls=[site.url("/yes")], then=dict(then), metas=metas)
    first = metas.pop(site.url("/yes"))
    assert first["gbot_robots"]["line"] == 2
    assert first["gbot_robots_preferences"]["train-ai"] == "refused"
    assert set(metas) == set(then)
    proofs = {url: meta.get("gbot_robots") for url, meta in metas.items()}
    assert proofs == dict.fromkeys(then)
    # The site states its preferences about the forbidden page, too, but nobody has got this page.
    assert [url for url, meta in metas.items() if "gbot_robots_preferences" in meta] == []
    assert first["gbot_robots_page_rules"] == {"noindex": True}
    assert [url for url, meta in metas.items() if meta.get("gbot_robots_page_rules")] == []


class Following(HTTP11DownloadHandler):
    """A download handler that follows redirects by itself, as a browser does."""

    def download_request(self, request: Request, *spider: Any) -> Any:
        return deferred_from_coro(self._followed(request, spider))

    async def _followed(self, request: Request, spider: Any) -> Response:
        if iscoroutinefunction(HTTP11DownloadHandler.download_request):  # Scrapy 2.15 and newer
            spider = ()
        while True:
            came = deferred_from_coro(super().download_request(request, *spider))
            response: Response = await maybe_deferred_to_future(came)
            to = response.headers.get("Location")
            if to is None:
                return response
            request = request.replace(url=response.urljoin(to.decode()))


class Fetching:
    """A middleware that follows redirects by requests of its own, which go through all middlewares."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    from_crawler = classmethod(lambda cls, crawler: cls(crawler))

    async def process_response(self, request: Request, response: Response) -> Response:
        to = response.headers.get("Location")
        if to is None:
            return response
        engine: Any = self._crawler.engine
        came: Response = await engine.download_async(Request(response.urljoin(to.decode())))
        return came


HANDLER: dict[str, Any] = {"DOWNLOAD_HANDLERS": {"http": Following}}
UNJUDGED = {**dict.fromkeys(["robots", "fetched", "status", "line", "group", "override"])}
STAT = "gbot_robots/responses/unjudged"


@pytest.mark.filterwarnings("ignore:.* is not a coroutine function")
@table("own", row("with-proof", ON), row("without", {}))
@in_reactor
async def test_page_that_nothing_judged_has_no_proof_and_is_counted_and_told_once(
    own: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site, Site({"*": b"ok"}) as other:
        site.pages["/moved"] = redirect("/no")
        site.pages["/yes/away"] = redirect(other.url("/page"))
        exempt = Request(site.url("/moved?exempt"), meta={"dont_obey_robotstxt": True})
        site.pages["/moved?exempt"] = redirect("/free?exempt")
        urls = [site.url("/moved"), site.url("/yes/away"), site.url("/yes#part"), exempt]
        crawler = await crawl(Pages, {**HANDLER, **own}, urls=urls)
    crawled = pages(crawler).crawled
    forbidden, away = site.url("/no"), other.url("/page")
    assert {forbidden, away, site.url("/free?exempt")} <= set(crawled)
    proofs = {url: page.meta.get("gbot_robots") for url, page in crawled.items()}
    if own:
        assert proofs[forbidden] == proofs[away] == {**UNJUDGED, "judged": False}
        (page,) = [page for url, page in crawled.items() if url.startswith(site.url("/yes"))]
        proof = page.meta["gbot_robots"]
        assert (proof["line"], proof["judged"]) == (2, True)
    assert proofs[site.url("/free?exempt")] is None
    assert stats(crawler)[STAT] == 2
    told = [each for each in caplog.records if each.levelno == logging.WARNING]
    (text,) = [each.getMessage() for each in told if "not checked against a robots.txt" in each.msg]
    assert " led to " in text
    assert STAT in text


@in_reactor
async def test_page_of_a_middlewares_own_request_has_the_proof_of_that_request() -> None:
    own = {**ON, "DOWNLOADER_MIDDLEWARES": {Fetching: 650}}
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        site.pages["/moved"] = redirect("/yes")
        crawler = await crawl(Pages, own, urls=[site.url("/moved")])
    (page,) = pages(crawler).crawled.values()
    assert page.url == site.url("/yes")
    assert page.meta["gbot_robots"]["line"] == 2
    assert STAT not in stats(crawler)


class Rendering:
    """Replaces each request by one to a renderer, and puts the URL of the page into the response."""

    renderer: Site
    # The renderer follows redirects by itself. For each requested path, the path of the page.
    leads_to: dict[str, str]

    def process_request(self, request: Request, spider: Any = None) -> Request | None:
        if "page" in request.meta or "dont_obey_robotstxt" in request.meta:
            return None
        path = urlsplit(request.url).path
        page = urljoin(request.url, self.leads_to.get(path, path))
        rendered = self.renderer.url(f"/render?{path}")
        meta = {**request.meta, "page": page}
        return request.replace(url=rendered, meta=meta, dont_filter=True)

    def process_response(
        self, request: Request, response: Response, spider: Any = None
    ) -> Response:
        return response.replace(url=request.meta.get("page", request.url))


class WithOwnAttributes(HTTP11DownloadHandler):
    """A project's own subclass of Scrapy's handler. It sends requests as Scrapy's handler does."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.own = True


@table("handler", row("scrapys", {}), row("subclass", {"http": WithOwnAttributes}))
@in_reactor
async def test_page_of_a_renderer_has_the_proof_of_its_own_url(
    handler: dict[str, type], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = RULES + b"content-signal: ai-train=no\n"
    with Site({"/robots.txt": stated, "*": b"ok"}) as site, Site({"*": b"ok"}) as renderer:
        monkeypatch.setattr(Rendering, "renderer", renderer, raising=False)
        monkeypatch.setattr(Rendering, "leads_to", {"/moved": "/no"}, raising=False)
        exempt = {renderer.url("").rstrip("/"): {"rules": "ignore", "reason": "our renderer"}}
        own = {
            **ON,
            "GBOT_ROBOTS_PURPOSES": ["train-ai"],
            "GBOT_ROBOTS_OVERRIDES": exempt,
            "DOWNLOADER_MIDDLEWARES": {Rendering: 725},
            **({"DOWNLOAD_HANDLERS": handler} if handler else {}),
        }
        crawler = await crawl(Pages, own, urls=[site.url("/yes")])
        assert not [each for each in caplog.records if " led to " in each.msg]
        assert STAT not in stats(crawler)
        proof = pages(crawler).crawled[site.url("/yes")].meta["gbot_robots"]
        digest = sha256(stated).hexdigest()
        assert (proof["robots"], proof["line"], proof["judged"]) == (digest, 2, True)
        assert proof["preferences"]["train-ai"] == "refused"

        crawler = await crawl(Pages, own, urls=[site.url("/moved")])
    assert pages(crawler).crawled[site.url("/no")].meta["gbot_robots"]["judged"] is False
    assert stats(crawler)[STAT] == 1
    (text,) = [each.getMessage() for each in caplog.records if " led to " in each.msg]
    assert "in a downloader middleware, so the second URL was not checked" in text


async def crawl_of_a_cached_page(site: Site, directory: Path, **settings: Any) -> Crawler:
    """A crawl whose page comes from Scrapy's HTTP cache, with the URL of an earlier crawl."""
    own = {**ON, **settings, "HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(directory)}
    await crawl(Pages, own, urls=[site.url("/yes?a=1&b=2")])
    # To Scrapy's cache, this is the same page.
    crawler = await crawl(Pages, own, urls=[site.url("/yes?b=2&a=1")])
    assert "/yes?b=2&a=1" not in site.paths()
    return crawler


@pytest.mark.filterwarnings("ignore:.* is not a coroutine function")
@table(
    "own, proof",
    row("rule", {}, (DIGEST, 2, None)),
    row("handler-that-follows-redirects", HANDLER, (DIGEST, 2, None)),
    row("own-rules", overridden("user-agent: *\nallow: /yes"), (None, 2, "127.0.0.1")),
)
@in_reactor
async def test_page_of_the_http_cache_is_judged_by_its_url_in_the_cache(
    own: dict[str, Any], proof: Any, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        crawler = await crawl_of_a_cached_page(site, tmp_path, **own)
    (page,) = pages(crawler).crawled.values()
    assert page.url == site.url("/yes?a=1&b=2")
    found = page.meta["gbot_robots"]
    assert (found["robots"], found["line"], found["override"]) == proof
    assert found["judged"] is True
    assert STAT not in stats(crawler)
    assert not [each for each in caplog.records if " led to " in each.msg]


@in_reactor
async def test_rules_that_take_long_do_not_judge_the_url_of_a_cached_page(tmp_path: Path) -> None:
    hostile = RULES + (b"disallow: /*" + b"a*" * 1_000 + b"b\n") * 200
    with Site({"/robots.txt": hostile, "*": b"ok"}) as site:
        crawler = await crawl_of_a_cached_page(site, tmp_path)
    (page,) = pages(crawler).crawled.values()
    assert page.meta["gbot_robots"]["judged"] is False
    assert stats(crawler)[STAT] == 1


class Renders:
    """Stands for a renderer that sends its own User-Agent header, and follows a redirect."""

    def process_request(self, request: Request) -> Response | None:
        if request.url.endswith("/robots.txt"):
            return None
        request.headers["User-Agent"] = "other/1.0"
        return Response(request.url.replace("/yes", "/no"), body=b"ok")


@in_reactor
async def test_warnings_of_a_page_contain_no_login(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    with Site({"/robots.txt": RULES}) as site:
        url = site.url("/yes")
        settings = {"DOWNLOADER_MIDDLEWARES": {Renders: 900}}
        await crawl(Pages, settings, urls=[url.replace("//", "//me:S3cret@")])
    assert f"{url} led to {site.url('/no')} " in caplog.text
    assert f"{url} was judged by the rules for testbot" in caplog.text
    assert "S3cret" not in caplog.text
