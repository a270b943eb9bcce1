"""A verdict explained to people: the URL, the deciding line in place, the group, and the robots.txt behind it.

`check` and `test` both show verdicts by this module. `explain_json` has the same for programs.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ..core import grammar
from ..core.groups import read_groups
from ..core.lines import split_lines
from ..core.verdict import IGNORES_ROBOTS, ROBOTS_TXT_ITSELF, Verdict
from ..policy.overrides import Action
from ..policy.purposes import refusal, word_on
from ..report.words import count, span
from .excerpt import Mark, excerpt
from .output import printable

if TYPE_CHECKING:
    from ..core.agents import Crawler
    from ..core.preferences import Preferences
    from ..core.robots import RobotsTxt
    from ..policy.outages import Decision
    from ..policy.overrides import Override
    from ..settings import GbotSettings
    from .crawlers import Asker
    from .output import Terminal
    from .session import Known


@dataclass(frozen=True)
class Check:
    """A URL, the verdict on it, and what that rests on.

    Attributes:
        url: absolute, or a path.
        asker: the crawler.
        verdict: what the robots.txt says.
        where: the URL of the robots.txt, or the path of the file.
        body: the bytes of the robots.txt; None if there is none, or if it plays no part.
        robotstxt: `body`, parsed.
        known: what is known of the site's robots.txt; None if `body` is from a file.
        override: the override that counts for the URL in a crawl, if any.
        overriding: the verdict under that override.
        purposes: what the crawl would be for.
    """

    url: str
    asker: Asker
    verdict: Verdict
    where: str
    body: bytes | None
    robotstxt: RobotsTxt
    known: Known | None = None
    override: Override | None = None
    overriding: Verdict | None = None
    purposes: tuple[str, ...] = ()

    @property
    def decided(self) -> Verdict:
        """The verdict that counts in a crawl."""
        return self.overriding or self.verdict

    @property
    def crawler(self) -> Crawler:
        """The crawler that the verdict is about."""
        return self.asker.judged(self.verdict)

    @property
    def unreachable(self) -> bool:
        """Whether the policy decided in place of rules, since robots.txt is unreachable."""
        if self.override is not None and self.override.action is not Action.KEEP:
            return False
        return self.known is not None and self.known.unreachable and self.verdict.reason != ROBOTS_TXT_ITSELF

    @cached_property
    def said(self) -> Preferences:
        """What the robots.txt says about the use of the URL's content."""
        return self.robotstxt.preferences(self.url, self.asker.crawler)

    @property
    def refused_purpose(self) -> bool:
        """Whether the site refuses one of the purposes. It does not count under an override."""
        return self.overriding is None and refusal(self.purposes, self.said) is not None

    @cached_property
    def group_line(self) -> int | None:
        """The number of the user-agent line whose group was used: of several, the one above the deciding rule, if any."""
        rule = self.verdict.rule
        if self.verdict.group is None:
            return None
        for group in read_groups(self.robotstxt.lines):
            line = group.agents.get(self.verdict.group.encode("ascii"))
            if line is not None and (rule is None or rule in group.rules):
                return line
        return None

    @property
    def group(self) -> str:
        """The group that was used, and why, in words."""
        tokens = [token for token in self.crawler.tokens if token.lower() != self.verdict.group]
        none = f"no group names {' or '.join(tokens)}" if tokens else "the user agent has no product token"
        if self.asker.text == "*":
            none = "the crawler stands for all that no group names"
        if self.verdict.group is None:
            if self.crawler.ignores_robots:
                return f"none: {IGNORES_ROBOTS}"
            return f"none: {none}" + (
                ", and there is no group for *" if self.crawler.heeds_global else ", and it ignores *"
            )
        where = f'"{self.verdict.group}" (line {self.group_line})'
        if self.verdict.group.encode("ascii") == grammar.GLOBAL:
            return f"{where}: {none}"
        if self.verdict.group == self.crawler.tokens[0].lower():
            return f"{where}: it names the crawler"
        return f"{where}: the fall-back, since no group names {self.crawler.tokens[0]}"


