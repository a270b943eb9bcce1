"""What a user has agreed with sites apart from their robots.txt.

It says which override counts for an origin, and what it does.

Pure: the caller passes in the time, and a function that reads files. Finding the override of an
origin takes a look-up for the origin and one for each label of its host, however many overrides
there are. A wrong value is a ValueError.
Source: our own; no standard has agreed exceptions.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timezone
from enum import Enum
from socket import inet_aton, inet_ntoa
from typing import Any

from ..core.crawlers import Crawler
from ..core.robots import RobotsTxt, groups_of
from ..core.urls import Origin, shown
from ..core.verdict import MOST_SPECIFIC, Verdict

SETTING = "GBOT_ROBOTS_OVERRIDES"
SOON_DAYS = 7

_KEY_RULE = (
    'an origin ("https://example.com:8443"), a host ("example.com") '
    'or "*." and a domain ("*.example.com")'
)
_ORIGIN = re.compile(r"[^:/]+://[^/?#@*\\]+/?")
_HOST = re.compile(r"(\*\.)?([^/?#@*\\:]+|\[[^/?#@*\\]+\])")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FILE = "file:"


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
    """One override."""

    key: str  # where it applies, as the user wrote it
    action: Action
    reason: str  # in the user's words
    # "ignore", "disallow", the `file:PATH` of the rules to obey instead, or "own rules"
    rules: str = ""
    robotstxt: RobotsTxt | None = None  # these rules
    crawler: Crawler | None = None  # whose rules are obeyed; None: the crawl's own
    # seconds between requests; None: as the robots.txt and the settings say
    crawl_delay: float | None = None
    until: date | None = None  # the last day, in UTC; None: it has no end

    @property
    def decides(self) -> bool:
        """Whether the override decides in place of the site's own robots.txt."""
        return self.action is not Action.KEEP

    @property
    def what(self) -> str:
        """What the override does, in a few words."""
        words: list[str] = []
        if self.rules:
            words.append(self.rules)
        if self.crawler is not None:
            words.append(f"as {self.crawler.name}")
        if self.crawl_delay is not None:
            words.append(f"crawl-delay {self.crawl_delay:g} s")
        return ", ".join(words)

    def standing(self, now: float) -> Standing:
        """Whether the override counts at `now`, in seconds since the epoch.

        Its last day counts to its end.
        """
        if self.until is None:
            return Standing.IN_FORCE
        days_left = (self.until - datetime.fromtimestamp(now, timezone.utc).date()).days
        if days_left < 0:
            return Standing.RUN_OUT
        if days_left < SOON_DAYS:
            return Standing.RUNS_OUT_SOON
        return Standing.IN_FORCE

    def named(self, verdict: Verdict) -> Verdict:
        """Return `verdict` with this override named in it."""
        reason = f"override for {shown(self.key)} ({shown(self.reason)})"
        if verdict.reason != MOST_SPECIFIC:
            reason = f"{reason}: {verdict.reason}"
        return verdict._replace(reason=reason, override=self.key)


class Overrides(dict[str, Override]):
    """The overrides of a crawl, by place.

    The most specific one counts: the origin's, the host's, the nearest domain's.

    Hosts are compared in one spelling: without a final dot, and an IPv4 address as four numbers.
    """

    def of(self, origin: Origin, now: float) -> Override | None:
        """Return the override that counts for `origin` at `now`; None if there is none.

        `now` is in seconds since the epoch.
        """
        host = _in_one_spelling(origin.host)
        labels = host.split(".")
        domains = (f"*.{'.'.join(labels[start:])}" for start in range(1, len(labels)))
        for place in (str(origin._replace(host=host)), host, *domains):
            override = self.get(place)
            if override is not None and override.standing(now) is not Standing.RUN_OUT:
                return override
        return None


def _place(key: str) -> str:
    """Return one spelling of the place that a key names.

    It is like "https://example.com", "example.com" or "*.example.com".

    Raises:
        ValueError: it names none, or more than scheme, host and port.
    """
    with suppress(ValueError):
        if _ORIGIN.fullmatch(key):
            origin = Origin.of(key)
            return str(origin._replace(host=_in_one_spelling(origin.host)))
        match = _HOST.fullmatch(key)
        if match is not None:
            below = match[1]
            host = Origin.of(f"http://{match[2]}/").host
            if below:
                return below + host.rstrip(".")
            return _in_one_spelling(host)
    raise ValueError(f"a key of {SETTING} must be {_KEY_RULE}, got {key!r}")


def _in_one_spelling(host: str) -> str:
    """Return one spelling of `host` for all that lead to the same machine.

    "127.1" is "127.0.0.1" for a resolver.
    """
    host = host.rstrip(".")
    if host.rpartition(".")[2][:1].isdecimal():
        with suppress(OSError):
            return inet_ntoa(inet_aton(host))
    return host


