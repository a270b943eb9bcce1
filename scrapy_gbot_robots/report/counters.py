"""What a crawl's report counts, in bounded memory, however many origins and rules it meets.

`Tally` has the most frequent of maybe millions of keys, `Origins` all about the first origins, and
the blocked requests of those that block most. Beyond these the report says "more than".
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from scrapy import Request

from ..core.urls import Origin
from ..core.verdict import Verdict
from ..exceptions import ForbiddenByRobotsTxt
from ..obeying.answer import CachedAnswer, Source
from ..policy.outages import Kind, State
from ..policy.overrides import Override

FINISHED = "finished"  # Scrapy's reason for the end of a crawl that has done everything
MOST_ORIGINS = 50_000  # at some 500 bytes each

# counted one by one: a reason may contain a server's error text, so there may be any number
_MOST_REASONS = 1_000
_BY_A_RULE = "by a rule of the robots.txt"
_EXAMPLES = 2  # URLs for each rule and each unreachable origin
_MOST_EXAMPLE = 200  # characters

_K = TypeVar("_K", bound="Hashable")


class BlockingRule(NamedTuple):
    """A rule that blocked requests, by its robots.txt and line."""

    robots_txt: str
    line: int
    text: str
    group: str

    def __str__(self) -> str:
        """Say rule and place in a line."""
        return f'"{self.text}" in {self.robots_txt} (line {self.line})'


class Tally(Generic[_K]):
    """Counts by key. Above `room` keys, the least frequent are forgotten, down to `room / 2`."""

    def __init__(self, room: int = 10_000) -> None:
        self._room = room
        self._counts: Counter[_K] = Counter()
        self._examples: dict[_K, list[str]] = {}
        # No key was forgotten; else counts may be too low, and keys may be missing.
        self.exact = True

    def add(self, key: _K, example: str = "") -> None:
        """Count `key` once, and keep a few examples of it."""
        if example:
            examples = self._examples.setdefault(key, [])
            beginning = example[:_MOST_EXAMPLE]
            if len(examples) < _EXAMPLES and beginning not in examples:
                examples.append(beginning)
        self.update((key,))

    def update(self, keys: Collection[_K]) -> None:
        """Count each of `keys`, a key as often as it occurs."""
        self._counts.update(keys)
        if len(self._counts) > self._room:
            self._counts = Counter(dict(self._counts.most_common(self._room // 2)))
            for key in self._examples.keys() - self._counts.keys():
                del self._examples[key]
            self.exact = False

    def __len__(self) -> int:
        """How many keys are known."""
        return len(self._counts)

    def top(self, most: int) -> list[tuple[_K, int]]:
        """Return the most frequent keys with their counts, the most frequent first."""
        return self._counts.most_common(most)

    def examples(self, key: _K) -> Sequence[str]:
        """Return the examples of a key."""
        return self._examples.get(key, ())


class OriginRow(NamedTuple):
    """What is known of an origin by its last answer; all None for one that is not counted."""

    state: State | None = None
    status: int | None = None
    why: str = ""
    source: Source | None = None  # None: there is no definite answer
    fetched_at: float | None = None  # when a server gave it, in seconds since the epoch
    kind: Kind | None = None  # of that answer
    unreachable: bool = False
    cause: str = ""  # what is wrong with an unreachable one, in a few words
    redirected_to: str = ""  # the URL that gave the answer, if a redirect led there


class Origins:
    """The origins that a crawl met."""

    def __init__(self) -> None:
        # no `Answer`, which would keep all the rules in memory
        self.rows: dict[Origin, OriginRow] = {}
        self.blocked: Tally[Origin] = Tally()  # by requests that were blocked
        self.exact = True  # there are no more than those that are counted
        self.oldest_secs = 0.0  # the greatest age of an answer when the crawl got it

    def learn(self, answer: CachedAnswer) -> None:
        """Note the new answer of an origin."""
        if answer.origin not in self.rows and len(self.rows) >= MOST_ORIGINS:
            self.exact = False
            return
        source = None
        if answer.fetched_at is not None:
            source = answer.source
            self.oldest_secs = max(self.oldest_secs, answer.given_at - answer.fetched_at)
        self.rows[answer.origin] = OriginRow(
            answer.state,
            answer.status,
            answer.why,
            source,
            answer.fetched_at,
            answer.kind,
            answer.temporary,
            answer.cause,
            answer.redirected_to,
        )

    def most_blocking(self) -> list[tuple[Origin, OriginRow, int]]:
        """All origins with their blocked requests; those that blocked most come first."""
        blocked = dict(self.blocked.top(len(self.blocked)))
        return [
            (origin, self.rows.get(origin, OriginRow()), blocked.get(origin, 0))
            for origin in {**blocked, **self.rows}
        ]


class CrawlCounts:
    """All that a report says of a crawl.

    Most of it comes by the plugin's signals, the rest from stats at the end.
    """

    def __init__(self) -> None:
        self.spider = ""
        self.began = self.ended = time.time()
        self.finish_reason = FINISHED
        self.obeyed = True
        self.blocked = 0
        self.origins = Origins()
        self.rules: Tally[BlockingRule] = Tally()
        self.reasons: Tally[str] = Tally(_MOST_REASONS)
        # By override: the requests about which it decided, and those that it blocked.
        self.overridden: Counter[Override] = Counter()
        self.blocked_by_override: Counter[Override] = Counter()
        self.preferences: list[str] = []  # a line for each purpose of the crawl
        self.waiting = 0  # requests that still waited when the crawl was closed
        self.sitemaps_left_out: Mapping[str, int] = {}  # by the setting or rule that left them out

    def refuse(self, error: ForbiddenByRobotsTxt, request: Request | None = None) -> None:
        """Count a request that was blocked."""
        verdict = error.verdict
        origin = error.origin
        url = ""
        if request is not None:
            url = request.url
        self.blocked += 1
        if verdict.rule is None:
            self.reasons.add(verdict.reason)
        else:
            self.reasons.add(_BY_A_RULE)
        if origin is None or verdict.override is not None:  # no robots.txt has blocked it
            return
        self.origins.blocked.add(origin, url)
        if verdict.rule is not None:
            line = verdict.rule.line
            text = str(verdict.rule)
            self.rules.add(BlockingRule(origin.robots_url, line, text, verdict.group or ""), url)

    def use(self, override: Override, refusal: Verdict | None) -> None:
        """Count a request about which an override decided."""
        self.overridden[override] += 1
        if refusal is not None:
            self.blocked_by_override[override] += 1
