"""`scrapy robots check URL...`: whether URLs may be fetched, and which line says so.

It answers as a crawl of the project would, from the same storage; or from a file, without a
network.
"""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from ..core.lines import split_lines
from ..core.named_user_agent import (
    NamedUserAgent,
    checked_url,
    group_in_words,
    group_line,
    verdict_on,
)
from ..core.robots import RobotsTxt
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from ..policy.outages import REFUSALS, Kind, State, span
from ..policy.verdicts import judge_url
from .ending import FAILED, FINE, FOUND
from .inputs import SOURCE, add_shared, crawlers_named, fetched, typed, versions
from .output import Terminal
from .world import RobotsState, World

_ANSWERS = {True: ("allowed", "good"), False: ("disallowed", "bad")}


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "urls",
        nargs="+",
        type=typed,
        metavar="URL",
        help="an absolute URL; with --robots also a path that begins with /",
    )
    add_shared(parser, "--as", "--json")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--robots", **SOURCE)
    add_shared(source, "--fresh")


def run(options: Namespace, world: World, out: Terminal, err: Terminal) -> int:
    """Check the URLs; return the exit status: the worst of all."""
    named_user_agents = crawlers_named(options.user_agents, world, err)
    for url in options.urls:
        checked_url(url, has_robots=options.robots is not None)
    if options.robots is None:
        states = fetched(options.urls, world, err, fresh=options.fresh)
    else:
        states = dict.fromkeys(options.urls, *versions([options.robots], world, err))
    parse = lru_cache(world.settings.parse)
    status = FINE
    for number, (url, named_user_agent) in enumerate(product(options.urls, named_user_agents)):
        check = _checked(url, named_user_agent, states[url], parse(states[url].rules))
        out.json(check.facts)
        if number:
            out.say()
        _show(check, out)
        if check.unreachable:
            status = FAILED
        elif not check.decided.allowed:
            status = max(status, FOUND)
    return status


def _checked(
    url: str, named_user_agent: NamedUserAgent, state: RobotsState, robotstxt: RobotsTxt
) -> Check:
    """Check a URL by a robots.txt and, for a site, as a crawl would.

    `robotstxt` has its rules, if rules decide.
    """
    if state.origin is None:
        verdict = verdict_on(url, named_user_agent.crawler, robotstxt)
        return Check(url, named_user_agent, state, robotstxt, verdict, verdict)
    verdict = judge_url(url, state.decision, robotstxt.rules_for(named_user_agent.crawler))
    that_decides = robotstxt
    if state.override is not None and state.override.robotstxt is not None:
        that_decides = state.override.robotstxt
    rules = that_decides.rules_for(named_user_agent.crawler)
    decided = judge_url(url, state.decision, rules, state.override)
    return Check(url, named_user_agent, state, robotstxt, verdict, decided)


class Check(NamedTuple):
    """A URL, the verdict on it, and what that rests on."""

    url: str  # absolute, or a path
    named_user_agent: NamedUserAgent
    state: RobotsState
    robotstxt: RobotsTxt  # with the rules, if rules decide
    verdict: Verdict  # by the robots.txt
    decided: Verdict  # that counts in a crawl, by the override, too

    @property
    def unreachable(self) -> bool:
        """Whether the policy decided in place of rules, since robots.txt is unreachable."""
        if self.verdict.reason == ROBOTS_TXT_ITSELF or self.decided.override is not None:
            return False
        return self.state.decision.copy is None

    @property
    def group_line(self) -> int | None:
        """The number of the user-agent line whose group was used."""
        return group_line(self.robotstxt, self.verdict)

    @property
    def group(self) -> str:
        """The group that was used, and why, in words."""
        return group_in_words(self.named_user_agent.crawler, self.verdict.group, self.group_line)

    @property
    def facts(self) -> dict[str, Any]:
        """What the check found, for programs. Times are in seconds."""
        verdict, robots_txt, rule = self.verdict, entry_facts(self.state), None
        if verdict.rule is not None:
            rule = verdict.rule._asdict()
        facts: dict[str, Any] = {
            "url": self.url,
            "allowed": self.decided.allowed,
            "reason": self.decided.reason,
            "rule": rule,
            "group": verdict.group,
            "group_line": self.group_line,
            "crawler": self.named_user_agent.crawler._asdict(),
            "robots_txt": robots_txt,
        }
        if self.decided.override is not None:
            facts["override"] = self.decided.override
            robots_txt |= {"allowed": verdict.allowed, "reason": verdict.reason}
        return facts


