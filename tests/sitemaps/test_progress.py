"""The progress that a crawl logs."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import TYPE_CHECKING

from ..support.crawls import crawl, in_reactor
from ..support.hosts_spider import Hosts
from ..support.sitemap_web import urlset, xml
from ..support.web import Reply, Site

if TYPE_CHECKING:
    import pytest


@in_reactor
async def test_progress_is_logged_during_the_crawl_and_at_its_end(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "scrapy_gbot_robots.sitemaps.spider")
    site.pages["/slow"] = Reply(200, b"ok", after_secs=0.7)
    site.pages["/s.xml"] = xml(urlset(site.url("/slow"), site.url("/no/1"), site.url("/no/2"), site.url("/fast")))
    with Site({"/robots.txt": Reply(404)}) as bare:
        await crawl(Hosts, hosts=[site.url(), bare.url()], progress_secs="0.2")
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("hosts ")]
    assert len(lines) >= 2
    assert all(before != line for before, line in pairwise(lines[:-1]))  # nothing is logged while there is no progress
    begun = "hosts 2/2 (1 without a sitemap, 0 unreachable), sitemaps 1, URLs 4 found, 1 crawled, 2 blocked"
    assert begun in lines[:-1]
    assert lines[-1] == "hosts 2/2 (1 without a sitemap, 0 unreachable), sitemaps 1, URLs 4 found, 2 crawled, 2 blocked"
