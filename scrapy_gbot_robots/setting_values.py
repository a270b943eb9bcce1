"""The values that settings take, and the defaults that depend on Scrapy's own settings.

A `Kind` reads a value, from a settings module or from the command line, where all is text. `settings` names a kind and a
default for each setting.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from scrapy.exceptions import NotConfigured
from scrapy.utils.conf import closest_scrapy_cfg
from scrapy.utils.project import data_path, inside_project

from .core.agents import Crawler
from .policy.purposes import PURPOSES

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

_T = TypeVar("_T")

STORAGES = ("memory", "sqlite", "redis")
ARCHIVES = (".warc.gz", ".warc", ".jsonl.gz", ".jsonl")
REPORTS = (".html", ".htm")
SQLITE_FILE = "gbot_robots/robots.sqlite"  # below the project's data directory

_REDIS_OPTIONS = ("ssl_ca_certs", "ssl_cert_reqs", "ssl_certfile", "ssl_check_hostname", "ssl_keyfile")
_REDIS_SCHEMES = (
    "redis://",
    "rediss://",
    "unix://",
    "redis+sentinel://",
    "rediss+sentinel://",
    "redis+cluster://",
    "rediss+cluster://",
)


@dataclass(frozen=True)
class Kind(Generic[_T]):
    """The values that a setting takes.

    Attributes:
        rule: what completes "GBOT_ROBOTS_X must be".
        read: turns the value that is set into the value to use; raises TypeError or ValueError for a wrong one.
    """

    rule: str
    read: Callable[[object], _T]


def _refuse() -> Any:
    raise ValueError


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError
    number = float(value)
    return number if math.isfinite(number) else _refuse()


def _flag(value: object) -> bool:
    flags = {"true": True, "1": True, "false": False, "0": False}  # a command line gives text
    return flags[str(value).lower()] if str(value).lower() in flags else _refuse()


def _words(value: object) -> tuple[str, ...]:
    """Read a list. A text is read as JSON if it begins with a bracket, and is split at commas otherwise."""
    if isinstance(value, str):
        value = json.loads(value) if value.lstrip().startswith("[") else value.split(",")
    if not isinstance(value, (list, tuple, set, frozenset)) or not all(isinstance(word, str) for word in value):
        raise TypeError
    return tuple(word.strip() for word in value if word.strip())


def _purposes(value: object) -> tuple[str, ...]:
    words = _words(value)
    return words if all(word in PURPOSES for word in words) else _refuse()


def _lower_words(value: object) -> tuple[str, ...]:
    return tuple(word.lower() for word in _words(value))


def _text(value: object) -> str:
    return value if isinstance(value, str) and value else _refuse()


def _storage(value: object) -> str:
    name = _text(value)
    return name if name in STORAGES or "." in name else _refuse()


def path_of(value: object) -> Path:
    """Return the path, with `~` expanded. A relative one counts from the project's directory, or the working directory.

    Raises:
        TypeError, ValueError: `value` is no path, or there is no such home directory.
    """
    if not isinstance(value, (str, Path)) or not str(value):
        raise TypeError
    try:
        path = Path(value).expanduser()
    except RuntimeError:
        raise ValueError("no home directory") from None
    return Path(closest_scrapy_cfg()).parent / path


def _mapping_or_file(value: object) -> Mapping[str, Any] | Path:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, str) and value.lstrip().startswith("{"):  # on the command line
        found = json.loads(value)
        return found if isinstance(found, dict) else _refuse()
    path = path_of(value)
    return path if path.suffix.lower() in {".toml", ".json"} else _refuse()


def archive_named(path: Path, spider: str, now: datetime) -> Path:
    """Return the path with the time and the spider's name filled in."""
    return Path(str(path) % {"time": now.strftime("%Y-%m-%dT%H-%M-%S"), "name": spider.replace("/", "-")})


def _report(value: object) -> Path:
    path = path_of(value)
    return path if path.suffix.lower() in REPORTS else _refuse()


def _archive(value: object) -> Path:
    path = path_of(value)
    return path if archive_named(path, "", datetime.now(timezone.utc)).name.endswith(ARCHIVES) else _refuse()


