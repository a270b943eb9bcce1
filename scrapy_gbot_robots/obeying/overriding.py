"""A look-up whose answers the user's overrides change: `GBOT_ROBOTS_OVERRIDES`, asked where the answer is asked.

The middleware and the waiting know nothing of overrides: they ask this look-up as they would ask the other. What an
override means is `policy.overrides`' to say. Without overrides there is the plain look-up, and nothing is paid.

    disallow     the robots.txt is not asked for: nothing goes to a host that wants nothing
    ignore       the robots.txt is asked for, so that its sitemaps and its crawl-delay are known, and what it refuses is
    own rules    counted; but no request waits for one that does not answer
    as, delay    the robots.txt decides and is waited for, as without an override
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..concurrency import Background, run_in_thread, within
from ..core.origin import Origin
from ..core.robots import RobotsTxt
from ..core.urls import shown
from ..policy.ladder import Decision, State
from ..policy.overrides import SETTING, Action, Overrides, Standing
from ..settings import path_of
from ..signals import override_used
from .answer import Answer, verdict_on_all_forms

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from ..core.agents import RobotsAgent as Agent
    from ..core.rules import Rules, Verdict
    from ..policy.overrides import Override
    from ..settings import GbotSettings
    from .lookup import Lookup

PATIENCE_SECS = 5.0  # that requests wait for a robots.txt that does not decide, counted from the first of them
_MOST_ORIGINS = 10_000  # of which it is known since when their robots.txt is waited for
_MOST_NAMED = 20  # overrides that have run out, in the log

_STATS = {Action.IGNORE: "ignored", Action.REPLACE: "rules", Action.DISALLOW: "disallowed", Action.KEEP: "kept"}
_STATES = {Action.IGNORE: State.FULL_ALLOW, Action.REPLACE: State.RULES, Action.DISALLOW: State.FULL_DISALLOW}

# Called for each request that is judged: the refusal, or what the site's own robots.txt says of one that goes on.
Used: TypeAlias = "Callable[[Override, Origin, Verdict | None, _Own | None], None]"

logger = logging.getLogger(__name__)


def overridden(lookup: Lookup, gbot: GbotSettings, crawler: Crawler) -> Lookup | OverridingLookup:
    """Return a look-up that answers as the overrides of `gbot` say; without overrides, `lookup` itself.

    Raises:
        ValueError: an override is wrong.
    """
    overrides = overrides_of(gbot)
    return OverridingLookup(lookup, overrides, crawler) if overrides else lookup


def overrides_of(gbot: GbotSettings) -> Overrides:
    """Read the overrides, and the files that they name, once.

    Raises:
        ValueError: they are wrong, or a file cannot be read; the message names the setting, the rule and the value.
    """
    value = _content(gbot.overrides) if isinstance(gbot.overrides, Path) else gbot.overrides
    parse = partial(RobotsTxt.parse, strict=gbot.strict, max_bytes=gbot.max_bytes)
    return Overrides.read(value, partial(_beginning, gbot.max_bytes + 1), parse)


def _content(path: Path) -> Any:
    """Return what a .toml or .json file says."""
    try:
        if path.suffix.lower() == ".json":
            return json.loads(path.read_text(encoding="utf-8"))
        return _toml().loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:  # that it is no JSON, TOML or UTF-8 is a ValueError
        raise ValueError(f"{SETTING} must name a file that can be read, got {str(path)!r}: {error}") from error


def _toml() -> Any:
    try:
        import tomllib  # noqa: PLC0415  Python 3.11 and newer
    except ImportError:
        try:
            import tomli as tomllib  # type: ignore[import-not-found,no-redef]  # noqa: PLC0415
        except ImportError:
            raise ValueError("Python 3.10 reads TOML only with `pip install tomli`; JSON needs nothing") from None
    return tomllib


def _beginning(most_bytes: int, path: str) -> bytes:
    with path_of(path).open("rb") as file:
        return file.read(most_bytes)


class _Own(NamedTuple):
    """A question to the site's own robots.txt that does not decide."""

    answer: Answer
    url: str
    agent: Agent

    def takes_long(self) -> bool:
        return self.answer.takes_long(self.url, self.agent)

    def refuses(self) -> bool:
        return not self.answer.allowed(self.url, self.agent)


