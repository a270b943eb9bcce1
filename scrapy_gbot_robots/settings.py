"""The plugin's settings, with their defaults and the values that they may have.

The class `GbotSettings` has a field for each setting. For example, the setting
`GBOT_ROBOTS_STORAGE` is the field `storage`. To add a setting, add a field here and a section to
docs/settings.md. A test compares the two. Other modules read the settings from
this class, and not by their `GBOT_ROBOTS_*` names. The only exception is commands/test.py.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timezone
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from .core.crawlers import UserAgent, cut_token, is_browser_like
from .core.lines import MAX_BYTES
from .core.robots import RobotsTxt
from .experimental.preferences import PURPOSES
from .policy.outages import LADDERS, Policy

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

# Settings as users write them. This is Scrapy's Settings or a dict, with names such as
# "GBOT_ROBOTS_STORAGE" as keys.
Words: TypeAlias = "Mapping[Any, Any]"

PREFIX = "GBOT_ROBOTS_"
# Matches the user name and the password in a string that should be a URL. They are removed from
# error messages. The password may contain any character except white space.
_USER_INFO = re.compile(r"//\S*@")
# Matches the prefix of this plugin's settings, and misspelt forms such as "GBOT_ROBOT_".
_LOOKS_OURS = re.compile(r"\AGBOTS?[_-]?ROBOTS?[_-]?", re.IGNORECASE)

STORAGES = ("memory", "sqlite", "redis")
RECORDS = (".jsonl.gz", ".jsonl")
REPORTS = (".html", ".htm")

# The settings of scrapy-redis, except REDIS_URL, that select a Redis server.
_REDIS_SETTINGS = ("REDIS_HOST", "REDIS_PORT", "REDIS_DB", "REDIS_PARAMS")
CLIENT_OF_SCRAPY_REDIS = "scrapy_redis.connection.get_redis_from_settings"
_LOCAL_REDIS = "redis://localhost:6379/0"
_REDIS_SCHEMES = ("redis://", "rediss://", "unix://")

logger = logging.getLogger(__name__)


class ValueType(NamedTuple):
    """Describes and checks the values that a setting may have.

    Attributes:
        rule: a description for error messages, such as "a whole number >= 1". It follows the words
            "GBOT_ROBOTS_X must be".
        read: a function that converts the user's value, which may be a string from the command
            line, to the type of the setting. For an invalid value, it raises KeyError, TypeError,
            ValueError, OverflowError or RecursionError.
        fits: a function that returns whether the converted value is in the allowed range.
        advice: a function that takes an invalid value, and returns the last sentence of the error
            message, or "".
    """

    rule: str
    read: Callable[[Any], Any]
    fits: Callable[[Any], bool] = lambda _: True
    advice: Callable[[Any], str] = lambda _: ""


def _number(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError
    return float(value)


def _whole_number(value: object) -> int:
    number = _number(value)
    if not number.is_integer():
        raise ValueError("a fraction")
    return int(number)


# On a command line, every value is a string. The user may write "True", "true" or "TRUE".
_FLAGS = {"true": True, "false": False, "1": True, "0": False}
# The values of GBOT_ROBOTS_CRAWL_DELAY that are not numbers, and the number of seconds that each
# stands for. "1" is read as a number, so it means one second and not True.
_LONGEST_DELAYS = {"true": 60.0, "false": 0.0}


# Matches a comma between words, but not inside parentheses.
_BETWEEN_WORDS = re.compile(r",(?![^()]*\))")


def _words(value: object) -> tuple[str, ...]:
    """Return the value of a list setting as a tuple of strings.

    The value may be a list or a string. A string that begins with "[" is read as JSON. Any other
    string is split at its commas. Commas in parentheses do not count, because the comment of a
    User-Agent header may contain commas.
    """
    if isinstance(value, str):
        if value.lstrip().startswith("["):
            value = json.loads(value)
        else:
            value = [word for word in _BETWEEN_WORDS.split(value) if word.strip()]
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise TypeError
    return tuple(map(str.strip, value))  # This raises TypeError if an element is not a string.


def _words_in_order(value: object) -> tuple[str, ...]:
    """Return the value of a list setting as a tuple of strings. The order of the strings matters.

    Raises:
        TypeError: the value is a set with several strings, which has no order, or `_words` does not
            accept its type.
    """
    if isinstance(value, (set, frozenset)) and len(value) > 1:
        raise TypeError
    return _words(value)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value


_SLASHES = tuple({"/", os.sep})  # A path that ends with a slash is the path of a directory.


def path_of(value: object) -> Path:
    """Return `value` as a path. A "~" at its beginning is replaced by the home directory.

    A relative path starts at the directory of the project or, outside a project, at the working
    directory.

    Raises:
        ValueError: `value` is not the path of a file. For example, it is a URL, or ends with a
            slash. The error is also raised if `value` begins with "~", and the home directory
            cannot be found.
    """
    text = str(value)
    if not isinstance(value, (str, Path)) or not text or "://" in text or text.endswith(_SLASHES):
        raise ValueError("not the path of a file")
    try:
        path = Path(value).expanduser()
    except RuntimeError:
        raise ValueError("no home directory") from None
    return project_folder() / path


def project_folder() -> Path:
    """Return the directory of the project, or "." if there is no project.

    This is the nearest directory with a scrapy.cfg, from the working directory upwards.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "scrapy.cfg").exists():
            return folder
    return Path()


