"""`scrapy robots check URL...`: whether URLs may be fetched, and which line says so.

It answers as a crawl of the project would, from the same storage; or from a file, without a
network.
"""

from __future__ import annotations

import math
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from scrapy.settings import Settings

from ..bulk.judging import Judge
from ..core.asker import Asker, group_in_words, group_line, verdict_on
from ..core.lines import split_lines
from ..core.preferences import Preferences
from ..core.robots import RobotsTxt
from ..core.urls import Origin
from ..core.verdict import ROBOTS_TXT_ITSELF, Verdict
from ..experimental.preferences import refusal, word_on
from ..policy.outages import REFUSALS, Copy, Decision, Kind, span
from ..policy.overrides import Override
from ..settings import GbotSettings
from .ending import FAILED, FINE, FOUND, CommandError
from .inputs import add_shared, check_file, checked_url, crawlers_named, is_url, read, typed
from .output import Terminal
from .project_crawl import ProjectCrawl, RobotsState, run_in_crawl


def add_arguments(parser: ArgumentParser) -> None:
    """Add the sub-command's arguments."""
    parser.add_argument(
        "urls",
        nargs="+",
        type=typed,
        metavar="URL",
        help="an absolute URL; with --robots also a path that begins with /",
    )
    add_shared(parser, "--as", "--purpose", "--json")
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--robots",
        metavar="FILE",
        help='read this robots.txt, "-" for standard input; fetch nothing',
    )
    add_shared(source, "--fresh")


def run(options: Namespace, settings: Settings, out: Terminal, err: Terminal) -> int:
    """Check the URLs; return the exit status: the worst of all."""
    askers = crawlers_named(options.agents, settings, err)
    for url in options.urls:
        checked_url(url, has_robots=options.robots is not None)
    if options.robots is None:
        checks = _by_origin(options, askers, settings, err)
    else:
        checks = _by_file(options, askers, settings, err)
    for number, check in enumerate(checks):
        out.json(check.facts)
        if number:
            out.say()
        _show(check, out)
    if any(check.unreachable for check in checks):
        return FAILED
    if not all(check.decided.allowed for check in checks):
        return FOUND
    return FINE


def _by_file(
    options: Namespace, askers: list[Asker], settings: Settings, err: Terminal
) -> list[Check]:
    """Check the URLs by the robots.txt in a file."""
    if is_url(options.robots):
        hint = "without it, a URL is checked by the robots.txt of its own site"
        raise CommandError(f"--robots {options.robots}: not a file; {hint}")
    body = read(options.robots)
    check_file(options.robots, body, settings, err)
    robotstxt = GbotSettings.of(settings).parse(body)
    checks = []
    for url, asker in product(options.urls, askers):
        verdict = decided = verdict_on(url, asker, robotstxt)
        if verdict.allowed and verdict.reason != ROBOTS_TXT_ITSELF:
            preferences = robotstxt.preferences(url, asker.crawler)
            decided = refusal(options.purposes, preferences) or verdict
        source = (options.robots, body, robotstxt)
        checks.append(Check(url, asker, verdict, decided, *source, options.purposes))
    return checks


def _by_origin(
    options: Namespace, askers: list[Asker], settings: Settings, err: Terminal
) -> list[Check]:
    """Check each URL by the robots.txt of its origin, and by the overrides."""

    async def work(crawl: ProjectCrawl) -> list[Check]:
        now, crawlers = time.time(), [asker.crawler for asker in askers]
        by_robots_txt = Judge(crawlers, max_bytes=crawl.settings.max_bytes)
        by_all = Judge(
            crawlers,
            max_bytes=crawl.settings.max_bytes,
            overrides=crawl.overrides,
            now=now,
            purposes=options.purposes,
        )
        checks: list[Check] = []
        states: dict[Origin, RobotsState] = {}
        for url in options.urls:
            origin = Origin.of(url)
            if origin not in states:
                states[origin] = await crawl.state_of(origin, fresh=options.fresh)
            state = states[origin]
            robotstxt = crawl.settings.parse(state.body or b"")
            source = (state.where, state.body, robotstxt, options.purposes, state)
            override = crawl.overrides.of(origin, now)
            verdicts = by_robots_txt.explained(url, state.decision)
            decided = by_all.explained(url, state.decision)
            for asker, (_, verdict), (_, decision) in zip(askers, verdicts, decided, strict=True):
                checks.append(Check(url, asker, verdict, decision, *source, override))
        return checks

    return run_in_crawl(settings, work, err)


