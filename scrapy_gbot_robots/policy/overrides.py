"""What a user has agreed with sites apart from their robots.txt.

It says which override counts for an origin, and what it does.

Pure: the caller passes in the time. Finding the override of an origin takes a look-up for the
origin and one for each label of its host, however many overrides there are. A wrong value is a
ValueError.
Source: our own; no standard has agreed exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from enum import Enum
from math import inf
from socket import inet_aton, inet_ntoa
from typing import Any

from ..core.remarks import ERROR
from ..core.robots import RobotsTxt, groups_of
from ..core.urls import Origin, may_resolve, shown
from ..core.verdict import MOST_SPECIFIC, Verdict
from .outages import Decision, State

SETTING = "GBOT_ROBOTS_OVERRIDES"

_DAY = 86_400.0
_LONGEST_LIST = 2_000  # characters of a list of overrides in the log

_KEY_RULE = (
    'an origin ("https://example.com:8443"), a host ("example.com") '
    'or "*." and a domain ("*.example.com")'
)
_ORIGIN = re.compile(r"[^:/]+://[^/?#@*\\]+/?")
_HOST = re.compile(r"(\*\.)?([^/?#@*\\:]+|\[[^/?#@*\\]+\])")
# Of a host: it is an address, or none; and it has no subdomains.
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?|\[.*\]")
_FIELDS_OF_GROUPS = ("crawl-delay", "content-usage", "content-signal")  # beside the rules
# Kinds of remarks, at the level of errors, on rules that do not do what their author means.
_FAULTS = frozenset({"unknown field", "rule before any group"})


class Action(Enum):
    """What an override does with the rules of a site."""

    IGNORE = "ignore"  # they are not obeyed
    DISALLOW = "disallow"  # nothing is fetched, whatever they say
    REPLACE = "own rules"  # others are obeyed


_STATES = {
    Action.IGNORE: State.FULL_ALLOW,
    Action.REPLACE: State.RULES,
    Action.DISALLOW: State.FULL_DISALLOW,
}


@dataclass(frozen=True, slots=True, eq=False)
class Override:
    """One override."""

    key: str  # where it applies, as the user wrote it
    action: Action
    reason: str  # in the user's words
    robotstxt: RobotsTxt | None = None  # the rules to obey instead
    until: date | None = None  # the last day, in UTC; None: it has no end

    @property
    def ends_at(self) -> float:
        """When the override has run out, in seconds since the epoch; infinity: never.

        Its last day counts to its end.
        """
        if self.until is None or self.until == date.max:
            return inf
        return datetime.combine(self.until, time(), timezone.utc).timestamp() + _DAY

    @property
    def why(self) -> str:
        """The reason of verdicts."""
        return f"override for {shown(self.key)} ({shown(self.reason)})"

    def named(self, verdict: Verdict) -> Verdict:
        """Return `verdict` with this override named in it."""
        reason = self.why
        if verdict.reason not in {MOST_SPECIFIC, reason}:
            reason = f"{reason}: {verdict.reason}"
        return verdict._replace(reason=reason, override=self.key)


def decision_by(override: Override) -> Decision:
    """Return the decision that counts in place of the decision on the site's robots.txt."""
    ends_at = override.ends_at
    return Decision(_STATES[override.action], override.why, False, ends_at, ends_at)


class Overrides(dict[str, Override]):
    """The overrides of a crawl, by place.

    The most specific one counts: the origin's, the host's, the nearest domain's.

    Hosts are compared in one spelling: without a final dot, and an IPv4 address as four numbers.
    """

    def of(self, origin: Origin, now: float) -> Override | None:
        """Return the override that counts for `origin` at `now`; None if there is none.

        `now` is in seconds since the epoch.
        """
        if not self:
            return None
        host = _in_one_spelling(origin.host)
        labels = host.split(".")
        domains = (f"*.{'.'.join(labels[start:])}" for start in range(1, len(labels)))
        for place in (str(origin._replace(host=host)), host, *domains):
            override = self.get(place)
            if override is not None and now < override.ends_at:
                return override
        return None

    def in_words(self, now: float) -> tuple[str, str]:
        """Say which overrides have run out by `now`, and which count; "" if there are none.

        Of each list those come first that run out first.
        """
        run_out: list[str] = []
        in_force: list[str] = []
        for override in sorted(self.values(), key=lambda override: override.ends_at):
            until = "" if override.until is None else f" until {override.until}"
            line = f"{override.key!r}: {override.action.value}{until} ({override.reason})"
            if override.ends_at <= now:
                run_out.append(line)
            else:
                in_force.append(line)
        return _listed("run out and not applied", run_out), _listed("in force", in_force)


