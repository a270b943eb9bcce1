"""Turns: requests of many processes, one after the other."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from scrapy_gbot_robots.storage.base import StorageError
from scrapy_gbot_robots.storage.redis_turns import RedisTurns


def test_one_of_many_takes_a_turn_and_the_others_are_told_how_long_to_wait(redis_url: str) -> None:
    def take(_: int) -> list[float]:
        with closing(RedisTurns(redis_url)) as turns:
            return [turns.take("a.example", 100) for _ in range(10)]

    with ThreadPoolExecutor(4) as pool:
        waits = sorted(wait for taken in pool.map(take, range(4)) for wait in taken)
    assert waits.count(0) == 1
    assert all(60 < wait <= 100 for wait in waits[1:])


def test_slots_do_not_wait_for_one_another(redis_url: str) -> None:
    with closing(RedisTurns(redis_url)) as turns:
        assert turns.take("a.example", 100) == turns.take("b.example", 100) == 0


def test_turn_is_free_again_when_its_time_has_come(redis_url: str) -> None:
    with closing(RedisTurns(redis_url)) as turns:
        assert turns.take("a.example", 0.01) == 0
        time.sleep(0.05)
        assert turns.take("a.example", 100) == 0
        assert turns.take("a.example", 1) > 60


@pytest.mark.parametrize("forged", ["-1e300", "9e99", "text", "", "1e14"])
def test_forged_turn_holds_nobody_up(forged: str, redis_url: str) -> None:
    import redis

    with redis.Redis.from_url(redis_url) as client, closing(RedisTurns(redis_url)) as turns:
        client.set("gbot_robots:turn:a.example", forged)
        assert turns.take("a.example", 5) == 0
        assert 0 < turns.take("a.example", 5) <= 5
        assert 0 < client.pttl("gbot_robots:turn:a.example") < 20_000


def test_server_that_is_away_is_a_storage_error() -> None:
    with closing(RedisTurns("redis://127.0.0.1:1/0", timeout=0.5)) as turns, pytest.raises(StorageError):
        turns.take("a.example", 1)
    with pytest.raises(StorageError, match="not a Redis URL"):
        RedisTurns("http://a.example")
