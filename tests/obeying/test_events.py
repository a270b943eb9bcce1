"""What a crawl says about its robots.txt files: enough for an operator at night, and not a line for each of thousands."""

from __future__ import annotations

import logging
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest
import redis
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.obeying import events
from scrapy_gbot_robots.settings import GbotSettings
from scrapy_gbot_robots.storage import client as client_module
from scrapy_gbot_robots.storage.client import choice_of
from scrapy_gbot_robots.storage.memory import MemoryStorage
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.clock import DAY, Clock
from ..support.crawls import Pages, crawl, in_reactor, in_sqlite, own_warnings, pages, stats, under_way
from ..support.redis_server import redis_server
from ..support.until import until
from ..support.visits import Visitor, visit
from ..support.web import Reply, Site, free_port

if TYPE_CHECKING:
    from pathlib import Path

RULES = b"user-agent: *\ndisallow: /no"


def said(caplog: pytest.LogCaptureFixture, module: str, level: int) -> list[str]:
    name = f"scrapy_gbot_robots.{module}"
    return [record.getMessage() for record in caplog.records if record.name == name and record.levelno == level]


@in_reactor
async def test_one_log_line_per_origin_says_where_its_answer_comes_from_and_how_old_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG, logger="scrapy_gbot_robots")
    clock = Clock.of(monkeypatch)
    settings = in_sqlite(tmp_path / "robots.sqlite")
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:

        async def script(visitor: Visitor) -> None:
            for agent in ("abot", "abot", "bbot"):
                assert await visitor.may(site.url("/"), agent)

        await visit(script, **settings)
        clock.goes_on(3600)
        crawler = await visit(script, **settings)
        lines = said(caplog, "obeying.events", logging.DEBUG)
        assert lines[0] == f"{site.url('/robots.txt')}: rules, HTTP 200 (fetched, 0 s old)"
        assert lines[1].startswith(f"{site.url('/robots.txt')}: rules, HTTP 200 (from the storage, 36")
        assert len(lines) == 2
        assert 3600 <= stats(crawler)["gbot_robots/stored_age_secs/max"] < 3700


@in_reactor
async def test_answer_that_another_process_fetched_says_so_and_leases_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="scrapy_gbot_robots")
    path = tmp_path / "robots.sqlite"
    settings = in_sqlite(path)
    with Site({"/robots.txt": RULES, "*": b"ok"}) as one, Site({"/robots.txt": RULES, "*": b"ok"}) as two:

        async def fetched_before(visitor: Visitor) -> None:
            assert await visitor.may(one.url("/"))

        await visit(fetched_before, **settings)
        with closing(SqliteStorage(path)) as other:
            entry = other.get(one.url(""))
            assert entry is not None
            other.delete(one.url(""))
            tokens = {site: other.lease(site.url(""), DAY) or "" for site in (one, two)}

            async def script(visitor: Visitor) -> None:
                waiting = [under_way(visitor.may(site.url("/"))) for site in (one, two)]
                await until(lambda: stats(visitor.crawler).get("gbot_robots/lease/waited") == 2)
                assert entry is not None
                other.put(one.url(""), entry)
                other.release(two.url(""), tokens[two])  # as if its holder had died
                await until(lambda: all(each.called for each in waiting))

            crawler = await visit(script, **settings)
            assert stats(crawler)["gbot_robots/lease/taken_over"] == 1
        lines = said(caplog, "obeying.events", logging.DEBUG)
        assert any(line.startswith(one.url("/robots.txt")) and "fetched by another process" in line for line in lines)


