"""What each Redis URL leads to."""

from __future__ import annotations

import pytest

from scrapy_gbot_robots.storage.base import StorageError
from scrapy_gbot_robots.storage.redis import RedisStorage, place_of


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("redis://a.example:6380/3", "a.example:6380, database 3"),
        ("redis://user:secret@a.example", "a.example:6379, database 0"),
        ("unix:///run/redis.sock?db=2", "/run/redis.sock, database 2"),
        ("redis+sentinel://a,b:26380/mymaster", "mymaster of sentinels a:26379,b:26380, database 0"),
        ("redis+sentinel://:secret@a,[::1]:5/mymaster/4", "mymaster of sentinels a:26379,::1:5, database 4"),
        ("rediss+sentinel://a/m?ssl_cert_reqs=none", "m of sentinels a:26379, database 0"),
        ("redis+cluster://user:secret@a:7000,b", "cluster a:7000,b:6379"),
        ("rediss+cluster://a:7000/?ssl_ca_certs=/ca.pem", "cluster a:7000"),
    ],
)
def test_place_is_named_without_the_password(url: str, place: str) -> None:
    assert place_of(url) == place


@pytest.mark.parametrize(
    "url",
    [
        "http://a",
        "redis+sentinel://a",
        "redis+sentinel:///name",
        "redis+sentinel://a/name/nodatabase",
        "redis+cluster://",
        "redis+cluster://a:port",
        "unix+cluster://a",
        "redis+ring://a",
    ],
)
def test_url_that_is_none_of_a_redis_is_a_storage_error(url: str) -> None:
    with pytest.raises(StorageError, match="not a Redis URL"):
        RedisStorage(url)
    assert place_of(url) == "?"


@pytest.mark.parametrize(
    "url", ["redis+sentinel://127.0.0.1:1,127.0.0.1:2/name", "redis+cluster://127.0.0.1:1,127.0.0.1:2"]
)
def test_servers_that_are_away_are_a_storage_error_that_names_them_and_no_password(url: str) -> None:
    storage = RedisStorage(url.replace("://", "://user:secret@"), timeout=1)
    with pytest.raises(StorageError, match="127.0.0.1:1,127.0.0.1:2") as raised:
        storage.get("https://a.example")
    assert "secret" not in str(raised.value)
    storage.interrupt()
    storage.close()
