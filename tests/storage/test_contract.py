"""What every storage promises, and what only memory does."""

import gc
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from scrapy_gbot_robots.policy.outages import Entry
from scrapy_gbot_robots.settings import GbotSettings
from scrapy_gbot_robots.storage import memory
from scrapy_gbot_robots.storage.base import Storage
from scrapy_gbot_robots.storage.client import redis_choice
from scrapy_gbot_robots.storage.memory import MemoryStorage
from scrapy_gbot_robots.storage.sqlite import SqliteStorage

from ..support.entries import DOWN, EACH_KIND, GONE, MISSING, ORIGIN, RULES, Leasing, rules
from ..support.rows import row, table

SHARED = [
    "sqlite",
    "one-redis",
    "one-valkey",
    "sentinels-redis",
    "cluster-redis",
    pytest.param("sentinels-valkey", marks=pytest.mark.slow),  # several servers take seconds
    pytest.param("cluster-valkey", marks=pytest.mark.slow),
]


Two = tuple[Storage, Storage]  # a storage as one process has it, and as another one


@pytest.fixture
def opens(tmp_path: Path, emptied: Callable[[str, str], Any]) -> Callable[[str], Storage]:
    """Opens a storage by its name. It is the same one each time, but for memory."""

    def opens(name: str) -> Storage:
        if name == "memory":
            return MemoryStorage()
        if name == "sqlite":
            return SqliteStorage(tmp_path / "new" / "robots.sqlite")
        servers = emptied(*name.split("-"))
        of_one = {"GBOT_ROBOTS_REDIS_URL": getattr(servers, "url", "")}
        settings = Settings(getattr(servers, "settings", of_one))
        return redis_choice(GbotSettings.of(settings), settings).opens()

    return opens


@pytest.fixture(params=["memory", *SHARED])
def storage(request: pytest.FixtureRequest, opens: Callable[[str], Storage]) -> Iterator[Storage]:
    with closing(opens(request.param)) as storage:
        yield storage


@pytest.fixture(params=SHARED)
def shared(request: pytest.FixtureRequest, opens: Callable[[str], Storage]) -> Iterator[Two]:
    with closing(opens(request.param)) as storage, closing(opens(request.param)) as other:
        yield storage, other


def good(entry: Entry | None) -> bool:
    return entry is not None and entry.outage is None


def test_what_is_put_last_can_be_got_and_deleted(storage: Storage) -> None:
    hosts: dict[str, Any] = {f"https://{each.id}.example:443": each.values[0] for each in EACH_KIND}
    others = ("https://rules.example:8443", "http://rules.example:80")
    entries = {**hosts, **dict.fromkeys(others, Entry(MISSING))}
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
    many = [f"https://host{number}.example:443" for number in range(1500)]
    for origin in many:
        storage.put(origin, Entry(None, GONE))
    listed = []
    for origin in storage.origins():
        listed.append(origin)
        if len(listed) % 50 == 0:
            assert storage.delete(origin)
    assert sorted(listed) == sorted(many)
    assert len(list(storage.origins())) == 1470


def test_threads_use_it_at_once(storage: Storage) -> None:
    def put_and_get(number: int) -> None:
        origin, entry = f"https://host{number}.example:443", rules(b"%d" % number * 100)
        storage.put("https://shared.example:443", entry)
        storage.put(origin, entry)
        assert storage.get(origin) == entry

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(put_and_get, range(200)))
    assert len(list(storage.origins())) == 201


# Leases, of which memory grants each


def test_one_holds_a_lease_until_its_release_or_its_end(shared: Two) -> None:
    storage, other = shared
    token = storage.lease(ORIGIN, 60)
    assert token
    assert other.lease(ORIGIN, 60) is None
    storage.release(ORIGIN, "0123456789abcdef")
    storage.store_and_release(ORIGIN, None, "0123456789abcdef")
    storage.release("https://other.example:443", token)
    assert other.lease(ORIGIN, 60) is None
    storage.store_and_release(ORIGIN, None, token)
    assert storage.get(ORIGIN) is None
    late = storage.lease(ORIGIN, 0.05)
    assert late not in {None, token}
    time.sleep(0.1)
    assert other.lease(ORIGIN, 60)
    storage.release(ORIGIN, late or "")  # too late: another holds it now
    assert storage.lease(ORIGIN, 60) is None


def test_one_of_many_threads_gets_the_lease(shared: Two) -> None:
    with ThreadPoolExecutor(8) as threads:
        tokens = threads.map(lambda number: shared[number % 2].lease(ORIGIN, 600), range(200))
        assert len(list(filter(None, tokens))) == 1


@table(
    "entry, is_leased_elsewhere, gets_lease",
    row("good", Entry(RULES), False, False),
    row("not-good", Entry(RULES, DOWN), False, True),
    row("not-good-but-leased", Entry(RULES, DOWN), True, False),
    row("new", None, False, True),
    row("new-but-leased", None, True, False),
)
def test_what_is_found_is_a_good_entry_or_the_lease_or_neither(
    entry: Entry | None, is_leased_elsewhere: bool, gets_lease: bool, shared: Two
) -> None:
    storage, other = shared
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


def test_entry_that_comes_between_look_and_lease_is_found() -> None:
    class Late(Leasing):
        def lease(self, origin: str, secs: float) -> str | None:
            self.put(origin, Entry(RULES))  # as another process would just before
            return super().lease(origin, secs)

    storage = Late()
    assert storage.find(ORIGIN, good, 60) == (Entry(RULES), None)
    assert not storage.leases


# What only memory promises: it stays small


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> MemoryStorage:
    """Memory for 100,000 bytes."""
    monkeypatch.setattr(memory, "MAX_BYTES", 100_000)
    return MemoryStorage()


def test_least_recently_used_goes_first_what_is_too_large_at_once(bounded: MemoryStorage) -> None:
    for origin in "abc":
        bounded.put(origin, rules(b"x" * 30_000))
    bounded.get("a")
    bounded.put("d", rules(b"x" * 30_000))
    assert sorted(bounded.origins()) == ["a", "c", "d"]
    bounded.put("e", rules(b"x" * 100_000))
    assert bounded.get("e") is None


def test_all_texts_of_an_entry_count(bounded: MemoryStorage) -> None:
    long = Entry(replace(RULES, url="https://e/" + "x" * 20_000, body=b"x" * 20_000))
    for origin in "abc":
        bounded.put(origin, long)
    assert sorted(bounded.origins()) == ["b", "c"]


def test_bytes_are_counted_down_again(bounded: MemoryStorage) -> None:
    for _ in range(100):
        bounded.put("a", rules(b"x" * 20_000))
        bounded.put("b", rules(b"x" * 20_000))
        bounded.delete("b")
    bounded.put("c", rules(b"x" * 20_000))
    assert sorted(bounded.origins()) == ["a", "c"]


@table("length, least, most", (2_000, 12_000, 30_000), (100_000, 500, 700))
def test_64_mebibytes_of_entries_are_kept(length: int, least: int, most: int) -> None:
    storage, entry = MemoryStorage(), rules(bytes(length))
    for number in range(most):
        storage.put(str(number), entry)
    assert least <= len(list(storage.origins())) < most


def test_entries_give_the_garbage_collector_nothing_to_visit() -> None:
    storage = MemoryStorage()
    gc.collect()
    before = len(gc.get_objects())
    for number in range(1000):
        storage.put(str(number), rules(b"x" * number))
    gc.collect()
    assert len(gc.get_objects()) - before < 100
