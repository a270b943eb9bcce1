"""A robots.txt with new rules: the crawl notices it at the next fetch, and the history keeps it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from scrapy_gbot_robots.signals import robotstxt_changed
from scrapy_gbot_robots.storage.history import SqliteHistory
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.crawls import Pages, crawl, in_reactor, in_sqlite, stats
from ..support.web import Reply, Site

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from scrapy_gbot_robots import Origin, RobotsTxt

OLD = b"user-agent: *\ndisallow: /a\n"


class Watches(Pages):
    """Remembers what changed."""

    changes: list[tuple[Origin, RobotsTxt, RobotsTxt, Spider]]

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Watches:
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.changes = []
        crawler.signals.connect(spider.changed, robotstxt_changed)
        return spider

    def changed(self, origin: Origin, old: RobotsTxt, new: RobotsTxt, spider: Spider) -> None:
        self.changes.append((origin, old, new, spider))


def let_it_run_out(path: Path) -> None:
    """Let everything that is stored be stale."""
    with closing(SqliteStorage(path)) as storage:
        for origin in list(storage.origins()):
            entry = storage.get(origin)
            assert entry is not None
            assert entry.copy is not None
            storage.put(origin, replace(entry, copy=replace(entry.copy, fetched_at=1.0, fresh_until=2.0)))


async def crawled(site: Site, path: Path, **settings: Any) -> Crawler:
    own = {**in_sqlite(path), **settings}
    return await crawl(Watches, own, urls=[site.url("/a"), site.url("/b")])


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(b"user-agent: *\ndisallow: /b\n", id="rules"),
        pytest.param(b"user-agent: *\ndisallow: /a\n" + b"disallow: /b%d\n" * 3000, id="large"),
        pytest.param(OLD + b"content-signal: ai-train=no\n", id="preferences"),
        pytest.param(Reply(404, b"nothing here"), id="vanished"),
    ],
)
@in_reactor
async def test_signal_has_the_new_rules_and_the_old_and_the_stats_count_it(new: bytes | Reply, tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"
    with Site({"/robots.txt": OLD, "*": b"ok"}) as site:
        first = await crawled(site, path)
        let_it_run_out(path)
        site.pages["/robots.txt"] = new
        second = await crawled(site, path)
    assert first.spider.changes == []  # type: ignore[union-attr]
    ((origin, old, changed, spider),) = second.spider.changes  # type: ignore[union-attr]
    assert (str(origin), spider) == (site.url("").rstrip("/"), second.spider)
    assert not old.allowed("/a", "testbot")
    assert (changed.groups, changed.fields("content-signal")) != (old.groups, old.fields("content-signal"))
    assert stats(second)["gbot_robots/changed"] == 1


@in_reactor
async def test_new_comment_is_no_change(tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"
    with Site({"/robots.txt": OLD, "*": b"ok"}) as site:
        await crawled(site, path)
        let_it_run_out(path)
        site.pages["/robots.txt"] = b"# of today\n" + OLD
        second = await crawled(site, path)
        assert site.paths().count("/robots.txt") == 2
    assert second.spider.changes == []  # type: ignore[union-attr]
    assert "gbot_robots/changed" not in stats(second)


@in_reactor
async def test_history_keeps_as_many_versions_as_the_setting_says(tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"
    with Site({"/robots.txt": OLD, "*": b"ok"}) as site:
        for number in range(4):
            site.pages["/robots.txt"] = b"user-agent: *\ndisallow: /%d\n" % number
            await crawled(site, path, GBOT_ROBOTS_HISTORY=3)
            let_it_run_out(path)
        with closing(SqliteHistory(path, most=3, read_only=True)) as storage:
            versions = storage.versions(site.url("").rstrip("/"))
    assert [version.body[-3:] for version in versions] == [b"/1\n", b"/2\n", b"/3\n"]


@pytest.mark.parametrize("storage", ["memory", "redis"])
@in_reactor
async def test_history_with_another_storage_stops_the_crawl_with_a_clear_error(storage: str) -> None:
    with pytest.raises(ValueError, match="GBOT_ROBOTS_HISTORY = 2 needs GBOT_ROBOTS_STORAGE = 'sqlite' and a file"):
        await crawl(Pages, {"GBOT_ROBOTS_STORAGE": storage, "GBOT_ROBOTS_HISTORY": 2})
