"""What a crawl says about its robots.txt files: enough for an operator at night, and not a line for each of thousands."""

import logging
import sys
import time
from contextlib import closing
from pathlib import Path
from socket import socket
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy import signals as scrapy_signals
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.test import get_crawler

from scrapy_gbot_robots import Answer, Origin, RobotsTxt, State, UserAgent, signals
from scrapy_gbot_robots.answers import events
from scrapy_gbot_robots.concurrency import pause
from scrapy_gbot_robots.core.robots import groups_of
from scrapy_gbot_robots.obeying import room
from scrapy_gbot_robots.settings import GbotSettings
from scrapy_gbot_robots.signals import (
    robotstxt_changed,
    robotstxt_known,
    robotstxt_unreachable,
)
from scrapy_gbot_robots.storage.client import choice_of
from scrapy_gbot_robots.storage.memory import MemoryStorage
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.clock import DAY, Clock
from ..support.command import run_here
from ..support.crawls import (
    Pages,
    as_scrapy_runs_it,
    crawl,
    errors,
    in_reactor,
    in_sqlite,
    own_warnings,
    pages,
    stats,
)
from ..support.rows import row, table
from ..support.until import until
from ..support.visits import Visitor, fetches, visiting
from ..support.web import Reply, Site, free_port, raw, redirect

RULES = b"user-agent: *\ndisallow: /no"


def said(caplog: pytest.LogCaptureFixture, module: str, level: int) -> list[str]:
    found = [each for each in caplog.records if each.name == f"scrapy_gbot_robots.{module}"]
    return [each.getMessage() for each in found if each.levelno == level]


