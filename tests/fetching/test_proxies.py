"""A robots.txt through a proxy that wants credentials: it carries those of its request, to that proxy and nowhere else."""

from __future__ import annotations

import base64
import contextlib
import logging
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.downloadermiddlewares.httpproxy import HttpProxyMiddleware
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots.exceptions import ForbiddenByRobotsTxt
from scrapy_gbot_robots.fetching.exchange import Exchange
from scrapy_gbot_robots.fetching.fetcher import Fetcher
from scrapy_gbot_robots.settings import GbotSettings
from scrapy_gbot_robots.signals import robotstxt_known, robotstxt_served, robotstxt_unreachable

from ..support.crawls import Pages, as_scrapy_runs_it, crawl, in_reactor, own_warnings, pages, stats
from ..support.rows import row, table
from ..support.tls import tls_context
from ..support.web import Reply, Site, redirect
from .scenarios import RULES

USER, PASSWORD = "me", "secret"
BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


class Proxy(Site):
    """A proxy for http and https that refuses requests without credentials. `pages` has what it serves by http."""

    target: Site | None = None  # where all tunnels lead

    def _content(self, path: str, headers: Any) -> Any:
        if headers.get("proxy-authorization") != BASIC:
            return Reply(407, b"", {"Proxy-Authenticate": "Basic"})
        return super()._content(path, headers) if self.target is None else self._tunnel

    def _tunnel(self, connection: socket.socket) -> None:
        assert self.target is not None
        with socket.create_connection((self.target.host, self.target.port)) as there:
            connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            threading.Thread(target=pump, args=(there, connection), daemon=True).start()
            pump(connection, there)

    def with_credentials(self) -> str:
        return self.url("").replace("://", f"://{USER}:{PASSWORD}@")


def pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def passed(url: str, proxy: Proxy) -> Request:
    """A request that has passed HttpProxyMiddleware, as one that is retried or redirected has."""
    meta = {"proxy": proxy.url(""), "_auth_proxy": proxy.url("")}
    return Request(url, meta=meta, headers={"Proxy-Authorization": BASIC}, dont_filter=True)


HERE, ELSEWHERE = "http://proxy.example:80", "http://another.example:80"


async def sent(request: Request | None, **meta: str | None) -> dict[bytes, list[bytes]]:
    """The headers that a download handler gets, if middlewares set `meta` of the request for a robots.txt."""
    crawler = get_crawler()
    fetcher = Fetcher(crawler, GbotSettings.of(crawler.settings))
    own = fetcher.make_robots_request("http://e/robots.txt", request)
    HttpProxyMiddleware.from_crawler(crawler).process_request(own)
    exchange = Exchange(own, 10)
    own.meta.update(meta)
    own.headers.setdefault("Proxy-Authorization", "Basic b3du")  # of a middleware's own

    async def send(_: Request) -> Response:
        return Response(own.url)

    await exchange.sent(send, own)
    return dict(own.headers)


@table(
    "authorised, carried",
    row("the-same", {"_auth_proxy": HERE}, True),
    row("header-of-the-users-own", {}, True),
    row("header-for-another-proxy", {"_auth_proxy": ELSEWHERE}, False),
)
@as_scrapy_runs_it
async def test_credentials_go_to_that_proxy_alone(
    authorised: dict[str, str], carried: bool
) -> None:
    meta = {"proxy": f"{HERE}/", **authorised}
    request = Request("http://e/page", meta=meta, headers={"Proxy-Authorization": BASIC})
    header = b"Proxy-Authorization"
    assert (await sent(request))[header] == [BASIC.encode() if carried else b"Basic b3du"]
    for late in (ELSEWHERE, None):  # as a middleware may choose it
        assert [BASIC.encode()] != (await sent(request, proxy=late)).get(header)


@as_scrapy_runs_it
async def test_credentials_of_a_middleware_for_its_own_proxy_stay() -> None:
    assert (await sent(None, proxy=HERE))[b"Proxy-Authorization"] == [b"Basic b3du"]
    assert b"Proxy-Authorization" not in await sent(None, proxy=None)


