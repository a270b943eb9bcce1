"""What a crawl keeps of one origin's robots.txt: its state, and the rules for the crawlers that asked."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..core.url_forms import allowed_in_all_forms, verdict_on_all_forms
from ..core.verdict import Verdict
from ..experimental.preferences import NOTHING_SAID
from ..meta import PROBE
from ..policy.outages import Decision, Kind, State

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from scrapy import Request
    from typing_extensions import Self

    from ..core.crawlers import RobotsAgent
    from ..core.robots import RobotsTxt
    from ..core.rules import Rules
    from ..core.urls import Origin
    from ..experimental.preferences import Preferences
    from ..policy.outages import Entry

BROKEN_SECS = 60  # after a look-up that a fault of this plugin has ended, until the next one

_MOST_AGENTS = 1000  # whose rules an answer keeps: most crawls have one, some have hundreds of User-Agent headers
_FEW_AGENTS, _BYTES_OF_MANY = 16, 2**20  # an answer for more than 16 agents keeps no more bytes of rules than this
_CLOCK_SKEW_SECS = 5.0  # a clock that is set back by less is not noticed
_BYTES_EACH = 1000  # of memory for an answer without rules, with its origin and its place in the cache; measured


class Source(Enum):
    """Where an answer comes from."""

    FETCHED = "fetched"  # this process has just fetched it
    ANOTHER = "fetched by another process"  # one that shares the storage, while this process waited
    HTTP_CACHE = "from Scrapy's HTTP cache"  # no server was asked, or none answered
    STORED = "from the storage"  # from an earlier run, or from earlier in this one


class Answer:
    """The answer that requests of one origin get.

    Attributes:
        origin: the origin.
        state: full allow, full disallow, or the rules decide.
        why: the reason for the state, in words.
        status: the status code behind the state; None if no response came, or none yet.
        temporary: whether robots.txt is unreachable, and the policy decided.
        temporary_since: when this crawl first noticed that, in seconds on the monotonic clock.
        site_available: whether another page of the origin was served since then.
        given_at: when this answer was made, in seconds since the epoch.
        ask_at, refresh_at: when robots.txt must be fetched again, and when it may be; seconds since the epoch.
        fetched_at: when the definite answer behind this one came; None if there is none.
        robots_sha256: the SHA-256 of its body, in hexadecimal; None if there is no body, or no setting needs it.
        source: where the answer comes from.
        probe: whether one page may be requested though everything is disallowed, to see if the site is available.
        walled: whether a bot wall has answered in place of the site.
        weight: roughly how many bytes of memory this answer takes.
    """

    __slots__ = (
        "_rules",
        "ask_at",
        "fetched_at",
        "given_at",
        "origin",
        "probe",
        "refresh_at",
        "robots_sha256",
        "site_available",
        "source",
        "state",
        "status",
        "temporary",
        "temporary_since",
        "walled",
        "weight",
        "why",
    )

    def __init__(self, origin: Origin, decision: Decision, status: int | None, now: float) -> None:
        self.origin = origin
        self.state = decision.state
        self.why = decision.why
        self.status = status
        self.temporary = decision.temporary
        self.temporary_since = time.monotonic()
        self.site_available = False
        self.source = Source.STORED
        self.probe = decision.probe
        self.walled = decision.copy is not None and decision.copy.kind is Kind.WALL
        self.given_at = now
        self.ask_at = decision.ask_at
        self.refresh_at = decision.refresh_at
        self.fetched_at = decision.copy.fetched_at if decision.copy else None
        self.robots_sha256: str | None = None
        self.weight = _BYTES_EACH
        self._rules: dict[RobotsAgent, Rules] = {}

    @classmethod
    def of(cls, origin: Origin, entry: Entry | None, decision: Decision, held: Answer | None, now: float) -> Self:
        """Make the answer for `origin` at `now` from its entry and decision. `held` is the answer until now."""
        answer = cls(origin, decision, _status(entry), now)
        if held is not None and held.temporary and answer.temporary:
            answer.temporary_since = held.temporary_since
            answer.site_available = held.site_available
        if held is not None and held.fetched_at == answer.fetched_at:  # the same robots.txt
            answer._rules.update(held._rules)  # noqa: SLF001
            answer.weight = held.weight
        return answer

    @classmethod
    def broken(cls, origin: Origin, now: float) -> Self:
        """Make the answer if a fault of this plugin ended the look-up of `origin`: full disallow, for a short time."""
        ask_at = now + BROKEN_SECS
        why = "looking up its robots.txt failed"
        decision = Decision(State.FULL_DISALLOW, why, temporary=True, ask_at=ask_at, refresh_at=ask_at, copy=None)
        return cls(origin, decision, None, now)

    @property
    def bars_for_now(self) -> bool:
        """Whether everything is disallowed because robots.txt is unreachable: a request may wait for a better answer."""
        return self.temporary and self.state is State.FULL_DISALLOW and not self.probe

    @property
    def of_site(self) -> Answer | None:
        """The answer of the origin's own robots.txt: this one, unless an override decides."""
        return self

    @property
    def overridden(self) -> bool:
        """Whether an override decides in place of the robots.txt."""
        return False

    @property
    def set_delay(self) -> float | None:
        """The crawl-delay in seconds that an override sets for the origin; None if none does."""
        return None

    @property
    def agents(self) -> Collection[RobotsAgent]:
        """The crawlers whose rules this answer knows."""
        return self._rules.keys()

    def is_good(self, now: float) -> bool:
        """Whether the answer still counts at `now`. It does not if it is from the future: the clock was set back."""
        return self.given_at - _CLOCK_SKEW_SECS <= now < self.ask_at

    def knows(self, agent: RobotsAgent) -> bool:
        """Whether `verdict` and `allowed` can be called with `agent`."""
        return self.state is not State.RULES or agent in self._rules

    def learn(self, robotstxt: RobotsTxt, agents: Iterable[RobotsAgent]) -> None:
        """Keep the rules for more crawlers. If there are too many, the oldest rules are dropped."""
        for agent in agents:
            self._forget(agent)
            rules = self._rules[agent] = robotstxt.rules_for(agent)
            self.weight += rules.weight
            while len(self._rules) > _MOST_AGENTS or (len(self._rules) > _FEW_AGENTS and self.weight > _BYTES_OF_MANY):
                self._forget(next(iter(self._rules)))

    def preferences(self, url: str, agent: RobotsAgent) -> Preferences:
        """What the robots.txt says about the use of `url`'s content; the URL must be allowed."""
        return self._rules[agent].preferences(url) if self.state is State.RULES else NOTHING_SAID

    def _forget(self, agent: RobotsAgent) -> None:
        rules = self._rules.pop(agent, None)
        if rules is not None:
            self.weight -= rules.weight

    def takes_probe(self, url: str, agent: RobotsAgent) -> bool:
        """Whether `url` is the one page to request as a probe. If there is a copy of robots.txt, that must allow it."""
        if not self.probe or (self._rules and not (agent in self._rules and self._rules[agent].allowed(url))):
            return False
        self.probe = False
        return True

    def allowed(self, url: str | bytes, agent: RobotsAgent) -> bool:
        """Whether `agent` may fetch `url` in every form in which a download handler may send it. Faster than `verdict`."""
        if self.state is not State.RULES:
            return self.state is State.FULL_ALLOW
        return allowed_in_all_forms(self._rules[agent], url)

    def judged(self, url: str, refusal: Verdict | None) -> None:
        """Note that a request for `url` goes on, or that `refusal` forbids it. A hook for subclasses."""

    def takes_long(self, url: str, agent: RobotsAgent) -> bool:
        """Whether `allowed` and `verdict` may take milliseconds, as with hostile rules: call them in a thread then."""
        return self.state is State.RULES and self._rules[agent].takes_long(url)

    def crawl_delay(self, agent: RobotsAgent) -> float | None:
        """The seconds between two requests that the group of `agent` asks for, None if it does not."""
        return self._rules[agent].crawl_delay if self.state is State.RULES else None

    def verdict(self, url: str, agent: RobotsAgent) -> Verdict:
        """Whether `agent` may fetch `url`, and why. If only another form of the URL is disallowed, the reason names it."""
        if self.state is State.RULES:
            return verdict_on_all_forms(self._rules[agent], url)
        return Verdict(allowed=self.state is State.FULL_ALLOW, rule=None, reason=self.why)


def provenance_of(answer: Answer, verdict: Verdict) -> dict[str, Any]:
    """Return which robots.txt lets a request go on, for `GBOT_ROBOTS_PROVENANCE`."""
    source = answer.of_site
    fetched_at = None if source is None else source.fetched_at
    when = None if fetched_at is None else datetime.fromtimestamp(fetched_at, tz=timezone.utc)
    return {
        "robots": None if source is None else source.robots_sha256,
        "fetched": None if when is None else when.isoformat(timespec="seconds"),
        "status": None if source is None else source.status,
        "line": None if verdict.rule is None else verdict.rule.line,
        "group": verdict.group,
        "override": verdict.override,
    }


def is_waited_for(answer: Answer, request: Request | None = None) -> bool:
    """Whether requests, or `request` alone, wait for a better answer. A probe does so only if the server answered."""
    if not answer.bars_for_now:
        return False
    return request is None or answer.status is not None or not request.meta.get(PROBE)


def _status(entry: Entry | None) -> int | None:
    known = None if entry is None else entry.outage or entry.copy
    return None if known is None else known.status
