"""The versions of robots.txt files that sub-commands are given: of a file, of a site as it is now, or as it was."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, NamedTuple

from ..core.agents import Crawler
from ..storage.base import StorageError
from .exits import CommandError
from .inputs import checked, is_site, origin_of, read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import Settings

    from ..core.origin import Origin
    from ..storage.history import Version as KeptVersion
    from .session import Visit


class Version(NamedTuple):
    """A robots.txt: what to call it, its bytes, and its origin if it is that of a site."""

    name: str
    body: bytes
    origin: Origin | None = None


def versions(names: Iterable[str], settings: Settings) -> list[Version]:
    """Return what each name stands for.

    A file; "-" for standard input; a site, whose robots.txt is fetched; or ORIGIN@DATE, the version that counted at that
    time by the history in the storage.

    Raises:
        CommandError: a file cannot be read, a site gives no definite answer, the history has no such version.
    """
    wanted = list(names)
    past = {name: _past(name, settings) for name in wanted if _moment(name) is not None}
    sites = {name: origin_of(name) for name in wanted if name not in past and is_site(name)}
    known = {**past, **(_fetched(sites, settings) if sites else {})}
    return [known[name] if name in known else Version(name, read(name)) for name in wanted]


def history_of(origin: Origin, settings: Settings) -> list[KeptVersion]:
    """Return the versions of `origin` that the storage has kept, the oldest first.

    Raises:
        CommandError: the storage is no SQLite file, or in trouble.
    """
    gbot = checked(settings)
    if gbot.storage != "sqlite" or gbot.sqlite_path is None:
        raise CommandError(
            "a history is kept in a SQLite file only: set GBOT_ROBOTS_SQLITE_PATH, or call this in the project"
        )
    from ..storage.history import SqliteHistory  # noqa: PLC0415  only what is used is loaded

    try:
        with closing(SqliteHistory(gbot.sqlite_path, most=1, max_body=gbot.max_bytes, read_only=True)) as storage:
            return storage.versions(str(origin))
    except StorageError as error:
        raise CommandError(str(error)) from None


def _moment(name: str) -> float | None:
    """The time in ORIGIN@DATE, in seconds since the epoch; a date alone means its end; None if `name` is none."""
    _, _, date = name.rpartition("@")
    try:
        when = datetime.fromisoformat(date)
    except ValueError:
        return None
    if len(date) == len("2026-01-31"):
        when += timedelta(days=1, microseconds=-1)
    return (when if when.tzinfo is not None else when.replace(tzinfo=timezone.utc)).timestamp()


def _past(name: str, settings: Settings) -> Version:
    site, _, date = name.rpartition("@")
    origin, moment = origin_of(site), _moment(name)
    known = [each for each in history_of(origin, settings) if moment is not None and each.fetched_at <= moment]
    if not known:
        raise CommandError(f"{origin}: the history has no version of {date} or before")
    return Version(f"{origin.robots_url}@{date}", known[-1].body, origin)


def _fetched(sites: dict[str, Origin], settings: Settings) -> dict[str, Version]:
    """Fetch the robots.txt files, whatever the storage holds; a site that has none allows everything."""
    from .crawl import during_a_visit  # noqa: PLC0415  loads Scrapy's crawler, which a file does not need

    async def work(visit: Visit) -> dict[str, Version]:
        return {name: await _version(visit, origin) for name, origin in sites.items()}

    return during_a_visit(settings, work)


async def _version(visit: Visit, origin: Origin) -> Version:
    known = await visit.known(origin, Crawler.of(""), fresh=True)
    if known.decision.temporary:
        raise CommandError(f"{origin.robots_url}: {known.decision.why}")
    return Version(origin.robots_url, known.body or b"", origin)
