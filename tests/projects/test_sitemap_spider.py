"""What Scrapy promises of a SitemapSpider holds with the add-on on. Each row is crawled with it and without.

Source: Scrapy's documentation and tests of SitemapSpider; the rows are our own.
"""

import gzip
import re
from collections.abc import Iterator
from typing import Any

import pytest
from scrapy.http import Response
from scrapy.spiders import SitemapSpider

from ..support.crawls import in_reactor
from ..support.items import items
from ..support.sitemap_web import index, urlset, xml
from ..support.web import Reply, Site

pytestmark = pytest.mark.slow

PAGES = ("/en/1", "/en/2", "/de/1", "/other")
ALTERNATES = '<x:link xmlns:x="x" rel="alternate" hreflang="de" href="{0}de/1"/><x:link xmlns:x="x" rel="alternate" hreflang="it"/>'


def web(site: Site) -> None:
    """Fill a site with a sitemap of each kind."""
    here = site.url()
    english = urlset(f"{here}en/1", f"{here}en/2", lastmod="2024-05-05")
    bilingual = urlset(f"{here}en/1").replace(
        b"</url>", ALTERNATES.format(here).encode() + b"</url>"
    )
    robots = b"".join(
        b"Sitemap: %s\n" % line
        for line in (f"{here}en.xml".encode(), b"/de.xml", b"/\xff.xml", b"/gone.xml")
    )
    site.pages |= {
        "/robots.txt": b"User-agent: *\nDisallow: /private\n" + robots,
        "/en.xml": xml(english),
        "/de.xml": xml(urlset(f"{here}de/1", lastmod="2004-01-01")),
        "/both.xml": xml(bilingual),
        "/index.xml": xml(index(f"{here}en.xml", f"{here}de.xml")),
        "/en.xml.gz": Reply(200, gzip.compress(english), {"Content-Type": "application/gzip"}),
        "/compressed": Reply(
            200, gzip.compress(english), {"Content-Type": "text/xml", "Content-Encoding": "gzip"}
        ),
        "/holes.xml": xml(urlset(f"{here}other", f"{here}private/1")),
        "/no.xml": xml(b"<some><tag>text</tag></some>"),
        "/empty.xml": xml(b""),
        "/page.html": Reply(200, english, {"Content-Type": "text/html"}),
        "/gone.xml": Reply(404),
    }


class Maps(SitemapSpider):
    name = "maps"

    def parse(self, response: Response) -> Iterator[dict[str, str]]:
        yield {"path": response.url.partition("/")[2].partition("/")[2].partition("/")[2]}


def marked(response: Response) -> Iterator[dict[str, str]]:
    yield {"marked": response.url[-4:]}


class Recent(Maps):
    def sitemap_filter(self, entries: Any) -> Any:
        return (entry for entry in entries if entry.get("lastmod", "") > "2010")


class German(Maps):
    def sitemap_filter(self, entries: Any) -> Any:
        for entry in entries:
            for link in entry.get("alternate", ()):
                yield {**entry, "loc": link}


def paths(*names: str) -> list[dict[str, str]]:
    return [{"path": name} for name in names]


@pytest.mark.parametrize(
    ("spider", "name", "attributes", "expected"),
    [
        pytest.param(Maps, "/en.xml", {}, paths("en/1", "en/2"), id="file"),
        pytest.param(Maps, "/index.xml", {}, paths("de/1", "en/1", "en/2"), id="index"),
        pytest.param(Maps, "/robots.txt", {}, paths("de/1", "en/1", "en/2"), id="robots-txt-with-relative-lines-and-odd-bytes"),
        pytest.param(Maps, "/robots.txt", {"sitemap_follow": ["no"]}, paths("de/1", "en/1", "en/2"), id="follow-is-for-indexes"),
        pytest.param(Maps, "/index.xml", {"sitemap_follow": [re.compile("en.xml$")]}, paths("en/1", "en/2"), id="follow"),
        pytest.param(Maps, "/index.xml", {"sitemap_follow": ["nowhere"]}, [], id="follow-nothing"),
        pytest.param(Maps, "/en.xml", {"sitemap_rules": [("2$", "parse")]}, paths("en/2"), id="rule"),
        pytest.param(Maps, "/en.xml", {"sitemap_rules": [("", marked)]}, [{"marked": "en/1"}, {"marked": "en/2"}], id="callable"),
        pytest.param(Maps, "/both.xml", {}, paths("en/1"), id="without-alternates"),
        pytest.param(Maps, "/both.xml", {"sitemap_alternate_links": True}, paths("de/1", "en/1"), id="alternates"),
        pytest.param(German, "/both.xml", {}, paths("de/1"), id="filter-of-alternates"),
        pytest.param(Recent, "/robots.txt", {}, paths("en/1", "en/2"), id="filter"),
        pytest.param(Maps, "/en.xml.gz", {}, paths("en/1", "en/2"), id="gzip"),
        pytest.param(Maps, "/compressed", {}, paths("en/1", "en/2"), id="content-encoding"),
        pytest.param(Maps, "/no.xml", {}, [], id="no-sitemap"),
        pytest.param(Maps, "/empty.xml", {}, [], id="empty-file"),
        pytest.param(Maps, "/page.html", {}, [], id="html"),
    ],
)  # fmt: skip
@in_reactor
async def test_items_are_those_without_the_add_on(
    spider: type[Maps], name: str, attributes: dict[str, Any], expected: list[Any]
) -> None:
    with Site(dict.fromkeys(PAGES, b"ok")) as site:
        web(site)
        kind = type("Kind", (spider,), {"sitemap_urls": [site.url(name)], **attributes})
        plain, added = [await items(kind, {}, addon=addon) for addon in (False, True)]
        assert plain == added == expected


@in_reactor
async def test_page_that_robots_txt_forbids_is_the_only_difference() -> None:
    with Site({"*": b"ok"}) as site:
        web(site)
        kind = type("Kind", (Maps,), {"sitemap_urls": [site.url("/holes.xml")]})
        assert await items(kind, {}, addon=False) == paths("other", "private/1")
        assert (
            await items(kind, {}, addon=True)
            == await items(kind, {"ROBOTSTXT_OBEY": True}, addon=False)
            == paths("other")
        )
