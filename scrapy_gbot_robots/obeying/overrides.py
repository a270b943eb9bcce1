"""Overrides in a crawl (`GBOT_ROBOTS_OVERRIDES`), read once. They apply where the answer for a request is judged.

`policy.overrides` says what an override means. What it does here:

    override     what decides                 the robots.txt of the site
    disallow     full disallow                is not fetched: the crawl sends nothing to this host
    ignore       full allow                   is fetched for its sitemaps and its crawl-delay, and to count what it would
    own rules    these rules                  refuse; a request waits for it for at most `WAIT_SECS`
    as, delay    the site's own robots.txt    decides; requests wait for it as they do without an override
"""

from __future__ import annotations

import logging
import math
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import Request

from ..concurrency import within
from ..core.urls import Origin, shown
from ..core.verdict import MOST_SPECIFIC
from ..policy.outages import Decision, State
from ..policy.overrides import SETTING, Action, Overrides, Standing, json_of, read_overrides
from ..settings import path_of
from ..signals import override_used
from .answer import CachedAnswer

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from ..core.crawlers import RobotsAgent
    from ..core.verdict import Verdict
    from ..policy.overrides import Override
    from ..settings import GbotSettings
    from .lookup import Lookup

WAIT_SECS = 5.0  # how long a request waits for a robots.txt that does not decide
_MOST_SLOW = 10_000  # origins that are known to be slow
_MOST_NAMED = 20  # overrides that the log names because they have run out

_STATES = {Action.IGNORE: State.FULL_ALLOW, Action.REPLACE: State.RULES, Action.DISALLOW: State.FULL_DISALLOW}
_STATS = {Action.IGNORE: "ignored", Action.REPLACE: "rules", Action.DISALLOW: "disallowed", Action.KEEP: "kept"}

logger = logging.getLogger(__name__)


class Ruling(NamedTuple):
    """What decides about requests of one origin by one crawler.

    Attributes:
        answer: the answer that decides.
        agent: the crawler whose rules count.
        of_site: the answer of the site's own robots.txt; None while that is not known.
        override: the override behind the answer; None if the site's own robots.txt decides for the crawl's own name.
    """

    answer: CachedAnswer
    agent: RobotsAgent
    of_site: CachedAnswer | None
    override: Override | None = None

    @property
    def crawl_delay(self) -> float | None:
        """The seconds between two requests that the rules ask for; those of the site, if an override ignores them."""
        is_ignored = self.override is not None and self.override.action is Action.IGNORE
        answer = self.of_site if is_ignored else self.answer
        return answer.crawl_delay(self.agent) if answer is not None else None

    def verdict(self, url: str) -> Verdict:
        """Whether `url` may be fetched, and why; the reason names the override."""
        return self.named(self.answer.verdict(url, self.agent))

    def named(self, verdict: Verdict) -> Verdict:
        """Return `verdict` with the override named in it."""
        return verdict if self.override is None else self.override.named(verdict)


def ruling_of(override: Override | None, origin: Origin, agent: RobotsAgent, own: CachedAnswer | None) -> Ruling:
    """Return what decides about requests of `origin` by `agent`, if `own` is the answer of the site's own robots.txt."""
    if override is not None and override.crawler is not None:
        agent = override.crawler
    if override is None or not override.decides:
        assert own is not None  # noqa: S101  for the type checker: it decides
        return Ruling(own, agent, own, override)
    decision = Decision(_STATES[override.action], MOST_SPECIFIC, False, math.inf, math.inf)
    answer = CachedAnswer(origin, decision)
    if override.robotstxt is not None:
        answer.learn(override.robotstxt, [agent])
    return Ruling(answer, agent, own, override)