@dataclass(frozen=True)
class Check:
    """A URL, the verdict on it, and what that rests on."""

    url: str  # absolute, or a path
    asker: Asker
    verdict: Verdict  # by the robots.txt
    decided: Verdict  # that counts in a crawl, by overrides and purposes, too
    where: str  # the URL of the robots.txt, or the path of the file
    body: bytes | None  # of the robots.txt; None if no rules decide
    robotstxt: RobotsTxt
    purposes: Sequence[str] = ()  # what the crawl would be for
    state: RobotsState | None = None  # None if `body` is from a file
    override: Override | None = None  # that counts for the URL in a crawl

    @property
    def is_for_robots_txt(self) -> bool:
        """Whether the URL is that of a robots.txt."""
        return self.verdict.reason == ROBOTS_TXT_ITSELF

    @property
    def unreachable(self) -> bool:
        """Whether the policy decided in place of rules, since robots.txt is unreachable."""
        if self.is_for_robots_txt or self.state is None or self.override is not None:
            return False
        return self.state.decision.copy is None

    @property
    def is_refused(self) -> bool:
        """Whether the site refuses one of the purposes, though its rules allow the URL."""
        return self.override is None and self.decided != self.verdict

    @cached_property
    def preferences(self) -> Preferences:
        """What the site or, in its place, an override says about the use of the URL's content."""
        robotstxt = self.robotstxt
        if self.override is not None and self.override.robotstxt is not None:
            robotstxt = self.override.robotstxt
        return robotstxt.preferences(self.url, self.asker.crawler)

    @cached_property
    def group_line(self) -> int | None:
        """The number of the user-agent line whose group was used."""
        return group_line(self.robotstxt, self.verdict)

    @property
    def group(self) -> str:
        """The group that was used, and why, in words."""
        return group_in_words(self.asker.crawler, self.verdict.group, self.group_line)

    @property
    def facts(self) -> dict[str, Any]:
        """What the check found, for programs. Times are in seconds."""
        verdict, override, state, rule = self.verdict, self.override, self.state, None
        robots_txt: dict[str, Any] = {"file": self.where}
        if state is not None:
            robots_txt = entry_facts(state)
            robots_txt["hops"] = [{"status": status, "url": url} for status, url in state.hops]
            robots_txt["from_cache"] = state.storage is not None
            robots_txt["storage"] = state.storage
        if verdict.rule is not None and not self.is_refused:
            rule = verdict.rule._asdict()
        facts: dict[str, Any] = {
            "url": self.url,
            "allowed": self.decided.allowed,
            "reason": self.decided.reason,
            "rule": rule,
            "group": verdict.group,
            "group_line": self.group_line,
            "crawler": self.asker.crawler._asdict(),
            "robots_txt": robots_txt,
        }
        if override is not None:
            facts["override"] = {
                "key": override.key,
                "rules": override.action.value,
                "reason": override.reason,
                "until": override.until,
            }
            robots_txt |= {"allowed": verdict.allowed, "reason": verdict.reason}
        if self.purposes:
            words = {purpose: word_on(purpose, self.preferences) for purpose in self.purposes}
            lines = list(self.preferences.lines)
            facts["preferences"] = {**words, "use": self.preferences.use, "lines": lines}
        return facts


def entry_facts(state: RobotsState) -> dict[str, Any]:
    """Return what is known of a robots.txt, for programs. Times are in seconds."""
    now, decision = time.time(), state.decision
    copy, outage = state.entry.copy, state.entry.outage
    facts: dict[str, Any] = {
        "url": state.where,
        "state": decision.state.value,
        "temporary": decision.temporary,
        "walled": _is_walled(decision),
        "why": state.why,
        **dict.fromkeys(("status", "served_by", "age_secs", "fetched_at", "unreachable_since")),
        "failures": 0,
        "last_failure": None,
        "fresh_secs": max(0.0, decision.ask_at - now),
        "bytes": 0,
        "cut": False,
    }
    if copy is not None:
        facts["status"] = copy.status
        facts["served_by"] = copy.url
        facts["fetched_at"] = copy.fetched_at
        facts["age_secs"] = max(0.0, now - copy.fetched_at)
        facts["bytes"] = len(copy.body)
        facts["cut"] = copy.cut
    if outage is not None:
        facts["status"] = outage.status
        facts["unreachable_since"] = outage.since
        facts["failures"] = outage.failures
        facts["last_failure"] = outage.why
    return facts


