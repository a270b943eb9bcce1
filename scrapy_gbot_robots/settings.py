"""The settings: what each is called, what it defaults to, what it may be; wrong values are named at start-up.

The one place where a `GBOT_ROBOTS_*` name is turned into a value; everything else takes a `GbotSettings`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.exceptions import NotConfigured
from scrapy.utils.conf import closest_scrapy_cfg
from scrapy.utils.project import data_path, inside_project

from .policy.ladder import LADDERS, Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.settings import BaseSettings

_T = TypeVar("_T")

STORAGES = ("memory", "sqlite", "redis")
_REDIS_SCHEMES = ("redis://", "rediss://", "unix://")
_SQLITE_FILE = "gbot_robots/robots.sqlite"  # below the project's data directory


@dataclass(frozen=True)
class GbotSettings:
    """The plugin's settings, checked. Durations are in seconds, sizes in bytes."""

    strict: bool
    storage: str
    sqlite_path: Path | None
    redis_url: str
    cache_size: int
    max_age_secs: float
    unreachable: str
    unreachable_wait_secs: float
    soft_404: bool
    max_bytes: int
    max_redirects: int
    timeout_secs: float
    meta_keys: tuple[str, ...]
    refuse_private: bool
    crawl_delay: bool
    crawl_delay_max_secs: float
    sitemaps: str
    sitemaps_hosts: str
    sitemaps_max: int
    report: Path | None

    @classmethod
    def of(cls, settings: BaseSettings) -> GbotSettings:
        """Read and check the settings of a crawl.

        Raises:
            ValueError: a setting has a value it may not have; the message names the setting, the rule and the value.
        """

        def read(name: str, default: object, kind: Callable[[object], _T], rule: str) -> _T:
            value = settings.get(f"GBOT_ROBOTS_{name}", default)
            try:
                return kind(value)
            except (TypeError, ValueError):
                raise ValueError(f"GBOT_ROBOTS_{name} must be {rule}, got {value!r}") from None

        def choice(name: str, default: str, names: Sequence[str]) -> str:
            return read(name, default, _one_of(names), "one of " + ", ".join(repr(n) for n in names))

        def flag(name: str, *, default: bool) -> bool:
            return read(name, default, _flag, "True or False")

        def count(name: str, default: int, least: int) -> int:
            return read(name, default, _whole(least), f"a whole number >= {least}")

        def seconds(name: str, default: float, *, zero: bool = True) -> float:
            return read(name, default, _seconds(zero=zero), f"a number of seconds {'>=' if zero else '>'} 0")

        return cls(
            strict=flag("STRICT", default=False),
            storage=read("STORAGE", "sqlite", _storage, '"memory", "sqlite", "redis" or the dotted path of a class'),
            sqlite_path=read("SQLITE_PATH", None, _sqlite_path, "the path of a file"),
            redis_url=read(
                "REDIS_URL",
                settings.get("REDIS_URL") or "redis://localhost:6379/0",
                _redis_url,
                f"a URL that begins with {' or '.join(_REDIS_SCHEMES)}",
            ),
            cache_size=count("CACHE_SIZE", 10_000, 1),
            max_age_secs=seconds("MAX_AGE_SECS", 86_400),
            unreachable=choice("UNREACHABLE", "google", tuple(LADDERS)),
            unreachable_wait_secs=seconds("UNREACHABLE_WAIT_SECS", 60),
            soft_404=flag("SOFT_404", default=True),
            max_bytes=count("MAX_BYTES", 512_000, 1),
            max_redirects=count("MAX_REDIRECTS", 5, 0),
            timeout_secs=seconds("TIMEOUT_SECS", 30, zero=False),
            meta_keys=read("META_KEYS", ("proxy", "bindaddress"), _words, "a list of request.meta keys"),
            refuse_private=flag("REFUSE_PRIVATE", default=False),
            crawl_delay=flag("CRAWL_DELAY", default=False),
            crawl_delay_max_secs=seconds("CRAWL_DELAY_MAX_SECS", 60),
            sitemaps=choice("SITEMAPS", "feed", ("feed", "collect", "off")),
            sitemaps_hosts=choice("SITEMAPS_HOSTS", "any", ("any", "same-site", "same-host")),
            sitemaps_max=count("SITEMAPS_MAX", 50, 0),
            report=read("REPORT", None, _optional_path, "the path of a file"),
        )

    @property
    def policy(self) -> Policy:
        """What robots.txt files mean over time under these settings."""
        return Policy(unreachable=self.unreachable, max_age_secs=self.max_age_secs, soft_404=self.soft_404)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError
    return value


def _redis_url(value: object) -> str:
    url = _text(value)
    return url if url.startswith(_REDIS_SCHEMES) else _refuse()


def _flag(value: object) -> bool:
    flags = {"true": True, "1": True, "false": False, "0": False}  # what Scrapy's command line hands over is text
    return flags[str(value).lower()] if str(value).lower() in flags else _refuse()


def _refuse() -> Any:
    raise ValueError


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError
    number = float(value)
    return number if math.isfinite(number) else _refuse()


def _whole(least: int) -> Callable[[object], int]:
    def kind(value: object) -> int:
        number = _number(value)
        return int(number) if number.is_integer() and number >= least else _refuse()

    return kind


def _seconds(*, zero: bool) -> Callable[[object], float]:
    def kind(value: object) -> float:
        number = _number(value)
        return number if number > 0 or (zero and number == 0) else _refuse()

    return kind


def _one_of(names: Sequence[str]) -> Callable[[object], str]:
    return lambda value: value if isinstance(value, str) and value in names else _refuse()


def _storage(value: object) -> str:
    name = _text(value)
    return name if name in STORAGES or "." in name else _refuse()


def _optional_path(value: object) -> Path | None:
    if value is None:
        return None
    if not isinstance(value, (str, Path)) or not str(value):
        raise TypeError
    return Path(value)


def _words(value: object) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, (list, tuple, set, frozenset)) or not all(isinstance(word, str) for word in words):
        raise TypeError
    return tuple(word.strip() for word in words if word.strip())


def _sqlite_path(value: object) -> Path | None:
    """The file to use; None outside a Scrapy project when no path is set, so that no stray file is left anywhere."""
    if value is None:
        try:
            return _in_project(_SQLITE_FILE) if inside_project() else None
        except NotConfigured:
            return None
    if not isinstance(value, (str, Path)) or not str(value):
        raise TypeError
    return _in_project(value) if inside_project() else Path(value)


def _in_project(path: str | Path) -> Path:
    """Where Scrapy keeps a project's data, be it that the directory for that cannot be made: the storage will say so."""
    try:
        return Path(data_path(path))
    except OSError:
        return Path(closest_scrapy_cfg()).parent / ".scrapy" / path
