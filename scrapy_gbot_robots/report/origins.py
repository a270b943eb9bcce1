"""The origins that a crawl met, in bounded memory, however many they are.

the first MOST_ORIGINS     all about each: robots.txt, state, source, blocked requests
the next MOST_OTHERS       the state and the source alone, so that each is counted once
the rest                   nothing: `exact` is False, and the report says "more than"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..obeying.answer import Source
from .facts import OriginRow

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..core.urls import Origin
    from ..obeying.answer import Answer
    from ..policy.outages import State

MOST_ORIGINS = 10_000
MOST_OTHERS = 90_000  # at some 200 bytes each


class Met(NamedTuple):
    """What is known of every origin that is counted.

    Attributes:
        state: its last state.
        source: where its last answer came from; None if there is no definite answer.
        unreachable: whether its robots.txt is unreachable.
    """

    state: State
    source: Source | None
    unreachable: bool

    @classmethod
    def of(cls, answer: Answer) -> Met:
        """Take these from an answer."""
        return cls(answer.state, None if answer.fetched_at is None else answer.source, answer.temporary)


class _Followed:
    """What is known of one of the first origins. It keeps no `Answer`, which would keep all the rules in memory."""

    __slots__ = ("blocked", "fetched_at", "met", "robots_txt", "status", "why")

    def __init__(self, answer: Answer) -> None:
        self.blocked = 0
        self.robots_txt = answer.origin.robots_url
        self.learn(answer)

    def learn(self, answer: Answer) -> None:
        """Note what applies to the origin now."""
        self.met = Met.of(answer)
        self.status, self.why = answer.status, answer.why
        self.fetched_at = _fetched_at(answer)

    @property
    def row(self) -> OriginRow:
        """What the report says about the origin."""
        state, source, _ = self.met
        in_words = "" if source is None else source.value
        return OriginRow(self.blocked, self.robots_txt, state.value, self.status, self.why, in_words, self.fetched_at)


class Origins:
    """The origins that a crawl met.

    Attributes:
        exact: whether there are no more than those that are counted.
        oldest_secs: the greatest age of an answer when the crawl got it, in seconds.
    """

    def __init__(self) -> None:
        self._followed: dict[Origin, _Followed] = {}
        self._others: dict[int, Met] = {}  # by hash
        self.exact = True
        self.oldest_secs = 0.0

    def __len__(self) -> int:
        """How many are counted."""
        return len(self._followed) + len(self._others)

    def learn(self, answer: Answer) -> None:
        """Note the new answer of an origin."""
        fetched_at = _fetched_at(answer)
        if fetched_at is not None:
            self.oldest_secs = max(self.oldest_secs, answer.given_at - fetched_at)
        followed = self._followed.get(answer.origin)
        key = hash(answer.origin)
        if followed is not None:
            followed.learn(answer)
        elif len(self._followed) < MOST_ORIGINS:
            self._followed[answer.origin] = _Followed(answer)
        elif key in self._others or len(self._others) < MOST_OTHERS:
            self._others[key] = Met.of(answer)
        else:
            self.exact = False

    def blocked(self, origin: Origin) -> None:
        """Count a request of `origin` that was blocked."""
        if origin in self._followed:
            self._followed[origin].blocked += 1

    def met(self) -> Iterator[Met]:
        """What is known of each origin that is counted."""
        yield from (followed.met for followed in self._followed.values())
        yield from self._others.values()

    def rows(self, most: int, *, unreachable: bool = False) -> list[OriginRow]:
        """At most `most` rows, those that blocked most first. With `unreachable`, only origins that are unreachable."""
        wanted = (each for each in self._followed.values() if each.met.unreachable or not unreachable)
        return [each.row for each in sorted(wanted, key=lambda each: -each.blocked)[:most]]


def _fetched_at(answer: Answer) -> float | None:
    """When a server gave the answer; None if that is not known. Scrapy's HTTP cache does not say it."""
    return None if answer.source is Source.HTTP_CACHE else answer.fetched_at