def _mapping(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):  # On the command line, the value is written as JSON.
        value = json.loads(value)
    if not isinstance(value, Mapping):
        raise TypeError
    return value


# Matches "..", and characters that some operating systems do not allow in a file name.
_NO_NAME = re.compile(r'[/\\:*?"<>|\0-\x1f]|\.\.')


def record_named(path: Path, spider: str, now: datetime) -> Path:
    """Replace `%(time)s` and `%(name)s` in the path of a record with `now` and the spider's name.

    A record is the file of `GBOT_ROBOTS_RECORD`.
    """
    timed = str(path).replace("%(time)s", now.strftime("%Y-%m-%dT%H-%M-%S"))
    return Path(timed.replace("%(name)s", _NO_NAME.sub("-", spider)))


def _is_directory(path: Path) -> bool:
    # If the operating system does not allow this name, `is_dir` raises OSError. The exception is
    # ignored here, because a better message follows when the file is opened.
    with suppress(OSError):
        return path.is_dir()
    return False


def _is_record(path: Path) -> bool:
    named = record_named(path, "", datetime.now(timezone.utc))
    return named.name.endswith(RECORDS) and "%" not in named.name and not _is_directory(named)


def at_least(least: int) -> ValueType:
    """Return the `ValueType` of a setting whose value is a whole number, at least `least`."""
    return ValueType(f"a whole number >= {least}", _whole_number, lambda number: number >= least)


def one_of(*names: str) -> ValueType:
    """Return the `ValueType` of a setting whose value is one of `names`."""
    return ValueType(f"one of {', '.join(map(repr, names))}", _text, lambda name: name in names)


def redis_url_of_project(settings: Words) -> str:
    """Return the default of `GBOT_ROBOTS_REDIS_URL`, which is the URL that scrapy-redis uses.

    If the storage is not Redis, the URL is not used. In this case, a URL with an unsupported
    scheme must not cause an error. So the URL of a local Redis is returned instead.
    """
    url = str(settings.get("REDIS_URL") or _LOCAL_REDIS)
    if settings.get("GBOT_ROBOTS_STORAGE") != "redis" and not url.startswith(_REDIS_SCHEMES):
        return _LOCAL_REDIS
    return url


def redis_client_of_project(settings: Words) -> str | None:
    """Return the default of `GBOT_ROBOTS_REDIS_CLIENT`.

    The default is usually None. But settings of scrapy-redis such as REDIS_HOST select a Redis
    server without a URL. If the project has one of them, and no `GBOT_ROBOTS_REDIS_URL`, the
    default is the path of the function with which scrapy-redis creates its client.
    """
    if _is_set("redis_url", settings) or not any(settings.get(name) for name in _REDIS_SETTINGS):
        return None
    return CLIENT_OF_SCRAPY_REDIS


def sqlite_by_storage(_: Words) -> None:
    """Return None, which stands for the default path of `GBOT_ROBOTS_SQLITE_PATH`.

    This path is in Scrapy's data directory. Only the SQLite storage needs the path, so the module
    `storage.client` finds it later.
    """


# The advice for a user who has set GBOT_ROBOTS_SQLITE_PATH to the URL of a Redis server.
_USE_REDIS = (
    '. This is the URL of a Redis: set GBOT_ROBOTS_STORAGE to "redis" and GBOT_ROBOTS_REDIS_URL to '
    "the URL"
)
_DOTTED_PATH = re.compile(r"\w+(?:\.\w+)+")
# Endings of the names of database files. If the value of GBOT_ROBOTS_STORAGE has one of them, the
# user has probably confused the setting with GBOT_ROBOTS_SQLITE_PATH.
_DATABASES = (".sqlite", ".sqlite3", ".db")