# Reading the setting.


def json_of(text: str) -> Any:
    """Return what a JSON text says.

    Raises:
        ValueError: it is no JSON, an object has one key twice, or it is nested too deeply.
    """
    try:
        return json.loads(text, object_pairs_hook=_once_each)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for key, value in pairs:
        if key in fields:
            raise ValueError(f"the key {shown(repr(key))} is there twice")
        fields[key] = value
    return fields


def read_overrides(
    value: object,
    file: Callable[[str], bytes],
    parse: Callable[[bytes], RobotsTxt] = RobotsTxt.parse,
) -> Overrides:
    """Read the value of the setting.

    Args:
        value: a mapping from keys to mappings.
        file: returns the content of the file of a `file:PATH`, or raises OSError or ValueError.
        parse: reads a robots.txt.

    Raises:
        ValueError: a key or a value is wrong; the message names the key, the value and the rule.
    """
    overrides = Overrides()
    for key, fields in _mapping(SETTING, value).items():
        place = _place(key)
        if place in overrides:
            raise ValueError(
                f"a key of {SETTING} must be there once, got {overrides[place].key!r} and {key!r}"
            )
        overrides[place] = _override(key, fields, file, parse)
    return overrides


def _mapping(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(
            f"{name} must be a dict, or a .toml or .json file of one, got {shown(repr(value))}"
        )
    return value


def _override(
    key: str, value: object, file: Callable[[str], bytes], parse: Callable[[bytes], RobotsTxt]
) -> Override:
    name = f"{SETTING}[{key!r}]"
    fields = _mapping(name, value)
    if fields.keys().isdisjoint({"rules", "as", "crawl_delay"}):
        raise ValueError(f"{name} must have rules, as or crawl_delay, got {shown(repr(value))}")
    for field in fields:
        if field not in _FIELDS:
            raise ValueError(f"{name} must have no keys but {', '.join(_FIELDS)}, got {field!r}")
    read: dict[str, Any] = {}
    for field, given in {"reason": None, **fields}.items():
        reader, rule = _FIELDS[field]
        try:
            read[field] = reader(given)
        except ValueError:
            message = f"{name}[{field!r}] must be {rule}, got {shown(repr(given))}"
            raise ValueError(message) from None
    override = Override(
        key,
        Action.KEEP,
        reason=read["reason"].strip(),
        crawler=read.get("as"),
        crawl_delay=read.get("crawl_delay"),
        until=read.get("until"),
    )
    rules = read.get("rules")
    if rules is None:
        return override
    if rules in {"ignore", "disallow"}:
        return replace(override, action=Action(rules), rules=rules)
    words = "own rules"
    if rules.startswith(_FILE):
        words = rules
    robotstxt = parse(_body_of(name, rules, file))
    if not groups_of(robotstxt):
        _, rule = _FIELDS["rules"]
        raise ValueError(f"{name}['rules'] must be {rule}, got {shown(repr(rules))}")
    return replace(override, action=Action.REPLACE, rules=words, robotstxt=robotstxt)


def _body_of(name: str, rules: str, file: Callable[[str], bytes]) -> bytes:
    """Return the robots.txt that `rules` contain, or that is in the file they name."""
    try:
        if rules.startswith(_FILE):
            return file(rules.removeprefix(_FILE))
        return rules.encode("utf-8", "surrogateescape")
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{name}['rules'] must name a file that can be read, got {rules!r}: {error}"
        ) from error


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def _crawler(value: object) -> Crawler:
    crawler = Crawler.of(_text(value))
    if not crawler.name:
        raise ValueError
    return crawler


def _secs(value: Any) -> float:
    if type(value) not in {int, float} or not 0 <= value <= sys.float_info.max:
        raise ValueError
    return float(value)


def _day(value: object) -> date | None:
    if value is None:  # JSON's null: it has no end
        return None
    if type(value) is date:  # TOML gives one; a datetime is a date, too, but is not wanted
        return value
    text = _text(value)
    if not _DAY.fullmatch(text):
        raise ValueError
    return date.fromisoformat(text)


# How each key is read, and the rule for its value.
_FIELDS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "rules": (
        _text,
        '"ignore", "disallow", "file:PATH" or the text of a robots.txt with a User-agent line',
    ),
    "reason": (_text, "a text that says why"),
    "as": (_crawler, 'the product token of a crawler: letters, "-" and "_"'),
    "crawl_delay": (_secs, "a number of seconds >= 0"),
    "until": (_day, 'a date such as "2027-03-31"'),
}