@in_reactor
async def test_log_warns_of_the_first_unreachable_files_one_by_one_and_adds_up_the_others(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "WARNED_ONE_BY_ONE", 2)
    monkeypatch.setattr(events, "ADD_UP_SECS", 0.3)
    with ExitStack() as stack:
        sites = [stack.enter_context(Site({"/robots.txt": Reply(503), "*": b"ok"})) for _ in range(7)]

        async def script(visitor: Visitor) -> None:
            for site in sites[:5]:
                assert not await visitor.may(site.url("/"))
            await pause(0.5)
            for site in sites[5:]:
                assert not await visitor.may(site.url("/"))

        await visit(script)
    warnings = own_warnings(caplog)
    assert [
        f"{site.url('/robots.txt')}: robots.txt unreachable: HTTP 503. By" in warnings[place]
        for place, site in enumerate(sites[:2])
    ] == [True, True]
    assert warnings[2:] == [
        f"4 more robots.txt files are unreachable, the first of them {sites[2].url('/robots.txt')}: robots.txt unreachable: HTTP 503",
        f"1 more robots.txt file is unreachable, the first of them {sites[6].url('/robots.txt')}: robots.txt unreachable: HTTP 503",
    ]


@in_reactor
async def test_stats_say_what_was_fetched_and_in_which_state_origins_are() -> None:
    with (
        Site({"/robots.txt": RULES, "*": b"ok"}) as a,
        Site({"*": b"ok"}) as b,
        Site({"/robots.txt": Reply(503, after_secs=0.2), "*": b"ok"}) as c,
        Site({"/robots.txt": Reply(404), "*": b"ok"}) as d,
    ):
        began = time.monotonic()
        settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 0, "GBOT_ROBOTS_CACHE_SIZE": 1}
        crawler = await crawl(
            Pages, settings, urls=[site.url(f"/{page}") for page in range(3) for site in (a, b, c, d)]
        )
        found = stats(crawler, "gbot_robots/")
        assert {name: found[name] for name in found if name.startswith("gbot_robots/origins/")} == {
            "gbot_robots/origins/rules": 2,
            "gbot_robots/origins/full_allow": 1,
            "gbot_robots/origins/full_disallow": 1,
        }
        assert found["gbot_robots/bytes"] == len(RULES) + len(b"ok")
        lasted_ms = 1000 * (time.monotonic() - began)
        assert 200 <= found["gbot_robots/fetch_ms/max"] <= lasted_ms
        assert found["gbot_robots/fetch_ms/max"] <= found["gbot_robots/fetch_ms/sum"] <= 4 * lasted_ms
        assert all(isinstance(value, int) for value in found.values())


@pytest.mark.parametrize(
    ("settings", "line", "stat"),
    [
        pytest.param({"GBOT_ROBOTS_STORAGE": "memory"}, "memory: kept until the crawl ends", "memory", id="memory"),
        pytest.param(
            {"GBOT_ROBOTS_STORAGE": "sqlite"}, "memory: there is no scrapy.cfg here and", "memory", id="no-project"
        ),
        pytest.param(
            {"GBOT_ROBOTS_STORAGE": "sqlite", "GBOT_ROBOTS_SQLITE_PATH": "PATH"},
            "sqlite at PATH",
            "sqlite",
            id="sqlite",
        ),
        pytest.param(
            {"GBOT_ROBOTS_STORAGE": "redis", "REDIS_URL": "redis://:secret@127.0.0.1:PORT/3"},
            "redis at 127.0.0.1:PORT, database 3",
            "redis",
            id="redis",
        ),
        pytest.param(
            {
                "GBOT_ROBOTS_STORAGE": "redis",
                "REDIS_HOST": "127.0.0.1",
                "REDIS_PORT": "PORT",
                "REDIS_PARAMS": {"password": "secret"},
            },
            "redis at 127.0.0.1:PORT, database 0",
            "redis",
            id="redis-host",
        ),
        pytest.param(
            {"GBOT_ROBOTS_STORAGE": "scrapy_gbot_robots.storage.memory.MemoryStorage"},
            "scrapy_gbot_robots.storage.memory.MemoryStorage",
            "other",
            id="own",
        ),
    ],
)
@in_reactor
async def test_log_names_the_storage_that_has_answered(
    settings: dict[str, Any], line: str, stat: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="scrapy_gbot_robots")
    port = free_port()

    def filled(text: str) -> str:
        return text.replace("PATH", str(tmp_path / "robots.sqlite")).replace("PORT", str(port))

    with ExitStack() as stack:
        site = stack.enter_context(Site({"/robots.txt": RULES, "*": b"ok"}))
        if stat == "redis":
            server = stack.enter_context(redis_server(port=port))
            with redis.Redis.from_url(server.url) as client:
                client.config_set("requirepass", "secret")
        named = {name: filled(value) if isinstance(value, str) else value for name, value in settings.items()}
        crawler = await crawl(Pages, named, urls=[site.url("/page")])
    (message,) = said(caplog, "storage.client", logging.INFO)
    assert message.startswith(f"This crawl stores robots.txt files in {filled(line)}")
    assert "secret" not in message
    assert stats(crawler)[f"gbot_robots/storage/{stat}"] == 1