class OverriddenAnswer(Answer):
    """The answer for an origin that an override is for."""

    __slots__ = ("_agent", "_override", "_own", "_rules_instead", "_used")

    def __init__(self, origin: Origin, override: Override, agent: Agent, own: Answer | None, used: Used) -> None:
        """Make the answer for `agent`; `used` is called for each request that is judged."""
        if own is not None and override.action is Action.KEEP:
            decision = Decision(own.state, own.why, own.temporary, own.refresh_at, own.ask_at)
        else:
            why = override.verdict(allowed=False).reason
            decision = Decision(_STATES[override.action], why, False, math.inf, math.inf)
        super().__init__(origin, decision, None if own is None else own.status, time.time())
        if own is not None:
            self.temporary_since = own.temporary_since
        self._own = own
        self._override = override
        self._agent = agent
        self._used = used
        self._rules_instead: Rules | None = override.robotstxt.rules_for(agent) if override.robotstxt else None

    @property
    def of_site(self) -> Answer | None:
        """What the origin's own robots.txt says; None as long as that is not known."""
        return self._own

    @property
    def set_delay(self) -> float | None:
        """The crawl-delay that the override sets, in seconds; None if it sets none."""
        return self._override.crawl_delay

    @property
    def overridden(self) -> bool:
        """Whether an override decides in place of the robots.txt."""
        return True

    def knows(self, agent: Agent) -> bool:
        """Whether it can be asked: it was made for the crawler that asks."""
        return True

    def allowed(self, url: str | bytes, agent: Agent) -> bool:
        """Whether `url` may be fetched."""
        return self.verdict(url if isinstance(url, str) else url.decode("utf-8", "surrogateescape"), agent).allowed

    def takes_probe(self, url: str, agent: Agent) -> bool:
        """Whether `url` is the one page to ask for while the robots.txt is unreachable, if that decides."""
        kept = self._own if self._override.action is Action.KEEP else None
        return kept is not None and kept.takes_probe(url, self._agent)

    def takes_long(self, url: str, agent: Agent) -> bool:
        """Whether `allowed` or `verdict` may take milliseconds: ask in a thread then."""
        if self._rules_instead is not None:
            return self._rules_instead.takes_long(url)
        kept = self._own if self._override.action is Action.KEEP else None
        return kept is not None and kept.takes_long(url, self._agent)

    def judged(self, url: str, refusal: Verdict | None) -> None:
        """Count a use of the override."""
        own = self._own if refusal is None and self._override.action is not Action.KEEP else None
        if own is None or own.state is not State.RULES:
            self._used(self._override, self.origin, refusal, None)
        else:
            self._used(self._override, self.origin, refusal, _Own(own, url, self._agent))

    def verdict(self, url: str, agent: Agent) -> Verdict:
        """Whether `url` may be fetched, and why; it names the override."""
        if self._rules_instead is not None:
            return self._override.named(verdict_on_all_forms(self._rules_instead, url))
        if self._override.action is Action.KEEP and self._own is not None:
            return self._override.named(self._own.verdict(url, self._agent))
        return self._override.verdict(allowed=self.state is State.FULL_ALLOW)

    def crawl_delay(self, agent: Agent) -> float | None:
        """The crawl-delay in seconds of the rules that count, None if they have none."""
        if self._rules_instead is not None:
            return self._rules_instead.crawl_delay
        return self._own.crawl_delay(self._agent) if self._own is not None else None