class CrawlOverrides:
    """The overrides of one crawl.

    Attributes:
        have_delays: whether any override has a crawl-delay.
    """

    def __init__(self, crawler: Crawler, settings: GbotSettings, lookup: Lookup) -> None:
        """Read the overrides.

        Raises:
            ValueError: an override is wrong.
        """
        self._crawler = crawler
        self._lookup = lookup
        self._overrides = overrides_of(settings)
        self._slow: set[Origin] = set()  # their robots.txt did not come within `WAIT_SECS`
        self.have_delays = any(override.crawl_delay is not None for override in self._overrides.values())
        _log_ends(self._overrides, time.time())

    def of(self, origin: Origin, url: str = "") -> Override | None:
        """The override that counts for a request of `url`; for a robots.txt that is only one by which nothing is fetched."""
        override = self._overrides.of(origin, time.time()) if self._overrides else None
        if override is None or override.action is Action.DISALLOW or Origin.of_robots_txt(url) is None:
            return override
        return None

    def agent(self, origin: Origin, agent: RobotsAgent) -> RobotsAgent:
        """The crawler whose rules count at `origin` for requests of `agent`."""
        override = self.of(origin)
        return agent if override is None or override.crawler is None else override.crawler

    def cached(self, origin: Origin, agent: RobotsAgent) -> CachedAnswer | None:
        """The answer that decides about requests of `origin`, if it is known without a look-up."""
        override = self.of(origin)
        if override is not None and override.decides:
            return ruling_of(override, origin, agent, None).answer
        return self._lookup.cached(origin, self.agent(origin, agent))

    async def ruling(self, override: Override, origin: Origin, agent: RobotsAgent, request: Request) -> Ruling:
        """What an override that decides by itself leads to. The site's own robots.txt is looked up for other purposes.

        Raises:
            Closing: the crawl is closing.
        """
        if override.action is Action.DISALLOW:
            return ruling_of(override, origin, agent, None)
        own = self._lookup.use(origin, agent, request)
        if own is None:
            secs = 0.0 if origin in self._slow else WAIT_SECS
            try:
                own = await within(secs, self._lookup.ask(origin, agent, request))
            except TimeoutError:
                if len(self._slow) < _MOST_SLOW:
                    self._slow.add(origin)
        return ruling_of(override, origin, agent, own)

    def note_use(self, ruling: Ruling, refusal: Verdict | None, *, against_robotstxt: bool) -> None:
        """Count a use of an override, and whether a request goes on that the site's own robots.txt refuses."""
        override, stats = ruling.override, self._crawler.stats
        assert override is not None  # noqa: S101  for the type checker
        stats.inc_value(f"gbot_robots/override/{_STATS[override.action]}")
        if against_robotstxt:
            stats.inc_value("gbot_robots/override/against_robotstxt")
        self._crawler.signals.send_catch_log(
            override_used,
            override=override,
            origin=ruling.answer.origin,
            refusal=refusal,
            against_robotstxt=against_robotstxt,
        )


def _log_ends(overrides: Overrides, now: float) -> None:
    """Log which overrides have run out and which soon will, the first ones by name."""
    for standing, level, sentence in (
        (Standing.RUN_OUT, logging.WARNING, "has run out and is not applied"),
        (Standing.RUNS_OUT_SOON, logging.INFO, "runs out soon"),
    ):
        ended = [override for override in overrides.values() if override.standing(now) is standing]
        for each in ended[:_MOST_NAMED]:
            said = (SETTING, each.key, sentence, each.until, shown(each.reason))
            logger.log(level, "%s[%r] %s: its last day is %s (%s)", *said)
        if len(ended) > _MOST_NAMED:
            logger.log(level, "%s: %d more %s", SETTING, len(ended) - _MOST_NAMED, standing.value)


def overrides_of(gbot: GbotSettings) -> Overrides:
    """Read the overrides, and the files that they name, once.

    Raises:
        ValueError: an override is wrong, or a file cannot be read; the message names the setting, the rule and the value.
    """
    value = _content(gbot.overrides) if isinstance(gbot.overrides, Path) else gbot.overrides
    return read_overrides(value, partial(_beginning, gbot.max_bytes + 1), gbot.parse)


def _content(path: Path) -> Any:
    """Return the content of a .toml or .json file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        return json_of(text) if path.suffix.lower() == ".json" else _toml().loads(text)
    except (OSError, ValueError, RecursionError) as error:  # JSON, TOML and UTF-8 errors are ValueErrors
        raise ValueError(f"{SETTING} must name a file that can be read, got {str(path)!r}: {error}") from error


def _toml() -> Any:
    try:
        import tomllib  # noqa: PLC0415  Python 3.11 and newer
    except ImportError:
        try:
            import tomli as tomllib  # type: ignore[import-not-found,no-redef]  # noqa: PLC0415
        except ImportError:
            raise ValueError("Python 3.10 reads TOML only with `pip install tomli`; or use JSON") from None
    return tomllib


def _beginning(most_bytes: int, path: str) -> bytes:
    with path_of(path).open("rb") as file:
        return file.read(most_bytes)
