"""Several processes crawl at once and share a storage. test_scrapy_redis.py has a fleet with a Redis."""

import json
import re
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from .support import processes
from .support.crawls import in_sqlite
from .support.visits import fetches
from .support.web import Reply, Site

# Crawls as its argument says, and prints what came of it.
CRAWL = """
import json, sys
from scrapy.crawler import CrawlerProcess
from tests.support.crawls import ADDON, QUIET, Pages, stats

urls, settings = json.loads(sys.argv[1])
process = CrawlerProcess({"LOG_LEVEL": "INFO", **QUIET, **ADDON, **settings})
crawler = process.create_crawler(Pages)
process.crawl(crawler, urls=urls)
process.start()
spider, lookups = crawler.spider, stats(crawler, "gbot_robots/lookup/")
print(json.dumps([sorted(spider.crawled), sorted(spider.refused), lookups]))
"""
SLOW = Reply(200, b"user-agent: *\ndisallow: /no\n", after_secs=0.05)


@pytest.mark.slow
def test_processes_that_share_a_storage_fetch_each_robots_txt_once(tmp_path: Path) -> None:
    with ExitStack() as stack:
        made = [Site({"/robots.txt": SLOW, "*": b"ok"}) for _ in range(20)]
        sites = [stack.enter_context(site) for site in made]
        yes, no = ([site.url(path) for site in sites] for path in ("/yes", "/no"))
        order = json.dumps([[*yes, *no], in_sqlite(tmp_path / "robots.sqlite")])
        crew = [processes.start([sys.executable, "-c", CRAWL, order]) for _ in range(3)]
        ended = [processes.output(process) for process in crew]
        assert {fetches(site) for site in sites} == {1}
    looked_up = {"fetched": 0, "storage": 0}
    for out, log in ended:
        crawled, refused, lookups = json.loads(out)
        assert (crawled, refused) == (sorted(yes), sorted(no))
        for way in looked_up:
            looked_up[way] += lookups.get(f"gbot_robots/lookup/{way}", 0)
        assert not re.search(r"\[scrapy_gbot_robots.*WARNING: | ERROR: |Traceback", log)
    assert looked_up == {"fetched": 20, "storage": 40}
