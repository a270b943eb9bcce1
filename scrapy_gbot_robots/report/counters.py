"""What a crawl's report counts, in bounded memory, however many origins and rules it meets.

`Tally` has the most frequent of maybe millions of keys, `Origins` all about the first origins, and
the blocked requests of those that block most. Beyond these the report says "more than".
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from scrapy import Request

from ..core.urls import Origin
from ..core.verdict import Verdict
from ..exceptions import ForbiddenByRobotsTxt
from ..obeying.answer import CachedAnswer, Source
from ..policy.outages import State, date_of
from ..policy.overrides import Override

FINISHED = "finished"  # Scrapy's reason for the end of a crawl that has done everything
MOST_ORIGINS = 50_000  # at some 500 bytes each

# counted one by one: a reason may contain a server's error text, so there may be any number
_MOST_REASONS = 1_000
_BY_A_RULE = "by a rule of the robots.txt"
_EXAMPLES = 2  # URLs for each rule and each unreachable origin
_MOST_EXAMPLE = 200  # characters

_SOURCES = {source.value: source for source in Source}

_K = TypeVar("_K", bound="Hashable")


class Rule(NamedTuple):
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
    """What is known of an origin by its last answer."""

    origin: Origin
    state: State | None = None
    status: int | None = None
    why: str = ""
    source: Source | None = None  # None: there is no definite answer
    # when a server gave it, in seconds since the epoch; None if that is not known
    fetched_at: float | None = None
    unreachable: bool = False
    redirected_to: str = ""  # the URL that gave it, if a redirect led there
    cause: str = ""  # what is wrong with an unreachable one, in a few words


class Origins:
    """The origins that a crawl met."""

    def __init__(self) -> None:
        # no `Answer`, which would keep all the rules in memory
        # The fields of their rows as plain values, which Python's garbage collector does not visit
        # again and again.
        self._rows: dict[Origin, tuple[Any, ...]] = {}
        self.blocked: Tally[Origin] = Tally()  # by requests that were blocked
        self.exact = True  # there are no more than those that are counted
        self.oldest_secs = 0.0  # the greatest age of an answer when the crawl got it

    def __len__(self) -> int:
        """How many are counted."""
        return len(self._rows)

    def learn(self, answer: CachedAnswer) -> None:
        """Note the new answer of an origin."""
        origin, fetched_at, source = answer.origin, answer.fetched_at, ""
        if fetched_at is not None:
            source = answer.source.value
            if date_of(fetched_at) is None:  # others may write to a storage
                fetched_at = None
        if fetched_at is not None:
            self.oldest_secs = max(self.oldest_secs, answer.given_at - fetched_at)
        if origin not in self._rows and len(self._rows) >= MOST_ORIGINS:
            self.exact = False
            return
        self._rows[origin] = (
            answer.state.value,
            answer.status,
            answer.why,
            source,
            fetched_at,
            answer.temporary,
            answer.redirected_to,
            answer.cause,
        )

    def _row(self, origin: Origin) -> OriginRow:
        if origin not in self._rows:
            return OriginRow(origin)
        state, status, why, source, *others = self._rows[origin]
        return OriginRow(origin, State(state), status, why, _SOURCES.get(source), *others)

    @property
    def by_state(self) -> Counter[State | None]:
        """Origins by their last state."""
        return Counter(row.state for row in map(self._row, self._rows))

    @property
    def by_source(self) -> Counter[Source]:
        """Origins with an answer, by where the last one came from."""
        rows = map(self._row, self._rows)
        return Counter(row.source for row in rows if row.source is not None)

    @property
    def unreachable(self) -> int:
        """Origins whose robots.txt is unreachable."""
        return sum(row.unreachable for row in map(self._row, self._rows))

    def rows(self, most: int, *, unreachable: bool = False) -> list[tuple[OriginRow, int]]:
        """At most `most` origins with their blocked requests; those that blocked most come first.

        With `unreachable`, they are only origins whose robots.txt is unreachable.
        """
        blocked = dict(self.blocked.top(len(self.blocked)))
        rows: list[tuple[OriginRow, int]] = []
        for origin in {**blocked, **self._rows}:
            if len(rows) == most:
                break
            row = self._row(origin)
            if row.unreachable or not unreachable:
                rows.append((row, blocked.get(origin, 0)))
        return rows


class OverrideUse:
    """How many requests an override decided about, and how many of them it blocked."""

    def __init__(self, override: Override) -> None:
        self.override = override
        self.requests = self.blocked = 0


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
        self.rules: Tally[Rule] = Tally()
        self.reasons: Tally[str] = Tally(_MOST_REASONS)
        self.overrides: dict[str, OverrideUse] = {}  # by key; the user has written all of them
        self.preferences: list[str] = []  # a line for each purpose of the crawl
        self.waiting = 0  # requests that still waited when the crawl was closed
        self.walled = 0  # answers of bot walls in place of sites
        self.sitemaps_left_out: Mapping[str, int] = {}  # by the setting or rule that left them out

    def refuse(self, error: ForbiddenByRobotsTxt, request: Request | None = None) -> None:
        """Count a request that was blocked."""
        verdict, origin, url = error.verdict, error.origin, ""
        if request is not None:
            url = request.url
        self.blocked += 1
        rule = verdict.rule
        self.reasons.add(verdict.reason if rule is None else _BY_A_RULE)
        if origin is None:
            return
        self.origins.blocked.add(origin, url)
        if rule is not None and verdict.override is None:  # else it may be a rule of the override
            group = "" if verdict.group is None else verdict.group
            self.rules.add(Rule(origin.robots_url, rule.line, str(rule), group), url)

    def use(self, override: Override, refusal: Verdict | None) -> None:
        """Count a request about which an override decided."""
        use = self.overrides.setdefault(override.key, OverrideUse(override))
        use.requests += 1
        use.blocked += refusal is not None
