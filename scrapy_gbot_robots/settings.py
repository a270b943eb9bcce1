"""The settings as one table: name, default, what values it takes, and what it means.

Each field of `GbotSettings` is a row of the table: the setting `GBOT_ROBOTS_STRICT` is the field `strict`. To add a
setting, add a field, and its row to docs/settings.md, which a test compares with this table.
This is the one place that reads a `GBOT_ROBOTS_*` name; everything else takes a `GbotSettings`.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from scrapy.exceptions import NotConfigured
from scrapy.utils.conf import closest_scrapy_cfg
from scrapy.utils.project import data_path, inside_project

from .core.agents import AllOf, Crawler
from .engine import is_for_one_page
from .policy.ladder import LADDERS, Policy
from .policy.purposes import PURPOSES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scrapy.crawler import Crawler as ScrapyCrawler
    from scrapy.settings import BaseSettings

    from .core.agents import RobotsAgent

_T = TypeVar("_T")

PREFIX = "GBOT_ROBOTS_"
_LOOKS_OURS = "GBOT_ROBOT"  # what misspelt names begin with, too
STORAGES = ("memory", "sqlite", "redis")

ARCHIVES = (".warc.gz", ".warc", ".jsonl.gz", ".jsonl")
REPORTS = (".html", ".htm")

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
_SQLITE_FILE = "gbot_robots/robots.sqlite"  # below the project's data directory

logger = logging.getLogger(__name__)

_Default: TypeAlias = "object | Callable[[BaseSettings], object]"


@dataclass(frozen=True)
class Kind(Generic[_T]):
    """The values that a setting takes.

    Attributes:
        rule: what completes "GBOT_ROBOTS_X must be".
        read: returns the value to use for the one that is set; raises TypeError or ValueError for a wrong one.
    """

    rule: str
    read: Callable[[object], _T]


class Row(NamedTuple):
    """A row of the table.

    Attributes:
        name: without `PREFIX`, in lower case: the field of `GbotSettings`.
        default: used when the setting is not set; a function gets Scrapy's settings and returns the default.
        kind: the values that the setting takes.
        meaning: a phrase for the documentation, in Markdown.
        documented: the default as the documentation shows it.
    """

    name: str
    default: _Default
    kind: Kind[Any]
    meaning: str
    documented: str

    @property
    def setting(self) -> str:
        """The name that users write."""
        return PREFIX + self.name.upper()

    def value(self, settings: BaseSettings) -> Any:
        """Return the value to use.

        Raises:
            ValueError: a wrong value is set; the message names the setting, the rule and the value.
        """
        value = settings.get(self.setting)
        if value is None:
            value = self.default(settings) if callable(self.default) else self.default
        if value is None:
            return None
        try:
            return self.kind.read(value)
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"{self.setting} must be {self.kind.rule}, got {value!r}") from None


def _setting(default: _Default, kind: Kind[Any], meaning: str, *, documented: str | None = None) -> Any:
    """Make a field of `GbotSettings`, which is a row of the table."""
    if documented is None:
        documented = "none" if default is None else f"`{json.dumps(default) if isinstance(default, str) else default}`"
    return field(metadata={"default": default, "kind": kind, "meaning": meaning, "documented": documented})


def _refuse() -> Any:
    raise ValueError


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError
    number = float(value)
    return number if math.isfinite(number) else _refuse()


def _flag(value: object) -> bool:
    flags = {"true": True, "1": True, "false": False, "0": False}  # Scrapy's command line hands over text
    return flags[str(value).lower()] if str(value).lower() in flags else _refuse()


def _words(value: object) -> tuple[str, ...]:
    """Read a list; a text is split at commas, or read as JSON if it looks like that."""
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
    """Expand `~`; a relative path counts from the project's directory, outside a project from the working directory.

    Raises:
        TypeError, ValueError: it is no path, or there is no such home directory.
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