@as_scrapy_runs_it
async def test_log_warns_of_the_first_unreachable_files_only(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_WARNED", 2)
    with Site({"/robots.txt": Reply(503)}, host="0.0.0.0") as site:
        urls = [f"http://127.0.0.{number}:{site.port}/robots.txt" for number in (1, 2, 3)]
        async with visiting() as visitor:
            for url in urls:
                assert not await visitor.may(url.replace("robots.txt", ""))
    for warning, url in zip(own_warnings(caplog), urls[:2], strict=True):
        assert warning.startswith(
            f"Could not fetch {url} (HTTP 503): for now, no page of this site"
        )


@table(
    "page, what, advice",
    row("page", b"<pre>User-agent: *\nDisallow: /no\n</pre>", "a web page", "with a browser"),
    row("utf-16", "User-agent: *\nDisallow: /no".encode("utf-16"), "UTF-16 text", "site's owner"),
    row(
        "json-string", b'"User-agent: *\\nDisallow: /no"', "text in quotation marks", "site's owner"
    ),
)
@in_reactor
async def test_first_file_with_rules_inside_that_are_not_read_is_warned_of(
    page: bytes, what: str, advice: str, caplog: pytest.LogCaptureFixture
) -> None:
    log_in = b"<html><body>Please log in</body></html>"
    with (
        Site({"/robots.txt": page, "*": b"ok"}) as rendered,
        Site({"/robots.txt": page, "*": b"ok"}) as another,
        Site({"/robots.txt": log_in, "*": b"ok"}) as plain,
    ):
        urls = [site.url("/no") for site in (rendered, another, plain)]
        settings = {"CONCURRENT_REQUESTS": 1}
        crawler = await crawl(Pages, settings, urls=urls)
    assert set(pages(crawler).crawled) == set(urls)
    (warning,) = own_warnings(caplog)
    assert f" arrived as {what} with rules inside, and these rules are not read" in warning
    assert advice in warning
    assert warning.startswith((rendered.url("/robots.txt"), another.url("/robots.txt")))
    assert stats(crawler)["gbot_robots/origins/full_allow"] == 3


@in_reactor
async def test_stats_say_what_was_fetched_and_in_which_state_origins_are() -> None:
    with (
        Site({"/robots.txt": RULES, "*": b"ok"}) as a,
        Site({"*": b"ok"}) as b,
        Site({"/robots.txt": Reply(503, after_secs=1.2), "*": b"ok"}) as c,
        Site({"/robots.txt": redirect("/gone"), "/gone": Reply(404), "*": b"ok"}) as d,
    ):
        began = time.monotonic()
        urls = [site.url(f"/{page}") for page in range(3) for site in (a, b, c, d)]
        crawler = await crawl(Pages, urls=urls)
        assert stats(crawler, "gbot_robots/origins/") == {
            "rules": 2,
            "full_allow": 1,
            "full_disallow": 1,
        }
        found = stats(crawler, "gbot_robots/")
        outcomes = ("fetched", "unavailable", "unreachable")
        assert [found[outcome] for outcome in outcomes] == [2, 1, 1]
        assert stats(crawler, "robotstxt/") == {
            "request_count": 4,
            "response_count": 4,
            "response_status_count/200": 2,
            "response_status_count/404": 1,  # after a redirect
            "response_status_count/503": 1,
            "forbidden": 3,
        }
        assert found["bytes"] == len(RULES) + len(b"ok")
        lasted_ms = 1000 * (time.monotonic() - began)
        assert 1200 <= found["fetch_ms/max"] <= lasted_ms
        assert found["fetch_ms/max"] <= found["fetch_ms/sum"]
        assert found["fetch_ms/sum"] <= 4 * lasted_ms
        assert all(isinstance(value, int) for value in found.values())


STORAGE = "GBOT_ROBOTS_STORAGE"
REDIS = {STORAGE: "redis"}
REDIS_HOST = {**REDIS, "REDIS_HOST": "queue", "REDIS_PARAMS": {"password": "secret"}}
REDIS_URL = {**REDIS, "REDIS_URL": "redis://:secret@127.0.0.1:7/3"}
UNUSED = {"GBOT_ROBOTS_SQLITE_PATH": "unused.sqlite"}
NO_PROJECT = (
    "memory, because there is no scrapy.cfg here and GBOT_ROBOTS_SQLITE_PATH names no file. "
    "Nothing is kept for the next run"
)


MEMORY = "memory, which only this process uses, until the crawl ends"


@table(
    "settings, named",
    row("memory", {STORAGE: "memory", **UNUSED}, MEMORY),
    row("no-project", {STORAGE: "sqlite"}, NO_PROJECT),
    row("relative-path", {"GBOT_ROBOTS_SQLITE_PATH": "r.sqlite"}, "sqlite at {path}"),
    row("redis-url", {**REDIS_URL, **UNUSED}, "redis at 127.0.0.1:7, database 3"),
    row("redis-host", REDIS_HOST, "redis at scrapy_redis.connection.get_redis_from_settings"),
    row("own", {STORAGE: "own.Storage", **UNUSED}, "own.Storage"),
)
def test_storage_is_named_without_passwords(
    settings: dict[str, Any], named: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "own", SimpleNamespace(Storage=MemoryStorage))
    if settings is REDIS_HOST:
        pytest.importorskip("scrapy_redis")
    crawler = get_crawler(settings_dict=settings)
    words = choice_of(GbotSettings.of(crawler.settings), crawler).words
    assert words == named.format(path=Path.cwd() / "r.sqlite")


AWAY = {**REDIS, "GBOT_ROBOTS_REDIS_URL": f"redis://user:secret@127.0.0.1:{free_port()}/0"}


NO_FILE = in_sqlite(Path(__file__, "robots.sqlite"))
BROKEN = {STORAGE: f"{__name__}.Broken"}


@table(
    "kind, settings, place, says, setting",
    row("redis", "redis", AWAY, "redis at 127.0.0.1:", "Redis at", "GBOT_ROBOTS_REDIS_URL"),
    row("sqlite", "sqlite", NO_FILE, f"sqlite at {__file__}", __file__, "GBOT_ROBOTS_SQLITE_PATH"),
    row("own", "other", BROKEN, f"{__name__}.Broken", "the disk is on fire", STORAGE),
)
@in_reactor
async def test_log_names_the_storage_and_if_it_fails_what_may_help_without_passwords(
    kind: str,
    settings: dict[str, Any],
    place: str,
    says: str,
    setting: str,
    site: Site,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, logger="scrapy_gbot_robots")
    crawler = await crawl(Pages, settings, urls=[site.url("/page")])
    assert pages(crawler).crawled
    (message,) = said(caplog, "storage.client", logging.INFO)
    assert message.startswith(f"This crawl stores robots.txt files in {place}")
    (warning,) = said(caplog, "storage.client", logging.WARNING)
    assert says in warning
    assert setting in warning
    assert "secret" not in warning + message
    # StorageError says it all; what a class of the user's raises may be a bug.
    assert ("Traceback" in caplog.text) is (kind == "other")
    assert stats(crawler)[f"gbot_robots/storage/{kind}"] == 1
    assert stats(crawler)["gbot_robots/storage/fallback"] == 1
    assert stats(crawler)["gbot_robots/storage/errors"] == 1


class Broken(MemoryStorage):
    """A user's storage that cannot be opened."""

    def __init__(self) -> None:
        raise OSError("the disk is on fire")


# Files that change

OLD = b"user-agent: *\ndisallow: /a\n"


@table(
    "new, changes",
    row("rules", b"user-agent: *\ndisallow: /b\n", 1),
    row("large", b"user-agent: *\ndisallow: /a\n" + b"disallow: /b%d\n" * 3000, 1),
    row("preferences", OLD + b"content-signal: ai-train=no\n", 1),
    row("vanished", Reply(404, b"nothing here"), 1),
    row("only-a-comment", b"# of today\n" + OLD, 0),
)
@as_scrapy_runs_it
async def test_signal_has_the_new_rules_and_the_old_and_the_stats_count_it(
    new: bytes | Reply, changes: int, site: Site, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "scrapy_gbot_robots")
    seen: list[Any] = []
    site.pages["/robots.txt"] = OLD

    def changed(origin: Origin, old: RobotsTxt, new: RobotsTxt, spider: Visitor) -> None:
        seen.append((str(origin), old.allowed("/a", "testbot"), spider))
        assert all_of(new) != all_of(old)

    def all_of(robotstxt: RobotsTxt) -> object:
        return groups_of(robotstxt), robotstxt.fields("content-signal")

    async with visiting() as visitor:
        visitor.crawler.signals.connect(changed, robotstxt_changed, weak=False)
        await visitor.may(site.url("/c"))
        site.pages["/robots.txt"] = new
        clock.goes_on(DAY + 1)
        await visitor.may(site.url("/c"))
        await (until(lambda: seen) if changes else pause(0.3))
    assert fetches(site) == 2
    assert seen == [(site.url("").rstrip("/"), False, visitor.crawler.spider)] * changes
    assert stats(visitor.crawler).get("gbot_robots/files/changed", 0) == changes
    assert caplog.messages.count(f"{site.url('/robots.txt')} has new rules") == changes


# Signals, and their handlers


@in_reactor
async def test_signals_tell_of_each_response_outage_robots_txt_and_refusal(site: Site) -> None:
    answers = iter([Reply(503), Reply(503), Reply(200, RULES)])

    def answer(connection: socket) -> None:
        next(answers)(connection)

    site.pages |= {"/robots.txt": redirect("/r"), "/r": answer}
    heard: list[str] = []
    hears: dict[object, Any] = {
        signals.robotstxt_served: lambda outcome, response: heard.append(
            f"served: {type(outcome).__name__}, {response.status}"
        ),
        signals.robotstxt_unreachable: lambda answer: heard.append(f"unreachable: {answer.why}"),
        signals.robotstxt_known: lambda robotstxt: heard.append(f"known: {robotstxt.sitemaps}"),
        signals.request_forbidden: lambda request: heard.append(f"forbidden: {request.url[-3:]}"),
    }
    scrapys = getattr(scrapy_signals, "robots_parsed", None)  # from Scrapy 2.18
    if scrapys is not None:
        hears[scrapys] = lambda robotparser: heard.append(
            f"parsed: {robotparser.allowed('/no', 'testbot')}"
        )
    settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 20}
    await crawl(Pages, settings, hears=hears, urls=[site.url("/no")])
    assert heard == [
        "served: Unreachable, 503",
        "unreachable: robots.txt unreachable: HTTP 503",
        "served: Unreachable, 503",
        "served: Fetched, 200",
        "known: ()",
        *["parsed: False"] * (scrapys is not None),
        "forbidden: /no",
    ]