@in_reactor
async def test_robots_txt_after_a_redirect_goes_through_the_proxy_too() -> None:
    far = "http://far.example"
    with Proxy(
        {
            "http://near.example/robots.txt": b"",
            "http://near.example/page": redirect(f"{far}/page"),
            "http://near.example/free": redirect(f"{far}/free"),
            f"{far}/robots.txt": redirect(f"{far}/rules"),
            f"{far}/rules": RULES,
            f"{far}/free": b"ok",
        }
    ) as proxy:
        urls = [f"http://near.example/{name}" for name in ("page", "free")]
        meta = {"proxy": proxy.with_credentials()}
        requests = [Request(url, meta=meta, dont_filter=True) for url in urls]
        crawler = await crawl(Pages, urls=requests)
        assert set(pages(crawler).crawled) == {f"{far}/free"}
        assert f"{far}/page" not in proxy.paths()
        assert all(asked.headers.get("proxy-authorization") == BASIC for asked in proxy.asked)


@in_reactor
async def test_robots_txt_of_an_https_site_goes_through_the_tunnel() -> None:
    site_pages = {"/robots.txt": RULES, "/free": b"ok"}
    with Site(site_pages, tls=tls_context()) as site, Proxy({}) as proxy:
        proxy.target = site
        urls = [f"https://far.example/{name}" for name in ("page", "free")]
        crawler = await crawl(Pages, urls=[passed(url, proxy) for url in urls])
        assert set(pages(crawler).crawled) == {"https://far.example/free"}
        assert set(site.paths()) == {"/robots.txt", "/free"}
        assert not any("proxy-authorization" in asked.headers for asked in site.asked)


@in_reactor
async def test_proxy_of_the_environment_is_used_for_its_own_scheme_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    far = "far.example"
    of_http: dict[str, Any] = {
        "http://near.example/robots.txt": Reply(404),
        "http://near.example/page": redirect(f"http://{far}/page"),
        "http://near.example/free": redirect(f"http://{far}/free"),
        f"http://{far}/robots.txt": redirect(f"https://{far}/robots.txt"),
        f"http://{far}/free": b"ok",
    }
    with (
        Site({"/robots.txt": RULES}, tls=tls_context()) as site,
        Proxy(of_http) as plain,
        Proxy({}) as tunnel,
    ):
        tunnel.target = site
        monkeypatch.setenv("http_proxy", plain.with_credentials())
        monkeypatch.setenv("https_proxy", tunnel.with_credentials())
        monkeypatch.setenv("no_proxy", "")
        urls = [f"http://near.example/{name}" for name in ("page", "free")]
        crawler = await crawl(Pages, urls=urls)
        assert set(pages(crawler).crawled) == {f"http://{far}/free"}
        assert site.paths() == ["/robots.txt"]
        assert len(tunnel.asked) == 1
        assert set(plain.paths()) == set(of_http)


@pytest.mark.parametrize("scheme", ["http", "https"])
@in_reactor
async def test_refusal_of_a_proxy_is_no_answer(
    scheme: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Proxy({"*": b""}) as proxy:
        request = Request(f"{scheme}://far.example/page", meta={"proxy": proxy.url("")})
        crawler = await crawl(Pages, urls=[request])
        assert not pages(crawler).crawled
        assert stats(crawler)["gbot_robots/unreachable"] == 1
        assert len(proxy.asked) == 1
    assert "the proxy failed" in own_warnings(caplog)[0]


@pytest.mark.parametrize("scheme", ["http", "https"])
@table(
    "proxy, why",
    row("refuses-connections", "http://127.0.0.1:9", "connection refused"),
    row("does-not-resolve", "http://proxy.invalid:8080", "the host name does not resolve"),
)
@in_reactor
async def test_proxy_out_of_reach_makes_no_site_gone(scheme: str, proxy: str, why: str) -> None:
    answers: list[Any] = []

    def hear(answer: Any) -> None:
        answers.append(answer)

    request = Request(f"{scheme}://far.example/page", meta={"proxy": proxy})
    hears: dict[object, Any] = {robotstxt_unreachable: hear}
    crawler = await crawl(Pages, hears=hears, urls=[request])
    assert ["the proxy failed" in answer.why for answer in answers] == [True]
    assert why in answers[0].why
    (refusal,) = pages(crawler).refused.values()
    assert isinstance(refusal, ForbiddenByRobotsTxt)
    assert refusal.__cause__ is None  # Scrapy's error for a page would speak of the site


def by_each(url: str, *proxies: str) -> list[Request]:
    """Requests for the pages /0, /1 and so on, each through its own proxy, or through none."""
    metas: list[dict[str, Any]] = [{"proxy": proxy} if proxy else {} for proxy in proxies]
    return [Request(f"{url}/{number}", meta=meta) for number, meta in enumerate(metas)]


DEAD = "http://127.0.0.1:9"
WAIT = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 20}