def _listed(words: str, lines: list[str]) -> str:
    if not lines:
        return ""
    return f"{SETTING}: {len(lines)} {words}: {shown(', '.join(lines), _LONGEST_LIST)}"


def _place(key: str) -> str:
    """Return one spelling of the place that a key names.

    It is like "https://example.com", "example.com" or "*.example.com".

    Raises:
        ValueError: it names none that a request can go to, or more than scheme, host and port.
    """
    with suppress(ValueError, OSError):
        below = ""
        origin = None
        match = _HOST.fullmatch(key)
        if match is not None:
            below = match[1] or ""
            origin = Origin.of(f"http://{match[2]}/")
        elif _ORIGIN.fullmatch(key):
            origin = Origin.of(key)
        if origin is not None and may_resolve(origin.host):
            host = _in_one_spelling(origin.host)
            if _NUMBER.fullmatch(host):
                if not host.startswith("["):
                    inet_aton(host)
                if below:
                    raise ValueError("an address has no subdomains")
            if match is None:
                return str(origin._replace(host=host))
            return below + host
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


def read_overrides(
    value: object, parse: Callable[[bytes], RobotsTxt] = RobotsTxt.parse
) -> Overrides:
    """Read the value of the setting, a mapping from keys to mappings; `parse` reads a robots.txt.

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
        overrides[place] = _override(key, fields, parse)
    return overrides


def _mapping(name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{name} must be a dict, got {shown(repr(value))}")
    return value


def _override(key: str, value: object, parse: Callable[[bytes], RobotsTxt]) -> Override:
    name = f"{SETTING}[{key!r}]"
    fields = _mapping(name, value)

    def wrong(field: str, why: str = "") -> ValueError:
        got = shown(repr(fields.get(field)))
        return ValueError(f"{name}[{field!r}] must be {_FIELDS[field]}, got {got}{why}")

    for field in fields:
        if field not in _FIELDS:
            raise ValueError(f"{name} must have no keys but {', '.join(_FIELDS)}, got {field!r}")
    texts: list[str] = []
    for field in ("rules", "reason"):
        text = fields.get(field)
        if not isinstance(text, str) or not text.strip():
            raise wrong(field)
        texts.append(text.strip())
    rules, reason = texts
    try:
        until = _day(fields.get("until"))
    except (TypeError, ValueError):
        raise wrong("until") from None
    if rules in {"ignore", "disallow"}:
        return Override(key, Action(rules), reason, None, until)
    try:
        robotstxt = _own_rules(parse(rules.encode("utf-8", "surrogateescape")))
    except ValueError as error:
        raise wrong("rules", str(error)) from None
    return Override(key, Action.REPLACE, reason, robotstxt, until)


def _own_rules(robotstxt: RobotsTxt) -> RobotsTxt:
    """Return the rules that a user has written.

    Raises:
        ValueError: there are none that a crawl may heed, or a line is ignored that looks like one.
    """
    for remark in robotstxt.remarks:
        if remark.level == ERROR and remark.kind in _FAULTS:
            raise ValueError(f"; {shown(str(remark))}")
    groups = groups_of(robotstxt)
    has_rules = any(group.rules for group in groups)
    if not has_rules and not (groups and any(map(robotstxt.fields, _FIELDS_OF_GROUPS))):
        raise ValueError
    return robotstxt


def _day(value: Any) -> date | None:
    if value is None or type(value) is date:  # a datetime is a date, too, but is not wanted
        return value
    day = date.fromisoformat(value)
    if str(day) != value:  # Python 3.11 reads other forms, too
        raise ValueError
    return day


_FIELDS = {
    "rules": (
        '"ignore", "disallow" or the text of a robots.txt, with a User-agent line and a rule'
    ),
    "reason": "a text that says why",
    "until": 'a date such as "2027-03-31"',
}