class OverridingLookup:
    """Answers by origin, for one crawl with overrides; it is asked as a `Lookup` is."""

    def __init__(self, lookup: Lookup, overrides: Overrides, crawler: Crawler) -> None:
        self._lookup = lookup
        self._overrides = overrides
        self._crawler = crawler
        self._waited_since: OrderedDict[Origin, float] = OrderedDict()  # on the monotonic clock
        self.sets_delays = overrides.set_delays
        self.copy = lookup.copy
        self.site_answered = lookup.site_answered
        self.abandon = lookup.abandon
        self._background = Background()
        _tell_of_ends(overrides, time.time())

    def known(self, origin: Origin, agent: Agent, request: Request | None = None) -> Answer | None:
        """The answer for `origin` if it is at hand, as its override says."""
        override = self._override_for(origin, request)
        if override is None:
            return self._lookup.known(origin, agent, request)
        agent = override.crawler or agent
        if override.action is Action.DISALLOW:
            return self._answer(origin, override, agent, None)
        own = self._lookup.known(origin, agent, request)
        if own is not None and not own.temporary:
            self._waited_since.pop(origin, None)
        if own is None and override.action is not Action.KEEP and self._patience(origin) <= 0:
            return self._answer(origin, override, agent, self._lookup.latest(origin, agent, request))
        return None if own is None else self._answer(origin, override, agent, own)

    async def ask(self, origin: Origin, agent: Agent, request: Request | None = None, *how: Any) -> Answer:
        """The answer for `origin`, as its override says; a robots.txt that does not decide is waited for briefly.

        Raises:
            Closing: the crawl is closing.
        """
        override = self._override_for(origin, request)
        if override is None:
            return await self._lookup.ask(origin, agent, request, *how)
        answer = self.known(origin, agent, request)
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

    async def close(self) -> None:
        """Finish counting, give up what is under way, and close the storage."""
        await self._background.ended()
        await self._lookup.close()

    def _override_for(self, origin: Origin, request: Request | None) -> Override | None:
        """The override that decides; one that asks for the robots.txt itself gets it, unless nothing may be fetched."""
        override = self._overrides.of(origin, time.time())
        if override is None or override.action is Action.DISALLOW or request is None:
            return override
        return None if Origin.of_robots_txt(request.url) is not None else override

    def _patience(self, origin: Origin) -> float:
        """For how many seconds the robots.txt of `origin` is still waited for; from the first time that this is asked."""
        now = time.monotonic()
        since = self._waited_since.setdefault(origin, now)
        if len(self._waited_since) > _MOST_ORIGINS:
            self._waited_since.popitem(last=False)
        return since + PATIENCE_SECS - now

    def _answer(self, origin: Origin, override: Override, agent: Agent, own: Answer | None) -> Answer:
        return OverriddenAnswer(origin, override, agent, own, self._used)

    def _used(self, override: Override, origin: Origin, refusal: Verdict | None, own: _Own | None) -> None:
        self._crawler.stats.inc_value(f"gbot_robots/override/{_STATS[override.action]}")
        if own is None:
            self._tell(override, origin, refusal, against_robotstxt=False)
        elif own.takes_long():
            self._background.start(self._tell_later(override, origin, own))
        else:
            self._tell(override, origin, refusal, against_robotstxt=own.refuses())

    async def _tell_later(self, override: Override, origin: Origin, own: _Own) -> None:
        self._tell(override, origin, None, against_robotstxt=await run_in_thread(own.refuses))

    def _tell(self, override: Override, origin: Origin, refusal: Verdict | None, *, against_robotstxt: bool) -> None:
        if against_robotstxt:
            self._crawler.stats.inc_value("gbot_robots/override/against_robotstxt")
        self._crawler.signals.send_catch_log(
            override_used, override=override, origin=origin, refusal=refusal, against_robotstxt=against_robotstxt
        )


def _tell_of_ends(overrides: Overrides, now: float) -> None:
    """Say which overrides have run out and which soon will: the first ones by name."""
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
