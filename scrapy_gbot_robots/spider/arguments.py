"""The arguments of RobotsSitemapSpider: numbers, dates and switches, or text for them as `scrapy crawl -a` gives it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..core.origin import Origin
from ..sitemap_files.lastmod import since
from .hosts import HostList, given_in

if TYPE_CHECKING:
    from datetime import datetime

    from .spider import RobotsSitemapSpider

_SCOPES = ("hosts", "any")
_YES = frozenset({"1", "true", "yes", "on"})


class Arguments(NamedTuple):
    """The spider's attributes of the same names, checked, each with one type."""

    hosts: HostList  # `hosts`, `hosts_file`, and the robots.txt files among `sitemap_urls`
    guess: bool
    since: datetime | None
    most_asked: float
    progress_secs: float

    @classmethod
    def of(cls, spider: RobotsSitemapSpider) -> Arguments:
        """Check the attributes of a spider.

        Raises:
            ValueError: no hosts are given, or an attribute has a wrong value.
        """
        if not (spider.hosts or spider.hosts_file or spider.sitemap_urls):
            raise ValueError("Say which hosts: -a hosts=example.org,example.net or -a hosts_file=hosts.txt")
        if spider.hosts_file and not Path(spider.hosts_file).is_file():
            raise ValueError(f"hosts_file must be a file, got {str(spider.hosts_file)!r}")
        if spider.scope not in _SCOPES:
            raise ValueError(f"scope must be one of {', '.join(_SCOPES)}, got {spider.scope!r}")
        robots_txts = (url for url in spider.sitemap_urls if Origin.of_robots_txt(url) is not None)
        return cls(
            hosts=HostList([*robots_txts, *given_in(spider.hosts)], spider.hosts_file),
            guess=str(spider.guess).lower() in _YES,
            since=since(spider.since) if spider.since else None,
            most_asked=_number("most_asked", spider.most_asked, least=1),
            progress_secs=_number("progress_secs", spider.progress_secs, least=0),
        )


def _number(name: str, given: object, *, least: float) -> float:
    """The number that an argument gives, as a number or as text.

    Raises:
        ValueError: it is no number, or below `least`.
    """
    try:
        number = float(str(given))
    except ValueError:
        number = math.nan
    if not least <= number < math.inf:
        raise ValueError(f"{name} must be a number >= {least}, got {given!r}")
    return number
