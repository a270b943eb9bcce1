"""Turns: requests of many processes, one after the other."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scrapy_gbot_robots.storage.base import StorageError
from scrapy_gbot_robots.storage.redis_turns import RedisTurns

if TYPE_CHECKING:
    from ..support.redis_server import RedisServer


def test_turns_of_a_slot_are_apart_whoever_takes_them(redis_url: str) -> None:
    def take(_: int) -> list[float]:
        with closing(RedisTurns(redis_url)) as turns:
            return [turns.next_turn("a.example", 100) for _ in range(10)]

    with ThreadPoolExecutor(4) as pool:
        waits = sorted(wait for taken in pool.map(take, range(4)) for wait in taken)
    assert len(waits) == 40
    assert waits[0] == 0
    assert all(99 <= later - earlier <= 101 for earlier, later in itertools.pairwise(waits))


def test_slots_do_not_wait_for_one_another(redis_url: str) -> None:
    with closing(RedisTurns(redis_url)) as turns:
        assert turns.next_turn("a.example", 100) == turns.next_turn("b.example", 100) == 0


def test_turn_is_free_again_when_its_time_has_come(redis_url: str) -> None:
    with closing(RedisTurns(redis_url)) as turns:
        assert turns.next_turn("a.example", 0.001) == 0
        assert turns.next_turn("a.example", 100) < 1
        assert turns.next_turn("a.example", 1) > 90


@pytest.mark.parametrize("forged", ["-1e300", "9e99", "text", "", "1e14"])
def test_forged_turn_holds_nobody_up(forged: str, redis_url: str) -> None:
    import redis

    with redis.Redis.from_url(redis_url) as client, closing(RedisTurns(redis_url)) as turns:
        client.set("gbot_robots:turn:a.example", forged)
        assert turns.next_turn("a.example", 5) == 0
        assert 0 < turns.next_turn("a.example", 5) <= 5
        assert 0 < client.pttl("gbot_robots:turn:a.example") < 20_000


def test_server_that_is_away_is_a_storage_error(shared_redis: RedisServer) -> None:
    with closing(RedisTurns("redis://127.0.0.1:1/0", timeout=0.5)) as turns, pytest.raises(StorageError):
        turns.next_turn("a.example", 1)
    with pytest.raises(StorageError, match="not a Redis URL"):
        RedisTurns("http://a.example")
