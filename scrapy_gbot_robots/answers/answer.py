"""Defines the answer that a crawl keeps for an origin, and a cache of these answers.

An answer contains the state of an origin: rules, full allow (everything is allowed) or full
disallow (nothing is allowed). If the state is rules, the answer also contains the rules for each
user agent of the crawl's requests.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Final

from scrapy import Request

from ..core.crawlers import UserAgent
from ..core.preferences import NOTHING_SAID
from ..core.robots import RobotsTxt
from ..core.rules import Rules, preferences_if_allowed, preferences_of, takes_long, weight_of
from ..core.url_forms import allowed_in_all_forms, verdict_on_all_forms
from ..core.urls import Origin
from ..core.verdict import Verdict
from ..meta import PROBE
from ..policy.outages import Decision, Outage, State
from ..policy.outcome import NOT_ASKED, Failure
from ..policy.overrides import Override, decision_by
from ..policy.verdicts import agreed

if TYPE_CHECKING:
    from ..core.preferences import Preferences
    from ..fetching.fetcher import Way

MOST_BYTES = 128 * 2**20  # The cached answers together take at most this many bytes of memory.
# If a bug in this plugin ends the look-up of an answer, the next look-up begins after this number
# of seconds.
BROKEN_SECS = 60

_FEW_USER_AGENTS = 16
# If an answer has rules for more than `_FEW_USER_AGENTS` user agents, and its `weight` is greater
# than this number of bytes, the rules that were added first are dropped.
_BYTES_OF_MANY = 2**20
_CLOCK_SKEW_SECS = 5.0  # An answer stays valid if the clock is set back by at most this time.
# The memory in bytes that the cache needs for an answer without rules. The number was measured.
_BYTES_EACH = 1000


class Source(Enum):
    """The ways in which a crawl can get an answer."""

    FETCHED = "fetched"  # This process has just fetched the robots.txt.
    # Another crawl with the same storage has fetched the robots.txt while this crawl waited.
    ANOTHER = "fetched by another crawl"
    # The storage already contained the robots.txt, so it was not fetched.
    STORED = "from the storage"
    OVERRIDE = "from an override"  # An override of the user replaces the robots.txt.


class Answer:
    """What the robots.txt of one origin means for the requests of this origin.

    The signals of this plugin pass an `Answer` to their handlers. A handler cannot change it. In
    the methods, `user_agent` is a `UserAgent`, such as `UserAgent.of("mybot")`.

    If the state is RULES, the answer contains the rules only for the user agents of requests that
    the crawl has made to this origin. For any other user agent, the methods raise KeyError.

    Attributes:
        origin: the origin.
        state: full allow, full disallow, or rules.
        status: the status code of the last fetch; None if no response came, or if the file was not
            fetched yet.
        fetched_at: the time at which the server sent the response on which the answer is based, in
            seconds since the epoch; None if the answer is not based on a response.
        source: where the answer comes from.
        why: the reason for the state, in words.
    """

    __slots__ = ("_rules", "fetched_at", "origin", "source", "state", "status", "why")

    def __init__(
        self, origin: Origin, decision: Decision, status: int | None, source: Source
    ) -> None:
        self.origin: Final = origin
        self.state: Final = decision.state
        self.status: Final = status
        self.fetched_at: Final = getattr(decision.copy, "fetched_at", None)
        self.source: Final = source
        self.why: Final = decision.why
        self._rules: dict[UserAgent, Rules] = {}

    def allowed(self, url: str | bytes, user_agent: UserAgent) -> bool:
        """Whether `user_agent` may fetch `url`.

        Scrapy's download handlers may change a URL before they send it, for example by escaping
        characters. So the result is True only if all forms of `url` that a handler may send are
        allowed. This method is faster than `verdict`.
        """
        if self.state is not State.RULES:
            return self.state is State.FULL_ALLOW
        return allowed_in_all_forms(self._rules[user_agent], url)

    def verdict(self, url: str, user_agent: UserAgent) -> Verdict:
        """Whether `user_agent` may fetch `url`, and why.

        Scrapy's download handlers may change a URL before they send it. If `url` itself is allowed,
        but a form of it that a handler may send is disallowed, the reason names that form.
        """
        if self.state is State.RULES:
            return verdict_on_all_forms(self._rules[user_agent], url)
        return Verdict(allowed=self.state is State.FULL_ALLOW, reason=self.why)

    def preferences(self, url: str, user_agent: UserAgent) -> Preferences:
        """The Content-Usage and Content-Signal preferences of the site for the page `url`.

        If `url` is disallowed, the result contains no preferences.
        """
        if self.state is not State.RULES:
            return NOTHING_SAID
        return preferences_of(self._rules[user_agent], url)

    def crawl_delay(self, user_agent: UserAgent) -> float | None:
        """The crawl-delay in the group for `user_agent`, in seconds; None if there is none."""
        if self.state is not State.RULES:
            return None
        return self._rules[user_agent].crawl_delay


class ShownAnswer(Answer):
    """A copy of an answer, for the handlers of signals. The copy cannot be changed.

    The copy shares its rules with the original `answer`. So if the crawl later adds the rules for
    another user agent to `answer`, the copy has these rules, too.
    """

    __slots__ = ()

    def __init__(self, answer: Answer) -> None:
        for name in Answer.__slots__:
            object.__setattr__(self, name, getattr(answer, name))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"an Answer cannot be changed: {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"an Answer cannot be changed: {name}")


class CachedAnswer(Answer):
    """An answer in the memory of a crawl, with additional attributes that only the crawl uses."""

    __slots__ = (
        "ask_at",
        "bars_for_now",
        "counted_weight",
        "failed_way",
        "given_at",
        "monotonic_ask_at",
        "monotonic_given_at",
        "outage",
        "override",
        "refresh_at",
        "robots_sha256",
        "since",
        "temporary",
        "weight",
    )

    def __init__(
        self,
        origin: Origin,
        decision: Decision,
        status: int | None = None,
        source: Source = Source.STORED,
        override: Override | None = None,
        before: CachedAnswer | None = None,
    ) -> None:
        """Make the answer for `origin` from `decision`.

        `override` is the user's override that replaces the robots.txt, or None. `before` is the
        previous answer for the origin. If both answers are based on the same response or the same
        outage, the new answer copies some attributes of `before`.
        """
        super().__init__(origin, decision, status, source)
        self.override: Final = override
        # The next three attributes are times in seconds since the epoch.
        self.given_at = time.time()  # the time at which this answer was made
        self.ask_at = decision.ask_at  # the time from which the answer must not be used any more
        self.refresh_at = decision.refresh_at  # the time from which a look-up refreshes it
        # The same moments as `given_at` and `ask_at`, on the monotonic clock.
        self.monotonic_given_at: Final = time.monotonic()
        self.monotonic_ask_at: Final = self.monotonic_given_at + self.ask_at - self.given_at
        # The time at which this crawl noticed that the robots.txt is unreachable, on the monotonic
        # clock.
        self.since = self.monotonic_given_at
        # `temporary` is True if the robots.txt is unreachable.
        self.temporary: Final = decision.temporary
        # `bars_for_now` is True if everything is disallowed because the robots.txt is unreachable.
        self.bars_for_now: Final = self.temporary and self.state is State.FULL_DISALLOW
        # The outage on which the answer is based, or None. An outage is a period in which all
        # fetches of the robots.txt fail.
        self.outage: Final[Outage | None] = decision.outage
        # The SHA-256 of the robots.txt in hexadecimal digits; None if there is no file, or if no
        # setting needs the SHA-256.
        self.robots_sha256: str | None = None
        # The result of `fetcher.way_of` for the last robots.txt request, such as its proxy, if this
        # request came from this process and has failed; otherwise None.
        self.failed_way: Way | None = None
        self.weight = _BYTES_EACH  # roughly how many bytes of memory the answer takes
        self.counted_weight = 0  # the `weight` when this answer was put into the cache
        if before is not None:
            self._go_on_from(before)

    def _go_on_from(self, before: CachedAnswer) -> None:
        if before.temporary and self.temporary:  # It is the same outage.
            self.since = before.since
        # Two answers with the same `fetched_at` are based on the same robots.txt.
        if self.fetched_at and before.fetched_at == self.fetched_at:
            self._rules.update(before._rules)
            self.weight = before.weight
            # `take_answer` in lookup.py may have postponed the next refresh. This delay still
            # applies, because the robots.txt was not fetched again.
            self.refresh_at = max(self.refresh_at, before.refresh_at)

    @property
    def failure(self) -> Failure | None:
        """The kind of failure, such as a timeout, while the robots.txt is unreachable.

        At any other time, the kind is None. It is also None if the server has sent a response, such
        as a 503.
        """
        if self.outage is None:
            return None
        return self.outage.failure

    @property
    def has_stored_failure(self) -> bool:
        """Whether the storage contained the failure of the last try.

        An earlier crawl or another process made this try, so the site may be up again by now.
        """
        return self.outage is not None and self.failed_way is None

    def is_waited_for(self, request: Request | None = None) -> bool:
        """Whether `request` should wait until the robots.txt can be fetched.

        Requests wait only if everything is disallowed because the robots.txt is unreachable. They
        do not wait if the crawl itself prevents the fetch, for example by a middleware that drops
        the request for the robots.txt. A request with the meta key `PROBE` only checks whether
        there is a server, so it waits only if a server has sent a response. If `request` is None,
        the result is for a request without this key.
        """
        if not self.bars_for_now or self.failure in NOT_ASKED:
            return False
        if request is None or self.status is not None:
            return True
        return not request.meta.get(PROBE)

    def verdict_beside(self, url: str, user_agent: UserAgent, override: Override) -> Verdict:
        """Return the verdict on `url`, which the robots.txt disallows but `override` may allow."""
        rules = self._rules[user_agent] if self.state is State.RULES else None
        return agreed(url, self.verdict(url, user_agent), rules, override)

    def preferences_if_allowed(self, url: str, user_agent: UserAgent) -> Preferences:
        """Return the site's preferences for `url`, if the robots.txt or an override allows `url`.

        The method `preferences` is different. It returns no preferences if the robots.txt disallows
        `url`.
        """
        if self.state is not State.RULES:
            return NOTHING_SAID
        return preferences_if_allowed(self._rules[user_agent], url)

    def is_good(self, now: float) -> bool:
        """Whether the answer is still valid at `now`, in seconds since the epoch.

        If `now` is more than `_CLOCK_SKEW_SECS` before the time at which the answer was made, the
        clock was set back, and the answer is not valid.
        """
        return self.given_at - _CLOCK_SKEW_SECS <= now < self.ask_at

    def knows(self, user_agent: UserAgent) -> bool:
        """Whether `verdict` and `allowed` can be called with `user_agent`."""
        return self.state is not State.RULES or user_agent in self._rules

    def takes_long(self, url: str, user_agent: UserAgent) -> bool:
        """Whether `allowed` and `verdict` may need milliseconds because the rules are hostile.

        If so, the methods should be called in a thread.
        """
        return self.state is State.RULES and takes_long(self._rules[user_agent], url)

    def add_rules(self, robotstxt: RobotsTxt, user_agents: Iterable[UserAgent]) -> None:
        """Add the rules for more user agents.

        If all rules together take too much memory, the rules that were added first are dropped.
        """
        for user_agent in user_agents:
            if user_agent in self._rules:
                continue
            rules = self._rules[user_agent] = robotstxt.rules_for(user_agent)
            self.weight += weight_of(rules)
            while len(self._rules) > _FEW_USER_AGENTS and self.weight > _BYTES_OF_MANY:
                self.weight -= weight_of(self._rules.pop(next(iter(self._rules))))


class AnswerCache:
    """A cache of answers by origin.

    When the cache is full, the answers that were not used for the longest time are dropped.

    Args:
        most_answers: the greatest number of answers.
        most_bytes: the greatest `weight` of all answers together, in bytes. The newest answer is
            kept even if its own `weight` is greater.
    """

    def __init__(self, most_answers: int, most_bytes: int = MOST_BYTES) -> None:
        self._most_answers = most_answers
        self._most_bytes = most_bytes
        # The first item is the least recently used answer. The cache is a dict, because Python's
        # garbage collector visits a dict in less time than an OrderedDict.
        self._answers: dict[Origin, CachedAnswer] = {}
        # The sum of `counted_weight` of all answers. The sum of `weight` may differ, because an
        # answer in the cache may get more rules.
        self._bytes = 0

    def get(self, origin: Origin) -> CachedAnswer | None:
        """Return the answer of `origin`, or None. The answer becomes the most recently used one."""
        answer = self._answers.pop(origin, None)
        if answer is not None:
            # `origin` equals `answer.origin`, but may be another object. If `origin` were the key,
            # both objects would stay in memory.
            self._answers[answer.origin] = answer
        return answer

    def put(self, answer: CachedAnswer) -> None:
        """Cache `answer` in place of the previous answer for its origin."""
        if answer.origin in self._answers:
            self._remove(answer.origin)
        self._answers[answer.origin] = answer
        answer.counted_weight = answer.weight
        self._bytes += answer.weight
        while len(self._answers) > self._most_answers:
            self._remove(next(iter(self._answers)))
        while self._bytes > self._most_bytes and len(self._answers) > 1:
            self._remove(next(iter(self._answers)))

    def _remove(self, origin: Origin) -> None:
        self._bytes -= self._answers.pop(origin).counted_weight


def answer_of(override: Override, origin: Origin) -> CachedAnswer:
    """Return the answer for `origin` from an override that replaces the site's robots.txt.

    The caller must add the rules for each user agent to the answer.
    """
    return CachedAnswer(origin, decision_by(override), source=Source.OVERRIDE, override=override)


def failed_look_up(origin: Origin, before: CachedAnswer | None) -> CachedAnswer:
    """Return the answer for `origin` after a bug in this plugin has ended the look-up.

    The answer disallows everything, and after a minute the next look-up begins. `before` is the
    previous answer for the origin.
    """
    ask_at = time.time() + BROKEN_SECS
    why = "looking up its robots.txt failed"
    decision = Decision(State.FULL_DISALLOW, why, True, ask_at, ask_at)
    return CachedAnswer(origin, decision, before=before)
