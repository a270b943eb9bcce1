"""What a user has agreed with sites apart from their robots.txt: which override counts for an origin, and what it does.

Pure: the time is passed in. Finding the override of an origin takes three look-ups, and one more for each label of a host
below a `*.domain`, however many overrides there are. `override_reader` reads them from the setting.
Source: our own; no standard has agreed exceptions.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..core.urls import Origin, shown
from ..core.verdict import MOST_SPECIFIC, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..core.crawlers import Crawler
    from ..core.robots import RobotsTxt

SETTING = "GBOT_ROBOTS_OVERRIDES"
SOON_DAYS = 7

_KEY_RULE = 'an origin ("https://example.com:8443"), a host ("example.com") or "*." and a domain ("*.example.com")'


class Action(Enum):
    """What an override does with the rules of a site."""

    IGNORE = "ignore"  # they are not obeyed
    DISALLOW = "disallow"  # nothing is fetched, whatever they say
    REPLACE = "rules"  # others are obeyed
    KEEP = "keep"  # they are obeyed, as another crawler or with another delay


class Standing(Enum):
    """Whether an override counts."""

    IN_FORCE = "in force"
    RUNS_OUT_SOON = "runs out soon"
    RUN_OUT = "run out"


@dataclass(frozen=True, slots=True, eq=False)
class Override:
    """One override.

    Attributes:
        key: where the override applies, as the user wrote it.
        action: what it does with the site's rules.
        reason: why, in the user's words.
        robotstxt: the rules to obey instead, for `Action.REPLACE`.
        rules_from: the `file:PATH` of these rules; "" if the override itself contains them.
        crawler: the crawler whose rules are obeyed; None: the crawl's own.
        crawl_delay: seconds between requests; None: as the robots.txt and the settings say.
        until: the last day of the override, in UTC; None: it has no end.
        ends_at: when the override ends, in seconds since the epoch.
    """

    key: str
    action: Action
    reason: str
    robotstxt: RobotsTxt | None = None
    rules_from: str = ""
    crawler: Crawler | None = None
    crawl_delay: float | None = None
    until: date | None = None
    ends_at: float = math.inf

    @property
    def what(self) -> str:
        """What the override does, in a few words."""
        rules = {Action.IGNORE: "ignore", Action.DISALLOW: "disallow", Action.REPLACE: self.rules_from or "own rules"}
        parts = [rules.get(self.action, "")]
        parts.append(f"as {self.crawler.name}" if self.crawler is not None else "")
        parts.append(f"crawl-delay {self.crawl_delay:g} s" if self.crawl_delay is not None else "")
        return ", ".join(filter(None, parts))

    def standing(self, now: float) -> Standing:
        """Whether the override counts at `now`, in seconds since the epoch."""
        if now >= self.ends_at:
            return Standing.RUN_OUT
        left = timedelta(days=SOON_DAYS).total_seconds()
        return Standing.RUNS_OUT_SOON if self.ends_at - now <= left else Standing.IN_FORCE

    def named(self, verdict: Verdict) -> Verdict:
        """Return `verdict` with this override named in it."""
        reason = f"override for {shown(self.key)} ({shown(self.reason)})"
        if verdict.reason != MOST_SPECIFIC:
            reason = f"{reason}: {verdict.reason}"
        return verdict._replace(reason=reason, override=self.key)

    def verdict(self, *, allowed: bool) -> Verdict:
        """Return the verdict of an override that needs no rules."""
        return Verdict(allowed, None, f"override for {shown(self.key)} ({shown(self.reason)})", override=self.key)


class Overrides:
    """The overrides of a crawl. The most specific one counts: the origin's, then the host's, then the nearest domain's."""

    def __init__(self) -> None:
        self._of_origin: dict[Origin, Override] = {}
        self._of_host: dict[str, Override] = {}
        self._of_domain: dict[str, Override] = {}
        self._most_labels = 0  # of a domain

    def __len__(self) -> int:
        return len(self._of_origin) + len(self._of_host) + len(self._of_domain)

    def __iter__(self) -> Iterator[Override]:
        yield from self._of_origin.values()
        yield from self._of_host.values()
        yield from self._of_domain.values()

    @property
    def set_delays(self) -> bool:
        """Whether any override has a crawl-delay."""
        return any(override.crawl_delay is not None for override in self)

    def of(self, origin: Origin, now: float) -> Override | None:
        """Return the override that counts for `origin` at `now`, in seconds since the epoch; None if there is none."""
        return next((override for override in self._found(origin) if now < override.ends_at), None)

    def _found(self, origin: Origin) -> Iterator[Override]:
        """Yield the overrides that match `origin`, the most specific first."""
        if origin in self._of_origin:
            yield self._of_origin[origin]
        if origin.host in self._of_host:
            yield self._of_host[origin.host]
        if self._of_domain:
            labels = origin.host.split(".")
            for start in range(max(1, len(labels) - self._most_labels), len(labels)):
                domain = ".".join(labels[start:])
                if domain in self._of_domain:
                    yield self._of_domain[domain]

    def add(self, override: Override) -> None:
        """Add an override.

        Raises:
            ValueError: its key names no place, or one that has an override already.
        """
        place: Any
        kept: dict[Any, Override]
        key = override.key
        if "://" in key:
            kept, place = self._of_origin, _origin(key, key)
        elif key.startswith("*."):
            kept, place = self._of_domain, _origin(f"http://{key[2:]}", key).host
            self._most_labels = max(self._most_labels, place.count(".") + 1)
        else:
            kept, place = self._of_host, _origin(f"http://{key}", key).host
        if place in kept:
            raise ValueError(f"a key of {SETTING} must be there once, got {kept[place].key!r} and {key!r}")
        kept[place] = override


def _origin(url: str, key: str) -> Origin:
    """Return the origin of `url`, which the user wrote as `key`. Raises ValueError for more than scheme, host and port."""
    scheme, _, authority = url.partition("://")
    authority = authority.removesuffix("/") if "://" in key else authority
    has_port = ":" in authority.rpartition("]")[2]
    if not set(authority) & set("/?#@*\\") and (not has_port or "://" in key):
        with suppress(ValueError):
            return Origin.of(f"{scheme}://{authority}/")
    raise ValueError(f"a key of {SETTING} must be {_KEY_RULE}, got {key!r}")
