"""The versions of robots.txt files that sub-commands are given: of a file, or of a site as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..core.agents import Crawler
from .exits import CommandError
from .inputs import is_site, origin_of, read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.settings import Settings

    from ..core.origin import Origin
    from .session import Visit


class Version(NamedTuple):
    """A robots.txt: what to call it, its bytes, and its origin if it is that of a site."""

    name: str
    body: bytes
    origin: Origin | None = None


def versions(names: Iterable[str], settings: Settings) -> list[Version]:
    """Return what each name stands for: a file, "-" for standard input, or a site, whose robots.txt is fetched.

    Raises:
        CommandError: a file cannot be read, or a site gives no definite answer.
    """
    wanted = list(names)
    sites = {name: origin_of(name) for name in wanted if is_site(name)}
    fetched = _fetched(sites, settings) if sites else {}
    return [fetched[name] if name in fetched else Version(name, read(name)) for name in wanted]


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
