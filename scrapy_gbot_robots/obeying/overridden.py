"""The answer for an origin that has an override: it has the methods of any answer, and the override decides."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..core.url_forms import verdict_on_all_forms
from ..experimental.preferences import NOTHING_SAID
from ..policy.outages import Decision, State
from ..policy.overrides import Action
from .answer import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..core.crawlers import RobotsAgent
    from ..core.rules import Rules
    from ..core.urls import Origin
    from ..core.verdict import Verdict
    from ..experimental.preferences import Preferences
    from ..policy.overrides import Override

_STATES = {Action.IGNORE: State.FULL_ALLOW, Action.REPLACE: State.RULES, Action.DISALLOW: State.FULL_DISALLOW}

# Called for each judged request, with the refusal, or with the question to the site's own robots.txt if the request goes on.
Used: TypeAlias = "Callable[[Override, Origin, Verdict | None, OwnQuestion | None], None]"


class OwnQuestion(NamedTuple):
    """A question to the site's own robots.txt, which does not decide."""

    answer: Answer
    url: str
    agent: RobotsAgent

    def takes_long(self) -> bool:
        """Whether `refuses` may take milliseconds: call it in a thread then."""
        return self.answer.takes_long(self.url, self.agent)

    def refuses(self) -> bool:
        """Whether the site's own robots.txt refuses the URL."""
        return not self.answer.allowed(self.url, self.agent)


class OverriddenAnswer(Answer):
    """The answer for an origin that has an override."""

    __slots__ = ("_agent", "_override", "_own", "_rules_instead", "_used")

    def __init__(self, origin: Origin, override: Override, agent: RobotsAgent, own: Answer | None, used: Used) -> None:
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
        """The answer of the origin's own robots.txt; None while that is not known."""
        return self._own

    @property
    def set_delay(self) -> float | None:
        """The crawl-delay that the override sets, in seconds; None if it sets none."""
        return self._override.crawl_delay

    @property
    def overridden(self) -> bool:
        """Whether an override decides in place of the robots.txt."""
        return True

    def knows(self, agent: RobotsAgent) -> bool:
        """Whether this answer was made for `agent`."""
        return True

    def allowed(self, url: str | bytes, agent: RobotsAgent) -> bool:
        """Whether `url` may be fetched."""
        return self.verdict(url if isinstance(url, str) else url.decode("utf-8", "surrogateescape"), agent).allowed

    def takes_probe(self, url: str, agent: RobotsAgent) -> bool:
        """Whether `url` is the one page to request while robots.txt is unreachable, if robots.txt decides."""
        kept = self._own if self._override.action is Action.KEEP else None
        return kept is not None and kept.takes_probe(url, self._agent)

    def takes_long(self, url: str, agent: RobotsAgent) -> bool:
        """Whether `allowed` or `verdict` may take milliseconds: call them in a thread then."""
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
            self._used(self._override, self.origin, refusal, OwnQuestion(own, url, self._agent))

    def verdict(self, url: str, agent: RobotsAgent) -> Verdict:
        """Whether `url` may be fetched, and why; the reason names the override."""
        if self._rules_instead is not None:
            return self._override.named(verdict_on_all_forms(self._rules_instead, url))
        if self._override.action is Action.KEEP and self._own is not None:
            return self._override.named(self._own.verdict(url, self._agent))
        return self._override.verdict(allowed=self.state is State.FULL_ALLOW)

    def preferences(self, url: str, agent: RobotsAgent) -> Preferences:
        """What the robots.txt that counts says about the use of `url`'s content; nothing if it is ignored."""
        if self._rules_instead is not None:
            return self._rules_instead.preferences(url)
        if self._override.action is Action.KEEP and self._own is not None:
            return self._own.preferences(url, self._agent)
        return NOTHING_SAID

    def crawl_delay(self, agent: RobotsAgent) -> float | None:
        """The crawl-delay in seconds of the rules that count, None if they have none."""
        if self._rules_instead is not None:
            return self._rules_instead.crawl_delay
        return self._own.crawl_delay(self._agent) if self._own is not None else None
