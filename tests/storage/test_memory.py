"""What only the storage in memory promises: it stays small."""

import gc
from dataclasses import replace

import pytest

from scrapy_gbot_robots.policy.outages import Entry
from scrapy_gbot_robots.storage import memory
from scrapy_gbot_robots.storage.memory import MemoryStorage

from ..support.entries import RULES, rules


@pytest.fixture
def _bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MAX_BYTES", 100_000)


@pytest.mark.usefixtures("_bounded")
def test_least_recently_used_goes_first_and_what_is_too_large_at_once() -> None:
    storage = MemoryStorage()
    for origin in "abc":
        storage.put(origin, rules(b"x" * 30_000))
    storage.get("a")
    storage.put("d", rules(b"x" * 30_000))
    assert sorted(storage.origins()) == ["a", "c", "d"]
    storage.put("e", rules(b"x" * 100_000))
    assert storage.get("e") is None


@pytest.mark.usefixtures("_bounded")
def test_all_texts_of_an_entry_count() -> None:
    storage = MemoryStorage()
    for origin in "abc":
        storage.put(
            origin, Entry(replace(RULES, url="https://e/" + "x" * 20_000, body=b"x" * 20_000))
        )
    assert sorted(storage.origins()) == ["b", "c"]


@pytest.mark.usefixtures("_bounded")
def test_bytes_are_counted_down_again() -> None:
    storage = MemoryStorage()
    for _ in range(100):
        storage.put("a", rules(b"x" * 20_000))
        storage.put("b", rules(b"x" * 20_000))
        storage.delete("b")
    storage.put("c", rules(b"x" * 20_000))
    assert sorted(storage.origins()) == ["a", "c"]


@pytest.mark.parametrize(
    ("length", "least", "most"), [(2_000, 12_000, 30_000), (100_000, 500, 700)]
)
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
