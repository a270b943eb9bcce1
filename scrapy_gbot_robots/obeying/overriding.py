"""The look-up of a crawl with overrides (`GBOT_ROBOTS_OVERRIDES`): for some origins the override decides.

This look-up has the methods of the plain one, so the middleware and `waiting` know nothing of overrides. A crawl without
overrides uses the plain look-up. `policy.overrides` says what an override means.

    override     robots.txt
    disallow     is not fetched: the crawl sends nothing to this host
    ignore,      is fetched, for its sitemaps and its crawl-delay, and to count what it would refuse; requests wait for it
    own rules    for at most `PATIENCE_SECS`
    as, delay    decides; requests wait for it as they do without an override
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..concurrency import Background, Closing, run_in_thread, within
from ..core.urls import Origin, shown
from ..policy.overrides import SETTING, Action, Overrides, Standing
from ..signals import override_used
from .overridden import OverriddenAnswer
from .override_files import overrides_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from ..core.crawlers import RobotsAgent
    from ..core.verdict import Verdict
    from ..policy.overrides import Override
    from ..settings import GbotSettings
    from .answer import Answer
    from .lookup import Lookup
    from .overridden import OwnQuestion

PATIENCE_SECS = 5.0  # how long requests wait for a robots.txt that does not decide, counted from the first request
_MOST_ORIGINS = 10_000  # in `_waited_since`
_MOST_NAMED = 20  # overrides that the log names because they have run out

_STATS = {Action.IGNORE: "ignored", Action.REPLACE: "rules", Action.DISALLOW: "disallowed", Action.KEEP: "kept"}

logger = logging.getLogger(__name__)


def overridden(lookup: Lookup, gbot: GbotSettings, crawler: Crawler) -> Lookup | OverridingLookup:
    """Return a look-up that answers as the overrides of `gbot` say; without overrides, `lookup` itself.

    Raises:
        ValueError: an override is wrong.
    """
    overrides = overrides_of(gbot)
    return OverridingLookup(lookup, overrides, crawler) if overrides else lookup


class OverridingLookup:
    """Answers by origin, for one crawl with overrides. It has the methods of a `Lookup`."""

    def __init__(self, lookup: Lookup, overrides: Overrides, crawler: Crawler) -> None:
        self._lookup = lookup
        self._overrides = overrides
        self._crawler = crawler
        self._waited_since: OrderedDict[Origin, float] = OrderedDict()  # on the monotonic clock
        self.sets_delays = overrides.have_delays
        self.copy = lookup.copy
        self.site_answered = lookup.site_answered
        self.abandon = lookup.abandon
        self._background = Background()
        _tell_of_ends(overrides, time.time())

    def cached(self, origin: Origin, agent: RobotsAgent, request: Request | None = None) -> Answer | None:
        """The answer for `origin`, as its override says, if it is cached."""
        return self._known(self._lookup.cached, origin, agent, request)

    def use(self, origin: Origin, agent: RobotsAgent, request: Request | None = None) -> Answer | None:
        """Return the `cached` answer that `request` gets, and count this."""
        return self._known(self._lookup.use, origin, agent, request)

    def _known(
        self, look: Callable[..., Answer | None], origin: Origin, agent: RobotsAgent, request: Request | None
    ) -> Answer | None:
        override = self._override_for(origin, request)
        if override is None:
            return look(origin, agent, request)
        agent = override.crawler or agent
        if override.action is Action.DISALLOW:
            return self._answer(origin, override, agent, None)
        own = look(origin, agent, request)
        if own is not None and not own.temporary:
            self._waited_since.pop(origin, None)
        if own is None and override.action is not Action.KEEP and self._patience(origin) <= 0:
            return self._answer(origin, override, agent, self._lookup.latest(origin, agent, request))
        return None if own is None else self._answer(origin, override, agent, own)

    async def ask(self, origin: Origin, agent: RobotsAgent, request: Request | None = None, *how: Any) -> Answer:
        """The answer for `origin`, as its override says. If robots.txt does not decide, the wait for it is short.

        Raises:
            Closing: the crawl is closing.
        """
        override = self._override_for(origin, request)
        if override is None:
            return await self._lookup.ask(origin, agent, request, *how)
        answer = self.cached(origin, agent, request)
        if answer is not None:
            return answer
        agent = override.crawler or agent
        asking = self._lookup.ask(origin, agent, request, *how)
        if override.action is Action.KEEP:
            return self._answer(origin, override, agent, await asking)
        try:
            own = await within(self._patience(origin), asking)
        except TimeoutError:
            own = None
        return self._answer(origin, override, agent, own)

    def look_up(
        self, origin: Origin, agent: RobotsAgent, request: Request, then: Callable[[Answer | None], None]
    ) -> None:
        """Do what `Lookup.look_up` does, for the answer that the override of `origin` leads to.

        Raises:
            Closing: the crawl is closing.
        """
        if self._override_for(origin, request) is None:
            self._lookup.look_up(origin, agent, request, then)
            return
        found: list[Answer] = []

        async def ask() -> None:
            with suppress(Closing):
                found.append(await self.ask(origin, agent, request))

        self._background.start(ask(), then=lambda: then(found[0] if found else None))

    async def close(self) -> None:
        """Finish counting, cancel all look-ups, and close the storage."""
        await self._background.ended()
        await self._lookup.close()

    def _override_for(self, origin: Origin, request: Request | None) -> Override | None:
        """The override that decides about `request`; None for a robots.txt itself, unless nothing may be fetched."""
        override = self._overrides.of(origin, time.time())
        if override is None or override.action is Action.DISALLOW or request is None:
            return override
        return None if Origin.of_robots_txt(request.url) is not None else override

    def _patience(self, origin: Origin) -> float:
        """How many more seconds to wait for the robots.txt of `origin`, counted from the first call."""
        now = time.monotonic()
        since = self._waited_since.setdefault(origin, now)
        if len(self._waited_since) > _MOST_ORIGINS:
            self._waited_since.popitem(last=False)
        return since + PATIENCE_SECS - now

    def _answer(self, origin: Origin, override: Override, agent: RobotsAgent, own: Answer | None) -> Answer:
        return OverriddenAnswer(origin, override, agent, own, self._used)

    def _used(self, override: Override, origin: Origin, refusal: Verdict | None, own: OwnQuestion | None) -> None:
        self._crawler.stats.inc_value(f"gbot_robots/override/{_STATS[override.action]}")
        if own is None:
            self._tell(override, origin, refusal, against_robotstxt=False)
        elif own.takes_long():
            self._background.start(self._tell_later(override, origin, own))
        else:
            self._tell(override, origin, refusal, against_robotstxt=own.refuses())

    async def _tell_later(self, override: Override, origin: Origin, own: OwnQuestion) -> None:
        self._tell(override, origin, None, against_robotstxt=await run_in_thread(own.refuses))

    def _tell(self, override: Override, origin: Origin, refusal: Verdict | None, *, against_robotstxt: bool) -> None:
        if against_robotstxt:
            self._crawler.stats.inc_value("gbot_robots/override/against_robotstxt")
        self._crawler.signals.send_catch_log(
            override_used, override=override, origin=origin, refusal=refusal, against_robotstxt=against_robotstxt
        )


def _tell_of_ends(overrides: Overrides, now: float) -> None:
    """Log which overrides have run out and which soon will, the first ones by name."""
    for standing, level, sentence in (
        (Standing.RUN_OUT, logging.WARNING, "has run out and is not applied"),
        (Standing.RUNS_OUT_SOON, logging.INFO, "runs out soon"),
    ):
        ended = [override for override in overrides if override.standing(now) is standing]
        for override in ended[:_MOST_NAMED]:
            logger.log(
                level,
                "%s[%r] %s: its last day is %s (%s)",
                SETTING,
                override.key,
                sentence,
                override.until,
                shown(override.reason),
            )
        if len(ended) > _MOST_NAMED:
            logger.log(level, "%s: %d more %s", SETTING, len(ended) - _MOST_NAMED, standing.value)