def _count(least: int) -> Kind[int]:
    def read(value: object) -> int:
        number = _number(value)
        return int(number) if number.is_integer() and number >= least else _refuse()

    return Kind(f"a whole number >= {least}", read)


def _seconds(*, zero: bool = True) -> Kind[float]:
    def read(value: object) -> float:
        number = _number(value)
        return number if number > 0 or (zero and number == 0) else _refuse()

    return Kind(f"a number of seconds {'>=' if zero else '>'} 0", read)


def _one_of(*names: str) -> Kind[str]:
    def read(value: object) -> str:
        return value if isinstance(value, str) and value in names else _refuse()

    return Kind("one of " + ", ".join(repr(name) for name in names), read)


def _beginning_with(schemes: Sequence[str]) -> Kind[str]:
    def read(value: object) -> str:
        url = _text(value)
        return url if url.startswith(tuple(schemes)) else _refuse()

    return Kind(f"a URL that begins with {' or '.join(schemes)}", read)


_FLAG = Kind("True or False", _flag)
_FILE = Kind("the path of a file", path_of)
_STORAGE = Kind('"memory", "sqlite", "redis" or the dotted path of a class', _storage)


def redis_of_scrapy_redis(settings: BaseSettings) -> str:
    """The URL of the Redis that scrapy-redis takes from REDIS_URL, REDIS_HOST, REDIS_PORT, REDIS_DB and REDIS_PARAMS.

    REDIS_ENCODING plays no part: what is kept is bytes.
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


def _sqlite_of_project(_: BaseSettings) -> Path | None:
    """Return the default file; None outside a Scrapy project, so that no stray file is left anywhere."""
    try:
        return Path(data_path(_SQLITE_FILE)) if inside_project() else None
    except NotConfigured:
        return None
    except OSError:  # the data directory cannot be made: opening the storage will say so
        return Path(closest_scrapy_cfg()).parent.resolve() / ".scrapy" / _SQLITE_FILE


@dataclass(frozen=True)
class GbotSettings:
    """The plugin's settings, checked. Durations are in seconds, sizes in bytes."""

    strict: bool = _setting(
        False,
        _FLAG,
        "only what Google's page and RFC 9309 say; none of the leniency of Google's own parser (misspelt fields, "
        "missing colons, ...)",
    )
    storage: str = _setting(
        "sqlite",
        _STORAGE,
        'where robots.txt files are kept: `"memory"`, `"sqlite"`, `"redis"`, or the dotted path of a class of your own',
    )
    sqlite_path: Path | None = _setting(  # noqa: RUF009 - it makes a field
        _sqlite_of_project,
        _FILE,
        'the file of the storage `"sqlite"`; the default is in the project\'s data directory (`.scrapy/`), and outside '
        'a project `"sqlite"` without a path means memory',
        documented=f"`{_SQLITE_FILE}`",
    )
    redis_url: str = _setting(
        redis_of_scrapy_redis,
        _beginning_with(_REDIS_SCHEMES),
        "needs the extra: `pip install 'scrapy-gbot-robots[redis]'`",
        documented="the Redis of `REDIS_URL`, `REDIS_HOST`, `REDIS_PORT`, `REDIS_PARAMS` (as scrapy-redis has them), else `redis://localhost:6379/0`",
    )
    cache_size: int = _setting(
        10_000, _count(1), "origins whose rules are held in memory; the least recently used go first"
    )
    max_age_secs: float = _setting(
        86_400,
        _seconds(),
        "how long an answer is good at the most; `Cache-Control: max-age` shortens it, and lengthens it up to this "
        "value where it is more than a day",
    )
    unreachable: str = _setting(
        "google",
        _one_of(*LADDERS),
        'what an unreachable robots.txt means over time: `"google"`, `"google-2026"`, `"rfc9309"`, `"allow"`; see '
        "[semantics](semantics.md)",
    )
    unreachable_wait_secs: float = _setting(
        60,
        _seconds(),
        "how long a request waits for an unreachable robots.txt before it is given up; up to twice as long, if the "
        "robots.txt is [asked again](semantics.md#while-it-is-unreachable) by then; `0` = not at all",
    )
    soft_404: bool = _setting(True, _FLAG, 'a 5xx whose title or first heading says "not found" is a 404')
    max_bytes: int = _setting(
        512_000,
        _count(1),
        "how much of a robots.txt is read, after decompression; no more is downloaded or decompressed",
    )
    max_redirects: int = _setting(5, _count(0), "redirects that are followed; one more and it counts as a 404")
    timeout_secs: float = _setting(
        30,
        _seconds(zero=False),
        "for one robots.txt, redirects included; time spent in the downloader's queue does not count",
    )
    meta_keys: tuple[str, ...] = _setting(
        ["proxy", "bindaddress"],
        Kind("a list of request.meta keys", _words),
        "`request.meta` keys that a robots.txt request takes over from the request that needs it",
        documented='`["proxy", "bindaddress"]`',
    )
    refuse_private: bool = _setting(
        False,
        _FLAG,
        "do not follow redirects and sitemaps from public hosts to private addresses; see "
        "[security](security.md#the-crawls-own-network)",
    )
    crawl_delay: bool = _setting(
        False,
        _FLAG,
        "keep the crawl-delay of the group that counts, which Google does not; see "
        "[semantics](semantics.md#crawl-delay)",
    )
    crawl_delay_max_secs: float = _setting(60, _seconds(), "a longer crawl-delay counts as this")
    crawl_delay_over: str = _setting(
        "cap",
        _one_of("cap", "refuse"),
        'what a longer crawl-delay than that means: it is cut (`"cap"`), or nothing of the origin is fetched (`"refuse"`)',
    )
    crawl_delay_shared: bool = _setting(
        False,
        _FLAG,
        "one crawl-delay for all processes that share the Redis of `GBOT_ROBOTS_REDIS_URL`; see "
        "[fleets](fleets.md#one-crawl-delay-for-all)",
    )
    sitemaps: str = _setting(
        "feed",
        _one_of("feed", "collect", "off"),
        'what is done with Sitemap lines: `"feed"` a `SitemapSpider`, `"collect"` only, or `"off"`',
    )
    sitemaps_hosts: str = _setting(
        "any",
        _one_of("any", "same-site", "same-host"),
        'where a sitemap may live: `"any"`, `"same-site"`, `"same-host"`',
    )
    sitemaps_max: int = _setting(50, _count(0), "sitemap files fed per origin")
    overrides: Mapping[str, Any] | Path = _setting(  # noqa: RUF009
        {},
        Kind("a dict, or the path of a .toml or .json file", _mapping_or_file),
        "what is agreed with a site beside its robots.txt; see [exceptions](exceptions.md)",
    )
    agents: tuple[str, ...] = _setting(
        [],
        Kind("a list of product tokens or User-Agent headers, each of which names a crawler", _crawler_names),
        "whose rules count, if it is more than one crawler; see [exceptions](exceptions.md#several-crawlers)",
    )
    agents_mode: str = _setting(
        "first",
        _one_of("first", "all"),
        'of `GBOT_ROBOTS_AGENTS` the rules of the `"first"` that a group names, else of `*`; or of `"all"`: a URL is '
        "refused if it is refused to any",
    )
    provenance: bool = _setting(
        False,
        _FLAG,
        '`response.meta["gbot_robots"]` says by which robots.txt a page was fetched; see [exceptions](exceptions.md#proof)',
    )
    provenance_field: str = _setting(
        "gbot_robots",
        Kind("the name of a field of items", _text),
        "where `ProvenancePipeline` puts that in items",
    )
    archive: Path | None = _setting(  # noqa: RUF009
        None,
        Kind(
            "the path of a .warc.gz, .warc, .jsonl.gz or .jsonl file, with no %(...)s but %(time)s and %(name)s",
            _archive,
        ),
        "where each robots.txt that is fetched is kept as it was served; see [exceptions](exceptions.md#an-archive)",
    )
    report: Path | None = _setting(  # noqa: RUF009
        None,
        Kind(f"the path of a {' or '.join(REPORTS)} file", _report),
        "where to write an HTML page (`.html` or `.htm`) of what robots.txt did to the crawl; see "
        "[the command](command.md#after-a-crawl)",
    )

    history: int = _setting(
        0,
        _count(0),
        "versions of each robots.txt that are kept beside it in the SQLite file, for `scrapy robots history` and `diff`; "
        "see [the command](command.md#history-what-a-robotstxt-said-before)",
    )
    purposes: tuple[str, ...] = _setting(
        [],
        Kind(f"a list of these: {', '.join(PURPOSES)}", _purposes),
        'what the crawl is for, such as `["train-ai"]`: what sites say about that is heeded; see '
        "[preferences](preferences.md#use-preferences)",
    )
    preferences: str = _setting(
        "annotate",
        _one_of("off", "annotate", "refuse"),
        'what a refused purpose means: it is noted and counted (`"annotate"`), nothing is fetched for it (`"refuse"`), or '
        'nobody looks (`"off"`)',
    )
    tags: bool = _setting(
        False,
        _FLAG,
        "read what pages say by X-Robots-Tag and robots meta tags, and do not follow links that they ask to leave; see "
        "[preferences](preferences.md#page-rules)",
    )
    tags_links: bool = _setting(False, _FLAG, "leave single links that say `ugc` or `sponsored`, too")
    tags_drop: tuple[str, ...] = _setting(
        [],
        Kind("a list of directives, such as noindex", _lower_words),
        'drop the items of pages that say one of these, such as `["noindex", "noai"]`',
    )

    @classmethod
    def of(cls, settings: BaseSettings) -> GbotSettings:
        """Read and check the settings of a crawl.

        Raises:
            ValueError: a setting has a wrong value; the message names the setting, the rule and the value.
        """
        return cls(**{row.name: row.value(settings) for row in TABLE})

    @classmethod
    def of_crawl(cls, crawler: ScrapyCrawler) -> GbotSettings:
        """Read and check the settings of `crawler`; where a person waits for one page, nothing else waits by default.

        Raises:
            ValueError: a setting has a wrong value; the message names the setting, the rule and the value.
        """
        own = cls.of(crawler.settings)
        is_set = crawler.settings.getpriority(f"{PREFIX}UNREACHABLE_WAIT_SECS") is not None
        return replace(own, unreachable_wait_secs=0) if is_for_one_page(crawler) and not is_set else own

    @property
    def asked_as(self) -> RobotsAgent | None:
        """The crawlers of `GBOT_ROBOTS_AGENTS`; None if it is not set, and each request's user agent counts."""
        if not self.agents:
            return None
        return AllOf(self.agents) if self.agents_mode == "all" else Crawler.of(self.agents)

    @property
    def policy(self) -> Policy:
        """What robots.txt files mean over time under these settings."""
        return Policy(unreachable=self.unreachable, max_age_secs=self.max_age_secs, soft_404=self.soft_404)


def warn_of_misspelt(settings: BaseSettings) -> None:
    """Log a warning for each setting that looks like one of the plugin's and is none, with the nearest name."""
    known = [row.setting for row in TABLE]
    for name in sorted(str(name) for name in settings if str(name).startswith(_LOOKS_OURS)):
        if name not in known:
            from difflib import get_close_matches  # noqa: PLC0415  most settings are spelt right

            nearest = get_close_matches(name, known, n=1)
            logger.warning("%s is no setting%s", name, f"; did you mean {nearest[0]}?" if nearest else "")


TABLE: tuple[Row, ...] = tuple(Row(name=each.name, **each.metadata) for each in fields(GbotSettings))
