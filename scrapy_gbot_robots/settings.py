"""The settings as one table: name, default, the values that a setting takes, and its meaning.

Each field of `GbotSettings` is a row of the table: the setting `GBOT_ROBOTS_STRICT` is the field `strict`. To add a
setting, add a field here, and its row to docs/settings.md, which a test compares with this table. `setting_values` has the
kinds of values. No other module reads a `GBOT_ROBOTS_*` name: they all take a `GbotSettings`.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from . import setting_values as values
from .core.agents import AllOf, Crawler
from .engine import is_for_one_page
from .policy.ladder import LADDERS, Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from scrapy.crawler import Crawler as ScrapyCrawler
    from scrapy.settings import BaseSettings

    from .core.agents import RobotsAgent

PREFIX = "GBOT_ROBOTS_"
_LOOKS_OURS = "GBOT_ROBOT"  # how misspelt names begin, too

logger = logging.getLogger(__name__)

_Default: TypeAlias = "object | Callable[[BaseSettings], object]"


class SettingRow(NamedTuple):
    """A row of the table.

    Attributes:
        name: the field of `GbotSettings`: the setting's name in lower case and without `PREFIX`.
        default: the value if the setting is not set, or a function that makes it from Scrapy's settings.
        kind: the values that the setting takes.
        meaning: what the documentation says about the setting, in Markdown.
        documented: how the documentation shows the default.
    """

    name: str
    default: _Default
    kind: values.Kind[Any]
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
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ValueError(f"{self.setting} must be {self.kind.rule}, got {value!r}") from None


def _setting(default: _Default, kind: values.Kind[Any], meaning: str, *, documented: str | None = None) -> Any:
    """Make a field of `GbotSettings`, which is a row of the table."""
    if documented is None:
        documented = (
            "none" if default is None else f"`{json.dumps(default) if isinstance(default, (str, list)) else default}`"
        )
    return field(metadata={"default": default, "kind": kind, "meaning": meaning, "documented": documented})


@dataclass(frozen=True)
class GbotSettings:
    """The plugin's settings, checked. Durations are in seconds, sizes in bytes."""

    strict: bool = _setting(
        False,
        values.FLAG,
        "heed only what Google's page and RFC 9309 say, without the leniency of Google's own parser (misspelt "
        "fields, missing colons, ...)",
    )
    storage: str = _setting(
        "sqlite",
        values.STORAGE,
        'where robots.txt files are kept: `"memory"`, `"sqlite"`, `"redis"`, or the dotted path of a class of your own',
    )
    sqlite_path: Path | None = _setting(  # noqa: RUF009 - it makes a field
        values.sqlite_of_project,
        values.FILE,
        'the file of the storage `"sqlite"`; the default is in the project\'s data directory (`.scrapy/`), and '
        'outside a project `"sqlite"` without a path means memory',
        documented=f"`{values.SQLITE_FILE}`",
    )
    redis_url: str = _setting(
        values.redis_of_scrapy_redis,
        values.REDIS_URL,
        "the server of the storage `\"redis\"`, which needs the extra: `pip install 'scrapy-gbot-robots[redis]'`",
        documented="the Redis of `REDIS_URL`, `REDIS_HOST`, `REDIS_PORT`, `REDIS_PARAMS` (as scrapy-redis has them), else `redis://localhost:6379/0`",
    )
    cache_size: int = _setting(
        10_000,
        values.count(1),
        "how many origins have their rules in memory; the least recently used go first",
    )
    max_age_secs: float = _setting(
        86_400,
        values.seconds(),
        "an answer is good for a day, or for its `Cache-Control: max-age`, but never for longer than this",
    )
    unreachable: str = _setting(
        "google",
        values.one_of(*LADDERS),
        'what an unreachable robots.txt means over time: `"google"`, `"google-2026"`, `"rfc9309"`, `"allow"`; see '
        "[semantics](semantics.md)",
    )
    unreachable_wait_secs: float = _setting(
        60,
        values.seconds(),
        "how long a request waits for an unreachable robots.txt before it is given up; up to twice as long, if the "
        "robots.txt is [asked again](semantics.md#while-it-is-unreachable) by then; `0` = not at all",
    )
    soft_404: bool = _setting(
        True,
        values.FLAG,
        'a 5xx counts as a 404 if its title or first heading says "not found"',
    )
    max_bytes: int = _setting(
        512_000,
        values.count(1),
        "how much of a robots.txt is read, after decompression; the rest is neither downloaded nor decompressed",
    )
    max_redirects: int = _setting(
        5,
        values.count(0),
        "how many redirects are followed; one more counts as a 404",
    )
    timeout_secs: float = _setting(
        30,
        values.seconds(zero=False),
        "for one robots.txt with its redirects; time in the downloader's queue does not count",
    )
    meta_keys: tuple[str, ...] = _setting(
        ["proxy", "bindaddress"],
        values.META_KEYS,
        "the `request.meta` keys that a robots.txt request copies from the request that needs it",
    )
    refuse_private: bool = _setting(
        False,
        values.FLAG,
        "do not follow redirects and sitemaps from public hosts to private addresses; see "
        "[security](security.md#the-crawls-own-network)",
    )
    crawl_delay: bool = _setting(
        False,
        values.FLAG,
        "obey the crawl-delay of the group that counts, which Google does not; see "
        "[semantics](semantics.md#crawl-delay)",
    )
    crawl_delay_max_secs: float = _setting(
        60,
        values.seconds(),
        "the longest crawl-delay that is obeyed",
    )
    crawl_delay_over: str = _setting(
        "cap",
        values.one_of("cap", "refuse"),
        'what a longer crawl-delay means: `"cap"` obeys the longest one instead, `"refuse"` fetches nothing of the '
        "origin",
    )
    crawl_delay_shared: bool = _setting(
        False,
        values.FLAG,
        "one crawl-delay for all processes that share the Redis of `GBOT_ROBOTS_REDIS_URL`; see "
        "[fleets](fleets.md#one-crawl-delay-for-all)",
    )
    sitemaps: str = _setting(
        "feed",
        values.one_of("feed", "collect", "off"),
        'what happens to Sitemap lines: `"feed"` gives them to a `SitemapSpider`, `"collect"` only counts and '
        'signals them, `"off"` ignores them',
    )
    sitemaps_hosts: str = _setting(
        "any",
        values.one_of("any", "same-site", "same-host"),
        'where a sitemap may be, seen from its robots.txt: `"any"`, `"same-site"`, `"same-host"`',
    )
    sitemaps_max: int = _setting(
        50,
        values.count(0),
        "how many sitemap files are fed per origin",
    )
    overrides: Mapping[str, Any] | Path = _setting(  # noqa: RUF009 - it makes a field
        {},
        values.OVERRIDES,
        "what you have agreed with sites apart from their robots.txt; see [exceptions](exceptions.md)",
    )
    agents: tuple[str, ...] = _setting(
        [],
        values.AGENTS,
        "the crawlers whose rules count, if they are several; see [exceptions](exceptions.md#several-crawlers)",
    )
    agents_mode: str = _setting(
        "first",
        values.one_of("first", "all"),
        'which of `GBOT_ROBOTS_AGENTS` count: the `"first"` that a group names, else `*`; or `"all"`: a URL is '
        "refused if one of them may not fetch it",
    )
    provenance: bool = _setting(
        False,
        values.FLAG,
        '`response.meta["gbot_robots"]` says which robots.txt let the page be fetched; see '
        "[exceptions](exceptions.md#proof)",
    )
    provenance_field: str = _setting(
        "gbot_robots",
        values.NAME,
        "the field of items into which `ProvenancePipeline` puts that",
    )
    archive: Path | None = _setting(  # noqa: RUF009 - it makes a field
        None,
        values.ARCHIVE,
        "the file that keeps each fetched robots.txt as it was served; see [exceptions](exceptions.md#an-archive)",
    )
    report: Path | None = _setting(  # noqa: RUF009 - it makes a field
        None,
        values.REPORT,
        "the HTML page (`.html` or `.htm`) that says what robots.txt did to the crawl; see [the "
        "command](command.md#after-a-crawl)",
    )
    history: int = _setting(
        0,
        values.count(0),
        "how many versions of each robots.txt the SQLite file keeps, for `scrapy robots history` and `diff`; see "
        "[the command](command.md#history-what-a-robotstxt-said-before)",
    )
    purposes: tuple[str, ...] = _setting(
        [],
        values.PURPOSE_LIST,
        'what the crawl is for, such as `["train-ai"]`; the crawl heeds what sites say about that; see '
        "[preferences](preferences.md#use-preferences)",
    )
    preferences: str = _setting(
        "annotate",
        values.one_of("off", "annotate", "refuse"),
        'what a refused purpose means: `"annotate"` notes and counts it, `"refuse"` fetches nothing for it, `"off"` '
        "ignores it",
    )
    tags: bool = _setting(
        False,
        values.FLAG,
        "read the X-Robots-Tag headers and robots meta tags of pages, and do not follow the links that they "
        "exclude; see [preferences](preferences.md#page-rules)",
    )
    tags_links: bool = _setting(
        False,
        values.FLAG,
        "do not follow single links marked `ugc` or `sponsored`, either",
    )
    tags_drop: tuple[str, ...] = _setting(
        [],
        values.DIRECTIVES,
        'drop the items of pages with one of these directives, such as `["noindex", "noai"]`',
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
        """Read and check the settings of `crawler`. If a person waits for its one page, requests do not wait by default.

        Raises:
            ValueError: a setting has a wrong value; the message names the setting, the rule and the value.
        """
        own = cls.of(crawler.settings)
        is_set = crawler.settings.getpriority(f"{PREFIX}UNREACHABLE_WAIT_SECS") is not None
        return replace(own, unreachable_wait_secs=0) if is_for_one_page(crawler) and not is_set else own

    @property
    def asked_as(self) -> RobotsAgent | None:
        """The crawlers of `GBOT_ROBOTS_AGENTS`; None if the setting is not set: then each request's user agent counts."""
        if not self.agents:
            return None
        return AllOf(self.agents) if self.agents_mode == "all" else Crawler.of(self.agents)

    @property
    def policy(self) -> Policy:
        """What robots.txt files mean over time under these settings."""
        return Policy(unreachable=self.unreachable, max_age_secs=self.max_age_secs, soft_404=self.soft_404)


def warn_of_misspelt(settings: BaseSettings) -> None:
    """Log a warning for each setting that looks like one of the plugin's and is none, with the nearest name."""
    for text in misspelt(settings):
        logger.warning("%s", text)


def misspelt(settings: BaseSettings) -> Iterator[str]:
    """Yield a sentence for each setting that looks like one of the plugin's and is none, with the nearest name."""
    known = [row.setting for row in TABLE]
    for name in sorted(str(name) for name in settings if str(name).startswith(_LOOKS_OURS)):
        if name not in known:
            from difflib import get_close_matches  # noqa: PLC0415  most settings are spelt right

            nearest = get_close_matches(name, known, n=1)
            yield f"{name} is no setting" + (f"; did you mean {nearest[0]}?" if nearest else "")


TABLE: tuple[SettingRow, ...] = tuple(SettingRow(name=each.name, **each.metadata) for each in fields(GbotSettings))