@in_reactor
async def test_handlers_get_an_answer_that_cannot_be_changed(site: Site) -> None:
    replies = iter([Reply(503), Reply(200, RULES)])
    heard: list[Answer] = []

    def reply(connection: socket) -> None:
        next(replies)(connection)

    def hear(answer: Answer) -> None:
        heard.append(answer)

    site.pages["/robots.txt"] = reply
    hears: dict[object, Any] = {robotstxt_known: hear, robotstxt_unreachable: hear}
    settings = {"GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 20}
    await crawl(Pages, settings, hears=hears, urls=[site.url("/no")])
    states = [(answer.state, answer.status) for answer in heard]
    assert states == [(State.FULL_DISALLOW, 503), (State.RULES, 200)]
    public = {name for name in dir(Answer) if not name.startswith("_")}
    for answer in heard:
        assert isinstance(answer, Answer)
        assert {name for name in dir(answer) if not name.startswith("_")} == public
        for name in ("state", "why", "a_name_of_my_own"):
            with pytest.raises(AttributeError):
                setattr(answer, name, State.FULL_ALLOW)
        with pytest.raises(AttributeError):
            del answer.state
        assert not answer.allowed(site.url("/no"), UserAgent.of("testbot"))
    assert heard[1].allowed(site.url("/yes"), UserAgent.of("testbot"))


@in_reactor
async def test_handler_may_request_a_page_of_the_origin_and_runs_to_its_end(site: Site) -> None:
    ended: list[bool] = []

    async def ask(spider: Pages) -> None:
        """Request one more page at a signal, and take some time."""
        assert spider.crawler.engine
        asked = spider.crawler.engine.download_async(Request(site.url("/by-the-handler")))
        await maybe_deferred_to_future(deferred_from_coro(asked))
        await pause(0.05)
        ended.append(True)

    settings = {"CLOSESPIDER_TIMEOUT": 120}
    hears: dict[object, Any] = {robotstxt_known: ask}
    crawler = await crawl(Pages, settings, hears=hears, urls=[site.url("/first")])
    assert ended == [True]
    assert sorted(site.paths()) == ["/by-the-handler", "/first", "/robots.txt"]
    assert stats(crawler)["finish_reason"] == "finished"


@pytest.mark.parametrize("waits", [False, True])
@as_scrapy_runs_it
async def test_handler_that_fails_is_logged_and_delays_no_other_and_no_page(
    waits: bool, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[tuple[Origin, list[str]]] = []

    async def fail_later() -> None:
        await pause(0.01)
        raise ZeroDivisionError

    def fail() -> None:
        raise ZeroDivisionError

    def hear(origin: Origin) -> None:
        told.append((origin, site.paths()))

    async with visiting() as visitor:
        for handler in (fail_later if waits else fail, hear):
            visitor.crawler.signals.connect(handler, robotstxt_known, weak=False)
        assert await visitor.may(site.url("/"))
        await until(lambda: errors(caplog))
    assert told == [(Origin.of(site.url("")), ["/robots.txt"])]  # before the page was asked for
    (error,) = errors(caplog)
    where = "Unexpected error in background" if waits else "Error caught on signal handler"
    assert error.startswith(where)
    assert "ZeroDivisionError" in caplog.text


@table(
    "location, why",
    row("loop", "/robots.txt", "redirects in a loop"),
    row("no-way", "mailto:a@b", "without a Location that can be followed"),
)
@in_reactor
async def test_redirect_not_followed_is_told(
    location: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with Site({"/robots.txt": redirect(location), "*": b"ok"}) as site:
        await crawl(Pages, urls=[site.url("/")])
    told = said(caplog, "answers.events", logging.INFO)
    assert f"{site.url('/robots.txt')}: HTTP 302 {why}, as 404" in told


def outages(caplog: pytest.LogCaptureFixture) -> list[str]:
    texts = [record.getMessage() for record in caplog.records if record.name.endswith(".events")]
    return [text for text in texts if text.startswith("Could not fetch")]


@table(
    "cache, ending",
    row("without-the-cache", False, "which usually takes a few seconds"),
    row(
        "with-the-cache",
        True,
        "site, set ROBOTSTXT_OBEY = False and HTTPCACHE_IGNORE_MISSING = True",
    ),
)
@in_reactor
async def test_refused_connection_is_not_announced_as_the_wait_and_the_cache_is_named(
    cache: bool, ending: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    settings = {
        "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 60,
        "HTTPCACHE_ENABLED": cache,
        "HTTPCACHE_DIR": str(tmp_path),
    }
    began = time.monotonic()
    await crawl(Pages, settings, urls=[f"http://127.0.0.1:{free_port()}/x"])
    (text,) = outages(caplog)
    assert time.monotonic() - began < 50
    assert "60" not in text.partition("): ")[2]
    assert "requests wait until 3 tries in a row have found no server" in text
    assert text.endswith(ending)


WAITS = (
    "so its requests wait about {} s (GBOT_ROBOTS_UNREACHABLE_WAIT_SECS), and are then forbidden. "
)


@table(
    "wait_secs, pause_secs, unreachable, ending",
    row("no-wait", 0, 600, "google", " s. To make the next run try at once: "),
    row("short-wait", 0.1, 600, "google", WAITS.format(0.1)),
    row("next-try-comes-soon", 5, 3, "google", "Its requests wait about 5 s for a retry"),
    row("all-allowed", 0, 600, "allow", ""),
)
@in_reactor
async def test_stored_failure_is_told_as_stored(
    wait_secs: float,
    pause_secs: int,
    unreachable: str,
    ending: str,
    caplog: pytest.LogCaptureFixture,
    project: Path,
) -> None:
    caplog.set_level("INFO", logger="scrapy_gbot_robots")
    settings = {
        **in_sqlite(project / ".scrapy" / "gbot_robots" / "robots.sqlite"),
        "GBOT_ROBOTS_UNREACHABLE": unreachable,
        "GBOT_ROBOTS_UNREACHABLE_WAIT_SECS": 0,
    }
    down = iter([Reply(500, b"", {"Retry-After": str(pause_secs)})])

    def robots_txt(connection: socket) -> None:
        next(down, Reply(200))(connection)

    with Site({"/robots.txt": robots_txt, "*": b"ok"}) as site:
        urls = [site.url("/page")]
        await crawl(Pages, settings, urls=urls)
        (own,) = outages(caplog)
        assert "stored" not in own
        assert "next try" not in own
        caplog.clear()

        settings["GBOT_ROBOTS_UNREACHABLE_WAIT_SECS"] = wait_secs  # The site is up again.
        second = await crawl(Pages, settings, urls=urls)
        (text,) = outages(caplog)
        assert "An earlier crawl or another process has stored this failure" in text
        assert ending in text
        is_asked = site.paths().count("/robots.txt") == 2
        assert is_asked == ("retry" in ending)
        assert bool(pages(second).refused) == text.endswith("cache forget " + site.url(""))
        assert ("HTTP 500; from the storage)" in caplog.text) != is_asked

        if pages(second).refused:
            assert "The next try is due in " in text
            ended = run_here(*text.partition("scrapy robots ")[2].split(), cwd=project)
            assert ended.out == f"{site.url('')}: forgotten\n"
            third = await crawl(Pages, settings, urls=urls)
            assert set(pages(third).crawled) == set(urls)


@in_reactor
async def test_slow_robots_txt_that_requests_wait_for_is_told_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level("INFO", logger="scrapy_gbot_robots")
    monkeypatch.setattr(room, "LATE_SECS", 0.2)
    monkeypatch.setattr(room, "SLOW_SECS", 0.3)
    rules = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    with Site({"/robots.txt": raw(1.5, rules), "*": b"ok"}) as slow, Site({"*": b"ok"}) as quick:
        urls = [slow.url("/1"), slow.url("/2"), quick.url("/1")]
        crawler = await crawl(Pages, urls=urls)
    assert set(pages(crawler).crawled) == set(urls)
    (text,) = [each for each in caplog.messages if "has not arrived" in each]
    assert text.startswith(f"{slow.url('/robots.txt')} has not arrived within")
    assert "requests that wait for it: 2." in text
    assert "its server is slow" in text


@in_reactor
async def test_slow_robots_txt_that_another_process_downloads_is_told_as_such(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    caplog.set_level("INFO", logger="scrapy_gbot_robots")
    monkeypatch.setattr(room, "LATE_SECS", 0.2)
    monkeypatch.setattr(room, "SLOW_SECS", 0.3)
    path = tmp_path / "robots.sqlite"
    with Site({"*": b"ok"}) as site, closing(SqliteStorage(path)) as other:
        assert other.lease(site.url(""), 1.5)
        crawler = await crawl(Pages, in_sqlite(path), urls=[site.url("/1")])
    assert set(pages(crawler).crawled) == {site.url("/1")}
    (text,) = [each for each in caplog.messages if "has not arrived" in each]
    assert "wait for it: 1. Another crawl is downloading it" in text
    assert "slow, or" not in text
