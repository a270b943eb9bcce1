"""`GBOT_ROBOTS_OVERRIDES` in a crawl: read once, they apply where a request is judged.

`policy.overrides` says what an override means. What it does here:

    override     what decides                 the robots.txt of the site
    disallow     full disallow                is not fetched: this host is sent nothing
    ignore       full allow                   is fetched, see below
    own rules    these rules                  is fetched, see below
    as, delay    the site's own robots.txt    decides; requests wait for it as ever

With `ignore` and with rules of one's own, the site's robots.txt is fetched for its sitemaps and its
crawl-delay, and to count what it would refuse. A request waits for it for at most `WAIT_SECS`.
"""

from __future__ import annotations

import logging
import math
import time
from collections import defaultdict
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
# What the log says at the start, and at which level.
_TELLING = (
    (Standing.RUN_OUT, logging.WARNING, "run out and not applied"),
    (Standing.RUNS_OUT_SOON, logging.INFO, "about to run out"),
)
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
    of_site: CachedAnswer | None  # of the site's own robots.txt; None while that is not known
    override: Override | None = None  # the one behind the answer, or that has a crawl-delay

    @property
    def crawl_delay(self) -> float | None:
        """The seconds between two requests that the rules ask for.

        If an override ignores the rules of the site, it is the delay that these ask for.
        """
        answer: CachedAnswer | None = self.answer
        if self.override is not None and self.override.action is Action.IGNORE:
            answer = self.of_site
        if answer is None:
            return None
        return answer.crawl_delay(self.agent)

    def named(self, verdict: Verdict) -> Verdict:
        """Return `verdict` with the override named in it."""
        if self.override is None:
            return verdict
        return self.override.named(verdict)


def answer_of(override: Override, origin: Origin, agent: RobotsAgent) -> CachedAnswer:
    """Return the answer of an override that decides in place of the robots.txt of `origin`."""
    state = _STATES[override.action]
    decision = Decision(state, MOST_SPECIFIC, False, math.inf, math.inf)
    answer = CachedAnswer(origin, decision)
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
        entries: defaultdict[Standing, list[str]] = defaultdict(list)
        for override in self._overrides.values():
            entry = f"{override.key!r} on {override.until} ({override.reason})"
            entries[override.standing(now)].append(entry)
        for standing, level, words in _TELLING:
            if entries[standing]:
                names = shown(", ".join(entries[standing]), _LONGEST_LIST)
                logger.log(level, "%s: %d %s: %s", SETTING, len(entries[standing]), words, names)

    def of(self, origin: Origin) -> Override | None:
        """The override that counts at `origin` now."""
        if not self._overrides:
            return None
        return self._overrides.of(origin, time.time())

    def agent(self, override: Override | None, request: Request) -> RobotsAgent:
        """The crawler whose rules count for `request`, where `override` counts."""
        if override is not None and override.crawler is not None:
            return override.crawler
        return self._identity.agent(request)

    def cached(
        self, origin: Origin, override: Override | None, request: Request
    ) -> CachedAnswer | None:
        """The answer that decides about `request`, if it is known without a look-up.

        `override` is the one that counts at `origin`, if any.
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
        of_site = None
        if override.action is not Action.DISALLOW:
            secs = WAIT_SECS
            if origin in self._slow:
                secs = 0.0
            try:
                of_site = await within(secs, self._lookup.ask(origin, agent, request))
            except TimeoutError:
                if len(self._slow) < _MOST_SLOW:
                    self._slow.add(origin)
        return Ruling(answer_of(override, origin, agent), agent, of_site, override)

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
        self._crawler.signals.send_catch_log(
            override_used,
            override=override,
            origin=origin,
            refusal=refusal,
            against_robotstxt=against_robotstxt,
        )


def overrides_of(gbot: GbotSettings) -> Overrides:
    """Read the overrides, and the files that they name, once.

    Raises:
        ValueError: an override is wrong, or a file cannot be read; the message names the setting,
        the rule and the value.
    """
    value = gbot.overrides
    if isinstance(value, Path):
        value = _content(value)
    return read_overrides(value, lambda path: path_of(path).read_bytes(), gbot.parse)


def _content(path: Path) -> Any:
    """Return the content of a .toml or .json file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".json":
            return json_of(text)
        import tomllib  # noqa: PLC0415  Python 3.11 and newer

        return tomllib.loads(text)
    # Errors of JSON, TOML and UTF-8 are ValueErrors.
    except (ImportError, OSError, ValueError, RecursionError) as error:
        raise ValueError(
            f"{SETTING} must name a file that can be read, got {str(path)!r}: {error}"
        ) from error
