"""Which storage a crawl uses by its settings, where that storage is, and why."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import build_from_crawler, load_object

from ..settings import STORAGES, redis_of_scrapy_redis
from ..storage.base import Storage
from ..storage.memory import MemoryStorage

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from ..settings import GbotSettings
    from ..storage.redis import RedisStorage

logger = logging.getLogger(__name__)


_METHODS = ("get", "put", "delete", "origins", "lease", "release", "close")  # that a storage of the user's must have


@dataclass(frozen=True)
class Driver:
    """The storage that settings choose.

    Attributes:
        name: "memory", "sqlite", "redis" or the path of a class.
        opens: opens the storage; this may wait for a disk or a network.
        where: where the storage is, in words; "" if the name says all.
        why: a note for the log, such as why the crawl uses another storage than the settings name; "" if there is none.
        remedy: what a user can do if the storage fails.
    """

    name: str
    opens: Callable[[], Storage]
    where: str = ""
    why: str = ""
    remedy: str = "Look into the class that GBOT_ROBOTS_STORAGE names"

    def tell(self) -> None:
        """Log which storage the crawl uses."""
        logger.info("This crawl stores robots.txt files in %s", self)

    def count(self, stats: StatsCollector) -> None:
        """Count the storage in the stats."""
        stats.set_value(f"gbot_robots/storage/{self.name if self.name in STORAGES else 'other'}", 1)
        stats.set_value("gbot_robots/storage/fallback", 0)

    def __str__(self) -> str:
        where = f" at {self.where}" if self.where else ""
        return f"{self.name}{where}{f': {self.why}' if self.why else ''}"


def driver_for(settings: GbotSettings, crawler: Crawler | None = None, *, read_only: bool = False) -> Driver:
    """Return the storage that the settings name, without opening it. If `read_only`, it never creates or renames a file.

    Raises:
        ImportError: the storage's class or its driver is not installed.
        ValueError: the setting names an object that is no class.
    """
    _check_history(settings)
    if settings.storage == "memory":
        return Driver("memory", MemoryStorage, why="kept until the crawl ends, for this process")
    if settings.storage == "redis":
        return _redis(settings, crawler)
    if settings.storage != "sqlite":
        return _of_user(settings.storage, crawler)
    path = settings.sqlite_path
    if path is None:
        why = (
            "there is no scrapy.cfg here and GBOT_ROBOTS_SQLITE_PATH names no file, so nothing is kept for the next run"
        )
        return Driver("memory", MemoryStorage, why=why)
    kwargs: dict[str, Any] = {"max_body": settings.max_bytes, "tell": logger.warning, "read_only": read_only}
    remedy = "Free or repair the disk, or set GBOT_ROBOTS_SQLITE_PATH to a file that this process can write"
    return Driver("sqlite", partial(_sqlite(settings), path, **kwargs), where=str(path), remedy=remedy)


def _check_history(settings: GbotSettings) -> None:
    """Raise ValueError if the settings ask for a history, but not for a SQLite file to keep it in."""
    if not settings.history or (settings.storage == "sqlite" and settings.sqlite_path is not None):
        return
    found = (
        f"GBOT_ROBOTS_STORAGE is {settings.storage!r}"
        if settings.storage != "sqlite"
        else "there is no scrapy.cfg here and GBOT_ROBOTS_SQLITE_PATH names no file"
    )
    raise ValueError(
        f"GBOT_ROBOTS_HISTORY = {settings.history} needs GBOT_ROBOTS_STORAGE = 'sqlite' and a file, but {found}"
    )


def _redis(settings: GbotSettings, crawler: Crawler | None) -> Driver:
    """Return the Redis of the settings. If scrapy-redis keeps its queue in another one, the note says so."""
    from ..storage.redis import place_of  # noqa: PLC0415  redis-py is an extra

    opens = redis_of(settings, crawler.settings if crawler is not None else None)
    if settings.redis_client is not None:
        return Driver("redis", opens, where=settings.redis_client, remedy="GBOT_ROBOTS_REDIS_CLIENT makes its client")
    where = place_of(settings.redis_url)
    queue = _queue_of(crawler)
    is_elsewhere = bool(queue) and place_of(queue) != where
    why = f"scrapy-redis keeps its queue in another one, {place_of(queue)}" if is_elsewhere else ""
    remedy = "Check that this Redis runs, or set GBOT_ROBOTS_REDIS_URL to another one"
    return Driver("redis", opens, where=where, why=why, remedy=remedy)


def redis_of(settings: GbotSettings, scrapy_settings: BaseSettings | None) -> Callable[[], RedisStorage]:
    """Return what opens the Redis of the settings, by its URL or by the user's client.

    Raises:
        ImportError: redis-py, or what makes the client, is not installed.
        ValueError: what makes the client cannot be called.
    """
    from ..storage.redis import RedisStorage  # noqa: PLC0415  redis-py is an extra

    path = settings.redis_client
    if path is None:
        return partial(RedisStorage, settings.redis_url, max_body=settings.max_bytes)
    try:
        makes = load_object(path)
    except (ImportError, NameError) as error:
        raise ImportError(f"GBOT_ROBOTS_REDIS_CLIENT must name what can be imported, got {path!r}: {error}") from error
    if not callable(makes):
        raise ValueError(f"GBOT_ROBOTS_REDIS_CLIENT must name a callable, got {path!r}, which is {makes!r}")  # noqa: TRY004
    return lambda: RedisStorage(path, client=makes(scrapy_settings), max_body=settings.max_bytes)


def _of_user(name: str, crawler: Crawler | None) -> Driver:
    """Return a storage of the user's own, by the dotted path of its class."""
    try:
        storage_cls: Any = load_object(name)
    except (ImportError, NameError) as error:
        raise ImportError(
            f"GBOT_ROBOTS_STORAGE must name a class that can be imported, got {name!r}: {error}"
        ) from error
    if not isinstance(storage_cls, type):
        raise ValueError(f"GBOT_ROBOTS_STORAGE must name a class, got {name!r}, which is {storage_cls!r}")  # noqa: TRY004
    if not issubclass(storage_cls, Storage):  # it has the methods without the base
        storage_cls = type(storage_cls.__name__, (storage_cls, Storage), {})
    missing = [each for each in _METHODS if getattr(storage_cls, each) is getattr(Storage, each)]
    if missing:
        rule = "a class with the methods of scrapy_gbot_robots.storage.base.Storage"
        raise ValueError(f"GBOT_ROBOTS_STORAGE must name {rule}, got {name!r}, which lacks {', '.join(missing)}")
    return Driver(name, partial(build_from_crawler, storage_cls, crawler) if crawler is not None else storage_cls)


def _queue_of(crawler: Crawler | None) -> str:
    """The URL of the Redis in which scrapy-redis keeps the requests of the crawl; "" if scrapy-redis is not in use."""
    if crawler is None or not str(crawler.settings.get("SCHEDULER")).startswith("scrapy_redis."):
        return ""
    return redis_of_scrapy_redis(crawler.settings)


def _sqlite(settings: GbotSettings) -> Callable[..., Storage]:
    """Return the class for a SQLite file. Only the module in use is imported."""
    if settings.history:
        from ..storage.history import SqliteHistory  # noqa: PLC0415

        return partial(SqliteHistory, most=settings.history)
    from ..storage.sqlite import SqliteStorage  # noqa: PLC0415

    return SqliteStorage