@in_reactor
async def test_storage_that_fails_at_once_is_named_with_its_settings_and_not_as_the_one_in_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="scrapy_gbot_robots")
    path = tmp_path / "robots.sqlite"
    path.write_text("a user's own notes")
    away = f"redis://user:secret@127.0.0.1:{free_port()}/0"
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        for settings, says, setting in (
            ({"GBOT_ROBOTS_STORAGE": "redis", "GBOT_ROBOTS_REDIS_URL": away}, "Redis at", "GBOT_ROBOTS_REDIS_URL"),
            (
                {"GBOT_ROBOTS_STORAGE": "sqlite", "GBOT_ROBOTS_SQLITE_PATH": str(path)},
                str(path),
                "GBOT_ROBOTS_SQLITE_PATH",
            ),
            ({"GBOT_ROBOTS_STORAGE": f"{__name__}.Broken"}, "the disk is on fire", "GBOT_ROBOTS_STORAGE"),
        ):
            caplog.clear()
            crawler = await crawl(Pages, settings, urls=[site.url("/page")])
            assert pages(crawler).crawled
            (warning,) = said(caplog, "storage.client", logging.WARNING)
            assert says in warning
            assert setting in warning
            assert "secret" not in warning
            assert said(caplog, "storage.client", logging.INFO) == []
            assert stats(crawler)["gbot_robots/storage/fallback"] == 1


class Broken(MemoryStorage):
    """A user's storage that cannot be opened."""

    def __init__(self) -> None:
        raise OSError("the disk is on fire")


@in_reactor
async def test_storage_that_answers_later_is_named_then(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, logger="scrapy_gbot_robots")
    monkeypatch.setattr(client_module, "TRY_AGAIN_SECS", 0.05)
    path = tmp_path / "robots.sqlite"
    path.mkdir()
    with Site({"/robots.txt": RULES, "*": b"ok"}) as site:
        seen: list[list[str]] = []

        async def script(visitor: Visitor) -> None:
            assert await visitor.may(site.url("/page"))
            seen.append(said(caplog, "storage.client", logging.INFO))
            path.rmdir()
            await until(lambda: len(said(caplog, "storage.client", logging.INFO)) == 2)

        settings = {"GBOT_ROBOTS_STORAGE": "sqlite", "GBOT_ROBOTS_SQLITE_PATH": str(path)}
        await visit(script, **settings)
        assert seen == [[]]
        assert (
            said(caplog, "storage.client", logging.INFO)[1] == f"This crawl stores robots.txt files in sqlite at {path}"
        )


def test_log_names_the_redis_of_a_queue_that_is_elsewhere() -> None:
    settings = {"SCHEDULER": "scrapy_redis.scheduler.Scheduler", "REDIS_HOST": "queue", "GBOT_ROBOTS_STORAGE": "redis"}
    same = get_crawler(settings_dict=settings)
    assert str(choice_of(GbotSettings.of(same.settings), same)) == "redis at queue:6379, database 0"
    other = get_crawler(settings_dict={**settings, "GBOT_ROBOTS_REDIS_URL": "redis://localhost/1"})
    assert str(choice_of(GbotSettings.of(other.settings), other)) == (
        "redis at localhost:6379, database 1: scrapy-redis keeps its queue in another one, queue:6379, database 0"
    )