def _is_walled(decision: Decision) -> bool:
    """Whether a wall's answer counts, in place of the site's."""
    return decision.copy is not None and decision.copy.kind is Kind.WALL


def show_entry(state: RobotsState, out: Terminal) -> None:
    """Write what is known of a robots.txt, and how this run has it."""
    decision, copy, outage = state.decision, state.entry.copy, state.entry.outage
    words = answer_in_words(state)
    if state.storage is not None:
        words += f", from the storage ({state.storage})"
    out.fact("robots.txt", words)
    if _is_walled(decision):
        out.fact("note", "a wall answered, not the site")
    elif copy is not None and copy.status in REFUSALS:
        out.fact("note", "the site refuses it; GBOT_ROBOTS_REFUSED says what that means")
    if outage is not None and not decision.temporary:
        out.fact("note", f"the last fetch failed: {outage.why}; this answer still counts")
    if len(state.hops) > 1:
        hops = [f"{status} {url}" for status, url in state.hops]
        out.fact("redirected", ", then ".join(hops))
    elif copy is not None and copy.url != state.where:
        out.fact("served by", copy.url)
    if copy is not None:
        out.fact("fetched", f"{age_of(copy)} ago")
    out.fact("asked again", asked_again(decision))
    if outage is not None:
        out.fact("failures", f"{outage.failures:,} in a row")


def answer_in_words(state: RobotsState) -> str:
    """Return what a robots.txt means now, and what that rests on."""
    for_now = ""
    if state.decision.temporary:
        for_now = " for now"
    return f"{state.decision.state.value}{for_now}: {state.why}"


def age_of(copy: Copy) -> str:
    """Return how long ago a copy was fetched, in words."""
    return span(max(0.0, time.time() - copy.fetched_at))


def asked_again(decision: Decision) -> str:
    """When the robots.txt is fetched again, if it is needed then."""
    secs = decision.ask_at - time.time()
    if secs <= 0:
        return "now"
    return f"in {span(math.ceil(secs))}"


def _show(check: Check, out: Terminal) -> None:
    """Write the verdict with the deciding line in place, and below it what the verdict rests on."""
    verdict = check.decided
    word, style = "disallowed", "bad"
    if verdict.allowed:
        word, style = "allowed", "good"
    if check.unreachable:
        word += " for now"
    out.say((word, style), ": ", (check.url, "strong"))
    if check.override is not None:
        out.fact(f"GBOT_ROBOTS_OVERRIDES[{check.override.key!r}]", check.override.action.value)
        out.fact("it says", str(verdict))
        out.fact("robots.txt itself says", str(check.verdict))
    show_line(check, out)
    if check.is_refused:
        out.fact("reason", verdict.reason)
    elif check.verdict.rule is None:
        out.fact("reason", check.verdict.reason)
    out.fact("crawler", str(check.asker))
    if check.body is not None and not check.is_for_robots_txt:
        out.fact("group", check.group)
    if check.purposes:
        _show_preferences(check, out)
    if check.state is not None:
        show_entry(check.state, out)


def _show_preferences(check: Check, out: Terminal) -> None:
    lines = ""
    if check.preferences.lines:
        lines = f" (line {', '.join(map(str, check.preferences.lines))})"
    for purpose in check.purposes:
        out.fact(purpose, word_on(purpose, check.preferences) + lines)


def show_line(check: Check, out: Terminal) -> None:
    """Write the name of the robots.txt, and mark in it the deciding line and the group's line."""
    rule, reason, where = check.verdict.rule, check.verdict.reason, check.where
    marks = {}
    about_group = reason
    if rule is not None:
        where += f":{rule.line}"
        about_group = "the group that was used"
    if check.group_line is not None:
        marks[check.group_line] = (about_group, "strong")
    if rule is not None:
        marks[rule.line] = (reason, "good" if check.verdict.allowed else "bad")
    out.say((" --> ", "faint"), where)
    out.excerpt(split_lines(check.body or b""), marks)
