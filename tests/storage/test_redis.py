"""What only the Redis storage promises: servers that are away, slow, full, or hold what others wrote."""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from scrapy.settings import Settings

from scrapy_gbot_robots.policy.outages import Entry
from scrapy_gbot_robots.settings import GbotSettings
from scrapy_gbot_robots.storage import advice
from scrapy_gbot_robots.storage.base import Storage, StorageError
from scrapy_gbot_robots.storage.client import redis_choice
from scrapy_gbot_robots.storage.codec import encode

from ..support.clock import Clock
from ..support.entries import DOWN, GONE, ORIGIN, RULES, assert_miss_that_takes_little_memory, rules
from ..support.processes import ROOT
from ..support.redis_server import NoRedis, RedisServer, redis_server, storage_at
from ..support.rows import row, table
from ..support.tls import certificate_and_key
from ..support.web import free_port

redis = pytest.importorskip("redis", reason="the extra redis is not installed")

from scrapy_gbot_robots.storage import redis as redis_module  # noqa: E402 - it needs the extra
from scrapy_gbot_robots.storage.redis import RedisStorage, place_of  # noqa: E402

NewServer = Callable[..., AbstractContextManager[RedisServer]]

KEEP_SECS = 100 * 86_400
ENTRY, LEASE = f"gbot_robots:entry:{{{ORIGIN}}}", f"gbot_robots:lease:{{{ORIGIN}}}"


@pytest.fixture
def client(redis_url: str) -> Iterator[Any]:
    """Another program at the same Redis."""
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def storage(redis_url: str) -> Iterator[RedisStorage]:
    with closing(storage_at(redis_url, max_body=1000)) as storage:
        yield storage


def assert_serves(storage: Storage) -> None:
    storage.put(ORIGIN, Entry(RULES))
    assert storage.get(ORIGIN) == Entry(RULES)


def test_keys_say_whose_they_are_and_run_out(storage: RedisStorage, client: Any) -> None:
    storage.put(ORIGIN, Entry(RULES))
    storage.lease(ORIGIN, 2.5)
    assert set(client.keys()) == {ENTRY.encode(), LEASE.encode()}
    assert KEEP_SECS - 5 < client.ttl(ENTRY) <= KEEP_SECS
    assert 2000 < client.pttl(LEASE) <= 2500


@table("millisecs", row("without-end", None), row("for-31-years", 10**12))
def test_lease_that_none_of_us_took_is_free(
    storage: RedisStorage, client: Any, millisecs: int | None
) -> None:
    client.set(LEASE, "forged", px=millisecs)
    assert storage.lease(ORIGIN, 2.5)
    assert 2000 < client.pttl(LEASE) <= 2500
    client.set(LEASE, "another's", px=2000)
    client.pexpire(LEASE, 100)
    assert storage.lease(ORIGIN, 2.5) is None
    assert client.pttl(LEASE) <= 100  # another's is not made longer


@table(
    "command, values",
    row("garbage", "SET", (b"garbage",)),
    row("body-over-the-limit", "SET", (encode(rules(b"x" * 1001)),)),
    row("a-list", "RPUSH", ("a", "b")),
    row("huge", "SETRANGE", (50_000_000, b"x")),
)
def test_value_that_we_did_not_write_is_a_miss_and_of_a_huge_one_little_is_read(
    storage: RedisStorage, client: Any, command: str, values: tuple[Any, ...]
) -> None:
    client.execute_command(command, ENTRY, *values)
    assert_miss_that_takes_little_memory(storage)
    assert_serves(storage)


def test_keys_of_others_that_are_no_utf8_harm_no_other(storage: RedisStorage, client: Any) -> None:
    storage.put(ORIGIN, Entry(RULES))
    client.set(b"gbot_robots:entry:{\xff\xfe}", b"\xff")
    assert ORIGIN in list(storage.origins())


def test_lease_for_less_than_a_millisecond_is_a_lease(storage: RedisStorage) -> None:
    assert storage.lease(ORIGIN, 0.0001)


@table(
    "url, place",
    ("redis://a.example:6380/3", "a.example:6380, database 3"),
    ("redis://user:secret@a.example", "a.example:6379, database 0"),
    ("unix:///run/redis.sock?db=2", "/run/redis.sock, database 2"),
    *((url, "?") for url in ("", "localhost:6379", "http://localhost", "redis://localhost:port")),
)
def test_place_is_named_without_its_password_and_no_url_is_refused(url: str, place: str) -> None:
    assert place_of(url) == place
    if place == "?":
        with pytest.raises(StorageError, match="not a Redis URL: "):
            storage_at(url)


