"""Read and apply the overrides of a crawl, which are in the setting GBOT_ROBOTS_OVERRIDES.

With an *override*, the user replaces the rules of a site's robots.txt, or allows some paths that
these rules disallow. This module reads the setting, finds the override for an origin, and applies
it. The caller passes in the present time. An invalid value in the setting raises a ValueError.

To find the override for an origin, the module looks up the origin, its host, and each domain above
the host in a dictionary. So a look-up takes the same time for any number of overrides.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from enum import Enum
from math import inf
from socket import inet_aton, inet_ntoa
from typing import Any

from ..core.crawlers import UserAgent, agents_heeded
from ..core.patterns import LENGTH_BITS, NO_PATTERNS, NO_RULE, Patterns
from ..core.remarks import ERROR
from ..core.robots import RobotsTxt, groups_of
from ..core.rules import PATHS_BEGIN
from ..core.urls import Origin, may_resolve, path_of, shown
from ..core.verdict import MOST_SPECIFIC, Rule, Verdict
from .outages import Decision, State

SETTING = "GBOT_ROBOTS_OVERRIDES"

_DAY = 86_400.0
_LONGEST_LIST = 2_000  # The log contains at most this many characters of a list of overrides.

_KEY_RULE = (
    'one origin ("https://example.com:8443"), one host ("example.com") '
    'or "*." and one domain ("*.example.com")'
)
_ORIGIN = re.compile(r"[^:/]+://[^/?#@*\\]+/?")
_HOST = re.compile(r"(\*\.)?([^/?#@*\\:]+|\[[^/?#@*\\]+\])")
# A host to which a client can send a request, in the form of `Origin.host`. It consists of labels
# of letters, digits, hyphens and underscores, or it is an IPv6 address. A name that begins with a
# hyphen is not resolved.
_REAL_HOST = re.compile(r"(?!-)[a-z0-9._-]+|\[.*\]")
# The non-ASCII punctuation marks that a host name may contain. Some are valid in a label (RFC 5892,
# appendix A), and the others are dots between labels.
_MARKS_IN_NAMES = frozenset("·׳״・。．｡")  # noqa: RUF001
# If an invalid key contains one of these characters, the user perhaps listed several hosts in it.
_SEVERAL = re.compile(r"[,;|\s]")
# A host that is an IP address, or that looks like an IP address but is invalid. Such a host has no
# subdomains.
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?|\[.*\]")
_PATTERN = re.compile(r"[^#\x00-\x20\x7f]+")  # a pattern that a line of a robots.txt can contain
_FEW = 5  # A warning contains at most this many patterns.
# The rules in an override must contain an allow line, a disallow line or one of these fields.
_FIELDS_OF_GROUPS = ("crawl-delay", "content-usage", "content-signal")
# The rules in an override are not valid if the parser reports an error of one of these kinds. Such
# an error means that the parser ignores a line that looks like a rule.
_FAULTS = frozenset({"unknown field", "rule before any group"})


class Action(Enum):
    """The effects of an override on the rules of a site."""

    IGNORE = "ignore"  # The crawl ignores the site's rules.
    DISALLOW = "disallow"  # The crawl fetches nothing, even if the site's rules allow it.
    REPLACE = "own rules"  # The crawl obeys rules of the user instead of the site's rules.
    ALLOW = "allow"  # The crawl obeys the site's rules, but may fetch some more paths.


# The state of a site for each action of an override. The action ALLOW is left out, because the
# state then depends on the site's robots.txt.
_STATES = {
    Action.IGNORE: State.FULL_ALLOW,
    Action.REPLACE: State.RULES,
    Action.DISALLOW: State.FULL_DISALLOW,
}


@dataclass(frozen=True, slots=True, eq=False)
class Override:
    """One item of the setting GBOT_ROBOTS_OVERRIDES."""

    key: str  # The origin, host or domain to which the override applies, as the user wrote it.
    action: Action
    reason: str  # The reason for the override, in the user's words.
    robotstxt: RobotsTxt | None = None  # The user's rules; None unless the action is REPLACE.
    until: date | None = None  # The last day of the override, in UTC; None if it has no end.
    paths: tuple[str, ...] = ()  # The patterns for the action ALLOW, as the user wrote them.
    allows: Patterns = NO_PATTERNS  # The patterns in `paths`, in parsed form.

    @property
    def replaces(self) -> bool:
        """Whether the override replaces the robots.txt, so that the file is not fetched."""
        return self.action is not Action.ALLOW

    def agreed_length(self, url: str) -> int:
        """Return the length of the longest pattern in `paths` that matches `url`, or 0."""
        return self.allows.best(path_of(url), NO_RULE) >> LENGTH_BITS

    @property
    def ends_at(self) -> float:
        """The time at which the override ends, in seconds since the epoch.

        It is the end of the day `until` in UTC. It is infinity if `until` is None.
        """
        if self.until is None or self.until == date.max:
            return inf
        return datetime.combine(self.until, time(), timezone.utc).timestamp() + _DAY

    @property
    def why(self) -> str:
        """The beginning of `Verdict.reason` if this override decides."""
        return f"override for {shown(self.key)} ({shown(self.reason)})"

    def named(self, verdict: Verdict) -> Verdict:
        """Return a copy of `verdict` that contains the key and the reason of this override."""
        reason = self.why
        if verdict.reason not in {MOST_SPECIFIC, reason}:
            reason = f"{reason}: {verdict.reason}"
        return verdict._replace(reason=reason, override=self.key)


def decision_by(override: Override) -> Decision:
    """Return the decision of an override that replaces the robots.txt of a site."""
    ends_at = override.ends_at
    return Decision(_STATES[override.action], override.why, False, ends_at, ends_at)


class Overrides(dict[str, Override]):
    """The overrides of a crawl. A key is an origin, a host or a domain.

    If there is an override for the origin of a URL, this override applies. Otherwise the override
    for the host applies, and if there is none, the override for the nearest domain above the host.
    For example, for https://www.shop.example.com/ the keys are looked up in this order:
    "https://www.shop.example.com", "www.shop.example.com", "*.shop.example.com", "*.example.com"
    and "*.com".

    Hosts are compared without a dot at the end, and IPv4 addresses are compared as four numbers.
    """

    def of(self, origin: Origin, now: float) -> Override | None:
        """Return the override that applies to `origin` at `now`; None if there is none.

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
        """Return two sentences for the log.

        The first sentence lists the overrides that have run out, or is "" if there are none. The
        second sentence lists the overrides in force, or is "" if there are none. In each sentence,
        the overrides are sorted by `ends_at`. `now` is in seconds since the epoch.
        """
        run_out: list[str] = []
        in_force: list[str] = []
        for override in sorted(self.values(), key=lambda override: override.ends_at):
            until = "" if override.until is None else f" until {override.until}"
            what = " ".join([override.action.value, *override.paths])
            line = f"{override.key!r}: {what}{until} ({override.reason})"
            if override.ends_at <= now:
                run_out.append(line)
            else:
                in_force.append(line)
        return _listed("run out and not applied", run_out), _listed("in force", in_force)

    def open_by_mistake(self, now: float) -> Iterator[str]:
        """Yield a warning for each override that contains rules which disallow nothing.

        The user probably wanted to keep the site's rules, and to allow some more paths. But the
        rules of the override replace the site's rules, so the whole site is allowed. Only
        overrides that are in force at `now` are checked. `now` is in seconds since the epoch.
        """
        for override in self.values():
            if override.robotstxt is None or override.ends_at <= now:
                continue
            rules: list[Rule] = []
            for group in groups_of(override.robotstxt):
                rules += [rule for rule in group.rules if rule.pattern.startswith(PATHS_BEGIN)]
            if not all(rule.allow for rule in rules):
                continue
            paths = json.dumps([rule.pattern for rule in rules[:_FEW]] or ["/path/"])
            yield (
                f"{SETTING}: the rules for {shown(override.key)!r} forbid nothing, so this crawl "
                "may fetch all of it, whatever its robots.txt forbids. To allow some paths besides "
                f'what the robots.txt allows, write "allow": {shown(paths)} in place of "rules". '
                'If all of it is meant, write "rules": "ignore"'
            )

    def for_other_crawlers(self, now: float, user_agent: UserAgent) -> Iterator[str]:
        """Yield a warning for each override that contains rules, but no group for `user_agent`.

        These rules replace the site's rules, so the whole site is allowed. Only overrides that are
        in force at `now` are checked. `now` is in seconds since the epoch.
        """
        if not agents_heeded(user_agent):
            return  # This crawler ignores robots.txt files, so it needs no group.
        for override in self.values():
            if override.robotstxt is None or override.ends_at <= now:
                continue
            if override.robotstxt.verdict("/", user_agent).group is None:
                yield (
                    f"{SETTING}: the rules for {shown(override.key)!r} have no group for "
                    f"{shown(user_agent.name or '*')}, the user agent of this crawl, so this crawl "
                    "may fetch all of it, whatever its robots.txt forbids. Write the rules below "
                    '"User-agent: *". If all of it is meant, write "rules": "ignore"'
                )


