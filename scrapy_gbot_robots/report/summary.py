"""Counts the origins and the forbidden requests of a crawl, and makes the summary from the counts.

The memory of the counts is bounded. `CrawlCounts` keeps facts about the first `MOST_ORIGINS`
origins. It keeps the number of forbidden requests only for the origins that have the most forbidden
requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from scrapy import Request
from scrapy.crawler import Crawler

from ..answers.answer import CachedAnswer
from ..core.urls import Origin, shown, without_login
from ..core.verdict import Rule
from ..counts import Tally, plural
from ..engine import downloader_middleware
from ..exceptions import ForbiddenByRobotsTxt
from ..obeying.middleware import GbotRobotsTxtMiddleware
from ..policy.outages import REFUSALS, Copy, Kind, State
from ..sitemaps.discovery import skipped_by_rule

MOST_ORIGINS = 50_000  # Facts about at most this many origins are kept, in about 500 bytes each.

# At most this many reasons are counted. A reason may contain the text of an error, so without this
# bound the number of reasons could grow forever.
_MOST_REASONS = 1_000
_BY_A_RULE = "by a rule of the robots.txt"

_MOST = 5  # The summary names at most 5 rules and at most 5 unreachable robots.txt files.
_IN_STATE = {State.RULES: "with rules"}
_MEANS = "GBOT_ROBOTS_ACCESS_DENIED decides what that means"
# The summary counts the responses that servers sent in place of a robots.txt. It has a string for
# each kind of response. A response of the kind NONE is counted only if it denies access to the
# robots.txt: a 403 is counted, for example, but a 404 is not.
_NO_ROBOTS_TXT = {
    Kind.NONE: f"by HTTP {', '.join(map(str, REFUSALS))}; {_MEANS}",
    Kind.WALL: f"of bot walls, not of the sites; {_MEANS}",
    Kind.OTHER: "with something else in place of a robots.txt, such as a web page, so no rules",
}
_INCOMPLETE = "there were more origins or rules than are counted, so numbers may be too low"


class ForbiddingRule(NamedTuple):
    """A rule that forbade requests."""

    origin: Origin
    rule: Rule
    group: str | None

    def __str__(self) -> str:
        """Return a text with the rule, the URL of its robots.txt, and the line number."""
        return f'"{self.rule}" in {self.origin.robots_url} (line {self.rule.line})'


class OriginRow(NamedTuple):
    """The facts about an origin, from the newest answer that the crawl has for this origin.

    Attributes:
        state: "with rules", "full allow" or "full disallow".
        status: the status code of the last response to a request for the robots.txt; None if no
            response came.
        why: the reason for the state, in words.
        instead: what the server has sent in place of a robots.txt, in words; "" if the summary does
            not mention this.
        cause: why the robots.txt is unreachable, in a few words; None if it is reachable.
    """

    state: str
    status: int | None
    why: str
    instead: str
    cause: str | None


class CrawlCounts:
    """The numbers in the summary and on the page."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.forbidden = 0
        self.waiting = 0  # how many requests were waiting for a robots.txt at the end
        # How many requests were given back to the scheduler when the crawl closed.
        self.given_back = 0
        # For each origin, the fields of an `OriginRow` as a plain tuple. The garbage collector
        # visits every `OriginRow` in each of its runs, but a plain tuple of texts only in one run.
        # Whole answers are not kept here, because they contain all rules.
        self.origins: dict[Origin, tuple[str | int | None, ...]] = {}
        # The number of forbidden requests for each origin, for each origin with an unreachable
        # robots.txt, for each rule, and for each reason.
        self.forbidding: Tally[Origin] = Tally()
        self.unreachable: Tally[Origin] = Tally()
        self.rules: Tally[ForbiddingRule] = Tally()
        self.reasons: Tally[str] = Tally(_MOST_REASONS)
        self._has_all_origins = True

    def count_answer(self, answer: CachedAnswer, copy: Copy | None) -> None:
        """Keep the facts that a new answer contains about its origin.

        Args:
            answer: what the crawl has decided for the origin.
            copy: the robots.txt, or other definite response, on which the answer is based; None if
                there is none.
        """
        if answer.origin not in self.origins and len(self.origins) >= MOST_ORIGINS:
            self._has_all_origins = False
            return
        state = _IN_STATE.get(answer.state, answer.state.value)
        why = answer.why
        instead = ""
        cause = None
        if copy is not None:
            # A response of the kind NONE is mentioned only if it denies access (403, but not 404).
            if copy.kind is not Kind.NONE or copy.status in REFUSALS:
                instead = _NO_ROBOTS_TXT.get(copy.kind, "")
            if copy.url != answer.origin.robots_url:
                why = f"{why}; redirected to {copy.url}"
        if answer.outage is not None:
            cause = answer.outage.cause
            if answer.outage.redirected_to:
                cause = f"{cause}; redirected to {answer.outage.redirected_to}"
            if answer.has_stored_failure:
                cause = f"{cause}; {answer.source.value}"
        self.origins[answer.origin] = (state, answer.status, why, instead, cause)

    def row(self, origin: Origin) -> OriginRow:
        """Return the facts about `origin`, which must be in `origins`."""
        return OriginRow._make(self.origins[origin])

    def count_forbidden(self, request: Request, error: ForbiddenByRobotsTxt) -> None:
        """Count a request that was forbidden."""
        verdict = error.verdict
        rule = verdict.rule
        origin = error.origin
        self.forbidden += 1
        reason = verdict.reason
        if rule is not None:
            reason = _BY_A_RULE
        self.reasons.add(reason)
        # If the request has no origin, or if an override has decided, no robots.txt forbade it.
        if origin is None or verdict.override is not None:
            return
        example = without_login(request.url)
        self.forbidding.add(origin, example)
        if error.unreachable:
            self.unreachable.add(origin)
        if rule is not None:
            self.rules.add(ForbiddingRule(origin, rule, verdict.group), example)

    def count_left(self) -> None:
        """Count the requests that still waited at the end of the crawl, or were given back.

        The numbers are not taken from the stats, because a STATS_CLASS may keep no stats.
        """
        middleware = downloader_middleware(self.crawler, GbotRobotsTxtMiddleware)
        if middleware is not None:
            self.waiting = middleware.room.occupancy.waiting
            self.given_back = middleware.room.given_back

    def most_blocking(self) -> list[Origin]:
        """Return all origins, sorted by the number of forbidden requests, the greatest first."""
        return sorted(self.origins, key=self.forbidding.__getitem__, reverse=True)

    def lines(self) -> Iterator[str]:
        """Yield a line with the numbers of the crawl, then lines about possible problems."""
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
        sitemaps = skipped_by_rule(self.crawler)
        if sitemaps:
            yield f"sitemaps skipped: {', '.join(sitemaps)}"
        unreachable = []
        for origin in sorted(self.origins, key=self.unreachable.__getitem__, reverse=True):
            cause = self.row(origin).cause
            if cause is not None:
                # The rules in the stored copy of an unreachable robots.txt may still apply. The
                # requests that these rules forbid are counted in `rules`, and not in this number.
                forbidden = plural(self.unreachable[origin], "request")
                where = f"{origin.robots_url} ({shown(cause)})"
                unreachable.append(f"unreachable: {where}, {forbidden} forbidden")
        yield from unreachable[:_MOST]
        if len(unreachable) > _MOST:
            yield f"unreachable: {len(unreachable) - _MOST:,} more"

    def _left_lines(self) -> Iterator[str]:
        """Yield lines about the requests that were waiting at the end, or were given back."""
        if self.waiting:
            requests = plural(self.waiting, "request")
            yield f"the crawl ended while {requests} still waited for a robots.txt"
        if self.given_back:
            requests = plural(self.given_back, "request")
            yield f"{requests} that the crawl had taken went back to the scheduler's queue"


def summary(counts: CrawlCounts) -> str:
    """Return the summary of a crawl for the log.

    It consists of one line with the numbers of the crawl, and indented lines with details. At the
    end are the rules that have forbidden the most requests.
    """
    rules = [f"{forbidden:,} by {rule}" for rule, forbidden in counts.rules.most_common(_MOST)]
    return "\n  ".join([*counts.lines(), *rules])
