"""The storage as a crawl uses it: it never delays the crawl, whatever happens to the disk or the server."""

import errno
import logging
import re
import sys
import threading
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
import redis
from scrapy.crawler import Crawler
from scrapy.utils.test import get_crawler
from typing_extensions import Self

from scrapy_gbot_robots.concurrency import within
from scrapy_gbot_robots.policy.outages import Entry
from scrapy_gbot_robots.settings import GbotSettings
from scrapy_gbot_robots.storage import client as client_module
from scrapy_gbot_robots.storage.base import Storage, StorageError
from scrapy_gbot_robots.storage.client import StorageChoice, StorageClient, choice_of
from scrapy_gbot_robots.storage.memory import MemoryStorage
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.crawls import Pages, as_scrapy_runs_it, crawl, in_reactor, together, under_way
from ..support.entries import FAILED, ORIGIN, RULES, WORKS, Leasing, rules, said
from ..support.redis_server import NO_VALKEY
from ..support.rows import row, table
from ..support.until import until
from ..support.web import Site

OTHER = "https://other.example"


@asynccontextmanager
async def opened(opens: Callable[[], Storage]) -> AsyncIterator[StorageClient]:
    """The client of a storage, which is closed in the end."""
    client = StorageClient(StorageChoice("test", opens, ""), get_crawler(), lease_secs=60)
    try:
        yield client
    finally:
        await client.close()


@pytest.fixture(autouse=True)
def _heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger=client_module.__name__)


@as_scrapy_runs_it
async def test_lease_comes_with_no_good_entry_and_ends_with_the_fetch_or_with_the_crawl(
    tmp_path: Path,
) -> None:
    opens = partial(SqliteStorage, tmp_path / "robots.sqlite")
    async with opened(opens) as one:
        async with opened(opens) as other:
            assert await other.find(ORIGIN, bool) == (None, True)
            assert await one.find(ORIGIN, bool) == (None, False)
            await other.store_and_release(ORIGIN, Entry(RULES))
            assert await one.find(ORIGIN, bool) == (Entry(RULES), False)
            assert await other.find(ORIGIN, lambda _: False) == (Entry(RULES), True)
        assert await one.find(ORIGIN, lambda _: False) == (Entry(RULES), True)


@as_scrapy_runs_it
async def test_memory_answers_at_once_without_a_thread() -> None:
    threads = set(threading.enumerate())
    async with opened(MemoryStorage) as entries:
        with pytest.raises(StopIteration) as ended:
            # a coroutine that has to wait does not end here
            entries.find(ORIGIN, bool).send(None)
        assert ended.value.value == (None, True)
        assert set(threading.enumerate()) <= threads  # one of an earlier test may end meanwhile


