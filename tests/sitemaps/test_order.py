"""In which order sitemaps and pages are requested, and how far sitemaps are read ahead of pages."""

from collections.abc import Iterator
from typing import Any

import pytest

from ..support.crawls import as_scrapy_runs_it, crawl_until, stats, stop
from ..support.sitemap_web import Hosts, Sitemaps, index, parsed, sitemap_lines, urlset, xml
from ..support.web import Reply, Site

# As in Scrapy: with more at a time, more sitemaps are under way before the first page is known.
SETTINGS = {"CONCURRENT_REQUESTS_PER_DOMAIN": 8}


@pytest.fixture
def neighbour() -> Iterator[Site]:
    """Another origin in the download slot of `site`, such as that of the other scheme."""
    with Site({"/robots.txt": Reply(404)}) as one:
        yield one


def serve_index(site: Site, place: Site, number: int, pages: int) -> None:
    """Let `site` list an index of `number` sitemaps of `pages` slow pages each; these are at `place`."""
    paths = [f"/{n}.xml" for n in range(number)]
    site.pages |= {
        "/robots.txt": sitemap_lines(site.url("/index.xml")),
        "/index.xml": xml(index(*map(place.url, paths))),
    }
    place.pages["*"] = Reply(200, b"<title>page</title>", after_secs=0.05)
    for n, path in enumerate(paths):
        place.pages[path] = xml(urlset(*(place.url(f"/{n}/{page}") for page in range(pages))))


@pytest.mark.parametrize("spider", [Sitemaps, Hosts])
@pytest.mark.parametrize("is_elsewhere", [False, True])
@as_scrapy_runs_it
async def test_pages_are_crawled_before_all_sitemaps_of_an_index_are_read(
    is_elsewhere: bool, spider: Any, site: Site, neighbour: Site
) -> None:
    place = neighbour if is_elsewhere else site
    serve_index(site, place, number=50, pages=20)
    start: dict[str, Any] = {"start_urls": [site.url()]}
    if spider is Hosts:
        start = {"hosts": [site.url()], "sitemap_scope": "any"}
    crawler = await crawl_until(lambda c: len(parsed(c)) >= 100, stop, spider, SETTINGS, **start)
    assert "robotstxt/forbidden" not in stats(crawler)
    sitemaps = [path for path in place.paths() if path.endswith(".xml")]
    assert len(sitemaps) < 25