def entry_facts(state: RobotsState) -> dict[str, Any]:
    """Return what is known of a robots.txt, for programs. Times are in seconds.

    Of a body it is the number of bytes.
    """
    if state.origin is None:
        return {"file": state.where}
    decision = state.decision
    facts: dict[str, Any] = {
        "url": state.where,
        "state": decision.state,
        "temporary": decision.temporary,
        "why": decision.why,
        "storage": state.storage,
        "fresh_secs": max(0.0, decision.ask_at - time.time()),
        **asdict(state.entry),
    }
    if state.entry.copy is not None:
        facts["copy"]["body"] = len(state.entry.copy.body)
    return facts


def entry_in_words(state: RobotsState) -> Iterator[tuple[str, str]]:
    """Yield what is known of a robots.txt, and how this run has it: names, and texts for people."""
    decision, copy, outage = state.decision, state.entry.copy, state.entry.outage
    words = f"{decision.state.value}{' for now' * decision.temporary}: {decision.why}"
    if state.storage is not None:
        words += f", from the storage ({state.storage})"
    yield "robots.txt", words
    if state.copy.kind is Kind.NONE and state.copy.status in REFUSALS:
        yield "note", "the site refuses it; GBOT_ROBOTS_ACCESS_DENIED says what that means"
    if outage is not None and not decision.temporary:
        yield "note", f"the last fetch failed: {outage.why}; this answer still counts"
    if copy is not None:
        if copy.url != state.where:
            yield "served by", copy.url
        yield "fetched", f"{span(time.time() - copy.fetched_at)} ago"
    fresh_secs = math.ceil(decision.ask_at - time.time())
    asked_again = "now"
    if fresh_secs > 0:
        asked_again = f"in {span(fresh_secs)}"
    yield "asked again", asked_again
    if outage is not None:
        yield "failures", f"{outage.failures:,} in a row"


def _show(check: Check, out: Terminal) -> None:
    """Write the verdict with the deciding line in place, and below it what the verdict rests on."""
    word, style = _ANSWERS[check.decided.allowed]
    if check.unreachable:
        word += " for now"
    out.say((word, style), ": ", (check.url, "strong"))
    if check.decided.override is not None:
        out.fact("GBOT_ROBOTS_OVERRIDES", str(check.decided))
        out.fact("robots.txt itself says", str(check.verdict))
    show_line(check, out)
    if check.verdict.rule is None:
        out.fact("reason", check.verdict.reason)
    out.fact("crawler", str(check.named_user_agent))
    if check.state.decision.state is State.RULES and check.verdict.reason != ROBOTS_TXT_ITSELF:
        out.fact("group", check.group)
    if check.state.origin is not None:
        for name, text in entry_in_words(check.state):
            out.fact(name, text)


def show_line(check: Check, out: Terminal) -> None:
    """Write the name of the robots.txt, and mark in it the deciding line and the group's line."""
    rule, where = check.verdict.rule, check.state.where
    marks = {}
    if check.group_line is not None:
        marks[check.group_line] = ("the group that was used", "strong")
    if rule is not None:
        where += f":{rule.line}"
        marks[rule.line] = (check.verdict.reason, _ANSWERS[rule.allow][1])
    out.say((" --> ", "faint"), where)
    out.excerpt(split_lines(check.state.rules), marks)
