"""What every storage promises."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from scrapy_gbot_robots.policy.outages import Entry
from scrapy_gbot_robots.settings import GbotSettings
from scrapy_gbot_robots.storage.client import redis_of
from scrapy_gbot_robots.storage.memory import MemoryStorage
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.entries import DOWN, EACH_KIND, GONE, MISSING, ORIGIN, RULES, rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from scrapy_gbot_robots.storage.base import Storage

    from .conftest import Servers


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        "one-redis",
        "one-valkey",
        "sentinels-redis",
        "cluster-redis",
        pytest.param("sentinels-valkey", marks=pytest.mark.slow),  # several servers take seconds to start
        pytest.param("cluster-valkey", marks=pytest.mark.slow),
    ]
)
def opened(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Callable[[], Storage]:
    """Opens the same storage as often as it is called; memory is one object."""
    if request.param == "memory":
        memory = MemoryStorage()
        return lambda: memory
    if request.param == "sqlite":
        return lambda: SqliteStorage(tmp_path / "new" / "robots.sqlite")
    topology, kind = request.param.split("-")
    settings = Settings(getattr(servers, topology)(kind))
    return redis_of(GbotSettings.of(settings), settings)


@pytest.fixture
def storage(opened: Callable[[], Storage]) -> Iterator[Storage]:
    with closing(opened()) as storage:
        yield storage


def test_what_is_put_last_can_be_got(storage: Storage) -> None:
    entries: dict[str, Any] = {f"https://{each.id}.example:443": each.values[0] for each in EACH_KIND}
    for origin, entry in entries.items():
        storage.put(origin, Entry(RULES, GONE))
        storage.put(origin, entry)
    assert {origin: storage.get(origin) for origin in entries} == entries


def test_origins_are_kept_apart(storage: Storage) -> None:
    storage.put("https://example.com:443", Entry(RULES))
    storage.put("http://example.com:80", Entry(MISSING))
    assert storage.get("https://example.com:443") == Entry(RULES)
    assert storage.get("http://example.com:80") == Entry(MISSING)
    assert storage.get("https://example.com:8443") is None


def test_deleted_origin_is_a_miss(storage: Storage) -> None:
    storage.put(ORIGIN, Entry(RULES))
    assert storage.delete(ORIGIN)
    assert storage.get(ORIGIN) is None
    assert not storage.delete(ORIGIN)


LISTED = ["http://a.example:80", "https://a.example:443", "https://a.example:8443", "https://b.example:443"]


def test_origins_are_listed_by_prefix(storage: Storage) -> None:
    for origin in LISTED:
        storage.put(origin, Entry(RULES))
    storage.lease("https://a.example:443", 60)
    found = {"": LISTED, "https://": LISTED[1:], "https://a.example:443": LISTED[1:2], "https://aa": [], "zzz": []}
    found |= {pattern: [] for pattern in ("*", "http?", "[h]", "%", "\\")}  # which none of these is
    assert {prefix: sorted(storage.origins(prefix)) for prefix in found} == found


def test_many_origins_are_listed_once_each(storage: Storage) -> None:
    many = {f"https://host{number}.example:443" for number in range(2500)}
    for origin in many:
        storage.put(origin, Entry(None, GONE))
    listed = list(storage.origins())
    assert len(listed) == len(many)
    assert set(listed) == many


def test_listing_does_not_keep_others_from_writing(storage: Storage) -> None:
    for origin in LISTED:
        storage.put(origin, Entry(RULES))
    for origin in storage.origins():
        assert storage.delete(origin)
    assert list(storage.origins()) == []


def test_one_holder_at_a_time(storage: Storage) -> None:
    assert storage.lease(ORIGIN, 60)
    assert storage.lease(ORIGIN, 60) is None
    assert storage.lease("https://other.example:443", 60)


def test_released_lease_is_free(storage: Storage) -> None:
    token = storage.lease(ORIGIN, 60)
    assert token
    storage.release(ORIGIN, token)
    again = storage.lease(ORIGIN, 60)
    assert again
    assert again != token


def test_only_the_holder_releases(storage: Storage) -> None:
    token = storage.lease(ORIGIN, 60)
    storage.release(ORIGIN, "0123456789abcdef")
    storage.release("https://other.example:443", token or "")
    assert storage.lease(ORIGIN, 60) is None


def test_lease_ends_in_time(storage: Storage) -> None:
    late = storage.lease(ORIGIN, 0.05)
    assert late
    time.sleep(0.1)
    assert storage.lease(ORIGIN, 60)
    storage.release(ORIGIN, late)  # too late: another holds it now
    assert storage.lease(ORIGIN, 60) is None


def test_all_who_open_it_share_it(opened: Callable[[], Storage]) -> None:
    one, other = opened(), opened()
    one.put(ORIGIN, Entry(RULES))
    assert other.get(ORIGIN) == Entry(RULES)
    assert one.lease(ORIGIN, 60)
    assert other.lease(ORIGIN, 60) is None
    one.close()
    other.close()


def test_threads_use_it_at_once(storage: Storage) -> None:
    def put_and_get(number: int) -> bool:
        origin, entry = f"https://host{number}.example:443", rules(b"%d" % number * 100)
        storage.put("https://shared.example:443", entry)
        storage.put(origin, entry)
        return storage.get(origin) == entry

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(put_and_get, range(200)))
    assert len(list(storage.origins())) == 201


def test_of_many_threads_one_gets_the_lease(storage: Storage) -> None:
    start = threading.Barrier(8)

    def take(_: int) -> str | None:
        start.wait()
        return storage.lease(ORIGIN, 60)

    with ThreadPoolExecutor(8) as threads:
        assert len([token for token in threads.map(take, range(8)) if token]) == 1


# Many origins at once


def good(entry: Entry | None) -> bool:
    return entry is not None and entry.outage is None


def test_what_is_found_for_many_is_the_entry_or_the_lease_or_neither(opened: Callable[[], Storage]) -> None:
    with closing(opened()) as storage, closing(opened()) as other:
        storage.put("https://known.example", Entry(RULES))
        storage.put("https://down.example", Entry(RULES, DOWN))
        storage.put("https://leased-and-down.example", Entry(RULES, DOWN))
        for origin in ("https://leased.example", "https://leased-and-down.example"):
            assert other.lease(origin, 60)
        origins = ["known", "new", "leased", "down", "leased-and-down"]
        wanted = [(f"https://{name}.example", good) for name in origins]
        found = storage.find(wanted, 60)
        assert [entry for entry, _ in found] == [Entry(RULES), None, None, Entry(RULES, DOWN), Entry(RULES, DOWN)]
        assert [token is not None for _, token in found] == [False, True, False, True, False]
        assert other.lease("https://new.example", 60) is None
        assert other.lease("https://known.example", 60)
        ended = [(origin, Entry(MISSING), token or "") for (origin, _), (_, token) in zip(wanted, found, strict=True)]
        storage.store_and_release(ended)
        assert [other.get(origin) for origin, _ in wanted] == [Entry(MISSING)] * 5
        assert other.lease("https://new.example", 60)
        assert other.lease("https://leased.example", 60) is None


def test_leases_are_released_together(storage: Storage) -> None:
    tokens = {origin: storage.lease(origin, 60) or "" for origin in "abc"} | {"b": "0123456789abcdef"}
    storage.store_and_release([(origin, None, token) for origin, token in tokens.items()])
    assert [bool(storage.lease(origin, 60)) for origin in "abc"] == [True, False, True]
    assert [storage.get(origin) for origin in "abc"] == [None] * 3


def test_nothing_asked_is_nothing_found(storage: Storage) -> None:
    assert storage.find([], 60) == []
    storage.store_and_release([])