def _is_storage(name: str) -> bool:
    if name in STORAGES:
        return True
    return _DOTTED_PATH.fullmatch(name) is not None and not name.endswith(_DATABASES)


SECONDS = ValueType("a number of seconds >= 0", _number, lambda number: 0 <= number < math.inf)
SOME_SECONDS = ValueType("a number of seconds > 0", _number, lambda number: 0 < number < math.inf)
FLAG = ValueType("True or False", lambda value: _FLAGS[str(value).lower()])
CRAWL_DELAY = ValueType(
    "True, False or the longest crawl-delay in seconds, >= 0",
    lambda value: float(_LONGEST_DELAYS.get(str(value).lower(), value)),
    lambda secs: 0 <= secs < math.inf,
)
STORAGE = ValueType(
    '"memory", "sqlite" (GBOT_ROBOTS_SQLITE_PATH names its file), '
    '"redis" (GBOT_ROBOTS_REDIS_URL names its server) or the dotted path of a class',
    _text,
    _is_storage,
)
REDIS_URL = ValueType(
    f"a URL that begins with {' or '.join(_REDIS_SCHEMES)}, which is also true for REDIS_URL",
    _text,
    lambda url: url.startswith(_REDIS_SCHEMES),
)
CALLABLE = ValueType(
    "the dotted path of a callable that returns a redis-py client", _text, lambda path: "." in path
)
SQLITE = ValueType(
    'the path of a file, not of a directory; GBOT_ROBOTS_STORAGE = "memory" needs none',
    path_of,
    lambda path: path.name != ":memory:" and not _is_directory(path),
    lambda value: _USE_REDIS if str(value).startswith(_REDIS_SCHEMES) else "",
)
REPORT = ValueType(
    f"the path of a {' or '.join(REPORTS)} file, without %(...)s",
    path_of,
    lambda path: path.suffix.lower() in REPORTS and "%(" not in path.name,
)
RECORD = ValueType(
    "the path of a .jsonl.gz or .jsonl file, not of a directory, "
    "without % in its name except in %(time)s and %(name)s",
    path_of,
    _is_record,
)
OVERRIDES = ValueType("a dict", _mapping)
META_KEYS = ValueType("a list of request.meta keys", _words, lambda keys: " " not in "".join(keys))
USER_AGENTS = ValueType(
    "a list of product tokens or User-Agent headers, each of which names a crawler",
    _words_in_order,
    lambda names: all(UserAgent.of(name).name and not cut_token(name) for name in names),
)
PURPOSE_LIST = ValueType(
    f"a list of these: {', '.join(PURPOSES)}",
    _words,
    frozenset(PURPOSES).issuperset,
)
DIRECTIVES = ValueType("a list of directives, such as noindex", _words)


def _row(default: object, values: ValueType) -> Any:
    """Return a dataclass field for a setting.

    Args:
        default: the default of the setting, in a form that users may write, or a function that
            takes the user's settings and returns the default.
        values: the values that the setting may have.
    """
    return field(metadata={"default": default, "values": values})