@table(
    "url, reason",
    row("scheme", "http://a.example", "Redis URL must specify one of the following schemes"),
    row("option", "redis://a.example?socket_timeout=soon", "Invalid value for 'socket_timeout'"),
    row("port", "redis://a.example:port", "its host or its port cannot be read"),
)
def test_url_of_no_redis_is_refused_with_the_reason(url: str, reason: str) -> None:
    with pytest.raises(StorageError, match=f"^not a Redis URL: {reason}"):
        storage_at(url)


@table(
    "url",
    *(
        row(f"{begin}{mark}", url.format(begin=begin, mark=mark))
        for mark in "#/?"
        for begin, url in (
            ("hush", "redis://:{begin}{mark}hash@127.0.0.1:9/0"),
            ("12", "redis://:{begin}{mark}hash@127.0.0.1:9/0"),
            ("hush", "rediss://{begin}{mark}hash@127.0.0.1:9/0"),
            ("hush", "redis://me:{begin}{mark}hash@127.0.0.1:9/0?client_name=me@work"),
        )
    ),
    row("unix", "unix://:hush#hash@/run/redis.sock"),
    row("odd-letter", "redis://:hush\u2100hash@127.0.0.1:9"),
)
def test_url_with_a_bare_mark_in_its_password_shows_nothing_of_it(url: str) -> None:
    assert place_of(url) == "?"
    with pytest.raises(StorageError, match="not a Redis URL: ") as raised:
        storage_at(url)
    said = f"{raised.value} {raised.value.advice}"
    assert re.search("hush|12|hash", said) is None
    assert "%2F" in raised.value.advice


@table(
    "url, place",
    row("escaped", "redis://:a%23b%2Fc%3Fd@a.example/1", "a.example:6379, database 1"),
    row("in-an-option", "redis://a.example/1?password=p@ss/w", "a.example:6379, database 1"),
    row("in-a-path", "unix:///run/a@b.sock", "/run/a@b.sock, database 0"),
)
def test_url_with_marks_in_their_places_is_used(url: str, place: str) -> None:
    assert place_of(url) == place
    storage_at(url).close()


def test_client_that_decodes_what_it_reads_is_refused(redis_url: str) -> None:
    with pytest.raises(StorageError, match="the client of mine must return bytes"):
        RedisStorage("mine", lambda: redis.Redis.from_url(redis_url, decode_responses=True))
    with pytest.raises(StorageError, match="must return bytes"):
        storage_at(f"{redis_url}&decode_responses=True")


@table(
    "option, advice",
    row("decodes", "decode_responses=True", "Correct the options in GBOT_ROBOTS_REDIS_URL or "),
    row("unknown", "nosuch=1", "Correct the options in GBOT_ROBOTS_REDIS_URL or "),
    row("no-number", "socket_timeout=x", "Correct the URL in GBOT_ROBOTS_REDIS_URL, or in "),
)
def test_option_that_the_client_cannot_use_is_to_be_corrected(
    option: str, advice: str, redis_url: str
) -> None:
    with pytest.raises(StorageError) as raised, closing(storage_at(f"{redis_url}&{option}")) as at:
        at.get(ORIGIN)
    assert raised.value.advice.startswith(advice)


@pytest.mark.filterwarnings(
    "ignore:.*deprecated usage of input argument:DeprecationWarning"
)  # by scrapy-redis
def test_client_of_scrapy_redis_serves(redis_url: str) -> None:
    pytest.importorskip("scrapy_redis")
    path, _, db = redis_url.removeprefix("unix://").partition("?db=")
    settings = Settings({"REDIS_DB": db, "REDIS_PARAMS": {"unix_socket_path": path}})
    with closing(redis_choice(GbotSettings.of(settings), settings).opens()) as storage:
        assert_serves(storage)


def assert_every_verb_fails(storage: RedisStorage) -> None:
    """Each raises StorageError, in all within a time that a crawl can bear."""
    verbs: list[Callable[[], object]] = [
        lambda: storage.get(ORIGIN),
        lambda: storage.put(ORIGIN, Entry(None, GONE)),
        lambda: storage.delete(ORIGIN),
        lambda: list(storage.origins()),
        lambda: storage.lease(ORIGIN, 1),
        lambda: storage.release(ORIGIN, "token"),
    ]
    began = time.monotonic()
    said = f"cannot use Redis at {re.escape(storage.server)}: "
    for verb in verbs:
        with pytest.raises(StorageError, match=said):
            verb()
    assert time.monotonic() - began < 30


