"""What every storage promises."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_gbot_robots.policy.outages import Entry
from scrapy_gbot_robots.settings import GbotSettings
from scrapy_gbot_robots.storage.base import Storage
from scrapy_gbot_robots.storage.client import redis_opener
from scrapy_gbot_robots.storage.memory import MemoryStorage
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.entries import DOWN, EACH_KIND, GONE, MISSING, ORIGIN, RULES, rules


@pytest.fixture(
    params=[
        "memory",
        "sqlite",
        "one-redis",
        "one-valkey",
        "sentinels-redis",
        "cluster-redis",
        pytest.param(
            "sentinels-valkey", marks=pytest.mark.slow
        ),  # several servers take seconds to start
        pytest.param("cluster-valkey", marks=pytest.mark.slow),
    ]
)
def opened(
    request: pytest.FixtureRequest, tmp_path: Path, emptied: Callable[[str, str], Any]
) -> Callable[[], Storage]:
    """Opens the same storage as often as it is called; memory is one object."""
    if request.param == "memory":
        memory = MemoryStorage()
        return lambda: memory
    if request.param == "sqlite":
        return lambda: SqliteStorage(tmp_path / "new" / "robots.sqlite")
    servers = emptied(*request.param.split("-"))
    settings = Settings(
        getattr(servers, "settings", None) or {"GBOT_ROBOTS_REDIS_URL": servers.url}
    )
    return redis_opener(GbotSettings.of(settings), settings)


@pytest.fixture
def storage(opened: Callable[[], Storage]) -> Iterator[Storage]:
    with closing(opened()) as storage:
        yield storage


def good(entry: Entry | None) -> bool:
    return entry is not None and entry.outage is None


def test_what_is_put_last_can_be_got_and_deleted(storage: Storage) -> None:
    hosts: dict[str, Any] = {f"https://{each.id}.example:443": each.values[0] for each in EACH_KIND}
    entries = {
        **hosts,
        "https://rules.example:8443": Entry(MISSING),
        "http://rules.example:80": Entry(MISSING),
    }
    for origin, entry in entries.items():
        storage.put(origin, Entry(RULES, GONE))
        storage.put(origin, entry)
    assert {origin: storage.get(origin) for origin in entries} == entries
    assert storage.delete("https://rules.example:443")
    assert storage.get("https://rules.example:443") is None
    assert not storage.delete("https://rules.example:443")
    assert set(storage.origins()) == entries.keys() - {"https://rules.example:443"}


def test_a_lease_alone_is_no_stored_origin(storage: Storage) -> None:
    assert storage.lease(ORIGIN, 60)
    assert list(storage.origins()) == []


def test_many_origins_are_listed_once_each_and_others_write_meanwhile(storage: Storage) -> None:
    many = [f"https://host{number}.example:443" for number in range(2500)]
    for origin in many:
        storage.put(origin, Entry(None, GONE))
    listed = []
    for origin in storage.origins():
        listed.append(origin)
        if len(listed) % 50 == 0:
            assert storage.delete(origin)
    assert sorted(listed) == sorted(many)
    assert len(list(storage.origins())) == 2450


def test_one_holds_a_lease_until_it_releases_it_or_the_time_is_over(storage: Storage) -> None:
    token = storage.lease(ORIGIN, 60)
    assert token
    assert storage.lease(ORIGIN, 60) is None
    storage.release(ORIGIN, "0123456789abcdef")
    storage.release("https://other.example:443", token)
    assert storage.lease(ORIGIN, 60) is None
    storage.release(ORIGIN, token)
    late = storage.lease(ORIGIN, 0.05)
    assert late not in {None, token}
    time.sleep(0.1)
    assert storage.lease(ORIGIN, 60)
    storage.release(ORIGIN, late or "")  # too late: another holds it now
    assert storage.lease(ORIGIN, 60) is None


def test_threads_use_it_at_once_and_one_of_them_gets_the_lease(storage: Storage) -> None:
    def put_and_get(number: int) -> str | None:
        origin, entry = f"https://host{number}.example:443", rules(b"%d" % number * 100)
        storage.put("https://shared.example:443", entry)
        storage.put(origin, entry)
        assert storage.get(origin) == entry
        return storage.lease(ORIGIN, 600)

    with ThreadPoolExecutor(8) as threads:
        assert len([token for token in threads.map(put_and_get, range(200)) if token]) == 1
    assert len(list(storage.origins())) == 201


# Both steps of a look-up


@pytest.mark.parametrize(
    ("entry", "is_leased_elsewhere", "gets_lease"),
    [
        pytest.param(Entry(RULES), False, False, id="good"),
        pytest.param(Entry(RULES, DOWN), False, True, id="not-good"),
        pytest.param(Entry(RULES, DOWN), True, False, id="not-good-but-leased"),
        pytest.param(None, False, True, id="new"),
        pytest.param(None, True, False, id="new-but-leased"),
    ],
)
def test_what_is_found_is_a_good_entry_or_the_lease_or_neither(
    entry: Entry | None, is_leased_elsewhere: bool, gets_lease: bool, opened: Callable[[], Storage]
) -> None:
    with closing(opened()) as storage, closing(opened()) as other:
        if entry is not None:
            storage.put(ORIGIN, entry)
        if is_leased_elsewhere:
            assert other.lease(ORIGIN, 60)
        assert storage.get(ORIGIN) == entry  # which takes no lease
        found, token = storage.find(ORIGIN, good, 60)
        assert (found, token is not None) == (entry, gets_lease)
        assert bool(other.lease(ORIGIN, 60)) == (not gets_lease and not is_leased_elsewhere)
        storage.store_and_release(ORIGIN, Entry(MISSING), token or "")
        assert other.get(ORIGIN) == Entry(MISSING)
        assert bool(other.lease(ORIGIN, 60)) == gets_lease


def test_a_lease_alone_is_released(storage: Storage) -> None:
    token = storage.lease(ORIGIN, 60)
    assert token
    storage.store_and_release(ORIGIN, None, "0123456789abcdef")
    assert storage.lease(ORIGIN, 60) is None
    storage.store_and_release(ORIGIN, None, token)
    assert storage.lease(ORIGIN, 60)
    assert storage.get(ORIGIN) is None


def test_entry_that_comes_between_look_and_lease_is_found() -> None:
    class Late(MemoryStorage):
        def lease(self, origin: str, secs: float) -> str | None:
            self.put(origin, Entry(RULES))  # as another process would just before
            return super().lease(origin, secs)

    storage = Late()
    assert storage.find(ORIGIN, good, 60) == (Entry(RULES), None)
    assert storage.lease(ORIGIN, 60)  # it is free
