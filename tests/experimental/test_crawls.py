"""What sites say about the use of their pages, in robots.txt and in headers: crawls note it and heed it."""

from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.settings import Settings

from scrapy_gbot_robots.settings import GbotSettings

from ..support.crawls import Pages, crawl, in_reactor, pages, stats
from ..support.rows import table
from ..support.web import Reply, Site

ROBOTS_TXT = b"""\
user-agent: *
disallow: /never/
content-usage: train-ai=n
content-usage: /open/ train-ai=y
content-usage: /unsaid/ search=n
content-signal: ai-input=no
"""
PATHS = "/page /open/1 /unsaid/1 /never/1 /open/header /unsaid/header /open/granted".split()
PAGES: dict[str, bytes | Reply] = {
    "/robots.txt": ROBOTS_TXT,
    "/open/header": Reply(200, b"ok", {"Content-Usage": "train-ai=n"}),
    "/unsaid/header": Reply(200, b"ok", {"Content-Signal": "ai-train=no, search=yes"}),
    "/open/granted": Reply(200, b"ok", {"Content-Usage": "train-ai=y"}),
    "*": b"ok",
}
TRAIN: dict[str, Any] = {"GBOT_ROBOTS_PURPOSES": ["train-ai"]}
REFUSE: dict[str, Any] = {**TRAIN, "GBOT_ROBOTS_PURPOSES_ACTION": "refuse"}


async def crawled(site: Site, settings: dict[str, Any]) -> tuple[Crawler, dict[str, Any]]:
    """The crawl, and the preferences in the meta of each response, by path."""
    crawler = await crawl(Pages, settings, urls=[site.url(path) for path in PATHS])
    crawled = {url.removeprefix(site.url("")): page for url, page in pages(crawler).crawled.items()}
    noted = {path: page.meta.get("gbot_robots_preferences") for path, page in crawled.items()}
    return crawler, noted


@in_reactor
async def test_without_a_purpose_nothing_is_noted_or_refused() -> None:
    with Site(PAGES) as site:
        crawler, noted = await crawled(site, {"GBOT_ROBOTS_PURPOSES_ACTION": "refuse"})
    assert set(noted) == set(PATHS) - {"/never/1"}
    assert set(noted.values()) == {None}
    assert stats(crawler, "gbot_robots/preference/") == {}


@in_reactor
async def test_what_sites_say_is_noted_counted_and_proved_by_default() -> None:
    with Site(PAGES) as site:
        crawler, noted = await crawled(site, {**TRAIN, "GBOT_ROBOTS_PROVENANCE": True})
    assert {path: said["train-ai"] for path, said in noted.items()} == {
        **dict.fromkeys(["/page", "/open/header", "/unsaid/header"], "refused"),
        **dict.fromkeys(["/open/1", "/open/granted"], "granted"),
        "/unsaid/1": "unsaid",
    }
    stated = {"train-ai": "refused", "search": "unsaid", "ai-use": "refused"}
    assert noted["/page"] == {**stated, "use": None, "lines": [3, 6]}
    assert noted["/unsaid/header"]["search"] == "refused"  # the more restrictive of file and header
    words = {"train-ai/refused": 3, "train-ai/granted": 2, "train-ai/unsaid": 1}
    assert stats(crawler, "gbot_robots/preference/") == {**words, "train-ai/by_header": 2}
    proof = pages(crawler).crawled[site.url("/open/1")].meta["gbot_robots"]
    assert proof["preferences"]["train-ai"] == "granted"


@in_reactor
async def test_any_refused_purpose_stops_the_fetch_and_a_header_the_page() -> None:
    settings = {**REFUSE, "GBOT_ROBOTS_PURPOSES": ["train-ai", "search"]}
    with Site(PAGES) as site:
        crawler, noted = await crawled(site, settings)
        asked = set(site.paths())
    assert set(noted) == {"/open/1", "/open/granted"}
    assert "/page" not in asked
    assert "/open/header" in asked
    refused = {url.split("/", 3)[3]: str(error) for url, error in pages(crawler).refused.items()}
    assert "robots.txt refuses train-ai (line 3, 6)" in refused["page"]
    assert "robots.txt refuses search (line 5, 6)" in refused["unsaid/1"]
    assert refused["open/header"].endswith("a header of the page refuses train-ai")
    assert 'disallowed by "Disallow: /never/"' in refused["never/1"]
    assert stats(crawler)["robotstxt/forbidden"] == 5