@pytest.mark.parametrize("scheme", ["http", "https"])
@in_reactor
async def test_dead_proxy_of_one_page_loses_no_other_page(scheme: str) -> None:
    site_pages = {"/robots.txt": b"User-agent: *\nDisallow: /3", "*": b"page"}
    with Site(site_pages, tls=tls_context() if scheme == "https" else None) as site:
        crawler = await crawl(Pages, WAIT, urls=by_each(site.url(""), DEAD, "", "", "", ""))
        assert set(pages(crawler).crawled) == {site.url(f"/{number}") for number in (1, 2, 4)}
        assert site.paths().count("/robots.txt") == 1
    assert stats(crawler)["robotstxt/request_count"] == 2
    assert set(pages(crawler).refused) == {site.url("/0"), site.url("/3")}


@table(
    "answer",
    row("squid-cannot-connect", Reply(503, b"", {"X-Squid-Error": "ERR_CONNECT_FAIL 111"})),
    row("tinyproxy-cannot-connect", Reply(500, b"Unable to connect", {"Server": "tinyproxy"})),
    row("login", Reply(407, b"")),
)
@in_reactor
async def test_proxy_with_an_error_of_its_own_loses_no_page_of_another(answer: Reply) -> None:
    with Site({"*": answer}) as ill, Proxy({"*": b"", "http://far.example/1": b"page"}) as well:
        well.pages["http://far.example/robots.txt"] = RULES
        requests = by_each("http://far.example", ill.url(""), well.with_credentials())
        crawler = await crawl(Pages, WAIT, urls=requests)
        assert pages(crawler).crawled["http://far.example/1"].body == b"page"
        assert ill.paths().count("http://far.example/robots.txt") == 1


@in_reactor
async def test_other_login_for_the_same_proxy_is_another_way() -> None:
    with Proxy({"*": b"page", "http://far.example/robots.txt": RULES}) as proxy:
        wrong = proxy.url("").replace("//", "//me:wrong@")
        requests = by_each("http://far.example", wrong, proxy.with_credentials())
        crawler = await crawl(Pages, WAIT, urls=requests)
        assert pages(crawler).crawled["http://far.example/1"].body == b"page"


@in_reactor
async def test_credentials_are_never_logged_or_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[bytes] = []

    def hear(request: Request) -> None:
        told.extend(request.headers.getlist("Proxy-Authorization"))

    with Proxy({"http://far.example/robots.txt": RULES}) as proxy:
        urls = [passed("http://far.example/page", proxy)]
        await crawl(Pages, {"LOG_LEVEL": "DEBUG"}, hears={robotstxt_served: hear}, urls=urls)
        broken = f"http://{USER}:{PASSWORD}@no such proxy:99999"
        await crawl(Pages, urls=[Request("http://other.example/", meta={"proxy": broken})])
    assert not told
    for record in caplog.records:
        if record.name.startswith("scrapy_gbot_robots"):
            assert PASSWORD not in record.getMessage()
            assert BASIC.split()[1] not in record.getMessage()