def test_server_that_is_away_is_a_storage_error_and_a_restart_is_not_noticed(
    new_server: NewServer,
) -> None:
    port = free_port()
    with closing(storage_at(f"redis://127.0.0.1:{port}/0")) as storage:
        assert_every_verb_fails(storage)
        with new_server(port=port) as server:
            storage.put(ORIGIN, Entry(RULES))
            server.kill()
            server.start()
            assert_serves(storage)


def test_client_is_made_again_after_each_failure_since_it_may_know_another_master_then(
    new_server: NewServer,
) -> None:
    """As one that asks sentinels for the master: it is made for that, or not at all."""
    no_master = redis.exceptions.ConnectionError("No master found for 'mymaster'")
    with new_server() as old, new_server() as new:
        clients = [redis.Redis.from_url(server.url) for server in (old, new)]
        made = Mock(side_effect=[no_master, *clients[:1], no_master, *clients[1:]])
        failed = pytest.raises(
            StorageError, match="mine could not make a client: ConnectionError: No master found for"
        )
        with failed:
            RedisStorage("mine", made)
        with closing(RedisStorage("mine", made)) as storage:
            assert_serves(storage)
            old.kill()
            with pytest.raises(StorageError, match="cannot use Redis at mine"):
                storage.get(ORIGIN)
            with failed:
                storage.get(ORIGIN)
            assert storage.get(ORIGIN) is None
            assert_serves(storage)


async def coroutine() -> None:
    """As an `async def` in place of a function."""


@table(
    "makes, said",
    row("none", lambda: None, "None"),
    row("url", lambda: "redis://127.0.0.1", "a str, which is not a client, because it has no "),
    row("pool", redis.ConnectionPool, "a ConnectionPool, which is not a client, because it has no"),
    row(
        "sentinel",
        lambda: redis.Sentinel([]),
        "a Sentinel, which is not a client, because it has no",
    ),
    row("asyncio", lambda: import_module("redis.asyncio").Redis(), "a Redis for asyncio"),
    row("coroutine", coroutine, "a coroutine for asyncio"),
    row(
        "pipeline",
        lambda: redis.Redis().pipeline(),
        "a Pipeline, which is not a client, because it sends no command",
    ),
    row("class", lambda: redis.Redis, "the class Redis itself, and not a client"),
)
def test_what_is_no_client_is_named_and_not_taken_for_a_redis_that_is_away(
    makes: Callable[[], Any], said: str
) -> None:
    with pytest.raises(StorageError, match=f"^mine returned {re.escape(said)}") as raised:
        RedisStorage("mine", makes)
    assert raised.value.advice == advice.CLIENT


def test_key_met_twice_is_listed_once(
    storage: RedisStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage._client, "scan_iter", lambda **_: iter([ENTRY.encode()] * 2))
    assert list(storage.origins()) == [ORIGIN]


def test_read_that_is_refused_is_a_storage_error(new_server: NewServer) -> None:
    with new_server() as server, closing(storage_at(server.url)) as storage:
        with redis.Redis.from_url(server.url) as client:
            commands = ["+@all", "-getrange"]
            client.acl_setuser("default", enabled=True, nopass=True, keys=["*"], commands=commands)
        with pytest.raises(StorageError, match="permission|can't run this command"):
            storage.get(ORIGIN)


def test_commands_that_the_docs_name_are_all_that_an_acl_needs(new_server: NewServer) -> None:
    page = (ROOT / "docs" / "fleets.md").read_text(encoding="utf-8")
    commands = re.search(r"`(\+get [^`]*)`", page)
    assert commands
    with new_server() as server:
        with redis.Redis.from_url(server.url) as client:
            rules = ["on", ">secret", "resetkeys", "~gbot_robots:*", "-@all", *commands[1].split()]
            client.execute_command("ACL", "SETUSER", "crawler", *rules)
        with closing(storage_at(f"{server.url}&username=crawler&password=secret")) as storage:
            assert_serves(storage)
            assert list(storage.origins()) == [ORIGIN]
            _, token = storage.find(ORIGIN, lambda _: False, 60)
            storage.store_and_release(ORIGIN, Entry(None, GONE), token or "")
            assert storage.lease(ORIGIN, 60)
            assert storage.delete(ORIGIN)


