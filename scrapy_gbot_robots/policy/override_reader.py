"""Reading the setting of overrides: a mapping from places to what is agreed for each. A wrong value is a ValueError.

Pure: the caller passes in a function that reads files.
"""

from __future__ import annotations

import math
import re
import sys
from contextlib import suppress
from datetime import date, datetime, time, timedelta, timezone
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ..core.crawlers import Crawler
from ..core.robots import RobotsTxt
from ..core.urls import shown
from .overrides import SETTING, Action, Override, Overrides

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FIELDS = ("rules", "as", "crawl_delay", "reason", "until")
_FILE = "file:"
_RULES_RULE = '"ignore", "disallow", "file:PATH" or the text of a robots.txt with a User-agent line'


def read_overrides(
    value: object, file: Callable[[str], bytes], parse: Callable[[bytes], RobotsTxt] = RobotsTxt.parse
) -> Overrides:
    """Read the value of the setting.

    Args:
        value: a mapping from keys to mappings.
        file: returns the content of the file of a `file:PATH`, or raises OSError.
        parse: reads a robots.txt.

    Raises:
        ValueError: a key or a value is wrong; the message names the key, the value and the rule.
    """
    overrides = Overrides()
    for key, fields in _mapping(SETTING, value).items():
        overrides.add(_override(key, fields, file, parse))
    return overrides


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
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= sys.float_info.max:
            raise self.wrong("crawl_delay", "a number of seconds >= 0")
        return float(value)