SQUID = {"X-Squid-Error": "ERR_ACCESS_DENIED 0", "Via": "1.1 squid (squid/5.7)"}
RFC_9209 = {"Proxy-Status": 'squid.example; error=http_request_denied; details="by, rule"'}


@table(
    "answer",
    row("S2.20-squid-403", Reply(403, b"", SQUID)),
    row("S2.20-squid-404", Reply(404, b"", SQUID)),
    row("S2.20-squid-200", Reply(200, RULES, SQUID)),
    row("S2.20-squid-redirect", Reply(302, b"", {**SQUID, "Location": "/portal"})),
    row("crawlera-403", Reply(403, b"", {"x-crawlera-error": "domain_forbidden"})),
    row("zyte-smart-proxy-404", Reply(404, b"", {"Zyte-Error": "nxdomain"})),
    row("zyte-api-451", Reply(451, b"", {"zyte-error-type": "/download/domain-forbidden"})),
    row("bright-data-403", Reply(403, b"", {"x-brd-err-code": "policy_20050"})),
    row("bright-data-older-404", Reply(404, b"", {"x-luminati-error": "Host not found"})),
    row("S2.20-rfc-9209-403", Reply(403, b"", RFC_9209)),
    row("S2.20-rfc-9209-404", Reply(404, b"", RFC_9209)),
)
@pytest.mark.parametrize("by", ["meta", "environment", "GBOT_ROBOTS_META_KEYS"])
@in_reactor
async def test_answer_that_a_proxy_marks_as_its_own_is_no_answer_of_the_site(
    answer: Reply, by: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with Site({"*": b"page", "/robots.txt": answer}) as proxy:
        proxy.pages["http://far.example/robots.txt"] = answer
        settings: dict[str, Any] = {}
        meta: dict[str, Any] = {}
        if by == "environment":
            monkeypatch.setenv("http_proxy", proxy.url(""))
        else:
            meta = {"proxy": proxy.url("").replace("//", "//me:secret@")}
        if by == "GBOT_ROBOTS_META_KEYS":
            settings = {by: ["proxy", "own"]}
        request = Request("http://far.example/page", meta=meta)
        crawler = await crawl(Pages, settings, urls=[request])
        assert not pages(crawler).crawled
        assert {asked.path for asked in proxy.asked} == {"http://far.example/robots.txt"}
    warning = own_warnings(caplog)[0]
    assert f"the proxy failed (127.0.0.1:{proxy.port}: HTTP {answer.status}" in warning
    assert "secret" not in caplog.text


@pytest.mark.parametrize("status", [401, 402, 403, 451, 404, 410])
@in_reactor
async def test_refusal_through_a_proxy_counts_for_this_process_and_is_not_stored(
    status: int, tmp_path: Path
) -> None:
    answers: list[Any] = []

    def hear(answer: Any) -> None:
        answers.append(answer)

    settings = {
        "GBOT_ROBOTS_STORAGE": "sqlite",
        "GBOT_ROBOTS_SQLITE_PATH": str(tmp_path / "r.sqlite"),
    }
    hears: dict[object, Any] = {robotstxt_known: hear}
    with Site({"/robots.txt": RULES, "*": b"page"}) as site, Site({"*": b"page"}) as proxy:
        proxy.pages[site.url("/robots.txt")] = Reply(status)
        page = Request(site.url("/page"), meta={"proxy": proxy.url("")})
        crawler = await crawl(Pages, settings, hears=hears, urls=[page])
        assert set(pages(crawler).crawled) == {page.url}
        own = await crawl(Pages, settings, urls=[site.url("/page")])
        is_of_the_site = status in {404, 410}
        assert (site.url("/page") in pages(own).crawled) is is_of_the_site
        assert ("/robots.txt" in site.paths()) is not is_of_the_site
    (answer,) = answers
    through = "" if is_of_the_site else f" through the proxy 127.0.0.1:{proxy.port}"
    assert answer.why == f"HTTP {status}{through}"