def _listed(words: str, lines: list[str]) -> str:
    if not lines:
        return ""
    return f"{SETTING}: {len(lines)} {words}: {shown(', '.join(lines), _LONGEST_LIST)}"


def _place(key: str) -> str:
    """Return the origin, host or domain in the key of an override, in normal form.

    For example, the key "HTTPS://Example.com:443/" means the origin "https://example.com", and the
    key "127.1" means the host "127.0.0.1".

    Raises:
        ValueError: the host in the key is not valid in a URL, or the key contains more than a
            scheme, a host and a port.
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
        if origin is not None and may_resolve(origin.host) and not any(map(_is_odd, key)):
            host = _in_one_spelling(origin.host)
            if not _REAL_HOST.fullmatch(host):
                raise ValueError("not a host name")
            if _NUMBER.fullmatch(host):
                if not host.startswith("["):
                    inet_aton(host)
                if below:
                    raise ValueError("an address has no subdomains")
            if match is None:
                return str(origin._replace(host=host))
            return below + host
    several = ""
    if _SEVERAL.search(key.strip()):
        several = ". If it names several hosts, write a key for each of them"
    raise ValueError(f"a key of {SETTING} must be {_KEY_RULE}, got {key!r}{several}")


def _is_odd(char: str) -> bool:
    """Return whether `char` is a non-ASCII punctuation mark that host names do not contain.

    An example is a typographic quotation mark.
    """
    if char.isascii() or char in _MARKS_IN_NAMES:
        return False
    return unicodedata.category(char).startswith("P")


def _in_one_spelling(host: str) -> str:
    """Return `host` without a dot at its end, and an IPv4 address as four numbers.

    For example, return "127.0.0.1" for "127.1", because both are the same address.
    """
    host = host.rstrip(".")
    if host.rpartition(".")[2][:1].isdecimal():
        with suppress(OSError):
            return inet_ntoa(inet_aton(host))
    return host


# The following functions read the setting GBOT_ROBOTS_OVERRIDES.


def read_overrides(
    value: object, parse: Callable[[bytes], RobotsTxt] = RobotsTxt.parse
) -> Overrides:
    """Return the overrides in the value of the setting GBOT_ROBOTS_OVERRIDES.

    Args:
        value: the value of the setting, which is a mapping. Each key is an origin, a host or a
            domain. Each value is a mapping with two or three keys: either "rules" or "allow";
            "reason"; and optionally "until".
        parse: a function that parses the bytes of a robots.txt.

    Raises:
        ValueError: a key or a value is invalid. The message shows the key and the value, and says
            which values are valid.
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
    for field in fields:
        if field not in _FIELDS:
            raise ValueError(f"{name} must have no keys but {', '.join(_FIELDS)}, got {field!r}")
    if {"rules", "allow"} <= fields.keys():
        raise ValueError(f'{name} must have "rules" or "allow", not both')
    action, robotstxt = Action.ALLOW, None
    paths: tuple[str, ...] = ()
    if "allow" in fields:
        paths = _paths(name, fields)
    else:
        rules = _text(name, fields, "rules")
        action = Action.REPLACE
        if rules in {"ignore", "disallow"}:
            action = Action(rules)
        else:
            try:
                robotstxt = _own_rules(parse(rules.encode("utf-8", "surrogateescape")))
            except ValueError as error:
                raise _wrong(name, fields, "rules", str(error)) from None
    reason = _text(name, fields, "reason")
    try:
        until = _day(fields.get("until"))
    except (TypeError, ValueError):
        raise _wrong(name, fields, "until") from None
    return Override(key, action, reason, robotstxt, until, paths, _allowing(paths))