def test_redis_py_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.delitem(sys.modules, "scrapy_gbot_robots.storage.redis")
    remedy = r"pip install 'scrapy-gbot-robots\[redis\]'"
    said = f"GBOT_ROBOTS_STORAGE = 'redis' needs redis-py: {remedy}"
    with pytest.raises(ImportError, match=said):
        __import__("scrapy_gbot_robots.storage.redis")


@table(
    "answer",
    row("number-that-is-none", b":x\r\n"),
    row("nested-without-end", b"*1\r\n" * 5000),
    row("moved-nowhere", b"-MOVED somewhere\r\n"),
    row("http", b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    row("a-word", b"+OK\r\n"),
    row("a-number", b":7\r\n"),
    row("nothing", b"$-1\r\n"),
    row("an-empty-list", b"*0\r\n"),
    row("too-few", b"*2\r\n$0\r\n\r\n:1\r\n"),
    row("too-many", b"*4\r\n$0\r\n\r\n:1\r\n:1\r\n:1\r\n"),
    row("a-number-for-an-entry", b"*3\r\n:50000000000\r\n:1\r\n$1\r\n1\r\n"),
    row("a-word-for-the-time", b"*3\r\n$0\r\n\r\n:1\r\n$4\r\nsoon\r\n"),
    row("nothing-for-the-time", b"*3\r\n$0\r\n\r\n:1\r\n$-1\r\n"),
    row("never", b"*3\r\n$0\r\n\r\n:1\r\n$400\r\n" + b"9" * 400 + b"\r\n"),
)
def test_server_that_is_no_redis_is_a_storage_error(
    answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_module, "_TIMEOUT_SECS", 0.5)
    with (
        NoRedis(answer) as server,
        closing(storage_at(f"redis://127.0.0.1:{server.port}/0")) as storage,
    ):
        for ask in (storage.get, lambda origin: storage.lease(origin, 60)):
            with pytest.raises(StorageError, match=f"cannot use Redis at 127.0.0.1:{server.port}"):
                ask(ORIGIN)


YEARS = 10 * 365 * 86_400.0


def times_of(entry: Entry | None) -> list[float]:
    assert entry is not None
    assert entry.copy is not None
    assert entry.outage is not None
    copy, outage = entry.copy, entry.outage
    return [copy.fetched_at, copy.fresh_until, outage.since, outage.failed_at, outage.retry_at]


@pytest.mark.parametrize("secs", [-YEARS, -240.0, 240.0, YEARS])
def test_clock_of_the_server_counts(
    secs: float, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, now = Clock(), time.time()
    monkeypatch.setattr(redis_module, "time", clock)
    copy = replace(RULES, fetched_at=now, fresh_until=now + 60)
    entry = Entry(copy, replace(DOWN, since=now, failed_at=now + 3, retry_at=now + 8))
    with closing(storage_at(redis_url)) as one, closing(storage_at(redis_url)) as other:
        one.put(ORIGIN, entry)
        clock.goes_on(secs)  # the machine of the other
        found = other.get(ORIGIN)
        assert found is not None
        later = times_of(found)[0] - now
        assert later == pytest.approx(secs, abs=4)
        assert times_of(found) == pytest.approx([at + later for at in times_of(entry)], abs=0.01)
        assert found == other.get(ORIGIN) == other.find(ORIGIN, bool, 60)[0]  # whenever it is read
        other.put(ORIGIN, found)
        clock.goes_on(-secs)
        assert times_of(one.get(ORIGIN)) == pytest.approx(times_of(entry), abs=4)


# TLS


def test_tls_with_own_certificates_works_and_nothing_is_sent_without_them(tmp_path: Path) -> None:
    pem = tmp_path / "tls.pem"
    pem.write_bytes(certificate_and_key())
    with redis_server(port=free_port(), kind="system", tls=pem) as server:
        with closing(storage_at(server.url)) as storage:
            assert_serves(storage)
        where, _, options = server.url.partition("?")
        authority, *of_client = options.split("&")
        for url, why in (
            (f"{where}?{'&'.join(of_client)}", "certificate verify failed"),
            (f"{where}?{authority}", None),
            (where.replace("rediss", "redis"), None),
            (server.url.replace("127.0.0.1", "localhost"), "doesn't match|not valid for"),
        ):
            with closing(storage_at(url)) as storage, pytest.raises(StorageError, match=why):
                storage.get(ORIGIN)