@dataclass(frozen=True)
class GbotSettings:
    """The plugin's settings for a crawl, after they have been checked.

    Durations are in seconds, sizes in bytes. docs/settings.md explains each setting.
    """

    enabled: bool = _row(True, FLAG)
    storage: str = _row("sqlite", STORAGE)
    sqlite_path: Path | None = _row(sqlite_by_storage, SQLITE)  # noqa: RUF009  it makes a field
    redis_url: str = _row(redis_url_of_project, REDIS_URL)
    redis_client: str | None = _row(redis_client_of_project, CALLABLE)
    cache_origins: int = _row(10_000, at_least(1))
    max_age_secs: float = _row(86_400, SECONDS)
    unreachable: str = _row("google", one_of(*LADDERS))
    unreachable_wait_secs: float = _row(60, SECONDS)
    soft_404: bool = _row(True, FLAG)
    access_denied: str = _row("allow", one_of("allow", "disallow"))
    max_bytes: int = _row(MAX_BYTES, at_least(1))
    timeout_secs: float = _row(30, SOME_SECONDS)
    meta_keys: tuple[str, ...] = _row(["proxy", "bindaddress"], META_KEYS)
    deny_private: bool = _row(False, FLAG)
    # The maximum crawl-delay that the crawl obeys, in seconds. If a site asks for a longer delay,
    # the crawl waits for this number of seconds.
    crawl_delay: float = _row(False, CRAWL_DELAY)
    sitemaps: str = _row("auto", one_of("auto", "feed", "collect", "off"))
    sitemaps_hosts: str = _row("any", one_of("any", "same-site", "same-host"))
    max_sitemaps: int = _row(50, at_least(0))
    sitemaps_ahead: int = _row(1_000, at_least(0))
    overrides: Mapping[str, Any] = _row({}, OVERRIDES)
    user_agents: tuple[str, ...] = _row([], USER_AGENTS)
    provenance: bool = _row(False, FLAG)
    record: Path | None = _row(None, RECORD)  # noqa: RUF009  it makes a field
    report: Path | None = _row(None, REPORT)  # noqa: RUF009  it makes a field
    purposes: tuple[str, ...] = _row([], PURPOSE_LIST)
    purposes_action: str = _row("annotate", one_of("annotate", "refuse"))
    page_rules: bool = _row(False, FLAG)
    page_rules_drop: tuple[str, ...] = _row([], DIRECTIVES)

    @classmethod
    def of(cls, settings: Words) -> GbotSettings:
        """Read the plugin's settings from `settings`. A setting that is not set has its default.

        Raises:
            ValueError: a setting has an invalid value. The message contains the name of the
                setting, a description of the allowed values, and the invalid value.
        """
        return cls(**{row.name: _read(row.name, row.metadata, settings) for row in fields(cls)})

    @classmethod
    def of_crawl(cls, settings: Words, *, is_for_one_page: bool) -> GbotSettings:
        """Return the plugin's settings for a crawl.

        Args:
            settings: all settings of the crawl.
            is_for_one_page: True if a person waits for the result, as with `scrapy fetch`. Then the
                default of `unreachable_wait_secs` is 0.

        Raises:
            ValueError: a setting has an invalid value. The message contains the name of the
                setting, a description of the allowed values, and the invalid value.
        """
        checked = cls.of(settings)
        if is_for_one_page and not _is_set("unreachable_wait_secs", settings):
            return replace(checked, unreachable_wait_secs=0)
        return checked

    @property
    def asked_as(self) -> UserAgent | None:
        """The user agent in `GBOT_ROBOTS_USER_AGENTS`, which selects the group of a robots.txt.

        If the setting is empty, the result is None. Then the User-Agent header of each request
        selects the group.
        """
        if not self.user_agents:
            return None
        return UserAgent.of(self.user_agents)

    @cached_property
    def policy(self) -> Policy:
        """The `Policy` of the crawl.

        It determines how long a robots.txt is used, and what a failed fetch means.
        """
        return Policy(
            self.unreachable,
            self.max_age_secs,
            soft_404=self.soft_404,
            access_denied=self.access_denied,
        )

    def parse(self, body: bytes, *, cut: bool = False) -> RobotsTxt:
        """Parse a robots.txt. At most the first `max_bytes` bytes are read.

        Args:
            body: the bytes of the robots.txt, after a content coding such as gzip was decoded.
            cut: True if `body` is only the beginning of what the server sent.
        """
        return RobotsTxt.parse(body, max_bytes=self.max_bytes, cut=cut)


def _rows() -> dict[str, Mapping[str, Any]]:
    """Return the metadata of each field of `GbotSettings`, by the name of the field.

    `_row` makes the metadata: the default of the setting, and its allowed values.
    """
    return {row.name: row.metadata for row in fields(GbotSettings)}


def _name_of(field_name: str) -> str:
    """Return the name of a setting, such as "GBOT_ROBOTS_STORAGE" for the field "storage"."""
    return PREFIX + field_name.upper()


def _is_set(field_name: str, settings: Words) -> bool:
    return settings.get(_name_of(field_name)) is not None


