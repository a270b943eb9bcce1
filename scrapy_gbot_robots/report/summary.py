"""What robots.txt did to a crawl: counted in bounded memory, and said in a few lines for the log.

`CrawlCounts` has all about the first origins, and the forbidden requests of those that forbid most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from scrapy import Request
from scrapy.crawler import Crawler

from ..core.urls import Origin, shown
from ..core.verdict import Rule
from ..counts import Tally, plural
from ..exceptions import ForbiddenByRobotsTxt
from ..obeying.answer import CachedAnswer
from ..policy.outages import REFUSALS, Copy, Kind, State
from ..sitemaps.discovery import left_out

MOST_ORIGINS = 50_000  # at some 500 bytes each

# counted one by one: a reason may contain a server's error text, so there may be any number
_MOST_REASONS = 1_000
_BY_A_RULE = "by a rule of the robots.txt"

_MOST = 5  # rules, and unreachable robots.txt files
_IN_STATE = {State.RULES: "with rules"}
_MEANS = "GBOT_ROBOTS_ACCESS_DENIED says what that means"
# Answers that are no robots.txt of the site's. Of those that there is none, only refusals.
_NO_ROBOTS_TXT = {
    Kind.NONE: f"by HTTP {', '.join(map(str, REFUSALS))}; {_MEANS}",
    Kind.WALL: f"of bot walls, not of the sites; {_MEANS}",
    Kind.OTHER: "with something else in place of a robots.txt, such as a web page, so no rules",
}
_INCOMPLETE = "there were more origins or rules than are counted: numbers may be too low"


class ForbiddingRule(NamedTuple):
    """A rule that forbidden requests."""

    origin: Origin
    rule: Rule
    group: str | None

    def __str__(self) -> str:
        """Say rule and place in a line."""
        return f'"{self.rule}" in {self.origin.robots_url} (line {self.rule.line})'


class OriginRow(NamedTuple):
    """What is known of an origin by its last answer."""

    state: str
    status: int | None
    why: str
    instead: str  # what came that is no robots.txt of the site's, if such a thing did
    cause: str | None  # what is wrong with an unreachable one, in a few words


class CrawlCounts:
    """All that a report says of a crawl: what is counted here, and stats of `crawler`."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.forbidden = 0
        # What `row` makes a row of; an `Answer` would keep all the rules in memory. The garbage
        # collector looks at a plain tuple of texts once, and at an `OriginRow` always.
        self.origins: dict[Origin, tuple[str | int | None, ...]] = {}
        self.forbidding: Tally[Origin] = Tally()  # by requests that were forbidden
        self.rules: Tally[ForbiddingRule] = Tally()
        self.reasons: Tally[str] = Tally(_MOST_REASONS)
        self._has_all_origins = True

    def count_answer(self, answer: CachedAnswer, copy: Copy | None) -> None:
        """Keep what a report says of an origin, by its new answer, which rests on `copy`."""
        if answer.origin not in self.origins and len(self.origins) >= MOST_ORIGINS:
            self._has_all_origins = False
            return
        state = _IN_STATE.get(answer.state, answer.state.value)
        why = answer.why
        instead = ""
        cause = None
        if copy is not None:
            # of answers that there is no robots.txt, only refusals are told
            if copy.kind is not Kind.NONE or copy.status in REFUSALS:
                instead = _NO_ROBOTS_TXT.get(copy.kind, "")
            if copy.url != answer.origin.robots_url:
                why = f"{why}; redirected to {copy.url}"
        if answer.outage is not None:
            cause = answer.outage.cause
        self.origins[answer.origin] = (state, answer.status, why, instead, cause)

    def row(self, origin: Origin) -> OriginRow:
        """What is known of an origin that was counted."""
        return OriginRow._make(self.origins[origin])

    def count_refusal(self, request: Request, error: ForbiddenByRobotsTxt) -> None:
        """Count a request that was forbidden."""
        verdict = error.verdict
        rule = verdict.rule
        origin = error.origin
        self.forbidden += 1
        reason = verdict.reason
        if rule is not None:
            reason = _BY_A_RULE
        self.reasons.add(reason)
        if origin is None or verdict.override is not None:  # no robots.txt has forbidden it
            return
        self.forbidding.add(origin, request.url)
        if rule is not None:
            self.rules.add(ForbiddingRule(origin, rule, verdict.group), request.url)

    @property
    def waiting(self) -> int:
        """How many requests wait for a robots.txt."""
        waiting: int = self.crawler.stats.get_value("gbot_robots/waiting", 0)
        return waiting

    @property
    def given_back(self) -> int:
        """How many requests went back to the scheduler when the crawl closed."""
        given_back: int = self.crawler.stats.get_value("gbot_robots/requests/given_back", 0)
        return given_back

    def most_blocking(self) -> list[Origin]:
        """All origins; those that forbidden most come first."""
        return sorted(self.origins, key=self.forbidding.__getitem__, reverse=True)

    def lines(self) -> Iterator[str]:
        """Yield a line on the whole crawl, and one for each thing that a user can act on."""
        states = Counter(self.row(origin).state for origin in self.origins)
        origins = plural(len(self.origins), "origin")
        if states:
            numbers = [f"{number:,} {state}" for state, number in sorted(states.items())]
            origins = f"{origins} ({', '.join(numbers)})"
        yield f"robots.txt: {origins}, {plural(self.forbidden, 'request')} forbidden"
        yield from self._left_lines()
        if not (self._has_all_origins and self.forbidding.exact and self.rules.exact):
            yield _INCOMPLETE
        instead = Counter(self.row(origin).instead for origin in self.origins)
        for words in _NO_ROBOTS_TXT.values():
            if instead[words]:
                yield f"{plural(instead[words], 'answer')} {words}"
        sitemaps = left_out(self.crawler)
        if sitemaps:
            yield f"sitemaps skipped: {', '.join(sitemaps)}"
        unreachable = []
        for origin in self.most_blocking():
            cause = self.row(origin).cause
            if cause is not None:
                forbidden = plural(self.forbidding[origin], "request")
                where = f"{origin.robots_url} ({shown(cause)})"
                unreachable.append(f"unreachable: {where}, {forbidden} forbidden")
        yield from unreachable[:_MOST]
        if len(unreachable) > _MOST:
            yield f"unreachable: {len(unreachable) - _MOST:,} more"

    def _left_lines(self) -> Iterator[str]:
        """Yield what became of the requests that waited when the crawl ended."""
        if self.waiting:
            requests = plural(self.waiting, "request")
            yield f"the crawl ended while {requests} still waited for a robots.txt"
        if self.given_back:
            requests = plural(self.given_back, "request")
            yield f"{requests} that the crawl had taken went back to the scheduler's queue"


def summary(counts: CrawlCounts) -> str:
    """Return the summary: one line, and indented lines that say more, what is gravest first."""
    rules = [f"{forbidden:,} by {rule}" for rule, forbidden in counts.rules.most_common(_MOST)]
    return "\n  ".join([*counts.lines(), *rules])
