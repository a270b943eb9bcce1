"""What a user has agreed with sites apart from their robots.txt: overrides by host, each with a reason and maybe an end.

Pure: the caller passes in the time, and a function that reads files. Finding the override of an origin takes three
look-ups, and one more for each label of a host below a `*.domain`, however many overrides there are.
Source: our own; no standard has agreed exceptions.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from difflib import get_close_matches
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..core.agents import Crawler
from ..core.origin import Origin
from ..core.robots import RobotsTxt
from ..core.urls import shown
from ..core.verdict import MOST_SPECIFIC, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

SETTING = "GBOT_ROBOTS_OVERRIDES"
SOON_DAYS = 7

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FIELDS = ("rules", "as", "crawl_delay", "reason", "until")
_FILE = "file:"
_KEY_RULE = 'an origin ("https://example.com:8443"), a host ("example.com") or "*." and a domain ("*.example.com")'
_RULES_RULE = '"ignore", "disallow", "file:PATH" or the text of a robots.txt with a User-agent line'


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
        crawler: the crawler whose rules are obeyed; None: that of the crawl.
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

    @classmethod
    def read(
        cls, value: object, file: Callable[[str], bytes], parse: Callable[[bytes], RobotsTxt] = RobotsTxt.parse
    ) -> Overrides:
        """Read the value of the setting.

        Args:
            value: a mapping from keys to mappings.
            file: returns the content of the file of a `file:PATH`, or raises OSError.
            parse: reads a robots.txt.

        Raises:
            ValueError: a key or a value is wrong; the message names the key, the value and the rule.
        """
        overrides = cls()
        for key, fields in _mapping(SETTING, value).items():
            overrides._add(key, _override(key, fields, file, parse))
        return overrides

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

    def _add(self, key: str, override: Override) -> None:
        place: Any
        kept: dict[Any, Override]
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


def _mapping(name: str, value: object) -> Mapping[str, Any]:
    if not hasattr(value, "items") or not all(isinstance(key, str) for key, _ in value.items()):
        raise ValueError(f"{name} must be a dict, or a .toml or .json file of one, got {shown(repr(value))}")
    return value  # type: ignore[return-value]


def _override(key: str, value: object, file: Callable[[str], bytes], parse: Callable[[bytes], RobotsTxt]) -> Override:
    name = f"{SETTING}[{key!r}]"
    fields = _mapping(name, value)
    for field in fields:
        if field not in _FIELDS:
            near = get_close_matches(field, _FIELDS, n=1)
            rule = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{name} must have no keys but {', '.join(_FIELDS)}, got {field!r}{rule}")
    if not fields.keys() & {"rules", "as", "crawl_delay"}:
        raise ValueError(f"{name} must have rules, as or crawl_delay, got {shown(repr(dict(fields)))}")
    reader = _Reader(name, fields)
    action, robotstxt, rules_from = _rules(reader, file, parse)
    until = reader.until()
    return Override(
        key=key,
        action=action,
        reason=reader.reason(),
        robotstxt=robotstxt,
        rules_from=rules_from,
        crawler=reader.crawler(),
        crawl_delay=reader.crawl_delay(),
        until=until,
        ends_at=math.inf if until is None else _end_of(until),
    )


def _rules(
    reader: _Reader, file: Callable[[str], bytes], parse: Callable[[bytes], RobotsTxt]
) -> tuple[Action, RobotsTxt | None, str]:
    rules = reader.fields.get("rules")
    if rules is None:
        return Action.KEEP, None, ""
    if not isinstance(rules, str):
        raise reader.wrong("rules", _RULES_RULE)
    if rules in {Action.IGNORE.value, Action.DISALLOW.value}:
        return Action(rules), None, ""
    rules_from = rules if rules.startswith(_FILE) else ""
    try:
        body = file(rules.removeprefix(_FILE)) if rules_from else rules.encode("utf-8", "surrogateescape")
    except OSError as error:
        raise ValueError(f"{reader.name}['rules'] must name a file that can be read, got {rules!r}: {error}") from error
    robotstxt = parse(body)
    if not robotstxt.groups:
        raise reader.wrong("rules", _RULES_RULE)
    return Action.REPLACE, robotstxt, rules_from


def _end_of(day: date) -> float:
    """When `day` is over in UTC, in seconds since the epoch."""
    return datetime.combine(day, time(), timezone.utc).timestamp() + timedelta(days=1).total_seconds()


class _Reader:
    """Reads the fields of one override."""

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self.name = name
        self.fields = fields

    def wrong(self, field: str, rule: str) -> ValueError:
        """Return the error for a wrong value of `field`."""
        return ValueError(f"{self.name}[{field!r}] must be {rule}, got {shown(repr(self.fields.get(field)))}")

    def reason(self) -> str:
        reason = self.fields.get("reason")
        if not isinstance(reason, str) or not reason.strip():
            raise self.wrong("reason", "a text that says why")
        return reason.strip()

    def until(self) -> date | None:
        value = self.fields.get("until")
        if value is None:
            return None
        if type(value) is date:  # TOML gives a date; a datetime is a subclass of date, but is not wanted
            return value
        if isinstance(value, str) and _DAY.fullmatch(value):
            with suppress(ValueError):
                return date.fromisoformat(value)
        raise self.wrong("until", 'a date such as "2027-03-31"')

    def crawler(self) -> Crawler | None:
        value = self.fields.get("as")
        if value is None:
            return None
        crawler = Crawler.of(value) if isinstance(value, str) else None
        if crawler is None or not crawler.name:
            raise self.wrong("as", 'the product token of a crawler: letters, "-" and "_"')
        return crawler

    def crawl_delay(self) -> float | None:
        value = self.fields.get("crawl_delay")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
            raise self.wrong("crawl_delay", "a number of seconds >= 0")
        return float(value)