class Redirected:
    """Stands for a renderer that a site has redirected to /page."""

    def process_response(
        self, request: Request, response: Response, spider: Any = None
    ) -> Response:
        return response.replace(url=response.url.replace("/open/moved", "/page"))


@in_reactor
async def test_page_is_forbidden_if_a_renderer_was_redirected_to_a_url_that_refuses() -> None:
    settings = {**REFUSE, "DOWNLOADER_MIDDLEWARES": {Redirected: 725}}
    with Site(PAGES) as site:
        crawler = await crawl(Pages, settings, urls=[site.url("/open/moved")])
        assert "/open/moved" in site.paths()
    assert pages(crawler).crawled == {}
    (error,) = pages(crawler).refused.values()
    assert "robots.txt refuses train-ai (line 3, 6)" in str(error)


@table(
    "rules, free, why",
    ("ignore", ["/page", "/open/1"], ""),
    ("User-agent: *\nContent-Usage: train-ai=y", ["/page", "/open/1"], ""),
    ("User-agent: *\nContent-Usage: train-ai=n", [], "robots.txt refuses train-ai (line 2)"),
)
@in_reactor
async def test_override_decides_about_preferences_too(
    rules: str, free: list[str], why: str
) -> None:
    overrides = {"127.0.0.1": {"rules": rules, "reason": "agreed"}}
    with Site(PAGES) as site:
        urls = [site.url(path) for path in ("/page", "/open/1", "/open/header")]
        crawler = await crawl(Pages, {**REFUSE, "GBOT_ROBOTS_OVERRIDES": overrides}, urls=urls)
        assert set(pages(crawler).crawled) == set(map(site.url, free))  # headers still count
    if why:
        refused = str(pages(crawler).refused[urls[1]])
        assert f"override for 127.0.0.1 (agreed): {why}" in refused


@table(
    "stated, forbidden, why",
    ("content-usage: train-ai=n", "/", "robots.txt refuses train-ai (line 3)"),
    ("content-usage: train-ai=n", "/other/", "robots.txt refuses train-ai (line 3)"),
    ("content-signal: ai-train=no", "/", "robots.txt refuses train-ai (line 3)"),
    ("content-signal: ai-train=yes", "/", ""),
    ("content-usage: /other/ train-ai=n", "/", ""),
)
@table("provenance", True, False)
@in_reactor
async def test_preferences_count_for_a_path_that_an_override_allows(
    stated: str, forbidden: str, why: str, provenance: bool
) -> None:
    robots_txt = f"user-agent: *\ndisallow: {forbidden}\n{stated}\n".encode()
    settings = {
        **REFUSE,
        "GBOT_ROBOTS_OVERRIDES": {"127.0.0.1": {"allow": ["/feed/"], "reason": "agreed"}},
        "GBOT_ROBOTS_PROVENANCE": provenance,
    }
    with Site({"/robots.txt": robots_txt, "*": b"ok"}) as site:
        feed = site.url("/feed/x")
        crawler = await crawl(Pages, settings, urls=[feed, site.url("/other/x")])
        assert set(site.paths()) == ({"/robots.txt"} if why else {"/robots.txt", "/feed/x"})
    assert set(pages(crawler).refused) == {site.url("/other/x"), *([feed] if why else [])}
    assert why in str(pages(crawler).refused.get(feed, ""))


@in_reactor
async def test_preferences_count_for_a_path_allowed_by_an_override_after_a_renderer() -> None:
    settings = {
        **REFUSE,
        "GBOT_ROBOTS_OVERRIDES": {"127.0.0.1": {"allow": ["/page"], "reason": "agreed"}},
        "DOWNLOADER_MIDDLEWARES": {Redirected: 725},
    }
    robots_txt = b"user-agent: *\ndisallow: /page\ncontent-usage: /page train-ai=n"
    with Site({"/robots.txt": robots_txt, "*": b"ok"}) as site:
        crawler = await crawl(Pages, settings, urls=[site.url("/open/moved")])
    assert pages(crawler).crawled == {}
    (error,) = pages(crawler).refused.values()
    assert "robots.txt refuses train-ai (line 3)" in str(error)


@pytest.mark.parametrize("value", [["training"], ["train_ai"], "TRAIN-AI"])
def test_unknown_purpose_is_refused_at_the_start(value: object) -> None:
    rule = "GBOT_ROBOTS_PURPOSES must be a list of these: train-ai, search, ai-use"
    with pytest.raises(ValueError, match=rule):
        GbotSettings.of(Settings({"GBOT_ROBOTS_PURPOSES": value}))
