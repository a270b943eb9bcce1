"""Overrides in a crawl (`GBOT_ROBOTS_OVERRIDES`), read once.

They apply where the answer for a request is judged.

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
from typing import Any, NamedTuple

from scrapy import Request
from scrapy.crawler import Crawler

from ..concurrency import within
from ..core.crawlers import RobotsAgent
from ..core.urls import Origin, shown
from ..core.verdict import MOST_SPECIFIC, Verdict
from ..policy.outages import Decision, State
from ..policy.overrides import (
    SETTING,
    Action,
    Override,
    Overrides,
    Standing,
    json_of,
    read_overrides,
)
from ..settings import GbotSettings, path_of
from ..signals import override_used
from .answer import CachedAnswer
from .identity import CrawlerIdentity
from .lookup import Lookup

WAIT_SECS = 5.0  # how long a request waits for a robots.txt that does not decide
_MOST_SLOW = 10_000  # origins that are known to be slow
_LONGEST_LIST = 2_000  # characters of a list of overrides in the log

_STATES = {
    Action.IGNORE: State.FULL_ALLOW,
    Action.REPLACE: State.RULES,
    Action.DISALLOW: State.FULL_DISALLOW,
}
_STATS = {
    Action.IGNORE: "ignored",
    Action.REPLACE: "rules",
    Action.DISALLOW: "disallowed",
    Action.KEEP: "kept",
}

logger = logging.getLogger(__name__)


class Ruling(NamedTuple):
    """What decides about requests of one origin by one crawler."""

    answer: CachedAnswer  # the answer that decides
    agent: RobotsAgent  # the crawler whose rules count
    of_site: (
        CachedAnswer | None
    )  # the answer of the site's own robots.txt; None while that is not known
    override: Override | None = None  # the one behind the answer, or that has a crawl-delay

    @property
    def crawl_delay(self) -> float | None:
        """The seconds between two requests that the rules ask for.

        Those of the site, if an override ignores them.
        """
        is_ignored = self.override is not None and self.override.action is Action.IGNORE
        answer = self.of_site if is_ignored else self.answer
        return answer.crawl_delay(self.agent) if answer is not None else None

    def named(self, verdict: Verdict) -> Verdict:
        """Return `verdict` with the override named in it."""
        return verdict if self.override is None else self.override.named(verdict)


def answer_of(override: Override, origin: Origin, agent: RobotsAgent) -> CachedAnswer:
    """Return the answer of an override that decides in place of the robots.txt of `origin`."""
    answer = CachedAnswer(
        origin, Decision(_STATES[override.action], MOST_SPECIFIC, False, math.inf, math.inf)
    )
    if override.robotstxt is not None:
        answer.learn(override.robotstxt, [agent])
    return answer


class CrawlOverrides:
    """The overrides of one crawl."""

    def __init__(
        self, crawler: Crawler, settings: GbotSettings, lookup: Lookup, identity: CrawlerIdentity
    ) -> None:
        """Read the overrides, and log which have run out and which soon will.

        Raises:
            ValueError: an override is wrong.
        """
        self._crawler = crawler
        self._lookup = lookup
        self._identity = identity
        self._overrides = overrides_of(settings)
        self._slow: set[Origin] = set()  # their robots.txt did not come within `WAIT_SECS`
        now = time.time()
        for standing, level, what in (
            (Standing.RUN_OUT, logging.WARNING, "run out and not applied"),
            (Standing.RUNS_OUT_SOON, logging.INFO, "run out soon"),
        ):
            ended = [each for each in self._overrides.values() if each.standing(now) is standing]
            if ended:
                names = ", ".join(f"{each.key!r} on {each.until} ({each.reason})" for each in ended)
                logger.log(
                    level, "%s: %d %s: %s", SETTING, len(ended), what, shown(names, _LONGEST_LIST)
                )

    def of(self, origin: Origin) -> Override | None:
        """The override that counts at `origin` now."""
        return self._overrides.of(origin, time.time()) if self._overrides else None

    def agent(self, override: Override | None, request: Request) -> RobotsAgent:
        """The crawler whose rules count for `request`, where `override` counts."""
        if override is not None and override.crawler is not None:
            return override.crawler
        return self._identity.agent(request)

    def cached(
        self, origin: Origin, override: Override | None, request: Request
    ) -> CachedAnswer | None:
        """The answer that decides about `request`, if it is known without a look-up.

        At `origin` `override` counts.
        """
        agent = self.agent(override, request)
        if override is not None and override.decides:
            return answer_of(override, origin, agent)
        return self._lookup.cached(origin, agent)

    async def ruling(
        self, override: Override, origin: Origin, agent: RobotsAgent, request: Request
    ) -> Ruling:
        """What an override that decides by itself leads to.

        The site's own robots.txt is looked up for other purposes.

        Raises:
            Closing: the crawl is closing.
        """
        own = None
        if override.action is not Action.DISALLOW:
            try:
                secs = 0.0 if origin in self._slow else WAIT_SECS
                own = await within(secs, self._lookup.ask(origin, agent, request))
            except TimeoutError:
                if len(self._slow) < _MOST_SLOW:
                    self._slow.add(origin)
        return Ruling(answer_of(override, origin, agent), agent, own, override)

    def note_use(
        self,
        override: Override,
        origin: Origin,
        refusal: Verdict | None,
        *,
        against_robotstxt: bool,
    ) -> None:
        """Count a use of an override, and whether it lets go on what the site itself refuses."""
        stats = self._crawler.stats
        stats.inc_value(f"gbot_robots/override/{_STATS[override.action]}")
        if against_robotstxt:
            stats.inc_value("gbot_robots/override/against_robotstxt")
        use = {
            "override": override,
            "origin": origin,
            "refusal": refusal,
            "against_robotstxt": against_robotstxt,
        }
        self._crawler.signals.send_catch_log(override_used, **use)


def overrides_of(gbot: GbotSettings) -> Overrides:
    """Read the overrides, and the files that they name, once.

    Raises:
        ValueError: an override is wrong, or a file cannot be read; the message names the setting,
        the rule and the value.
    """
    value = _content(gbot.overrides) if isinstance(gbot.overrides, Path) else gbot.overrides
    return read_overrides(value, partial(_beginning, gbot.max_bytes + 1), gbot.parse)


def _content(path: Path) -> Any:
    """Return the content of a .toml or .json file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".json":
            return json_of(text)
        import tomllib  # noqa: PLC0415  Python 3.11 and newer

        return tomllib.loads(text)
    except (
        ImportError,
        OSError,
        ValueError,
        RecursionError,
    ) as error:  # JSON, TOML and UTF-8 errors are ValueErrors
        raise ValueError(
            f"{SETTING} must name a file that can be read, got {str(path)!r}: {error}"
        ) from error


def _beginning(most_bytes: int, path: str) -> bytes:
    with path_of(path).open("rb") as file:
        return file.read(most_bytes)
