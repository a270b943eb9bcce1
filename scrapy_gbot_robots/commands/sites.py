"""Describe the state of a site's robots.txt for programs and for people, and judge URLs by it.

`project_crawl` looks the robots.txt up, and `cache` reads it from the storage. Only these two
modules import this module at run time, so it is not loaded if a sub-command only reads files.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, NamedTuple

from ..core.crawlers import UserAgent
from ..core.robots import RobotsTxt
from ..core.urls import Origin
from ..core.verdict import Verdict
from ..policy.outages import REFUSALS, Copy, Decision, Entry, Kind, State, span
from ..policy.overrides import Override
from ..policy.verdicts import judge_url

# The output shows the time of the next fetch under this name. The name mentions a crawl, because
# the command that writes the output will not fetch the file again.
NEXT_FETCH = "a crawl fetches it again"
_PROXY_LOGIN = 407

# This empty copy is used for a site if there is no copy of its robots.txt.
_NO_COPY = Copy(Kind.NONE, 0, "", b"", False, "", 0.0, 0.0)


class RobotsState(NamedTuple):
    """The state of a site's robots.txt.

    A *copy* is the last robots.txt, or other definite response, that a server has sent.

    Attributes:
        where: the URL of the robots.txt.
        decision: what applies to the site now (the rules, full allow or full disallow), and why.
        entry: the copy, and the failures of later fetches, as the storage keeps them.
        origin: the origin; None if the name of the entry in the storage is not an origin.
        override: the override that applies to the site in a crawl; None if there is none.
        storage: the name of the storage if the copy came from there; None if it was fetched now.
    """

    where: str
    decision: Decision
    entry: Entry
    origin: Origin | None
    override: Override | None = None
    storage: str | None = None

    @property
    def copy(self) -> Copy:
        """The response on which the decision is based; an empty `Copy` if there is none."""
        return self.decision.copy or _NO_COPY

    @property
    def rules(self) -> bytes:
        """The robots.txt if URLs are judged by its rules, and otherwise b""."""
        if self.has_rules:
            return self.copy.body
        return b""

    @property
    def body(self) -> bytes:
        """The body of the copy, even if no URL is judged by it; b"" if there is no copy."""
        return self.copy.body

    @property
    def is_cut(self) -> bool:
        """Whether the server sent more bytes than `body` has."""
        return self.copy.cut

    @property
    def has_rules(self) -> bool:
        """Whether URLs are judged by the rules of the robots.txt."""
        return self.decision.state is State.RULES

    @property
    def has_body(self) -> bool:
        """Whether the server has sent a robots.txt or other data."""
        return self.copy.kind in {Kind.RULES, Kind.OTHER}

    @property
    def is_denied(self) -> bool:
        """Whether the server denied access to the robots.txt, or a bot wall sent a page instead.

        Here, status 407 is treated like 401. Only a proxy should send 407, so a site that sends it
        has made a mistake.
        """
        copy = self.copy
        return copy.kind is Kind.WALL or copy.status in {*REFUSALS, _PROXY_LOGIN}

    @property
    def is_disallowed(self) -> bool:
        """Whether all of the site is disallowed, whatever its robots.txt contains."""
        return self.decision.state is State.FULL_DISALLOW

    @property
    def is_unreachable(self) -> bool:
        """Whether the robots.txt is unreachable, and no copy may be used in its place."""
        return self.decision.copy is None

    def verdicts(
        self, url: str, crawler: UserAgent, robotstxt: RobotsTxt
    ) -> tuple[Verdict, Verdict]:
        """Return the verdict of the robots.txt alone, and the verdict that a crawl would get.

        They may differ if an override applies to the site. `robotstxt` must be the result of
        parsing `self.rules`.
        """
        rules = robotstxt.rules_for(crawler)
        verdict = judge_url(url, self.decision, rules)
        if self.override is None:
            return verdict, verdict
        if self.override.robotstxt is not None:
            rules = self.override.robotstxt.rules_for(crawler)
        return verdict, judge_url(url, self.decision, rules, self.override)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts about the robots.txt, for the JSON output. Times are in seconds.

        The value of "body" is the number of bytes in the body.
        """
        decision = self.decision
        facts: dict[str, Any] = {
            "url": self.where,
            "state": decision.state,
            "temporary": decision.temporary,
            "why": decision.why,
            "storage": self.storage,
            "fresh_secs": max(0.0, decision.ask_at - time.time()),
            **asdict(self.entry),
        }
        if self.entry.copy is not None:
            facts["copy"]["body"] = len(self.entry.copy.body)
        return facts

    def in_words(self) -> Iterator[tuple[str, str]]:
        """Yield the facts that users read about the robots.txt, as pairs of a name and a string."""
        decision, copy, outage = self.decision, self.entry.copy, self.entry.outage
        words = f"{decision.state.value}{' for now' * decision.temporary}: {decision.why}"
        if self.storage is not None:
            words += f", from the storage ({self.storage})"
        yield "robots.txt", words
        if self.copy.kind is Kind.NONE and self.copy.status in REFUSALS:
            meaning = (
                "Google then allows everything, and for a crawl GBOT_ROBOTS_ACCESS_DENIED decides"
            )
            yield "note", f"the site denies access to it; {meaning}"
        if outage is not None and not decision.temporary:
            yield "note", f"the last fetch failed: {outage.why}; this answer still counts"
        if copy is not None:
            if copy.url != self.where:
                yield "served by", copy.url
            yield "fetched", f"{span(time.time() - copy.fetched_at)} ago"
        fresh_secs = math.ceil(decision.ask_at - time.time())
        when = "now"
        if fresh_secs > 0:
            when = f"in {span(fresh_secs)}"
        yield NEXT_FETCH, when
        if outage is not None:
            yield "failures", f"{outage.failures:,} in a row"