def _crawler_names(value: object) -> tuple[str, ...]:
    names = _words(value)
    return names if all(Crawler.of(name).name for name in names) else _refuse()


def count(least: int) -> Kind[int]:
    """Whole numbers from `least` on."""

    def read(value: object) -> int:
        number = _number(value)
        return int(number) if number.is_integer() and number >= least else _refuse()

    return Kind(f"a whole number >= {least}", read)


def seconds(*, zero: bool = True) -> Kind[float]:
    """Durations; `zero` says whether 0 is one."""

    def read(value: object) -> float:
        number = _number(value)
        return number if number > 0 or (zero and number == 0) else _refuse()

    return Kind(f"a number of seconds {'>=' if zero else '>'} 0", read)


def one_of(*names: str) -> Kind[str]:
    """Any of `names`."""

    def read(value: object) -> str:
        return value if isinstance(value, str) and value in names else _refuse()

    return Kind("one of " + ", ".join(repr(name) for name in names), read)


def _redis_url(value: object) -> str:
    url = _text(value)
    return url if url.startswith(_REDIS_SCHEMES) else _refuse()


FLAG = Kind("True or False", _flag)
NAME = Kind("the name of a field of items", _text)
STORAGE = Kind('"memory", "sqlite", "redis" or the dotted path of a class', _storage)
REDIS_URL = Kind(f"a URL that begins with {' or '.join(_REDIS_SCHEMES)}", _redis_url)
FILE = Kind("the path of a file", path_of)
REPORT = Kind(f"the path of a {' or '.join(REPORTS)} file", _report)
ARCHIVE = Kind(
    "the path of a .warc.gz, .warc, .jsonl.gz or .jsonl file, with no %(...)s but %(time)s and %(name)s", _archive
)
OVERRIDES = Kind("a dict, or the path of a .toml or .json file", _mapping_or_file)
META_KEYS = Kind("a list of request.meta keys", _words)
AGENTS = Kind("a list of product tokens or User-Agent headers, each of which names a crawler", _crawler_names)
PURPOSE_LIST = Kind(f"a list of these: {', '.join(PURPOSES)}", _purposes)
DIRECTIVES = Kind("a list of directives, such as noindex", _lower_words)


def redis_of_scrapy_redis(settings: BaseSettings) -> str:
    """Return the URL of the Redis that scrapy-redis would use.

    It comes from REDIS_URL, REDIS_HOST, REDIS_PORT, REDIS_DB and REDIS_PARAMS. REDIS_ENCODING plays no part, since entries
    are bytes.
    """
    params = settings.getdict("REDIS_PARAMS")

    def named(setting: str, param: str) -> Any:
        return settings.get(setting) or params.get(param)

    url = str(named("REDIS_URL", "url") or "")
    if url and not params:
        return url
    options = {name: str(params[name]) for name in _REDIS_OPTIONS if params.get(name) is not None}
    database = str(named("REDIS_DB", "db") or 0)
    host = str(named("REDIS_HOST", "host") or "localhost")
    scheme = "rediss" if str(params.get("ssl")) in {"True", "true", "1"} else "redis"
    where = f"{f'[{host}]' if ':' in host else host}:{named('REDIS_PORT', 'port') or 6379}"
    path = f"/{database}"
    if url:
        scheme, where, own_path, query, _ = urlsplit(url)
        options |= dict(parse_qsl(query))
        path = own_path if own_path.strip("/") or "db" in options else path
    elif params.get("unix_socket_path"):
        scheme, where, path = "unix", "", str(params["unix_socket_path"])
        options["db"] = database
    if params.get("password") is not None and "@" not in where:
        user, password = (quote(str(params.get(name) or ""), safe="") for name in ("username", "password"))
        where = f"{user}:{password}@{where}"
    return f"{scheme}://{where}{path}{'?' if options else ''}{urlencode(options)}"


def sqlite_of_project(_: BaseSettings) -> Path | None:
    """Return the default file; None outside a Scrapy project, so that a crawl leaves no stray file."""
    try:
        return Path(data_path(SQLITE_FILE)) if inside_project() else None
    except NotConfigured:
        return None
    except OSError:  # the data directory cannot be made: opening the storage will say so
        return Path(closest_scrapy_cfg()).parent.resolve() / ".scrapy" / SQLITE_FILE