def show(check: Check, gbot: GbotSettings, out: Terminal) -> None:
    """Write the verdict with the deciding line in place, and below it what the verdict rests on."""
    verdict, style = check.decided, "good" if check.decided.allowed else "bad"
    word = "allowed" if verdict.allowed else "disallowed"
    out.say((f"{word} for now" if check.unreachable else word, style), ": ", (check.url, "strong"))
    if check.override is not None:
        out.say((" --> ", "faint"), f"GBOT_ROBOTS_OVERRIDES[{check.override.key!r}]")
        for name, text in _of_override(check, check.override):
            out.say(("  = ", "faint"), (name, "strong"), f": {text}")
    show_line(check, out)
    for name, text in _facts(check, gbot):
        out.say(("  = ", "faint"), (name, "strong"), f": {text}")


def show_line(check: Check, out: Terminal) -> None:
    """Write the name of the robots.txt, and mark in it the deciding line and the group's line."""
    verdict, style = check.verdict, "good" if check.verdict.allowed else "bad"
    rule = verdict.rule
    out.say((" --> ", "faint"), check.where if rule is None else f"{check.where}:{rule.line}")
    marks = []
    if rule is not None:
        marks.append(Mark(rule.line, "value", verdict.reason, style))
    if check.group_line is not None:
        marks.append(Mark(check.group_line, "value", "the group that was used" if marks else verdict.reason))
    for line in excerpt(split_lines(check.body or b""), marks):
        out.say(*line)


def _of_override(check: Check, override: Override) -> list[tuple[str, str]]:
    """What the override does, and what the robots.txt itself says."""
    until = "" if override.until is None else f", until {override.until}"
    return [
        ("override", f"{override.what}{until}"),
        ("reason", printable(override.reason)),
        ("it says", str(check.decided)),
        ("robots.txt itself says", str(check.verdict)),
    ]


def _facts(check: Check, gbot: GbotSettings) -> list[tuple[str, str]]:
    known = check.known
    facts = [] if check.verdict.rule else [("reason", check.verdict.reason)]
    if known is not None and check.verdict.reason == known.decision.why:
        facts = [("reason", _state(known.decision))]
    facts.append(("crawler", f"{check.asker}; it heeds {check.asker.heeds}"))
    if check.body is not None:
        facts.append(("group", check.group))
    facts += [(purpose, _word_on(purpose, check)) for purpose in check.purposes]
    if known is not None:
        now = time.time()
        facts.append(("robots.txt", _served(known)))
        facts.append(("tried" if known.unreachable else "fetched", _source(known, gbot, now)))
        until = span(max(0.0, math.ceil(known.decision.ask_at - now)))
        facts.append(("asked again", f"in {until}") if known.decision.temporary else ("fresh", f"for {until}"))
    return facts


def _word_on(purpose: str, check: Check) -> str:
    lines = check.said.lines
    return word_on(purpose, check.said) + (f" (line {', '.join(map(str, lines))})" if lines else "")


def _state(decision: Decision) -> str:
    """What applies without rules, and why."""
    if decision.temporary:
        return f"{decision.state.value} for now: {decision.why}"
    return f"{decision.state.value}, since there is no robots.txt: {decision.why}"


def _served(known: Known) -> str:
    """What the server answered, and at which URL."""
    copy, outage = known.entry.copy, known.entry.outage
    text = known.decision.why
    if known.decision.temporary and outage is not None:
        text = f"{outage.why}; {count(outage.failures, 'failure')} in a row"
    if len(known.hops) > 1:
        return f"{text}; redirected: {', then '.join(f'{status} {url}' for status, url in known.hops)}"
    if copy is not None and copy.url != known.origin.robots_url:
        return f"{text}; redirected to {copy.url}"
    return text


def _source(known: Known, gbot: GbotSettings, now: float) -> str:
    """Where the answer comes from, and how old it is."""
    copy, outage = known.decision.copy, known.entry.outage
    ago = f"{span(max(0.0, now - copy.fetched_at))} ago" if copy else ""
    if known.fetched:
        return f"tried just now; the last answer came {ago}" if outage and copy else "just now"
    if copy is None and outage is not None:
        ago = f"unreachable for {span(max(0.0, now - outage.since))}"
    return f"{ago}, from the storage ({gbot.storage})"