def _wrong(name: str, fields: Mapping[str, Any], field: str, why: str = "") -> ValueError:
    got = shown(repr(fields.get(field)))
    return ValueError(f"{name}[{field!r}] must be {_FIELDS[field]}, got {got}{why}")


def _text(name: str, fields: Mapping[str, Any], field: str) -> str:
    text = fields.get(field)
    if not isinstance(text, str) or not text.strip():
        raise _wrong(name, fields, field)
    return text.strip()


def _paths(name: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the patterns in the field "allow" of an override.

    Raises:
        ValueError: the field is not a list, or contains a pattern that cannot match any path.
    """
    value = fields["allow"]
    if isinstance(value, (list, tuple)) and value and all(isinstance(path, str) for path in value):
        paths = tuple([path.strip() for path in value])
        if all(path.startswith(PATHS_BEGIN) and _PATTERN.fullmatch(path) for path in paths):
            return paths
    raise _wrong(name, fields, "allow")


def _allowing(paths: Sequence[str]) -> Patterns:
    if not paths:
        return NO_PATTERNS
    written = "\n".join(paths).encode("utf-8", "surrogateescape")
    return Patterns.of(written, [*range(1, len(paths) + 1)], True)


def _own_rules(robotstxt: RobotsTxt) -> RobotsTxt:
    """Check the rules that a user has written in an override, and return them.

    Raises:
        ValueError: `robotstxt` does not contain a rule that a crawl could obey, or it contains a
            line that looks like a rule but is ignored.
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
    # A datetime is not valid here, although `datetime` is a subclass of `date`.
    if value is None or type(value) is date:
        return value
    day = date.fromisoformat(value)
    if str(day) != value:  # Python 3.11 and newer also read other forms, such as "20270331".
        raise ValueError
    return day


_FIELDS = {
    "rules": (
        '"ignore", "disallow" or the text of a robots.txt, with a User-agent line and a rule'
    ),
    "allow": 'a list of patterns as in a robots.txt, such as ["/feed/", "/*.json$"]',
    "reason": "a text that says why",
    "until": 'a date such as "2027-03-31"',
}
