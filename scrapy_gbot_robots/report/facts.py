"""What the report says, as data: `extension` collects it, `summary` and `page` show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ..obeying.answer import Source
from ..policy.outages import State
from .words import count, span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FINISHED = "finished"  # Scrapy's reason for the end of a crawl that has done everything

_IN_STATE = {State.RULES: "with rules"}


class RuleRow(NamedTuple):
    """A rule, and how many requests it blocked."""

    blocked: int
    robots_txt: str
    line: int
    text: str
    group: str


class OriginRow(NamedTuple):
    """The robots.txt of an origin, what it means for the origin, and how many requests it blocked.

    `source` says where the answer came from, in words; "" if there is none. `fetched_at` is when a server gave it, in
    seconds since the epoch; None if that is not known.
    """

    blocked: int
    robots_txt: str
    state: str
    status: int | None
    why: str
    source: str = ""
    fetched_at: float | None = None


class OverrideRow(NamedTuple):
    """An override: the requests that it decided about, those that it blocked, and those that went on against robots.txt."""

    requests: int
    blocked: int
    against: int
    key: str
    what: str
    reason: str
    until: str


class PreferenceRow(NamedTuple):
    """A purpose of the crawl, and how many pages' sites refused it, granted it, or did not mention it."""

    purpose: str
    refused: int
    granted: int
    unsaid: int


@dataclass(frozen=True)
class Report:
    """All that a report says. A sequence has the greatest numbers first. It may be cut; a number says how many there are.

    Attributes:
        spider: the spider's name.
        began: the start of the crawl, in seconds since the epoch.
        ended: its end.
        finish_reason: why the crawl ended; `FINISHED` if it has done everything.
        obeyed: whether the crawl obeyed robots.txt.
        blocked: requests that were blocked.
        by_state: origins by their last state.
        by_source: origins with an answer, by where the last one came from.
        oldest_secs: the greatest age of an answer when the crawl got it, in seconds.
        exact: whether the crawl met no more origins than are counted.
        unreachable: origins whose robots.txt is unreachable.
        unreachable_origins: those of them that blocked most requests.
        rules: rules that blocked requests.
        rules_known: how many such rules there are.
        rules_exact: whether there are no more.
        reasons: why requests were blocked, and how many.
        over_time: how many requests were blocked in each span of the crawl.
        span_secs: the length of such a span, in seconds.
        origins: origins, by how many of their requests were blocked.
        overrides: overrides that decided about requests.
        overrides_used: how many such overrides there are.
        preferences: what sites said about the crawl's purposes.
        walled: answers of bot walls in place of sites.
        sitemaps_left_out: how many sitemaps the spider did not get, by the setting or rule that left them out.
    """

    spider: str = ""
    began: float = 0.0
    ended: float = 0.0
    finish_reason: str = FINISHED
    obeyed: bool = True
    blocked: int = 0
    by_state: Mapping[State, int] = field(default_factory=dict)
    by_source: Mapping[Source, int] = field(default_factory=dict)
    oldest_secs: float = 0.0
    exact: bool = True
    unreachable: int = 0
    unreachable_origins: Sequence[OriginRow] = ()
    rules: Sequence[RuleRow] = ()
    rules_known: int = 0
    rules_exact: bool = True
    reasons: Sequence[tuple[str, int]] = ()
    over_time: Sequence[int] = ()
    span_secs: float = 1.0
    origins: Sequence[OriginRow] = ()
    overrides: Sequence[OverrideRow] = ()
    overrides_used: int = 0
    preferences: Sequence[PreferenceRow] = ()
    walled: int = 0
    sitemaps_left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def origins_known(self) -> int:
        """How many origins are counted."""
        return sum(self.by_state.values())

    @property
    def states_in_words(self) -> list[tuple[State, int, str]]:
        """The states that origins are in, how many, and how to call them after that number."""
        return [
            (state, self.by_state[state], _IN_STATE.get(state, state.value))
            for state in State
            if self.by_state.get(state)
        ]

    @property
    def answers_in_words(self) -> str:
        """Where the answers came from, how many origins gave none, and the age of the oldest; "" if there is no answer."""
        counts = [f"{self.by_source[source]:,} {source.value}" for source in Source if self.by_source.get(source)]
        if not counts:
            return ""
        without = self.origins_known - sum(self.by_source.values())
        counts += [f"none from {count(without, 'origin')}"] if without else []
        age = f"; the oldest was {span(self.oldest_secs)} old" if self.oldest_secs >= 1 else ""
        return ", ".join(counts) + age

    @property
    def walls_in_words(self) -> str:
        """How many answers were not of the sites, but of bot walls; "" if none was."""
        of_walls = (
            f"{count(self.walled, 'answer')} of bot walls, not of the sites; GBOT_ROBOTS_REFUSED says what they mean"
        )
        return of_walls if self.walled else ""

    @property
    def end_in_words(self) -> str:
        """That the crawl ended early, and why; "" if it did not."""
        return "" if self.finish_reason == FINISHED else f"the crawl ended early ({self.finish_reason})"
