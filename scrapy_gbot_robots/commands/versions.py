"""Versions of robots.txt files, the inputs of several sub-commands: a file, a site's now, or a site's at some date."""

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
    """A robots.txt: its name for people, its bytes, and its origin; None for a file."""

    name: str
    body: bytes
    origin: Origin | None = None


def versions(names: Iterable[str], settings: Settings) -> list[Version]:
    """Return the version that each name stands for.

    A name is that of a file, or "-" for standard input, or a site, whose robots.txt is fetched. ORIGIN@DATE is the version
    in the storage's history that counted at that time.

    Raises:
        CommandError: a file cannot be read, a robots.txt is unreachable, or the history has no such version.
    """
    wanted = list(names)
    past = {name: _past(name, settings) for name in wanted if _moment(name) is not None}
    sites = {name: origin_of(name) for name in wanted if name not in past and is_site(name)}
    known = {**past, **(_fetched(sites, settings) if sites else {})}
    return [known[name] if name in known else Version(name, read(name)) for name in wanted]


def history_of(origin: Origin, settings: Settings) -> list[KeptVersion]:
    """Return the versions of `origin` in the storage, the oldest first.

    Raises:
        CommandError: the storage is not SQLite, or is in trouble.
    """
    gbot = checked(settings)
    if gbot.storage != "sqlite" or gbot.sqlite_path is None:
        raise CommandError(
            "only a SQLite file has a history: set GBOT_ROBOTS_SQLITE_PATH, or run this in the Scrapy project"
        )
    from ..storage.history import SqliteHistory  # noqa: PLC0415  only what is used is loaded

    try:
        with closing(SqliteHistory(gbot.sqlite_path, most=1, max_body=gbot.max_bytes, read_only=True)) as storage:
            return storage.versions(str(origin))
    except StorageError as error:
        raise CommandError(str(error)) from None


def _moment(name: str) -> float | None:
    """The time in ORIGIN@DATE, in seconds since the epoch; None for other names. A date alone means the end of its day."""
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
        raise CommandError(f"{origin}: the history has no version from {date} or before")
    return Version(f"{origin.robots_url}@{date}", known[-1].body, origin)


def _fetched(sites: dict[str, Origin], settings: Settings) -> dict[str, Version]:
    """Fetch the robots.txt files of sites. A site without one has an empty one."""
    from .crawl import during_a_visit  # noqa: PLC0415  loads Scrapy's crawler, which a file does not need

    async def work(visit: Visit) -> dict[str, Version]:
        return {name: await _version(visit, origin) for name, origin in sites.items()}

    return during_a_visit(settings, work)


async def _version(visit: Visit, origin: Origin) -> Version:
    known = await visit.known(origin, Crawler.of(""), fresh=True)
    if known.decision.temporary:
        raise CommandError(f"{origin.robots_url}: {known.decision.why}")
    return Version(origin.robots_url, known.body or b"", origin)