def _read(field_name: str, row: Mapping[str, Any], settings: Words) -> Any:
    """Return the converted value of one setting, or its default.

    Args:
        field_name: the name of the field in `GbotSettings`.
        row: the metadata of the field (`_row`).
        settings: the user's settings.

    Raises:
        ValueError: the setting has an invalid value.
    """
    value = settings.get(_name_of(field_name))
    # On the command line, `-s GBOT_ROBOTS_REPORT=` means that the setting has no value.
    if value == "" and row["default"] is None:
        return None
    if value is None:
        value = row["default"]
        if callable(value):
            value = value(settings)
    if value is None:
        return None
    values: ValueType = row["values"]
    with suppress(KeyError, TypeError, ValueError, OverflowError, RecursionError):
        read = values.read(value)
        # With `-s NAME=None` on the command line, the value is the text "None". It is never a
        # correct value, although it could be read as a user agent or as a path.
        if value != "None" and values.fits(read):
            return read
    got = _USER_INFO.sub("//", repr(value))
    advice = values.advice(value)
    raise ValueError(f"{_name_of(field_name)} must be {values.rule}, got {got}{advice}")


def is_enabled(settings: Words) -> bool:
    """Return the value of `GBOT_ROBOTS_ENABLED`, without checking any other setting.

    Raises:
        ValueError: `GBOT_ROBOTS_ENABLED` has an invalid value.
    """
    enabled: bool = _read("enabled", _rows()["enabled"], settings)
    return enabled


class _Need(NamedTuple):
    """A condition under which a setting has no effect.

    Attributes:
        other: the field name of a second setting.
        useless: the values of the second setting with which the first setting has no effect.
        example: a value of the second setting with which the first setting has an effect, as a
            string for the log.
        unless: the field name and a value of a third setting. With this value, the first setting
            always has an effect. None if there is no third setting.
    """

    other: str
    useless: tuple[object, ...]
    example: str
    unless: tuple[str, object] | None = None


# The settings that have an effect only with some values of a second setting. The keys are field
# names. For the settings of Redis and SQLite, the second setting is GBOT_ROBOTS_STORAGE. If its
# value is a user's own class, there is no warning, because this class may read the settings of
# Redis and SQLite. The table in docs/settings.md lists the same settings.
_NEEDS = {
    "page_rules_drop": _Need("page_rules", (False,), "True"),
    "purposes_action": _Need("purposes", ((),), '["train-ai"], for example'),
    "redis_client": _Need("storage", ("memory", "sqlite"), '"redis"'),
    "redis_url": _Need("storage", ("memory", "sqlite"), '"redis"'),
    "sqlite_path": _Need("storage", ("memory", "redis"), '"sqlite"'),
    # With GBOT_ROBOTS_UNREACHABLE = "allow", a crawl does not wait for an unreachable robots.txt,
    # because all URLs are allowed. There is one exception: no URL is allowed if the server denied
    # access to its robots.txt before, and GBOT_ROBOTS_ACCESS_DENIED is "disallow".
    "unreachable_wait_secs": _Need(
        "unreachable", ("allow",), '"google"', unless=("access_denied", "disallow")
    ),
}
# The settings that have no effect with GBOT_ROBOTS_SITEMAPS = "off". `mistakes` does not check
# them, because a RobotsSitemapSpider and the command use them even with "off".
_NEEDS_OF_DISCOVERY = {
    "max_sitemaps": _Need("sitemaps", ("off",), '"auto"'),
    "sitemaps_hosts": _Need("sitemaps", ("off",), '"auto"'),
}

# The meta keys that have no effect in GBOT_ROBOTS_META_KEYS, because the plugin sets them itself in
# each request for a robots.txt (fetching/fetcher.py). The values are the field names of the
# settings to use instead, or "" if there is none.
_OWN_KEYS = {
    "allow_offsite": "",
    "dont_cache": "",
    "dont_merge_cookies": "",
    "dont_obey_robotstxt": "",
    "dont_redirect": "",
    "dont_retry": "",
    "download_fail_on_dataloss": "",
    "download_maxsize": "max_bytes",
    "download_timeout": "timeout_secs",
    "download_warnsize": "",
    "ftp_password": "",
    "ftp_user": "",
    "handle_httpstatus_all": "",
}