class Gated(Leasing):
    """Remembers the calls of `find`, and waits for `go` in each."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.go = threading.Event()

    def find(
        self, origin: str, is_good: Callable[[Entry | None], bool], secs: float
    ) -> tuple[Entry | None, str | None]:
        self.calls.append(origin)
        assert self.go.wait(20)
        if origin == "https://13.example":
            raise OSError("it is away")
        return super().find(origin, is_good, secs)


@as_scrapy_runs_it
async def test_several_origins_are_asked_for_at_a_time_of_one_storage() -> None:
    gated, threads, opened_in = Gated(), set(threading.enumerate()), []

    def opens() -> Storage:
        opened_in.append(threading.current_thread())
        return gated

    async with opened(opens) as entries:
        calls = [under_way(entries.find(str(number), bool)) for number in range(200)]
        await until(lambda: len(gated.calls) == client_module.THREADS)  # and none has ended
        calls.pop().addErrback(lambda _: None).cancel()
        gated.go.set()
        assert await together(*calls) == [(None, True)] * len(calls)
        used = set(threading.enumerate()) - threads
    (first,) = opened_in
    assert first in used
    for thread in used:  # they end with the client
        thread.join(10)
        assert not thread.is_alive()


class Sticky(MemoryStorage):
    """Raises `error` when it is closed. If `error` is None, it waits for `go`."""

    def __init__(self, error: Exception | None) -> None:
        super().__init__()
        self.error = error
        self.go = threading.Event()

    def close(self) -> None:
        if self.error is not None:
            raise self.error
        self.go.wait(20)


@table(
    "error, why",
    row("late", None, "no answer within 0.2 s"),
    row("error", OSError("it sticks"), "it sticks"),
    row("error-without-text", NotImplementedError(), "NotImplementedError"),
    row("its-own-timeout", TimeoutError(), "TimeoutError"),
)
@as_scrapy_runs_it
async def test_storage_that_does_not_close_is_logged_and_delays_the_end_by_five_seconds_at_most(
    error: Exception | None,
    why: str,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert client_module.CLOSE_SECS == 5
    monkeypatch.setattr(client_module, "CLOSE_SECS", 0.2 if error is None else 5)
    sticky = Sticky(error)
    async with opened(lambda: sticky) as entries:
        assert await entries.find(ORIGIN, bool) == (None, True)
    (warning,) = caplog.messages
    assert warning == f"The robots.txt storage could not be closed properly: {why}"
    sticky.go.set()


@as_scrapy_runs_it
async def test_error_of_another_kind_is_logged_with_its_traceback_and_leases_are_given_back_at_the_end(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "TRY_AGAIN_SECS", 0.05)
    gated = Gated()
    gated.go.set()
    async with opened(lambda: gated) as entries:
        assert await entries.find(ORIGIN, bool) == (None, True)
        assert await entries.find("https://13.example", bool) == (None, True)  # by memory
        assert "OSError: it is away" in caplog.text
        await until(lambda: said(caplog) == [FAILED, WORKS])
    assert not gated.leases


@table(
    "error, why",
    row("no-text", NotImplementedError(), "NotImplementedError"),
    row("text", KeyError("a"), "KeyError: 'a'"),
    row("its-own-timeout", TimeoutError(), "TimeoutError"),
    row("expected", StorageError(), "StorageError"),
)
@as_scrapy_runs_it
async def test_error_without_a_text_is_logged_by_its_class(
    error: Exception, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(MemoryStorage):
        def find(self, *_: Any) -> Any:
            raise error

    async with opened(Failing) as entries:
        assert await entries.find(ORIGIN, bool) == (None, True)
    (warning,) = caplog.messages
    assert warning.startswith(f"The robots.txt storage failed: {why}. Until it works again, ")


@as_scrapy_runs_it
async def test_late_call_is_given_up_with_all_behind_it_and_the_storage_is_used_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("CALL_SECS", 0.2), ("TRY_AGAIN_SECS", 0.1), ("THREADS", 1)):
        monkeypatch.setattr(client_module, name, value)
    gated = Gated()
    async with opened(lambda: gated) as entries:
        calls = [under_way(entries.find(origin, bool)) for origin in (ORIGIN, OTHER)]
        assert await together(*calls) == [(None, True)] * len(calls)  # by memory
        assert said(caplog) == [FAILED]
        assert "no answer within 0.2 s. Until" in caplog.text
        gated.go.set()
        await until(lambda: WORKS in said(caplog))
        assert gated.calls == [ORIGIN]
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert not gated.leases  # what came too late was given back


@as_scrapy_runs_it
async def test_lease_that_comes_after_its_caller_was_cancelled_is_given_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gated = Gated()
    async with opened(lambda: gated) as entries:
        seeking = under_way(entries.find(ORIGIN, bool)).addErrback(lambda _: None)
        await until(lambda: gated.calls)
        seeking.cancel()
        gated.go.set()
    assert said(caplog) == []
    assert not gated.leases


@as_scrapy_runs_it
async def test_storage_that_fails_to_the_end_is_tried_no_more_after_it() -> None:
    def broken() -> Storage:
        raise OSError("it is away")

    async with opened(broken) as entries:
        assert await entries.find(ORIGIN, bool) == (None, True)
    await within(5, entries._background.ended())


@pytest.mark.parametrize("storage", ["sqlite", "redis"])
def test_body_of_the_size_allowed_comes_back(storage: str, tmp_path: Path, redis_url: str) -> None:
    settings: dict[str, Any] = {
        "GBOT_ROBOTS_STORAGE": storage,
        "GBOT_ROBOTS_MAX_BYTES": 1_000_000,
        "GBOT_ROBOTS_SQLITE_PATH": str(tmp_path / "robots.sqlite"),
        "GBOT_ROBOTS_REDIS_URL": redis_url,
    }
    crawler = get_crawler(settings_dict=settings)
    choice = choice_of(GbotSettings.of(crawler.settings), crawler)
    with closing(choice.opens()) as opened:
        for size, comes_back in ((1_000_000, True), (1_000_001, False)):
            entry = rules(b"x" * size)
            opened.put(ORIGIN, entry)
            assert (opened.get(ORIGIN) == entry) is comes_back


@as_scrapy_runs_it
async def test_lease_lasts_twice_as_long_as_a_fetch_may(redis_url: str) -> None:
    redbool = {"GBOT_ROBOTS_STORAGE": "redis", "GBOT_ROBOTS_REDIS_URL": redis_url}
    settings = {**redbool, "GBOT_ROBOTS_TIMEOUT_SECS": 200}
    crawler = get_crawler(settings_dict=settings)
    client = StorageClient.of(GbotSettings.of(crawler.settings), crawler)
    try:
        assert await client.find(ORIGIN, bool) == (None, True)
        with redis.Redis.from_url(redis_url) as other:
            assert 300_000 < other.pttl(f"gbot_robots:lease:{{{ORIGIN}}}") <= 400_000
    finally:
        await client.close()


class Failing(MemoryStorage):
    def find(self, *_: object) -> tuple[Entry | None, str | None]:
        raise StorageError("cannot use it: FullError: it is full", "Free it")


@as_scrapy_runs_it
async def test_warning_of_a_failure_ends_with_what_helps(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(Failing) as entries:
        await entries.find(ORIGIN, bool)
    (warning,) = (each for each in caplog.records if each.levelno == logging.WARNING)
    text = warning.getMessage()
    assert text.startswith("The robots.txt storage failed: cannot use it: FullError: it is full.")
    assert text.endswith(". Free it")


class OfACrawler(MemoryStorage):
    """Is made by its `from_crawler`, and notes for which crawl and in which thread."""

    made: ClassVar[list[tuple[Crawler, bool]]] = []

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        cls.made.append((crawler, threading.current_thread() is threading.main_thread()))
        return cls()


@in_reactor
async def test_storage_of_the_users_is_made_by_its_from_crawler_in_a_thread() -> None:
    settings = {"GBOT_ROBOTS_STORAGE": f"{__name__}.OfACrawler"}
    with Site({"*": b""}) as site:
        crawler = await crawl(Pages, settings, urls=[site.url("/x")])
    assert OfACrawler.made == [(crawler, False)]


class Duck:
    """A class with the methods of a storage, without our base."""

    get = put = delete = origins = lease = release = close = lambda *_: None


class Lame(MemoryStorage):
    lease = abstractmethod(MemoryStorage.lease)


@table(
    "name, error, why",
    ("nowhere.Storage", ImportError, "No module named"),
    (f"{__name__}.Nothing", ImportError, "Module "),
    ("os.path", ValueError, "which is <module"),
    (f"{__name__}.Duck", ValueError, "which is <class"),
    (f"{__name__}.Lame", ValueError, "which is <class"),
)
def test_what_is_no_storage_stops_the_start(name: str, error: type[Exception], why: str) -> None:
    rule = "a subclass of scrapy_gbot_robots.storage.base.Storage that has all its methods"
    crawler = get_crawler(settings_dict={"GBOT_ROBOTS_STORAGE": name})
    said = f"^GBOT_ROBOTS_STORAGE must name {rule}, got '{name}'.{{1,2}}{why}"
    with pytest.raises(error, match=said):
        choice_of(GbotSettings.of(crawler.settings), crawler)


def test_client_of_scrapy_redis_that_is_not_installed_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("scrapy_redis", "scrapy_redis.connection"):
        monkeypatch.setitem(sys.modules, module, None)
    own = {"GBOT_ROBOTS_STORAGE": "redis", "REDIS_HOST": "redis.example"}
    crawler = get_crawler(settings_dict=own)
    said = "REDIS_HOST, .*, which are settings of scrapy-redis. Install it, or set GBOT_ROBOTS_REDIS_URL$"
    with pytest.raises(ImportError, match=said):
        choice_of(GbotSettings.of(crawler.settings), crawler)
    crawler = get_crawler(settings_dict={**own, "GBOT_ROBOTS_REDIS_CLIENT": "no.where"})
    with pytest.raises(ImportError, match="No module named 'no'$"):
        choice_of(GbotSettings.of(crawler.settings), crawler)


def without_settings() -> None:
    """A function for GBOT_ROBOTS_REDIS_CLIENT must take the settings."""


async def of_asyncio(settings: object) -> None:
    """A function for GBOT_ROBOTS_REDIS_CLIENT must not be a coroutine function."""


def with_a_bug(settings: dict[str, object]) -> object:
    raise KeyError("a bug")


NOT_OF_THE_DRIVER = "must name a function of your own that takes the settings .* returns a client"


@table(
    "path, said",
    row(
        "no-argument",
        f"{__name__}.{without_settings.__name__}",
        "must name a callable with one argument, the settings",
    ),
    row("coroutine", f"{__name__}.{of_asyncio.__name__}", "must not name a coroutine function"),
    row("class", "redis.Redis", NOT_OF_THE_DRIVER),
    row("from-url", "redis.from_url", NOT_OF_THE_DRIVER),
    row("sentinel", "redis.sentinel.Sentinel", NOT_OF_THE_DRIVER),
    row("valkey", "valkey.Valkey", NOT_OF_THE_DRIVER),
)
def test_function_that_cannot_make_a_client_stops_the_crawl_at_its_start(
    path: str, said: str
) -> None:
    if path.startswith("valkey."):
        pytest.importorskip("valkey", reason=NO_VALKEY)
    own = {"GBOT_ROBOTS_STORAGE": "redis", "GBOT_ROBOTS_REDIS_CLIENT": path}
    crawler = get_crawler(settings_dict=own)
    with pytest.raises(ValueError, match=f"^GBOT_ROBOTS_REDIS_CLIENT {said}.*{re.escape(path)}"):
        choice_of(GbotSettings.of(crawler.settings), crawler)


@as_scrapy_runs_it
async def test_bug_in_a_function_for_clients_is_not_taken_for_a_redis_that_is_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = f"{__name__}.{with_a_bug.__name__}"
    own = {"GBOT_ROBOTS_STORAGE": "redis", "GBOT_ROBOTS_REDIS_CLIENT": path}
    crawler = get_crawler(settings_dict=own)
    entries = StorageClient.of(GbotSettings.of(crawler.settings), crawler)
    try:
        assert await entries.find(ORIGIN, bool) == (None, True)
    finally:
        await entries.close()
    assert "storage failed: KeyError: 'a bug'. Until" in caplog.messages[0]
    assert "Correct the function in GBOT_ROBOTS_REDIS_CLIENT" in caplog.messages[0]
    assert "Traceback" in caplog.text


def test_sqlite_lives_in_the_data_directory_of_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(path: object) -> str:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    project, outside = tmp_path / "project", tmp_path / "outside"
    inner = project / "inner"
    for folder in (inner, outside):
        folder.mkdir(parents=True)
    (project / "scrapy.cfg").write_text("[settings]\ndefault = nowhere.settings\n")
    crawler = get_crawler()
    settings = GbotSettings.of(crawler.settings)
    monkeypatch.chdir(outside)
    assert choice_of(settings, crawler).name == "memory"
    assert not list(outside.iterdir())
    monkeypatch.chdir(inner)
    path = project / ".scrapy" / "gbot_robots" / "robots.sqlite"
    assert choice_of(settings, crawler).words == f"sqlite at {path}"
    assert not path.exists()  # it is made when the crawl opens it
    monkeypatch.setattr("scrapy_gbot_robots.storage.client.data_path", read_only)
    words = choice_of(settings, crawler).words
    assert words == f"sqlite at {path}", "so opening the storage fails, and the log has the error"


def test_another_programs_file_stops_the_crawl_at_its_start_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(b"BOT_NAME = 'example'\n")
    crawler = get_crawler(settings_dict={"GBOT_ROBOTS_SQLITE_PATH": str(path)})
    with pytest.raises(ValueError, match=f"^{path} .*it is not touched.*GBOT_ROBOTS_SQLITE_PATH"):
        StorageClient.of(GbotSettings.of(crawler.settings), crawler)
    assert path.read_bytes() == b"BOT_NAME = 'example'\n"