def mistakes(settings: Words) -> Iterator[str]:
    """Yield a sentence for each setting in `settings` that is probably a mistake.

    There are four kinds of mistakes:

    1. The plugin has no setting with this name. The name may be misspelt.
    2. The setting has no effect because of the value of a second setting.
    3. `GBOT_ROBOTS_META_KEYS` contains a key that the plugin sets itself.
    4. `GBOT_ROBOTS_USER_AGENTS` contains the User-Agent header of a browser.
    """
    field_names = [row.name for row in fields(GbotSettings)]
    for name in sorted(map(str, settings)):
        if _LOOKS_OURS.match(name) and name not in map(_name_of, field_names):
            end = _LOOKS_OURS.sub("", name)
            yield f"unknown setting {name}: ignored. {_instead(end, field_names)}"
    yield from _without_effect(_NEEDS, settings)
    with suppress(ValueError):
        for key in _read("meta_keys", _rows()["meta_keys"], settings):
            if key in _OWN_KEYS:
                instead = ""
                if _OWN_KEYS[key]:
                    instead = f". Set {_name_of(_OWN_KEYS[key])}"
                yield (
                    f"{_name_of('meta_keys')} has {key!r}, which has no effect, because the plugin "
                    f"sets this key itself{instead}"
                )
    with suppress(ValueError):
        user_agents = _read("user_agents", _rows()["user_agents"], settings)
        for name in filter(is_browser_like, user_agents):
            yield f"{_name_of('user_agents')} has {name!r}, which names a browser and no crawler"


def useless_without_discovery(settings: Words) -> Iterator[str]:
    """Yield a sentence for each setting that has no effect because sitemap discovery is off.

    Do not call this for a crawl with a RobotsSitemapSpider, which needs these settings itself.
    """
    return _without_effect(_NEEDS_OF_DISCOVERY, settings)


def _without_effect(needs: Mapping[str, _Need], settings: Words) -> Iterator[str]:
    """Yield a sentence for each setting in `needs` that has no effect.

    The keys of `needs` are field names.
    """
    for field_name, need in needs.items():
        if settings.get(_name_of(field_name)):
            with suppress(ValueError):  # `GbotSettings.of` reports invalid values.
                yield from _lack(field_name, need, settings)


def _lack(field_name: str, need: _Need, settings: Words) -> Iterator[str]:
    """Yield a sentence if a setting has no effect because of the value of a second setting.

    In two cases nothing is yielded, because the user probably knows that the setting has no effect:

    1. The second setting has a higher priority than the first one. For example, the second setting
       is from the command line, and the first one from the project's settings.
    2. The value of the first setting is its default.

    Args:
        field_name: the field name of the first setting.
        need: describes the second setting.
        settings: the user's settings.

    Raises:
        ValueError: one of the settings has an invalid value.
    """
    rows = _rows()
    name, other = _name_of(field_name), _name_of(need.other)
    value = _read(need.other, rows[need.other], settings)
    if value not in need.useless:
        return
    if need.unless is not None:
        third, useful = need.unless
        if _read(third, rows[third], settings) == useful:
            return
    if not _is_set(need.other, settings):
        yield f"{name} has no effect without {other} = {need.example}"
        return
    own = rows[field_name]
    is_default = _read(field_name, own, settings) == _read(field_name, own, {})
    if is_default or _priority(other, settings) > _priority(name, settings):
        return
    shown = list(value) if isinstance(value, tuple) else value
    yield (
        f"{name} has no effect with {other} = {shown!r}. Remove it, or set {other} = {need.example}"
    )


def _priority(name: str, settings: Words) -> int:
    """Return the priority of a setting in Scrapy's `Settings`; 0 if `settings` is a dict."""
    priority_of: Callable[[str], int | None] = getattr(settings, "getpriority", lambda _: 0)
    return priority_of(name) or 0


def _instead(end: str, field_names: Iterable[str]) -> str:
    """Return a sentence that suggests the setting with the most similar name.

    If no name is similar, the sentence explains how to switch the add-on off.

    Args:
        end: the unknown name without its prefix, for example "STORAG".
        field_names: the names of all fields of `GbotSettings`.
    """
    nearest = get_close_matches(end.lower(), field_names, n=1)
    if nearest:
        return f"Did you mean {_name_of(nearest[0])}?"
    return f"To switch the add-on off, set {_name_of('enabled')} = False"


# The settings of the crawls for which `warn_of_mistakes` was called. Each key is the `id` of a
# `Settings` object, because these objects are not hashable.
_told: WeakValueDictionary[int, BaseSettings] = WeakValueDictionary()


def warn_of_mistakes(settings: BaseSettings) -> None:
    """Log a warning for each setting that is probably a mistake.

    The add-on, the middleware and the spider of a crawl may all call this function. Only the first
    call logs warnings.
    """
    if _told.get(id(settings)) is settings:
        return
    _told[id(settings)] = settings
    for text in mistakes(settings):
        logger.warning("%s", text)
